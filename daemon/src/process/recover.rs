//! The end of a command whose daemon has died. Normally its helper has seen to it within seconds; this makes sure.
//! Called when a daemon starts, for operations that were running, and when a helper was lost.

use super::exec::{KILL_WAIT, TERM_GRACE};
use super::table;
use plimsoll_core::ledger::ProcessMark;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::time::{Duration, Instant};

/// How often it is looked whether processes are gone.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// What became of a command's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftoverEnd {
    /// The process had ended before, or the machine was started anew; whoever has its number now was left alone.
    Gone,
    /// It ran, and it and its group have ended now.
    Ended,
    /// It runs on: it may not be signalled, or the system does not let it go.
    StillRunning,
}

/// Ends the process of this mark with its group and its descendants, if it still is that process: asked first, killed
/// after [`TERM_GRACE`]. Blocks until they are gone, at most [`TERM_GRACE`] and [`KILL_WAIT`].
pub fn end_leftover(mark: &ProcessMark) -> LeftoverEnd {
    if table::find(mark).is_none() {
        return LeftoverEnd::Gone;
    }
    // Who belongs to it is found out while its first process lives; afterwards they are told by their own start.
    let mut known: Vec<table::Process> = members(mark);
    let begin = Instant::now();
    send(mark, &known, Signal::TERM);
    send(mark, &known, Signal::CONT);
    loop {
        known.extend(members(mark));
        known.sort_unstable_by_key(|process| process.pid);
        known.dedup();
        known.retain(lives);
        let since = begin.elapsed();
        if known.is_empty() {
            return LeftoverEnd::Ended;
        }
        if since > TERM_GRACE + KILL_WAIT {
            return LeftoverEnd::StillRunning;
        }
        if since > TERM_GRACE {
            send(mark, &known, Signal::KILL);
        }
        std::thread::sleep(LOOK);
    }
}

/// The living members of the group and descendants, while the marked process lives.
fn members(mark: &ProcessMark) -> Vec<table::Process> {
    if table::find(mark).is_none() {
        return Vec::new();
    }
    let all = table::all();
    let mut members = table::descendants(&all, mark.pid);
    members.extend(all.iter().filter(|process| process.group == mark.pid && !process.dead));
    members
}

fn lives(process: &table::Process) -> bool {
    table::process(process.pid).is_some_and(|now| now.start_ticks == process.start_ticks && !now.dead)
}

fn send(mark: &ProcessMark, known: &[table::Process], signal: Signal) {
    // Errors mean that a process has just ended or may not be signalled; the caller looks who is left.
    if known.iter().any(|process| process.group == mark.pid)
        && let Some(group) = pid(mark.pid)
    {
        let _ = kill_process_group(group, signal);
    }
    for process in known.iter().filter(|process| process.group != mark.pid) {
        if let Some(pid) = pid(process.pid) {
            let _ = kill_process(pid, signal);
        }
    }
}

fn pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().and_then(Pid::from_raw)
}
