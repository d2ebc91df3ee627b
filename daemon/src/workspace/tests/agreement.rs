//! The model agrees with git after any sequence of edits.

use super::super::git::command;
use super::*;
use proptest::prelude::*;
use std::os::unix::fs::PermissionsExt;

#[derive(Debug, Clone)]
enum Edit {
    Write(usize, u8),
    Append(usize),
    Remove(usize),
    RemoveDir(usize),
    Executable(usize, bool),
    Link(usize),
    Rename(usize, usize),
    Touch(usize),
    Ignore(usize, usize),
    Add(usize),
    AddAll,
    AddIntent(usize),
    Forget(usize),
    Commit,
    Reset,
    Restore,
    Branch(bool),
}

const PATHS: &[&str] =
    &["a.txt", "b.log", "d/a.txt", "d/b.log", "d/e/c.txt", "build/out.txt", "d/build/x", "f/g/h/i.txt"];
const DIRS: &[&str] = &["d", "d/e", "build", "f"];
const RULES: &[&str] = &["*.log\n", "build/\n", "/d/a.txt\n!b.log\n", "d/*\n!d/e\n", "", "**/g\n# x\n\\!odd\n"];

fn edits() -> impl Strategy<Value = Edit> {
    let path = 0..PATHS.len();
    prop_oneof![
        6 => (path.clone(), 0_u8..4).prop_map(|(path, text)| Edit::Write(path, text)),
        2 => path.clone().prop_map(Edit::Append),
        2 => path.clone().prop_map(Edit::Remove),
        1 => (0..DIRS.len()).prop_map(Edit::RemoveDir),
        1 => (path.clone(), any::<bool>()).prop_map(|(path, on)| Edit::Executable(path, on)),
        1 => path.clone().prop_map(Edit::Link),
        1 => (path.clone(), path.clone()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => path.clone().prop_map(Edit::Touch),
        2 => (0_usize..3, 0..RULES.len()).prop_map(|(dir, rules)| Edit::Ignore(dir, rules)),
        2 => path.clone().prop_map(Edit::Add),
        2 => Just(Edit::AddAll),
        1 => path.clone().prop_map(Edit::AddIntent),
        1 => path.prop_map(Edit::Forget),
        2 => Just(Edit::Commit),
        1 => Just(Edit::Reset),
        1 => Just(Edit::Restore),
        1 => any::<bool>().prop_map(Edit::Branch),
    ]
}

/// Edits that do not apply do nothing.
fn apply(repo: &Repo, edit: &Edit) {
    let at = |number: &usize| repo.path.join(PATHS[*number]);
    let parent = |path: &Path| {
        let _ = std::fs::create_dir_all(path.parent().unwrap());
    };
    match edit {
        Edit::Write(path, text) => {
            parent(&at(path));
            let _ = std::fs::write(at(path), format!("text {text}\n"));
        }
        Edit::Append(path) => {
            use std::io::Write;
            if let Ok(mut file) = std::fs::File::options().append(true).open(at(path)) {
                file.write_all(b"more\n").unwrap();
            }
        }
        Edit::Remove(path) => drop(std::fs::remove_file(at(path))),
        Edit::RemoveDir(dir) => drop(std::fs::remove_dir_all(repo.path.join(DIRS[*dir]))),
        Edit::Executable(path, on) => {
            if at(path).symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                let mode = if *on { 0o755 } else { 0o644 };
                std::fs::set_permissions(at(path), std::fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        Edit::Link(path) => {
            parent(&at(path));
            let _ = std::fs::remove_file(at(path));
            let _ = std::os::unix::fs::symlink("nowhere", at(path));
        }
        Edit::Rename(from, to) => {
            parent(&at(to));
            let _ = std::fs::rename(at(from), at(to));
        }
        Edit::Touch(path) => {
            if let Ok(file) = std::fs::File::options().append(true).open(at(path)) {
                file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).unwrap();
            }
        }
        Edit::Ignore(dir, rules) => {
            let dir = repo.path.join(["", "d", "d/e"][*dir]);
            if dir.is_dir() {
                std::fs::write(dir.join(".gitignore"), RULES[*rules]).unwrap();
            }
        }
        Edit::Add(path) => drop(repo.try_git(["add", "-f", PATHS[*path]])),
        Edit::AddAll => drop(repo.try_git(["add", "-A"])),
        Edit::AddIntent(path) => drop(repo.try_git(["add", "-N", PATHS[*path]])),
        Edit::Forget(path) => drop(repo.try_git(["rm", "-q", "--cached", PATHS[*path]])),
        Edit::Commit => drop(repo.try_git(["commit", "-q", "-m", "x"])),
        Edit::Reset => drop(repo.try_git(["reset", "-q"])),
        Edit::Restore => drop(repo.try_git(["checkout", "-q", "--", "."])),
        Edit::Branch(other) => {
            if repo.try_git(["checkout", "-q", if *other { "other" } else { "main" }]).status.success() {
                return;
            }
            drop(repo.try_git(["checkout", "-q", "-b", "other"]));
        }
    }
}

/// What both must agree about. A rename is what it is made of: which files are similar enough is a matter of taste.
fn normal(block: GitBlock) -> GitStatus {
    let mut status = status(block);
    let mut staged = Vec::new();
    for change in status.staged {
        match change.from {
            Some(from) => {
                staged.push(super::change('D', &from));
                staged.push(super::change('A', &change.path));
            }
            None => staged.push(change),
        }
    }
    for list in [&mut staged, &mut status.unstaged] {
        list.sort_by(|one, other| (&one.path, one.code).cmp(&(&other.path, other.code)));
    }
    status.untracked.sort();
    status.commits.clear();
    GitStatus { staged, ..status }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn the_model_equals_git_after_any_edits(edits in proptest::collection::vec(edits(), 1..30)) {
        let folder = Folder::new();
        let repo = folder.repository("r");
        repo.git(["config", "status.renames", "false"]);
        repo.write("a.txt", "text 0\n");
        repo.write("d/e/c.txt", "text 1\n");
        repo.commit("one");
        let mut root = repo.root();
        for (at, edit) in edits.iter().enumerate() {
            apply(&repo, edit);
            let ours = normal(refresh(&mut root));
            let theirs = normal(command::read(&repo.path, b""));
            prop_assert_eq!(ours, theirs, "after {:?}", &edits[..=at]);
            let fresh = normal(block(&repo.path));
            prop_assert_eq!(normal(refresh(&mut root)), fresh);
        }
    }
}
