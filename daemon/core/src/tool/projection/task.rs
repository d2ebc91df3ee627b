//! Projection of a command in the background: its state and what came out since it was last asked about.
//!
//! What is shown was bounded when it was read from the log, so that all of it is shown here; what lies between is named
//! by its bytes in the log, with the call that shows them.

use super::{Parts, ProjectionInput, command};
use crate::tool::outcome::{Exit, TaskState};
use serde_json::json;

/// Most bytes that one call of read_file shows.
const PIECE: u64 = 256 * 1024;

/// As a command's, with its id.
pub(super) fn task(input: &ProjectionInput<'_>, task: &TaskState) -> Parts {
    let run = &task.run;
    let mut facts = vec![format!("task {}", task.id), command::task_exit(run.exit), command::duration(run.duration_ms)];
    if run.cwd != "." {
        facts.push(format!("in {}", run.cwd));
    }
    facts.push(match run.output.total_bytes {
        0 if task.from == 0 => "no output".to_owned(),
        0 => "no new output".to_owned(),
        new if task.from == 0 => format!("{new} bytes"),
        new => format!("{new} new bytes"),
    });
    let mut lines: Vec<String> = Vec::new();
    let id = json!({ "id": task.id.to_string() });
    if run.exit == Exit::Running && task.id == input.call {
        lines.push(format!(
            "[running in the background: task_output {id} shows what it prints, stop_task {id} ends it]"
        ));
    } else if run.exit != Exit::Running && !run.left_running.is_empty() {
        lines.push(format!("[what it started still runs; stop_task {id} ends it]"));
    }
    let mut show = |text: &str| {
        let text = text.strip_suffix('\n').unwrap_or(text);
        if !text.is_empty() {
            lines.push(text.to_owned());
        }
    };
    show(&run.output.head);
    if let Some((start, end)) = task.gap {
        show(&gap(run.log.as_deref(), start, end));
    }
    show(&run.output.tail);
    Parts { facts, body: lines.join("\n"), partial: task.gap.is_some() }
}

fn gap(log: Option<&str>, start: u64, end: u64) -> String {
    let Some(log) = log else { return format!("[bytes {start}-{end} not shown, and there is no log of them]") };
    let limit = (end - start).min(PIECE);
    let call = json!({ "byte_limit": limit, "byte_offset": start, "target_file": log });
    format!("[bytes {start}-{end} of the log not shown: read_file {call}]")
}
