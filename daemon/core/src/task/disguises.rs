//! A command that the user forbade is refused however it is written, in every mode.

use super::deed::forbidding;
use super::forbidden::bind;
use super::{Task, change};
use crate::path::WorkspacePath;
use crate::permission::mode::Mode;
use crate::permission::policy::{Decision, Policy, Shell, decide};
use crate::tool::call::{Prepared, Target, Zone};
use crate::tool::spec;

fn task(quote: &str) -> Task {
    let change = change::Change { add: vec![(quote.to_owned(), None)], ..change::Change::default() };
    change::apply(&Task::default(), &change).unwrap()
}

fn command(text: &str) -> Prepared {
    let root = Target { path: "/w".to_owned(), zone: Zone::Root(WorkspacePath::new(0, "")) };
    Prepared { targets: vec![root], command: Some(text.to_owned()), ..Prepared::default() }
}

fn decided(quote: &str, text: &str, mode: Mode) -> &'static str {
    let rules = task(quote).rules();
    match decide(mode, &Policy::default(), &rules, spec::find("run_terminal_cmd").unwrap(), &command(text)) {
        Decision::Allow(_) => "allow",
        Decision::Ask { .. } => "ask",
        Decision::Deny(_) => "deny",
    }
}

fn check(quote: &str, expected: &str, commands: &[&str]) {
    for text in commands {
        assert_eq!(decided(quote, text, Mode::Full), expected, "{quote}: {text}");
        if expected == "deny" {
            for mode in Mode::ALL {
                assert_eq!(decided(quote, text, mode), "deny", "{quote} in {mode}: {text}");
            }
        }
    }
}

#[test]
fn a_commit_is_refused_in_every_disguise() {
    check(
        "do not commit",
        "deny",
        &[
            "git commit",
            "git commit -m 'done'",
            "git commit --amend --no-edit",
            "git add -A && git commit -m x",
            "make || git commit -m x",
            "make; git commit -m x",
            "(git commit -m x)",
            "{ git commit -m x; }",
            "if true; then git commit -m x; fi",
            "for f in a b; do git commit -m $f; done",
            "f() { git commit -m x; }; f",
            "echo $(git commit -m x)",
            "echo x | git commit -F -",
            "git commit -F - <<'E'\nx\nE",
            "GIT_DIR=.git git commit -m x",
            "env GIT_DIR=.git git commit -m x",
            "env -i git commit -m x",
            "git -C sub commit -m x",
            "git --git-dir=.git commit -m x",
            "git --git-dir .git --work-tree . commit -m x",
            "git -c user.name=a commit -m x",
            "git --no-pager commit -m x",
            "/usr/bin/git commit -m x",
            "../bin/git commit -m x",
            "command git commit -m x",
            "exec git commit -m x",
            "nice -n 5 git commit -m x",
            "nohup git commit -m x &",
            "time git commit -m x",
            "timeout 10 git commit -m x",
            "stdbuf -oL git commit -m x",
            "sudo git commit -m x",
            "sudo -u me git commit -m x",
            "setsid git commit -m x",
            "bash -c 'git commit -m x'",
            "sh -c \"cd a && git commit -m x\"",
            "bash -c \"sh -c 'git commit -m x'\"",
            "eval git commit -m x",
            "eval 'git commit -m x'",
            "echo x | xargs git commit -m",
            "find . -name x -exec git commit -m x \\;",
            "trap 'git commit -m x' EXIT",
            "\"git\" 'commit' -m x",
            "g\\it com\"mit\" -m x",
            "git \\\n commit -m x",
            "git commit-tree HEAD^{tree} -m x",
            "git cherry-pick abc",
            "git revert HEAD",
            "git merge other",
            "jj commit -m x",
        ],
    );
}

#[test]
fn what_may_be_a_commit_is_asked_about_and_what_is_none_runs() {
    check(
        "do not commit",
        "ask",
        &[
            "git $SUB -m x",
            "$GIT commit -m x",
            "git -c alias.x=commit x",
            "git config alias.x commit && git x",
            "eval \"$TEXT\"",
            "curl x | sh",
        ],
    );
    check(
        "do not commit",
        "allow",
        &[
            "git status",
            "git log --grep commit",
            "git add commit",
            "git diff HEAD",
            "echo git commit",
            "grep -r 'git commit' .",
            "git stash",
            "git push",
            "cat commit.txt",
        ],
    );
}

#[test]
fn other_demands_are_kept_too() {
    check("don't push", "deny", &["git push", "git -C a push origin main", "cd a && git push --force", "jj git push"]);
    check("don't push", "allow", &["git commit -m x", "git pull"]);
    check(
        "do not deploy",
        "deny",
        &[
            "kubectl apply -f x.yaml",
            "npm publish",
            "cargo publish",
            "docker push a/b",
            "terraform apply",
            "gh release create v1",
            "make deploy",
            "./gradlew publish",
            "npm run deploy",
            "git push",
        ],
    );
    check(
        "do not deploy",
        "allow",
        &["kubectl get pods", "npm run build", "make", "terraform plan", "git commit -m x"],
    );
    check(
        "no network",
        "deny",
        &["curl example.org", "git fetch", "bash -c 'wget x'", "npm install", "python3 -m pip install x"],
    );
    check("no network", "allow", &["make", "npm test", "git status"]);
    check(
        "do not edit tests/",
        "deny",
        &[
            "echo x > tests/a",
            "rm -r tests",
            "rm tests/*.py",
            "sed -i s/a/b/ tests/a.py",
            "cd tests && rm a.py",
            "git checkout -- tests/a.py",
            "mv tests/a.py b.py",
            "cat a | tee tests/b",
            "bash -c 'echo > tests/a'",
            "cp a tests/b",
            "rm -rf /w/tests",
        ],
    );
    check(
        "do not edit tests/",
        "allow",
        &["pytest tests/", "cat tests/a", "rm a", "sed -n p tests/a", "cp tests/a b", "ls > out"],
    );
    check(
        "read only",
        "deny",
        &["rm a", "echo x > a", "sed -i s/a/b/ src/x", "touch a", "mv a b", "git checkout -- ."],
    );
    check("read only", "allow", &["ls", "cat a", "git status", "cargo test"]);
    check("do not delete anything", "deny", &["rm a", "git rm a", "mv a b"]);
    check("do not delete anything", "allow", &["echo x > a", "touch a"]);
}

#[test]
fn tools_that_change_files_are_refused_and_the_users_words_are_named() {
    let task = task("never touch vendor/");
    let at = |rel: &str| Prepared {
        targets: vec![Target { path: format!("/w/{rel}"), zone: Zone::Root(WorkspacePath::new(0, rel)) }],
        ..Prepared::default()
    };
    for tool in ["string_replace", "MultiEdit", "write", "apply_patch", "delete_file"] {
        let spec = spec::find(tool).unwrap();
        for mode in Mode::ALL {
            let decision = decide(mode, &Policy::default(), &task.rules(), spec, &at("vendor/a/b.c"));
            assert!(matches!(decision, Decision::Deny(_)), "{tool} {mode}");
        }
        let behind =
            |prepared: &Prepared| forbidding(&task, spec, prepared, Shell::Bash).map(|constraint| constraint.id);
        assert_eq!((behind(&at("vendor/a/b.c")), behind(&at("src/b.c"))), (Some(1), None), "{tool}");
        let own = Prepared {
            targets: vec![Target { path: "/data/plans/s.md".into(), zone: Zone::Readable }],
            ..Prepared::default()
        };
        assert_eq!(behind(&own), None, "what is refused anyway is not refused because of the user's words");
    }
    let read = decide(Mode::Full, &Policy::default(), &task.rules(), spec::find("read_file").unwrap(), &at("vendor/a"));
    assert!(matches!(read, Decision::Allow(_)));
    assert_eq!(bind("never touch vendor/").denies.len(), 5);
}
