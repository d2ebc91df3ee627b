//! HEAD, upstream, operation under way, last commits. What is dear is kept as long as the commits it was made from.

use super::COMMITS_SHOWN;
use git2::{ErrorCode, Oid, Repository};
use plimsoll_core::path::escape;
use plimsoll_core::workspace::GitHead;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// Bytes kept of a commit's subject.
const SUBJECT_MAX: usize = 200;

/// What was made from commits.
#[derive(Debug, Default)]
pub struct Facts {
    commits: Option<(Oid, Vec<String>)>,
    short: Option<(Oid, String)>,
    distance: Option<(Oid, Oid, u64, u64)>,
}

/// Where HEAD stands.
pub struct Head {
    /// For the block.
    pub head: GitHead,
    /// The commit; none when unborn.
    pub commit: Option<Oid>,
    /// Full name of the branch, when it can be asked for.
    reference: Option<String>,
}

impl Facts {
    /// Where HEAD stands.
    pub fn head(&mut self, repository: &Repository) -> Result<Head, git2::Error> {
        match repository.head() {
            Ok(head) if head.is_branch() => {
                let name = head.shorthand_bytes();
                let reference = head.name().ok().map(str::to_owned);
                Ok(Head { head: GitHead::Branch(escape(name)), commit: head.target(), reference })
            }
            Ok(head) => {
                let commit = head.target();
                let short = commit.map(|commit| self.short_id(repository, commit)).unwrap_or_default();
                Ok(Head { head: GitHead::Detached(short), commit, reference: None })
            }
            Err(error) if error.code() == ErrorCode::UnbornBranch => {
                let head = repository.find_reference("HEAD")?;
                let name = head.symbolic_target_bytes().unwrap_or_default();
                let name = name.strip_prefix(b"refs/heads/").unwrap_or(name);
                Ok(Head { head: GitHead::Unborn(escape(name)), commit: None, reference: None })
            }
            Err(error) => Err(error),
        }
    }

    /// The upstream of `head` with commits ahead and behind.
    pub fn upstream(&mut self, repository: &Repository, head: &Head) -> Option<(String, u64, u64)> {
        let name = repository.branch_upstream_name(head.reference.as_deref()?).ok()?;
        let name = std::str::from_utf8(&name).ok()?;
        let (local, remote) = (head.commit?, repository.refname_to_id(name).ok()?);
        let (ahead, behind) = match self.distance {
            Some((from, to, ahead, behind)) if (from, to) == (local, remote) => (ahead, behind),
            _ => {
                let (ahead, behind) = repository.graph_ahead_behind(local, remote).ok()?;
                let distance = (u64::try_from(ahead).unwrap_or(u64::MAX), u64::try_from(behind).unwrap_or(u64::MAX));
                self.distance = Some((local, remote, distance.0, distance.1));
                distance
            }
        };
        let short = name.strip_prefix("refs/remotes/").or_else(|| name.strip_prefix("refs/heads/")).unwrap_or(name);
        Some((escape(short.as_bytes()), ahead, behind))
    }

    /// `<abbreviated id> <subject>` of the last commits, newest first.
    pub fn commits(&mut self, repository: &Repository, head: &Head) -> Vec<String> {
        let Some(commit) = head.commit else { return Vec::new() };
        if let Some((of, commits)) = &self.commits
            && *of == commit
        {
            return commits.clone();
        }
        let commits = last_commits(repository, commit).unwrap_or_default();
        self.commits = Some((commit, commits.clone()));
        commits
    }

    fn short_id(&mut self, repository: &Repository, commit: Oid) -> String {
        if let Some((of, short)) = &self.short
            && *of == commit
        {
            return short.clone();
        }
        let short = short_id(repository, commit);
        self.short = Some((commit, short.clone()));
        short
    }
}

/// As `git log` orders them: the newest of those that are reached next, among equals the one that was reached first.
/// libgit2's own order by time puts parents before children when both are from the same second.
fn last_commits(repository: &Repository, from: Oid) -> Result<Vec<String>, git2::Error> {
    let mut reached = vec![repository.find_commit(from)?];
    let mut seen = HashSet::from([from]);
    let mut commits = Vec::with_capacity(COMMITS_SHOWN);
    while commits.len() < COMMITS_SHOWN {
        let newest = reached.iter().enumerate().max_by_key(|(at, commit)| (commit.time().seconds(), Reverse(*at)));
        let Some((at, _)) = newest else { break };
        let commit = reached.remove(at);
        // A shallow clone ends where a parent is missing.
        reached.extend(commit.parents().filter(|parent| seen.insert(parent.id())));
        let subject = commit.message_bytes().split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
        let subject = subject.unwrap_or_default().trim_ascii();
        commits.push(format!("{} {}", short_id(repository, commit.id()), subject_text(subject)));
    }
    Ok(commits)
}

/// A commit's subject as one line of bounded length.
pub fn subject_text(subject: &[u8]) -> String {
    let cut = subject.len() > SUBJECT_MAX;
    let kept = subject.get(..SUBJECT_MAX).unwrap_or(subject);
    let text = String::from_utf8_lossy(kept).replace(|c: char| c.is_control(), " ");
    if cut { format!("{text}…") } else { text }
}

fn short_id(repository: &Repository, id: Oid) -> String {
    let short = repository.find_object(id, None).and_then(|object| object.short_id());
    let short = short.ok().and_then(|short| std::str::from_utf8(&short).ok().map(str::to_owned));
    short.unwrap_or_else(|| id.to_string().chars().take(10).collect())
}

/// The operation under way, from the files that git keeps in its folder meanwhile.
pub fn operation(git_dir: &Path) -> Option<String> {
    let has = |name: &str| git_dir.join(name).symlink_metadata().is_ok();
    if has("rebase-merge") {
        return Some(format!("rebase{}", branch(&git_dir.join("rebase-merge/head-name"))));
    }
    if has("rebase-apply") {
        let mail = has("rebase-apply/applying");
        let what = if mail { "am" } else { "rebase" };
        return Some(format!("{what}{}", branch(&git_dir.join("rebase-apply/head-name"))));
    }
    let names = [("MERGE_HEAD", "merge"), ("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert")];
    if let Some((_, word)) = names.iter().find(|(file, _)| has(file)) {
        return Some((*word).to_owned());
    }
    // Between two picks of a sequence there is no head of one.
    if has("sequencer/todo") {
        let todo = read_small(&git_dir.join("sequencer/todo")).unwrap_or_default();
        let revert = todo.starts_with(b"revert");
        return Some(if revert { "revert" } else { "cherry-pick" }.to_owned());
    }
    has("BISECT_LOG").then(|| format!("bisect{}", branch(&git_dir.join("BISECT_START"))))
}

/// ` of <branch>` from a file that names the branch an operation began on.
fn branch(file: &Path) -> String {
    let Some(text) = read_small(file) else { return String::new() };
    let name = text.trim_ascii();
    match name.strip_prefix(b"refs/heads/").unwrap_or(name) {
        b"" | b"detached HEAD" => String::new(),
        name => format!(" of {}", escape(name)),
    }
}

/// The first 4 KiB of a regular file.
fn read_small(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    fs::File::open(path).ok()?.take(4096).read_to_end(&mut text).ok()?;
    Some(text)
}
