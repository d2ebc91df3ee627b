//! What clients ask of a session while its actor runs: prompts, steering, interrupts, answers, mode and title.

use super::api::{AcceptedTurn, Answer, ApiError, ApiErrorKind, WhenBusy};
use super::driver::{Accepting, Driver, now};
use super::load;
use super::setup::TurnSetup;
use plimsoll_core::event::{AskResolution, Event, EventBody, TurnEnd};
use plimsoll_core::id::AskId;
use plimsoll_core::permission::policy::Mode;
use plimsoll_core::transcript::batch::{Batch, SessionState};
use plimsoll_core::turn::input::{InputBody, Prompt};
use plimsoll_core::turn::machine::{MAX_QUEUED, Machine};
use plimsoll_core::turn::recover::Cut;
use tokio::sync::oneshot;

/// What a turn is to begin with.
struct Said {
    text: String,
    key: Option<String>,
    /// How the turn before was cut, where it is to be gone on with.
    goes_on: Option<TurnEnd>,
}

impl Driver {
    pub(super) async fn prompt(
        &mut self,
        setup: Result<TurnSetup, ApiError>,
        text: String,
        key: Option<String>,
        busy: WhenBusy,
        reply: oneshot::Sender<Result<AcceptedTurn, ApiError>>,
    ) {
        let Some(reply) = self.unless_known(key.as_deref(), Accepting::Prompt(reply)).await else { return };
        self.begin(setup, Said { text, key, goes_on: None }, busy, reply).await;
    }

    /// Goes on with the last turn, which was cut: a turn without a prompt.
    pub(super) async fn go_on(
        &mut self,
        setup: Result<TurnSetup, ApiError>,
        key: Option<String>,
        reply: oneshot::Sender<Result<AcceptedTurn, ApiError>>,
    ) {
        let Some(reply) = self.unless_known(key.as_deref(), Accepting::Prompt(reply)).await else { return };
        match self.cut_turn().await {
            Ok(end) => {
                let said = Said { text: String::new(), key, goes_on: Some(end) };
                self.begin(setup, said, WhenBusy::Refuse, reply).await;
            }
            Err(error) => reply.send(Err(error)),
        }
    }

    /// How the last turn was cut; an error where there is none to go on with.
    async fn cut_turn(&mut self) -> Result<TurnEnd, ApiError> {
        self.settle().await.map_err(|error| load::store_error(&error))?;
        let conflict = |message: &str, hint: &str| ApiError::new(ApiErrorKind::Conflict, message).hint(hint);
        let row = self.store.session(&self.id).await.map_err(|error| load::store_error(&error))?;
        if !self.is_idle() || matches!(row.state, SessionState::Running | SessionState::Waiting) {
            return Err(conflict(
                "a turn of this session is running or waits for an answer",
                "wait for its end, or steer it",
            ));
        }
        let last = self.store.last_end(&self.id).await.map_err(|error| load::store_error(&error))?;
        let Some(last) = last else {
            return Err(conflict("the session has no turn to go on with", "turn/start begins one"));
        };
        let out = self.store.out_of_view(&self.id).await.map_err(|error| load::store_error(&error))?;
        if last.last_item.is_none_or(|item| out.contains(item)) {
            let message = format!("turn {} is not part of the conversation any more", last.turn);
            return Err(conflict(&message, "say what to do with turn/start"));
        }
        match last.reason {
            end @ (TurnEnd::Crashed
            | TurnEnd::Cancelled
            | TurnEnd::StoreError
            | TurnEnd::Internal
            | TurnEnd::ModelError) => Ok(end),
            TurnEnd::EndTurn | TurnEnd::MaxTokens | TurnEnd::MaxSteps | TurnEnd::Limit | TurnEnd::Refusal => {
                let message = format!("turn {} was not cut: it came to its end", last.turn);
                Err(conflict(&message, "say what to do next with turn/start"))
            }
        }
    }

    /// Answers with the turn that this key has begun, or is about to; gives the reply back where there is none.
    async fn unless_known(&mut self, key: Option<&str>, reply: Accepting) -> Option<Accepting> {
        let Some(key) = key else { return Some(reply) };
        match self.store.prompt_turn(&self.id, key).await {
            Ok(None) => {}
            Ok(Some(turn)) => {
                reply.send(Ok(AcceptedTurn { turn, queued: false }));
                return None;
            }
            Err(error) => {
                reply.send(Err(load::store_error(&error)));
                return None;
            }
        }
        // The same prompt may be on its way already.
        let Some((turn, queued)) = self.machine.as_ref().and_then(|machine| machine.turn_of_key(key)) else {
            return Some(reply);
        };
        match self.accepting.get_mut(&turn) {
            Some(waiting) => waiting.push(reply),
            None => reply.send(Ok(AcceptedTurn { turn, queued })),
        }
        None
    }

    async fn begin(&mut self, setup: Result<TurnSetup, ApiError>, said: Said, busy: WhenBusy, reply: Accepting) {
        let mut setup = match setup {
            Ok(setup) => setup,
            Err(error) => return reply.send(Err(error)),
        };
        // The administrator may have bounded the mode since the session was there last.
        let held = setup.permissions.held(self.mode);
        if held != self.mode
            && let Err(error) = self.set_mode(held).await
        {
            return reply.send(Err(error));
        }
        // A prompt that is refused changes nothing.
        if let Some(Err(error)) = self.machine.as_ref().map(|machine| may_begin(machine, busy)) {
            return reply.send(Err(error));
        }
        if let Err(error) = self.choose(&setup).await {
            return reply.send(Err(error));
        }
        let machine = match self.machine(&setup).await {
            Ok(machine) => machine,
            Err(error) => return reply.send(Err(error)),
        };
        if let Err(error) = may_begin(machine, busy) {
            return reply.send(Err(error));
        }
        let (turn, waits) = (machine.next_turn(), !machine.is_idle());
        if let (true, Some(works)) = (waits, self.running.as_ref().or_else(|| self.compacts_with())) {
            setup.with_model_of(works);
        }
        let attachments = std::mem::take(&mut setup.attachments);
        self.turns.insert(turn, setup);
        self.accepting.entry(turn).or_default().push(reply);
        let Said { text, key, goes_on } = said;
        self.input(InputBody::Prompt(Prompt { text, key, attachments, goes_on })).await;
    }

    pub(super) async fn steer(
        &mut self,
        setup: Result<TurnSetup, ApiError>,
        text: String,
        reply: oneshot::Sender<Result<(), ApiError>>,
    ) {
        if !self.machine.as_ref().is_some_and(Machine::takes_steering) {
            let said = Said { text, key: None, goes_on: None };
            return self.begin(setup, said, WhenBusy::Queue, Accepting::Steer(reply)).await;
        }
        self.input(InputBody::Steer(text)).await;
        let _ = reply.send(self.stored());
    }

    /// Whether the store has followed so far.
    pub(super) fn stored(&self) -> Result<(), ApiError> {
        match self.machine.as_ref().map(Machine::is_broken) {
            Some(true) => {
                Err(ApiError::new(ApiErrorKind::Store, "the session could not be stored, so its turn was ended"))
            }
            Some(false) | None => Ok(()),
        }
    }

    /// Interrupts the running turn; answered when it is over, at once when none runs.
    pub(super) async fn cancel(&mut self, reply: oneshot::Sender<()>) {
        let Some(turn) = self.machine.as_ref().and_then(Machine::running_turn) else {
            if self.machine.is_none() {
                self.cancel_suspended().await;
            } else if self.works_beside() {
                self.input(InputBody::Cancel).await;
            }
            let _ = reply.send(());
            return;
        };
        self.waiting.push((turn, reply));
        self.input(InputBody::Cancel).await;
    }

    /// Ends a turn that waits for answers in the store. What it would go on with is not needed for that.
    async fn cancel_suspended(&mut self) {
        if self.settle().await.is_err() {
            return;
        }
        if let Err(error) = load::recover_session(&self.store, &self.id, now(), &self.hub, &Cut::User).await {
            tracing::error!(session = %self.id, %error, "a suspended turn could not be ended");
        }
    }

    /// Whether this answer was the first. None when the turn is suspended and `setup` is needed to go on with it.
    pub(super) async fn answer(
        &mut self,
        answer: Answer,
        setup: Option<Box<Result<TurnSetup, ApiError>>>,
    ) -> Result<Option<bool>, ApiError> {
        let Answer { ask, choice, advice } = answer;
        if let Some(setup) = setup {
            self.machine(&(*setup)?).await?;
        }
        self.taken = None;
        self.input(InputBody::Answer { ask, choice, advice }).await;
        if self.taken.take() == Some(true) {
            return Ok(Some(true));
        }
        self.stored()?;
        self.answered_late(ask).await
    }

    /// What is said of an answer to a question that does not wait.
    async fn answered_late(&self, id: AskId) -> Result<Option<bool>, ApiError> {
        let ask = self.store.ask(&self.id, id).await.map_err(|error| load::store_error(&error))?;
        match ask.map(|ask| ask.resolution) {
            Some(Some(AskResolution::Answered { .. })) => Ok(Some(false)),
            Some(None) if self.machine.is_none() => Ok(None),
            Some(Some(AskResolution::Void) | None) => Err(ApiError::new(
                ApiErrorKind::Conflict,
                format!("question {id} is void: its turn ended before an answer came"),
            )
            .hint("send a prompt; the model asks again if it still needs to")),
            None => Err(ApiError::new(ApiErrorKind::NotFound, format!("the session has no question {id}"))),
        }
    }

    pub(super) async fn set_mode(&mut self, mode: Mode) -> Result<(), ApiError> {
        self.store.set_mode(&self.id, &mode.to_string(), now()).await.map_err(|error| load::store_error(&error))?;
        self.mode = mode;
        if let Some(machine) = &mut self.machine {
            machine.set_mode(mode);
        }
        self.tell_changed().await
    }

    /// Sets a model that can be used, from the next turn on.
    pub(super) async fn set_model(&mut self, model: &str) -> Result<(), ApiError> {
        if self.chosen.model() == model {
            return Ok(());
        }
        self.store.set_model(&self.id, model, now()).await.map_err(|error| load::store_error(&error))?;
        self.chosen.set_model(model);
        self.tell_changed().await
    }

    /// What a prompt asks for beside its text is the session's from now on.
    async fn choose(&mut self, setup: &TurnSetup) -> Result<(), ApiError> {
        if let Some(mode) = setup.mode.filter(|mode| *mode != self.mode) {
            self.set_mode(mode).await?;
        }
        match &setup.model {
            Some(model) => self.set_model(model).await,
            None => Ok(()),
        }
    }

    /// What is odd in the configuration is told when it is new.
    pub(super) fn tell_odd(&mut self) {
        let (Some(machine), Some(turn)) = (&mut self.machine, &self.running) else { return };
        let new = turn.warnings.iter().filter(|warning| !self.told_odd.contains(warning)).cloned().collect();
        machine.set_notices(new);
        self.told_odd.clone_from(&turn.warnings);
    }

    pub(super) async fn rename(&mut self, title: &str) -> Result<(), ApiError> {
        self.store.rename(&self.id, title, now()).await.map_err(|error| load::store_error(&error))?;
        self.tell_changed().await
    }

    pub(super) async fn archive(&mut self, archived: bool) -> Result<(), ApiError> {
        self.store.archive(&self.id, archived, now()).await.map_err(|error| load::store_error(&error))?;
        self.tell_changed().await
    }

    /// Tells all clients that the session's own record is another.
    async fn tell_changed(&mut self) -> Result<(), ApiError> {
        if self.machine.is_some() {
            self.input(InputBody::SessionChanged).await;
            return Ok(());
        }
        let event = Event { seq: self.hub.head().next(), at: now(), body: EventBody::SessionChanged };
        let batch = Batch { events: vec![event], ..Batch::default() };
        self.commit(batch).await.map_err(|error| load::store_error(&error))
    }
}

fn may_begin(machine: &Machine, busy: WhenBusy) -> Result<(), ApiError> {
    if machine.is_idle() {
        return Ok(());
    }
    if busy == WhenBusy::Refuse {
        return Err(ApiError::new(ApiErrorKind::Busy, "a turn of this session is running")
            .hint("wait for its end, steer it, or let the prompt wait behind it"));
    }
    if machine.queued() >= MAX_QUEUED {
        return Err(ApiError::new(ApiErrorKind::Busy, format!("{MAX_QUEUED} prompts are waiting already"))
            .hint("wait until one of them has begun"));
    }
    Ok(())
}
