//! Which children of the daemon it started itself. Every other one is an orphan: something that a command left behind
//! and whose helper was killed, which came to the daemon because it adopts ([`origin::protect`](super::origin::protect)).
//!
//! Everything in `process` that starts a child of the daemon does it through [`start`].

use super::exec::{KILL_WAIT, TERM_GRACE};
use super::recover::LOOK;
use super::table::{self, Process};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The ids of those started here. Ids are forgotten some time after their processes have ended.
static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn started() -> MutexGuard<'static, BTreeSet<u32>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child. `id` gives its id; none when it has ended already.
pub fn start<T>(spawn: impl FnOnce() -> io::Result<T>, id: impl FnOnce(&T) -> Option<u32>) -> io::Result<T> {
    // Held over the start, so that no child is ever seen that is not in the list.
    let mut started = started();
    let own = std::process::id();
    started.retain(|pid| table::process(*pid).is_some_and(|process| process.parent == own));
    let child = spawn()?;
    started.extend(id(&child));
    Ok(child)
}

/// Ends every orphan with what descends from it, and collects them: asked first, killed after [`TERM_GRACE`]. Blocks, at
/// most [`TERM_GRACE`] and [`KILL_WAIT`]. Says whether none is left. A process that adopts nobody has none.
pub fn end_orphans() -> bool {
    if !adopts() {
        return true;
    }
    let begin = Instant::now();
    let mut asked = BTreeSet::new();
    loop {
        let (living, any) = orphans();
        if !any {
            return true;
        }
        let since = begin.elapsed();
        if since > TERM_GRACE + KILL_WAIT {
            return false;
        }
        for process in living {
            let signal = if since > TERM_GRACE { Signal::KILL } else { Signal::TERM };
            if (signal == Signal::KILL || asked.insert(process.pid))
                && let Some(pid) = pid(process.pid)
            {
                // It may have ended, or belong to another user; the next look shows who is left.
                let _ = kill_process(pid, signal);
                let _ = kill_process(pid, Signal::CONT);
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// The living orphans with their descendants, and whether there is any orphan. Ended ones are collected.
fn orphans() -> (Vec<Process>, bool) {
    let started = started();
    let own = std::process::id();
    let all = table::all();
    let of_daemon = all.iter().filter(|process| process.parent == own && !started.contains(&process.pid));
    let mut living = Vec::new();
    let mut any = false;
    for orphan in of_daemon {
        any = true;
        living.extend(table::descendants(&all, orphan.pid));
        if !orphan.dead {
            living.push(*orphan);
        } else if let Some(pid) = pid(orphan.pid) {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
    (living, any)
}

#[cfg(target_os = "linux")]
fn adopts() -> bool {
    rustix::process::child_subreaper().is_ok_and(|adopts| adopts.is_some())
}

#[cfg(not(target_os = "linux"))]
fn adopts() -> bool {
    false
}

fn pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().and_then(Pid::from_raw)
}
