//! What one look at a file's metadata tells, and when two looks prove that nothing happened in between.

use rustix::fs::{FileType, Stat as RawStat};
use std::time::{SystemTime, UNIX_EPOCH};

/// How long after a change a file system with fine time stamps may still give a later change the same stamp: the tick of
/// kernel time is 10 ms at most, the rest is room for a busy machine.
const FINE_TICK: i64 = 50_000_000;

/// The same for file systems that keep whole seconds; two, because some keep even ones only.
const COARSE_TICK: i64 = 2_000_000_000;

/// Metadata of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    /// Nanoseconds since the epoch.
    pub mtime: i64,
    /// Nanoseconds since the epoch.
    pub ctime: i64,
    /// Bytes.
    pub size: u64,
    /// Inode.
    pub ino: u64,
    /// Type and permissions; 0 for a file that is not there.
    pub mode: u32,
}

impl Stat {
    /// Whether a later equal look proves equal content, when this one was made at `at`.
    pub fn settled(&self, at: i64) -> bool {
        let newest = self.mtime.max(self.ctime);
        let tick = if self.mtime % 1_000_000_000 == 0 { COARSE_TICK } else { FINE_TICK };
        at.saturating_sub(newest) > tick
    }

    /// Whether this is a regular file.
    pub fn is_file(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::RegularFile
    }

    /// Whether this is a folder.
    pub fn is_dir(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::Directory
    }

    /// Whether this is a symbolic link.
    pub fn is_symlink(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::Symlink
    }

    /// Whether the owner may execute it: the only permission that git keeps.
    pub fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }
}

impl From<RawStat> for Stat {
    #[expect(clippy::unnecessary_cast, reason = "the fields' types differ between platforms")]
    fn from(raw: RawStat) -> Self {
        Self {
            mtime: nanos(raw.st_mtime as i64, raw.st_mtime_nsec as i64),
            ctime: nanos(raw.st_ctime as i64, raw.st_ctime_nsec as i64),
            size: raw.st_size as u64,
            ino: raw.st_ino as u64,
            mode: raw.st_mode as u32,
        }
    }
}

/// One number from seconds and nanoseconds.
pub fn nanos(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

/// Now, in the same unit.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// Metadata of the file at `path`, a last symbolic link not followed; none when it cannot be had.
pub fn look(path: &std::path::Path) -> Option<Stat> {
    rustix::fs::lstat(path).ok().map(Stat::from)
}
