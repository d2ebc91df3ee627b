//! The readers over what the real programs print; outputs of those that are not at hand are written by their documented
//! forms.

use super::*;
use proptest::prelude::*;

/// Numbers as `passed/failed/skipped unit`, then each failing test with the first line of its message.
fn told(runner: Runner, text: &str) -> Vec<String> {
    let Some(report) = read(runner, text) else { return vec!["nothing".to_owned()] };
    let unit = if report.unit == Unit::Tests { "tests" } else { "packages" };
    let cut = if report.cut { ", cut" } else { "" };
    let more = if report.more_failures > 0 { format!(", {} more", report.more_failures) } else { String::new() };
    let mut lines =
        vec![format!("{}: {}/{}/{} {unit}{more}{cut}", report.format, report.passed, report.failed, report.skipped)];
    for failure in &report.failures {
        lines.push(format!("{}: {}", failure.name, failure.message.lines().next().unwrap_or("-")));
    }
    lines
}

fn check(runner: Runner, text: &str, expected: &[&str]) {
    assert_eq!(told(runner, text), expected);
    if !text.is_empty() {
        // Who runs it does not matter to what it says.
        assert_eq!(told(Runner::Make, text), expected);
    }
}

#[test]
fn cargo_is_read() {
    let text = include_str!("recorded/cargo.txt");
    check(
        Runner::Cargo,
        text,
        &[
            "cargo: 1/2/1 tests",
            "tests::quiet: note: test did not panic as expected at src/lib.rs:10:32",
            "tests::fails: thread 'tests::fails' (30062) panicked at src/lib.rs:8:47:",
        ],
    );
    let quiet = "running 2 tests\nF.\nfailures:\n\n---- a stdout ----\nboom\n\nfailures:\n    a\n\n\
                 test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    check(Runner::Cargo, quiet, &["cargo: 1/1/0 tests", "a: boom"]);
    let aborted = "running 3 tests\ntest a ... ok\ntest b ... FAILED\nerror: test failed, to rerun pass `--lib`\n";
    check(Runner::Cargo, aborted, &["cargo: 1/1/0 tests, cut", "b: -"]);
    let several = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 \
                   filtered out\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 2 ignored; 0 measured; 5 \
                   filtered out\n";
    check(Runner::Cargo, several, &["cargo: 1/0/2 tests"]);
    let next = "        PASS [   0.003s] m tests::a\n        FAIL [   0.004s] m tests::b\n------------\n     Summary [   \
                0.010s] 2 tests run: 1 passed (1 slow), 1 failed, 3 skipped\n        FAIL [   0.004s] m tests::b\n";
    check(Runner::Cargo, next, &["nextest: 1/1/3 tests", "m tests::b: -"]);
}

#[test]
fn pytest_is_read() {
    check(
        Runner::Pytest,
        include_str!("recorded/pytest.txt"),
        &[
            "pytest: 1/4/1 tests",
            "test_b.py::test_one: AssertionError: one is not two",
            "test_b.py::test_p[2]: assert 2 == 1",
            "test_b.py::test_cap: AssertionError: assert {'a': 1} == {'a': 2}",
            "test_b.py::test_two: RuntimeError: broken fixture",
        ],
    );
    let collect = ["pytest: 0/1/0 tests", "test_c.py: ModuleNotFoundError: No module named 'nope'"];
    check(Runner::Pytest, include_str!("recorded/pytest_collect.txt"), &collect);
    check(Runner::Pytest, include_str!("recorded/pytest_q.txt"), &["pytest: 1/0/0 tests"]);
    check(Runner::Pytest, include_str!("recorded/pytest_none.txt"), &["pytest: 0/0/0 tests"]);
    check(Runner::Pytest, "=== no tests ran in 0.01s ===\n", &["pytest: 0/0/0 tests"]);
    check(Runner::Pytest, "1 thing in 5 seconds", &["nothing"]);
}

#[test]
fn unittest_is_read() {
    check(
        Runner::Unittest,
        include_str!("recorded/unittest.txt"),
        &[
            "unittest: 1/3/2 tests",
            "test_a.A.test_err: ValueError: no",
            "test_a.A.test_bad: AssertionError: 1 != 2",
            "test_a.A.test_sub (i=1): AssertionError: 1 == 1",
        ],
    );
    check(Runner::Unittest, include_str!("recorded/unittest_none.txt"), &["unittest: 0/0/0 tests"]);
    let bar = "-".repeat(70);
    let older = format!(
        "{}\nFAIL: test_x (a.B)\nWhat it is about.\n{bar}\nTraceback (most recent call last):\n  File \"a\"\nAssertionError\n\n\
         {bar}\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n",
        "=".repeat(70)
    );
    check(Runner::Unittest, &older, &["unittest: 0/1/0 tests", "a.B.test_x: AssertionError"]);
}

#[test]
fn node_is_read_in_both_reporters() {
    let failing = |format: &str, first: &str| {
        [format!("{format}: 2/2/2 tests"), format!("fails: {first}"), "inner bad: ".to_owned()]
    };
    for (text, expected) in [
        (include_str!("recorded/node_tap.txt"), failing("tap", "1 == 2")),
        (include_str!("recorded/node_spec.txt"), failing("node", "AssertionError [ERR_ASSERTION]: 1 == 2")),
    ] {
        let found = told(Runner::Node, text);
        assert_eq!(found[..2], expected[..2]);
        assert!(found[2].starts_with("inner bad: ") && found[2].contains("boom"), "{found:?}");
        assert_eq!((found.len(), told(Runner::Npm, text)), (3, found));
    }
    let plain = "TAP version 13\n1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no\n";
    check(Runner::Node, plain, &["tap: 1/1/1 tests", "b: -"]);
    check(Runner::Node, "TAP version 13\n1..3\nok 1 - a\n", &["tap: 1/0/0 tests, cut"]);
}

#[test]
fn jest_vitest_and_mocha_are_read() {
    check(
        Runner::Npm,
        include_str!("recorded/jest.txt"),
        &[
            "jest: 1/2/1 tests",
            "sum \u{203A} adds badly: expect(received).toBe(expected) // Object.is equality",
            "./broken.test.js: Test suite failed to run: Cannot find module './nope' from 'broken.test.js'",
        ],
    );
    check(
        Runner::Npm,
        include_str!("recorded/vitest.txt"),
        &[
            "vitest: 1/1/1 tests",
            "test/sum.test.ts > sum > adds badly: AssertionError: expected 3 to be 4 // Object.is equality",
        ],
    );
    let mocha = ["mocha: 1/1/1 tests", "sum adds badly: AssertionError [ERR_ASSERTION]: 3 == 4"];
    check(Runner::Npm, include_str!("recorded/mocha.txt"), &mocha);
}

#[test]
fn go_is_read_and_counts_packages_where_it_does_not_name_tests() {
    check(
        Runner::Go,
        include_str!("recorded/go_v.txt"),
        &[
            "go: 3/2/1 tests",
            "example.com/m/p TestBad: p_test.go:4: got 1",
            "example.com/m/p TestSub/two_words: p_test.go:5: no",
        ],
    );
    check(
        Runner::Go,
        include_str!("recorded/go.txt"),
        &[
            "go: 1/2/1 packages",
            "example.com/m/bad: -",
            "example.com/m/p TestBad: p_test.go:4: got 1",
            "example.com/m/p TestSub/two_words: p_test.go:5: no",
        ],
    );
    assert_eq!(problems(include_str!("recorded/go.txt")), ["bad/b.go:2:25: undefined: x"]);
}

#[test]
fn maven_is_read() {
    check(
        Runner::Maven,
        include_str!("recorded/maven.txt"),
        &["maven: 1/2/1 tests", "AppTest.adds:20: expected:<4> but was:<3>", "AppTest.breaks:25: NullPointer"],
    );
    check(Runner::Maven, "Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n", &["maven: 2/0/0 tests"]);
}

#[test]
fn what_a_makefile_runs_is_put_together() {
    let both = format!("{}\n{}", include_str!("recorded/pytest_q.txt"), include_str!("recorded/mocha.txt"));
    assert_eq!(told(Runner::Make, &both)[0], "pytest, mocha: 2/1/1 tests");
    assert_eq!(told(Runner::Make, "gcc -o x x.c\n./x\nall good\n"), ["nothing"]);
}

#[test]
fn what_kept_tests_from_running_is_found() {
    let compile = problems(include_str!("recorded/cargo_compile.txt"));
    assert_eq!(compile[0], "error[E0425]: cannot find value `c` in this scope (src/lib.rs:4:38)");
    for (text, expected) in [
        ("a/b.c: In function 'f':\na/b.c:3:5: error: 'x' undeclared\n", "a/b.c:3:5: error: 'x' undeclared"),
        ("[ERROR] /w/A.java:[10,5] cannot find symbol\n", "[ERROR] /w/A.java:[10,5] cannot find symbol"),
        ("make: *** [Makefile:2: test] Error 3\n", "make: *** [Makefile:2: test] Error 3"),
        ("/usr/bin/python3: No module named pytest\n", "/usr/bin/python3: No module named pytest"),
        ("Traceback (most recent call last):\n  File \"a\"\nKeyError\n", "KeyError"),
        ("bash: line 1: mvn: command not found\n", "bash: line 1: mvn: command not found"),
    ] {
        assert_eq!(problems(text), [expected], "{text}");
    }
    assert_eq!(problems("all good\n12:30:45 tick\nerrors happen\n"), Vec::<String>::new());
}

const ALL: [Runner; 9] = [
    Runner::Cargo,
    Runner::Pytest,
    Runner::Unittest,
    Runner::Npm,
    Runner::Node,
    Runner::Go,
    Runner::Maven,
    Runner::Make,
    Runner::Configured,
];

/// Pieces that the readers look for, so that chance reaches what stands behind them.
fn piece() -> impl Strategy<Value = String> {
    let known = [
        "running 3 tests",
        "test a ... FAILED",
        "test result: FAILED. 1 passed; 99999999999999999999 failed",
        "---- a stdout ----",
        "failures:",
        "FAIL: test_x (",
        "Ran 18446744073709551615 tests in 1s",
        "FAILED (failures=18446744073709551615, errors=7)",
        "=== 3 failed, 1 passed in 1s ===",
        "FAILED a::b - c",
        "=== short test summary info ===",
        "___ a ___",
        "E   x",
        "TAP version 13",
        "1..5",
        "not ok 2 - x",
        "  ---",
        "  error: |-",
        "  ...",
        "ok",
        "# tests 3",
        "# pass 1",
        "# fail 2",
        "\u{2139} tests 2",
        "\u{2139} pass 2",
        "\u{2139} fail 2",
        "\u{2716} failing tests:",
        "\u{2716} x (",
        "  \u{25CF} a",
        "Tests: 1 failed, 2 total",
        " FAIL  a > b",
        "      Tests  1 failed (1)",
        "  1 passing (1s)",
        "  1 failing",
        "  1) a",
        "--- FAIL: A/b (0.0s)",
        "=== RUN   A",
        "FAIL\tp\t1s",
        "ok  \tp\t1s",
        "Tests run: 3, Failures: 9, Errors: 1, Skipped: 8",
        "[ERROR] Errors: ",
        "[ERROR]   a.b:1 c",
        "Summary [ 1s] 2 tests run: 1 passed, 1 failed",
        "error: x",
        " --> a:1:2",
        "Traceback (most recent call last):",
    ];
    prop_oneof![4 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "(?s).{0,20}"]
}

proptest! {
    #[test]
    fn any_text_is_read_without_harm(pieces in proptest::collection::vec(piece(), 0..40), end in "\r?\n") {
        let text = pieces.join(&end);
        for runner in ALL {
            if let Some(report) = read(runner, &text) {
                prop_assert!(report.failures.iter().all(|failure| failure.name.chars().count() <= NAME_CHARS + 1));
                prop_assert!(report.failures.iter().all(|failure| failure.message.chars().count() <= MESSAGE_CHARS));
            }
        }
        prop_assert!(problems(&text).len() <= 30);
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        for runner in ALL {
            read(runner, &text);
        }
        problems(&text);
    }
}

/// A run that ended with this code and said nothing.
pub(crate) fn run(code: i32) -> TestRun {
    TestRun {
        run: crate::tool::outcome::CommandRun {
            command: "make test".to_owned(),
            cwd: ".".to_owned(),
            exit: crate::tool::outcome::Exit::Code(code),
            duration_ms: 1_500,
            output: crate::tool::outcome::Output::default(),
            stderr: crate::tool::outcome::Output::default(),
            log: None,
            left_running: Vec::new(),
            limits: None,
        },
        runner: Runner::Make,
        why: "Makefile has a target `test`".to_owned(),
        target: None,
        report: None,
        problems: Vec::new(),
        before: crate::id::Revision(41),
        after: crate::id::Revision(42),
        own: Vec::new(),
        foreign: Vec::new(),
        void: None,
    }
}
