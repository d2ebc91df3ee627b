//! One root: its repository and its files, brought up to date together on a thread that may block.

use super::git::native::{Moved, Watched};
use super::git::{Shape, command, discover, status};
use super::layout;
use super::tree::rules::Rules;
use super::tree::stat::now;
use super::tree::{Changes, Scan, Tree};
use crate::workspace::git::Place;
use plimsoll_core::path::{WorkspacePath, escape};
use plimsoll_core::workspace::{GitBlock, LayoutDir};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// The model of one root.
pub struct Root {
    number: u16,
    path: PathBuf,
    place: Option<Place>,
    shape: Shape,
    /// Files that may make another shape possible, while the `git` command has to do.
    format: Vec<Watched>,
    /// Folder that the tree begins at: the work tree of the repository, else the root.
    base: PathBuf,
    /// The root, relative to the base.
    part: Vec<u8>,
    tree: Tree,
    opened: bool,
    layout: Arc<LayoutDir>,
    layout_of: u64,
}

/// What a refresh found.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The repository's block.
    pub git: GitBlock,
    /// The tree.
    pub layout: Arc<LayoutDir>,
    /// Paths whose content changed since the refresh before.
    pub changed: Vec<WorkspacePath>,
    /// Those of them that were not there.
    pub added: Vec<WorkspacePath>,
}

impl Root {
    /// The root number `number` at the canonical `path`; nothing is read yet.
    pub fn new(number: u16, path: PathBuf) -> Self {
        Self {
            number,
            place: None,
            shape: Shape::None,
            format: Vec::new(),
            base: path.clone(),
            part: Vec::new(),
            tree: Tree::new(b"", Rules::default()),
            opened: false,
            layout: Arc::new(layout::unread(&path)),
            layout_of: 0,
            path,
        }
    }

    /// The same root with nothing read.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::new(self.number, self.path.clone())
    }

    /// Brings everything up to date. Fails when the root cannot be opened.
    pub fn refresh(&mut self, stop: &AtomicBool) -> std::io::Result<Reading> {
        // First of all: a root that is gone must not look like one whose repository and files are gone.
        Tree::open_base(&self.path)?;
        let place = discover(&self.path);
        let retry = self.format.iter_mut().filter_map(|file| file.moved().then_some(())).count() > 0;
        if !self.opened || place != self.place || retry {
            let shape = Shape::open(place.as_ref());
            self.take_shape(shape, place);
        }
        let moved = match &mut self.shape {
            Shape::Native(native) => native.refresh(&self.tree),
            _ => Ok(Moved::default()),
        };
        let moved = moved.unwrap_or_else(|_| {
            // The repository changed to a format that libgit2 cannot read.
            self.take_shape(Shape::Command(self.base.clone()), self.place.clone());
            Moved::default()
        });
        if let Some(rules) = moved.rules {
            self.tree.set_rules(rules);
        }
        if moved.compare_all {
            self.tree.forget_verdicts();
        }
        let changes = self.scan(stop)?;
        let git = self.git(&changes);
        if self.layout_of != self.tree.listings()
            && let Some(at) = self.tree.find(&self.part)
        {
            self.layout = Arc::new(layout::read(&self.tree, at, &self.path));
            self.layout_of = self.tree.listings();
        }
        let changed = changes.paths.iter().filter_map(|path| self.shown(path)).collect();
        let added = changes.added.iter().filter_map(|path| self.shown(path)).collect();
        Ok(Reading { git, layout: Arc::clone(&self.layout), changed, added })
    }

    fn take_shape(&mut self, shape: Shape, place: Option<Place>) {
        self.base = match &shape {
            Shape::Native(native) => native.work.clone(),
            _ => self.path.clone(),
        };
        self.format = match &shape {
            Shape::Command(work) => {
                let mut files = ["index", "config"].map(|name| Watched::new(work.join(".git").join(name)));
                for file in &mut files {
                    file.moved();
                }
                files.into()
            }
            _ => Vec::new(),
        };
        let part = self.path.strip_prefix(&self.base).unwrap_or(Path::new(""));
        self.part = part.as_os_str().as_bytes().to_vec();
        self.tree = Tree::new(&self.part, Rules::default());
        self.layout_of = 0;
        self.shape = shape;
        self.place = place;
        self.opened = true;
    }

    fn scan(&mut self, stop: &AtomicBool) -> std::io::Result<Changes> {
        let before = match &mut self.shape {
            Shape::Native(native) => native.index_before.take(),
            _ => None,
        };
        let native = match &self.shape {
            Shape::Native(native) => Some(native),
            _ => None,
        };
        let settings = native.map(|native| native.settings).unwrap_or_default();
        let scan = Scan {
            base: Tree::open_base(&self.base)?,
            base_path: &self.base,
            root: &self.part,
            index: native.map(|native| &native.index),
            before: before.as_ref(),
            filters: native.is_some_and(|native| native.filters),
            file_mode: settings.file_mode,
            symlinks: settings.symlinks,
            sparse: settings.sparse,
            first: !self.tree.is_scanned(),
            now: now(),
            stop,
            files: AtomicUsize::new(self.tree.file_count()),
        };
        Ok(self.tree.scan(&scan))
    }

    fn git(&mut self, changes: &Changes) -> GitBlock {
        match &mut self.shape {
            Shape::None => GitBlock::NotARepository,
            Shape::Bare => GitBlock::Bare,
            Shape::Unavailable(why) => GitBlock::Unavailable(why.clone()),
            Shape::Command(work) => {
                let part = self.path.strip_prefix(&*work).map(|part| part.as_os_str().as_bytes().to_vec());
                command::read(work, &part.unwrap_or_default())
            }
            Shape::Native(native) => {
                let status =
                    native.settle(&mut self.tree).and_then(|()| status::read(native, &self.tree, &self.part, changes));
                match status {
                    Ok(status) => GitBlock::Status(status),
                    Err(error) => GitBlock::Unavailable(format!("the repository cannot be read: {}", error.message())),
                }
            }
        }
    }

    /// A path of the tree as a path of the project; none outside the root.
    fn shown(&self, path: &[u8]) -> Option<WorkspacePath> {
        let rest = if self.part.is_empty() { path } else { path.strip_prefix(&*self.part)?.strip_prefix(b"/")? };
        (!rest.is_empty()).then(|| WorkspacePath::new(self.number, escape(rest)))
    }
}
