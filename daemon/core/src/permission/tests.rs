//! Decisions by mode, zone and rule.

use super::command::parse;
use super::leave::{Files, Leave};
use super::policy::{Decision, Mode, Policy, Sandbox, Shell, decide, grants};
use super::rule::{Rule, Scope, Verdict};
use crate::event::AskChoice;
use crate::path::WorkspacePath;
use crate::tool::call::{Prepared, Target, Zone};
use crate::tool::spec;

const HELD: Sandbox = Sandbox { files: true, network: true };

fn root() -> Zone {
    Zone::Root(WorkspacePath::new(0, "x"))
}

fn prepared(zone: Zone, command: Option<&str>) -> Prepared {
    let path = if matches!(zone, Zone::Root(_)) { "/p/x" } else { "/o/x" };
    Prepared {
        targets: vec![Target { path: path.to_owned(), zone }],
        command: command.map(str::to_owned),
        ..Prepared::default()
    }
}

fn rule(verdict: Verdict, text: &str) -> Rule {
    Rule { verdict, scope: Scope::User, matcher: text.parse().unwrap() }
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow(_) => "allow",
        Decision::Ask { .. } => "ask",
        Decision::Deny(_) => "deny",
    }
}

/// What each mode decides, from the least free.
fn check(policy: &Policy, tool: &str, prepared: &Prepared, expected: [&str; 5]) {
    let spec = spec::find(tool).unwrap();
    let words = Mode::ALL.map(|mode| word(&decide(mode, policy, &[], spec, prepared)));
    assert_eq!(words, expected, "{tool} {prepared:?}");
}

fn command(mode: Mode, policy: &Policy, text: &str) -> Decision {
    decide(mode, policy, &[], spec::find("run_terminal_cmd").unwrap(), &prepared(root(), Some(text)))
}

#[test]
fn modes_decide_about_files_by_class_and_zone() {
    let plain = Policy::default();
    check(&plain, "read_file", &prepared(root(), None), ["allow"; 5]);
    check(&plain, "read_file", &prepared(Zone::Readable, None), ["allow"; 5]);
    check(&plain, "read_file", &prepared(Zone::Outside, None), ["ask", "ask", "ask", "ask", "allow"]);
    check(&plain, "read_file", &prepared(Zone::Protected, None), ["deny", "deny", "deny", "deny", "ask"]);
    for tool in ["write", "string_replace", "MultiEdit", "delete_file", "apply_patch"] {
        check(&plain, tool, &prepared(root(), None), ["deny", "ask", "allow", "allow", "allow"]);
        check(&plain, tool, &prepared(Zone::Outside, None), ["deny", "ask", "ask", "ask", "allow"]);
        check(&plain, tool, &prepared(Zone::Readable, None), ["deny"; 5]);
        check(&plain, tool, &prepared(Zone::Protected, None), ["deny", "deny", "deny", "deny", "ask"]);
    }
    check(&plain, "task_output", &Prepared::default(), ["allow"; 5]);
    check(&plain, "stop_task", &Prepared::default(), ["allow"; 5]);
}

#[test]
fn tests_are_a_command_that_the_project_chooses() {
    let at = |text| prepared(root(), Some(text));
    let strange = Policy { sandbox: HELD, ..Policy::default() };
    let trusted = Policy { trusted: true, ..strange.clone() };
    check(&trusted, "run_tests", &at("make test"), ["deny", "ask", "ask", "allow", "allow"]);
    check(&strange, "run_tests", &at("make test"), ["deny", "ask", "ask", "ask", "allow"]);
    let ask = decide(Mode::Auto, &strange, &[], spec::find("run_tests").unwrap(), &at("make test"));
    let Decision::Ask { reason, .. } = ask else { panic!("{ask:?}") };
    assert!(reason.starts_with("it runs this project's own code, and the project is not trusted; "), "{reason}");

    let with = |policy: &Policy, verdict, text| Policy { rules: vec![rule(verdict, text)], ..policy.clone() };
    // What is said of the command holds whichever tool runs it.
    for tool in ["run_tests", "run_terminal_cmd"] {
        let word = |verdict, text| {
            let policy = with(&strange, verdict, text);
            word(&decide(Mode::Ask, &policy, &[], spec::find(tool).unwrap(), &at("make test")))
        };
        assert_eq!(word(Verdict::Deny, "run_terminal_cmd(make)"), "deny");
        assert_eq!(word(Verdict::Deny, "run_terminal_cmd"), "deny");
        assert_eq!(word(Verdict::Allow, "run_terminal_cmd(make test)"), "allow");
        assert_eq!(word(Verdict::Allow, "run_terminal_cmd(make lint)"), "ask");
        let own = if tool == "run_tests" { ["deny", "allow"] } else { ["ask", "ask"] };
        assert_eq!([word(Verdict::Deny, "run_tests"), word(Verdict::Allow, "run_tests(make test)")], own);
    }
    // Leave for whatever a project names holds where it is trusted.
    let blank = |policy: &Policy| with(policy, Verdict::Allow, "run_tests");
    check(&blank(&trusted), "run_tests", &at("make test"), ["deny", "allow", "allow", "allow", "allow"]);
    check(&blank(&strange), "run_tests", &at("make test"), ["deny", "ask", "ask", "ask", "allow"]);
    let all = with(&trusted, Verdict::Ask, "run_terminal_cmd(make)");
    check(&all, "run_tests", &at("make test"), ["deny", "ask", "ask", "ask", "ask"]);
}

#[test]
fn modes_decide_about_commands_by_what_the_sandbox_holds() {
    let held = Policy { sandbox: HELD, ..Policy::default() };
    let bare = Policy::default();
    let at = |text| prepared(root(), Some(text));
    check(&held, "run_terminal_cmd", &at("ls src"), ["allow"; 5]);
    check(&bare, "run_terminal_cmd", &at("ls src"), ["allow", "ask", "ask", "ask", "allow"]);
    check(&held, "run_terminal_cmd", &at("make"), ["deny", "ask", "ask", "allow", "allow"]);
    check(&bare, "run_terminal_cmd", &at("make"), ["deny", "ask", "ask", "ask", "allow"]);
    check(&held, "run_terminal_cmd", &at("ls > a"), ["deny", "ask", "allow", "allow", "allow"]);
    check(&held, "run_terminal_cmd", &at("ls > ../a"), ["deny", "ask", "ask", "allow", "allow"]);
    check(&held, "run_terminal_cmd", &at("ls > .git/x"), ["deny", "ask", "ask", "allow", "allow"]);
    check(&held, "run_terminal_cmd", &at("ls ("), ["deny", "ask", "ask", "allow", "allow"]);
    check(&held, "run_terminal_cmd", &prepared(Zone::Outside, Some("ls")), ["deny", "ask", "ask", "ask", "allow"]);
    check(&held, "run_terminal_cmd", &prepared(Zone::Protected, Some("ls")), ["deny", "deny", "deny", "deny", "ask"]);
    let mut reaching = at("cat link");
    reaching.targets.push(Target { path: "/o/secret".to_owned(), zone: Zone::Outside });
    check(&held, "run_terminal_cmd", &reaching, ["deny", "ask", "ask", "allow", "allow"]);
}

#[test]
fn what_a_command_may_do_follows_from_why_it_runs() {
    let rules = vec![rule(Verdict::Allow, "run_terminal_cmd(cargo fetch *)")];
    let held = Policy { sandbox: HELD, rules, ..Policy::default() };
    let looking = Decision::Allow(Leave { files: Files::Nothing, network: false });
    let inside = |network| Decision::Allow(Leave { files: Files::Roots, network });
    for mode in [Mode::Plan, Mode::Ask, Mode::AcceptEdits, Mode::Auto] {
        assert_eq!(command(mode, &held, "ls | wc -l"), looking);
    }
    assert_eq!(command(Mode::AcceptEdits, &held, "ls > a"), inside(false));
    assert_eq!(command(Mode::Ask, &held, "cargo fetch --locked"), inside(true));
    assert_eq!(command(Mode::Auto, &held, "cd sub && cargo fetch"), inside(true));
    assert_eq!(command(Mode::Auto, &held, "cargo fetch && ./steal"), inside(false));
    assert_eq!(command(Mode::Auto, &held, "make"), inside(false));
    assert_eq!(command(Mode::Full, &held, "make"), Decision::Allow(Leave::FREE));
    let Decision::Ask { leave, .. } = command(Mode::Ask, &held, "make") else { panic!() };
    assert_eq!(leave, Leave { files: Files::Roots, network: true });
}

#[test]
fn auto_says_what_cannot_be_held_here() {
    let reason = |files, network| {
        let policy = Policy { sandbox: Sandbox { files, network }, ..Policy::default() };
        match command(Mode::Auto, &policy, "make") {
            Decision::Ask { reason, leave, .. } => (reason, leave.network),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reason(true, false), ("network is not restricted here; `make` is not allowed yet".to_owned(), true));
    assert_eq!(reason(false, true), ("files are not restricted here; `make` is not allowed yet".to_owned(), false));
    assert_eq!(
        reason(false, false),
        ("files and network are not restricted here; `make` is not allowed yet".to_owned(), true)
    );
}

#[test]
fn plan_mode_says_what_it_lets_run() {
    assert_eq!(
        command(Mode::Plan, &Policy::default(), "ls; touch X"),
        Decision::Deny(
            "in plan mode only commands run that are known to look and change nothing: `touch X` is not allowed yet; `ls` is"
                .to_owned()
        )
    );
    let rules = vec![rule(Verdict::Allow, "run_terminal_cmd"), rule(Verdict::Allow, "write")];
    let policy = Policy { rules, sandbox: HELD, ..Policy::default() };
    assert_eq!(word(&command(Mode::Plan, &policy, "touch X")), "deny");
    let write = spec::find("write").unwrap();
    assert_eq!(word(&decide(Mode::Plan, &policy, &[], write, &prepared(root(), None))), "deny");
}

#[test]
fn the_plan_file_is_read_in_every_mode_and_written_in_plan_mode_only() {
    let plain = Policy::default();
    let of = |zones: &[Zone]| Prepared {
        targets: zones.iter().map(|zone| Target { path: "/d/plans/s.md".to_owned(), zone: zone.clone() }).collect(),
        ..Prepared::default()
    };
    let plan = of(&[Zone::Plan]);
    for tool in ["read_file", "grep", "list_dir"] {
        check(&plain, tool, &plan, ["allow"; 5]);
    }
    for tool in ["write", "string_replace", "MultiEdit", "delete_file", "apply_patch"] {
        check(&plain, tool, &plan, ["allow", "deny", "deny", "deny", "deny"]);
    }
    // One patch over the plan and something else changes nothing, in no mode.
    check(&plain, "apply_patch", &of(&[Zone::Plan, root()]), ["deny"; 5]);
    check(&plain, "apply_patch", &of(&[Zone::Plan, Zone::Readable]), ["deny"; 5]);
    let write = spec::find("write").unwrap();
    let said = |mode| decide(mode, &plain, &[], write, &plan);
    assert_eq!(
        said(Mode::Full),
        Decision::Deny("/d/plans/s.md is the session's plan, which is written in plan mode only".to_owned())
    );
    let rules = |verdict| Policy { rules: vec![rule(verdict, "write")], ..Policy::default() };
    check(&rules(Verdict::Allow), "write", &plan, ["allow", "deny", "deny", "deny", "deny"]);
    check(&rules(Verdict::Ask), "write", &plan, ["ask", "deny", "deny", "deny", "deny"]);
    check(&rules(Verdict::Deny), "write", &plan, ["deny"; 5]);
}

#[test]
fn no_command_writes_the_plan_file_or_other_records() {
    let policy = Policy { rules: vec![rule(Verdict::Allow, "run_terminal_cmd")], sandbox: HELD, ..Policy::default() };
    for zone in [Zone::Plan, Zone::Readable] {
        let mut prepared = prepared(root(), Some("echo x > /d/plans/s.md"));
        prepared.targets.push(Target { path: "/d/plans/s.md".to_owned(), zone });
        check(&policy, "run_terminal_cmd", &prepared, ["deny"; 5]);
    }
}

#[test]
fn deny_wins_over_ask_and_ask_over_allow_whoever_said_it() {
    for (first, second, expected) in [
        (Verdict::Allow, Verdict::Deny, ["deny"; 5]),
        (Verdict::Ask, Verdict::Deny, ["deny"; 5]),
        (Verdict::Allow, Verdict::Ask, ["deny", "ask", "ask", "ask", "ask"]),
    ] {
        for scopes in [[Scope::Managed, Scope::Session], [Scope::Session, Scope::Managed]] {
            let made = |verdict, scope, text: &str| Rule { verdict, scope, matcher: text.parse().unwrap() };
            let [one, two] = scopes;
            let policy = Policy {
                rules: vec![
                    made(first, one, "run_terminal_cmd(git push *)"),
                    made(second, two, "run_terminal_cmd(git push)"),
                    made(first, one, "write(x)"),
                    made(second, two, "write(/p/*)"),
                ],
                sandbox: HELD,
                ..Policy::default()
            };
            check(&policy, "run_terminal_cmd", &prepared(root(), Some("git push origin")), expected);
            check(&policy, "write", &prepared(root(), None), expected);
        }
    }
}

#[test]
fn a_rule_that_asks_offers_no_lasting_answer() {
    let policy = Policy { rules: vec![rule(Verdict::Ask, "run_terminal_cmd(git push)")], ..Policy::default() };
    let Decision::Ask { reason, options, .. } = command(Mode::Full, &policy, "env A=1 git -C . push -f") else {
        panic!()
    };
    assert_eq!(reason, "the user's rule `run_terminal_cmd(git push)` asks about it");
    let kinds: Vec<AskChoice> = options.iter().map(|option| option.kind).collect();
    assert_eq!(kinds, [AskChoice::AllowOnce, AskChoice::Reject]);
}

#[test]
fn what_could_hide_a_denied_command_is_asked_about_in_every_mode() {
    let rules =
        vec![rule(Verdict::Deny, "run_terminal_cmd(git commit)"), rule(Verdict::Allow, "run_terminal_cmd(npm *)")];
    let policy = Policy { rules, sandbox: HELD, ..Policy::default() };
    for text in ["$X commit", "eval \"$X\"", "git $X", "sh -c \"$X\"", "echo git commit | sh", "ls (", "xargs sh -c"] {
        for mode in [Mode::Ask, Mode::AcceptEdits, Mode::Auto, Mode::Full] {
            assert_eq!(word(&command(mode, &policy, text)), "ask", "{mode} {text}");
        }
        let Decision::Ask { options, .. } = command(Mode::Full, &policy, text) else { panic!() };
        let seen = grants(&options[1], Scope::Session);
        let spec = spec::find("run_terminal_cmd").unwrap();
        let again = decide(Mode::Full, &policy, &seen, spec, &prepared(root(), Some(text)));
        assert_eq!(word(&again), "allow", "{text}");
    }
    for text in ["git log --grep commit", "echo git commit", "git add commit", "npm test", "git commit-tree x"] {
        assert_eq!(word(&command(Mode::Full, &policy, text)), "allow", "{text}");
    }
}

#[test]
fn wrapping_without_end_is_asked_about() {
    let rules = vec![rule(Verdict::Allow, "run_terminal_cmd(ls *)"), rule(Verdict::Allow, "run_terminal_cmd(nice *)")];
    let policy = Policy { rules, ..Policy::default() };
    assert_eq!(word(&command(Mode::Ask, &policy, &format!("{}ls", "nice ".repeat(5)))), "allow");
    assert_eq!(word(&command(Mode::Ask, &policy, &format!("{}ls", "nice ".repeat(3000)))), "ask");
    let rules = vec![rule(Verdict::Deny, "run_terminal_cmd(git commit)")];
    let policy = Policy { rules, ..Policy::default() };
    assert_eq!(word(&command(Mode::Full, &policy, &format!("{}git commit", "env ".repeat(5)))), "deny");
    assert_eq!(word(&command(Mode::Full, &policy, &format!("{}git commit", "env ".repeat(3000)))), "ask");
}

#[test]
fn the_grammar_fits_the_parser() {
    let language = tree_sitter::Language::from(tree_sitter_bash::LANGUAGE);
    let range = tree_sitter::MIN_COMPATIBLE_LANGUAGE_VERSION..=tree_sitter::LANGUAGE_VERSION;
    assert!(range.contains(&language.abi_version()));
    assert_eq!(parse("ls -l | wc").unwrap().commands.len(), 2);
}

#[test]
fn without_bash_only_the_exact_text_can_be_granted() {
    let rules = vec![rule(Verdict::Allow, "run_terminal_cmd(ls *)"), rule(Verdict::Allow, "run_terminal_cmd(=ls -la)")];
    let policy = Policy { rules, shell: Shell::Other, sandbox: HELD, ..Policy::default() };
    let at = |text| prepared(root(), Some(text));
    check(&policy, "run_terminal_cmd", &at("ls"), ["deny", "ask", "ask", "allow", "allow"]);
    check(&policy, "run_terminal_cmd", &at("ls -la"), ["deny", "allow", "allow", "allow", "allow"]);
    let Decision::Ask { reason, options, .. } = command(Mode::Ask, &policy, "ls") else { panic!() };
    assert_eq!(reason, "what it does cannot be told: there is no bash here that it could be read for");
    assert_eq!(options[1].rules, ["run_terminal_cmd(=ls)"]);
}

#[test]
fn grants_of_paths_cover_exactly_these() {
    let write = spec::find("write").unwrap();
    let target = |path: &str, zone| Target { path: path.to_owned(), zone };
    let of = |targets: Vec<Target>| Prepared { targets, ..Prepared::default() };
    let odd = of(vec![target("/p/a*[1].txt", Zone::Root(WorkspacePath::new(0, "a*[1].txt")))]);
    let Decision::Ask { options, .. } = decide(Mode::Ask, &Policy::default(), &[], write, &odd) else { panic!() };
    assert_eq!(options[1].rules, [r"write(/p/a\*\[1].txt)"]);
    assert_eq!(options[1].label, r"Allow `write(/p/a\*\[1].txt)` for this session");
    let given = grants(&options[1], Scope::Session);
    let decision = |grants: &[Rule], prepared| word(&decide(Mode::Ask, &Policy::default(), grants, write, prepared));
    assert_eq!(decision(&given, &odd), "allow");
    let other = of(vec![target("/p/ab1.txt", Zone::Root(WorkspacePath::new(0, "ab1.txt")))]);
    assert_eq!(decision(&given, &other), "ask");
    let both = of([odd.targets.clone(), other.targets.clone()].concat());
    assert_eq!(decision(&given, &both), "ask");

    let inside = [rule(Verdict::Allow, "write(src/**)")];
    let in_src = of(vec![target("/p/src/a", Zone::Root(WorkspacePath::new(0, "src/a")))]);
    assert_eq!(decision(&inside, &in_src), "allow");
    let elsewhere = of(vec![target("/o/src/a", Zone::Outside)]);
    assert_eq!(decision(&inside, &elsewhere), "ask");
    assert_eq!(decision(&[rule(Verdict::Allow, "write")], &elsewhere), "ask");
    assert_eq!(decision(&[rule(Verdict::Allow, "write(/o/src/**)")], &elsewhere), "allow");
}

#[test]
fn a_redirection_into_a_file_that_no_tool_may_change_is_denied() {
    let policy = Policy { rules: vec![rule(Verdict::Deny, "write(x/secrets/**)")], sandbox: HELD, ..Policy::default() };
    for text in ["ls > secrets/a", "ls >> ./secrets/../secrets/a", "make && { ls; } 2> secrets/a"] {
        assert_eq!(
            command(Mode::Full, &policy, text),
            Decision::Deny("it writes /p/x/secrets/a, which the user's rule `write(x/secrets/**)` denies".to_owned())
        );
    }
    assert_eq!(word(&command(Mode::Full, &policy, "ls > a")), "allow");
}

#[test]
fn what_is_not_ascii_is_read_as_a_part_of_words_wherever_it_stands() {
    use super::command::parse;
    for c in ['\u{e9}', '\u{4f60}', '\u{1f600}', '\u{10fffd}'] {
        for around in
            ["echo {$1..2}", "echo {1..$}", "echo $", "$=1 ls", "cat <<$\n$\n", "${$}", "((1$))", "[[ a =~ $ ]]"]
        {
            // Whatever comes of it, it is the text's own.
            let text = around.replacen('$', &c.to_string(), 1);
            if let Ok(parsed) = parse(&text) {
                let words = parsed.commands.iter().flat_map(|simple| &simple.words);
                assert!(words.clone().all(|word| text.contains(&word.source)), "{text:?}: {parsed:?}");
            }
        }
        let parsed = parse(&format!("echo a{c}b")).unwrap();
        assert_eq!(parsed.commands[0].words[1].literal(), Some(format!("a{c}b").as_str()));
    }
}

#[test]
fn what_is_kept_for_later_sessions_follows_the_mode() {
    let spec = spec::find(spec::MEMORY).unwrap();
    let call = Prepared { title: "remember it".into(), ..Prepared::default() };
    let decide_in = |mode, grants: &[Rule]| decide(mode, &Policy::default(), grants, spec, &call);
    assert!(matches!(decide_in(Mode::Plan, &[]), Decision::Deny(_)));
    for mode in [Mode::AcceptEdits, Mode::Auto, Mode::Full] {
        assert!(matches!(decide_in(mode, &[]), Decision::Allow(_)), "{mode}");
    }
    let Decision::Ask { reason, options, .. } = decide_in(Mode::Ask, &[]) else { panic!("it asks") };
    assert_eq!(reason, "it changes what later sessions are told");
    let always = options.iter().find(|option| option.kind == AskChoice::AllowAlways).unwrap();
    assert_eq!(always.rules, ["update_memory"]);
    assert!(matches!(decide_in(Mode::Ask, &grants(always, Scope::Project)), Decision::Allow(_)));
}
