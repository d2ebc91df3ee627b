//! Commands in the background as results: how one stands, and what it printed since it was last asked about.
//!
//! What is shown is read from the log by its bytes: all of it when it is short, else its beginning and end, cut at the
//! ends of lines. Between two looks nothing is lost and nothing is shown twice.

use super::run_terminal_cmd::output;
use crate::process::background::{Background, Task};
use crate::process::frame::Totals;
use crate::process::run::Kept;
use plimsoll_core::id::CallId;
use plimsoll_core::path::escape;
use plimsoll_core::tool::outcome::{Body, CommandRun, Exit, Outcome, Output, Status, TaskState};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a log that are shown from where it was last read; a result of about two thousand tokens.
const HEAD: u64 = 2 * 1024;

/// Bytes that are shown of its end, where errors stand.
const TAIL: u64 = 6 * 1024;

/// The longest escape sequence whose end is waited for, in bytes.
const SEQUENCE: usize = 128;

/// The command that a call's `id` names; the error names those that run.
pub(super) fn find(background: &Background, session_dir: &Path, id: &str) -> Result<Arc<Task>, String> {
    let call: Option<CallId> = id.trim().parse().ok();
    if let Some(task) = call.and_then(|call| background.find(session_dir, call)) {
        return Ok(task);
    }
    let log = call.map(|call| session_dir.join("artifacts").join(format!("{call}.log")));
    let log = log.filter(|log| log.exists()).map(|log| format!(" Its log is {}.", escape(log.as_os_str().as_bytes())));
    Err(format!(
        "No command with the id `{id}` is in the background.{} {}",
        log.unwrap_or_default(),
        running(background, session_dir)
    ))
}

/// What runs in the background of this session, in words.
pub(super) fn running(background: &Background, session_dir: &Path) -> String {
    let running = background.running(session_dir);
    if running.is_empty() {
        return "None of this session runs now.".to_owned();
    }
    let name = |task: &Arc<Task>| format!("{} ({})", task.described.id, short(&task.described.command));
    format!("Running now: {}.", running.iter().map(name).collect::<Vec<_>>().join(", "))
}

fn short(command: &str) -> String {
    const SHOWN: usize = 60;
    let line = command.trim().lines().next().unwrap_or_default();
    let cut: String = line.chars().take(SHOWN).collect();
    if cut.len() < command.trim().len() { format!("{cut}\u{2026}") } else { cut }
}

/// The result that says how a command stands now. Reads its log on.
pub(super) async fn outcome(task: Arc<Task>) -> Outcome {
    super::blocking::look(move || Ok(look(&task))).await.unwrap_or_else(Outcome::failed)
}

fn look(task: &Task) -> Outcome {
    // Before the log, which has everything once the end is known.
    let state = task.state();
    let ended = state.end.is_some();
    let piece = task.read_on(|from| {
        let piece = read(&task.described.log, from, ended);
        let next = piece.from + piece.len;
        (piece, next)
    });
    let exit = match state.end {
        None => Exit::Running,
        Some((Some(exit), _)) => exit,
        Some((None, ms)) => {
            let printed = if piece.output.total_bytes > 0 {
                format!("\n{}{}", piece.output.head, piece.output.tail)
            } else {
                String::new()
            };
            let text = format!(
                "How {} ended was not seen; after {ms} ms it does not run any more.{printed}",
                task.described.id
            );
            return Outcome { status: Status::Unknown, body: Body::Text(text) };
        }
    };
    let duration_ms = state
        .end
        .map_or_else(|| u64::try_from(task.described.begun.elapsed().as_millis()).unwrap_or(u64::MAX), |(_, ms)| ms);
    let log = &task.described.log;
    let run = CommandRun {
        command: task.described.command.clone(),
        cwd: task.described.cwd.clone(),
        exit,
        duration_ms,
        output: piece.output,
        stderr: Output::default(),
        log: (piece.from + piece.len > 0).then(|| escape(log.as_os_str().as_bytes())),
        left_running: if state.runs { state.left } else { Vec::new() },
        limits: task.described.limits.clone(),
    };
    let body = Body::Task(TaskState { id: task.described.id, run, from: piece.from, gap: piece.gap });
    Outcome { status: Status::Ok, body }
}

/// A part of a log.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    from: u64,
    /// Bytes of the log that it stands for.
    len: u64,
    output: Output,
    gap: Option<(u64, u64)>,
}

/// What a log has from `from` on. One that is not `complete` is read up to where its last character and escape sequence
/// are whole. A log that cannot be read shows nothing.
fn read(log: &Path, from: u64, complete: bool) -> Piece {
    let nothing = Piece { from, len: 0, output: Output::default(), gap: None };
    let Ok(file) = File::open(log) else { return nothing };
    let len = file.metadata().map_or(0, |metadata| metadata.len().saturating_sub(from));
    let bytes = |at: u64, count: u64| {
        let mut bytes = vec![0; usize::try_from(count).unwrap_or_default()];
        file.read_exact_at(&mut bytes, at).map(|()| bytes)
    };
    let (head_len, tail_len) = if len <= HEAD + TAIL { (0, len) } else { (HEAD, TAIL) };
    let (Ok(head), Ok(mut tail)) = (bytes(from, head_len), bytes(from + len - tail_len, tail_len)) else {
        tracing::warn!(log = %log.display(), "a log could not be read");
        return nothing;
    };
    let held = if complete { 0 } else { unfinished(&tail) };
    tail.truncate(tail.len() - held);
    let len = len - held as u64;
    let omitted = len - head_len - tail.len() as u64;
    let kept = Kept { head, tail };
    let begin = from + output::head_end(&kept.head) as u64;
    let output = output::output(&kept, Totals { bytes: len, omitted, omitted_lines: 0 });
    let gap = (omitted > 0).then(|| (begin, begin + output.omitted));
    Piece { from, len, output, gap }
}

/// How many bytes at the end wait for more: a character, an escape sequence or a carriage return that may go on.
fn unfinished(bytes: &[u8]) -> usize {
    let near = bytes.get(bytes.len().saturating_sub(SEQUENCE)..).unwrap_or_default();
    if let Some(at) = near.iter().rposition(|byte| *byte == 0x1b) {
        let sequence = near.get(at + 1..).unwrap_or_default();
        let whole = match sequence.split_first() {
            None => false,
            Some((b'[', rest)) => rest.iter().any(|byte| (0x40..=0x7e).contains(byte) || *byte < 0x20),
            Some((b']' | b'P' | b'X' | b'^' | b'_', rest)) => rest.contains(&0x07),
            Some((b'(' | b')' | b'*' | b'+' | b'#' | b'%', rest)) => !rest.is_empty(),
            Some(_) => true,
        };
        if !whole {
            return near.len() - at;
        }
    }
    if bytes.last() == Some(&b'\r') {
        return 1;
    }
    bytes.len() - output::whole_characters(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_go_on_is_left_for_the_next_look() {
        for (bytes, held) in [
            (&b"text"[..], 0),
            (b"", 0),
            (b"line\r", 1),
            (b"line\r\n", 0),
            (b"x \xe2\x82", 2),
            (b"x \xe2\x82\xac", 0),
            (b"x \xff", 0),
            (b"\x1b", 1),
            (b"a\x1b[3", 3),
            (b"a\x1b[31m", 0),
            (b"a\x1b]0;title", 9),
            (b"a\x1b]0;title\x07", 0),
            (b"a\x1b]0;title\x1b\\", 0),
        ] {
            assert_eq!(unfinished(bytes), held, "{bytes:?}");
        }
    }

    #[test]
    fn looks_at_a_growing_log_add_up_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("c1.log");
        assert_eq!(read(&log, 0, false).len, 0);
        std::fs::write(&log, b"one\ntwo \xe2\x82").unwrap();
        let first = read(&log, 0, false);
        assert_eq!((first.output.head.as_str(), first.len, first.gap), ("one\ntwo ", 8, None));
        std::fs::write(&log, b"one\ntwo \xe2\x82\xac\n").unwrap();
        let second = read(&log, 8, false);
        assert_eq!((second.from, second.output.head.as_str(), second.len), (8, "\u{20ac}\n", 4));
        assert_eq!(read(&log, 12, true).len, 0);
    }

    #[test]
    fn a_long_piece_is_its_beginning_and_end_and_the_gap_is_exact() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("c1.log");
        let whole: String = (1..=5_000).map(|no| format!("line {no}")).collect::<Vec<_>>().join("\n") + "\n";
        std::fs::write(&log, &whole).unwrap();
        let piece = read(&log, 7, true);
        let (start, end) = piece.gap.unwrap();
        let at = |place: u64| usize::try_from(place).unwrap();
        assert_eq!(piece.output.head, whole[7..at(start)]);
        assert_eq!(piece.output.tail, whole[at(end)..]);
        assert!(whole[..at(start)].ends_with('\n') && whole[..at(end)].ends_with('\n'));
        assert_eq!(7 + piece.len, whole.len() as u64);
        assert!(piece.output.head.len() + piece.output.tail.len() <= 8 * 1024);
    }
}
