//! Instruction files: the user's, then the one of each root. Read anew every turn.
//!
//! A project's file must be a regular file inside its root; a link is followed when it stays inside. The user's own may
//! lie anywhere.

use plimsoll_core::ingest::{Source, text};
use plimsoll_core::path::escape;
use plimsoll_core::workspace::InstructionSource;
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file's name, in every folder.
const NAME: &str = "AGENTS.md";

/// Bytes read of one file: several times what any budget shows.
const FILE_MAX: u64 = 256 * 1024;

/// The files that are there, in the order in which they are shown. Blocks.
pub fn read(config_dir: &Path, roots: &[PathBuf]) -> Vec<InstructionSource> {
    let mut seen = HashSet::new();
    let user = [(config_dir.join(NAME), None)];
    let project = roots.iter().map(|root| (root.join(NAME), Some(root.as_path())));
    let files = user.into_iter().chain(project);
    files.filter_map(|(path, inside)| read_one(&path, inside, &mut seen)).collect()
}

fn read_one(path: &Path, inside: Option<&Path>, seen: &mut HashSet<PathBuf>) -> Option<InstructionSource> {
    let real = path.canonicalize().ok()?;
    if inside.is_some_and(|root| !real.starts_with(root)) {
        tracing::debug!("an instruction file outside its root is not read");
        return None;
    }
    // Not waiting for a pipe's writer; what was a file a moment ago may be one no more.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(i32::try_from(flags.bits()).ok()?).open(&real).ok()?;
    if !file.metadata().ok()?.is_file() || !seen.insert(real) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > FILE_MAX {
        // Whole lines only.
        let end = bytes.iter().take(FILE_MAX as usize).rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(end);
        bytes.extend_from_slice(
            format!("[the file is longer; what follows is not shown: read_file {NAME}]\n").as_bytes(),
        );
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    Some(InstructionSource { path: escape(path.as_os_str().as_bytes()), text: text(Source::File, bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Folders {
        _dir: tempfile::TempDir,
        config: PathBuf,
        root: PathBuf,
        outside: PathBuf,
    }

    fn folders() -> Folders {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let folder = |name: &str| {
            std::fs::create_dir(base.join(name)).unwrap();
            base.join(name)
        };
        Folders { config: folder("config"), root: folder("root"), outside: folder("outside"), _dir: dir }
    }

    fn texts(folders: &Folders) -> Vec<String> {
        read(&folders.config, std::slice::from_ref(&folders.root)).into_iter().map(|source| source.text).collect()
    }

    #[test]
    fn the_users_file_comes_before_the_projects() {
        let folders = folders();
        std::fs::write(folders.config.join(NAME), "user\n").unwrap();
        std::fs::write(folders.root.join(NAME), "\u{feff}project\n").unwrap();
        assert_eq!(texts(&folders), ["user\n", "project\n"]);
    }

    #[test]
    fn a_link_is_followed_inside_the_root_only() {
        let folders = folders();
        std::fs::write(folders.outside.join("secret"), "TOPSECRET").unwrap();
        symlink(folders.outside.join("secret"), folders.root.join(NAME)).unwrap();
        assert_eq!(texts(&folders), Vec::<String>::new());
        std::fs::remove_file(folders.root.join(NAME)).unwrap();
        std::fs::write(folders.root.join("CLAUDE.md"), "inside\n").unwrap();
        symlink("CLAUDE.md", folders.root.join(NAME)).unwrap();
        assert_eq!(texts(&folders), ["inside\n"]);
    }

    #[test]
    fn a_pipe_or_a_folder_is_not_read() {
        let folders = folders();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folders.root.join(NAME),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o644),
            0,
        )
        .unwrap();
        std::fs::create_dir(folders.config.join(NAME)).unwrap();
        assert_eq!(texts(&folders), Vec::<String>::new());
    }

    #[test]
    fn a_very_long_file_ends_with_a_whole_line() {
        let folders = folders();
        std::fs::write(folders.root.join(NAME), "0123456789\n".repeat(30_000)).unwrap();
        let text = texts(&folders).remove(0);
        assert!(text.ends_with("\n0123456789\n[the file is longer; what follows is not shown: read_file AGENTS.md]\n"));
        assert!(text.len() < FILE_MAX as usize + 100);
    }
}
