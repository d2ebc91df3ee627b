//! Judges commands against grants, and compares with what people judged by hand in `corpus/commands.txt`.

use plimsoll_core::event::{AskChoice, AskOption};
use plimsoll_core::path::WorkspacePath;
use plimsoll_core::permission::policy::{Decision, Mode, Policy, Sandbox, decide, grants};
use plimsoll_core::permission::rule::{Rule, Scope, Verdict};
use plimsoll_core::tool::call::{Prepared, Target, Zone};
use plimsoll_core::tool::spec;
use proptest::prelude::*;

const CORPUS: &str = include_str!("corpus/commands.txt");

fn rule(verdict: Verdict, pattern: &str) -> Rule {
    let matcher = format!("run_terminal_cmd({pattern})").parse().unwrap();
    Rule { verdict, scope: Scope::Session, matcher }
}

fn judge(mode: Mode, policy: &Policy, rules: &[Rule], command: &str) -> Decision {
    let prepared = Prepared {
        targets: vec![Target { path: "/home/u/ws".into(), zone: Zone::Root(WorkspacePath::new(0, "")) }],
        command: Some(command.to_owned()),
        ..Prepared::default()
    };
    decide(mode, policy, rules, spec::find("run_terminal_cmd").unwrap(), &prepared)
}

fn runs(rules: &[Rule], command: &str) -> bool {
    matches!(judge(Mode::Ask, &Policy::default(), rules, command), Decision::Allow(_))
}

/// A policy on a machine whose kernel holds commands to what they may do.
fn held() -> Policy {
    Policy { sandbox: Sandbox { files: true, network: true }, ..Policy::default() }
}

struct Pair {
    line: usize,
    grants: Vec<Rule>,
    /// Judged without grants, on a machine with a sandbox.
    looking: bool,
    command: String,
    allowed: bool,
}

fn corpus() -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut grants: Vec<Rule> = Vec::new();
    let (mut looking, mut heading) = (false, false);
    for (number, line) in CORPUS.lines().enumerate() {
        let Some((sign, text)) = line.split_once(' ') else { continue };
        let text = text.replace('\u{2424}', "\n");
        let text = text.split("<U+").enumerate().fold(String::new(), |mut out, (at, part)| {
            match part.split_once('>').filter(|_| at > 0) {
                Some((code, rest)) => {
                    out.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
                    out.push_str(rest);
                }
                None => out.push_str(part),
            }
            out
        });
        match sign {
            "#" => {}
            "grant" | "looking" => {
                if !heading {
                    grants.clear();
                }
                heading = true;
                looking = sign == "looking";
                if !looking {
                    grants.push(rule(Verdict::Allow, &text));
                }
            }
            "+" | "-" => {
                heading = false;
                let allowed = sign == "+";
                pairs.push(Pair { line: number + 1, grants: grants.clone(), looking, command: text, allowed });
            }
            other => panic!("line {}: `{other}`", number + 1),
        }
    }
    pairs
}

#[test]
fn every_pair_of_the_corpus_is_decided_as_people_judged() {
    let pairs = corpus();
    assert!(pairs.len() >= 300, "{} pairs", pairs.len());
    let mut wrong = Vec::new();
    for pair in &pairs {
        let policy = if pair.looking { held() } else { Policy::default() };
        let decision = judge(Mode::Ask, &policy, &pair.grants, &pair.command);
        if matches!(decision, Decision::Allow(_)) != pair.allowed {
            wrong.push(format!("line {}: {:?} -> {decision:?}", pair.line, pair.command));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_lasting_answer_covers_the_command_and_nothing_added_to_it() {
    for pair in corpus().into_iter().filter(|pair| !pair.looking) {
        let Decision::Ask { options, .. } = judge(Mode::Ask, &Policy::default(), &pair.grants, &pair.command) else {
            continue;
        };
        let Some(lasting) = options.iter().find(|option| option.kind == AskChoice::AllowSession) else {
            panic!("line {}: no lasting answer", pair.line);
        };
        let mut rules = pair.grants.clone();
        rules.extend(grants(lasting, Scope::Session));
        assert!(runs(&rules, &pair.command), "line {}: {lasting:?}", pair.line);
        // Behind a comment or the end of a here-document, what is added is no command.
        if pair.command.contains(['#', '\\']) || pair.command.contains("<<") {
            continue;
        }
        for added in ["; rm -rf x", "\nrm -rf x", " && rm -rf x", " | sh", " $(rm -rf x)", " > x"] {
            let more = format!("{}{added}", pair.command);
            assert!(!runs(&rules, &more), "line {}: {more:?} by {lasting:?}", pair.line);
        }
    }
}

#[test]
fn offered_rules_are_those_of_the_parts_that_are_not_allowed() {
    let offered = |rules: &[Rule], command: &str| match judge(Mode::Ask, &Policy::default(), rules, command) {
        Decision::Ask { reason, options, .. } => {
            let lasting: Vec<AskOption> = options.into_iter().filter(|option| !option.rules.is_empty()).collect();
            let kinds: Vec<AskChoice> = lasting.iter().map(|option| option.kind).collect();
            assert_eq!(kinds, [AskChoice::AllowSession, AskChoice::AllowAlways]);
            assert_eq!(lasting[0].rules, lasting[1].rules);
            (reason, lasting[0].label.clone(), lasting[0].rules.clone())
        }
        other => panic!("{other:?}"),
    };
    let ls = [rule(Verdict::Allow, "ls *")];
    assert_eq!(
        offered(&ls, "ls; touch X"),
        (
            "`touch X` is not allowed yet; `ls` is".to_owned(),
            "Allow `touch X` for this session".to_owned(),
            vec!["run_terminal_cmd(touch X)".to_owned()]
        )
    );
    assert_eq!(offered(&ls, "make && ./run 'a b' | ls").2, ["run_terminal_cmd(make)", "run_terminal_cmd(./run 'a b')"]);
    assert_eq!(
        offered(&ls, "rm *"),
        (
            "`rm *` is not allowed yet".to_owned(),
            "Allow exactly the text `rm *` for this session".to_owned(),
            vec!["run_terminal_cmd(=rm *)".to_owned()]
        )
    );
    assert_eq!(offered(&ls, "curl -s x | sh").2, ["run_terminal_cmd(=curl -s x | sh)"]);
    assert_eq!(
        offered(&ls, "ls > X"),
        (
            "`ls > X` is not allowed yet (it writes `X`)".to_owned(),
            "Allow exactly the text `ls > X` for this session".to_owned(),
            vec!["run_terminal_cmd(=ls > X)".to_owned()]
        )
    );
    assert_eq!(offered(&ls, "ls \u{200B}x").0, "what it does cannot be told: it holds an invisible character (U+200B)");
}

/// K05.
#[test]
fn allow_list_entries_do_not_cover_compound_commands() {
    let exact = ["ls", "echo", "git status"].map(|text| rule(Verdict::Allow, text));
    let any = ["ls *", "echo *", "git status *"].map(|text| rule(Verdict::Allow, text));
    let asked = [
        "ls; touch X",
        "ls && touch X",
        "ls | sh",
        "ls & touch X",
        "echo $(touch X)",
        "echo `touch X`",
        "ls\ntouch X",
        "echo hi > X",
        "echo <(touch X)",
        "git statusx",
        "\"l\"s; touch X",
    ];
    for command in asked {
        for policy in [Policy::default(), held()] {
            for rules in [&exact, &any] {
                let decision = judge(Mode::Ask, &policy, rules, command);
                assert!(matches!(decision, Decision::Ask { .. }), "{command}: {decision:?}");
            }
        }
    }
    for command in ["echo \"a; b > c\"", "ls -la"] {
        assert!(runs(&any, command), "{command}");
        let decision = judge(Mode::Ask, &held(), &exact, command);
        assert!(matches!(decision, Decision::Allow(_)), "{command}: {decision:?}");
    }
    assert!(!runs(&any, "ls ( -la"), "what the parser cannot parse needs approval");
}

/// K06.
#[test]
fn options_that_make_a_git_command_run_programs_are_not_covered() {
    let exact = ["git status", "git log", "git diff", "git show"].map(|text| rule(Verdict::Allow, text));
    let any = ["git status *", "git log *", "git diff *", "git show *"].map(|text| rule(Verdict::Allow, text));
    let asked = [
        "git -c core.pager='touch X' log",
        "git -p status",
        "git --paginate show",
        "git diff --output=X",
        "git log --output=X",
        "git diff --ext-diff",
        "git show --textconv",
        "git --exec-path=. status",
        "git -C O status",
    ];
    for command in asked {
        for policy in [Policy::default(), held()] {
            for rules in [&exact, &any] {
                let decision = judge(Mode::Ask, &policy, rules, command);
                assert!(matches!(decision, Decision::Ask { .. }), "{command}: {decision:?}");
            }
        }
    }
    for command in ["git log -p -1", "git diff HEAD~1"] {
        assert!(runs(&any, command), "{command}");
        let decision = judge(Mode::Ask, &held(), &exact, command);
        assert!(matches!(decision, Decision::Allow(_)), "{command}: {decision:?}");
    }
}

/// Granted commands to which something can be added at the end.
fn granted() -> Vec<(Vec<Rule>, String)> {
    let open =
        |pair: &Pair| !pair.command.contains('#') && !pair.command.contains("<<") && !pair.command.ends_with('&');
    let pairs = corpus().into_iter().filter(|pair| pair.allowed && !pair.looking && open(pair));
    pairs.map(|pair| (pair.grants, pair.command)).collect()
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("ls ".to_owned()),
        Just("$(".to_owned()),
        Just("`".to_owned()),
        Just("<<E\n".to_owned()),
        Just("\nE\n".to_owned()),
        Just("'".to_owned()),
        Just("\"".to_owned()),
        Just("\\".to_owned()),
        Just("${x".to_owned()),
        Just("}".to_owned()),
        Just("if ls; then ".to_owned()),
        Just("; fi ".to_owned()),
        Just("(( ".to_owned()),
        Just("[[ ".to_owned()),
        Just("sh -c '".to_owned()),
        Just("find . -exec ".to_owned()),
        "[;&|<>(){}#!*?~=\n\t ]",
        "[a-z]{1,4}",
        "(?s).",
    ];
    proptest::collection::vec(piece, 0..25).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_decided(text in text(), grant in text()) {
        let mut rules = vec![rule(Verdict::Allow, "ls *"), rule(Verdict::Allow, "find *")];
        rules.extend(format!("run_terminal_cmd({grant})").parse().ok().map(|matcher| {
            Rule { verdict: Verdict::Deny, scope: Scope::User, matcher }
        }));
        for mode in Mode::ALL {
            judge(mode, &held(), &rules, &text);
        }
    }

    #[test]
    fn what_is_added_to_a_granted_command_is_not_granted(
        pair in proptest::sample::select(granted()),
        added in proptest::sample::select(vec![
            "; rm -rf x", " ; rm -rf x", "\nrm -rf x", " && rm -rf x", " || rm -rf x", " | sh", " |& sh", " & rm -rf x",
            " \"$(rm -rf x)\"", " $(rm -rf x)", " `rm -rf x`", " <(rm -rf x)", " >x", " 2>x", " &>x", "\n\trm -rf x\n",
            "; sh -c 'rm -rf x'", "; eval rm -rf x", "; find . -delete", " | xargs rm", "; rm() { ls; }; rm -rf x",
        ]),
    ) {
        let (grants, command) = pair;
        let more = format!("{command}{added}");
        prop_assert!(!runs(&grants, &more), "{:?}", more);
    }

    #[test]
    fn deny_dominates(
        pair in proptest::sample::select(granted()),
        form in proptest::sample::select(vec![
            "{}; git commit -m x", "{}\ngit -C . commit", "{} && env A=1 git commit", "{} || sudo -u root git commit",
            "{}; sh -c 'git commit -m \"a b\"'", "{}; echo \"$(git commit)\"", "{}; ls | xargs git commit",
            "{}; find . -exec git commit {} +", "{}; timeout 5 nice -n 3 git commit", "{}; eval git commit",
            "{}; f() { git commit; }", "{}; if ls; then git commit; fi", "{}; /usr/bin/git commit", "{}; g\"i\"t comm'it'",
            "{}; bash -c \"sh -c 'git commit'\"", "{}; trap 'git commit' EXIT", "{}; exec git commit", "{} & command git commit",
            "{}; for f in a; do git --no-pager commit; done", "{}; cat <(git commit)", "{}; time git commit",
        ]),
        mode in proptest::sample::select(Mode::ALL.to_vec()),
    ) {
        let (mut rules, command) = pair;
        rules.push(rule(Verdict::Allow, "git *"));
        rules.push(Rule { verdict: Verdict::Allow, scope: Scope::Managed, matcher: "run_terminal_cmd".parse().unwrap() });
        rules.push(rule(Verdict::Deny, "git commit"));
        let decision = judge(mode, &held(), &rules, &form.replacen("{}", &command, 1));
        prop_assert!(matches!(decision, Decision::Deny(_)), "{:?}", decision);
    }
}
