//! The project's folders as values: files, repository, instructions, machine, and the revision.
//!
//! The only place with `git2`. Everything here looks and nothing writes. Called by `session::driver` (environment at a
//! turn's start, revision around commands) and by whoever opens projects. Rendering for the model is
//! [`plimsoll_core::context`].

pub mod edited;
pub mod git;
pub mod instructions;
pub mod layout;
pub mod refresh;
pub mod revision;
pub mod root;
pub mod rules;
pub mod tree;
pub mod user_info;

#[cfg(test)]
mod tests;

pub use revision::Observed;

use edited::Looks;
use plimsoll_core::id::Revision;
use plimsoll_core::path::WorkspacePath;
use plimsoll_core::tool::call::{Target, Zone};
use plimsoll_core::workspace::{
    EditorState, Environment, FileVersion, GitBlock, InstructionSource, LayoutDir, UserEdit,
};
use refresh::{Refresher, Ticket, lock};
use revision::Revisions;
use root::Root;
use rules::files::Files;
use rules::{Sources, Texts};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;

/// How long files that the model knows are read, at most, to see whether somebody changed them; what is left waits for the
/// next turn.
const EDITS_READ: Duration = Duration::from_millis(200);

/// How long a turn waits for that, should a file system hang.
const EDITS_WAIT: Duration = Duration::from_secs(1);

/// How long a turn waits for its surroundings.
#[derive(Debug, Clone, Copy)]
pub struct Waits {
    /// For the state of now; then it takes the last known one, with its age.
    pub state: Duration,
    /// For the first state of all.
    pub first: Duration,
    /// For instruction files, rules and skills: a file system that hangs must not hang the turn with it.
    pub instructions: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self { state: Duration::from_millis(50), first: Duration::from_secs(1), instructions: Duration::from_secs(1) }
    }
}

/// Why there is no environment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// The root is not there, or no folder.
    #[error("workspace missing: {} is not there or is no folder", path.display())]
    Missing {
        /// The root.
        path: PathBuf,
    },
}

/// What a client's turn brings along.
#[derive(Debug, Clone)]
pub struct ClientFacts {
    /// The client's environment: locale and time zone are taken from it.
    pub env: Arc<BTreeMap<String, String>>,
    /// The shell that commands run in, by name.
    pub shell: String,
    /// The user's configuration folder, for the user's instruction file, rules and skills.
    pub config_dir: PathBuf,
    /// Where more of them lie.
    pub sources: Sources,
    /// Whether the tree of the roots is wanted: an epoch begins, or its statement is to be compared.
    pub need_layout: bool,
}

/// The folders of one project. Cheap to clone.
#[derive(Clone)]
pub struct Workspace(Arc<Inner>);

struct Inner {
    roots: Vec<PathBuf>,
    refreshers: Vec<Refresher>,
    revisions: Arc<Mutex<Revisions>>,
    /// Held while they are read, which may take long where a file system hangs.
    files: Arc<Mutex<Files>>,
    /// What was read last.
    texts: Mutex<Texts>,
    looks: Mutex<Looks>,
    waits: Waits,
    tasks: TaskTracker,
}

/// The folder that a session begun in `dir` works in: the work tree that it lies in, else itself. `dir` is canonical.
pub fn root_of(dir: &Path) -> PathBuf {
    git::discover(dir).map_or_else(|| dir.to_owned(), |place| place.dir)
}

impl Workspace {
    /// Opens canonical roots and begins to read them in the background. `last` is the last revision that was stored; the
    /// one of now is a step later. Must be called inside the runtime. A missing root is no error here.
    pub fn open(roots: Vec<PathBuf>, last: Revision, waits: Waits) -> Self {
        let revisions = Arc::new(Mutex::new(Revisions::after(last)));
        let tasks = TaskTracker::new();
        let refreshers = (0_u16..)
            .zip(&roots)
            .map(|(number, path)| {
                Refresher::new(Root::new(number, path.clone()), Arc::clone(&revisions), tasks.clone())
            })
            .collect();
        let workspace = Self(Arc::new(Inner {
            roots,
            refreshers,
            revisions,
            files: Arc::default(),
            texts: Mutex::default(),
            looks: Mutex::default(),
            waits,
            tasks,
        }));
        workspace.refresh();
        workspace
    }

    /// Its roots.
    pub fn roots(&self) -> &[PathBuf] {
        &self.0.roots
    }

    /// Begins to read anew in the background, so that what comes soon finds it done. Cheap.
    pub fn refresh(&self) {
        self.request();
    }

    /// The revision as last observed, without looking.
    pub fn revision(&self) -> Revision {
        lock(&self.0.revisions).now()
    }

    /// Everything that a turn's first request says about its surroundings. Takes at most [`Waits::state`] for the files
    /// (the first time [`Waits::first`]); what is older then has its age.
    pub async fn collect(&self, facts: &ClientFacts, editor: EditorState) -> Result<Environment, WorkspaceError> {
        let tickets = self.request();
        let texts = self.read_texts(facts.config_dir.clone(), facts.sources.clone()).await?;
        self.wait(&tickets).await;
        let mut git = Vec::with_capacity(tickets.len());
        let mut layout = Vec::new();
        for ((refresher, ticket), path) in self.0.refreshers.iter().zip(&tickets).zip(&self.0.roots) {
            let (block, tree) = latest(refresher, *ticket, path)?;
            git.push(block);
            if facts.need_layout {
                layout.push(LayoutDir::clone(&tree));
            }
        }
        Ok(Environment {
            user_info: user_info::read(&facts.env, &facts.shell, &self.0.roots),
            layout,
            git,
            instructions: texts.instructions,
            rules: texts.rules,
            skills: texts.skills,
            trusted: facts.sources.trusted,
            editor,
            revision: self.revision(),
            ..Environment::default()
        })
    }

    /// The files of `known` that are not as the model knows them, see [`Looks::edited`]. `kept` gives old contents.
    pub async fn edited(
        &self,
        known: Vec<(String, FileVersion)>,
        kept: impl Fn(FileVersion) -> Option<Vec<u8>> + Send + 'static,
    ) -> Vec<UserEdit> {
        if known.is_empty() {
            return Vec::new();
        }
        let inner = Arc::clone(&self.0);
        let deadline = std::time::Instant::now() + EDITS_READ;
        let look = self.0.tasks.spawn_blocking(move || lock(&inner.looks).edited(&known, deadline, kept));
        if let Ok(Ok(edits)) = timeout(EDITS_WAIT, look).await {
            edits
        } else {
            tracing::warn!("files could not be looked at in time, changes of them are told later");
            Vec::new()
        }
    }

    /// Looks for changes of content, at most [`Waits::state`] long: at a turn's start and around each command.
    pub async fn observe(&self, since: Revision) -> Observed {
        let tickets = self.request();
        self.wait(&tickets).await;
        lock(&self.0.revisions).since(since)
    }

    /// The same for whoever must know what the files are like: waits until the look that was asked for is done, at most
    /// `wait`; none when it is not by then.
    pub async fn observe_within(&self, since: Revision, wait: Duration) -> Option<Observed> {
        let tickets = self.request();
        let deadline = Instant::now() + wait;
        for (refresher, ticket) in self.0.refreshers.iter().zip(tickets) {
            if !refresher.wait(ticket, deadline).await {
                return None;
            }
        }
        Some(lock(&self.0.revisions).since(since))
    }

    /// A call of a session wrote these files.
    pub fn wrote(&self, targets: &[Target]) {
        let inside = |target: &Target| match &target.zone {
            Zone::Root(path) => Some(path.clone()),
            Zone::Readable | Zone::Plan | Zone::Protected | Zone::Outside => None,
        };
        lock(&self.0.revisions).wrote(targets.iter().filter_map(inside));
    }

    /// How many paths calls of sessions wrote until now, and those after there were `since`.
    pub fn writes(&self, since: u64) -> (u64, Vec<WorkspacePath>) {
        let revisions = lock(&self.0.revisions);
        (revisions.writes(), revisions.written_since(since))
    }

    /// Ends what runs in the background and waits for it.
    pub async fn close(&self) {
        self.0.refreshers.iter().for_each(Refresher::stop);
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    fn request(&self) -> Vec<Ticket> {
        self.0.refreshers.iter().map(Refresher::request).collect()
    }

    async fn wait(&self, tickets: &[Ticket]) {
        let first = self.0.refreshers.iter().any(|refresher| !refresher.has_any());
        let Waits { state, first: first_state, .. } = self.0.waits;
        let deadline = Instant::now() + if first { first_state } else { state };
        for (refresher, ticket) in self.0.refreshers.iter().zip(tickets) {
            refresher.wait(*ticket, deadline).await;
        }
    }

    /// Instruction files, rules and skills as they are now.
    pub async fn texts(&self, config_dir: PathBuf, sources: Sources) -> Result<Texts, WorkspaceError> {
        self.read_texts(config_dir, sources).await
    }

    /// Reads instruction files, rules and skills; gives those of the turn before when that takes too long.
    async fn read_texts(&self, config_dir: PathBuf, sources: Sources) -> Result<Texts, WorkspaceError> {
        let (roots, files) = (self.0.roots.clone(), Arc::clone(&self.0.files));
        let read = self.0.tasks.spawn_blocking(move || {
            if let Some(path) = roots.iter().find(|root| !root.is_dir()) {
                return Err(WorkspaceError::Missing { path: path.clone() });
            }
            Ok(rules::read(&config_dir, &roots, &sources, &mut lock(&files)))
        });
        if let Ok(Ok(read)) = timeout(self.0.waits.instructions, read).await {
            let read = read?;
            lock(&self.0.texts).clone_from(&read);
            return Ok(read);
        }
        tracing::warn!("instruction files could not be read in time, the last known ones are used");
        Ok(lock(&self.0.texts).clone())
    }

    /// Instruction files between the roots and what a call touches; none when they cannot be read in time.
    pub async fn nested(&self, targets: &[Target]) -> Vec<InstructionSource> {
        let (roots, files) = (self.0.roots.clone(), Arc::clone(&self.0.files));
        let targets = targets.to_vec();
        let found = self.0.tasks.spawn_blocking(move || rules::nested::find(&roots, &targets, &mut lock(&files)));
        match timeout(self.0.waits.instructions, found).await {
            Ok(Ok(found)) => found,
            Ok(Err(_)) | Err(_) => Vec::new(),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.refreshers.iter().for_each(Refresher::stop);
    }
}

/// Block and tree of a root as the newest refresh has them.
fn latest(refresher: &Refresher, ticket: Ticket, path: &Path) -> Result<(GitBlock, Arc<LayoutDir>), WorkspaceError> {
    let Some((latest, fresh)) = refresher.latest(ticket) else {
        let block = GitBlock::Unavailable("the repository is still being read for the first time".to_owned());
        return Ok((block, Arc::new(layout::unread(path))));
    };
    let Ok(reading) = &latest.reading else {
        return Err(WorkspaceError::Missing { path: path.to_owned() });
    };
    let mut block = reading.git.clone();
    if let GitBlock::Status(status) = &mut block
        && !fresh
    {
        status.age_ms = Some(u64::try_from(latest.began.elapsed().as_millis()).unwrap_or(u64::MAX));
    }
    Ok((block, Arc::clone(&reading.layout)))
}
