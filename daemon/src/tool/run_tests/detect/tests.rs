//! Which command is chosen over which files, and what becomes of a target.

use super::*;
use crate::tool::testing::Place;

fn place(files: &[(&str, &str)]) -> Place {
    let place = Place::new();
    for (path, content) in files {
        place.write(path, content);
    }
    place
}

/// The commands, each with the folder it runs in unless that is the root; or the beginning of the error.
fn check(files: &[(&str, &str)], expected: &[(&str, &str)]) {
    let place = place(files);
    for (target, command) in expected {
        let found = match choose(&place.env, (!target.is_empty()).then_some(*target)) {
            Ok(choice) if choice.cwd.shown == "." => choice.command,
            Ok(choice) => format!("{}: {}", choice.cwd.shown, choice.command),
            Err(problem) => format!("! {problem}"),
        };
        let same = if command.starts_with('!') { found.starts_with(command) } else { found == *command };
        assert!(same, "{target:?} of {files:?}: {found}");
    }
}

#[test]
fn cargo_is_limited_by_package_program_module_and_name() {
    check(
        &[
            ("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n"),
            ("a/Cargo.toml", "[package]\n"),
            ("a/src/lib.rs", ""),
            ("a/src/deep/mod.rs", ""),
            ("a/src/deep/x.rs", ""),
            ("a/tests/e2e/main.rs", ""),
            ("a/tests/one.rs", ""),
        ],
        &[
            ("", "cargo test --workspace"),
            (".", "cargo test --workspace"),
            ("parses it", "cargo test --workspace 'parses it'"),
            ("a", "a: cargo test"),
            ("a/src/lib.rs", "a: cargo test --lib"),
            ("a/src/deep/x.rs", "a: cargo test deep::x"),
            ("a/src/deep", "a: cargo test deep"),
            ("a/src/deep/mod.rs::tests", "a: cargo test deep::tests"),
            ("a/tests/one.rs", "a: cargo test --test one"),
            ("a/tests/e2e/main.rs::slow", "a: cargo test --test e2e slow"),
            ("a/tests", "a: cargo test --test '*'"),
        ],
    );
}

#[test]
fn python_runs_pytest_where_the_project_speaks_of_it_else_unittest() {
    let unittest = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n";
    check(
        &[("pyproject.toml", "[project]\ndependencies = [\"pytest\"]"), ("tests/test_a.py", unittest)],
        &[
            ("", "python3 -m pytest"),
            ("tests/test_a.py", "python3 -m pytest tests/test_a.py"),
            ("tests/test_a.py::A::test_a[x y]", "python3 -m pytest 'tests/test_a.py::A::test_a[x y]'"),
            ("tests", "python3 -m pytest tests"),
            ("test_a or b", "python3 -m pytest -k 'test_a or b'"),
            ("tests/absent.py::A", "! There is no file `tests/absent.py`"),
        ],
    );
    check(
        &[("tests/test_a.py", unittest), ("src/x.py", "")],
        &[
            ("", "python3 -m unittest discover -s tests"),
            ("src/x.py", "python3 -m unittest src/x.py"),
            ("tests/test_a.py", "python3 -m unittest tests/test_a.py"),
            ("tests/test_a.py::A::test_a", "python3 -m unittest tests.test_a.A.test_a"),
            ("tests", "python3 -m unittest discover -s tests"),
            ("test_a", "python3 -m unittest discover -s tests -k test_a"),
        ],
    );
    check(&[("tests/__init__.py", ""), ("tests/test_a.py", unittest)], &[("", "python3 -m unittest discover")]);
    check(&[("a_test.py", unittest)], &[("", "python3 -m unittest discover -p '*_test.py'")]);
    check(&[("test_a.py", "def test_a():\n    assert 1\n")], &[("", "python3 -m pytest")]);
    check(&[("setup.py", ""), (".venv/bin/python", "")], &[("", ".venv/bin/python -m pytest")]);
}

#[test]
fn javascript_runs_its_script_by_the_lock_file_or_nodes_own_tests() {
    let script = ("package.json", "{\"scripts\": {\"test\": \"jest\"}}");
    check(
        &[script, ("src/a.test.js", "")],
        &[("", "npm test"), ("src/a.test.js", "npm test -- src/a.test.js"), ("adds up", "npm test -- 'adds up'")],
    );
    check(&[script, ("pnpm-lock.yaml", "")], &[("", "pnpm test"), ("adds", "pnpm test adds")]);
    check(&[script, ("yarn.lock", "")], &[("", "yarn test")]);
    let none = ("package.json", "{\"scripts\": {\"test\": \"echo \\\"Error: no test specified\\\" && exit 1\"}}");
    check(
        &[none, ("test/a.mjs", "")],
        &[
            ("", "node --test"),
            ("test/a.mjs", "node --test test/a.mjs"),
            ("adds up", "node --test --test-name-pattern='adds up'"),
        ],
    );
    check(&[none], &[("", "! Nothing says how the tests are run")]);
}

#[test]
fn go_maven_and_make_have_their_own_ways() {
    check(
        &[("go.mod", ""), ("p/x_test.go", "")],
        &[
            ("", "go test ./..."),
            ("p", "go test ./p/..."),
            ("p/x_test.go", "go test ./p"),
            ("TestX$", "go test ./... -run 'TestX$'"),
        ],
    );
    let test = "m/src/test/java/com/x/AppTest.java";
    check(
        &[("pom.xml", ""), ("m/pom.xml", ""), (test, "")],
        &[
            ("", "mvn -B test"),
            ("m", "m: mvn -B test"),
            (test, "m: mvn -B test -Dtest=AppTest"),
            ("AppTest#adds", "mvn -B test -Dtest='AppTest#adds'"),
            ("m/src", "! Maven runs tests by class"),
        ],
    );
    check(
        &[("Makefile", "CHECK := x\n.PHONY: all\nall:\n\techo\ncheck: all\n\ttrue\n")],
        &[("", "make check"), ("x", "! `make check` runs all tests and takes no target")],
    );
    check(&[("Makefile", "test := 1\nall:\n\ttrue\n")], &[("", "! Nothing says how the tests are run")]);
}

#[test]
fn of_several_the_nearest_to_the_target_is_taken_and_the_others_are_named() {
    let place = place(&[
        ("Cargo.toml", "[package]\n"),
        ("Makefile", "test:\n\tcargo test\n"),
        ("web/package.json", "{\"scripts\": {\"test\": \"vitest\"}}"),
        ("web/src/a.ts", ""),
    ]);
    let why = |target: Option<&str>| choose(&place.env, target).map(|choice| (choice.command, choice.why)).unwrap();
    let pair = |command: &str, why: &str| (command.to_owned(), why.to_owned());
    assert_eq!(why(None), pair("cargo test", "by Cargo.toml; also there: the target `test` in Makefile"));
    assert_eq!(
        why(Some("web/src/a.ts")),
        pair("npm test -- src/a.ts", "by the script `test` in package.json in web, the nearest to the target")
    );
}

#[test]
fn no_target_becomes_anything_but_one_word() {
    let place = place(&[("Cargo.toml", "[package]\n"), ("src/$(touch x).rs", "")]);
    for target in ["a; rm -rf x", "$(touch x)", "`x`", "a' ; b", "a\\", "src/$(touch x).rs", "* ?", "~", "!x", "{a,b}"]
    {
        let choice = choose(&place.env, Some(target)).unwrap();
        let parsed = plimsoll_core::permission::command::parse(&choice.command).unwrap();
        let [simple] = parsed.commands.as_slice() else { panic!("{target}: {}", choice.command) };
        assert!(simple.words.iter().all(|word| word.literal().is_some()), "{target}: {}", choice.command);
        assert_eq!(simple.words.len(), 3, "{target}: {}", choice.command);
    }
    for target in ["--config=x", "-k", "a\nb", "a\u{1b}b"] {
        assert!(choose(&place.env, Some(target)).is_err(), "{target:?}");
    }
}

#[test]
fn what_is_configured_counts_first_and_takes_a_target_where_it_says() {
    let mut place = place(&[("Cargo.toml", "[package]\n")]);
    let set = |place: &mut Place, command: &str| {
        let command = Some((command.to_owned(), ".plimsoll/config.toml:2".to_owned()));
        place.env.tests = TestsEnv { command, ..TestsEnv::default() }.into();
    };
    set(&mut place, "just test {target}");
    let commands = |place: &Place, target| choose(&place.env, target).map(|choice| (choice.runner, choice.command));
    assert_eq!(commands(&place, None), Ok((Runner::Configured, "just test".to_owned())));
    assert_eq!(commands(&place, Some("a b")), Ok((Runner::Configured, "just test 'a b'".to_owned())));
    set(&mut place, "make ci");
    let problem = commands(&place, Some("x")).unwrap_err();
    assert!(problem.contains("takes no target") && problem.contains(".plimsoll/config.toml:2"), "{problem}");
}

#[test]
fn what_lies_outside_is_refused() {
    let place = place(&[("Cargo.toml", "[package]\n")]);
    std::fs::write(place.o.join("Makefile"), "test:\n").unwrap();
    let problem = choose(&place.env, Some(&place.o.to_string_lossy())).unwrap_err();
    assert!(problem.contains("outside the project"), "{problem}");
}
