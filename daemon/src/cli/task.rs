//! `plimsoll task` and `plimsoll evidence`: the state of the work, and what it rests on.

use super::connect;
use super::history::session;
use super::reach::Spawn;
use super::{args, out};
use plimsoll_protocol::evidence::{Evidence, EvidenceApiClient, FileNow};
use plimsoll_protocol::task::{HypothesisStatus, Phase, Task, TaskApiClient, TaskState, Verification};
use std::fmt::Write as _;
use std::process::ExitCode;

/// Exit code when an evidence is not as it was.
const STALE: u8 = 3;

/// Rules of a constraint that are named; `--json` has all.
const RULES: usize = 3;

/// Runs `plimsoll task`.
pub fn task(arguments: &args::Task) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let session = session(&client, arguments.session.as_deref()).await?;
        let state = TaskApiClient::get(&client, session).await?;
        if arguments.json {
            out::json(&state)?;
        } else {
            out::print(&text(&state))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Runs `plimsoll evidence`.
pub fn evidence(arguments: &args::Evidence) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let session = session(&client, arguments.session.as_deref()).await?;
        let evidence = EvidenceApiClient::get(&client, session, arguments.id.clone()).await?;
        if arguments.json {
            out::json(&evidence)?;
        } else {
            out::print(&shown(&evidence))?;
        }
        Ok(if evidence.stale { ExitCode::from(STALE) } else { ExitCode::SUCCESS })
    })
}

fn line(text: &str) -> String {
    out::harmless(text, false)
}

/// A task for people. Writing to a text cannot fail.
fn text(state: &TaskState) -> String {
    let mut all = String::new();
    match &state.task {
        Some(task) => all.push_str(&body(task)),
        None => all.push_str("This session has no task.\n"),
    }
    if let Some(run) = &state.verification {
        let _ = writeln!(all, "Tests: {}", tested(run, &state.revision));
    }
    if !state.unsettled.is_empty() {
        let _ = writeln!(all, "Not known whether these took effect: {}", line(&state.unsettled.join(", ")));
    }
    all
}

fn body(task: &Task) -> String {
    let mut all = String::new();
    let phase = match &task.phase {
        Phase::Investigate => "investigate".to_owned(),
        Phase::Implement => "implement".to_owned(),
        Phase::Verify => "verify".to_owned(),
        Phase::Done => "done".to_owned(),
        Phase::Other(other) => line(other),
    };
    let _ = writeln!(all, "Phase: {phase}{}", if task.waived { " (tests waived)" } else { "" });
    for (name, text) in [("Goal", &task.goal), ("Next", &task.next)] {
        if !text.is_empty() {
            let _ = writeln!(all, "{name}: {}", line(text));
        }
    }
    for constraint in &task.constraints {
        let from = constraint.item.map(|item| format!(" (item {item})")).unwrap_or_default();
        let _ = writeln!(all, "Constraint {}: \"{}\"{from}", constraint.id, line(&constraint.quote));
        let named: Vec<String> = constraint.denies.iter().take(RULES).map(|rule| line(rule)).collect();
        let more = constraint.denies.len().saturating_sub(RULES);
        let _ = match (named.is_empty(), more) {
            (true, _) => writeln!(all, "  not enforced: it is up to the model"),
            (false, 0) => writeln!(all, "  denied: {}", named.join(", ")),
            (false, more) => writeln!(all, "  denied: {} and {more} more", named.join(", ")),
        };
    }
    for hypothesis in &task.hypotheses {
        let status = match &hypothesis.status {
            HypothesisStatus::Open => "Open".to_owned(),
            HypothesisStatus::Confirmed => "Confirmed".to_owned(),
            HypothesisStatus::Refuted => "Refuted".to_owned(),
            HypothesisStatus::Other(other) => line(other),
        };
        let _ = writeln!(all, "{status}: {}{}", line(&hypothesis.claim), cited(&hypothesis.evidence));
    }
    for confirmed in &task.confirmed {
        let _ = writeln!(all, "Established: {}{}", line(&confirmed.claim), cited(&confirmed.evidence));
    }
    all
}

fn cited(evidence: &[String]) -> String {
    if evidence.is_empty() { String::new() } else { format!(" [{}]", line(&evidence.join(", "))) }
}

fn tested(run: &Verification, now: &str) -> String {
    let how = match (run.void, run.passed) {
        (true, _) => "void, since files were changed meanwhile",
        (false, true) => "passed",
        (false, false) => "failed",
    };
    let part = if run.partial { ", only some of them" } else { "" };
    let now =
        if !run.void && run.after == now { "the revision now".to_owned() } else { format!("it is {} now", line(now)) };
    format!("{how} at {} ({}{part}, {now})", line(&run.after), line(&run.call))
}

/// An evidence for people.
fn shown(evidence: &Evidence) -> String {
    let mut all = String::new();
    let _ = writeln!(all, "{} · {} · item {}", line(&evidence.evidence), line(&evidence.tool), evidence.item);
    for file in &evidence.files {
        let now = match &file.now {
            FileNow::Same => "the same".to_owned(),
            FileNow::Changed => "changed since".to_owned(),
            FileNow::Gone => "gone".to_owned(),
            FileNow::Unknown => "cannot be read now".to_owned(),
            FileNow::Other(other) => line(other),
        };
        let _ = writeln!(all, "{}: {now}", line(&file.path));
    }
    if evidence.stale && evidence.files.is_empty() {
        let _ = writeln!(all, "The project has changed since: it is {} now", line(&evidence.revision));
    }
    let _ = writeln!(all, "\n{}", out::harmless(&evidence.text, true));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_protocol::task::{Confirmed, Constraint, Hypothesis};

    #[test]
    fn a_task_names_the_users_words_and_what_enforces_them() {
        let constraint = |id: u32, quote: &str, denies: &[&str]| Constraint {
            id,
            quote: quote.to_owned(),
            item: (id == 1).then_some(3),
            denies: denies.iter().map(|rule| (*rule).to_owned()).collect(),
        };
        let task = Task {
            goal: "Fix \x1b[2J it".to_owned(),
            constraints: vec![constraint(1, "do not commit", &["a", "b", "c", "d"]), constraint(2, "be nice", &[])],
            hypotheses: vec![Hypothesis {
                claim: "the cache".to_owned(),
                status: HypothesisStatus::Refuted,
                evidence: vec!["e/c1@r1".to_owned()],
            }],
            confirmed: vec![Confirmed { claim: "it fails".to_owned(), evidence: vec!["e/c2@r1".to_owned()] }],
            phase: Phase::Verify,
            next: String::new(),
            waived: true,
        };
        let run = Verification {
            call: "c4".to_owned(),
            command: "cargo test".to_owned(),
            passed: true,
            before: "r2".to_owned(),
            after: "r2".to_owned(),
            void: false,
            partial: true,
            holds: false,
            at: 0,
        };
        let state = TaskState {
            task: Some(task),
            verification: Some(run),
            unsettled: vec!["c5".to_owned()],
            revision: "r3".to_owned(),
        };
        assert_eq!(
            text(&state),
            "Phase: verify (tests waived)\nGoal: Fix \u{fffd}[2J it\nConstraint 1: \"do not commit\" (item 3)\n  denied: a, b, c \
             and 1 more\nConstraint 2: \"be nice\"\n  not enforced: it is up to the model\nRefuted: the cache [e/c1@r1]\n\
             Established: it fails [e/c2@r1]\nTests: passed at r2 (c4, only some of them, it is r3 now)\nNot known whether these took effect: c5\n"
        );
        let none = TaskState { task: None, verification: None, unsettled: Vec::new(), revision: "r0".to_owned() };
        assert_eq!(text(&none), "This session has no task.\n");
    }
}
