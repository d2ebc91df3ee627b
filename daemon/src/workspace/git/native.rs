//! A repository that libgit2 can read: its index, settings and ignore rules, each read again only when its file moved.

use super::facts::{Facts, Head};
use super::index::{EntryKind, Index};
use super::submodule::Submodules;
use crate::workspace::tree::Tree;
use crate::workspace::tree::compare::Verdict;
use crate::workspace::tree::rules::Rules;
use crate::workspace::tree::stat::{Stat, look, now};
use git2::{AttrCheckFlags, Delta, DiffFindOptions, DiffOptions, Oid, Repository, StatusOptions, StatusShow};
use plimsoll_core::path::escape;
use plimsoll_core::workspace::GitChange;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Differences between HEAD and index up to which renames of changed files are looked for; beyond, only exact ones.
const SIMILAR_MAX: usize = 400;

/// Files that filters make libgit2 compare in one scan; what is beyond counts as modified.
const ASK_MAX: usize = 500;

/// Settings that decide how files are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// `core.fileMode`.
    pub file_mode: bool,
    /// `core.symlinks`.
    pub symlinks: bool,
    /// `core.sparseCheckout`.
    pub sparse: bool,
    /// Whether a setting, rather than a file in the work tree, may make other bytes equal.
    pub converts: bool,
}

/// See the module's head.
pub struct Native {
    /// The repository.
    pub repository: Repository,
    /// Its work tree.
    pub work: PathBuf,
    /// What is tracked.
    pub index: Index,
    /// The index before this refresh, when it was another one.
    pub index_before: Option<Index>,
    /// Settings.
    pub settings: Settings,
    /// Whether some attribute or setting may make other bytes equal to what is in the index.
    pub filters: bool,
    /// HEAD, upstream, commits.
    pub facts: Facts,
    /// What submodules say.
    pub submodules: Submodules,
    index_stamp: Watched,
    config_stamps: Vec<Watched>,
    rules_stamps: Vec<Watched>,
    excludes: Option<PathBuf>,
    attributes: bool,
    /// Where HEAD stands, once a refresh has looked.
    pub head: Option<Head>,
    /// Differences between HEAD's tree and the index, sorted by path.
    pub staged: Vec<GitChange>,
    staged_of: Compared,
}

/// What the index was last compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    Never,
    /// A commit, or none.
    With(Option<Oid>),
}

/// What a refresh means for the tree.
#[derive(Debug, Default)]
pub struct Moved {
    /// The rules that hold everywhere are these now.
    pub rules: Option<Rules>,
    /// All files must be compared anew.
    pub compare_all: bool,
}

impl Native {
    /// Takes over an open repository; nothing is read yet.
    pub fn new(repository: Repository, work: PathBuf) -> Self {
        let git_dir = repository.path().to_owned();
        let common = repository.commondir().to_owned();
        let configs = [common.join("config"), git_dir.join("config.worktree")];
        Self {
            repository,
            work,
            index: Index::default(),
            index_before: None,
            settings: Settings::default(),
            filters: false,
            facts: Facts::default(),
            submodules: Submodules::default(),
            index_stamp: Watched::new(git_dir.join("index")),
            config_stamps: configs.into_iter().map(Watched::new).collect(),
            rules_stamps: Vec::new(),
            excludes: None,
            attributes: false,
            head: None,
            staged: Vec::new(),
            staged_of: Compared::Never,
        }
    }

    /// Brings HEAD, index, settings and rules up to date. An error says that libgit2 cannot read the repository after all.
    pub fn refresh(&mut self, tree: &Tree) -> Result<Moved, git2::Error> {
        let mut moved = Moved::default();
        let head = self.facts.head(&self.repository)?;
        if self.index_stamp.moved() {
            let before = std::mem::take(&mut self.index);
            self.read_index()?;
            // The tree's numbers are of the index of its last scan, which a refresh that broke off did not reach.
            self.index_before.get_or_insert(before);
        }
        if self.staged_of != Compared::With(head.commit) {
            self.staged = self.compare_staged(head.commit)?;
            self.staged_of = Compared::With(head.commit);
        }
        self.head = Some(head);
        // Not `any`, which would leave the later ones unlooked at.
        let config_moved = self.config_stamps.iter_mut().filter_map(|file| file.moved().then_some(())).count() > 0;
        if config_moved {
            let settings = self.read_settings()?;
            moved.compare_all = settings != self.settings;
            self.settings = settings;
            self.rules_stamps = self.rules_files().into_iter().map(Watched::new).collect();
        }
        let rules_moved = self.rules_stamps.iter_mut().filter_map(|file| file.moved().then_some(())).count() > 0;
        if rules_moved || config_moved {
            // The last file decides first.
            let read = |rules: Rules, file: &Watched| rules.with_file(&file.path, b"");
            moved.rules = Some(self.rules_stamps.iter().fold(Rules::default(), read));
        }
        let filters = self.settings.converts || self.attributes || self.has_attributes(tree);
        moved.compare_all |= filters != self.filters;
        self.filters = filters;
        Ok(moved)
    }

    fn read_index(&mut self) -> Result<(), git2::Error> {
        self.staged_of = Compared::Never;
        self.index_stamp.take();
        self.index = match &self.index_stamp.stat {
            Some(stat) => Index::read(&self.index_stamp.path, stat)?,
            None => Index::default(),
        };
        self.attributes = self.index.iter().any(|(_, entry)| entry.name() == b".gitattributes");
        Ok(())
    }

    fn read_settings(&mut self) -> Result<Settings, git2::Error> {
        let config = self.repository.config()?.snapshot()?;
        let flag = |name: &str, default: bool| config.get_bool(name).unwrap_or(default);
        self.excludes = config.get_path("core.excludesFile").ok();
        let line_ends = config
            .get_str("core.autocrlf")
            .is_ok_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "" | "false" | "no" | "off" | "0"));
        Ok(Settings {
            file_mode: flag("core.fileMode", true),
            symlinks: flag("core.symlinks", true),
            sparse: flag("core.sparseCheckout", false),
            converts: line_ends || config.get_path("core.attributesFile").is_ok(),
        })
    }

    /// Files of ignore rules that hold everywhere, the strongest last.
    fn rules_files(&self) -> Vec<PathBuf> {
        let user = self.excludes.clone().or_else(|| user_file("ignore"));
        // The user's own file may be a link, as those who keep such files together have it.
        let user = user.map(|path| path.canonicalize().unwrap_or(path));
        user.into_iter().chain([self.repository.commondir().join("info/exclude")]).collect()
    }

    fn has_attributes(&self, tree: &Tree) -> bool {
        let user = user_file("attributes").is_some_and(|path| path.exists());
        user || look(&self.repository.commondir().join("info/attributes")).is_some()
            || tree.has_file(b".gitattributes")
            || look(&self.work.join(".gitattributes")).is_some()
    }

    fn compare_staged(&self, head: Option<Oid>) -> Result<Vec<GitChange>, git2::Error> {
        // A handle of its own: libgit2 keeps every tree that it read as long as the handle lives.
        let repository = Repository::open(&self.work)?;
        let tree = match head {
            Some(head) => Some(repository.find_commit(head)?.tree()?),
            None => None,
        };
        let noted = self.index.tree.as_ref().map(<[u8; 20]>::as_slice);
        if noted.is_some() && noted == tree.as_ref().map(git2::Tree::id).as_ref().map(Oid::as_bytes) {
            return Ok(Vec::new());
        }
        let raw = match &self.index_stamp.stat {
            Some(_) => git2::Index::open(&self.index_stamp.path)?,
            None => git2::Index::new()?,
        };
        let mut options = DiffOptions::new();
        options.include_typechange(true);
        let mut diff = repository.diff_tree_to_index(tree.as_ref(), Some(&raw), Some(&mut options))?;
        let has = |wanted: Delta| diff.deltas().any(|delta| delta.status() == wanted);
        if has(Delta::Added) && has(Delta::Deleted) {
            let mut find = DiffFindOptions::new();
            find.renames(true).exact_match_only(diff.deltas().len() > SIMILAR_MAX);
            diff.find_similar(Some(&mut find))?;
        }
        let mut staged: Vec<GitChange> = diff.deltas().filter_map(|delta| self.staged_change(&delta)).collect();
        mend_type_changes(&mut staged);
        staged.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(staged)
    }

    fn staged_change(&self, delta: &git2::DiffDelta<'_>) -> Option<GitChange> {
        let path = |file: git2::DiffFile<'_>| file.path_bytes().map(<[u8]>::to_vec);
        let (old, new) = (path(delta.old_file()), path(delta.new_file()));
        let code = match delta.status() {
            Delta::Added | Delta::Copied => 'A',
            Delta::Deleted => 'D',
            Delta::Modified => 'M',
            Delta::Renamed => 'R',
            Delta::Typechange => 'T',
            _ => return None,
        };
        let path = if code == 'D' { old.clone() } else { new }?;
        let from = old.filter(|_| code == 'R').map(|old| escape(&old));
        let change = |code, path| Some(GitChange { path, code, from: None });
        match (code, self.is_intent(&path), from) {
            // What is only announced is not in the index yet: all that is staged is that the earlier file is gone.
            ('A', true, _) => None,
            ('M' | 'T', true, _) => change('D', escape(&path)),
            ('R', true, Some(from)) => change('D', from),
            (code, _, from) => Some(GitChange { path: escape(&path), code, from }),
        }
    }

    fn is_intent(&self, path: &[u8]) -> bool {
        let entry = self.index.find(path).and_then(|number| self.index.get(number));
        entry.is_some_and(|entry| entry.kind == EntryKind::IntentToAdd)
    }

    /// Compares the files that filters concern. libgit2 knows line ends and `ident` and runs no program for others: a file
    /// with a filter of its own counts as modified when its metadata differs, and as clean when it does not.
    pub fn settle(&self, tree: &mut Tree) -> Result<(), git2::Error> {
        let mut asked = Vec::new();
        tree.settle(|path, same| {
            if asked.len() < ASK_MAX && !self.has_own_filter(path) {
                asked.push(path.to_vec());
                return Verdict::AskGit { same };
            }
            if same { Verdict::Clean } else { Verdict::Modified }
        });
        if asked.is_empty() {
            return Ok(());
        }
        let mut options = StatusOptions::new();
        options.show(StatusShow::Workdir).update_index(false).exclude_submodules(true).disable_pathspec_match(true);
        for path in &asked {
            options.pathspec(Path::new(OsStr::from_bytes(path)));
        }
        let statuses = self.repository.statuses(Some(&mut options))?;
        let modified: HashSet<Vec<u8>> = statuses
            .iter()
            .filter(|entry| entry.status().intersects(git2::Status::WT_MODIFIED | git2::Status::WT_TYPECHANGE))
            .map(|entry| entry.path_bytes().to_vec())
            .collect();
        tree.settle(|path, _| if modified.contains(path) { Verdict::Modified } else { Verdict::Clean });
        Ok(())
    }

    fn has_own_filter(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        let value = self.repository.get_attr_bytes(path, "filter", AttrCheckFlags::FILE_THEN_INDEX);
        matches!(value, Ok(Some(name)) if !matches!(name, b"" | b"false" | b"true"))
    }
}

/// Looking for renames, libgit2 takes a file that became a link apart, into one that went and one that came; git does not.
fn mend_type_changes(staged: &mut Vec<GitChange>) {
    let came: HashSet<String> =
        staged.iter().filter(|change| change.code == 'A').map(|change| change.path.clone()).collect();
    let mut changed_type = HashSet::new();
    staged.retain_mut(|change| {
        if let Some(from) = change.from.take_if(|from| came.contains(from.as_str())) {
            changed_type.insert(from);
            change.code = 'A';
        }
        let went = change.code == 'D' && came.contains(&change.path);
        if went {
            changed_type.insert(change.path.clone());
        }
        !went
    });
    for change in staged.iter_mut().filter(|change| change.code == 'A' && changed_type.contains(&change.path)) {
        change.code = 'T';
    }
}

/// A file of git's below the user's configuration folder.
fn user_file(name: &str) -> Option<PathBuf> {
    let xdg = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let config = xdg.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".config")))?;
    Some(config.join("git").join(name))
}

/// A file that is read again when it moved.
#[derive(Debug)]
pub struct Watched {
    path: PathBuf,
    stat: Option<Stat>,
    at: i64,
}

impl Watched {
    /// A file that was not looked at yet: it has moved.
    pub fn new(path: PathBuf) -> Self {
        Self { path, stat: None, at: 0 }
    }

    /// Looks; whether the file may be another one than at the last look.
    pub fn moved(&mut self) -> bool {
        let at_before = self.at;
        let before = self.stat;
        self.take();
        at_before == 0 || before != self.stat || before.is_some_and(|stat| !stat.settled(at_before))
    }

    fn take(&mut self) {
        self.at = now();
        self.stat = look(&self.path);
    }
}
