//! Whether a process was started by a command of this daemon: such a one may not talk to it, because it could approve
//! itself. Told by descent, which nothing that a command does can change: what it leaves behind becomes a child of its
//! helper, or of this daemon when the helper was killed ([`protect`]).
//!
//! A service of the system that starts programs on request (a session manager, a container engine, a terminal
//! multiplexer) is no descendant. Limited commands cannot reach those; see [`sandbox`](super::sandbox).

use super::table::{self, Process};

/// Where a process comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Not from this daemon.
    Outside,
    /// From this daemon.
    Command,
    /// It ended before it could be told, or is not of this machine.
    Unknown,
}

/// Processes change while they are looked at; after so many looks that do not fit together nothing is known.
const LOOKS: usize = 5;

/// No chain of parents is longer; one that seems to be does not fit together.
const LONGEST: usize = 10_000;

/// The origin of the process with this id, as the kernel gave it for a connection.
pub fn of(pid: u32) -> Origin {
    if cfg!(target_os = "linux") {
        trace(pid, std::process::id(), table::process, lives_unseen)
    } else {
        // Without a table of processes nothing can be told, and nobody would be served.
        Origin::Outside
    }
}

/// Makes this process the one to which orphans of its commands go, and closes its memory, environment and descriptors to
/// other processes of the same user. For the daemon, when it begins.
pub fn protect() {
    #[cfg(target_os = "linux")]
    {
        let adopts = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let closed = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
        for (what, error) in [("adopt orphans", adopts.err()), ("close its memory", closed.err())] {
            if let Some(error) = error {
                tracing::error!(%error, "the daemon cannot {what}");
            }
        }
    }
}

/// Whether a process that cannot be looked at lives: where the table shows only the user's own, those of others do.
#[cfg(target_os = "linux")]
fn lives_unseen(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::PERM))
}

#[cfg(not(target_os = "linux"))]
fn lives_unseen(_: u32) -> bool {
    false
}

fn trace(peer: u32, own: u32, look: impl Fn(u32) -> Option<Process>, unseen: impl Fn(u32) -> bool) -> Origin {
    (0..LOOKS).find_map(|_| walk(peer, own, &look, &unseen)).unwrap_or(Origin::Unknown)
}

/// One way up; none when the processes on it changed.
fn walk(peer: u32, own: u32, look: &impl Fn(u32) -> Option<Process>, unseen: &impl Fn(u32) -> bool) -> Option<Origin> {
    if peer == own {
        return Some(Origin::Outside);
    }
    let mut at = look(peer).filter(|process| !process.dead)?;
    for _ in 0..LONGEST {
        match at.parent {
            parent if parent == own => return Some(Origin::Command),
            // The first process of all, or of a container, has no parent here.
            0 => return Some(Origin::Outside),
            parent => match look(parent) {
                // A parent is older than its child; else another process has its number by now.
                Some(process) if process.start_ticks <= at.start_ticks => at = process,
                None if unseen(parent) => return Some(Origin::Outside),
                Some(_) | None => return None,
            },
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn process(pid: u32, parent: u32, start_ticks: u64) -> Process {
        Process { pid, parent, group: pid, dead: false, start_ticks }
    }

    fn check(peer: u32, table: &[Process], unseen: &[u32], expected: Origin) {
        let look = |pid| table.iter().find(|process| process.pid == pid).copied();
        assert_eq!(trace(peer, 50, look, |pid| unseen.contains(&pid)), expected);
    }

    #[test]
    fn descent_tells_the_origin() {
        let table = [
            process(1, 0, 1),
            process(40, 1, 5),
            process(50, 1, 10),
            process(60, 50, 20),
            process(61, 60, 30),
            Process { dead: true, ..process(62, 61, 40) },
            process(70, 69, 40),
            process(80, 81, 40),
            process(81, 1, 50),
        ];
        check(40, &table, &[], Origin::Outside);
        check(50, &table, &[], Origin::Outside);
        check(60, &table, &[], Origin::Command);
        check(61, &table, &[], Origin::Command);
        // Gone, ended, an ancestor gone, an ancestor that is younger than its child.
        for peer in [0, 99, 62, 70, 80] {
            check(peer, &table, &[], Origin::Unknown);
        }
        check(70, &table, &[69], Origin::Outside);
    }

    #[test]
    fn a_parent_that_ends_meanwhile_is_looked_up_again() {
        let first = Cell::new(true);
        let look = |pid| match pid {
            70 if first.replace(false) => Some(process(70, 69, 40)),
            70 => Some(process(70, 60, 40)),
            60 => Some(process(60, 50, 20)),
            _ => None,
        };
        assert_eq!(trace(70, 50, look, |_| false), Origin::Command);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_child_is_told_from_a_stranger() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(of(child.id()), Origin::Command);
        assert_eq!((of(std::process::id()), of(1)), (Origin::Outside, Origin::Outside));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(of(child.id()), Origin::Unknown);
    }
}
