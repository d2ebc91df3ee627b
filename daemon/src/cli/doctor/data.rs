//! Can every database be used, how much is stored, and is there room for more?

use super::finding::{Finding, Level};
use super::folders::existing;
use crate::config::{Folders, env};
use crate::store::inspect::{self, Checked, Inspected, State};
use std::path::Path;

/// Below this the next long turn may not be stored.
const ROOM_LOW: u64 = 1024 * 1024 * 1024;
/// Below this hardly anything is.
const ROOM_NONE: u64 = 50 * 1024 * 1024;

/// Looks at all databases; `running`: a daemon uses them.
pub fn check(folders: &Folders, running: bool) -> Vec<Finding> {
    let mut databases = inspect::inspect(&folders.data, running);
    // The user's first, then the largest.
    databases.sort_by_key(|database| (database.project.is_some(), std::cmp::Reverse(database.bytes)));
    let mut findings: Vec<Finding> = databases.iter().map(database).collect();
    findings.push(sizes(&folders.data, &databases, inspect::size(&folders.logs())));
    findings.extend(room(&folders.data));
    findings
}

fn database(found: &Inspected) -> Finding {
    let (id, name) = match &found.project {
        None => ("data.user_database", "user.db: projects, grants, the index of sessions".to_owned()),
        Some(key) => {
            let root = match &found.root {
                Some(root) if root.is_dir() => root.display().to_string(),
                Some(root) => format!("{} (the folder is gone)", root.display()),
                None => key.to_string(),
            };
            ("data.project", format!("project {root}"))
        }
    };
    let size = bytes(found.bytes);
    match &found.state {
        Ok(State { version, known, checked }) => {
            let later = match checked {
                Checked::Whole => "",
                Checked::TooLarge => ", too large to be checked here",
                Checked::LeftInUse => ", left in use by a daemon that did not end well; the next start checks it",
            };
            let older = if version < known {
                format!(", schema {version} of {known}: brought forward, after a backup, when it is next opened")
            } else {
                String::new()
            };
            Finding::ok(id, format!("{name}, {size}{older}{later}"))
        }
        Err(error) => {
            let away = format!("move {} away, or restore a backup", found.path.display());
            let told = Finding::of_message(id, Level::Error, &error.to_string(), &away);
            Finding { what: format!("{name}, {size}: {}", told.what), ..told }
        }
    }
}

fn sizes(data: &Path, databases: &[Inspected], logs: u64) -> Finding {
    let projects: Vec<u64> = databases.iter().filter(|one| one.project.is_some()).map(|one| one.bytes).collect();
    let sum = projects.iter().copied().fold(0, u64::saturating_add);
    let whole = inspect::size(data);
    let what =
        format!("{} stored: {} projects with {}, logs {}", bytes(whole), projects.len(), bytes(sum), bytes(logs));
    Finding::ok("data.size", what)
}

fn room(data: &Path) -> Option<Finding> {
    let stat = rustix::fs::statvfs(existing(data)).ok()?;
    Some(room_for(stat.f_bavail.saturating_mul(stat.f_frsize)))
}

fn room_for(free: u64) -> Finding {
    let what = format!("{} free on the disk of the data folder", bytes(free));
    let fix = format!("free some, or move the data folder to another disk and set {}", env::DATA_DIR);
    match free {
        0..ROOM_NONE => Finding::error("data.room", what, fix),
        ROOM_NONE..ROOM_LOW => Finding::warn("data.room", what, fix),
        ROOM_LOW.. => Finding::ok("data.room", what),
    }
}

/// A size for people.
fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if count < 1_000 {
        return format!("{count} bytes");
    }
    let mut size = count as f64 / 1_000.0;
    let mut unit = "KB";
    for next in UNITS.into_iter().skip(1) {
        if size < 1_000.0 {
            break;
        }
        size /= 1_000.0;
        unit = next;
    }
    if size < 10.0 { format!("{size:.1} {unit}") } else { format!("{size:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreError;
    use std::path::PathBuf;

    fn found(state: Result<State, StoreError>) -> Inspected {
        let key = Some("0123456789abcdef-p".parse().unwrap());
        Inspected { path: "/d/p.db".into(), project: key, root: Some("/no/such/folder".into()), bytes: 12_345, state }
    }

    #[test]
    fn a_project_is_told_with_its_folder_its_size_and_its_state() {
        let state = |version, checked| Ok(State { version, known: 2, checked });
        let name = "project /no/such/folder (the folder is gone), 12 KB";
        let told = |state| database(&found(state)).what;
        assert_eq!(told(state(2, Checked::Whole)), name);
        assert_eq!(told(state(2, Checked::TooLarge)), format!("{name}, too large to be checked here"));
        let older = format!("{name}, schema 1 of 2: brought forward, after a backup, when it is next opened");
        assert_eq!(told(state(1, Checked::Whole)), older);
        let newer = database(&found(Err(StoreError::Newer { path: PathBuf::from("/d/p.db"), found: 9, known: 2 })));
        let what = format!("{name}: /d/p.db has schema version 9, this build of Plimsoll knows versions up to 2");
        let fix = "install the newer build again, or move the file away";
        assert_eq!(newer, Finding::error("data.project", what, fix));
    }

    #[test]
    fn room_is_judged_and_sizes_are_readable() {
        let levels = [0, ROOM_NONE - 1, ROOM_NONE, ROOM_LOW - 1, ROOM_LOW, u64::MAX].map(|free| room_for(free).level);
        assert_eq!(levels, [Level::Error, Level::Error, Level::Warn, Level::Warn, Level::Ok, Level::Ok]);
        let shown = [0, 999, 1_000, 9_940, 123_456, 1_500_000_000, 7_000_000_000_000_000].map(bytes);
        assert_eq!(shown, ["0 bytes", "999 bytes", "1.0 KB", "9.9 KB", "123 KB", "1.5 GB", "7000 TB"]);
    }
}
