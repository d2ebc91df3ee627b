//! What a result would cost in the view if nothing of it were left out: an estimate, for statistics alone.

use crate::tokens::tokens;
use crate::tool::outcome::{Body, CommandRun, FileRead, Output};

/// Tokens of a line's number and of its line end, about.
const LINE: u64 = 3;

/// Estimated tokens of the whole result; of parts that are not at hand by the size of those that are.
pub(super) fn whole(body: &Body) -> u64 {
    match body {
        Body::Text(text) => tokens(text),
        Body::File(file) => self::file(file),
        Body::Image(image) => tokens(&image.name) + LINE,
        Body::Entries(list) => list.entries.iter().map(|entry| tokens(&entry.path) + LINE).sum(),
        Body::Matches(found) => {
            let lines = found.files.iter().flat_map(|file| &file.lines).map(|line| tokens(&line.text) + LINE);
            let files = found.files.iter().map(|file| tokens(&file.path) + LINE);
            lines.chain(files).sum()
        }
        Body::Command(run) => command(run),
        Body::Todos(todos) => todos.iter().map(|todo| tokens(&todo.content) + LINE).sum(),
        Body::Edit(edited) => edited.files.iter().map(|file| tokens(&file.change.diff.text)).sum(),
        Body::Task(task) => command(&task.run),
        Body::Tests(tests) => command(&tests.run),
    }
}

/// Of an asked range the range, else the file.
fn file(file: &FileRead) -> u64 {
    let lines = || file.lines.iter().chain(file.tail.iter().flat_map(|tail| &tail.lines));
    let number = if file.bytes.is_some() { 0 } else { LINE };
    let at_hand: u64 = lines().map(|line| tokens(line) + number).sum();
    let (part, all) = match (file.bytes, file.asked_until) {
        (Some((start, end)), until) => (end - start, until.unwrap_or(end).max(end) - start),
        (None, Some(until)) => (lines().count() as u64, (until + 1).saturating_sub(file.first_line)),
        (None, None) if file.tail.is_some() => (lines().map(|line| line.len() as u64 + 1).sum(), file.total_bytes),
        (None, None) => (1, 1),
    };
    scaled(at_hand, part, all)
}

fn command(run: &CommandRun) -> u64 {
    output(&run.output)
}

fn output(output: &Output) -> u64 {
    let kept = (output.head.len() + output.tail.len()) as u64;
    scaled(tokens(&output.head) + tokens(&output.tail), kept, kept + output.omitted)
}

fn scaled(tokens: u64, part: u64, all: u64) -> u64 {
    tokens.saturating_mul(all.max(part)).checked_div(part).unwrap_or(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::outcome::Tail;

    #[test]
    fn what_is_not_at_hand_is_estimated_by_what_is() {
        let lines = |count: usize| vec!["word word".to_owned(); count];
        let all = FileRead { lines: lines(10), first_line: 1, total_lines: 10, ..FileRead::default() };
        let cost = whole(&Body::File(all.clone()));
        assert_eq!(cost, 10 * (tokens("word word") + LINE));
        let range = FileRead { asked_until: Some(100), asked_range: true, ..all.clone() };
        assert_eq!(whole(&Body::File(range)), 10 * cost);
        let ends = Tail { first_line: 91, lines: lines(10) };
        let large = FileRead { tail: Some(ends), total_bytes: 1_000, ..all };
        assert_eq!(whole(&Body::File(large)), 2 * cost * 1_000 / 200);
        let text = Output { head: "ab ".repeat(100), omitted: 300, ..Output::default() };
        assert_eq!(output(&text), 2 * tokens(&text.head));
    }
}
