//! What one ACP connection has, and which method does what. The methods themselves are beside it, by topic.

use super::conn::{self, Call, Outcome};
use super::error::{self, invalid_params};
use super::initialize::Offers;
use super::peer::Peer;
use super::resume::Resumed;
use super::session::Followed;
use crate::rpc::life::Life;
use crate::session::api::{Answer, Client};
use crate::session::service::Service;
use agent_client_protocol_schema::v1::{AGENT_METHOD_NAMES, Error, ErrorCode, SessionUpdate};
use plimsoll_core::event::AskChoice;
use plimsoll_core::id::{AskId, SessionId};
use plimsoll_protocol::error::ErrorKind;
use plimsoll_protocol::hello::Resume;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;

/// What one connection shares between its calls.
pub struct Facade {
    pub peer: Peer,
    pub service: Service,
    pub(super) life: Life,
    pub(super) client: Mutex<Client>,
    /// What the client can do beyond the base; none before it has said so.
    pub(super) offers: Mutex<Option<Offers>>,
    pub(super) sessions: Mutex<HashMap<SessionId, Arc<Followed>>>,
    /// The sessions that are followed; they end with the connection.
    pub(super) following: Mutex<JoinSet<()>>,
    /// What a surviving bridge had with the daemon before this.
    pub resumed: Resumed,
}

impl std::fmt::Debug for Facade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facade").finish_non_exhaustive()
    }
}

/// Serves one ACP connection until its client leaves or the daemon ends. Turns that it began go on.
pub async fn serve<S>(stream: S, client: Client, resume: Option<Resume>, service: Service, life: Life)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let _count = life.count_client();
    let closing = life.closing();
    let made = (client.clone(), service.clone());
    let (resumed, taken_up) = Resumed::take_up(resume, &client, &service).await;
    conn::run(stream, closing, move |peer| {
        let (client, service) = made;
        resumed.number(&peer);
        let facade = Facade {
            peer,
            service,
            life,
            client: Mutex::new(client),
            offers: Mutex::default(),
            sessions: Mutex::default(),
            following: Mutex::default(),
            resumed,
        };
        let connected = Connected { facade: Arc::new(facade) };
        connected.facade.go_on(taken_up);
        move |call| Arc::clone(&connected.facade).handle(call)
    })
    .await;
    service.disconnected(&client).await;
}

/// Ends what is followed when the connection lets its handler go: each of those tasks holds the facade.
struct Connected {
    facade: Arc<Facade>,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.facade.following.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

impl Facade {
    /// Who calls.
    pub fn client(&self) -> Client {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the client can do beyond the base.
    pub fn offers(&self) -> Offers {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_default()
    }

    /// Whether nobody else is connected to the daemon.
    pub fn is_only_client(&self) -> bool {
        self.life.clients() <= 1
    }

    /// Interrupts the running turn; its end comes as an event.
    pub async fn interrupt(&self, id: &SessionId) {
        if let Err(error) = self.service.cancel(id).await {
            tracing::warn!(%error, session = %id, "a turn could not be interrupted");
        }
    }

    /// Hands in the client's answer to a question. Another answer may have come first.
    pub async fn answer(&self, id: &SessionId, ask: AskId, choice: AskChoice) {
        if let Err(error) = self.service.answer(&self.client(), id, Answer { ask, choice, advice: None }).await {
            tracing::warn!(%error, session = %id, %ask, "an answer could not be handed in");
        }
    }

    /// Tells the client what happened in a session.
    pub(super) async fn tell(
        &self,
        id: &SessionId,
        updates: impl IntoIterator<Item = SessionUpdate>,
    ) -> Result<(), Error> {
        for update in updates {
            let sent = self.peer.update(id.as_str(), update).await;
            sent.map_err(|gone| error::internal(gone.to_string()))?;
        }
        Ok(())
    }

    /// A session that this connection has opened.
    pub(super) fn followed(&self, id: &SessionId) -> Result<Arc<Followed>, Error> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(id).cloned().ok_or_else(|| {
            let message = format!("session {id} is not open on this connection");
            let hint = "call session/new, session/load or session/resume first".to_owned();
            error::of(ErrorCode::ResourceNotFound, ErrorKind::NotFound, message, Some(hint))
        })
    }

    async fn handle(self: Arc<Self>, call: Call) -> Outcome {
        let names = AGENT_METHOD_NAMES;
        let initialized = self.offers.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if call.method != names.initialize && !initialized {
            return Err(error::invalid_request(format!("`{}` before `initialize`", call.method))).into();
        }
        if call.method == names.session_prompt {
            return answer(Box::pin(self.prompt(&call)).await).into();
        }
        // Only a prompt has something to say about its cancelling.
        let cancelled = call.cancelled.clone();
        tokio::select! {
            biased;
            outcome = Box::pin(self.run(&call)) => outcome,
            () = cancelled.cancelled() => Err(error::of(
                ErrorCode::RequestCancelled,
                ErrorKind::Cancelled,
                "the call was cancelled",
                None,
            ))
            .into(),
        }
    }

    async fn run(self: &Arc<Self>, call: &Call) -> Outcome {
        let names = AGENT_METHOD_NAMES;
        let (method, params) = (call.method.as_str(), call.params.as_deref());
        if method == names.initialize {
            answer(read(params).map(|request| self.initialize(&request))).into()
        } else if method == names.authenticate {
            answer(read(params).and_then(|request| super::initialize::authenticate(&request))).into()
        } else if method == names.session_new {
            self.new_session(params, call.key.clone()).await.unwrap_or_else(|error| Err(error).into())
        } else if method == names.session_load {
            self.load_session(params).await.unwrap_or_else(|error| Err(error).into())
        } else if method == names.session_resume {
            self.resume_session(params).await.unwrap_or_else(|error| Err(error).into())
        } else if method == names.session_fork {
            self.fork_session(params, call.key.clone()).await.unwrap_or_else(|error| Err(error).into())
        } else if method == names.session_list {
            answer(self.list_sessions(params).await).into()
        } else if method == names.session_close {
            answer(self.close_session(params).await).into()
        } else if method == names.session_delete {
            answer(self.delete_session(params).await).into()
        } else if method == names.session_set_mode {
            answer(self.set_mode(params).await).into()
        } else if method == names.session_set_config_option {
            answer(self.set_option(params).await).into()
        } else if method == names.session_cancel {
            answer(self.cancel(params).await).into()
        } else {
            if !call.wants_answer {
                tracing::debug!(method, "a notification was ignored");
            }
            let message = format!("there is no method `{method}`");
            Err(error::of(ErrorCode::MethodNotFound, ErrorKind::MethodNotFound, message, None)).into()
        }
    }
}

/// The parameters of a call.
pub(super) fn read<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, Error> {
    let json = params.map_or("{}", RawValue::get);
    serde_json::from_str(json).map_err(|wrong| invalid_params(format!("invalid parameters: {wrong}")))
}

/// The answer to a call.
pub(super) fn answer<T: Serialize>(result: Result<T, Error>) -> Result<Box<RawValue>, Error> {
    serde_json::value::to_raw_value(&result?).map_err(|wrong| error::internal(wrong.to_string()))
}

/// The id of a session.
pub(super) fn session_id(text: &str) -> Result<SessionId, Error> {
    text.parse().map_err(|wrong| invalid_params(format!("`sessionId`: {wrong}")))
}

/// A path that must be absolute.
pub(super) fn absolute(name: &str, path: PathBuf) -> Result<PathBuf, Error> {
    if path.is_absolute() {
        return Ok(path);
    }
    let shown = crate::rpc::path_to_wire(Path::new(&path));
    Err(invalid_params(format!("`{name}`: `{shown}` is not an absolute path")))
}
