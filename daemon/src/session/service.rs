//! The one object through which facades reach projects and sessions. Cheap to clone.

use super::actor::{self, MAILBOX, Msg};
use super::api::{
    AcceptedTurn, ApiError, ApiErrorKind, Beside, Client, CloseReason, ProjectInfo, SessionInfo, TranscriptPage,
    TranscriptRange, WhenBusy,
};
use super::driver::{self, Driver, now};
use super::editors::Editors;
use super::given::{clean_prompt, clean_prompt_with, clean_title, existing_folder, shown_state};
use super::ground::Ground;
use super::hub::Hub;
use super::lasting::Lasting;
use super::live::{self, Handle, Live, Sessions};
use super::load::{self, store_error};
use super::memories::Memories;
use super::setup::{Chosen, Project, Sandboxes, Shared, canonical};
use super::subscription::Subscription;
use super::transfer::Exports;
use crate::config::{Folders, TextFiles};
use crate::process::Helper;
use crate::process::background::Background;
use crate::provider::Http;
use crate::store::{ProjectStore, Stores};
use crate::tool::Tool;
use crate::tool::registry::Registry;
use crate::tool::run_terminal_cmd::RunTerminalCmd;
use plimsoll_core::id::{ProjectKey, Seq, SessionId};
use plimsoll_core::permission::policy::Mode;
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_core::turn::recover::Cut;
use plimsoll_core::workspace::EditorState;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OnceCell, mpsc};

mod compact;
mod configuration;
mod create;
mod find;
mod fork;
mod go_on;
mod knowledge;
mod list;
mod memories;
mod missing;
mod models;
mod permissions;
mod relocate;
mod search;
mod task;
mod work;

pub(super) use create::{base_prompt_flaw, new_session_id};
pub use fork::NewFork;
pub use knowledge::TextInForce;
pub use task::{EvidenceInfo, FileNow, Standing};

/// See the module's head.
#[derive(Clone)]
pub struct Service {
    inner: Arc<Inner>,
}

struct Inner {
    stores: Stores,
    shared: Arc<Shared>,
    /// Each is opened once, by the first who needs it; the others wait for that.
    projects: Mutex<HashMap<ProjectKey, Arc<OnceCell<Arc<Project>>>>>,
    sessions: Arc<Sessions>,
    exports: Exports,
    /// Set once what a dead daemon left is settled.
    recovered: OnceCell<()>,
}

impl Service {
    /// A service over the stores of a data folder. Commands are started through `helper`.
    pub fn new(folders: Folders, daemon_env: BTreeMap<String, String>, stores: Stores, helper: Helper) -> Self {
        let background = Arc::new(Background::default());
        let commands: Arc<dyn Tool> = Arc::new(RunTerminalCmd::new(helper.clone(), Arc::clone(&background)));
        let sandbox = Sandboxes { helper: Some(helper), ..Sandboxes::default() };
        Self::with_commands(folders, daemon_env, stores, background, sandbox, commands)
    }

    fn with_commands(
        folders: Folders,
        daemon_env: BTreeMap<String, String>,
        stores: Stores,
        background: Arc<Background>,
        sandbox: Sandboxes,
        commands: Arc<dyn Tool>,
    ) -> Self {
        let shared = Shared {
            folders,
            daemon_env,
            registry: Registry::with_commands(commands, sandbox.helper.clone(), &background),
            background,
            http: Arc::new(Http::new()),
            editors: Editors::default(),
            running_turns: Arc::new(AtomicUsize::new(0)),
            sandbox,
        };
        let inner = Inner {
            stores,
            shared: Arc::new(shared),
            projects: Mutex::new(HashMap::new()),
            sessions: Sessions::new(),
            exports: Exports::default(),
            recovered: OnceCell::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Settles what a dead daemon left running, in all projects. Its processes are ended and the sessions' lists tell the
    /// truth, also when nobody opens them. Done once; whoever asks for a session before that waits for it, as its row may
    /// stand in its project's store only.
    pub async fn recover(&self) {
        self.inner.recovered.get_or_init(|| Box::pin(self.recover_projects())).await;
    }

    async fn recover_projects(&self) {
        let projects = match self.inner.stores.unsettled_projects().await {
            Ok(projects) => projects,
            Err(error) => {
                tracing::error!(%error, "the projects of the daemon before could not be listed");
                return;
            }
        };
        for project in projects {
            if let Err(error) = self.recover_project(&project).await {
                tracing::error!(%project, %error, "the sessions of a project could not be settled");
            }
        }
    }

    async fn recover_project(&self, key: &ProjectKey) -> Result<(), ApiError> {
        let store = self.store(key).await?;
        for session in store.running_turns().await.map_err(|error| store_error(&error))? {
            // The lock keeps others from taking it up in the middle of this.
            let place = self.inner.sessions.place(&session.id);
            let live = place.live.lock().await;
            if live.is_some() {
                // One that a client has taken up meanwhile was settled by that.
                continue;
            }
            let settled = load::recover_session(&store, &session.id, now(), &Hub::new(Seq(0)), &Cut::Crash).await;
            if let Err(error) = settled {
                tracing::error!(session = %session.id, %error, "a session that was cut could not be settled");
            }
        }
        Ok(())
    }

    fn check_open(&self) -> Result<(), ApiError> {
        if self.inner.sessions.is_closing() {
            return Err(ApiError::new(ApiErrorKind::ShuttingDown, "the daemon is about to end").hint("connect again"));
        }
        Ok(())
    }

    /// Opens the project of these roots, the first of which names it; made when it is new. Roots are absolute.
    pub async fn open_project(&self, roots: Vec<PathBuf>) -> Result<ProjectInfo, ApiError> {
        self.check_open()?;
        if roots.is_empty() {
            return Err(ApiError::new(ApiErrorKind::InvalidParams, "a project has at least one root"));
        }
        let mut folders = Vec::new();
        for root in roots {
            folders.push(existing_folder(root).await?);
        }
        let record = self.inner.stores.project_for(&folders, now()).await.map_err(|error| store_error(&error))?;
        // What a first prompt will want to know is collected from now on.
        let project = self.project(&record.key).await?;
        project.stand_on(&record.roots).await.map_err(|error| store_error(&error))?;
        Ok(project.info(record))
    }

    async fn project(&self, key: &ProjectKey) -> Result<Arc<Project>, ApiError> {
        let cell = {
            let mut projects = self.inner.projects.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(projects.entry(key.clone()).or_default())
        };
        cell.get_or_try_init(|| Box::pin(self.load_project(key))).await.cloned()
    }

    async fn load_project(&self, key: &ProjectKey) -> Result<Arc<Project>, ApiError> {
        let record = self.inner.stores.project(key).await.map_err(|error| store_error(&error))?;
        let store = self.inner.stores.open_project(key).await.map_err(|error| store_error(&error))?;
        let revision = store.revision().await.map_err(|error| store_error(&error))?;
        let lasting = Lasting::load(key.clone(), self.inner.stores.clone()).await;
        let (folder, data) = (canonical(store.folder()), canonical(&self.inner.shared.folders.data));
        Ok(Arc::new(Project {
            key: key.clone(),
            stores: self.inner.stores.clone(),
            memories: Arc::new(Memories::new(key.clone(), self.inner.stores.clone(), &folder, &data)),
            lasting: lasting.map_err(|error| store_error(&error))?,
            ground: Ground::open(record.roots, revision),
            folder,
            texts: TextFiles::default(),
            shared: Arc::clone(&self.inner.shared),
        }))
    }

    async fn store(&self, key: &ProjectKey) -> Result<ProjectStore, ApiError> {
        self.inner.stores.open_project(key).await.map_err(|error| store_error(&error))
    }

    /// A project with its store.
    pub(super) async fn opened(&self, key: &ProjectKey) -> Result<(Arc<Project>, ProjectStore), ApiError> {
        self.check_open()?;
        Ok((self.project(key).await?, self.store(key).await?))
    }

    pub(super) fn exports(&self) -> &Exports {
        &self.inner.exports
    }

    pub(super) fn folders(&self) -> &Folders {
        &self.inner.shared.folders
    }

    pub(super) async fn store_of(&self, id: &SessionId) -> Result<(ProjectKey, ProjectStore), ApiError> {
        self.recover().await;
        let key = self
            .inner
            .stores
            .session_project(id)
            .await
            .map_err(|error| store_error(&error))?
            .ok_or_else(|| not_found(id))?;
        let store = self.store(&key).await?;
        Ok((key, store))
    }

    async fn info(&self, store: &ProjectStore, id: &SessionId) -> Result<SessionInfo, ApiError> {
        let mut info = self.as_it_is(load::info(store, id).await?);
        missing::note(std::slice::from_mut(&mut info)).await;
        Ok(info)
    }

    /// What the store says of a turn that runs is true only while this daemon runs it. What was cut, and is not settled
    /// yet, is shown as what it will be.
    fn as_it_is(&self, mut info: SessionInfo) -> SessionInfo {
        let sessions = &self.inner.sessions;
        let cut = match info.state {
            SessionState::Running => true,
            // A turn that waits for answers only waits also where nothing runs.
            SessionState::Waiting => sessions.is_cut(&info.id),
            SessionState::Idle | SessionState::Interrupted => false,
        };
        if cut && !sessions.is_busy(&info.id) {
            info.state = SessionState::Interrupted;
            info.open_asks.clear();
        }
        info
    }

    /// One session.
    pub async fn get_session(&self, id: &SessionId) -> Result<SessionInfo, ApiError> {
        let (_, store) = self.store_of(id).await?;
        self.info(&store, id).await
    }

    /// Gives a session another title.
    pub async fn rename_session(&self, id: &SessionId, title: &str) -> Result<SessionInfo, ApiError> {
        let title = clean_title(title)?;
        let handle = self.live(id).await?;
        handle.ask(|reply| Msg::Rename { title, reply }).await??;
        self.get_session(id).await
    }

    /// Deletes a session with everything it stored; a running turn is interrupted first. Unknown ids are no error.
    pub async fn delete_session(&self, id: &SessionId) -> Result<(), ApiError> {
        self.recover().await;
        let Some(key) = self.inner.stores.session_project(id).await.map_err(|error| store_error(&error))? else {
            return Ok(());
        };
        // The lock is held until the session is gone, so that nobody takes it up meanwhile.
        let place = self.inner.sessions.place(id);
        let mut running = place.live.lock().await;
        if let Some(live) = running.take() {
            live::close(live, CloseReason::SessionDeleted).await;
            self.inner.sessions.ended();
        }
        let store = self.store(&key).await?;
        self.inner.shared.background.end_session(&canonical(&store.session_folder(id))).await;
        self.inner.stores.delete_session(&key, id).await.map_err(|error| store_error(&error))
    }

    /// Reads items.
    pub async fn read_transcript(&self, id: &SessionId, range: TranscriptRange) -> Result<TranscriptPage, ApiError> {
        let (_, store) = self.store_of(id).await?;
        let page = match range {
            TranscriptRange::After { after, limit } => store.items_after(id, after, limit.clamp(1, 1_000)).await,
            TranscriptRange::Before { before, limit } => store.items_before(id, before, limit.clamp(1, 1_000)).await,
        };
        let page = page.map_err(|error| store_error(&error))?;
        let out = store.out_of_view(id).await.map_err(|error| store_error(&error))?;
        Ok(TranscriptPage { items: page.items, projections: page.projections, last: page.last, out })
    }

    /// Begins to follow a session after `after`.
    pub async fn attach(&self, _client: &Client, id: &SessionId, after: Seq) -> Result<Subscription, ApiError> {
        self.check_open()?;
        let (_, store) = self.store_of(id).await?;
        let handle = self.live(id).await?;
        let mut head = handle.hub.head();
        if after > head {
            // What was stored a moment ago may not be told yet, and can have been read.
            head = head.max(store.session(id).await.map_err(|error| store_error(&error))?.counters.seq);
        }
        let subscription = Subscription::new(id.clone(), handle.hub.clone(), store, after);
        if after > head {
            return Err(ApiError::new(
                ApiErrorKind::InvalidParams,
                format!("the session has no event {after}; its last is {head}"),
            )
            .hint("attach from 0 to get everything"));
        }
        // A full mailbox has turns to see to, and none of them is cut.
        let _ = handle.mailbox.try_send(Msg::Followed);
        Ok(subscription)
    }

    /// The running actor of a session, started when there is none.
    pub(super) async fn live(&self, id: &SessionId) -> Result<Handle, ApiError> {
        // On the heap, or whoever waits for it would be as large as all that it does.
        Box::pin(self.found_or_started(id)).await
    }

    async fn found_or_started(&self, id: &SessionId) -> Result<Handle, ApiError> {
        // Before the lock, which the settling of what a dead daemon left takes too.
        let (key, store) = self.store_of(id).await?;
        let sessions = &self.inner.sessions;
        // Before the lock, which is held while a session closes, and again behind it.
        self.check_open()?;
        let place = sessions.place(id);
        let mut running = place.live.lock().await;
        self.check_open()?;
        if let Some(live) = running.as_ref()
            && !live.task.is_finished()
        {
            return Ok(live.handle.clone());
        }
        let mut cut = Cut::Crash;
        if let Some(ended) = running.take() {
            sessions.ended();
            if let Err(error) = ended.task.await {
                tracing::error!(session = %id, %error, "a session ended with a panic; it is taken up again");
                // Who would have told their end is gone.
                self.inner.shared.background.end_session(&canonical(&store.session_folder(id))).await;
                cut = Cut::Fault;
            }
        }
        let project = self.project(&key).await?;
        let settled = load::recover_session(&store, id, now(), &Hub::new(Seq(0)), &cut).await;
        let row = store.session(id).await.map_err(|error| store_error(&error))?;
        let hub = Hub::new(row.counters.seq);
        let mode: Mode = row.mode.parse().unwrap_or_default();
        let texts = store.made_with(id).await.map_err(|error| store_error(&error))?;
        let chosen = Arc::new(Chosen::new(row.model, texts));
        let (mailbox, incoming) = mpsc::channel(MAILBOX);
        let driver = Driver::new(driver::Parts {
            chosen: Arc::clone(&chosen),
            id: id.clone(),
            project: Arc::clone(&project),
            store,
            hub: hub.clone(),
            mailbox: mailbox.downgrade(),
            activity: Arc::clone(&place.activity),
            mode,
            // What is stored can be read all the same.
            cut: settled.is_err().then_some(cut),
        });
        let task = tokio::spawn(actor::run(driver, incoming));
        let handle = Handle { mailbox, hub, project, chosen, order: Arc::default() };
        *running = Some(Live { handle: handle.clone(), task });
        sessions.began(&place);
        Ok(handle)
    }

    /// Asks for a turn. Accepted when this returns; its end is an event.
    pub async fn start_turn(
        &self,
        client: &Client,
        id: &SessionId,
        text: String,
        key: Option<String>,
        busy: WhenBusy,
    ) -> Result<AcceptedTurn, ApiError> {
        self.start_turn_with(client, id, text, key, busy, Beside::default()).await
    }

    /// The same with what the client put beside the text.
    pub async fn start_turn_with(
        &self,
        client: &Client,
        id: &SessionId,
        text: String,
        key: Option<String>,
        busy: WhenBusy,
        beside: Beside,
    ) -> Result<AcceptedTurn, ApiError> {
        let _beginning = self.beginning();
        let text = clean_prompt_with(text, &beside.attachments)?;
        let allow = permissions::turn_rules(&beside.allow)?;
        let handle = self.live(id).await?;
        // What a turn works with may take its time to find out; the session goes on meanwhile.
        let order = handle.order.lock().await;
        let setup = match &beside.model {
            Some(model) => handle.project.turn(id, client, &handle.chosen.with_model(model.clone())).await,
            None => handle.project.turn(id, client, &handle.chosen).await,
        };
        let setup = Box::new(setup.and_then(|setup| permissions::beside(setup, allow, beside)));
        let answer = handle.send(|reply| Msg::Prompt { setup, text, key, busy, reply }).await?;
        drop(order);
        answer.await.map_err(|_| live::gone())?
    }

    /// Adds to the running turn; without one it is a prompt.
    pub async fn steer(&self, client: &Client, id: &SessionId, text: String) -> Result<(), ApiError> {
        let _beginning = self.beginning();
        let text = clean_prompt(text)?;
        let handle = self.live(id).await?;
        let order = handle.order.lock().await;
        let setup = Box::new(handle.project.turn(id, client, &handle.chosen).await);
        let answer = handle.send(|reply| Msg::Steer { setup, text, reply }).await?;
        drop(order);
        answer.await.map_err(|_| live::gone())?
    }

    /// Interrupts the running turn; returns when it is over (at once when none runs). Prompts that wait go on waiting for
    /// their turn.
    pub async fn cancel(&self, id: &SessionId) -> Result<(), ApiError> {
        let handle = self.live(id).await?;
        handle.ask(|reply| Msg::Cancel { reply }).await
    }

    /// What this client's editor shows in this project; replaces what it said before.
    pub async fn set_editor_state(
        &self,
        client: &Client,
        project: &ProjectKey,
        state: EditorState,
    ) -> Result<(), ApiError> {
        let roots = self.project(project).await?.roots();
        self.inner.shared.editors.set(client, project, shown_state(&roots, state));
        Ok(())
    }

    /// A connection has ended: what its editor showed is forgotten.
    #[expect(clippy::unused_async, reason = "what is forgotten may one day lie in a store")]
    pub async fn disconnected(&self, client: &Client) {
        self.inner.shared.editors.forget(client);
    }

    /// How many sessions are live, and how many turns run.
    pub fn counts(&self) -> (usize, usize) {
        (self.inner.sessions.count(), self.running_turns())
    }

    /// How many turns run.
    pub fn running_turns(&self) -> usize {
        self.inner.shared.running_turns.load(Ordering::Relaxed)
    }

    /// Interrupts running turns, waits until all is stored, closes the stores. Who follows a session is told the reason.
    pub async fn shutdown(&self, reason: CloseReason) {
        self.inner.sessions.close(reason).await;
        self.inner.shared.background.end_all().await;
        let projects: Vec<_> = {
            let mut projects = self.inner.projects.lock().unwrap_or_else(PoisonError::into_inner);
            projects.drain().filter_map(|(_, project)| project.get().cloned()).collect()
        };
        for project in projects {
            project.workspace().close().await;
        }
        self.inner.stores.close().await;
    }
}

fn not_found(id: &SessionId) -> ApiError {
    ApiError::new(ApiErrorKind::NotFound, format!("there is no session {id}")).hint("session/list shows the sessions")
}

#[cfg(test)]
mod tests;
