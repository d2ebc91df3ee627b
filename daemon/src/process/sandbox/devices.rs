//! The devices that every command may use. Others (disks, memory, ports) reach past every rule about files.

use std::path::PathBuf;

/// Where devices are.
pub const FOLDER: &str = "/dev";

/// Names of devices, and of folders of them, that reach nothing of the system: sinks and sources, terminals, shared
/// memory, graphics and computing cards, virtual machines.
const NAMES: &[&str] =
    &["dri", "fuse", "full", "kfd", "kvm", "mqueue", "null", "ptmx", "pts", "random", "shm", "tty", "urandom", "zero"];

/// Cards that have a number behind their name.
const NUMBERED: &str = "nvidia";

/// Those of them that there are.
pub fn harmless() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let harmless = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        (NAMES.contains(&name) || name.starts_with(NUMBERED)) && entry.file_type().is_ok_and(|kind| !kind.is_symlink())
    });
    harmless.map(|entry| entry.path()).collect()
}
