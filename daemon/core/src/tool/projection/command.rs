//! Projection of a command's result: how it ended is never cut; of the output, standard output is cut before standard
//! error and the beginning before the end. What is missing is in the log, and each gap names the call that shows it.
//!
//! Lines have the numbers that they have in the log. Text is not escaped here; the caller escapes the whole.

use crate::id::CallId;
use crate::ingest::command::line_feeds;
use crate::tool::outcome::{CommandRun, Exit, Output};
use serde_json::json;
use std::collections::HashMap;

/// A log keeps so many bytes of its beginning, 128 MiB …
pub const LOG_HEAD: u64 = 128 * 1024 * 1024;

/// … and so many of its end: together the cap of 256 MB.
pub const LOG_TAIL: u64 = 128 * 1024 * 1024;

/// Longer lines are shown cut, in characters.
const LINE_CHARS: usize = 2_000;

/// Of a room that does not hold everything the end gets this share, in percent: errors stand at the end.
const TAIL_SHARE: u64 = 75;

/// Standard error gets at most this share of the room, in percent, so that something of the output is always shown.
const STDERR_SHARE: u64 = 75;

/// Tokens of a notice without the log's path in it, rounded up.
const NOTICE: u64 = 70;

/// What the view shows of a command's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandProjection {
    /// How it ended and what it gave, for the header: short, in this order.
    pub facts: Vec<String>,
    /// What stands below the header, without a newline at the end.
    pub body: String,
    /// Whether any output was left out.
    pub partial: bool,
}

/// The projection of `run` with a body of at most `budget` tokens, as `tokens` estimates them. Under some 300 tokens
/// the notices alone may cost more.
/// `call` is the one that started it.
pub fn project_command(run: &CommandRun, call: CallId, budget: u64, tokens: fn(&str) -> u64) -> CommandProjection {
    let mut facts = vec![exit(run.exit), duration(run.duration_ms)];
    if run.cwd != "." {
        facts.push(format!("in {}", run.cwd));
    }
    // What a command was held to matters when it failed: an error about a permission or a network may be Plimsoll's doing.
    if let Some(limits) = &run.limits
        && !matches!(run.exit, Exit::Code(0) | Exit::Running)
    {
        facts.push(format!("sandbox: {limits}"));
    }
    if run.exit == Exit::NotStarted {
        return CommandProjection { facts, body: run.output.head.trim_end().to_owned(), partial: false };
    }
    let lines = Lines::of(&run.output);
    facts.push(match lines.last() {
        0 => "no output".to_owned(),
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    });
    let mut body: Vec<String> = left_running(run, call).into_iter().collect();
    let fixed: u64 = body.iter().map(|line| tokens(line) + 1).sum();
    let room = Room { tokens, log: run.log.as_deref(), capped: run.output.total_bytes > LOG_HEAD + LOG_TAIL };
    // What is in no log is left out by nobody.
    let budget = if run.log.is_none() { u64::MAX / 100 } else { budget };
    let partial = show_output(run, &lines, budget.saturating_sub(fixed), &room, &mut body);
    CommandProjection { facts, body: body.join("\n"), partial }
}

/// Adds the output's lines to `body`; says whether something was left out.
fn show_output(run: &CommandRun, output: &Lines<'_>, budget: u64, room: &Room<'_>, body: &mut Vec<String>) -> bool {
    let notice = NOTICE + room.log.map_or(0, room.tokens);
    let all = output.show(budget.saturating_sub(notice), room, true);
    let stderr = Lines::of(&run.stderr);
    if !all.partial || run.stderr == run.output || stderr.all_in(&all.lines) {
        let partial = all.partial;
        body.extend(all.lines);
        return partial;
    }
    // Two titles and two notices, and what is shown of either.
    let both = budget.saturating_sub(2 * notice + 20);
    let errors = stderr.show(both * STDERR_SHARE / 100, room, false);
    let spent = errors.lines.iter().map(|line| (room.tokens)(line) + 1).sum();
    body.push("[stdout and stderr as they came]".to_owned());
    body.extend(output.show(both.saturating_sub(spent), room, true).lines);
    body.push("[stderr alone]".to_owned());
    body.extend(errors.lines);
    true
}

/// How a command in the background ended, or that it runs, such as `exit code 1 after 2.5 s`.
pub fn task_end(exit: Exit, duration_ms: u64) -> String {
    let how = task_exit(exit);
    if exit == Exit::NotStarted { how } else { format!("{how} after {}", duration(duration_ms)) }
}

/// The same without the time. Such a command is ended by `stop_task` or with its session, not by an interrupt.
pub(super) fn task_exit(of: Exit) -> String {
    match of {
        Exit::Cancelled => "stopped, ended with everything it started".to_owned(),
        other => exit(other),
    }
}

pub(super) fn exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("exit code {}, ended by signal {signal}{}", 128 + signal, signal_name(signal)),
        Exit::TimedOut => "timed out, ended with everything it started".to_owned(),
        Exit::Cancelled => "interrupted by the user, ended with everything it started".to_owned(),
        Exit::NotStarted => "not started".to_owned(),
        Exit::Running => "running".to_owned(),
    }
}

/// Names of the signals that have the same number on every Unix.
fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (HUP)",
        2 => " (INT)",
        3 => " (QUIT)",
        4 => " (ILL)",
        6 => " (ABRT)",
        8 => " (FPE)",
        9 => " (KILL)",
        11 => " (SEGV)",
        13 => " (PIPE)",
        14 => " (ALRM)",
        15 => " (TERM)",
        _ => "",
    }
}

pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

fn left_running(run: &CommandRun, call: CallId) -> Option<String> {
    /// More are counted, not named.
    const NAMED: usize = 20;
    if run.left_running.is_empty() {
        return None;
    }
    let stop = json!({ "id": call.to_string() });
    let pids: Vec<String> = run.left_running.iter().take(NAMED).map(u32::to_string).collect();
    let more = match run.left_running.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let log = run.log.as_ref().map(|log| format!(" What they print is added to {log}.")).unwrap_or_default();
    Some(format!(
        "[still running in the background: pid {}{more}. To end them: stop_task {stop}. They end with the session.{log}]",
        pids.join(", ")
    ))
}

/// What lines are measured with, and where the rest of them is.
struct Room<'a> {
    tokens: fn(&str) -> u64,
    log: Option<&'a str>,
    /// Whether the log lacks its middle.
    capped: bool,
}

impl Room<'_> {
    /// A notice about lines of standard error, whose numbers in the log are not known.
    fn among_all(&self, range: &str) -> String {
        let Some(log) = self.log else { return format!("[{range} of stderr not shown, and there is no log of them]") };
        let call = json!({ "target_file": log });
        format!("[{range} of stderr not shown; they stand among the output: read_file {call}]")
    }

    /// A notice about what is missing from line `from` to line `to`.
    fn notice(&self, what: &str, from: u64, to: u64) -> String {
        let Some(log) = self.log else { return format!("[{what} not shown, and there is no log of it]") };
        // Behind a gap in the log its lines have other numbers.
        if self.capped {
            let call = json!({ "offset": from, "target_file": log });
            let kept = format!("the log keeps the first {LOG_HEAD} and the last {LOG_TAIL} bytes");
            return format!("[{what} not shown, {kept}: read_file {call}]");
        }
        let call = json!({ "limit": to - from + 1, "offset": from, "target_file": log });
        format!("[{what} not shown: read_file {call}]")
    }
}

/// The lines of an output, with their numbers. Beside a gap a line may be there in part; such a line is longer than
/// [`LINE_CHARS`], so that its own notice names it.
struct Lines<'a> {
    head: Vec<(u64, &'a str)>,
    /// After a gap; else empty.
    tail: Vec<(u64, &'a str)>,
    omitted: u64,
}

/// Lines as they are shown, notices among them.
struct Shown {
    lines: Vec<String>,
    partial: bool,
}

impl<'a> Lines<'a> {
    fn of(output: &'a Output) -> Self {
        let first_of_tail = 1 + line_feeds(output.head.as_bytes()) + output.omitted_lines;
        let tail = if output.omitted > 0 { numbered(&output.tail, first_of_tail) } else { Vec::new() };
        Self { head: numbered(&output.head, 1), tail, omitted: output.omitted }
    }

    /// The number of the last line.
    fn last(&self) -> u64 {
        self.tail.last().or(self.head.last()).map_or(0, |(no, _)| *no)
    }

    /// Whether every line is among the shown ones, as often as it is here.
    fn all_in(&self, shown: &[String]) -> bool {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for line in shown {
            *counts.entry(line).or_default() += 1;
        }
        let mut take = |line: &str| counts.get_mut(line).and_then(|n| n.checked_sub(1).map(|rest| *n = rest)).is_some();
        self.omitted == 0 && self.head.iter().all(|(_, line)| take(line))
    }

    /// The lines within `room` tokens; at least a piece of the last one. `in_log`: the numbers are those of the log.
    fn show(&self, limit: u64, room: &Room<'_>, in_log: bool) -> Shown {
        if self.omitted == 0
            && let (all, true) = take(self.head.iter(), limit, room, Cut::Never)
        {
            return Shown { partial: false, lines: all.into_iter().map(|(_, line)| line).collect() };
        }
        let at_end: Vec<&(u64, &str)> = self.head.iter().chain(&self.tail).collect();
        // Of what was kept, all after the gap may be shown as the end; without a gap all may.
        let candidates = at_end.get(if self.omitted > 0 { self.head.len() } else { 0 }..).unwrap_or_default();
        let (mut tail, _) = take(candidates.iter().rev().copied(), limit * TAIL_SHARE / 100, room, Cut::Start);
        tail.reverse();
        let spent: u64 = tail.iter().map(|(_, line)| (room.tokens)(line) + 1).sum();
        let before_tail =
            self.head.iter().take(if self.omitted > 0 { usize::MAX } else { self.head.len() - tail.len() });
        let (head, _) = take(before_tail, limit.saturating_sub(spent), room, Cut::End);
        let from = head.last().map_or(1, |(no, _)| no + 1);
        let to = tail.first().map_or_else(|| self.last(), |(no, _)| no.saturating_sub(1));
        let mut lines: Vec<String> = head.into_iter().map(|(_, line)| line).collect();
        if from <= to {
            let count = to - from + 1;
            let range = if count == 1 { format!("line {from}") } else { format!("lines {from}-{to} ({count} lines)") };
            lines.push(if in_log { room.notice(&range, from, to) } else { room.among_all(&range) });
        } else if self.omitted > 0 {
            // The gap lies within the line whose end is the first of what is shown after it.
            let line = to + 1;
            lines.push(room.notice(&format!("{} bytes of line {line}", self.omitted), line, line));
        }
        lines.extend(tail.into_iter().map(|(_, line)| line));
        Shown { lines, partial: true }
    }
}

fn numbered(text: &str, first: u64) -> Vec<(u64, &str)> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let empty = text.is_empty();
    (first..).zip(text.split('\n')).take_while(|_| !empty).collect()
}

/// What becomes of a line that is too long.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// It is not taken.
    Never,
    /// Its end is shown.
    Start,
    /// Its beginning is shown.
    End,
}

/// Lines while they fit, and whether that was all of them.
fn take<'b>(
    lines: impl Iterator<Item = &'b (u64, &'b str)>,
    limit: u64,
    room: &Room<'_>,
    cut: Cut,
) -> (Vec<(u64, String)>, bool) {
    let mut taken = Vec::new();
    let mut spent = 0;
    for (no, text) in lines {
        let left = limit.saturating_sub(spent);
        let long = text.chars().nth(LINE_CHARS).is_some();
        let fits = !long && (room.tokens)(text) < left;
        let shown = match cut {
            _ if fits => (*text).to_owned(),
            // One that alone is too long is cut; another that does not fit any more is left to the log.
            Cut::Start | Cut::End if long || taken.is_empty() => match shorten(*no, text, left, room, cut) {
                Some(shown) => shown,
                None => return (taken, false),
            },
            Cut::Never | Cut::Start | Cut::End => return (taken, false),
        };
        spent += (room.tokens)(&shown) + 1;
        taken.push((*no, shown));
    }
    (taken, true)
}

/// A piece of a line that is too long, with a notice; none when not even a short piece fits.
fn shorten(no: u64, text: &str, limit: u64, room: &Room<'_>, cut: Cut) -> Option<String> {
    /// A piece of fewer characters tells nothing.
    const LEAST: usize = 20;
    let chars = text.chars().count();
    let pieced = |len: usize| {
        // How long the line is beside a gap is not known here.
        let notice = room.notice(&format!("all but {len} characters of line {no}"), no, no);
        match cut {
            Cut::Start => format!("{notice} {}", text.chars().skip(chars - len).collect::<String>()),
            Cut::End | Cut::Never => format!("{} {notice}", text.chars().take(len).collect::<String>()),
        }
    };
    let (mut fits, mut too_long) = (0, LINE_CHARS.min(chars) + 1);
    while fits + 1 < too_long {
        let len = usize::midpoint(fits, too_long);
        if (room.tokens)(&pieced(len)) < limit { fits = len } else { too_long = len }
    }
    (fits >= LEAST.min(chars)).then(|| pieced(fits))
}

#[cfg(test)]
mod tests;
