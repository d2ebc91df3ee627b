//! Performs the machine's effects, one after the other, and feeds back what came of them. It decides nothing about the
//! conversation. What clients ask of it stands in [`calls`](super::calls).

use super::actor::Msg;
use super::api::{AcceptedTurn, ApiError, ApiErrorKind, CloseReason};
use super::beside::Beside;
use super::hub::{Hub, Publication};
use super::lasting::Known;
use super::live::{Activity, Counted};
use super::load;
use super::settling::SETTLE_AGAIN;
use super::setup::{Chosen, Project, TurnSetup};
use super::tasks::{self, Mailbox};
use crate::store::{ProjectStore, StoreError};
use plimsoll_core::event::Delta;
use plimsoll_core::id::{CallId, RequestNo, Revision, SessionId, TurnNo};
use plimsoll_core::model::error::{ErrorClass, ModelError};
use plimsoll_core::permission::policy::Mode;
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::outcome::Outcome;
use plimsoll_core::transcript::batch::Batch;
use plimsoll_core::turn::effect::Effect;
use plimsoll_core::turn::input::{Input, InputBody};
use plimsoll_core::turn::machine::Machine;
use plimsoll_core::turn::recover::Cut;
use plimsoll_core::workspace::{Environment, GitBlock, Wanted};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Why a task that a machine waits for gave nothing.
pub(super) const FAULT: &str = "an internal fault; the daemon's log has more";

/// Answered once a prompt is stored or queued.
pub(super) enum Accepting {
    Prompt(oneshot::Sender<Result<AcceptedTurn, ApiError>>),
    Steer(oneshot::Sender<Result<(), ApiError>>),
}

impl Accepting {
    pub(super) fn send(self, result: Result<AcceptedTurn, ApiError>) {
        // Who asked may have gone meanwhile.
        match self {
            Self::Prompt(reply) => drop(reply.send(result)),
            Self::Steer(reply) => drop(reply.send(result.map(|_| ()))),
        }
    }
}

/// What works for one session. See the module's head.
pub(super) struct Driver {
    pub(super) id: SessionId,
    pub(super) project: Arc<Project>,
    pub(super) store: ProjectStore,
    pub(super) hub: Hub,
    mailbox: mpsc::WeakSender<Msg>,
    pub(super) activity: Arc<Activity>,
    /// Loaded when it is first needed; dropped when the store could not follow it.
    pub(super) machine: Option<Machine>,
    /// Counts the machines: what was found for an earlier one is not for this one.
    pub(super) generation: u64,
    /// What cut the session's turns and is not written down yet. Until it is, no machine is loaded.
    pub(super) cut: Option<Cut>,
    pub(super) settle_at: Option<Instant>,
    pub(super) mode: Mode,
    pub(super) chosen: Arc<Chosen>,
    /// What is odd in the configuration, as clients were told.
    pub(super) told_odd: Vec<String>,
    /// Tells when the user has decided something for the project.
    pub(super) decided: watch::Receiver<Known>,
    pub(super) tasks: JoinSet<()>,
    /// What the machine is told when a task panics, by the task.
    owed: HashMap<tokio::task::Id, InputBody>,
    /// What turns work with that have not begun.
    pub(super) turns: BTreeMap<TurnNo, TurnSetup>,
    pub(super) running: Option<TurnSetup>,
    request: Option<(RequestNo, CancellationToken)>,
    tools: BTreeMap<CallId, CancellationToken>,
    /// What goes on beside the turns.
    pub(super) beside: Beside,
    pub(super) accepting: BTreeMap<TurnNo, Vec<Accepting>>,
    /// Whether the answer that is being given counted.
    pub(super) taken: Option<bool>,
    /// Who waits for the end of a turn.
    pub(super) waiting: Vec<(TurnNo, oneshot::Sender<()>)>,
    pub(super) counted: Option<Counted>,
    /// What its subscriptions are told when it ends.
    pub(super) ends: CloseReason,
}

/// What a driver is made of.
pub(super) struct Parts {
    pub(super) id: SessionId,
    pub(super) project: Arc<Project>,
    pub(super) store: ProjectStore,
    pub(super) hub: Hub,
    pub(super) mailbox: mpsc::WeakSender<Msg>,
    pub(super) activity: Arc<Activity>,
    pub(super) mode: Mode,
    pub(super) chosen: Arc<Chosen>,
    /// What cut the session before and could not be settled.
    pub(super) cut: Option<Cut>,
}

/// What a driver waits for besides its mailbox.
pub(super) enum Happened {
    Ended(Result<(tokio::task::Id, ()), JoinError>),
    SettleAgain,
}

impl Driver {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { id, project, store, hub, mailbox, activity, mode, chosen, cut } = parts;
        let decided = project.lasting.follow();
        activity.set_cut(cut.is_some());
        Self {
            id,
            project,
            store,
            hub,
            mailbox,
            activity,
            machine: None,
            generation: 0,
            settle_at: cut.is_some().then(|| Instant::now() + SETTLE_AGAIN),
            cut,
            mode,
            chosen,
            told_odd: Vec::new(),
            decided,
            tasks: JoinSet::new(),
            owed: HashMap::new(),
            turns: BTreeMap::new(),
            running: None,
            request: None,
            tools: BTreeMap::new(),
            beside: Beside::default(),
            accepting: BTreeMap::new(),
            taken: None,
            waiting: Vec::new(),
            counted: None,
            ends: CloseReason::SessionEnded,
        }
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Waits until one of the session's tasks has ended or something is due. Cancel safe.
    pub(super) async fn awaited(&mut self) -> Happened {
        let settle = self.settle_at;
        tokio::select! {
            Some(ended) = self.tasks.join_next_with_id() => Happened::Ended(ended),
            () = tokio::time::sleep_until(settle.unwrap_or_else(Instant::now)), if settle.is_some() => Happened::SettleAgain,
            else => std::future::pending().await,
        }
    }

    pub(super) async fn happened(&mut self, happened: Happened) {
        match happened {
            Happened::Ended(Ok((id, ()))) => drop(self.owed.remove(&id)),
            Happened::Ended(Err(error)) => {
                let owed = self.owed.remove(&error.id());
                if error.is_panic() {
                    tracing::error!(session = %self.id, %error, "a task of the session panicked");
                    if let Some(owed) = owed {
                        self.input(owed).await;
                    }
                }
            }
            Happened::SettleAgain => self.settle_again().await,
        }
    }

    /// No turn runs, and no tool.
    pub(super) fn is_idle(&self) -> bool {
        self.machine.as_ref().is_none_or(Machine::is_idle) && self.tools.is_empty()
    }

    /// No tool of the session runs.
    pub(super) fn no_tool_runs(&self) -> bool {
        self.tools.is_empty()
    }

    /// The machine, loaded when it is not there, or when it works with another model than this turn's.
    pub(super) async fn machine(&mut self, turn: &TurnSetup) -> Result<&mut Machine, ApiError> {
        if self.machine.as_ref().is_some_and(Machine::is_broken) {
            return Err(ApiError::new(
                ApiErrorKind::Store,
                "what ran when the session could not be stored is still ending",
            )
            .hint("try again in a moment"));
        }
        self.settle().await.map_err(|error| load::store_error(&error))?;
        let settings = turn.settings(self.mode, self.project.policy(turn));
        let other = self.machine.as_ref().is_some_and(|machine| machine.is_idle() && !machine.works_with(&settings));
        if self.machine.is_none() || other {
            self.drop_beside();
            self.generation += 1;
            self.machine = Some(load::machine(&self.store, &self.id, settings, &self.hub).await?);
            self.calibrate(turn.calibration);
            if !self.is_idle() {
                // In the middle of a turn that was suspended.
                self.running = Some(turn.clone());
                self.count();
            }
            self.tell_ended().await;
        }
        self.machine.as_mut().ok_or_else(|| ApiError::new(ApiErrorKind::Internal, "the session could not be loaded"))
    }

    /// Moves the machine and performs what it wants.
    pub(super) async fn input(&mut self, body: InputBody) {
        self.forget_ended(&body);
        if self.decided.has_changed().unwrap_or_default() {
            self.set_policy();
        }
        let Some(machine) = &mut self.machine else { return };
        machine.set_attended(self.hub.followers() > 0);
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
            } else if let Effect::Grant { call, rules } = effect {
                self.grant(call, &rules).await;
            } else if matches!(effect, Effect::Suspend) {
                // What it waits for is in the store, and whoever answers brings what it works with.
                self.forget_machine();
                return;
            } else {
                self.perform(effect);
            }
        }
        self.keep_learned();
    }

    /// The next turn loads the session anew.
    pub(super) fn forget_machine(&mut self) {
        self.drop_beside();
        self.machine = None;
        self.running = None;
        self.generation += 1;
    }

    /// The next epoch has the texts of now.
    fn set_texts(&mut self) {
        let (Some(machine), Some(turn)) = (&mut self.machine, &self.running) else { return };
        machine.set_texts(turn.prompts.clone(), turn.language.clone(), turn.text_warnings.clone());
    }

    fn forget_ended(&mut self, body: &InputBody) {
        self.beside_ended(body);
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

    pub(super) async fn commit(&mut self, batch: Batch) -> Result<(), StoreError> {
        let (publication, mode) = (Publication::of(&batch), batch.mode);
        self.store.commit(&self.id, batch).await?;
        self.mode = mode.unwrap_or(self.mode);
        self.hub.publish(publication);
        Ok(())
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            // Both are waited for.
            Effect::Commit(_) | Effect::Grant { .. } | Effect::Suspend => {}
            Effect::Collect { turn, wanted } => self.collect(turn, *wanted),
            Effect::Emit(delta) => self.emit(&delta),
            Effect::CallModel(call) => {
                self.hub.forget_blocks();
                let (no, cancel) = (call.no, CancellationToken::new());
                self.request = Some((no, cancel.clone()));
                let http = Arc::clone(&self.project.shared.http);
                let error =
                    ModelError::new(ErrorClass::Protocol, format!("The model's answer could not be read: {FAULT}."));
                self.spawn_for_turn(InputBody::ModelFailed { request: no, error }, |turn, mailbox| {
                    tasks::call_model(http, turn, *call, cancel, mailbox)
                });
            }
            Effect::StopModel(no) => {
                if let Some((_, cancel)) = self.request.take_if(|(running, _)| *running == no) {
                    cancel.cancel();
                }
            }
            Effect::LoadHistory { from } => self.load_history(from),
            Effect::CallSide(call) => self.call_side(*call),
            Effect::StopSide(no) => self.stop_side(no),
            Effect::CompactionTaken(result) => self.compaction_taken(result),
            Effect::Prepare(call) => {
                let tool = self.project.shared.registry.get(&call.tool).cloned();
                let result = Err(format!("The call could not be prepared: {FAULT}."));
                self.spawn_for_turn(InputBody::Prepared { call: call.id, result }, |turn, mailbox| {
                    tasks::prepare(tool, call, turn, mailbox)
                });
            }
            Effect::Run { call, prepared, leave } => {
                let (id, cancel) = (call.id, CancellationToken::new());
                self.tools.insert(id, cancel.clone());
                let tool = self.project.shared.registry.get(&call.tool).cloned();
                let (hub, session) = (self.hub.clone(), self.id.clone());
                let outcome = Outcome::failed(format!("The call ended without an outcome: {FAULT}."));
                let owed = InputBody::ToolFinished { call: id, outcome, revision: Revision::default() };
                self.spawn_for_turn(owed, |turn, mailbox| {
                    let run = tasks::Run { tool, call, prepared, leave, session, hub, cancel };
                    tasks::run_tool(run, turn, mailbox)
                });
            }
            Effect::StopTool(call) => {
                if let Some(cancel) = self.tools.get(&call) {
                    cancel.cancel();
                }
            }
            Effect::LoadResult { call, of } => {
                let (store, id) = (self.store.clone(), self.id.clone());
                let result = Err(format!("the saved result of {of} could not be read: {FAULT}"));
                self.spawn(InputBody::ResultLoaded { call, result }, |mailbox| {
                    tasks::load_result(store, id, call, of, mailbox)
                });
            }
            Effect::SaveText { call, text } => {
                let (store, id) = (self.store.clone(), self.id.clone());
                self.spawn(InputBody::TextSaved { call, result: Err(FAULT.to_owned()) }, |mailbox| {
                    tasks::save_text(store, id, call, text, mailbox)
                });
            }
            Effect::ReadPlan { call } => {
                let result = Err(format!("The plan file could not be read: {FAULT}."));
                self.spawn_for_turn(InputBody::PlanRead { call, result }, |turn, mailbox| {
                    tasks::read_plan(turn.tool_env, call, mailbox)
                });
            }
            Effect::Consult { call, question } => self.consult(call, question),
            Effect::StartTimer { id, delay_ms } => {
                self.spawn(InputBody::Timer(id), |mailbox| tasks::timer(id, delay_ms, mailbox));
            }
            Effect::Accepted { turn, queued } => {
                for reply in self.accepting.remove(&turn).into_iter().flatten() {
                    reply.send(Ok(AcceptedTurn { turn, queued }));
                }
            }
            Effect::AnswerTaken { taken, .. } => self.taken = Some(taken),
        }
    }

    /// Starts a task that owes the machine an input; `owed` is what it gets when the task panics.
    pub(super) fn spawn<F>(&mut self, owed: InputBody, task: impl FnOnce(Mailbox) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        // Without a sender the session is ending, and nobody waits for what a task would find.
        let Some(sender) = self.mailbox.upgrade() else { return };
        let handle = self.tasks.spawn(task(Mailbox { sender, generation: self.generation }));
        self.owed.insert(handle.id(), owed);
    }

    pub(super) fn spawn_for_turn<F>(&mut self, owed: InputBody, task: impl FnOnce(TurnSetup, Mailbox) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let Some(turn) = self.running.clone() {
            self.spawn(owed, |mailbox| task(turn, mailbox));
        }
    }

    fn collect(&mut self, turn: TurnNo, wanted: Wanted) {
        // A turn that was taken up has what it works with already.
        if let Some(setup) = self.turns.remove(&turn) {
            self.running = Some(setup);
        }
        self.set_policy();
        self.set_texts();
        self.tell_odd();
        if let Some(known) = self.running.as_ref().map(|turn| turn.calibration) {
            self.calibrate(known);
        }
        self.count();
        let editor = self.project.shared.editors.of(&self.project.key);
        let environment = Environment {
            git: vec![GitBlock::Unavailable(FAULT.to_owned())],
            revision: self.project.workspace().revision(),
            ..Environment::default()
        };
        let owed = InputBody::Environment { turn, environment: Box::new(environment) };
        self.spawn_for_turn(owed, |setup, mailbox| tasks::collect(turn, setup, editor, wanted, mailbox));
    }

    /// A turn runs.
    pub(super) fn count(&mut self) {
        if self.counted.is_none() {
            self.counted = Some(Counted::new(&self.project.shared.running_turns));
            self.activity.begin();
        }
    }

    fn emit(&mut self, delta: &Delta) {
        self.hub.append(delta);
    }

    /// A burst of inputs was taken: clients are told once.
    pub(super) fn burst_over(&mut self) {
        self.hub.wake();
    }

    /// Ends what still works for the session.
    pub(super) async fn end(&mut self) {
        self.tasks.shutdown().await;
        // The next start of the daemon settles what this cannot.
        let _ = self.settle().await;
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.activity.end();
        // Also after a panic: whoever follows the session must not wait for ever.
        self.hub.close(self.ends, self.ends.message());
    }
}

/// The wall clock.
pub(super) fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
