//! Instruction files: `AGENTS.md` of the administrator, the user and each root. Looked at every turn.
//!
//! A project's file must be a regular file inside its root; a link is followed when it stays inside. The others may lie
//! anywhere. How they are read, and what stands beside them, is [`rules`](super::rules).

/// The file's name, in every folder.
pub const NAME: &str = "AGENTS.md";

#[cfg(test)]
mod tests {
    use super::super::rules::files::Files;
    use super::super::rules::{Sources, read};
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

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
        let roots = std::slice::from_ref(&folders.root);
        let texts = read(&folders.config, roots, &Sources::default(), &mut Files::default());
        texts.instructions.into_iter().map(|source| source.text).collect()
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
        assert!(text.len() < 256 * 1024 + 100);
    }
}
