//! Ignore rules in force for the entries of one folder: its own `.gitignore`, then those above, then the repository's
//! `info/exclude`, then the user's. The first that says something decides.
//!
//! A folder that is ignored is not looked into, so rules never see what lies below one.

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// Bytes read of one file of rules; git itself refuses larger ones at 100 MiB, nobody writes them by hand.
const FILE_MAX: u64 = 1024 * 1024;

/// A chain of rules, the deepest first. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Rules(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    matcher: Gitignore,
    /// Length of the path of the folder whose rules these are, with the `/` behind it.
    base: usize,
    above: Rules,
}

impl Rules {
    /// These rules with those of the file `path` before them; `dir` is the folder they hold for, relative to the tree's
    /// base. A file that is missing, or no regular file, adds nothing.
    #[must_use]
    pub fn with_file(&self, path: &Path, dir: &[u8]) -> Self {
        let Some(text) = read(path) else { return self.clone() };
        let mut builder = GitignoreBuilder::new(".");
        for line in text.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            // A line that is no valid pattern matches nothing, as in git.
            let _ = builder.add_line(None, &String::from_utf8_lossy(line));
        }
        match builder.build() {
            Ok(matcher) if !matcher.is_empty() => {
                let base = if dir.is_empty() { 0 } else { dir.len() + 1 };
                Self(Some(Arc::new(Link { matcher, base, above: self.clone() })))
            }
            _ => self.clone(),
        }
    }

    /// Whether the entry at `path` (relative to the tree's base, below the folder of these rules) is ignored.
    pub fn ignores(&self, path: &[u8], is_dir: bool) -> bool {
        self.decide(path, is_dir).unwrap_or(false)
    }

    /// The same, and none when no rule says anything about it.
    pub fn decide(&self, path: &[u8], is_dir: bool) -> Option<bool> {
        let mut rules = self;
        while let Some(link) = &rules.0 {
            let relative = path.get(link.base..).unwrap_or_default();
            match link.matcher.matched(Path::new(OsStr::from_bytes(relative)), is_dir) {
                Match::Ignore(_) => return Some(true),
                Match::Whitelist(_) => return Some(false),
                Match::None => rules = &link.above,
            }
        }
        None
    }
}

/// Reads a regular file without following a link and without waiting for a pipe.
fn read(path: &Path) -> Option<Vec<u8>> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).ok()?;
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(FILE_MAX).read_to_end(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeper_rules_decide_first_and_hold_for_their_folder_only() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("top"), "*.log\n/only-top\nbuild/\n").unwrap();
        std::fs::write(dir.path().join("deep"), "!keep.log\n/local\n").unwrap();
        let top = Rules::default().with_file(&dir.path().join("top"), b"");
        let deep = top.with_file(&dir.path().join("deep"), b"a/b");
        assert!(deep.ignores(b"a/b/x.log", false));
        assert!(!deep.ignores(b"a/b/keep.log", false));
        assert!(deep.ignores(b"a/b/local", false));
        assert!(!deep.ignores(b"a/b/c/local", false));
        assert!(top.ignores(b"only-top", false));
        assert!(!top.ignores(b"a/only-top", false));
        assert!(top.ignores(b"a/build", true));
        assert!(!top.ignores(b"a/build", false));
    }

    #[test]
    fn a_link_or_a_pipe_gives_no_rules() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("real"), "*\n").unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            dir.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o644),
            0,
        )
        .unwrap();
        for name in ["link", "pipe", "missing"] {
            assert!(!Rules::default().with_file(&dir.path().join(name), b"").ignores(b"a", false), "{name}");
        }
    }
}
