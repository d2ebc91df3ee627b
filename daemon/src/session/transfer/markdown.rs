//! A session for people: prompts, answers, and calls with their results folded away.

use crate::store::{SessionRow, ViewItem};
use plimsoll_core::id::{ItemNo, TurnNo};
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::item::ItemBody;
use plimsoll_core::transcript::rewound::OutOfView;
use std::fmt::Write as _;

/// Characters of a call's arguments that stand in its line.
const ARGUMENTS: usize = 160;

/// What stands above the conversation.
pub(super) fn head(row: &SessionRow, last: ItemNo) -> String {
    let title = if row.title.is_empty() { "Untitled session" } else { &row.title };
    format!("# {}\n\nModel {}, begun {}, {last} items.\n", line(title), line(&row.model), time(row.created_at))
}

/// One item; empty where people are shown nothing of it. `before` is the turn of the item before it.
pub(super) fn item(found: &ViewItem, before: TurnNo, out: &OutOfView) -> String {
    let item = &found.item;
    let mut text = String::new();
    if item.turn != before {
        let left = if out.contains(item.no) { " (out of the model's view: the conversation went back)" } else { "" };
        let _ = write!(text, "\n## Turn {}{left}\n", item.turn);
    }
    match &item.body {
        ItemBody::User(message) => {
            let who = if message.steering { "User, while the turn ran" } else { "User" };
            let _ = write!(text, "\n**{who}**, {}\n\n{}\n", time(item.at), quoted(&message.text));
        }
        ItemBody::Assistant(said) => {
            let cut = if said.cut { "\n\n*The answer was cut off here.*" } else { "" };
            let _ = write!(text, "\n{}{cut}\n", said.text.trim_end());
        }
        ItemBody::Reasoning(reasoning) if !reasoning.text.trim().is_empty() => {
            let _ = write!(text, "\n{}", folded("Reasoning", &reasoning.text));
        }
        ItemBody::ToolCall(call) => {
            let arguments: String = call.arguments.chars().take(ARGUMENTS).collect();
            let more = if arguments.len() < call.arguments.len() { "…" } else { "" };
            let what = format!("{} {} {arguments}{more}", call.call, call.tool);
            let _ = write!(text, "\n- {}\n", code(&line(&what)));
        }
        ItemBody::ToolResult(result) => {
            let shown = found.projection.as_ref().map(|shown| shown.text.as_str()).unwrap_or_default();
            let summary = format!("{} {}: {}", result.call, result.tool, result.outcome.status.word());
            let _ = write!(text, "\n{}", folded(&summary, shown));
        }
        ItemBody::Notice(notice) => {
            let _ = write!(text, "\n*{}*\n", line(&notice.text));
        }
        ItemBody::Rewind(rewind) => {
            let _ = write!(text, "\n*The conversation went back to before turn {}.*\n", rewind.turn);
        }
        ItemBody::Reasoning(_) | ItemBody::Meta(_) | ItemBody::Observation(_) => {}
    }
    text
}

fn time(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| at.0.to_string(), |at| at.strftime("%F %H:%M UTC").to_string())
}

/// On one line, without what would be markup.
fn line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn quoted(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("> {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Longest run of backticks.
fn ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn code(text: &str) -> String {
    let fence = "`".repeat(ticks(text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn folded(summary: &str, text: &str) -> String {
    let fence = "`".repeat((ticks(text) + 1).max(3));
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("<details><summary>{}</summary>\n\n{fence}\n{text}{end}{fence}\n\n</details>\n", line(summary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_cannot_end_its_own_fence_or_fold() {
        let folded = folded("c1 <b>", "a\n````\n</details>");
        assert_eq!(
            folded,
            "<details><summary>c1 &lt;b></summary>\n\n`````\na\n````\n</details>\n`````\n\n</details>\n"
        );
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(quoted("a\n\nb\n"), "> a\n>\n> b");
    }
}
