//! One session that an ACP client follows: hands on what happens, asks the client for permissions, and tells waiting
//! prompts their ends.

use super::compaction::Compactions;
use super::facade::Facade;
use super::permission::{self, Decision};
use super::translate::{Translator, plan};
use super::turns::{Ended, Turns};
use super::usage::Gauge;
use super::{commands, notice};
use crate::rpc::outbox::Gone;
use crate::session::Subscription;
use crate::session::api::{self, ResolvedEvent, SessionInfo, Update};
use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, ConfigOptionUpdate, CurrentModeUpdate, SessionInfoUpdate, SessionUpdate,
};
use plimsoll_core::event::{Ask, AskChoice, EventBody};
use plimsoll_core::id::{AskId, Seq, SessionId, StepNo, TurnNo};
use plimsoll_core::model::usage::Usage;
use plimsoll_core::transcript::item::{Item, ItemBody, NoticeCause};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A followed session, as the methods see it.
#[derive(Debug)]
pub struct Followed {
    turns: Mutex<Turns>,
    prompts: watch::Sender<Prompts>,
    /// What the user has to be told: at once where the client shows notices, else with the next prompt, as some clients
    /// show nothing that comes without one.
    notices: Mutex<Vec<String>>,
    /// How much was said that is no part of the conversation.
    said: AtomicU64,
    /// Ends the commands that run.
    commands: Mutex<CancellationToken>,
    /// The session's newest event when a surviving bridge took it up: open questions come after it.
    pub resumed: OnceLock<Seq>,
    /// Ends the following.
    pub left: CancellationToken,
}

/// What is known of the client's prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Prompts {
    /// One is handed in and not accepted yet: until it is, nobody knows whose the next turn is.
    starting: bool,
    /// One is not answered yet.
    any: bool,
}

impl Followed {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            turns: Mutex::new(Turns::default()),
            prompts: watch::channel(Prompts::default()).0,
            notices: Mutex::default(),
            said: AtomicU64::new(0),
            commands: Mutex::default(),
            resumed: OnceLock::new(),
            left: CancellationToken::new(),
        })
    }

    /// Does something with the prompts.
    pub fn turns<T>(&self, act: impl FnOnce(&mut Turns) -> T) -> T {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let done = act(&mut turns);
        let now = Prompts { starting: turns.is_starting(), any: turns.has_any() };
        self.prompts.send_if_modified(|prompts| std::mem::replace(prompts, now) != now);
        done
    }

    async fn nothing_starts(&self) {
        // The sender lives as long as this does.
        let _ = self.prompts.subscribe().wait_for(|prompts| !prompts.starting).await;
    }

    /// Returns when every prompt of this client has come to its end.
    pub async fn nothing_prompted(&self) {
        let _ = self.prompts.subscribe().wait_for(|prompts| !prompts.any).await;
    }

    /// The user has to be told this.
    pub fn add_notices(&self, notices: Vec<String>) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).extend(notices);
    }

    /// What the user has to be told now; given once.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells a command that runs when the client cancels.
    pub fn command_cancelled(&self) -> CancellationToken {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The client cancels what it has prompted, commands among it.
    pub fn cancel_commands(&self) {
        std::mem::take(&mut *self.commands.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
    }

    /// The id of the next message that is no part of the conversation.
    pub fn next_said(&self) -> String {
        format!("p{}", self.said.fetch_add(1, Ordering::Relaxed))
    }
}

/// What following needs to begin.
pub struct Begin {
    /// The session.
    pub id: SessionId,
    /// The session as it was when `subscription` began.
    pub info: SessionInfo,
    /// What happens from then on.
    pub subscription: Subscription,
    /// Knows what the client was told already.
    pub translator: Translator,
    /// The other end of the following.
    pub followed: Arc<Followed>,
}

/// Follows a session until it is left, deleted, or the client is gone.
pub async fn follow(facade: Arc<Facade>, begin: Begin) {
    let Begin { id, info, subscription, translator, followed } = begin;
    let mut following = Following {
        facade,
        id: id.clone(),
        translator,
        followed: Arc::clone(&followed),
        last: info.last_seq,
        told: None,
        title: info.title.clone(),
        mode: info.mode.clone(),
        model: info.model.clone(),
        gauge: Gauge::default(),
        compactions: Compactions::default(),
        refused: None,
        asks: HashMap::new(),
        tasks: JoinSet::new(),
    };
    let run = async {
        following.greet(&info).await?;
        following.run(&info.open_asks, subscription).await
    };
    tokio::select! {
        end = run => {
            if let Err(error) = end {
                tracing::debug!(%error, session = %id, "a session is not followed any more");
            }
        }
        () = followed.left.cancelled() => {}
    }
    followed.turns(Turns::give_up);
    following.leave().await;
}

struct Following {
    facade: Arc<Facade>,
    id: SessionId,
    translator: Translator,
    followed: Arc<Followed>,
    /// The newest durable event that was handed on.
    last: Seq,
    /// The event up to which the bridge was said to have been told everything.
    told: Option<Seq>,
    title: String,
    mode: String,
    model: String,
    gauge: Gauge,
    compactions: Compactions,
    /// The turn whose prompt did not fit the model's window.
    refused: Option<TurnNo>,
    /// Questions that the client is asked, each with its request.
    asks: HashMap<AskId, u64>,
    /// Questions and interrupts under way.
    tasks: JoinSet<()>,
}

/// Why a session is not followed any more.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error("the client is gone")]
    Gone(#[from] Gone),
    #[error(transparent)]
    Api(#[from] api::ApiError),
}

impl Following {
    /// What a client needs to know that was told of nothing yet. The editor of a bridge that survived its daemon was.
    async fn greet(&mut self, info: &SessionInfo) -> Result<(), End> {
        let knows = self.followed.resumed.get().is_some();
        if !knows {
            self.tell([commands::available()]).await?;
        }
        if !knows && self.facade.offers().notices {
            self.tell(self.followed.take_notices().into_iter().map(notice::missing)).await?;
        }
        if info.items == 0 {
            return Ok(());
        }
        if !knows && !info.title.is_empty() {
            let about = SessionInfoUpdate::new().title(info.title.clone()).updated_at(info.updated_at.to_string());
            self.tell([SessionUpdate::SessionInfoUpdate(about)]).await?;
        }
        match self.facade.past_usage(&self.id).await {
            Ok(gauge) => self.gauge = gauge,
            // It is shown from the next request on.
            Err(error) => tracing::debug!(%error, session = %self.id, "what a session has used is not known"),
        }
        if !knows {
            self.tell(self.gauge.update()).await?;
        }
        Ok(())
    }

    async fn run(&mut self, open: &[Ask], mut subscription: Subscription) -> Result<(), End> {
        let mut open = open.iter();
        loop {
            if self.followed.resumed.get().is_none_or(|newest| *newest <= self.last) {
                for ask in open.by_ref() {
                    self.ask(ask).await?;
                }
            }
            self.mark().await?;
            let Some(updates) = subscription.next().await else { return Ok(()) };
            while self.tasks.try_join_next().is_some() {}
            self.followed.nothing_starts().await;
            for update in updates {
                match update {
                    Update::Event(event) => self.event(&event).await?,
                    Update::Delta { delta, offset } => {
                        let told = self.translator.delta(&delta, offset);
                        self.tell(told).await?;
                    }
                    Update::Closed { message, .. } => {
                        tracing::info!(message, "a session is followed anew");
                        subscription = self.facade.service.attach(&self.facade.client(), &self.id, self.last).await?;
                        self.translator.followed_anew();
                        break;
                    }
                }
            }
        }
    }

    /// Says to a surviving bridge how far everything was told.
    async fn mark(&mut self) -> Result<(), Gone> {
        if self.facade.resumed.survives() && self.told != Some(self.last) {
            self.facade.peer.told(self.id.as_str(), self.last.0).await?;
            self.told = Some(self.last);
        }
        Ok(())
    }

    /// Closes the dialogs that are open for this session.
    async fn leave(&mut self) {
        for request in std::mem::take(&mut self.asks).into_values() {
            if self.facade.peer.withdraw(request).await.is_err() {
                return;
            }
        }
    }

    async fn tell(&self, update: impl IntoIterator<Item = SessionUpdate>) -> Result<(), Gone> {
        for update in update {
            self.facade.peer.update(self.id.as_str(), update).await?;
        }
        Ok(())
    }

    async fn event(&mut self, resolved: &ResolvedEvent) -> Result<(), End> {
        self.last = resolved.event.seq;
        match &resolved.event.body {
            EventBody::TurnStarted { turn } => {
                if self.followed.turns(|turns| turns.began(*turn)) {
                    self.interrupt();
                }
            }
            EventBody::ItemAdded { item: no } => match &resolved.item {
                None => tracing::error!(%no, "an item could not be read"),
                Some(item) => self.item(item, resolved.projection.as_deref()).await?,
            },
            EventBody::PermissionAsked { .. } => {
                if let Some(ask) = resolved.ask.as_ref().filter(|ask| ask.resolution.is_none()) {
                    self.ask(ask).await?;
                }
            }
            EventBody::PermissionResolved { ask, .. } => {
                if let Some(request) = self.asks.remove(ask) {
                    self.facade.peer.withdraw(request).await?;
                }
            }
            EventBody::ToolStarted { call, .. } => self.tell(self.translator.started(*call)).await?,
            EventBody::TaskEnded { call, exit, .. } => {
                let ended = self.translator.task_ended(*call, *exit);
                self.tell(ended).await?;
            }
            EventBody::PlanChanged { .. } => {
                self.tell(crate::rpc::to_wire::plan(resolved.item.as_ref()).map(plan)).await?;
            }
            EventBody::TurnCompleted { turn, reason, message, .. } => {
                let settled = self.translator.settle();
                self.tell(settled).await?;
                let about = SessionInfoUpdate::new().updated_at(resolved.event.at.to_string());
                self.tell([SessionUpdate::SessionInfoUpdate(about)]).await?;
                let refused = self.refused == Some(*turn);
                let ended = Ended { reason: *reason, message: message.clone(), refused };
                self.followed.turns(|turns| turns.ended(*turn, ended));
            }
            EventBody::SessionChanged => self.changed().await?,
            EventBody::StepStarted { tokens, window, .. } => {
                self.gauge.sent(*tokens, *window);
                self.tell(self.gauge.update()).await?;
            }
            EventBody::StepCompleted { turn, step, usage: Some(usage) } => self.answered(*turn, *step, *usage).await?,
            EventBody::CompactionStarted { .. } | EventBody::CompactionFinished { .. } => {
                if self.facade.offers().compactions {
                    let told = self.compactions.told(&resolved.event);
                    self.tell(told).await?;
                }
            }
            EventBody::StepCompleted { usage: None, .. }
            | EventBody::TurnQueued { .. }
            | EventBody::OperationChanged { .. }
            | EventBody::TaskChanged => {}
        }
        Ok(())
    }

    async fn item(&mut self, item: &Item, projection: Option<&str>) -> Result<(), End> {
        let mut own = false;
        if let ItemBody::User(user) = &item.body {
            own = self.followed.turns(|turns| turns.is_own(item.turn));
            if user.refused {
                self.refused = Some(item.turn);
            }
        }
        let told = self.translator.item(item, projection, own);
        self.tell(told).await?;
        if let ItemBody::Notice(notice) = &item.body
            && self.facade.offers().notices
            && !(notice.cause == NoticeCause::Compaction && self.facade.offers().compactions)
        {
            self.tell(notice::update(notice)).await?;
        }
        Ok(())
    }

    async fn answered(&mut self, turn: TurnNo, step: StepNo, usage: Usage) -> Result<(), End> {
        if self.gauge.needs_price(turn) {
            let model = self.facade.service.model_of(&self.facade.client(), &self.id).await;
            // A configuration that cannot be read any more is told elsewhere.
            self.gauge.set_price(turn, model.ok().flatten().and_then(|model| model.price));
        }
        self.gauge.answered(turn, step, usage);
        Ok(self.tell(self.gauge.update()).await?)
    }

    async fn changed(&mut self) -> Result<(), End> {
        let info = self.facade.service.get_session(&self.id).await?;
        let (mode, model) = (info.mode != self.mode, info.model != self.model);
        if mode {
            self.mode.clone_from(&info.mode);
            self.tell([SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(info.mode.clone()))]).await?;
        }
        if mode || model {
            self.model.clone_from(&info.model);
            let options = ConfigOptionUpdate::new(self.facade.options(&info).await);
            self.tell([SessionUpdate::ConfigOptionUpdate(options)]).await?;
        }
        if info.title != self.title {
            self.title.clone_from(&info.title);
            let about = SessionInfoUpdate::new().title(info.title).updated_at(info.updated_at.to_string());
            self.tell([SessionUpdate::SessionInfoUpdate(about)]).await?;
        }
        Ok(())
    }

    /// Interrupts the running turn; its end comes as an event.
    fn interrupt(&mut self) {
        let (facade, id) = (Arc::clone(&self.facade), self.id.clone());
        self.tasks.spawn(async move { facade.interrupt(&id).await });
    }

    /// Asks the client. Its answer is waited for beside everything else.
    async fn ask(&mut self, ask: &Ask) -> Result<(), Gone> {
        if self.asks.contains_key(&ask.id) {
            return Ok(());
        }
        let title = self.translator.title(ask.call).unwrap_or(&ask.title);
        let request = permission::request(&self.id, ask, title);
        let pending = self.facade.peer.request(CLIENT_METHOD_NAMES.session_request_permission, &request).await?;
        self.asks.insert(ask.id, pending.id());
        let (facade, id, ask) = (Arc::clone(&self.facade), self.id.clone(), ask.clone());
        self.tasks.spawn(async move {
            let Some(answer) = pending.answer().await else { return };
            match permission::decision(&answer, &ask) {
                Decision::Choice(choice) => facade.answer(&id, ask.id, choice).await,
                Decision::Interrupt => facade.interrupt(&id).await,
                Decision::Nothing if facade.is_only_client() => facade.answer(&id, ask.id, AskChoice::Reject).await,
                Decision::Nothing => tracing::debug!(ask = %ask.id, "left to the other clients"),
            }
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_is_handed_on_while_a_prompt_is_being_accepted() {
        let followed = Followed::new();
        followed.nothing_starts().await;
        followed.turns(Turns::starting);
        let waits = Arc::clone(&followed);
        let waiting = tokio::spawn(async move { waits.nothing_starts().await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        let _ended = followed.turns(|turns| turns.accepted(TurnNo(1)));
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn a_session_is_left_only_when_every_prompt_has_its_end() {
        let followed = Followed::new();
        followed.add_notices(vec!["once".to_owned()]);
        followed.nothing_prompted().await;
        followed.turns(Turns::starting);
        let waits = Arc::clone(&followed);
        let waiting = tokio::spawn(async move { waits.nothing_prompted().await });
        let _ended = followed.turns(|turns| turns.accepted(TurnNo(1)));
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        followed.turns(Turns::give_up);
        waiting.await.unwrap();
        assert_eq!((followed.take_notices(), followed.take_notices()), (vec!["once".to_owned()], Vec::new()));
        assert_ne!(followed.next_said(), followed.next_said());
    }
}
