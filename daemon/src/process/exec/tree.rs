//! Everything that descends from the helper: the command, what it started, and what that left behind.

use super::own_pid;
use crate::process::table::{self, Process};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// The living descendants of this process.
pub fn living() -> Vec<Process> {
    table::descendants(&table::all(), own_pid())
}

/// Sends `signal` to the group of the command while it is the command's, and to every other descendant.
pub fn signal(group: Option<u32>, command_lives: bool, signal: Signal) {
    let living = living();
    let in_group = |process: &&Process| Some(process.group) == group;
    // The id of a group without members may be anybody's by now.
    if (command_lives || living.iter().any(|process| in_group(&process)))
        && let Some(group) = group.and_then(pid)
    {
        // Errors mean that it has just ended, or that it may not be signalled by this user; the report says who stays.
        let _ = kill_process_group(group, signal);
    }
    for process in living.iter().filter(|process| !in_group(process)) {
        if let Some(pid) = pid(process.pid) {
            let _ = kill_process(pid, signal);
        }
    }
}

fn pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().and_then(Pid::from_raw)
}
