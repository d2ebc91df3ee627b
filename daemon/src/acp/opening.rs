//! Opening sessions: new ones, and old ones with or without all that they hold.

use super::conn::Outcome;
use super::error::api;
use super::facade::{Facade, absolute, answer, read, session_id};
use super::modes;
use super::resume::know_open_calls;
use super::session::{Begin, Followed, follow};
use super::translate::{Translator, replay};
use crate::session::api::{NewSession, SessionInfo, TranscriptRange};
use crate::session::service::NewFork;
use agent_client_protocol_schema::v1::{
    Error, ForkSessionRequest, ForkSessionResponse, InitializeRequest, LoadSessionRequest, LoadSessionResponse,
    McpServer, NewSessionRequest, NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse,
};
use futures_util::FutureExt;
use plimsoll_core::id::ItemNo;
use plimsoll_core::transcript::batch::SessionState;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// Items that a load reads at a time.
const LOAD_PAGE: usize = 200;

/// Whether everything that a session holds is told before it is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replay {
    All,
    Nothing,
}

/// What a client says of a session's surroundings, each time anew and in full.
struct Surroundings {
    /// Absolute; the first is the folder that the session works in.
    folders: Vec<PathBuf>,
    servers: Vec<McpServer>,
}

impl Surroundings {
    fn new(cwd: PathBuf, additional: Vec<PathBuf>, servers: Vec<McpServer>) -> Result<Self, Error> {
        let mut folders = vec![absolute("cwd", cwd)?];
        for folder in additional {
            folders.push(absolute("additionalDirectories", folder)?);
        }
        Ok(Self { folders, servers })
    }
}

impl Facade {
    /// Makes a session; again under the same key it is the same one.
    pub(super) async fn new_session(
        self: &Arc<Self>,
        params: Option<&RawValue>,
        key: Option<String>,
    ) -> Result<Outcome, Error> {
        let request: NewSessionRequest = read(params)?;
        let asked = Surroundings::new(request.cwd, request.additional_directories, request.mcp_servers)?;
        let client = self.client();
        let project = self.service.open_project(asked.folders.clone()).await.map_err(api)?;
        let new = NewSession { key, ..NewSession::default() };
        let info = self.service.create_session(&client, &project.key, new).await.map_err(api)?;
        let roots = self.service.as_roots(asked.folders).await;
        let notices = notices(&roots, &info.roots, &asked.servers);
        let response = NewSessionResponse::new(info.id.to_string())
            .modes(modes::state(&info.mode))
            .config_options(self.options(&info).await);
        let begin = self.begin(info, Replay::All, notices).await?;
        Ok(self.followed_after(answer(Ok(response)), begin))
    }

    pub(super) async fn load_session(self: &Arc<Self>, params: Option<&RawValue>) -> Result<Outcome, Error> {
        let request: LoadSessionRequest = read(params)?;
        let asked = Surroundings::new(request.cwd, request.additional_directories, request.mcp_servers)?;
        let begin = self.again(&request.session_id.0, asked, Replay::All).await?;
        let response = LoadSessionResponse::new()
            .modes(modes::state(&begin.info.mode))
            .config_options(self.options(&begin.info).await);
        Ok(self.followed_after(answer(Ok(response)), begin))
    }

    pub(super) async fn resume_session(self: &Arc<Self>, params: Option<&RawValue>) -> Result<Outcome, Error> {
        let request: ResumeSessionRequest = read(params)?;
        let asked = Surroundings::new(request.cwd, request.additional_directories, request.mcp_servers)?;
        let begin = self.again(&request.session_id.0, asked, Replay::Nothing).await?;
        let response = ResumeSessionResponse::new()
            .modes(modes::state(&begin.info.mode))
            .config_options(self.options(&begin.info).await);
        Ok(self.followed_after(answer(Ok(response)), begin))
    }

    /// Makes a session that goes on from another one, which the client has already: nothing is replayed.
    pub(super) async fn fork_session(
        self: &Arc<Self>,
        params: Option<&RawValue>,
        key: Option<String>,
    ) -> Result<Outcome, Error> {
        let request: ForkSessionRequest = read(params)?;
        let asked = Surroundings::new(request.cwd, request.additional_directories, request.mcp_servers)?;
        let id = session_id(&request.session_id.0)?;
        let fork = NewFork { key, ..NewFork::default() };
        let info = self.service.fork_session(&id, fork).await.map_err(api)?;
        let begin = self.again(info.id.as_str(), asked, Replay::Nothing).await?;
        let response = ForkSessionResponse::new(info.id.to_string())
            .modes(modes::state(&begin.info.mode))
            .config_options(self.options(&begin.info).await);
        Ok(self.followed_after(answer(Ok(response)), begin))
    }

    /// Opens a session that exists.
    async fn again(&self, id: &str, asked: Surroundings, replay: Replay) -> Result<Begin, Error> {
        let id = session_id(id)?;
        let mut info = self.service.get_session(&id).await.map_err(api)?;
        let roots = self.service.as_roots(asked.folders).await;
        if roots != info.roots && roots.first() == info.roots.first() {
            // The folders beside the first are the project's, and the client says them in full. What was said in the
            // session can be read also where they cannot be set.
            match self.service.open_project(roots.clone()).await {
                Ok(_) => info = self.service.get_session(&id).await.map_err(api)?,
                Err(error) => tracing::warn!(%error, session = %id, "a project's folders could not be set"),
            }
        }
        let notices = notices(&roots, &info.roots, &asked.servers);
        self.begin(info, replay, notices).await
    }

    /// Attaches to a session, and tells what it holds.
    async fn begin(&self, info: SessionInfo, replay: Replay, notices: Vec<String>) -> Result<Begin, Error> {
        let client = self.client();
        let subscription = self.service.attach(&client, &info.id, info.last_seq).await.map_err(api)?;
        let mut translator = Translator::new(info.roots.first().cloned());
        match replay {
            Replay::All => self.replay(&info, &mut translator).await?,
            Replay::Nothing => know_open_calls(&self.service, &info, &mut translator).await.map_err(api)?,
        }
        let followed = Followed::new();
        followed.add_notices(notices);
        Ok(Begin { id: info.id.clone(), info, subscription, translator, followed })
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
            // What left the model's view is no part of the conversation that is gone on with.
            let out = &page.out;
            page.items.retain(|item| !out.contains(item.no));
            let projections: HashMap<_, _> =
                page.projections.iter().map(|(call, text)| (*call, text.as_str())).collect();
            let told = replay(translator, &page.items, &projections);
            self.tell(&info.id, told).await?;
        }
        match info.state {
            // A running turn will end its calls itself.
            SessionState::Running | SessionState::Waiting => Ok(()),
            SessionState::Idle | SessionState::Interrupted => self.tell(&info.id, translator.settle()).await,
        }
    }

    /// Goes on where a daemon before this ended.
    pub(super) fn go_on(self: &Arc<Self>, taken_up: Vec<Begin>) {
        if let Some(Ok(request)) = self.resumed.initialize().map(|params| read::<InitializeRequest>(Some(params))) {
            self.initialize(&request);
        }
        for begin in taken_up {
            if let Some(then) = self.followed_after(answer(Ok(())), begin).then {
                self.following.lock().unwrap_or_else(PoisonError::into_inner).spawn(then);
            }
        }
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
}

/// What the user has to be told of a session's surroundings: what the client asked for and does not get.
fn notices(asked: &[PathBuf], has: &[PathBuf], servers: &[McpServer]) -> Vec<String> {
    let mut notices = Vec::new();
    if asked.first() == has.first() {
        let rest = |all: &[PathBuf], but: &[PathBuf]| -> Vec<PathBuf> {
            all.iter().filter(|one| !but.contains(one)).cloned().collect()
        };
        let (missing, more) = (rest(asked, has), rest(has, asked));
        if !missing.is_empty() {
            let folders = listed(missing.iter().map(PathBuf::as_path));
            notices.push(format!("This session does not work in {folders}, which the editor named."));
        }
        if !more.is_empty() {
            let folders = listed(more.iter().map(PathBuf::as_path));
            notices.push(format!("This session also works in {folders}, which the editor did not name."));
        }
    } else {
        notices.push(format!(
            "This session works in {}, not in {}.",
            listed(has.first().map(PathBuf::as_path)),
            listed(asked.first().map(PathBuf::as_path))
        ));
    }
    if !servers.is_empty() {
        let names: Vec<String> = servers.iter().map(|server| format!("`{}`", name(server))).collect();
        notices.push(format!(
            "Plimsoll does not use MCP servers yet; the tools of {} are not there for this session.",
            names.join(", ")
        ));
    }
    notices
}

fn listed<'a>(paths: impl IntoIterator<Item = &'a Path>) -> String {
    let paths: Vec<String> = paths.into_iter().map(|path| format!("`{}`", crate::rpc::path_to_wire(path))).collect();
    paths.join(", ")
}

fn name(server: &McpServer) -> &str {
    match server {
        McpServer::Http(server) => &server.name,
        McpServer::Sse(server) => &server.name,
        McpServer::Stdio(server) => &server.name,
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(asked: &[&str], has: &[&str], servers: serde_json::Value) -> Vec<String> {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
        notices(&paths(asked), &paths(has), &serde_json::from_value::<Vec<McpServer>>(servers).unwrap())
    }

    #[test]
    fn what_a_client_asked_for_and_does_not_get_is_told() {
        assert_eq!(told(&["/a", "/b"], &["/a", "/b"], json!([])), Vec::<String>::new());
        assert_eq!(told(&["/b"], &["/a"], json!([])), ["This session works in `/a`, not in `/b`."]);
        assert_eq!(
            told(&["/a", "/b", "/c"], &["/a", "/d"], json!([])),
            [
                "This session does not work in `/b`, `/c`, which the editor named.",
                "This session also works in `/d`, which the editor did not name.",
            ]
        );
        let servers = json!([
            {"name": "files", "command": "/bin/files", "args": [], "env": []},
            {"type": "http", "name": "web", "url": "http://127.0.0.1:1", "headers": []},
        ]);
        assert_eq!(
            told(&["/a"], &["/a"], servers),
            ["Plimsoll does not use MCP servers yet; the tools of `files`, `web` are not there for this session."]
        );
    }
}
