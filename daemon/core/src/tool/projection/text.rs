//! Projection of results without a structure of their own: texts, errors, commands, the todo list.

use super::entries::counted;
use super::lines::Lines;
use super::{Budget, GENERAL_LINES, LINE_CHARS, Parts, ProjectionInput, Saved, room};
use crate::tokens::tokens;
use crate::tool::outcome::{LongLine, Todo, TodoStatus};

/// A text as the tool gave it; over the general limit its head and tail, when the whole of it is saved as a file.
pub(super) fn text(input: &ProjectionInput<'_>, text: &str) -> Parts {
    bounded(input, text)
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

/// Whether a text is so long that the view shows its head and tail, once it is saved.
pub fn exceeds_general(text: &str, budget: Budget) -> bool {
    // No byte costs more than a token: what is shorter than both limits is not counted.
    text.len() > GENERAL_LINES.min(usize::try_from(budget.general_tokens).unwrap_or(usize::MAX))
        && (tokens(text) > budget.general_tokens || text.split_inclusive('\n').count() > GENERAL_LINES)
}

fn bounded(input: &ProjectionInput<'_>, text: &str) -> Parts {
    let Saved::At(path) = input.saved else { return Parts { body: text.to_owned(), ..Parts::default() } };
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
    let lines = Lines {
        path,
        version: None,
        numbered: false,
        head,
        tail,
        last: count,
        long: &long,
        in_order: false,
        outline: &[],
    };
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
