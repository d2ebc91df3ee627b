//! What a test run printed, read: how many tests ran, which failed and with what first message, or what kept them from
//! running at all. Pure; one file for each format.
//!
//! Every reader takes any text, and says nothing where it does not recognise a summary of its own format: what is not
//! known is not guessed. Called by `run_tests` with the output of a command that has ended.

mod cargo;
mod go;
mod jest;
mod maven;
mod mocha;
mod node;
mod problems;
mod pytest;
mod run;
mod unittest;
mod vitest;

#[cfg(test)]
pub(crate) mod tests;

pub use problems::problems;
pub use run::TestRun;

use serde::{Deserialize, Serialize};

/// Failing tests that are kept; more are counted.
const FAILURES_MAX: usize = 1_000;

/// Of a failing test's name so many characters are kept.
const NAME_CHARS: usize = 300;

/// Of its message so many lines …
const MESSAGE_LINES: usize = 8;

/// … and so many characters.
const MESSAGE_CHARS: usize = 600;

/// What runs a project's tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runner {
    /// `cargo test`.
    Cargo,
    /// `python3 -m pytest`.
    Pytest,
    /// `python3 -m unittest`.
    Unittest,
    /// The test script of a `package.json`.
    Npm,
    /// `node --test`.
    Node,
    /// `go test`.
    Go,
    /// Maven's `test` phase.
    Maven,
    /// A target of a makefile, which may run anything.
    Make,
    /// The command that the configuration names.
    Configured,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Tests.
    #[default]
    Tests,
    /// Packages: the runner does not say how many tests of them passed.
    Packages,
}

/// What a run says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TestReport {
    /// The formats that were recognised, such as `pytest`.
    pub format: String,
    /// What the three numbers count.
    pub unit: Unit,
    /// How many passed.
    pub passed: u64,
    /// How many failed, those that broke before their first line among them.
    pub failed: u64,
    /// How many were not run, or are expected to fail and did.
    pub skipped: u64,
    /// The failing tests, each once.
    pub failures: Vec<Failure>,
    /// Failing tests that are not among them.
    pub more_failures: u64,
    /// A program ended before it had said its totals: the numbers may be too low.
    pub cut: bool,
}

/// A failing test.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Failure {
    /// Its name, as its runner takes it where that is known.
    pub name: String,
    /// The beginning of what it says; empty when it says nothing.
    pub message: String,
}

impl TestReport {
    fn of(format: &str) -> Self {
        Self { format: format.to_owned(), ..Self::default() }
    }

    /// How many ran.
    pub fn run(&self) -> u64 {
        self.passed.saturating_add(self.failed)
    }

    /// Notes a failing test, unless it is noted already; a message that comes later is taken in.
    fn fails(&mut self, name: &str, message: String) {
        let name = short(name);
        if let Some(known) = self.failures.iter_mut().find(|known| known.name == name) {
            if known.message.is_empty() {
                known.message = message;
            }
        } else if self.failures.len() < FAILURES_MAX {
            self.failures.push(Failure { name, message });
        }
    }

    /// Counts what is known to have failed and is not named.
    fn counted(mut self) -> Self {
        if self.unit == Unit::Tests {
            self.more_failures = self.failed.saturating_sub(self.failures.len() as u64);
        }
        self
    }

    fn join(mut self, other: Self) -> Self {
        self.format = format!("{}, {}", self.format, other.format);
        if other.unit == Unit::Packages {
            self.unit = Unit::Packages;
        }
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.more_failures = self.more_failures.saturating_add(other.more_failures);
        self.cut |= other.cut;
        for failure in other.failures {
            self.fails(&failure.name, failure.message);
        }
        self
    }
}

type Reader = fn(&str) -> Option<TestReport>;

/// What a runner printed. None when no summary of a known format is in it.
pub fn read(runner: Runner, text: &str) -> Option<TestReport> {
    let readers: &[Reader] = match runner {
        Runner::Cargo => &[cargo::read],
        Runner::Pytest => &[pytest::read],
        Runner::Unittest => &[unittest::read],
        Runner::Node => &[node::read],
        Runner::Go => &[go::read],
        Runner::Maven => &[maven::read],
        // What they run is the project's affair, and may be several.
        Runner::Npm | Runner::Make | Runner::Configured => &[
            cargo::read,
            pytest::read,
            unittest::read,
            jest::read,
            vitest::read,
            mocha::read,
            node::read,
            go::read,
            maven::read,
        ],
    };
    readers.iter().filter_map(|reader| reader(text)).reduce(TestReport::join)
}

fn short(name: &str) -> String {
    let mut chars = name.trim().chars();
    let mut out: String = chars.by_ref().take(NAME_CHARS).collect();
    if chars.next().is_some() {
        out.push('\u{2026}');
    }
    out
}

/// The beginning of a message: its lines without those that are empty, and without the room in front that all have.
fn excerpt<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines: Vec<&str> =
        lines.into_iter().map(str::trim_end).filter(|line| !line.trim().is_empty()).take(MESSAGE_LINES).collect();
    let blanks = |line: &&str| line.len() - line.trim_start().len();
    let margin = lines.iter().map(blanks).min().unwrap_or_default();
    let text: Vec<&str> = lines.iter().map(|line| line.get(margin..).unwrap_or(line.trim_start())).collect();
    text.join("\n").chars().take(MESSAGE_CHARS).collect()
}

/// The number at the beginning of a text, and what follows it.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

/// A text such as `3 failed` as a number and a word.
fn counted_word(text: &str) -> Option<(u64, &str)> {
    let (count, rest) = number(text.trim())?;
    Some((count, rest.strip_prefix(' ')?.trim()))
}
