//! The machine of one session: at most one turn runs, others wait.

use super::compacting::Compacting;
use super::effect::Effect;
use super::input::{Input, InputBody, Prompt, TimerId};
use super::load::Loaded;
use super::phase::suspend::taken_up;
pub use super::state::{Counters, Settings};
use super::state::{Given, Phase, Turn};
use crate::context::view::View;
use crate::edit::seen::Seen;
use crate::event::{Event, EventBody};
use crate::id::{CallId, ItemNo, Revision, StepNo, TurnNo};
use crate::ledger::Operation;
use crate::model::calibration::Calibration;
use crate::model::usage::Usage;
use crate::permission::policy::{Mode, Policy};
use crate::permission::rule::{Rule, Scope};
use crate::prompt::Prompts;
use crate::task::Task;
use crate::time::Timestamp;
use crate::tool::outcome::{TaskEnd, Todo};
use crate::transcript::batch::{Batch, SessionState};
use crate::transcript::item::{Item, ItemBody, MetaCause, Notice, NoticeCause};
use crate::verification::Verification;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Prompts that may wait behind a running turn; more are refused by the session's service.
pub const MAX_QUEUED: usize = 32;

/// Whether a machine may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// It may.
    Works,
    /// The session is about to be closed, and commands in the background still end.
    Closing,
    /// The turn was left to the store: the session must be loaded anew.
    Suspended,
    /// A commit failed: the store is behind this machine, and the session must be loaded anew.
    Broken,
}

/// See the module's head. [`Machine::step`] is the only way to move it.
#[derive(Debug, Clone)]
pub struct Machine {
    pub(super) settings: Settings,
    pub(super) counters: Counters,
    pub(super) view: View,
    pub(super) turn: Option<Turn>,
    pub(super) queue: VecDeque<(TurnNo, Prompt)>,
    pub(super) todos: Vec<Todo>,
    pub(super) task: Option<Task>,
    /// The last test run.
    pub(super) verification: Option<Verification>,
    pub(super) grants: Vec<Rule>,
    /// What the model was shown of files.
    pub(super) seen: Seen,
    /// Operations whose end was not seen and that nothing has settled since, by call.
    pub(super) unsettled: Vec<Operation>,
    pub(super) revision: Revision,
    pub(super) titled: bool,
    /// The mode before the session came into plan mode last.
    pub(super) before_plan: Option<Mode>,
    /// Commands in the background, by the call that started them.
    pub(super) tasks: BTreeMap<CallId, Operation>,
    /// Those of them that have ended and are not told yet.
    pub(super) ended: Vec<TaskEnd>,
    /// Those of whose end a result has told the model.
    pub(super) seen_ended: BTreeSet<CallId>,
    /// Tokens of all requests of the session.
    pub(super) usage: Usage,
    /// How the model's counts compare with the estimate, and whether that was learned since it was told.
    calibration: (Calibration, bool),
    /// What the session may cost before the user is asked.
    pub(super) cost_allowed: Option<f64>,
    /// Whether somebody follows the session, so that a question is seen.
    pub(super) attended: bool,
    /// The timer that ends the waiting for an answer.
    pub(super) patience: Option<TimerId>,
    /// What the next commit will hold.
    pub(super) held: Batch,
    /// What the user is to be told of the texts of the next epoch.
    pub(super) text_warnings: Vec<String>,
    /// What the user is to be told when the next turn begins.
    pub(super) notices: Vec<String>,
    pub(super) compacting: Compacting,
    pub(super) effects: Vec<Effect>,
    pub(super) now: Timestamp,
    pub(super) timer: u64,
    pub(super) life: Life,
}

impl Machine {
    /// Takes a session up as it was stored, in the middle of a turn that was suspended. A turn that was cut must have been
    /// settled before, see [`recover`](super::recover).
    pub fn load(loaded: Loaded, settings: Settings) -> Self {
        let unsettled = loaded.operations.iter().filter(|operation| operation.is_unsettled()).cloned().collect();
        let running = loaded.operations.iter().filter(|operation| operation.in_background());
        let tasks = running.map(|operation| (operation.call, operation.clone())).collect();
        Self {
            counters: loaded.counters,
            todos: loaded.todos.clone(),
            task: loaded.task.clone(),
            verification: loaded.verification.clone(),
            grants: loaded.grants.clone(),
            seen: Seen::of(&loaded.shown),
            unsettled,
            tasks,
            ended: Vec::new(),
            seen_ended: loaded.untold.iter().copied().collect(),
            revision: loaded.revision,
            titled: loaded.titled,
            before_plan: loaded.before_plan,
            usage: loaded.usage,
            calibration: (Calibration::default(), false),
            cost_allowed: settings.session_cost,
            attended: false,
            patience: None,
            turn: taken_up(&loaded, settings.max_steps),
            view: View::load(loaded.view),
            settings,
            queue: VecDeque::new(),
            held: Batch::default(),
            text_warnings: Vec::new(),
            notices: Vec::new(),
            compacting: Compacting::default(),
            effects: Vec::new(),
            now: Timestamp(0),
            timer: 0,
            life: Life::Works,
        }
    }

    /// Whether no turn runs, and nothing that prompts have to wait for.
    pub fn is_idle(&self) -> bool {
        self.turn.is_none() && !self.is_compacting_alone()
    }

    /// The turn that runs.
    pub fn running_turn(&self) -> Option<TurnNo> {
        self.turn.as_ref().map(|turn| turn.no)
    }

    /// How many prompts wait.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Whether this is the model that it works with, under these limits.
    pub fn works_with(&self, settings: &Settings) -> bool {
        let own = &self.settings;
        own.model == settings.model
            && own.max_steps == settings.max_steps
            && own.session_cost == settings.session_cost
            && own.projection == settings.projection
            && own.compaction == settings.compaction
    }

    /// Whether somebody follows the session, from the next input on.
    pub fn set_attended(&mut self, attended: bool) {
        self.attended = attended;
    }

    /// The number that the next prompt gets as a turn.
    pub fn next_turn(&self) -> TurnNo {
        self.counters.turn.next()
    }

    /// The number that the next call gets.
    pub fn next_call(&self) -> CallId {
        self.counters.call.next()
    }

    /// Whether what is said now would join the running turn instead of being a prompt.
    pub fn takes_steering(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| !turn.cancelled)
    }

    /// The turn of a prompt with this key that has not begun to be stored, and whether it waits behind another.
    pub fn turn_of_key(&self, key: &str) -> Option<(TurnNo, bool)> {
        let running = self.turn.as_ref().filter(|turn| turn.key.as_deref() == Some(key)).map(|turn| (turn.no, false));
        let mut waiting = self.queue.iter().filter(|(_, prompt)| prompt.key.as_deref() == Some(key));
        running.or_else(|| waiting.next().map(|(turn, _)| (*turn, true)))
    }

    /// Whether a commit failed, so that this machine must not be used any more.
    pub fn is_broken(&self) -> bool {
        self.life == Life::Broken
    }

    /// What permissions are decided with from the next decision on. It holds what was allowed for the project and is still
    /// allowed; what an answer allowed so until now is forgotten.
    pub fn set_policy(&mut self, policy: Policy) {
        self.grants.retain(|rule| rule.scope == Scope::Session);
        self.settings.policy = policy;
    }

    /// How the model's token counts compare with the estimate, as far as it was known when the turn that begins was asked
    /// for. What was learned here since, by more reports, counts instead.
    pub fn calibrate(&mut self, known: Calibration) {
        if known.reports > self.calibration.0.reports {
            self.calibration = (known, false);
        }
        self.view.calibrate(self.calibration.0);
    }

    /// What was learned since this was last asked: the model's id with its calibration.
    pub fn take_learned(&mut self) -> Option<(String, Calibration)> {
        std::mem::take(&mut self.calibration.1).then(|| (self.settings.model.id(), self.calibration.0))
    }

    /// How the model's counts compare with the estimate.
    pub(super) fn calibration(&self) -> Calibration {
        self.calibration.0
    }

    /// A request was reported to have had this usage. What that teaches counts from the next turn on.
    pub(super) fn learn(&mut self, usage: Usage) {
        let (before, told) = self.calibration;
        let learned = before.learned(self.view.estimate(), usage.input);
        self.calibration = (learned, told || learned != before);
    }

    /// The texts and the language of its next epoch, with what is wrong with texts that it cannot use, which the user is told
    /// when that epoch begins.
    pub fn set_texts(&mut self, prompts: Prompts, language: Option<String>, warnings: Vec<String>) {
        (self.settings.prompts, self.settings.language) = (prompts, language);
        self.text_warnings = warnings;
    }

    /// What the user is told beside the turn that begins; the model is not.
    pub fn set_notices(&mut self, notices: Vec<String>) {
        self.notices = notices;
    }

    /// The texts of the present epoch; before the first one, those that it will use.
    pub fn prompts(&self) -> &Prompts {
        self.view.prompts().unwrap_or(&self.settings.prompts)
    }

    /// What to do about one thing that happened, in order.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        self.now = input.at;
        if matches!(self.life, Life::Works | Life::Closing) {
            self.take(input.body);
        }
        std::mem::take(&mut self.effects)
    }

    fn take(&mut self, body: InputBody) {
        match body {
            InputBody::Prompt(prompt) => self.prompt(prompt),
            InputBody::Steer(text) => self.steer(text),
            InputBody::Cancel => self.cancel(),
            InputBody::Close => self.close(),
            InputBody::Answer { ask, choice, advice } => self.answered(Given { ask, choice, advice }),
            InputBody::Environment { turn, environment } => self.collected(turn, &environment),
            InputBody::CommitFailed(_) => self.give_up(),
            InputBody::Model { request, event } => self.model_event(request, event),
            InputBody::ModelFailed { request, error } => self.model_failed(request, &error),
            InputBody::Prepared { call, result } => self.prepared(call, result),
            InputBody::ToolProcess { call, process } => self.process_known(call, process),
            InputBody::ToolFinished { call, outcome, revision } => {
                self.see_revision(revision);
                self.tool_finished(call, outcome);
            }
            InputBody::TaskEnded(end) => self.task_ended(end),
            InputBody::ResultLoaded { call, result } => self.result_loaded(call, result),
            InputBody::TextSaved { call, result } => self.text_saved(call, result),
            InputBody::PlanRead { call, result } => self.plan_read(call, result),
            InputBody::Consulted { call, result } => self.consulted(call, result),
            InputBody::Compact { focus } => self.compact(focus),
            InputBody::History(history) => self.history_loaded(*history),
            InputBody::Side { no, event } => self.side_event(no, event),
            InputBody::SideFailed { no, error } => self.side_failed(no, &error),
            InputBody::Timer(id) => self.timer(id),
            InputBody::SessionChanged => self.session_changed(),
            InputBody::SetTask(task) => self.set_task(*task),
            InputBody::Undo { operation, told } => self.undo(operation, told),
            InputBody::Found(operation) => {
                self.found(*operation);
                self.commit();
            }
        }
    }

    fn undo(&mut self, operation: Operation, told: Option<(String, String)>) {
        self.counters.call = self.counters.call.max(operation.call);
        self.settle_earlier(&operation);
        self.held.operations.push(operation);
        if let Some((notice, reminder)) = told {
            self.add_notice(NoticeCause::Undone, notice);
            self.remind(MetaCause::Undone, reminder);
        }
        self.commit();
    }

    /// What is held is committed whole when its time comes, and takes the event along; else the event goes alone.
    fn session_changed(&mut self) {
        let alone = self.held == Batch::default();
        self.add_event(EventBody::SessionChanged);
        if alone || self.is_idle() {
            self.commit();
        }
    }

    /// The store is behind: nothing that was decided since may be relied on. What runs is ended.
    fn give_up(&mut self) {
        self.life = Life::Broken;
        self.effects.clear();
        self.queue.clear();
        match self.turn.take().map(|turn| turn.phase) {
            Some(Phase::Calling(answer)) => self.effects.push(Effect::StopModel(answer.request)),
            Some(Phase::Calls(slots)) => {
                let running = slots.iter().filter(|slot| matches!(slot.state, super::state::SlotState::Running));
                self.effects.extend(running.map(|slot| Effect::StopTool(slot.id)));
            }
            Some(Phase::Collecting | Phase::Compacting | Phase::Backoff { .. } | Phase::Asking(_)) | None => {}
        }
        self.stop_compaction();
    }

    pub(super) fn see_revision(&mut self, revision: Revision) {
        if revision > self.revision {
            self.revision = revision;
            self.held.revision = Some(revision);
        }
    }

    /// Appends an item to the next commit, with the event that shows it to clients.
    pub(super) fn add_item(&mut self, body: ItemBody) -> ItemNo {
        let (turn, step) = self.turn.as_ref().map_or((self.counters.turn, StepNo(0)), |turn| (turn.no, turn.step));
        self.counters.item = self.counters.item.next();
        let no = self.counters.item;
        let item = Item { no, turn, step, at: self.now, body };
        self.view.add(item.clone());
        self.held.items.push(item);
        self.add_event(EventBody::ItemAdded { item: no });
        no
    }

    pub(super) fn add_notice(&mut self, cause: NoticeCause, text: impl Into<String>) {
        self.add_item(ItemBody::Notice(Notice { cause, text: text.into() }));
    }

    pub(super) fn add_event(&mut self, body: EventBody) {
        self.counters.seq = self.counters.seq.next();
        self.held.events.push(Event { seq: self.counters.seq, at: self.now, body });
    }

    pub(super) fn set_state(&mut self, state: SessionState) {
        self.held.state = Some(state);
    }

    /// Commits what is held, if anything is.
    pub(super) fn commit(&mut self) {
        let batch = std::mem::take(&mut self.held);
        if batch != Batch::default() {
            self.effects.push(Effect::Commit(Box::new(batch)));
        }
    }
}
