//! The block of a repository whose format libgit2 does not know, from the `git` command's porcelain.

use super::COMMITS_SHOWN;
use super::facts::{operation, subject_text};
use super::status::from_root;
use crate::process::git::{Git, GitError};
use plimsoll_core::path::escape;
use plimsoll_core::workspace::{GitBlock, GitChange, GitHead, GitStatus};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// After this time a call is given up; the turn does not wait for it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Filters that a repository may name.
const FILTERS_MAX: usize = 100;

/// The block of the repository whose work tree is `work`; blocks until git has answered.
pub fn read(work: &Path, root: &[u8]) -> GitBlock {
    match status(work, root) {
        Ok(status) => GitBlock::Status(status),
        Err(error) => GitBlock::Unavailable(format!("{error} (the repository's format needs the git command)")),
    }
}

fn status(work: &Path, root: &[u8]) -> Result<GitStatus, GitError> {
    let bare = Git { dir: work, filters: &[], timeout: TIMEOUT };
    // `git config` itself runs nothing, and status would run these filters on files that look changed.
    let filters = filters(&bare)?;
    let git = Git { filters: &filters, ..bare };
    // A submodule has a configuration of its own, which git would obey while looking into it.
    let output = git.run(&[
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=normal",
        "--ignore-submodules=dirty",
    ])?;
    let mut status = parse(&output, root);
    if !matches!(status.head, GitHead::Unborn(_)) {
        let log = git.run(&["log", &format!("-{COMMITS_SHOWN}"), "--no-show-signature", "--format=%h %s"])?;
        let lines = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        status.commits = lines.map(subject_text).collect();
    }
    status.operation = git_dir(work).and_then(|dir| operation(&dir));
    Ok(status)
}

/// Settings that make every filter of the repository an empty one.
fn filters(git: &Git<'_>) -> Result<Vec<String>, GitError> {
    let pattern = r"^filter\..*\.(clean|smudge|process|required)$";
    let names = match git.run(&["config", "--includes", "-z", "--name-only", "--get-regexp", pattern]) {
        Ok(names) => names,
        // Nothing matched: git says so by its exit code alone.
        Err(GitError::Failed(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut settings = Vec::new();
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = std::str::from_utf8(name).ok().filter(|name| !name.contains('=') && settings.len() < FILTERS_MAX);
        let Some(name) = name else {
            return Err(GitError::Failed("the repository's filters cannot be switched off by name".to_owned()));
        };
        let value = if name.ends_with(".required") { "false" } else { "" };
        settings.push(format!("{name}={value}"));
    }
    Ok(settings)
}

/// The repository's folder: `.git`, or where a file of that name points.
fn git_dir(work: &Path) -> Option<PathBuf> {
    let dot_git = work.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    let text = std::fs::read_to_string(&dot_git).ok()?;
    Some(work.join(text.strip_prefix("gitdir:")?.trim()))
}

/// Reads `git status --porcelain=v2 --branch -z`.
fn parse(output: &[u8], root: &[u8]) -> GitStatus {
    let mut status = GitStatus {
        head: GitHead::Detached(String::new()),
        upstream: None,
        operation: None,
        staged: Vec::new(),
        unstaged: Vec::new(),
        untracked: Vec::new(),
        conflicted: Vec::new(),
        commits: Vec::new(),
        incomplete: false,
        age_ms: None,
    };
    let (mut id, mut branch) = (Vec::new(), Vec::new());
    let mut records = output.split(|byte| *byte == 0);
    while let Some(record) = records.next() {
        let shown = |path: &[u8]| from_root(root, &escape(path));
        match record {
            [b'#', b' ', header @ ..] => {
                let (name, value) = split_once(header);
                match name {
                    b"branch.oid" => id = value.to_vec(),
                    b"branch.head" => branch = value.to_vec(),
                    b"branch.upstream" => status.upstream = Some((escape(value), 0, 0)),
                    b"branch.ab" => {
                        if let Some((_, ahead, behind)) = &mut status.upstream {
                            let (plus, minus) = split_once(value);
                            *ahead = number(plus);
                            *behind = number(minus);
                        }
                    }
                    _ => {}
                }
            }
            [b'?', b' ', path @ ..] => status.untracked.push(shown(path)),
            [b'u', b' ', rest @ ..] => {
                if let Some(path) = rest.splitn(10, |byte| *byte == b' ').nth(9) {
                    status.conflicted.push(shown(path));
                }
            }
            [kind @ (b'1' | b'2'), b' ', staged, unstaged, b' ', rest @ ..] => {
                let fields = if *kind == b'1' { 7 } else { 8 };
                let Some(path) = rest.splitn(fields, |byte| *byte == b' ').last() else { continue };
                let from = (*kind == b'2').then(|| records.next().map(shown)).flatten();
                if *staged != b'.' {
                    let from = from.clone();
                    status.staged.push(GitChange { path: shown(path), code: char::from(*staged), from });
                }
                if *unstaged != b'.' {
                    status.unstaged.push(GitChange { path: shown(path), code: char::from(*unstaged), from: None });
                }
            }
            _ => {}
        }
    }
    status.head = match (id.as_slice(), branch.as_slice()) {
        (b"(initial)", branch) => GitHead::Unborn(escape(branch)),
        (id, b"(detached)") => GitHead::Detached(escape(id.get(..10).unwrap_or(id))),
        (_, branch) => GitHead::Branch(escape(branch)),
    };
    status
}

fn split_once(text: &[u8]) -> (&[u8], &[u8]) {
    let mut parts = text.splitn(2, |byte| *byte == b' ');
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

fn number(signed: &[u8]) -> u64 {
    let digits = signed.strip_prefix(b"+").or_else(|| signed.strip_prefix(b"-")).unwrap_or(signed);
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
