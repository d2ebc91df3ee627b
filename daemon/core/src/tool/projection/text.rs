//! Projection of results without a structure of their own: texts, errors, commands, the todo list.

use super::entries::counted;
use super::lines::Lines;
use super::{GENERAL_LINES, LINE_CHARS, Parts, ProjectionInput, room};
use crate::context::tokens::tokens;
use crate::tool::outcome::{CommandRun, Exit, LongLine, Todo, TodoStatus};

/// A text as the tool gave it; over the general limit its head and tail, when the whole of it is saved as a file.
pub(super) fn text(input: &ProjectionInput<'_>, text: &str) -> Parts {
    bounded(input, text, input.saved_path)
}

/// The way a command ended, then its output under the general limit.
pub(super) fn command(input: &ProjectionInput<'_>, run: &CommandRun) -> Parts {
    let exit = match run.exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("ended by signal {signal}"),
        Exit::TimedOut => "timed out".to_owned(),
        Exit::Cancelled => "interrupted by the user".to_owned(),
        Exit::NotStarted => "not started".to_owned(),
    };
    let output = &run.output;
    let mut whole = output.head.clone();
    if output.omitted > 0 {
        whole.push_str(&format!("\n[{} not kept here]\n", counted(output.omitted, "byte", "bytes")));
        whole.push_str(&output.tail);
    }
    let log = run.log.as_deref().filter(|_| output.omitted == 0);
    let mut parts = bounded(input, &whole, log);
    parts.facts = vec![exit, format!("{} ms", run.duration_ms), format!("in {}", run.cwd)];
    parts.facts.extend(run.log.as_ref().map(|log| format!("log {log}")));
    parts.partial |= output.omitted > 0;
    parts
}

/// The list, one todo a line.
pub(super) fn todos(todos: &[Todo]) -> Parts {
    let rows: Vec<String> = todos
        .iter()
        .map(|todo| {
            let status = match todo.status {
                TodoStatus::Pending => "pending",
                TodoStatus::InProgress => "in_progress",
                TodoStatus::Completed => "completed",
                TodoStatus::Cancelled => "cancelled",
            };
            format!("{}\t{status}\t{}", todo.id, todo.content)
        })
        .collect();
    let count = counted(todos.len() as u64, "todo", "todos");
    Parts { facts: vec![count], body: rows.join("\n"), partial: false }
}

fn bounded(input: &ProjectionInput<'_>, text: &str, saved: Option<&str>) -> Parts {
    let whole = || Parts { body: text.to_owned(), ..Parts::default() };
    let Some(path) = saved else { return whole() };
    if tokens(text) <= input.budget.general_tokens && text.lines().count() <= GENERAL_LINES {
        return whole();
    }
    let all: Vec<&str> = text.split('\n').collect();
    let all = if text.ends_with('\n') { all.split_last().map_or(&[][..], |(_, rest)| rest) } else { &all[..] };
    let long = long_lines(all);
    let numbered: Vec<(u64, &str)> = (1..).zip(all.iter().copied()).collect();
    let count = numbered.len() as u64;
    // More lines than the general limit holds: the middle is not at hand, so that the head and the tail stay short.
    let most = GENERAL_LINES / 2;
    let (head, tail) = if numbered.len() > GENERAL_LINES {
        (numbered.iter().take(most).copied().collect(), numbered.iter().skip(numbered.len() - most).copied().collect())
    } else {
        (numbered, Vec::new())
    };
    let lines = Lines { path, version: None, numbered: false, head, tail, last: count, long: &long, in_order: false };
    let shown = lines.show(room(input.budget.general_tokens, path));
    Parts { facts: vec![counted(count, "line", "lines")], body: shown.body, partial: shown.partial }
}

/// Places of long lines in the saved text, which has the same bytes.
fn long_lines(lines: &[&str]) -> Vec<LongLine> {
    let mut start = 0_u64;
    let mut long = Vec::new();
    for (no, line) in (1..).zip(lines) {
        let end = start + line.len() as u64;
        if let Some((cut, _)) = line.char_indices().nth(LINE_CHARS) {
            let chars = line.chars().count() as u64;
            long.push(LongLine { line: no, chars, cut_at: start + cut as u64, end });
        }
        start = end + 1;
    }
    long
}
