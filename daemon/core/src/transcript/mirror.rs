//! The mirror: each item as a record of plain text, so that `grep` and `read_file` work on a transcript as on any file.
//!
//! Pure: the same items give the same bytes. The file itself is `store`'s. A record is a head line and a body; body
//! lines that look like a head are escaped by one leading backslash, reversibly, so that heads can be trusted.

use super::item::{Item, ItemBody, MetaCause, NoticeCause};
use crate::media::Image;
use crate::tool::outcome::{
    Body, CommandRun, Edited, EditedFile, Entries, EntryKind, Exit, FileRead, MatchMode, Matches, Output, TodoStatus,
};
use crate::tool::test_report::TestRun;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The version of the mirror's form; a mirror of another version is written anew.
pub const MIRROR_VERSION: u32 = 1;

/// A result's text up to this many bytes stands whole in the mirror.
pub const WHOLE_LIMIT: usize = 64 * 1024;

/// Bytes of a longer result that stand in the mirror from its beginning, and again from its end.
const SHARE: usize = 16 * 1024;

/// The line between what the user said and the data that was sent with it.
const DATA_HEAD: &str = "[Additional data]";

/// The record of an item. `artifact_path` is where the whole text of a long result can be read; without it the text
/// stands whole in the record, since nothing may be left out that is not saved elsewhere.
pub fn render(item: &Item, artifact_path: Option<&str>) -> String {
    let (head, body) = head_and_body(&item.body);
    let mut out = format!("#{} {} {head}\n", item.no, item.at);
    match (artifact_path, body.len() > WHOLE_LIMIT && matches!(item.body, ItemBody::ToolResult(_))) {
        (Some(path), true) => {
            let (start, end) = ends(&body, SHARE);
            push_body(&mut out, start);
            let omitted = body.len() - start.len() - end.len();
            let _ = writeln!(out, "[{omitted} bytes are left out here; the whole text: {path}]");
            push_body(&mut out, end);
        }
        (Some(_) | None, _) => push_body(&mut out, &body),
    }
    if let ItemBody::User(message) = &item.body
        && !message.additional_data.is_empty()
    {
        out.push_str(DATA_HEAD);
        out.push('\n');
        push_body(&mut out, &message.additional_data);
    }
    out
}

/// Whether the record of this item names an artifact instead of holding the whole text.
pub fn needs_artifact(item: &Item) -> bool {
    match &item.body {
        ItemBody::ToolResult(result) => {
            estimate(&result.outcome.body) > WHOLE_LIMIT && full_text(&result.outcome.body).len() > WHOLE_LIMIT
        }
        ItemBody::User(_)
        | ItemBody::Meta(_)
        | ItemBody::Assistant(_)
        | ItemBody::Reasoning(_)
        | ItemBody::ToolCall(_)
        | ItemBody::Observation(_)
        | ItemBody::Notice(_)
        | ItemBody::Rewind(_) => false,
    }
}

/// The body with its escapes: what a reader of the mirror must take back with [`unescape`].
pub fn escape(body: &str) -> Cow<'_, str> {
    if !body.split('\n').any(is_headlike) {
        return Cow::Borrowed(body);
    }
    let mut out = String::with_capacity(body.len() + 8);
    for (at, line) in body.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if is_headlike(line) {
            out.push('\\');
        }
        out.push_str(line);
    }
    Cow::Owned(out)
}

/// The exact inverse of [`escape`].
pub fn unescape(body: &str) -> String {
    let lines: Vec<&str> = body
        .split('\n')
        .map(|line| match line.strip_prefix('\\') {
            Some(rest) if is_headlike(line) => rest,
            Some(_) | None => line,
        })
        .collect();
    lines.join("\n")
}

/// The whole of a result as readable text, ending in a line feed unless it is empty.
pub fn full_text(body: &Body) -> String {
    let mut out = match body {
        Body::Text(text) => text.clone(),
        Body::File(file) => file_text(file),
        Body::Image(image) => image_line(image),
        Body::Entries(entries) => entries_text(entries),
        Body::Matches(matches) => matches_text(matches),
        Body::Command(run) => command_text(run),
        Body::Edit(edited) => edited_text(edited),
        Body::Task(task) => command_text(&task.run),
        Body::Tests(tests) => tests_text(tests),
        Body::Todos(todos) => {
            let mut out = String::new();
            for todo in todos {
                let mark = match todo.status {
                    TodoStatus::Pending => "[ ]",
                    TodoStatus::InProgress => "[>]",
                    TodoStatus::Completed => "[x]",
                    TodoStatus::Cancelled => "[-]",
                };
                let _ = writeln!(out, "{mark} {}: {}", todo.id, todo.content);
            }
            out
        }
    };
    end_line(&mut out);
    out
}

fn head_and_body(body: &ItemBody) -> (String, Cow<'_, str>) {
    match body {
        ItemBody::User(message) => {
            let head = if message.steering { "user (steering):" } else { "user:" };
            (head.to_owned(), with_images(&message.text, &message.images))
        }
        ItemBody::Meta(message) => {
            (format!("meta ({}):", meta_word(message.cause)), Cow::Borrowed(message.text.as_str()))
        }
        ItemBody::Assistant(text) => {
            let head = if text.cut { "assistant (cut):" } else { "assistant:" };
            (head.to_owned(), Cow::Borrowed(&text.text))
        }
        ItemBody::Reasoning(reasoning) if reasoning.text.is_empty() && reasoning.redacted.is_some() => {
            ("reasoning:".to_owned(), Cow::Borrowed("[encrypted by the provider]"))
        }
        ItemBody::Reasoning(reasoning) => ("reasoning:".to_owned(), Cow::Borrowed(&reasoning.text)),
        ItemBody::ToolCall(call) => {
            (format!("[Tool call] {} {}", one_line(&call.tool), call.call), Cow::Borrowed(call.arguments.as_str()))
        }
        ItemBody::ToolResult(result) => {
            let mut head = format!("[Tool result] {} {}", one_line(&result.tool), result.call);
            if result.outcome.status.is_error() {
                let _ = write!(head, " ({})", result.outcome.status.word());
            }
            (head, Cow::Owned(full_text(&result.outcome.body)))
        }
        ItemBody::Observation(observation) => {
            let calls: Vec<String> = observation.calls.iter().map(ToString::to_string).collect();
            (format!("observation {}:", calls.join(" ")), Cow::Borrowed(observation.text.as_str()))
        }
        ItemBody::Notice(notice) => {
            (format!("notice ({}):", notice_word(notice.cause)), Cow::Borrowed(notice.text.as_str()))
        }
        ItemBody::Rewind(rewind) => {
            let what = format!("what stands from item {} on up to here left the model's view", rewind.from);
            (format!("rewind to before turn {}:", rewind.turn), Cow::Owned(what))
        }
    }
}

/// An image by its name, kind, size and hash: its bytes are never printed.
fn image_line(image: &Image) -> String {
    format!("[image {}: {}, {}]", one_line(image.title()), one_line(&image.facts()), image.version)
}

fn with_images<'a>(text: &'a str, images: &[Image]) -> Cow<'a, str> {
    if images.is_empty() {
        return Cow::Borrowed(text);
    }
    let lines: Vec<String> = images.iter().map(image_line).collect();
    Cow::Owned(format!("{text}\n{}", lines.join("\n")))
}

fn meta_word(cause: MetaCause) -> &'static str {
    match cause {
        MetaCause::ContinueCut => "continue_cut",
        MetaCause::OutputLimit => "output_limit",
        MetaCause::Interrupted => "interrupted",
        MetaCause::UnknownOperations => "unknown_operations",
        MetaCause::InstructionsChanged => "instructions_changed",
        MetaCause::EnvironmentChanged => "environment_changed",
        MetaCause::TaskEnded => "task_ended",
        MetaCause::RuleApplies => "rule_applies",
        MetaCause::ListsChanged => "lists_changed",
        MetaCause::Undone => "undone",
        MetaCause::PlanMode => "plan_mode",
        MetaCause::PlanModeStill => "plan_mode_still",
        MetaCause::PlanModeLeft => "plan_mode_left",
        MetaCause::TodosStale => "todos_stale",
        MetaCause::Compacted => "compacted",
        MetaCause::GoesOn => "goes_on",
    }
}

fn notice_word(cause: NoticeCause) -> &'static str {
    match cause {
        NoticeCause::ModelError => "model_error",
        NoticeCause::Retry => "retry",
        NoticeCause::Interrupted => "interrupted",
        NoticeCause::Crash => "crash",
        NoticeCause::StoreError => "store_error",
        NoticeCause::Limit => "limit",
        NoticeCause::ModelChanged => "model_changed",
        NoticeCause::Undone => "undone",
        NoticeCause::Compaction => "compaction",
        NoticeCause::Info => "info",
    }
}

fn push_body(out: &mut String, body: &str) {
    out.push_str(&escape(body));
    end_line(out);
}

fn end_line(out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}

/// A name that the model wrote, with everything that could end the line taken out.
fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || c == '\u{2028}' || c == '\u{2029}' { '?' } else { c }).collect()
}

/// Whether a body line could be taken for a head, or for an escaped one.
fn is_headlike(line: &str) -> bool {
    let line = line.trim_start_matches('\\');
    if line.trim_end_matches('\r') == DATA_HEAD {
        return true;
    }
    let Some(rest) = line.strip_prefix('#') else { return false };
    let Some((digits, rest)) = rest.split_once(' ') else { return false };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let shape = b"dddd-dd-ddTdd:dd:ddZ";
    rest.len() >= shape.len()
        && rest.bytes().zip(shape).all(|(byte, form)| match form {
            b'd' => byte.is_ascii_digit(),
            other => byte == *other,
        })
}

/// The first and the last part of a text, about `share` bytes each, cut between lines where there are any.
fn ends(text: &str, share: usize) -> (&str, &str) {
    let mut upto = share.min(text.len());
    while !text.is_char_boundary(upto) {
        upto -= 1;
    }
    let start = text.get(..upto).unwrap_or_default();
    let start = start.rfind('\n').and_then(|at| start.get(..=at)).unwrap_or(start);
    let mut from = text.len().saturating_sub(share).max(upto);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let end = text.get(from..).unwrap_or_default();
    let end = match end.find('\n') {
        Some(at) if at + 1 < end.len() => end.get(at + 1..).unwrap_or(end),
        Some(_) | None => end,
    };
    (start, end)
}

/// A bound on the size of [`full_text`] that is cheap to compute and never too small.
fn estimate(body: &Body) -> usize {
    const PER_LINE: usize = 64;
    let lines = |texts: &mut dyn Iterator<Item = usize>| texts.map(|len| len + PER_LINE).sum::<usize>();
    let output = |output: &Output| output.head.len() + output.tail.len() + PER_LINE;
    let notes = |notes: &[String]| notes.iter().map(|note| note.len() + PER_LINE).sum::<usize>();
    let command = |run: &CommandRun| {
        let log = run.log.as_ref().map_or(0, String::len);
        let texts = run.command.len() + run.cwd.len() + log + output(&run.output) + output(&run.stderr);
        texts + run.left_running.len() * PER_LINE
    };
    512 + match body {
        Body::Text(text) => text.len(),
        Body::File(file) => file.path.len() + lines(&mut file.lines.iter().map(String::len)),
        Body::Image(image) => image.name.len(),
        Body::Entries(entries) => {
            let pattern = entries.pattern.as_ref().map_or(0, String::len);
            let all = lines(&mut entries.entries.iter().map(|entry| entry.path.len()));
            entries.base.len() + pattern + notes(&entries.notes) + all
        }
        Body::Matches(matches) => {
            let file = |file: &crate::tool::outcome::FileMatches| {
                file.path.len() + PER_LINE + lines(&mut file.lines.iter().map(|line| line.text.len()))
            };
            notes(&matches.notes) + matches.files.iter().map(file).sum::<usize>()
        }
        Body::Command(run) => command(run),
        Body::Todos(todos) => lines(&mut todos.iter().map(|todo| todo.id.len() + todo.content.len())),
        Body::Edit(edited) => {
            let file = |file: &EditedFile| file.change.shown.len() + file.change.diff.text.len() + 4 * PER_LINE;
            notes(&edited.notes) + edited.files.iter().map(file).sum::<usize>()
        }
        Body::Task(task) => command(&task.run),
        Body::Tests(tests) => command(&tests.run) + 2 * tests.weight(),
    }
}

fn edited_text(edited: &Edited) -> String {
    let mut out = String::new();
    for file in &edited.files {
        let change = &file.change;
        let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "nothing".to_owned());
        let _ = writeln!(out, "{}: {} -> {}", change.shown, version(&change.before), version(&change.after));
        out.push_str(&change.diff.text);
        end_line(&mut out);
    }
    for note in &edited.notes {
        let _ = writeln!(out, "{note}");
    }
    out
}

fn file_text(file: &FileRead) -> String {
    let mut out = String::new();
    if let Some((from, to)) = file.bytes {
        let _ = writeln!(out, "{}: bytes {from}-{to} of {}, version {}", file.path, file.total_bytes, file.version);
        out.push_str(&file.lines.join("\n"));
        return out;
    }
    let last = file.first_line.saturating_add(file.lines.len() as u64).saturating_sub(1);
    let _ = writeln!(
        out,
        "{}: lines {}-{last} of {}, {} bytes, version {}",
        file.path, file.first_line, file.total_lines, file.total_bytes, file.version
    );
    for (no, line) in (file.first_line..).zip(&file.lines) {
        let _ = writeln!(out, "{no}|{line}");
    }
    if let Some(tail) = &file.tail {
        let _ = writeln!(out, "[lines {}-{} not kept here]", last.saturating_add(1), tail.first_line.saturating_sub(1));
        for (no, line) in (tail.first_line..).zip(&tail.lines) {
            let _ = writeln!(out, "{no}|{line}");
        }
    }
    out
}

fn entries_text(entries: &Entries) -> String {
    let mut out = String::new();
    let _ = match &entries.pattern {
        Some(pattern) => writeln!(out, "{} in {}: {} entries", pattern, entries.base, entries.entries.len()),
        None => writeln!(out, "{}: {} entries", entries.base, entries.entries.len()),
    };
    for entry in &entries.entries {
        out.push_str(&entry.path);
        out.push_str(match entry.kind {
            EntryKind::File => "",
            EntryKind::Dir => "/",
            EntryKind::Link => "@",
            EntryKind::Special => "=",
        });
        if let Some(size) = entry.size {
            let _ = write!(out, " ({size} bytes)");
        }
        out.push('\n');
    }
    if entries.ignored > 0 {
        let _ = writeln!(out, "[{} ignored]", entries.ignored);
    }
    push_notes(&mut out, &entries.notes);
    out
}

fn matches_text(matches: &Matches) -> String {
    let mut out = String::new();
    let least = if matches.more { "at least " } else { "" };
    let _ = writeln!(out, "{least}{} matching lines in {} files", matches.total, matches.files.len());
    for file in &matches.files {
        match matches.mode {
            MatchMode::FilesWithMatches => {
                let _ = writeln!(out, "{}", file.path);
            }
            MatchMode::Count | MatchMode::Content => {
                let _ = writeln!(out, "{}: {}", file.path, file.count);
            }
        }
        for line in &file.lines {
            let sign = if line.is_match { ':' } else { '-' };
            let _ = write!(out, "{}{sign}{}", line.line, line.text);
            if let Some(whole) = line.cut {
                let _ = write!(out, " [cut, {whole} bytes]");
            }
            out.push('\n');
        }
    }
    push_notes(&mut out, &matches.notes);
    out
}

fn command_text(run: &CommandRun) -> String {
    let mut out = format!("$ {}\nin {}, ", run.command, run.cwd);
    let _ = match run.exit {
        Exit::Code(code) => write!(out, "exit code {code}"),
        Exit::Signal(signal) => write!(out, "ended by signal {signal}"),
        Exit::TimedOut => write!(out, "ended at its time limit"),
        Exit::Cancelled => write!(out, "ended by the user"),
        Exit::NotStarted => write!(out, "not started"),
        Exit::Running => write!(out, "running"),
    };
    let _ = writeln!(out, ", {} ms", run.duration_ms);
    for pid in &run.left_running {
        let _ = writeln!(out, "[process {pid} still runs]");
    }
    push_output(&mut out, &run.output, run.log.as_deref());
    // Where the joined output misses its middle, standard error alone may hold lines that it does not.
    if run.output.omitted > 0 && run.stderr.total_bytes > 0 {
        out.push_str("standard error alone:\n");
        push_output(&mut out, &run.stderr, run.log.as_deref());
    }
    out
}

fn tests_text(tests: &TestRun) -> String {
    let mut out = format!("{} ({}), revision {} to {}\n", tests.said(), tests.why, tests.before, tests.after);
    for note in tests.notes() {
        let _ = writeln!(out, "{note}");
    }
    for failure in tests.failures() {
        let _ = writeln!(out, "failed: {}", failure.name);
        out.push_str(&failure.message);
        end_line(&mut out);
    }
    out.push_str(&command_text(&tests.run));
    out
}

fn push_output(out: &mut String, output: &Output, log: Option<&str>) {
    out.push_str(&output.head);
    if output.omitted > 0 {
        end_line(out);
        let _ = write!(out, "[{} bytes are left out here", output.omitted);
        if let Some(log) = log {
            let _ = write!(out, "; everything that was printed: {log}");
        }
        out.push_str("]\n");
        out.push_str(&output.tail);
    }
    end_line(out);
}

fn push_notes(out: &mut String, notes: &[String]) {
    for note in notes {
        let _ = writeln!(out, "[{note}]");
    }
}

#[cfg(test)]
mod tests;
