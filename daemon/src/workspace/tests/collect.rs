//! The environment as a turn gets it, and the revision.

use super::super::rules::Sources;
use super::super::tree::stat::{look, now};
use super::super::{ClientFacts, Waits, Workspace, WorkspaceError};
use super::*;
use plimsoll_core::id::Revision;
use plimsoll_core::path::WorkspacePath;
use plimsoll_core::workspace::{EditorFile, EditorState, LayoutDir};
use std::sync::Arc;
use std::time::Duration;

fn facts(folder: &Folder) -> ClientFacts {
    ClientFacts {
        env: Arc::new([("LANG".to_owned(), "de_DE.UTF-8".to_owned())].into()),
        shell: "bash".to_owned(),
        config_dir: folder.path.join("config"),
        sources: Sources::default(),
        need_layout: true,
    }
}

/// A workspace whose answers are always of now, however busy the machine is.
fn open(roots: Vec<PathBuf>, last: Revision) -> Workspace {
    let long = Duration::from_mins(5);
    Workspace::open(roots, last, Waits { state: long, first: long, instructions: long })
}

/// Lets the clock go on until equal metadata proves that the file was not written again.
fn settle(path: &Path) {
    while !look(path).unwrap().settled(now()) {
        std::thread::yield_now();
    }
}

/// Sets the file's time stamp.
fn touch(path: &Path) {
    let file = std::fs::File::options().append(true).open(path).unwrap();
    file.set_modified(std::time::SystemTime::now()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_environment_has_everything() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write("AGENTS.md", "Use tabs.\n");
    repo.write("src/main.rs", "fn main() {}\n");
    repo.write(".gitignore", "target/\n");
    repo.write("target/x", "x");
    repo.write(".github/ci.yml", "x");
    repo.commit("one");
    let workspace = open(vec![repo.path.clone()], Revision(6));
    let editor = EditorState { files: vec![EditorFile { path: "src/main.rs".to_owned(), ..EditorFile::default() }] };
    let environment = workspace.collect(&facts(&folder), editor.clone()).await.unwrap();
    let root = repo.path.to_str().unwrap().to_owned();
    assert_eq!(environment.user_info.roots, std::slice::from_ref(&root));
    assert_eq!(environment.user_info.language.as_deref(), Some("de"));
    assert_eq!(environment.user_info.shell, "bash");
    let dir = |name: &str, file: &str| LayoutDir {
        name: name.to_owned(),
        files: vec![file.to_owned()],
        ..LayoutDir::default()
    };
    let layout = LayoutDir {
        name: root,
        dirs: vec![dir(".github", "ci.yml"), dir("src", "main.rs")],
        files: vec![".gitignore".to_owned(), "AGENTS.md".to_owned()],
        unread: 0,
    };
    assert_eq!(environment.layout, [layout]);
    assert_eq!(environment.instructions.len(), 1);
    assert_eq!(environment.instructions[0].text, "Use tabs.\n");
    assert!(matches!(&environment.git[..], [GitBlock::Status(_)]));
    assert_eq!(environment.editor, editor);
    assert_eq!(environment.revision, Revision(7));
    workspace.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_root_is_an_error_of_its_project_alone() {
    let folder = Folder::new();
    let (gone, here) = (folder.path.join("gone"), folder.path.join("here"));
    std::fs::create_dir(&gone).unwrap();
    std::fs::create_dir(&here).unwrap();
    let one = open(vec![gone.clone()], Revision(0));
    let other = open(vec![here], Revision(0));
    assert!(one.collect(&facts(&folder), EditorState::default()).await.is_ok());
    std::fs::remove_dir_all(&gone).unwrap();
    let error = one.collect(&facts(&folder), EditorState::default()).await.unwrap_err();
    assert_eq!(error, WorkspaceError::Missing { path: gone.clone() });
    assert!(error.to_string().starts_with("workspace missing"));
    assert!(other.collect(&facts(&folder), EditorState::default()).await.is_ok());
    let opened_late = open(vec![gone.clone()], Revision(0));
    assert!(opened_late.collect(&facts(&folder), EditorState::default()).await.is_err());
    // It works again once the folder is back.
    std::fs::create_dir(&gone).unwrap();
    assert!(one.collect(&facts(&folder), EditorState::default()).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_revision_grows_with_changes_of_content_only() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write(".gitignore", "*.log\n");
    repo.write("a.txt", "one\n");
    repo.commit("one");
    let workspace = open(vec![repo.path.clone()], Revision(0));
    let first = workspace.observe(Revision(0)).await;
    assert_eq!((first.revision, first.complete, first.approximate), (Revision(1), false, true));
    repo.write("x.log", "ignored");
    touch(&repo.path.join("a.txt"));
    assert_eq!(workspace.observe(first.revision).await.revision, Revision(1));
    repo.write("a.txt", "two\n");
    repo.write("d/new.txt", "n");
    let second = workspace.observe(first.revision).await;
    assert_eq!((second.revision, second.complete), (Revision(2), true));
    assert_eq!(second.changed, [WorkspacePath::new(0, "a.txt"), WorkspacePath::new(0, "d/new.txt")]);
    repo.commit("two");
    assert_eq!(workspace.observe(second.revision).await.revision, Revision(2));
    std::fs::remove_dir_all(repo.path.join("d")).unwrap();
    let third = workspace.observe(second.revision).await;
    assert_eq!(third.changed, [WorkspacePath::new(0, "d/")]);
}

#[test]
fn a_touched_file_is_no_change_when_index_and_listing_move_with_it() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write(".gitignore", "*.log\n");
    for name in ["a.txt", "b.txt"] {
        repo.write(name, name);
        settle(&repo.path.join(name));
    }
    repo.commit("one");
    let mut root = repo.root();
    assert_eq!(changed(&mut root), Vec::<String>::new());
    repo.write("x.log", "ignored");
    touch(&repo.path.join("a.txt"));
    repo.git(["update-index", "--refresh"]);
    assert_eq!(changed(&mut root), Vec::<String>::new());
    // Also when the index knows other content of it, or none, from then on.
    for name in ["a.txt", "b.txt"] {
        settle(&repo.path.join(name));
    }
    assert_eq!(changed(&mut root), Vec::<String>::new());
    let other = repo.git(["hash-object", "-w", "b.txt"]);
    repo.git(["update-index", "--cacheinfo", &format!("100644,{other},a.txt")]);
    repo.git(["rm", "-q", "--cached", "b.txt"]);
    touch(&repo.path.join("a.txt"));
    touch(&repo.path.join("b.txt"));
    assert_eq!(changed(&mut root), Vec::<String>::new());
    repo.write("a.txt", "A.txt");
    repo.write("b.txt", "B.txt");
    assert_eq!(changed(&mut root), ["a.txt", "b.txt"]);
}

#[test]
fn changes_are_seen_without_a_repository_too() {
    let folder = Folder::new();
    let plain = folder.path.join("plain");
    std::fs::create_dir_all(plain.join("d")).unwrap();
    std::fs::write(plain.join("a"), "1").unwrap();
    let mut root = Root::new(0, plain.clone());
    assert_eq!(changed(&mut root), Vec::<String>::new());
    std::fs::write(plain.join("a"), "2").unwrap();
    std::fs::write(plain.join("d/b"), "").unwrap();
    assert_eq!(changed(&mut root), ["a", "d/b"]);
    // The same size in the same instant.
    std::fs::write(plain.join("a"), "3").unwrap();
    assert_eq!(changed(&mut root), ["a"]);
    assert_eq!(changed(&mut root), Vec::<String>::new());
}

#[test]
fn repositories_side_by_side_in_a_plain_folder_are_all_in_the_tree() {
    let folder = Folder::new();
    for name in ["one", "two"] {
        folder.repository(name).write("src/a.rs", "x");
    }
    let reading = Root::new(0, folder.path.clone()).refresh(&AtomicBool::new(false)).unwrap();
    assert_eq!(reading.git, GitBlock::NotARepository);
    let names: Vec<_> = reading.layout.dirs.iter().map(|dir| (dir.name.as_str(), dir.dirs.len())).collect();
    assert_eq!(names, [("one", 1), ("two", 1)]);
}

#[test]
fn a_repository_that_appears_is_seen() {
    let folder = Folder::new();
    let plain = Repo { path: folder.path.join("p") };
    std::fs::create_dir(&plain.path).unwrap();
    plain.write("a.txt", "a");
    let mut root = plain.root();
    assert_eq!(refresh(&mut root), GitBlock::NotARepository);
    plain.git(["init", "-q"]);
    assert_eq!(status(refresh(&mut root)).untracked, ["a.txt"]);
    std::fs::remove_dir_all(plain.path.join(".git")).unwrap();
    assert_eq!(refresh(&mut root), GitBlock::NotARepository);
}
