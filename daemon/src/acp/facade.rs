//! The methods of the Agent Client Protocol, on the service.

use super::conn::{self, Call, Outcome};
use super::error::{self, api, invalid_params};
use super::peer::Peer;
use super::session::{Begin, Followed, follow};
use super::translate::{Translator, replay};
use super::turns::Ended;
use super::{modes, prompt};
use crate::rpc::life::Life;
use crate::session::api::{Answer, Beside, Client, NewSession, SessionInfo, TranscriptRange, WhenBusy};
use crate::session::service::Service;
use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, AgentCapabilities, AuthenticateRequest, CancelNotification, Error, ErrorCode, Implementation,
    InitializeRequest, InitializeResponse, LoadSessionRequest, LoadSessionResponse, NewSessionRequest,
    NewSessionResponse, PromptCapabilities, PromptRequest, PromptResponse, SetSessionModeRequest,
    SetSessionModeResponse, StopReason,
};
use futures_util::FutureExt;
use plimsoll_core::event::{AskChoice, TurnEnd};
use plimsoll_core::id::{AskId, ItemNo, SessionId, TurnNo};
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_protocol::error::ErrorKind;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;

/// Items that a load reads at a time.
const LOAD_PAGE: usize = 200;

/// What one connection shares between its calls.
pub struct Facade {
    pub peer: Peer,
    pub service: Service,
    life: Life,
    client: Mutex<Client>,
    initialized: AtomicBool,
    sessions: Mutex<HashMap<SessionId, Arc<Followed>>>,
    /// The sessions that are followed; they end with the connection.
    following: Mutex<JoinSet<()>>,
}

impl std::fmt::Debug for Facade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facade").finish_non_exhaustive()
    }
}

/// Serves one ACP connection until its client leaves or the daemon ends. Turns that it began go on.
pub async fn serve<S>(stream: S, client: Client, service: Service, life: Life)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let _count = life.count_client();
    let closing = life.closing();
    let made = (client.clone(), service.clone());
    conn::run(stream, closing, move |peer| {
        let (client, service) = made;
        let facade = Facade {
            peer,
            service,
            life,
            client: Mutex::new(client),
            initialized: AtomicBool::new(false),
            sessions: Mutex::default(),
            following: Mutex::default(),
        };
        let connected = Connected { facade: Arc::new(facade) };
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

    async fn handle(self: Arc<Self>, call: Call) -> Outcome {
        let names = AGENT_METHOD_NAMES;
        let method = call.method.clone();
        if method != names.initialize && !self.initialized.load(Ordering::Acquire) {
            return Err(error::invalid_request(format!("`{method}` before `initialize`"))).into();
        }
        if method == names.session_prompt {
            return answer(self.prompt(&call).await).into();
        }
        // Only a prompt has something to say about its cancelling.
        let cancelled = call.cancelled.clone();
        let run = async {
            let params = call.params.as_deref();
            if method == names.initialize {
                answer(read(params).map(|request| self.initialize(&request))).into()
            } else if method == names.authenticate {
                answer(read(params).and_then(|request| authenticate(&request))).into()
            } else if method == names.session_new {
                self.new_session(params).await.unwrap_or_else(|error| Err(error).into())
            } else if method == names.session_load {
                self.load_session(params).await.unwrap_or_else(|error| Err(error).into())
            } else if method == names.session_set_mode {
                answer(self.set_mode(params).await).into()
            } else if method == names.session_cancel {
                answer(self.cancel(params).await).into()
            } else {
                if !call.wants_answer {
                    tracing::debug!(method, "a notification was ignored");
                }
                let message = format!("there is no method `{method}`");
                Err(error::of(ErrorCode::MethodNotFound, ErrorKind::MethodNotFound, message, None)).into()
            }
        };
        tokio::select! {
            biased;
            outcome = run => outcome,
            () = cancelled.cancelled() => Err(error::of(
                ErrorCode::RequestCancelled,
                ErrorKind::Cancelled,
                "the call was cancelled",
                None,
            ))
            .into(),
        }
    }

    fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        if let Some(info) = &request.client_info {
            self.client.lock().unwrap_or_else(PoisonError::into_inner).name.clone_from(&info.name);
        }
        self.initialized.store(true, Ordering::Release);
        initialized(&self.life.identity().version)
    }

    async fn new_session(self: &Arc<Self>, params: Option<&RawValue>) -> Result<Outcome, Error> {
        let request: NewSessionRequest = read(params)?;
        if !request.mcp_servers.is_empty() {
            tracing::warn!(servers = request.mcp_servers.len(), "MCP servers of the client are not used yet");
        }
        let mut roots = vec![absolute("cwd", request.cwd)?];
        for folder in request.additional_directories {
            roots.push(absolute("additionalDirectories", folder)?);
        }
        let client = self.client();
        let project = self.service.open_project(roots).await.map_err(api)?;
        let info = self.service.create_session(&client, &project.key, NewSession::default()).await.map_err(api)?;
        let subscription = self.service.attach(&client, &info.id, info.last_seq).await.map_err(api)?;
        let translator = Translator::new(info.roots.first().cloned());
        let response = NewSessionResponse::new(info.id.to_string()).modes(modes::state(&info.mode));
        let begin = Begin { id: info.id.clone(), info, subscription, translator, followed: Followed::new() };
        Ok(self.followed_after(answer(Ok(response)), begin))
    }

    async fn load_session(self: &Arc<Self>, params: Option<&RawValue>) -> Result<Outcome, Error> {
        let request: LoadSessionRequest = read(params)?;
        let id = session_id(&request.session_id.0)?;
        absolute("cwd", request.cwd)?;
        let info = self.service.get_session(&id).await.map_err(api)?;
        let subscription = self.service.attach(&self.client(), &id, info.last_seq).await.map_err(api)?;
        let mut translator = Translator::new(info.roots.first().cloned());
        self.replay(&info, &mut translator).await?;
        let response = LoadSessionResponse::new().modes(modes::state(&info.mode));
        let begin = Begin { id, info, subscription, translator, followed: Followed::new() };
        Ok(self.followed_after(answer(Ok(response)), begin))
    }

    /// Tells everything up to the session's last item, as it was live.
    async fn replay(&self, info: &SessionInfo, translator: &mut Translator) -> Result<(), Error> {
        let mut after = ItemNo(0);
        while after.0 < info.items {
            let range = TranscriptRange::After { after, limit: LOAD_PAGE };
            let mut page = self.service.read_transcript(&info.id, range).await.map_err(api)?;
            // What came meanwhile is told by the subscription.
            page.items.retain(|item| item.no.0 <= info.items);
            let Some(last) = page.items.last() else { break };
            after = last.no;
            let projections: HashMap<_, _> =
                page.projections.iter().map(|(call, text)| (*call, text.as_str())).collect();
            let told = replay(translator, &page.items, &projections);
            self.tell(info, told).await?;
        }
        match info.state {
            // A running turn will end its calls itself.
            SessionState::Running | SessionState::Waiting => Ok(()),
            SessionState::Idle | SessionState::Interrupted => self.tell(info, translator.settle()).await,
        }
    }

    async fn tell(
        &self,
        info: &SessionInfo,
        told: Vec<agent_client_protocol_schema::v1::SessionUpdate>,
    ) -> Result<(), Error> {
        for update in told {
            let sent = self.peer.update(info.id.as_str(), update).await;
            sent.map_err(|gone| error::internal(gone.to_string()))?;
        }
        Ok(())
    }

    /// An answer after which a session is followed. Prompts find it at once, updates of it come after the answer.
    fn followed_after(self: &Arc<Self>, answer: Result<Box<RawValue>, Error>, begin: Begin) -> Outcome {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = sessions.insert(begin.id.clone(), Arc::clone(&begin.followed)) {
            before.left.cancel();
        }
        let facade = Arc::clone(self);
        let then = async move {
            let task = follow(Arc::clone(&facade), begin);
            let mut following = facade.following.lock().unwrap_or_else(PoisonError::into_inner);
            while following.try_join_next().is_some() {}
            following.spawn(task);
        };
        Outcome { answer, then: Some(then.boxed()) }
    }

    fn followed(&self, id: &SessionId) -> Result<Arc<Followed>, Error> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(id).cloned().ok_or_else(|| {
            let message = format!("session {id} is not open on this connection");
            let hint = "call session/new or session/load first".to_owned();
            error::of(ErrorCode::ResourceNotFound, ErrorKind::NotFound, message, Some(hint))
        })
    }

    /// Runs a prompt to its end.
    async fn prompt(&self, call: &Call) -> Result<PromptResponse, Error> {
        let request: PromptRequest = read(call.params.as_deref())?;
        let id = session_id(&request.session_id.0)?;
        let (text, attachments) = prompt::read(&request.prompt)?;
        let followed = self.followed(&id)?;
        followed.turns(super::turns::Turns::starting);
        let beside = Beside { attachments, ..Beside::default() };
        let accepted = self.service.start_turn_with(&self.client(), &id, text, None, WhenBusy::Queue, beside).await;
        let turn = match accepted {
            Ok(accepted) => accepted.turn,
            Err(error) => {
                followed.turns(super::turns::Turns::refused);
                return Err(api(error));
            }
        };
        let ended = followed.turns(|turns| turns.accepted(turn));
        tokio::select! {
            ended = ended => match ended {
                Ok(ended) => prompt_end(ended),
                Err(_) => Err(error::internal("the session was deleted, loaded anew, or the daemon ends")),
            },
            never = self.cancel_with(call, &id, turn, &followed) => match never {},
        }
    }

    /// Interrupts a turn when its call is cancelled. The turn's end answers the call.
    async fn cancel_with(
        &self,
        call: &Call,
        id: &SessionId,
        turn: TurnNo,
        followed: &Followed,
    ) -> std::convert::Infallible {
        call.cancelled.cancelled().await;
        if followed.turns(|turns| turns.cancel(turn)) {
            self.interrupt(id).await;
        }
        std::future::pending().await
    }

    async fn cancel(&self, params: Option<&RawValue>) -> Result<(), Error> {
        let request: CancelNotification = read(params)?;
        let id = session_id(&request.session_id.0)?;
        if self.followed(&id)?.turns(super::turns::Turns::cancel_all) {
            self.interrupt(&id).await;
        }
        Ok(())
    }

    async fn set_mode(&self, params: Option<&RawValue>) -> Result<SetSessionModeResponse, Error> {
        let request: SetSessionModeRequest = read(params)?;
        let id = session_id(&request.session_id.0)?;
        self.service.set_mode(&id, &request.mode_id.0).await.map_err(api)?;
        Ok(SetSessionModeResponse::new())
    }
}

/// What this agent says of itself. The only version that it speaks is 1, whatever the client asked for.
fn initialized(version: &str) -> InitializeResponse {
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().embedded_context(true).image(true));
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(Implementation::new("plimsoll", version.to_owned()).title("Plimsoll".to_owned()))
}

/// No login is offered: keys are configured where the daemon runs.
fn authenticate(request: &AuthenticateRequest) -> Result<(), Error> {
    let message = format!("`methodId`: there is no authentication method `{}`; none is offered", request.method_id.0);
    let hint = "set the key of the configured model in the daemon's configuration or environment".to_owned();
    Err(error::of(ErrorCode::InvalidParams, ErrorKind::InvalidParams, message, Some(hint)))
}

/// How a turn's end answers its prompt.
fn prompt_end(ended: Ended) -> Result<PromptResponse, Error> {
    let reason = match ended.reason {
        TurnEnd::EndTurn => StopReason::EndTurn,
        TurnEnd::MaxTokens => StopReason::MaxTokens,
        TurnEnd::MaxSteps | TurnEnd::Limit => StopReason::MaxTurnRequests,
        TurnEnd::Refusal => StopReason::Refusal,
        TurnEnd::Cancelled => StopReason::Cancelled,
        TurnEnd::ModelError | TurnEnd::StoreError | TurnEnd::Crashed | TurnEnd::Internal => {
            return Err(error::internal(ended.message.unwrap_or_else(|| "the turn failed".to_owned())));
        }
    };
    Ok(PromptResponse::new(reason))
}

fn read<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, Error> {
    let json = params.map_or("{}", RawValue::get);
    serde_json::from_str(json).map_err(|wrong| invalid_params(format!("invalid parameters: {wrong}")))
}

fn answer<T: Serialize>(result: Result<T, Error>) -> Result<Box<RawValue>, Error> {
    serde_json::value::to_raw_value(&result?).map_err(|wrong| error::internal(wrong.to_string()))
}

fn session_id(text: &str) -> Result<SessionId, Error> {
    text.parse().map_err(|wrong| invalid_params(format!("`sessionId`: {wrong}")))
}

fn absolute(name: &str, path: PathBuf) -> Result<PathBuf, Error> {
    if path.is_absolute() {
        return Ok(path);
    }
    let shown = crate::rpc::path_to_wire(Path::new(&path));
    Err(invalid_params(format!("`{name}`: `{shown}` is not an absolute path")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn version_one_is_spoken_and_nothing_is_claimed_that_is_not_there() {
        let asked: InitializeRequest = serde_json::from_value(json!({"protocolVersion": 7})).unwrap();
        assert_eq!(asked.protocol_version.as_u16(), 7);
        let said = serde_json::to_value(initialized("0.1.0")).unwrap();
        let capabilities = &said["agentCapabilities"];
        assert_eq!(
            (&said["protocolVersion"], &said["agentInfo"]["name"], &said["authMethods"]),
            (&json!(1), &json!("plimsoll"), &json!([]))
        );
        assert_eq!(
            (&capabilities["loadSession"], &capabilities["promptCapabilities"]),
            (&json!(true), &json!({"image": true, "audio": false, "embeddedContext": true}))
        );
        assert_eq!(capabilities["mcpCapabilities"], json!({"http": false, "sse": false}));
        assert!(
            read::<InitializeRequest>(Some(&RawValue::from_string(r#"{"protocolVersion":"1"}"#.into()).unwrap()))
                .is_err()
        );
    }

    #[test]
    fn ends_of_turns_become_stop_reasons_or_errors() {
        let end = |reason| prompt_end(Ended { reason, message: Some("why".into()) });
        let reason = |reason| serde_json::to_value(end(reason).unwrap()).unwrap()["stopReason"].clone();
        assert_eq!(
            [TurnEnd::EndTurn, TurnEnd::MaxTokens, TurnEnd::MaxSteps, TurnEnd::Refusal, TurnEnd::Cancelled].map(reason),
            [json!("end_turn"), json!("max_tokens"), json!("max_turn_requests"), json!("refusal"), json!("cancelled")]
        );
        let error = end(TurnEnd::ModelError).unwrap_err();
        assert_eq!((i32::from(error.code), error.message), (-32603, "why".to_owned()));
    }

    #[test]
    fn a_login_is_refused_with_what_to_do_instead() {
        let error = authenticate(&AuthenticateRequest::new("x")).unwrap_err();
        assert_eq!(i32::from(error.code), -32602);
        assert!(error.data.unwrap()["hint"].as_str().unwrap().contains("key"));
    }
}
