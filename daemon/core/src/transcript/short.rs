//! The short forms that a compaction leaves: of a result head and tail, of a turn one line. Each says where the whole
//! stands, with the call that shows it.

use super::batch::StoredProjection;
use super::item::{Item, ItemBody, ToolCall};
use super::shape::Snip;
use crate::escape;
use crate::id::{CallId, ItemNo, TurnNo};
use crate::tokens::tokens;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Longest line of a result that is cut to a few lines, in characters.
const LINE_CHARS: usize = 200;
/// Calls that a turn's line names; of more only the number is told.
const NAMED_CALLS: usize = 16;
/// Longest argument in a turn's line, in characters.
const ARGUMENT_CHARS: usize = 60;
/// Longest beginning of an answer in a turn's line, in characters.
const ANSWER_CHARS: usize = 200;
/// Of its size a result must lose so many hundredths, or it stays.
const WORTH_PERCENT: u64 = 15;

/// Arguments that say what a call was about, the most telling first.
const TELLING: &[&str] =
    &["target_file", "path", "command", "pattern", "glob_pattern", "target_directory", "file_path", "target", "call"];

impl Snip {
    /// Tokens that are left of a result, about.
    pub const fn budget(self) -> u64 {
        match self {
            Self::Large => 2_000,
            Self::Small => 300,
        }
    }
}

/// The call that shows an item, of about so many lines, in the mirror.
pub fn find_item(item: ItemNo, lines: usize, transcript: &str) -> String {
    let arguments = json!({"pattern": format!("^#{} ", item.0), "path": transcript, "after_lines": lines.max(1)});
    format!("grep {arguments}")
}

/// A result's text cut to head and tail by whole lines, with a notice between; none where that would save too little.
pub fn snipped(text: &str, snip: Snip, item: ItemNo, transcript: &str) -> Option<String> {
    let whole = tokens(text);
    let lines: Vec<&str> = text.lines().collect();
    let notice = |from: usize, to: usize| {
        let what = if from == to { format!("Line {from}") } else { format!("Lines {from} to {to}") };
        format!(
            "[{what} of the {} lines of this result are cut here, long lines too. The whole is item #{} of the transcript: {}]",
            lines.len(),
            item.0,
            escape::data(&find_item(item, lines.len(), transcript)),
        )
    };
    let budget = snip.budget().saturating_sub(tokens(&notice(lines.len(), lines.len())));
    let longest = match snip {
        Snip::Large => LINE_CHARS * 5,
        Snip::Small => LINE_CHARS,
    };
    let shown: Vec<String> = lines.iter().map(|line| cut(line, longest)).collect();
    let mut costs = shown.iter().map(|line| tokens(line).saturating_add(1)).collect::<Vec<_>>();
    // The header says what it is and how it ended.
    let first = costs.first_mut().map(std::mem::take).unwrap_or_default();
    let room = budget.saturating_sub(first);
    let head = fitting(costs.iter().copied(), room * 3 / 5);
    let tail = fitting(costs.iter().rev().copied(), room * 2 / 5).min(lines.len().saturating_sub(head));
    let cut_long = shown.iter().zip(&lines).any(|(shown, line)| shown != line);
    if head + tail >= lines.len() && !cut_long {
        return None;
    }
    let mut out: Vec<String> = shown.get(..head).unwrap_or_default().to_vec();
    out.push(notice(head + 1, lines.len() - tail));
    out.extend(shown.get(lines.len() - tail..).unwrap_or_default().iter().cloned());
    let out = out.join("\n");
    (tokens(&out).saturating_mul(100) <= whole.saturating_mul(100 - WORTH_PERCENT)).then_some(out)
}

/// How many, from the first, cost no more than `room` in all.
fn fitting(costs: impl Iterator<Item = u64>, room: u64) -> usize {
    let mut left = room;
    costs
        .take_while(|cost| {
            let fits = *cost <= left;
            left = left.saturating_sub(*cost);
            fits
        })
        .count()
}

fn cut(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}\u{2026}", line.get(..at).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// One line for the answers, calls and results of a turn, or of its first steps: what was called, how it went, what was
/// said in the end. `items` are those it stands for.
pub fn turn_line(turn: TurnNo, items: &[&Item], projections: &BTreeMap<CallId, StoredProjection>) -> String {
    let failed: BTreeSet<CallId> =
        projections.values().filter(|shown| shown.is_error).map(|shown| shown.call).collect();
    let calls: Vec<&ToolCall> = items
        .iter()
        .filter_map(|item| match &item.body {
            ItemBody::ToolCall(call) => Some(call),
            _ => None,
        })
        .collect();
    let mut parts = Vec::new();
    if !calls.is_empty() {
        let named = calls.iter().take(NAMED_CALLS).map(|call| named(call, failed.contains(&call.call)));
        let mut text = format!("called {}", named.collect::<Vec<_>>().join("; "));
        if let Some(more) = calls.len().checked_sub(NAMED_CALLS).filter(|more| *more > 0) {
            // Writing to a String cannot fail.
            let _ = write!(text, "; and {more} more calls");
        }
        parts.push(text);
    }
    let answer = items.iter().rev().find_map(|item| match &item.body {
        ItemBody::Assistant(text) if !text.text.trim().is_empty() => Some(text),
        _ => None,
    });
    if let Some(answer) = answer {
        let cut_off = if answer.cut { ", cut off" } else { "" };
        parts.push(format!("answered{cut_off} {:?}", cut(&one_line(&answer.text), ANSWER_CHARS)));
    }
    if parts.is_empty() {
        parts.push("nothing was answered".to_owned());
    }
    let (first, last) = (items.first().map_or(0, |item| item.no.0), items.last().map_or(0, |item| item.no.0));
    let line = format!("[Shortened: turn {turn}, items #{first} to #{last}: {}.]", parts.join(". "));
    escape::data(&line).into_owned()
}

fn named(call: &ToolCall, failed: bool) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let telling = TELLING.iter().find_map(|name| arguments.get(name)?.as_str());
    let tool = cut(&one_line(&call.tool), ARGUMENT_CHARS);
    let about = telling.map(|text| format!(" {}", cut(&one_line(text), ARGUMENT_CHARS))).unwrap_or_default();
    let end = if failed { " (failed)" } else { "" };
    format!("{} {tool}{about}{end}", call.call)
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::StepNo;
    use crate::time::Timestamp;
    use crate::transcript::item::AssistantText;
    use proptest::prelude::*;

    const MIRROR: &str = "/data/transcript.txt";

    #[test]
    fn a_cut_result_keeps_head_and_tail_and_says_where_the_whole_is() {
        let lines: Vec<String> = (1..=200).map(|no| format!("{no}|let value_{no} = compute({no});")).collect();
        let text = format!("[read_file ok · src/a.rs · lines 1-200 of 200 · e/c7@r4]\n{}", lines.join("\n"));
        let out = snipped(&text, Snip::Small, ItemNo(20), MIRROR).expect("it is large");
        assert!(out.starts_with("[read_file ok · src/a.rs · lines 1-200 of 200 · e/c7@r4]\n1|let value_1 = "), "{out}");
        assert!(out.ends_with("200|let value_200 = compute(200);"), "{out}");
        assert!(
            out.contains(
                "of the 201 lines of this result are cut here, long lines too. The whole is item #20 of the transcript: \
                 grep {\"pattern\":\"^#20 \",\"path\":\"/data/transcript.txt\",\"after_lines\":201}]"
            ),
            "{out}"
        );
        assert!(tokens(&out) <= Snip::Small.budget() + 20, "{}", tokens(&out));
        let long = text.repeat(4);
        let large = snipped(&long, Snip::Large, ItemNo(20), MIRROR).expect("it is larger");
        assert!((1_700..=2_020).contains(&tokens(&large)), "{}", tokens(&large));
        assert_eq!(snipped("[read_file ok]\n1|a\n2|b", Snip::Small, ItemNo(20), MIRROR), None);
    }

    #[test]
    fn a_line_tells_what_a_turn_did() {
        let item = |no, body| Item { no: ItemNo(no), turn: TurnNo(4), step: StepNo(1), at: Timestamp(0), body };
        let call = |no, tool: &str, arguments: &str| {
            ItemBody::ToolCall(ToolCall {
                call: CallId(no),
                tool: tool.into(),
                arguments: arguments.into(),
                provider_id: None,
            })
        };
        let items = [
            item(31, call(7, "read_file", r#"{"target_file":"src/a.rs"}"#)),
            item(32, call(8, "run_terminal_cmd", "{\"command\":\"cargo\\n test </user_query>\"}")),
            item(40, ItemBody::Assistant(AssistantText { text: "Both\n pass.".into(), cut: false })),
        ];
        let failed = StoredProjection {
            call: CallId(8),
            text: String::new(),
            is_error: true,
            tokens: 1,
            partial: false,
            whole: 0,
            saved: 0,
            shown: vec![],
        };
        let line = turn_line(TurnNo(4), &items.iter().collect::<Vec<_>>(), &BTreeMap::from([(CallId(8), failed)]));
        assert_eq!(
            line,
            "[Shortened: turn 4, items #31 to #40: called c7 read_file src/a.rs; c8 run_terminal_cmd cargo test \
             &lt;/user_query> (failed). answered \"Both pass.\".]"
        );
    }

    proptest! {
        #[test]
        fn a_cut_result_is_smaller_and_keeps_whole_lines(lines in prop::collection::vec("[ -~é世]{0,300}", 0..400)) {
            let text = lines.join("\n");
            for snip in [Snip::Large, Snip::Small] {
                if let Some(out) = snipped(&text, snip, ItemNo(1), MIRROR) {
                    prop_assert!(tokens(&out) < tokens(&text));
                    let names_it = out.contains("item #1 of the transcript: grep ");
                    prop_assert!(names_it);
                }
            }
        }
    }
}
