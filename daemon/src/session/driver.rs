//! Performs the machine's effects, one after the other, and feeds back what came of them. It decides nothing about the
//! conversation.

use super::actor::Msg;
use super::api::{AcceptedTurn, Answer, ApiError, ApiErrorKind, Client, WhenBusy};
use super::hub::{Hub, Publication};
use super::load;
use super::setup::{Project, TurnSetup};
use super::tasks;
use crate::store::{ProjectStore, StoreError};
use plimsoll_core::event::{Delta, Event, EventBody};
use plimsoll_core::id::{AskId, CallId, RequestNo, SessionId, TurnNo};
use plimsoll_core::permission::policy::Mode;
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::batch::Batch;
use plimsoll_core::turn::effect::Effect;
use plimsoll_core::turn::input::{Input, InputBody, Prompt};
use plimsoll_core::turn::machine::{MAX_QUEUED, Machine, Settings};
use plimsoll_core::turn::recover::Cut;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

type PromptReply = oneshot::Sender<Result<AcceptedTurn, ApiError>>;

/// What works for one session. See the module's head.
pub(super) struct Driver {
    id: SessionId,
    project: Arc<Project>,
    store: ProjectStore,
    hub: Hub,
    mailbox: mpsc::WeakSender<Msg>,
    /// Loaded when it is first needed; dropped when the store could not follow it.
    machine: Option<Machine>,
    mode: Mode,
    model: String,
    tasks: JoinSet<()>,
    /// The surroundings of the running turn, and of those that wait, in order.
    turns: VecDeque<TurnSetup>,
    running: Option<TurnSetup>,
    request: Option<(RequestNo, CancellationToken)>,
    tools: BTreeMap<CallId, CancellationToken>,
    /// Who waits for the turn that begins: it is accepted once it is stored.
    beginning: Option<PromptReply>,
    /// Who waits for its place behind the running turn.
    queueing: Option<PromptReply>,
    answering: BTreeMap<AskId, VecDeque<oneshot::Sender<Result<bool, ApiError>>>>,
    /// Who waits for the end of which turn.
    end_waiters: Vec<(TurnNo, oneshot::Sender<()>)>,
    counted: Option<Counted>,
    /// A commit failed, and the turn that it cut has no stored end yet.
    behind: bool,
}

/// Counts a running turn for as long as it lives.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Driver {
    pub(super) fn new(
        id: SessionId,
        project: Arc<Project>,
        store: ProjectStore,
        hub: Hub,
        mailbox: mpsc::WeakSender<Msg>,
        mode: Mode,
        model: String,
    ) -> Self {
        Self {
            id,
            project,
            store,
            hub,
            mailbox,
            machine: None,
            mode,
            model,
            tasks: JoinSet::new(),
            turns: VecDeque::new(),
            running: None,
            request: None,
            tools: BTreeMap::new(),
            beginning: None,
            queueing: None,
            answering: BTreeMap::new(),
            end_waiters: Vec::new(),
            counted: None,
            behind: false,
        }
    }

    /// Waits until one of the session's tasks has ended; `None` when there is none.
    pub(super) async fn task_ended(&mut self) -> Option<()> {
        let ended = self.tasks.join_next().await?;
        if let Err(error) = ended
            && error.is_panic()
        {
            tracing::error!(session = %self.id, %error, "a task of the session panicked");
        }
        Some(())
    }

    pub(super) fn is_idle(&self) -> bool {
        self.machine.as_ref().is_none_or(Machine::is_idle) && self.tools.is_empty()
    }

    pub(super) async fn prompt(
        &mut self,
        client: &Client,
        text: String,
        key: Option<String>,
        busy: WhenBusy,
        reply: PromptReply,
    ) {
        match self.prepare_prompt(client, key.as_deref(), busy).await {
            Ok(Ready::Known(turn)) => {
                let _ = reply.send(Ok(turn));
            }
            Ok(Ready::New(turn)) => {
                self.turns.push_back(*turn);
                if self.machine.as_ref().is_some_and(Machine::is_idle) {
                    self.beginning = Some(reply);
                } else {
                    self.queueing = Some(reply);
                }
                self.input(InputBody::Prompt(Prompt { text, key })).await;
            }
            Err(error) => {
                let _ = reply.send(Err(error));
            }
        }
    }

    async fn prepare_prompt(&mut self, client: &Client, key: Option<&str>, busy: WhenBusy) -> Result<Ready, ApiError> {
        if let Some(key) = key
            && let Some(turn) = self.store.prompt_turn(&self.id, key).await.map_err(load::store_error)?
        {
            return Ok(Ready::Known(AcceptedTurn { turn, queued: false }));
        }
        let turn = self.project.turn(&self.id, client, &self.model).await?;
        let machine = self.machine(&turn).await?;
        if !machine.is_idle() {
            if busy == WhenBusy::Refuse {
                return Err(ApiError::new(ApiErrorKind::Busy, "a turn of this session is running")
                    .hint("wait for its end, steer it, or let the prompt wait behind it"));
            }
            if machine.queued() >= MAX_QUEUED {
                return Err(queue_full());
            }
        }
        Ok(Ready::New(Box::new(turn)))
    }

    pub(super) async fn steer(&mut self, client: &Client, text: String, reply: oneshot::Sender<Result<(), ApiError>>) {
        let ready = match self.project.turn(&self.id, client, &self.model).await {
            Ok(turn) => match self.machine(&turn).await {
                Ok(machine) if machine.takes_steering() => Ok(()),
                Ok(machine) if machine.queued() >= MAX_QUEUED => Err(queue_full()),
                // It is a prompt then, and needs its surroundings.
                Ok(_) => {
                    self.turns.push_back(turn);
                    Ok(())
                }
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        let taken = ready.is_ok();
        if taken {
            self.input(InputBody::Steer(text)).await;
        }
        let _ = reply.send(ready);
    }

    pub(super) async fn cancel(&mut self) {
        self.input(InputBody::Cancel).await;
    }

    /// Interrupts the running turn and answers once it is over; those that wait behind it go on.
    pub(super) async fn cancel_for(&mut self, reply: oneshot::Sender<()>) {
        match self.machine.as_ref().and_then(Machine::running_turn) {
            Some(turn) => self.end_waiters.push((turn, reply)),
            None => {
                let _ = reply.send(());
            }
        }
        self.cancel().await;
    }

    pub(super) async fn answer(&mut self, answer: Answer, reply: oneshot::Sender<Result<bool, ApiError>>) {
        if self.machine.is_none() {
            let _ = reply.send(Ok(false));
            return;
        }
        let Answer { ask, choice, advice } = answer;
        self.answering.entry(ask).or_default().push_back(reply);
        self.input(InputBody::Answer { ask, choice, advice }).await;
    }

    pub(super) async fn set_mode(&mut self, mode: Mode) -> Result<(), ApiError> {
        self.store.set_mode(&self.id, &mode.to_string(), now()).await.map_err(load::store_error)?;
        self.mode = mode;
        if let Some(machine) = &mut self.machine {
            machine.set_mode(mode);
        }
        self.changed().await
    }

    pub(super) async fn rename(&mut self, title: &str) -> Result<(), ApiError> {
        self.store.rename(&self.id, title, now()).await.map_err(load::store_error)?;
        self.changed().await
    }

    /// Has the clients told that the session's record has changed. The machine counts the events while there is one.
    async fn changed(&mut self) -> Result<(), ApiError> {
        if self.machine.is_some() {
            self.input(InputBody::SessionChanged).await;
            return Ok(());
        }
        let event = Event { seq: self.hub.head().next(), at: now(), body: EventBody::SessionChanged };
        let batch = Batch { events: vec![event], ..Batch::default() };
        self.commit(batch).await.map_err(load::store_error)
    }

    /// The machine, loaded when it is not there, or when it works with another model than this turn's.
    async fn machine(&mut self, turn: &TurnSetup) -> Result<&mut Machine, ApiError> {
        let other_model =
            self.machine.as_ref().is_some_and(|machine| machine.is_idle() && *machine.model() != turn.profile);
        if self.machine.is_none() || other_model {
            let settings = Settings {
                model: turn.profile.clone(),
                mode: self.mode,
                max_steps: turn.max_steps,
                session_dir: turn.session_dir.clone(),
            };
            let cut = if self.behind { Cut::NotStored } else { Cut::Died };
            self.machine = Some(load::machine(&self.store, &self.id, settings, cut, now(), &self.hub).await?);
            self.behind = false;
        }
        self.machine.as_mut().ok_or_else(|| ApiError::new(ApiErrorKind::Internal, "the session could not be loaded"))
    }

    /// Moves the machine and performs what it wants.
    pub(super) async fn input(&mut self, body: InputBody) {
        self.forget_ended(&body);
        let Some(machine) = &mut self.machine else { return };
        let effects = machine.step(Input { at: now(), body });
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            if let Effect::Commit(batch) = effect {
                if let Err(error) = self.commit(*batch).await {
                    let body = InputBody::CommitFailed(error.to_string());
                    let Some(machine) = &mut self.machine else { return };
                    effects = VecDeque::from(machine.step(Input { at: now(), body }));
                    self.store_failed(&error);
                }
            } else {
                self.perform(effect);
            }
        }
    }

    fn forget_ended(&mut self, body: &InputBody) {
        match body {
            InputBody::ToolFinished { call, .. } => {
                self.tools.remove(call);
            }
            InputBody::ModelFailed { request, .. } => {
                self.request.take_if(|(running, _)| running == request);
            }
            _ => {}
        }
    }

    async fn commit(&mut self, batch: Batch) -> Result<(), StoreError> {
        let publication = Publication::of(&batch);
        self.store.commit(&self.id, batch).await?;
        self.hub.publish(publication);
        Ok(())
    }

    /// The store could not follow: everybody who waits is told, and the session is loaded anew when it is next needed.
    fn store_failed(&mut self, error: &StoreError) {
        tracing::error!(session = %self.id, %error, "a commit failed; the turn was ended");
        for reply in self.beginning.take().into_iter().chain(self.queueing.take()) {
            let _ = reply.send(Err(load::store_error_ref(error)));
        }
        for reply in std::mem::take(&mut self.answering).into_values().flatten() {
            let _ = reply.send(Err(load::store_error_ref(error)));
        }
        self.turns.clear();
        self.behind = true;
        self.hub.close(&format!("the session could not be stored, so its turn was ended: {error}"));
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Commit(_) => {}
            Effect::Collect => self.collect(),
            Effect::Emit(delta) => self.emit(&delta),
            Effect::CallModel(call) => {
                self.hub.forget_blocks();
                let cancel = CancellationToken::new();
                self.request = Some((call.no, cancel.clone()));
                if let (Some(turn), Some(mailbox)) = (&self.running, self.mailbox.upgrade()) {
                    let http = Arc::clone(&self.project.shared.http);
                    self.tasks.spawn(tasks::call_model(http, turn.clone(), *call, cancel, mailbox));
                }
            }
            Effect::StopModel(no) => {
                if let Some((_, cancel)) = self.request.take_if(|(running, _)| *running == no) {
                    cancel.cancel();
                }
            }
            Effect::Prepare(call) => {
                if let (Some(turn), Some(mailbox)) = (&self.running, self.mailbox.upgrade()) {
                    let tool = self.project.shared.registry.get(&call.tool).cloned();
                    self.tasks.spawn(tasks::prepare(tool, call, Arc::clone(&turn.tool_env), mailbox));
                }
            }
            Effect::Run { call, prepared } => {
                let cancel = CancellationToken::new();
                self.tools.insert(call.id, cancel.clone());
                if let (Some(turn), Some(mailbox)) = (&self.running, self.mailbox.upgrade()) {
                    let run = tasks::Run {
                        tool: self.project.shared.registry.get(&call.tool).cloned(),
                        call,
                        prepared,
                        env: Arc::clone(&turn.tool_env),
                        workspace: turn.workspace.clone(),
                        hub: self.hub.clone(),
                        cancel,
                    };
                    self.tasks.spawn(tasks::run_tool(run, mailbox));
                }
            }
            Effect::StopTool(call) => {
                if let Some(cancel) = self.tools.get(&call) {
                    cancel.cancel();
                }
            }
            Effect::LoadResult { call, of } => {
                if let Some(mailbox) = self.mailbox.upgrade() {
                    self.tasks.spawn(tasks::load_result(self.store.clone(), self.id.clone(), call, of, mailbox));
                }
            }
            Effect::StartTimer { id, delay_ms } => {
                if let Some(mailbox) = self.mailbox.upgrade() {
                    self.tasks.spawn(tasks::timer(id, delay_ms, mailbox));
                }
            }
            Effect::Accepted { turn, queued, .. } => {
                let waiting = if queued { &mut self.queueing } else { &mut self.beginning };
                if let Some(reply) = waiting.take() {
                    let _ = reply.send(Ok(AcceptedTurn { turn, queued }));
                }
            }
            Effect::AnswerTaken { ask, taken } => {
                if let Some(reply) = self.answering.get_mut(&ask).and_then(VecDeque::pop_front) {
                    let _ = reply.send(Ok(taken));
                }
                self.answering.retain(|_, waiting| !waiting.is_empty());
            }
        }
    }

    fn collect(&mut self) {
        self.running = self.turns.pop_front();
        if self.counted.is_none() {
            self.project.shared.running_turns.fetch_add(1, Ordering::Relaxed);
            self.counted = Some(Counted(Arc::clone(&self.project.shared.running_turns)));
        }
        if let (Some(turn), Some(mailbox)) = (&self.running, self.mailbox.upgrade()) {
            let editor = self.project.shared.editors.of(&self.project.key);
            self.tasks.spawn(tasks::collect(turn.clone(), editor, mailbox));
        }
    }

    fn emit(&mut self, delta: &Delta) {
        self.hub.append(delta);
    }

    /// A burst of inputs was taken: clients are told once.
    pub(super) fn burst_over(&mut self) {
        self.hub.wake();
    }

    /// Tells those who wait that no turn runs, and forgets what only a turn needs.
    pub(super) fn settle_idle(&mut self) {
        let running = self.machine.as_ref().and_then(Machine::running_turn);
        for (_, waiter) in self.end_waiters.extract_if(.., |(turn, _)| Some(*turn) != running) {
            let _ = waiter.send(());
        }
        if !self.is_idle() {
            return;
        }
        if self.machine.as_ref().is_some_and(Machine::is_broken) {
            self.machine = None;
        }
        self.running = None;
        self.counted = None;
    }

    /// Whether a turn that could not be stored waits for its end, and nothing of it runs any more.
    pub(super) fn is_behind(&self) -> bool {
        self.behind && self.machine.is_none() && self.tools.is_empty()
    }

    /// Gives a turn that could not be stored its end, once the store works again.
    pub(super) async fn catch_up(&mut self) {
        match load::recover_session(&self.store, &self.id, Cut::NotStored, now(), &self.hub).await {
            Ok(()) => self.behind = false,
            Err(error) => tracing::debug!(session = %self.id, %error, "the store cannot be written yet"),
        }
    }

    /// Ends what still works for the session.
    pub(super) async fn end(&mut self) {
        self.tasks.shutdown().await;
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Also after a panic: whoever follows the session must not wait for ever.
        self.hub.close("the session ended; attach again");
    }
}

/// What a prompt turned out to be.
enum Ready {
    /// It was accepted before.
    Known(AcceptedTurn),
    /// It is new, with the surroundings of its turn.
    New(Box<TurnSetup>),
}

fn queue_full() -> ApiError {
    ApiError::new(ApiErrorKind::Busy, format!("{MAX_QUEUED} prompts are waiting already"))
        .hint("wait until one of them has ended")
}

/// The wall clock.
pub(super) fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
