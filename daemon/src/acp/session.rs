//! One session that an ACP client follows: hands on what happens, asks the client for permissions, and tells waiting
//! prompts their ends.

use super::diff;
use super::facade::Facade;
use super::peer::Answer;
use super::tool_call;
use super::translate::{Translator, plan};
use super::turns::{Ended, Turns};
use crate::rpc::outbox::Gone;
use crate::session::Subscription;
use crate::session::api::{self, ResolvedEvent, SessionInfo, Update};
use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, CurrentModeUpdate, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SessionInfoUpdate, SessionUpdate, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, UsageUpdate,
};
use plimsoll_core::event::{Ask, AskChoice, EventBody};
use plimsoll_core::id::{AskId, Seq, SessionId};
use plimsoll_core::transcript::item::ItemBody;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A followed session, as the methods see it.
#[derive(Debug)]
pub struct Followed {
    turns: Mutex<Turns>,
    /// Whether a prompt is handed in and not accepted yet: until it is, nobody knows whose the next turn is.
    starting: watch::Sender<bool>,
    /// Ends the following.
    pub left: CancellationToken,
}

impl Followed {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            turns: Mutex::new(Turns::default()),
            starting: watch::channel(false).0,
            left: CancellationToken::new(),
        })
    }

    /// Does something with the prompts.
    pub fn turns<T>(&self, act: impl FnOnce(&mut Turns) -> T) -> T {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let done = act(&mut turns);
        self.starting
            .send_if_modified(|starting| std::mem::replace(starting, turns.is_starting()) != turns.is_starting());
        done
    }

    async fn nothing_starts(&self) {
        // The sender lives as long as this does.
        let _ = self.starting.subscribe().wait_for(|starting| !starting).await;
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
        translator,
        followed: Arc::clone(&followed),
        last: info.last_seq,
        title: info.title,
        mode: info.mode,
        asks: HashMap::new(),
        tasks: JoinSet::new(),
        id,
    };
    tokio::select! {
        end = following.run(&info.open_asks, subscription) => {
            if let Err(error) = end {
                tracing::debug!(%error, session = %following.id, "a session is not followed any more");
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
    title: String,
    mode: String,
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
    async fn run(&mut self, open: &[Ask], mut subscription: Subscription) -> Result<(), End> {
        for ask in open {
            self.ask(ask).await?;
        }
        loop {
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
                    Update::Closed { reason } => {
                        tracing::info!(reason, "a session is followed anew");
                        subscription = self.facade.service.attach(&self.facade.client(), &self.id, self.last).await?;
                        self.translator.followed_anew();
                        break;
                    }
                }
            }
        }
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
                Some(item) => {
                    let own =
                        matches!(item.body, ItemBody::User(_)) && self.followed.turns(|turns| turns.is_own(item.turn));
                    let told = self.translator.item(item, resolved.projection.as_deref(), own);
                    self.tell(told).await?;
                }
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
                let ended = Ended { reason: *reason, message: message.clone() };
                self.followed.turns(|turns| turns.ended(*turn, ended));
            }
            EventBody::SessionChanged => self.changed().await?,
            EventBody::StepStarted { tokens, window, .. } => {
                self.tell([SessionUpdate::UsageUpdate(UsageUpdate::new(*tokens, *window))]).await?;
            }
            EventBody::TurnQueued { .. } | EventBody::StepCompleted { .. } => {}
        }
        Ok(())
    }

    async fn changed(&mut self) -> Result<(), End> {
        let info = self.facade.service.get_session(&self.id).await?;
        if info.mode != self.mode {
            self.mode.clone_from(&info.mode);
            self.tell([SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(info.mode))]).await?;
        }
        if info.title != self.title {
            self.title.clone_from(&info.title);
            self.tell([SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(info.title))]).await?;
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
        let title = self.translator.title(ask.call).unwrap_or(&ask.title);
        let request = permission_request(&self.id, ask, title);
        let pending = self.facade.peer.request(CLIENT_METHOD_NAMES.session_request_permission, &request).await?;
        self.asks.insert(ask.id, pending.id());
        let (facade, id, ask) = (Arc::clone(&self.facade), self.id.clone(), ask.clone());
        self.tasks.spawn(async move {
            let Some(answer) = pending.answer().await else { return };
            match decision(&answer, &ask) {
                Decision::Choice(choice) => facade.answer(&id, ask.id, choice).await,
                Decision::Interrupt => facade.interrupt(&id).await,
                Decision::Nothing if facade.is_only_client() => facade.answer(&id, ask.id, AskChoice::Reject).await,
                Decision::Nothing => tracing::debug!(ask = %ask.id, "left to the other clients"),
            }
        });
        Ok(())
    }
}

/// What an answer of the client means.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Choice(AskChoice),
    Interrupt,
    /// No usable answer.
    Nothing,
}

fn decision(answer: &Answer, ask: &Ask) -> Decision {
    let Ok(result) = answer else { return Decision::Nothing };
    match serde_json::from_str::<RequestPermissionResponse>(result.get()).map(|response| response.outcome) {
        Ok(RequestPermissionOutcome::Cancelled) => Decision::Interrupt,
        Ok(RequestPermissionOutcome::Selected(selected)) => ask
            .options
            .iter()
            .find(|option| option_id(option.kind) == &*selected.option_id.0)
            .map_or(Decision::Nothing, |option| Decision::Choice(option.kind)),
        Ok(_) | Err(_) => Decision::Nothing,
    }
}

fn option_id(choice: AskChoice) -> &'static str {
    match choice {
        AskChoice::AllowOnce => "allow_once",
        AskChoice::AllowSession => "allow_session",
        AskChoice::AllowAlways => "allow_always",
        AskChoice::Reject => "reject",
    }
}

/// Clients merge the call of a question into the call that was announced, so `title` is that one's.
fn permission_request(session: &SessionId, ask: &Ask, title: &str) -> RequestPermissionRequest {
    let options = ask.options.iter().map(|option| {
        let kind = match option.kind {
            AskChoice::AllowOnce => PermissionOptionKind::AllowOnce,
            // Both ways to approve a plan are for this plan.
            AskChoice::AllowSession if ask.plan.is_some() => PermissionOptionKind::AllowOnce,
            AskChoice::AllowSession | AskChoice::AllowAlways => PermissionOptionKind::AllowAlways,
            AskChoice::Reject => PermissionOptionKind::RejectOnce,
        };
        PermissionOption::new(option_id(option.kind), option.label.clone(), kind)
    });
    let mut content = vec![ask.reason.clone().into()];
    content.extend(ask.plan.iter().map(|plan| plan.clone().into()));
    content.extend(diff::content(&ask.changes));
    let mut fields = ToolCallUpdateFields::new()
        .title(title.to_owned())
        .kind(tool_call::kind(&ask.tool))
        .status(ToolCallStatus::Pending)
        .content(content);
    if !ask.changes.is_empty() {
        fields = fields.locations(diff::locations(&ask.changes));
    }
    let call = ToolCallUpdate::new(ask.call.to_string(), fields);
    RequestPermissionRequest::new(session.to_string(), call, options.collect())
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
