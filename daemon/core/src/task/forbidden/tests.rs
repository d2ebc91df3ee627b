use super::bind;
use super::rules::{COMMIT, DEPLOY, PUSH, TESTS};
use crate::permission::rule::Matcher;

/// Each of these words, as they stand in the rules, and no others besides lists that are named by their first.
fn check(quote: &str, expected: &[&str]) {
    let bound = bind(quote);
    for rule in &bound.denies {
        rule.parse::<Matcher>().unwrap_or_else(|error| panic!("{quote}: {error}"));
    }
    let mut found: Vec<String> = Vec::new();
    let mut rest = bound.denies.clone();
    let mut take = |name: &str, rules: Vec<String>| {
        if rules.iter().all(|rule| bound.denies.contains(rule)) {
            rest.retain(|rule| !rules.contains(rule));
            found.push(name.to_owned());
        }
    };
    take("commit", super::rules::commands(COMMIT));
    take("deploy", super::rules::commands(DEPLOY));
    take("push", super::rules::commands(PUSH));
    take("network", super::rules::network());
    take("install", super::rules::commands(super::rules::INSTALL));
    take("all", super::rules::edits(&["**".to_owned()]));
    take("tests", super::rules::edits(&TESTS.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>()));
    for rule in &rest {
        if let Some(path) = rule.strip_prefix("string_replace(") {
            let glob = path.trim_end_matches(')').to_owned();
            assert!(
                super::rules::edits(std::slice::from_ref(&glob)).iter().all(|rule| rest.contains(rule)),
                "{quote}: {rest:?}"
            );
            found.push(glob);
        } else if let Some(words) = rule.strip_prefix("run_terminal_cmd(") {
            found.push(words.trim_end_matches(" *)").to_owned());
        } else if rule.starts_with("delete_file(") && !rest.iter().any(|other| other.starts_with("write(")) {
            found.push(rule.clone());
        }
    }
    // What installs is a part of what the network is for.
    if found.iter().any(|name| name == "network") {
        found.retain(|name| name != "install");
    }
    assert_eq!(found, expected, "{quote}");
}

#[test]
fn english_demands_bind_what_they_forbid() {
    check("do not commit, do not deploy", &["commit", "deploy"]);
    check("Do not commit, do not deploy.", &["commit", "deploy"]);
    check("don't push", &["push"]);
    check("Don\u{2019}t commit or push anything!", &["commit", "push"]);
    check("don't commit, push or deploy", &["commit", "deploy", "push"]);
    check("never commit", &["commit"]);
    check("no commits please", &["commit"]);
    check("without committing", &["commit"]);
    check("You must not `git commit`", &["commit"]);
    check("you are not allowed to push", &["push"]);
    check("please do not\ncommit", &["commit"]);
    check("do not commit before the tests pass", &["commit"]);
    check("never publish or release it", &["deploy"]);
    check("no network", &["network"]);
    check("do not use the network", &["network"]);
    check("work without internet access", &["network"]);
    check("stay offline", &["network"]);
    check("don't install anything", &["install"]);
    check("do not open PRs", &["gh pr create", "glab mr create", "hub pull-request", "git send-email"]);
}

#[test]
fn german_and_chinese_demands_bind_the_same() {
    check("bitte nicht committen", &["commit"]);
    check("Keine Commits, kein Deployment", &["commit", "deploy"]);
    check("nicht pushen oder deployen", &["deploy", "push"]);
    check("committe nichts", &["commit"]);
    check("ohne Netz", &["network"]);
    check("fass src/alt/ nicht an", &["src/alt/**"]);
    check("Ändere die Tests nicht", &["tests"]);
    check("nichts ändern", &["all"]);
    check("nur lesen", &["all"]);
    check("不提交、不部署", &["commit", "deploy"]);
    check("不要提交，也不要推送", &["commit", "push"]);
    check("请勿修改 src/legacy/", &["src/legacy/**"]);
    check("不要改动任何文件", &["all"]);
    check("别动 config.yaml", &["**/config.yaml", "**/config.yaml/**"]);
    check("禁止联网", &["network"]);
    check("只读", &["all"]);
}

#[test]
fn demands_about_files_bind_the_tools_that_change_them() {
    check("never touch vendor/", &["vendor/**"]);
    check("do not edit tests/", &["tests/**"]);
    check("don't change src/a.rs, src/b.rs", &["src/a.rs", "src/a.rs/**", "src/b.rs", "src/b.rs/**"]);
    check("leave `docs/` alone", &["docs/**"]);
    check("keep Cargo.lock unchanged", &["**/Cargo.lock", "**/Cargo.lock/**"]);
    check("migrations/ is off limits", &["migrations/**"]);
    check("do not modify src/**/*.gen.rs", &["src/**/*.gen.rs", "src/**/*.gen.rs/**"]);
    check("do not change the tests", &["tests"]);
    check("read only", &["all"]);
    check("This is a read-only task.", &["all"]);
    check("don't change anything yet", &["all"]);
    check("make no changes", &["all"]);
    check("change nothing", &["all"]);
    check("do not delete old/", &["delete_file(old/**)"]);
}

#[test]
fn what_is_no_prohibition_or_no_rule_binds_nothing() {
    for quote in [
        "",
        "commit when done",
        "commit and push",
        "don't forget to commit",
        "do not hesitate to push",
        "you do not need to deploy",
        "don't ask before you push",
        "before you commit, run the tests",
        "it has not been deployed yet",
        "leave the include rules",
        "patterns are relative to the root",
        "do not change the public API",
        "do not change the commit message",
        "do not touch the deploy script",
        "don't change the test command",
        "do not change anything outside src/",
        "the property must be read only for guests",
        "never force push",
        "do not change the network code",
        "Vergiss nicht zu committen",
        "bitte committen",
        "bitte lesen",
        "do not rename the test helper or the source map code",
        "不要忘记提交",
        "提交并部署",
        "do not use tabs and/or spaces",
    ] {
        check(quote, &[]);
    }
}

#[test]
fn what_is_wanted_beside_what_is_not_stays_allowed() {
    check("don't push, just commit", &["push"]);
    check("do not push; commit locally", &["push"]);
    check("do not push but commit when done", &["push"]);
    check("do not push, commit once the tests pass", &["push"]);
    check("nicht pushen, aber committen", &["push"]);
    check("Do not deploy. Commit each step.", &["deploy"]);
    check("nicht pushen, nur committen", &["push"]);
    check("不要部署，可以提交", &["deploy"]);
}

#[test]
fn a_condition_is_told() {
    for (quote, conditional) in [
        ("do not commit before the tests pass", true),
        ("don't push yet", true),
        ("noch nicht committen", true),
        ("测试通过之前不要提交", true),
        ("do not commit", false),
        ("leave it as it is until Monday", false),
    ] {
        assert_eq!(bind(quote).conditional, conditional, "{quote}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_and_gives_rules_only(quote in "(?s).{0,200}") {
        for rule in bind(&quote).denies {
            proptest::prop_assert!(rule.parse::<Matcher>().is_ok(), "{}", rule);
        }
    }

    #[test]
    fn words_in_any_order_are_read(words in proptest::collection::vec("(do|not|no|don't|never|commit|push|deploy|edit|nicht|不要|提交|src/a|tests|but|,|\\.|or)", 0..12)) {
        for rule in bind(&words.join(" ")).denies {
            proptest::prop_assert!(rule.parse::<Matcher>().is_ok(), "{}", rule);
        }
    }
}
