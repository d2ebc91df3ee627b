//! What the host writes of a summary: what it knows, from its records and from the user's own messages.

use super::budget::Budget;
use super::compose::{defuse, frame, one_line};
use super::said::Messages;
use super::{Facts, Section};
use crate::id::EvidenceId;
use crate::prompt::{
    Prompts, SUMMARY_FRAME, SUMMARY_LOOK, SUMMARY_LOOK_GREP, SUMMARY_LOOK_READ, SUMMARY_LOOK_SESSION,
    SUMMARY_UNWRITTEN, SUMMARY_VERIFY,
};
use crate::task::Constraint;
use crate::tokens::tokens;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Characters of one line of a list. An operation's has its command, which is bounded where the line is made.
const LINE: usize = 240;
const OPERATION: usize = 1_000;

/// Tokens of the line that counts what a list leaves out.
const COUNTED: u64 = 10;

/// The host's parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    head: String,
    parts: BTreeMap<Section, String>,
    unwritten: String,
    budget: Budget,
}

impl Host {
    /// Goal, constraints, the user's standing words and unsettled operations are always there, whatever they cost; see
    /// [`Budget`] for the rest.
    pub fn of(prompts: &Prompts, facts: &Facts) -> Self {
        let (turns, items) = (facts.covers.turns, facts.covers.items);
        let turns =
            if turns.0 == turns.1 { format!("turn {}", turns.0) } else { format!("turns {}–{}", turns.0, turns.1) };
        let items = format!("#{}–#{}", items.0, items.1);
        let head = prompts.render(&SUMMARY_FRAME, &[("turns", &turns), ("items", &items)]);
        let fixed = [
            (Section::Intent, intent(&facts.goal, &facts.constraints)),
            (Section::Pending, unsettled(facts)),
            (Section::Current, facts.tests.as_ref().map(|tests| one_line(tests, OPERATION)).unwrap_or_default()),
            (Section::Next, next(prompts, facts)),
        ];
        let messages = Messages::of(facts);
        let cost = frame(&head) + fixed.iter().map(|(_, text)| tokens(text) + 1).sum::<u64>();
        let mut budget = Budget::of(facts.window).beside(cost, messages.least());

        let lists = lists(facts, budget.lists);
        let unused = budget.lists.saturating_sub(lists.iter().map(|(_, text)| tokens(text)).sum());
        budget.said = budget.said.saturating_add(unused).min(Budget::of(facts.window).said).max(budget.said);
        let said = [(Section::Said, messages.render(budget.said))];

        let mut parts: BTreeMap<Section, String> = BTreeMap::new();
        for (section, text) in fixed.into_iter().chain(lists).chain(said).filter(|(_, text)| !text.is_empty()) {
            let part = parts.entry(section).or_default();
            if !part.is_empty() && !part.ends_with('\n') {
                part.push('\n');
            }
            part.push_str(&text);
        }
        Self { head, parts, unwritten: prompts.render(&SUMMARY_UNWRITTEN, &[]), budget }
    }

    /// What the parts may cost; `model` is the most that a model may write.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// What it knows for a section.
    pub fn part(&self, section: Section) -> Option<&str> {
        self.parts.get(&section).map(String::as_str)
    }

    pub(super) fn head(&self) -> &str {
        &self.head
    }

    pub(super) fn unwritten(&self) -> &str {
        &self.unwritten
    }
}

fn intent(goal: &str, constraints: &[Constraint]) -> String {
    let mut out = String::new();
    if !goal.trim().is_empty() {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "Goal: {}", defuse(goal.trim()));
    }
    for constraint in constraints {
        let place = constraint.item.map_or_else(|| "set by the user".to_owned(), |item| format!("#{item}"));
        let enforced = if constraint.denies.is_empty() { "" } else { ", enforced" };
        let _ = writeln!(out, "Constraint {} ({place}{enforced}): {}", constraint.id, defuse(&constraint.quote));
    }
    out
}

fn unsettled(facts: &Facts) -> String {
    let mut out = String::new();
    for (call, line) in &facts.unsettled {
        if out.is_empty() {
            out.push_str("Nobody saw the end of these; whether they took effect is not settled:\n");
        }
        let line = one_line(line, OPERATION);
        let rest = line.strip_prefix(&call.to_string()).filter(|rest| !rest.starts_with(char::is_alphanumeric));
        let _ = writeln!(out, "- {call} {}", rest.unwrap_or(&line).trim_start());
    }
    out
}

fn next(prompts: &Prompts, facts: &Facts) -> String {
    let mut lines = Vec::new();
    if !facts.unsettled.is_empty() {
        let calls: Vec<String> = facts.unsettled.iter().map(|(call, _)| call.to_string()).collect();
        lines.push(prompts.render(&SUMMARY_VERIFY, &[("calls", &calls.join(", "))]));
    }
    let transcript = one_line(&facts.transcript, usize::MAX);
    lines.push(prompts.render(&SUMMARY_LOOK, &[("transcript", &transcript)]));
    for (tool, text) in
        [("grep", &SUMMARY_LOOK_GREP), ("read_file", &SUMMARY_LOOK_READ), ("read_session", &SUMMARY_LOOK_SESSION)]
    {
        if facts.tools.iter().any(|name| name == tool) {
            lines.push(prompts.render(text, &[("tool", tool)]));
        }
    }
    lines.join("\n")
}

/// The host's lists, all together within so many tokens. Of each the newest are shown.
fn lists(facts: &Facts, room: u64) -> Vec<(Section, String)> {
    let claims = |word: &str, claims: &[(String, Vec<EvidenceId>)]| -> Vec<String> {
        claims
            .iter()
            .map(|(claim, evidence)| format!("- {word}: {}{}", one_line(claim, LINE), cited(evidence)))
            .collect()
    };
    let todos: Vec<String> = facts.todos.iter().map(|todo| format!("- todo: {}", one_line(todo, LINE))).collect();
    let files = facts.files.iter();
    let files = files.map(|(path, version)| format!("- {} @ {}", one_line(path, LINE), one_line(version, LINE)));
    let all = [
        (Section::Pending, "todos", todos),
        (Section::Solving, "confirmed causes", claims("confirmed", &facts.confirmed)),
        (Section::Solving, "refuted causes", claims("refuted", &facts.refuted)),
        (Section::Files, "files", files.collect()),
    ];
    let mut left = room;
    let mut waiting = u64::try_from(all.iter().filter(|(.., lines)| !lines.is_empty()).count()).unwrap_or_default();
    let mut out = Vec::new();
    for (section, what, lines) in all {
        if lines.is_empty() {
            continue;
        }
        let text = newest(&lines, what, left / waiting.max(1));
        waiting -= 1;
        left = left.saturating_sub(tokens(&text));
        out.push((section, text));
    }
    out
}

fn newest(lines: &[String], what: &str, room: u64) -> String {
    let all: u64 = lines.iter().map(|line| tokens(line) + 1).sum();
    let mut left = if all <= room { all } else { room.saturating_sub(COUNTED) };
    let shown = lines.iter().rev().take_while(|line| match left.checked_sub(tokens(line) + 1) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    });
    let hidden = lines.len() - shown.count();
    let mut out = String::new();
    if hidden > 0 && room >= COUNTED {
        let _ = writeln!(out, "- {hidden} more {what}");
    }
    for line in lines.iter().skip(hidden) {
        let _ = writeln!(out, "{line}");
    }
    out
}

fn cited(evidence: &[EvidenceId]) -> String {
    if evidence.is_empty() {
        return String::new();
    }
    let ids: Vec<String> = evidence.iter().map(ToString::to_string).collect();
    format!(" [{}]", ids.join(", "))
}
