//! Every shape of a repository gives a block that says what it is.

use super::*;
use plimsoll_core::context::git_status;
use plimsoll_core::prompt::Prompts;
use plimsoll_core::workspace::GitHead;

fn rendered(path: &Path) -> String {
    git_status::render(&block(path), None, 1000, &Prompts::default())
}

#[test]
fn a_linked_worktree_is_its_own_root_on_its_own_branch() {
    let folder = Folder::new();
    let main = folder.repository("R");
    main.write("sub/a.txt", "a");
    main.commit("one");
    main.git(["worktree", "add", "-q", "../F", "-b", "feature"]);
    let root = super::super::root_of(&folder.path.join("F/sub"));
    assert_eq!(root, folder.path.join("F"));
    std::fs::write(root.join("x.txt"), "x").unwrap();
    let status = status(block(&root));
    assert_eq!(status.head, GitHead::Branch("feature".to_owned()));
    assert_eq!(status.untracked, ["x.txt"]);
    assert_eq!(super::status(block(&main.path)).untracked, Vec::<String>::new());
}

#[test]
fn a_repository_without_a_commit_is_no_error_and_not_no_repository() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.git(["checkout", "-q", "-b", "trunk"]);
    repo.write("a.txt", "a");
    let text = rendered(&repo.path);
    assert!(text.contains("Branch: trunk (no commits yet)") && text.contains("untracked a.txt"), "{text}");
    repo.git(["add", "a.txt"]);
    assert_eq!(status(block(&repo.path)).staged, [change('A', "a.txt")]);
    let plain = folder.path.join("plain");
    std::fs::create_dir(&plain).unwrap();
    assert_eq!(rendered(&plain), "<git_status>\nnot a git repository\n</git_status>");
}

#[test]
fn a_huge_untracked_folder_is_one_entry() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write("src/a.rs", "fn a() {}\n");
    repo.commit("one");
    repo.write("src/a.rs", "fn b() {}\n");
    for number in 0..3000 {
        repo.write(&format!("blob/{number}"), "");
    }
    let status = status(block(&repo.path));
    assert_eq!(status.untracked, ["blob/"]);
    assert_eq!(status.unstaged, [change('M', "src/a.rs")]);
    assert!(!status.incomplete);
}

#[test]
fn the_index_is_never_written_and_a_lock_is_left_alone() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write("a.txt", "a\n");
    repo.commit("one");
    // Other time stamps, same content: what makes git refresh its index.
    std::fs::File::options()
        .write(true)
        .open(repo.path.join("a.txt"))
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    let index = repo.path.join(".git/index");
    let before = (std::fs::read(&index).unwrap(), std::fs::metadata(&index).unwrap().modified().unwrap());
    let mut root = repo.root();
    for _ in 0..50 {
        assert_eq!(status(refresh(&mut root)).unstaged, []);
    }
    std::fs::write(repo.path.join(".git/index.lock"), "").unwrap();
    repo.write("a.txt", "b\n");
    assert_eq!(status(refresh(&mut root)).unstaged, [change('M', "a.txt")]);
    assert!(repo.path.join(".git/index.lock").exists());
    assert_eq!((std::fs::read(&index).unwrap(), std::fs::metadata(&index).unwrap().modified().unwrap()), before);
}

#[test]
fn commits_of_others_succeed_while_it_looks() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write("a.txt", "0");
    repo.commit("one");
    let user = std::thread::spawn({
        let repo = repo.clone();
        move || {
            for number in 0..20 {
                repo.write("a.txt", &format!("{number}{number}"));
                repo.commit("next");
            }
        }
    });
    let mut root = repo.root();
    while !user.is_finished() {
        refresh(&mut root);
    }
    user.join().unwrap();
    let status = status(refresh(&mut root));
    assert_eq!((status.unstaged, status.staged, status.untracked), (vec![], vec![], vec![]));
}

#[test]
fn odd_names_are_whole_and_a_rename_has_both() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write("old name.txt", "some content that stays\n");
    repo.commit("one");
    repo.git(["mv", "old name.txt", "new name.txt"]);
    for name in ["caf\u{e9}.txt", "a -> b.txt", "q\"t\tab.txt"] {
        repo.write(name, "x");
    }
    let status = status(block(&repo.path));
    assert_eq!(status.untracked, ["a -> b.txt", "caf\u{e9}.txt", "q\"t\\x09ab.txt"]);
    let rename = GitChange { path: "new name.txt".to_owned(), code: 'R', from: Some("old name.txt".to_owned()) };
    assert_eq!(status.staged, [rename]);
    assert!(!rendered(&repo.path).contains("\\303"));
}

#[test]
fn a_name_that_is_no_utf8_has_its_escaped_form() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write("good.txt", "needle\n");
    std::fs::write(repo.path.join(OsStr::from_bytes(b"bad-\xFF.txt")), "needle\n").unwrap();
    assert_eq!(status(block(&repo.path)).untracked, ["bad-\\xFF.txt", "good.txt"]);
    repo.commit("one");
    std::fs::write(repo.path.join(OsStr::from_bytes(b"bad-\xFF.txt")), "changed\n").unwrap();
    assert_eq!(status(block(&repo.path)).unstaged, [change('M', "bad-\\xFF.txt")]);
}

#[test]
fn a_rebase_names_its_branch_and_its_conflicts() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write("f.txt", "base\n");
    repo.commit("base");
    repo.git(["checkout", "-q", "-b", "topic"]);
    repo.write("f.txt", "topic\n");
    repo.commit("topic");
    repo.git(["checkout", "-q", "main"]);
    repo.write("f.txt", "main\n");
    repo.commit("main");
    repo.git(["checkout", "-q", "topic"]);
    assert!(!repo.try_git(["rebase", "main"]).status.success());
    let during = status(block(&repo.path));
    assert_eq!(during.operation.as_deref(), Some("rebase of topic"));
    assert_eq!(during.conflicted, ["f.txt"]);
    assert_eq!((during.staged, during.unstaged), (vec![], vec![]));
    assert!(matches!(&during.head, GitHead::Detached(id) if id.len() >= 7), "{:?}", during.head);
    repo.git(["rebase", "--abort"]);
    repo.git(["checkout", "-q", "--detach"]);
    let after = status(block(&repo.path));
    assert!(matches!(after.head, GitHead::Detached(_)));
    assert_eq!(after.operation, None);
}

#[test]
fn every_operation_under_way_is_named() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write("f.txt", "base\n");
    repo.commit("base");
    repo.git(["checkout", "-q", "-b", "topic"]);
    repo.write("f.txt", "topic\n");
    repo.commit("topic");
    repo.git(["checkout", "-q", "main"]);
    repo.write("f.txt", "main\n");
    repo.commit("main");
    let operation = |repo: &Repo| status(block(&repo.path)).operation;
    for (command, abort, expected) in [
        (vec!["merge", "topic"], "merge", "merge"),
        (vec!["cherry-pick", "topic"], "cherry-pick", "cherry-pick"),
        (vec!["revert", "--no-edit", "HEAD~1"], "revert", "revert"),
    ] {
        assert!(!repo.try_git(&command).status.success(), "{command:?}");
        assert_eq!(operation(&repo).as_deref(), Some(expected));
        repo.git([abort, "--abort"]);
    }
    repo.git(["bisect", "start"]);
    assert_eq!(operation(&repo).as_deref(), Some("bisect of main"));
}

#[test]
fn upstream_and_last_commits_are_told() {
    let folder = Folder::new();
    let origin = folder.repository("origin");
    for number in 0..7 {
        origin.write("a.txt", &number.to_string());
        origin.commit(&format!("change {number}\n\nbody"));
    }
    folder.repository("x").git(["clone", "-q", "../origin", "../clone"]);
    let clone = Repo { path: folder.path.join("clone") };
    clone.write("b.txt", "b");
    clone.commit("mine");
    clone.git(["update-ref", "refs/remotes/origin/main", "HEAD~2"]);
    let status = status(block(&clone.path));
    assert_eq!(status.upstream, Some(("origin/main".to_owned(), 2, 0)));
    let subjects: Vec<_> = status.commits.iter().map(|commit| commit.split_once(' ').unwrap().1).collect();
    assert_eq!(subjects, ["mine", "change 6", "change 5", "change 4", "change 3"]);
}

#[test]
fn submodules_and_nested_repositories_are_one_entry_each() {
    let folder = Folder::new();
    let inner = folder.repository("inner");
    inner.write("x.txt", "x\n");
    inner.commit("one");
    let repo = folder.repository("r");
    repo.git(["submodule", "--quiet", "add", "../inner", "sub"]);
    repo.commit("with sub");
    let mut root = repo.root();
    assert_eq!(status(refresh(&mut root)).unstaged, []);
    repo.write("sub/x.txt", "changed\n");
    repo.write("nested/y.txt", "y");
    Repo { path: repo.path.join("nested") }.git(["init", "-q"]);
    let dirty = status(refresh(&mut root));
    assert_eq!(dirty.unstaged, [change('m', "sub")]);
    assert_eq!(dirty.untracked, ["nested/"]);
    let sub = Repo { path: repo.path.join("sub") };
    sub.commit("two");
    assert_eq!(status(refresh(&mut root)).unstaged, [change('M', "sub")]);
    sub.git(["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(status(refresh(&mut root)).unstaged, []);
    std::fs::remove_dir_all(&sub.path).unwrap();
    assert_eq!(status(refresh(&mut root)).unstaged, [change('D', "sub")]);
}

#[test]
fn a_bare_repository_says_so() {
    let folder = Folder::new();
    let repo = folder.repository("x");
    repo.git(["init", "-q", "--bare", "../bare.git"]);
    assert_eq!(block(&folder.path.join("bare.git")), GitBlock::Bare);
}

#[test]
fn a_repository_of_another_user_says_so_with_the_fix() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write("a.txt", "a");
    let given = Command::new("chown").arg("-R").arg("12345:12345").arg(&repo.path).status().unwrap().success();
    if !given {
        // Only root can give a folder away.
        return;
    }
    let GitBlock::Unavailable(why) = block(&repo.path) else { panic!() };
    assert!(why.contains("ownership") && why.contains("safe.directory"), "{why}");
}

#[test]
fn the_state_of_a_folder_inside_a_repository_is_told_from_there() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write("sub/deep/a.txt", "a");
    repo.write("other/b.txt", "b");
    repo.write(".gitignore", "*.log\n");
    repo.commit("one");
    repo.write("sub/deep/a.txt", "changed");
    repo.write("other/b.txt", "changed");
    repo.write("sub/new.txt", "n");
    repo.write("sub/x.log", "n");
    repo.write("other/new.txt", "n");
    let status = status(block(&repo.path.join("sub")));
    assert_eq!(status.unstaged, [change('M', "../other/b.txt"), change('M', "deep/a.txt")]);
    assert_eq!(status.untracked, ["new.txt"]);
}

#[test]
fn formats_that_libgit2_cannot_read_are_read_by_the_command() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write("a.txt", "a");
    repo.write("b.txt", "b");
    repo.commit("one");
    let mut root = repo.root();
    assert_eq!(status(refresh(&mut root)).unstaged, []);
    repo.git(["update-index", "--split-index"]);
    repo.write("a.txt", "changed");
    repo.write("new.txt", "n");
    let split = status(refresh(&mut root));
    assert_eq!(split.unstaged, [change('M', "a.txt")]);
    assert_eq!(split.untracked, ["new.txt"]);
    assert_eq!(split.head, GitHead::Branch("main".to_owned()));
    assert_eq!(split.commits.len(), 1);
    repo.git(["update-index", "--no-split-index"]);
    assert_eq!(status(refresh(&mut root)).untracked, ["new.txt"]);
    let sha256 = Repo { path: folder.path.join("s") };
    std::fs::create_dir(&sha256.path).unwrap();
    sha256.git(["init", "-q", "-b", "main", "--object-format=sha256"]);
    sha256.write("a.txt", "a");
    let unborn = status(block(&sha256.path));
    assert_eq!((unborn.head, unborn.untracked), (GitHead::Unborn("main".to_owned()), vec!["a.txt".to_owned()]));
}

#[test]
fn a_sparse_checkout_misses_nothing() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.write("in/a.txt", "a");
    repo.write("out/b.txt", "b");
    repo.commit("one");
    repo.git(["sparse-checkout", "set", "in"]);
    assert!(!repo.path.join("out").exists());
    assert_eq!(status(block(&repo.path)).unstaged, []);
}

#[test]
fn line_ends_and_filters_of_others_are_compared_as_git_does() {
    let folder = Folder::new();
    let repo = folder.repository("r");
    repo.git(["config", "core.autocrlf", "true"]);
    repo.write("a.txt", "one\r\ntwo\r\n");
    repo.git(["add", "a.txt"]);
    repo.git(["commit", "-q", "-m", "one"]);
    let mut root = repo.root();
    assert_eq!(status(refresh(&mut root)).unstaged, []);
    repo.write("a.txt", "one\r\nTWO\r\n");
    assert_eq!(status(refresh(&mut root)).unstaged, [change('M', "a.txt")]);
    repo.write("a.txt", "one\r\ntwo\r\n");
    assert_eq!(status(refresh(&mut root)).unstaged, []);
}
