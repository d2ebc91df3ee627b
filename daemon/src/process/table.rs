//! The system's table of processes, read from `/proc`. Where there is none, nothing is known and nothing is found.

use plimsoll_core::ledger::ProcessMark;
use std::collections::{BTreeMap, BTreeSet};

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its parent's id.
    pub parent: u32,
    /// Its group.
    pub group: u32,
    /// Whether it has ended and only waits to be collected.
    pub dead: bool,
    /// Its start in clock ticks since boot.
    pub start_ticks: u64,
}

/// The process with this id.
pub fn process(pid: u32) -> Option<Process> {
    parse_stat(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Every process that can be seen.
pub fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// The living processes among `all` that descend from `ancestor`, ascending by id.
pub fn descendants(all: &[Process], ancestor: u32) -> Vec<Process> {
    let mut children: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(*process);
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([ancestor]);
    let mut open = vec![ancestor];
    while let Some(parent) = open.pop() {
        for child in children.get(&parent).into_iter().flatten().filter(|child| seen.insert(child.pid)) {
            open.push(child.pid);
            if !child.dead {
                found.push(*child);
            }
        }
    }
    found.sort_unstable_by_key(|process| process.pid);
    found
}

/// The id of this boot of the machine; empty where the system has none.
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// The process of this mark, if it is that very one and still lives.
pub fn find(mark: &ProcessMark) -> Option<Process> {
    if mark.boot_id != boot_id() {
        return None;
    }
    process(mark.pid).filter(|process| process.start_ticks == mark.start_ticks && !process.dead)
}

/// Reads a line of `/proc/<pid>/stat`. The name in parentheses may hold blanks and parentheses, so that the fields are
/// counted from the last one.
fn parse_stat(pid: u32, stat: &[u8]) -> Option<Process> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // State is field 3 of proc(5), the start time field 22.
    let start_ticks = fields.nth(16)?.parse().ok()?;
    Some(Process { pid, parent, group, dead: matches!(state, "Z" | "X" | "x"), start_ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_parentheses_does_not_shift_the_fields() {
        let stat = b"77 (a) (b c) S 5 70 70 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 9 9\n";
        let expected = Process { pid: 77, parent: 5, group: 70, dead: false, start_ticks: 123_456 };
        assert_eq!(parse_stat(77, stat), Some(expected));
        assert_eq!(parse_stat(77, b"77 (x"), None);
    }

    #[test]
    fn descendants_are_found_through_the_dead() {
        let process = |pid, parent, dead| Process { pid, parent, group: 1, dead, start_ticks: 0 };
        let all = [process(2, 1, false), process(3, 2, true), process(5, 3, false), process(4, 2, false)];
        let pids: Vec<u32> = descendants(&all, 2).iter().map(|process| process.pid).collect();
        assert_eq!(pids, [4, 5]);
    }
}
