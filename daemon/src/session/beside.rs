//! What a compaction asks of a session's actor: the history as it is stored, and requests beside the conversation. Both go on
//! beside a turn's own work, and also where no turn runs: then the session counts as busy until they are over.

use super::api::{ApiError, ApiErrorKind, Client};
use super::driver::{Driver, FAULT};
use super::setup::{Project, TurnSetup, canonical};
use super::tasks::{Mailbox, tell};
use crate::config::Config;
use crate::provider::endpoint::{Endpoint, Secret};
use crate::provider::{Http, address};
use crate::store::ProjectStore;
use plimsoll_core::compaction::Settings;
use plimsoll_core::id::{ItemNo, SessionId, SideNo};
use plimsoll_core::model::error::{ErrorClass, ModelError};
use plimsoll_core::model::event::ModelEvent;
use plimsoll_core::path::escape;
use plimsoll_core::turn::effect::SideCall;
use plimsoll_core::turn::input::InputBody;
use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Answered once a compaction that was asked for has begun, or cannot.
type Asked = oneshot::Sender<Result<(), ApiError>>;

/// What goes on beside a session's turns.
#[derive(Default)]
pub(super) struct Beside {
    /// What it works with: that of the turn in which it began, or of the client that asked for it.
    setup: Option<Box<TurnSetup>>,
    /// The history is being read.
    reads: bool,
    request: Option<(SideNo, CancellationToken)>,
    asked: VecDeque<Asked>,
}

/// Who writes summaries, when the session's own model does not.
#[derive(Clone)]
pub(super) struct Summariser {
    endpoint: Endpoint,
    key: Option<Secret>,
}

impl Project {
    /// When and how far this client's sessions are shortened, and who writes summaries. A model that cannot be used for them is
    /// a warning: then the session's own does it.
    pub(super) async fn compaction(
        &self,
        client: &Client,
        config: &Config,
        own: &Endpoint,
        warnings: &mut Vec<String>,
    ) -> (Settings, Option<Box<Summariser>>) {
        let settings = config.compaction(address::is_on_this_machine(&own.base_url));
        let why = match config.summary_model() {
            Ok(None) => return (settings, None),
            Ok(Some((profile, endpoint))) => match self.shared.key(client, &endpoint).await {
                Ok(key) => {
                    let settings = config.compaction(address::is_on_this_machine(&endpoint.base_url));
                    let settings = Settings { summary_model: Some(Box::new(profile)), ..settings };
                    return (settings, Some(Box::new(Summariser { endpoint, key })));
                }
                Err(error) => error.message,
            },
            Err(error) => error.to_string(),
        };
        warnings.push(format!("context.summary_model is not used; the session's own model writes summaries: {why}"));
        (settings, None)
    }
}

impl Driver {
    /// Whether something goes on beside the turns.
    pub(super) fn works_beside(&self) -> bool {
        self.beside.reads || self.beside.request.is_some()
    }

    /// What a compaction works with that goes on where no turn runs.
    pub(super) fn compacts_with(&self) -> Option<&TurnSetup> {
        self.beside.setup.as_deref()
    }

    /// A client asks for a compaction. Begun at once; where a turn runs, before its next request.
    pub(super) async fn compact(&mut self, setup: Result<TurnSetup, ApiError>, focus: Option<String>, reply: Asked) {
        let setup = match setup {
            Ok(setup) => setup,
            Err(error) => return drop(reply.send(Err(error))),
        };
        if let Err(error) = self.machine(&setup).await {
            return drop(reply.send(Err(error)));
        }
        if !self.works_beside() {
            self.beside.setup = Some(Box::new(setup));
        }
        self.beside.asked.push_back(reply);
        self.count();
        self.input(InputBody::Compact { focus }).await;
        // A store that did not follow has answered already.
        if let Err(error) = self.stored() {
            self.refuse_compaction(&error);
        }
    }

    /// What was asked for has begun, or why it cannot.
    pub(super) fn compaction_taken(&mut self, result: Result<(), String>) {
        // Without somebody who waits for it, it was asked of a machine before this one.
        let Some(reply) = self.beside.asked.pop_front() else { return };
        let told = result.map_err(|why| {
            ApiError::new(ApiErrorKind::Conflict, why)
                .hint("context/inspect (`plimsoll inspect`) shows what the next request is made of")
        });
        let _ = reply.send(told);
    }

    /// Tells everybody who waits for the beginning of a compaction that none begins.
    pub(super) fn refuse_compaction(&mut self, why: &ApiError) {
        for reply in std::mem::take(&mut self.beside.asked) {
            let _ = reply.send(Err(why.clone()));
        }
    }

    /// Ends what goes on beside the turns; the view stays as it is.
    pub(super) fn drop_beside(&mut self) {
        if let Some((_, cancel)) = self.beside.request.take() {
            cancel.cancel();
        }
        let gone = ApiError::new(ApiErrorKind::Conflict, "the session was loaded anew before a compaction began")
            .hint("ask for it again");
        self.refuse_compaction(&gone);
        self.beside = Beside::default();
    }

    /// Notes what is over.
    pub(super) fn beside_ended(&mut self, body: &InputBody) {
        match body {
            InputBody::History(_) => self.beside.reads = false,
            InputBody::Side { no, event: ModelEvent::Finished(_) } | InputBody::SideFailed { no, .. } => {
                self.beside.request.take_if(|(running, _)| running == no);
            }
            _ => {}
        }
    }

    /// Begins to read the history; the machine gets `Input::History`.
    pub(super) fn load_history(&mut self, from: ItemNo) {
        self.keep_setup();
        self.beside.reads = true;
        let (store, id) = (self.store.clone(), self.id.clone());
        let owed = InputBody::History(Box::new(Err(format!("the history could not be read: {FAULT}"))));
        self.spawn(owed, |mailbox| load_history(store, id, from, mailbox));
    }

    /// Sends a request; the machine gets its events.
    pub(super) fn call_side(&mut self, call: SideCall) {
        self.keep_setup();
        let (no, cancel) = (call.no, CancellationToken::new());
        self.beside.request = Some((no, cancel.clone()));
        let message = format!("The model's answer could not be read: {FAULT}.");
        let failed = InputBody::SideFailed { no, error: ModelError::new(ErrorClass::Protocol, message) };
        let model = self.beside.setup.as_ref().and_then(|setup| match (call.other_model, &setup.summariser) {
            (false, _) => Some((setup.endpoint.clone(), setup.key.clone())),
            (true, other) => other.as_ref().map(|other| (other.endpoint.clone(), other.key.clone())),
        });
        if let Some((endpoint, key)) = model {
            let http = Arc::clone(&self.project.shared.http);
            let ask = Ask { endpoint, key, call, cancel };
            self.spawn(failed, |mailbox| send(http, ask, mailbox));
        } else {
            tracing::error!(session = %self.id, "a request beside the conversation has nothing to be sent with");
            self.spawn(failed.clone(), |mailbox| tell(mailbox, failed));
        }
    }

    /// Drops a request.
    pub(super) fn stop_side(&mut self, no: SideNo) {
        if let Some((_, cancel)) = self.beside.request.take_if(|(running, _)| *running == no) {
            cancel.cancel();
        }
    }

    /// It goes on with what the running turn works with, also when that has ended.
    fn keep_setup(&mut self) {
        if let Some(running) = &self.running {
            self.beside.setup = Some(Box::new(running.clone()));
        }
    }

    /// Nothing goes on: what it worked with is not needed any more.
    pub(super) fn rest_beside(&mut self) {
        self.beside.setup = None;
    }
}

/// The path of a session's mirror as the model reads it.
pub(super) fn transcript_path(store: &ProjectStore, id: &SessionId) -> String {
    escape(canonical(&store.mirror_path(id)).as_os_str().as_bytes())
}

async fn load_history(store: ProjectStore, id: SessionId, from: ItemNo, mailbox: Mailbox) {
    // What is left out of the view must be there to be read before it is left out.
    let found = match store.settle_mirror(&id).await {
        Ok(()) => store.history(&id, from).await,
        Err(error) => Err(error),
    };
    let found = found.map_err(|error| {
        tracing::warn!(session = %id, %error, "the history could not be read for a compaction");
        error.to_string()
    });
    let found = found.map(|history| {
        let transcript = transcript_path(&store, &id);
        plimsoll_core::compaction::history::History { transcript, ..history }
    });
    tell(mailbox, InputBody::History(Box::new(found))).await;
}

/// A request with whom it is sent to.
struct Ask {
    endpoint: Endpoint,
    key: Option<Secret>,
    call: SideCall,
    cancel: CancellationToken,
}

async fn send(http: Arc<Http>, ask: Ask, mailbox: Mailbox) {
    let Ask { endpoint, key, call: SideCall { no, body, .. }, cancel } = ask;
    // Nobody watches it being written: it is handed over at its end.
    let mut events: Vec<ModelEvent> = Vec::new();
    let result = http.call(&endpoint, key.as_ref(), body, cancel.clone(), |more| events.extend(more)).await;
    // Whoever cancelled does not wait for an answer.
    if cancel.is_cancelled() {
        return;
    }
    let mut inputs: Vec<InputBody> = events.into_iter().map(|event| InputBody::Side { no, event }).collect();
    if let Err(error) = result {
        inputs.push(InputBody::SideFailed { no, error });
    }
    mailbox.send(inputs).await;
}
