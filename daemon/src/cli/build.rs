//! Which build this is: two builds of one version differ in it.

use plimsoll_protocol::hello::Binary;
use std::fs;
use std::hint::black_box;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// By it `what` and `strings` find the version in the file, which then need not be run. It ends with its line.
const MARK: &str = "@(#)plimsoll ";
/// The one place of this executable's version.
static STAMP: &str = concat!("@(#)plimsoll ", env!("CARGO_PKG_VERSION"), "\n");

/// The version of the package, as it stands in the file.
pub fn version() -> &'static str {
    // What the compiler knows it would write into every place that uses it.
    let stamp = black_box(STAMP);
    stamp.strip_prefix(MARK).unwrap_or(stamp).trim_end()
}

/// The version and a hash of what tells this executable from another, such as `0.1.0+5f3a9c01`. Computed when first
/// asked for.
pub fn id() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| match own() {
        Some(executable) => format!("{}+{}", version(), executable.short_hash()),
        None => version().to_owned(),
    })
}

/// This process's executable, as it was when first asked for, which every process does when it begins.
pub fn own() -> Option<&'static Executable> {
    static OWN: OnceLock<Option<Executable>> = OnceLock::new();
    OWN.get_or_init(Executable::of_process).as_ref()
}

/// What orders this build among others.
pub fn binary() -> Option<Binary> {
    own().map(Executable::binary)
}

/// The file that a process was started from, as it was then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executable {
    path: PathBuf,
    print: Print,
}

/// What tells a file from the one that later takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Print {
    size: u64,
    seconds: i64,
    nanoseconds: i64,
    inode: u64,
}

impl Executable {
    /// This process's; none when the system does not tell.
    fn of_process() -> Option<Self> {
        Self::at(&path()?)
    }

    /// The file at this path.
    pub fn at(path: &Path) -> Option<Self> {
        Some(Self { path: path.to_owned(), print: print(path)? })
    }

    /// Whether another file stands in its place. While there is none, a replacement may be under way: not yet.
    pub fn was_replaced(&self) -> bool {
        print(&self.path).is_some_and(|now| now != self.print)
    }

    /// When it was last modified, in milliseconds of Unix time.
    pub fn modified(&self) -> i64 {
        self.print.seconds.saturating_mul(1_000).saturating_add(self.print.nanoseconds / 1_000_000)
    }

    /// What orders it among other builds, as one of this version.
    fn binary(&self) -> Binary {
        let path = self.path.to_str().map(str::to_owned);
        Binary { version: version().to_owned(), modified: self.modified(), path }
    }

    fn short_hash(&self) -> String {
        let Print { size, seconds, nanoseconds, .. } = self.print;
        let mut hasher = blake3::Hasher::new();
        for number in [size, seconds.cast_unsigned(), nanoseconds.cast_unsigned()] {
            hasher.update(&number.to_le_bytes());
        }
        hasher.finalize().to_hex().chars().take(8).collect()
    }
}

fn print(path: &Path) -> Option<Print> {
    let metadata = fs::metadata(path).ok()?;
    Some(Print {
        size: metadata.size(),
        seconds: metadata.mtime(),
        nanoseconds: metadata.mtime_nsec(),
        inode: metadata.ino(),
    })
}

/// The path of this executable; of the file that replaced it when that has happened.
pub fn path() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?;
    // Linux marks the path of a file that is no longer there; the new one has the old name.
    match path.to_str().and_then(|text| text.strip_suffix(" (deleted)")) {
        Some(text) => Some(PathBuf::from(text)),
        None => Some(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_knows_that_another_took_its_place_but_not_before_it_did() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::write(&path, "old").unwrap();
        let executable = Executable::at(&path).unwrap();
        assert!(!executable.was_replaced());
        fs::rename(&path, folder.path().join("aside")).unwrap();
        assert!(!executable.was_replaced());
        fs::write(&path, "new!").unwrap();
        assert!(executable.was_replaced());
    }

    #[test]
    fn the_build_begins_with_the_version_and_is_the_same_each_time() {
        assert_eq!(version(), env!("CARGO_PKG_VERSION"));
        assert!(id().starts_with(version()));
        assert_eq!(id(), id());
    }
}
