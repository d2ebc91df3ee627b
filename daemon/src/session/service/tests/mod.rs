//! Sessions with a real store on a temporary folder, a model server made by hand, and a command that does what the test
//! says.

mod cut;
mod life;
mod permissions;
mod turns;
mod undo;

use super::*;
use crate::session::api::{Answer, NewSession, Update};
use crate::tool::{ToolEnv, ToolRun};
use futures_util::future::BoxFuture;
use plimsoll_core::event::{Event, EventBody, TurnEnd};
use plimsoll_core::id::{CallId, TurnNo};
use plimsoll_core::path::WorkspacePath;
use plimsoll_core::permission::rule::{Rule, Scope, Verdict};
use plimsoll_core::tool::call::{Call, Prepared, Target, Zone};
use plimsoll_core::tool::outcome::{Body, Outcome, Status};
use plimsoll_core::transcript::item::{Item, ItemBody};
use serde_json::json;
use std::future::Future;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

/// A test that hangs fails instead.
const PATIENCE: Duration = Duration::from_mins(1);

async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

/// A command that waits until the test gives its outcome, or until it is stopped and the test lets it end.
struct Command {
    started: mpsc::UnboundedSender<Started>,
}

struct Started {
    cancel: tokio_util::sync::CancellationToken,
    end: oneshot::Sender<Status>,
}

impl Tool for Command {
    fn name(&self) -> &'static str {
        "run_terminal_cmd"
    }

    fn prepare<'a>(&'a self, call: &'a Call, _env: &'a ToolEnv) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(async move {
            let command = call.args["command"].as_str().map(str::to_owned);
            assert!(command.as_deref() != Some("panic in prepare"));
            let targets = vec![Target { path: "/w".into(), zone: Zone::Root(WorkspacePath::new(0, "")) }];
            Ok(Prepared { targets, command, title: "a command".into(), ..Prepared::default() })
        })
    }

    fn run<'a>(&'a self, run: ToolRun<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            assert!(run.prepared.command.as_deref() != Some("panic"));
            let (end, ended) = oneshot::channel();
            self.started.send(Started { cancel: run.cancel.clone(), end }).unwrap();
            let status = ended.await.unwrap();
            Outcome { status, body: Body::Text("what it said".into()) }
        })
    }
}

/// One request that reached the model server.
struct Request {
    body: String,
    stream: TcpStream,
}

impl Request {
    /// Sends these bytes of an event stream.
    async fn send(&mut self, bytes: &str) {
        // Whoever interrupts the turn closes the connection.
        let _ = self.stream.write_all(bytes.as_bytes()).await;
    }

    async fn text(&mut self, text: &str) {
        let delta = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
        self.send(&format!("data: {delta}\n\n")).await;
    }

    async fn end(mut self, reason: &str) {
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10}});
        self.send(&format!("data: {end}\n\ndata: [DONE]\n\n")).await;
    }

    async fn say(mut self, text: &str) {
        self.text(text).await;
        self.end("stop").await;
    }

    async fn call(mut self, tool: &str, arguments: &str) {
        let function = json!({"name": tool, "arguments": arguments});
        let call = json!({"index": 0, "id": "x", "type": "function", "function": function});
        self.send(&format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))).await;
        self.end("tool_calls").await;
    }

    async fn run(self, command: &str) {
        self.call("run_terminal_cmd", &json!({"command": command}).to_string()).await;
    }
}

async fn model_server() -> (u16, mpsc::UnboundedReceiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, requests) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(read_request(stream, tell.clone()));
        }
    });
    (port, requests)
}

async fn read_request(mut stream: TcpStream, tell: mpsc::UnboundedSender<Request>) {
    let mut bytes = Vec::new();
    loop {
        let mut piece = vec![0; 64 << 10];
        let Some(count) = stream.read(&mut piece).await.ok().filter(|count| *count > 0) else { return };
        bytes.extend_from_slice(&piece[..count]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length: usize =
            head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
        if bytes.len() == end + 4 + length {
            let body = String::from_utf8(bytes.split_off(end + 4)).unwrap();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).await.unwrap();
            let _ = tell.send(Request { body, stream });
            return;
        }
    }
}

/// A daemon's sessions, one of them made.
struct Place {
    temp: tempfile::TempDir,
    folders: Folders,
    service: Service,
    id: SessionId,
    key: ProjectKey,
    models: mpsc::UnboundedReceiver<Request>,
    commands: mpsc::UnboundedReceiver<Started>,
}

fn client() -> Client {
    Client { connection: 1, name: "test".into(), ..Client::default() }
}

impl Place {
    /// A session in mode `full`.
    async fn new() -> Self {
        Self::with_mode("full").await
    }

    async fn with_mode(mode: &str) -> Self {
        let (port, models) = model_server().await;
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        let folders =
            Folders { config: at("config"), data: at("data"), runtime: at("run"), managed: at("managed.toml") };
        folders.ensure_data().unwrap();
        std::fs::create_dir_all(&folders.config).unwrap();
        std::fs::create_dir_all(at("work")).unwrap();
        let config = format!(
            "model = \"local/small\"\n[providers.local]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n\
             [providers.local.models.small]\ncontext_window = 200000\nmax_output = 4096\n"
        );
        std::fs::write(folders.config.join("config.toml"), config).unwrap();
        let (service, commands) = service(&folders).await;
        let project = service.open_project(vec![at("work")]).await.unwrap();
        let new = NewSession { mode: Some(mode.to_owned()), ..NewSession::default() };
        let session = service.create_session(&client(), &project.key, new).await.unwrap();
        Self { temp, folders, service, id: session.id, key: project.key, models, commands }
    }

    async fn store(&self) -> ProjectStore {
        self.service.store(&self.key).await.unwrap()
    }

    /// The daemon ends well, and another begins.
    async fn restart(&mut self) {
        soon("the shutdown", self.service.shutdown(CloseReason::DaemonEnds)).await;
        (self.service, self.commands) = service(&self.folders).await;
    }

    async fn prompt(&self, text: &str) -> Result<AcceptedTurn, ApiError> {
        let client = client();
        let start = self.service.start_turn(&client, &self.id, text.to_owned(), None, WhenBusy::Queue);
        soon("the prompt to be taken", start).await
    }

    async fn keyed(&self, text: &str, key: &str) -> AcceptedTurn {
        let key = Some(key.to_owned());
        let client = client();
        let start = self.service.start_turn(&client, &self.id, text.to_owned(), key, WhenBusy::Queue);
        soon("the prompt to be taken", start).await.unwrap()
    }

    async fn request(&mut self) -> Request {
        soon("a model request", self.models.recv()).await.unwrap()
    }

    async fn command(&mut self) -> Started {
        soon("a command to start", self.commands.recv()).await.unwrap()
    }

    async fn follow(&self) -> Follower {
        let subscription = self.service.attach(&client(), &self.id, Seq(0)).await.unwrap();
        Follower { subscription, events: Vec::new() }
    }

    async fn handle(&self) -> Handle {
        self.service.live(&self.id).await.unwrap()
    }

    /// Everything that the store has.
    async fn stored(&self) -> (Vec<Event>, Vec<Item>) {
        let store = self.store().await;
        let events = store.events(&self.id, Seq(0), 100_000).await.unwrap();
        let items = store.items_after(&self.id, plimsoll_core::id::ItemNo(0), 100_000).await.unwrap();
        (events.into_iter().map(|event| event.event).collect(), items.items)
    }
}

async fn service(folders: &Folders) -> (Service, mpsc::UnboundedReceiver<Started>) {
    let (started, commands) = mpsc::unbounded_channel();
    let stores = Stores::open(&folders.data).await.unwrap();
    let background = Arc::new(Background::default());
    let command = Arc::new(Command { started });
    let sandbox = Sandboxes::default();
    (Service::with_commands(folders.clone(), BTreeMap::new(), stores, background, sandbox, command), commands)
}

/// A client that takes what comes.
struct Follower {
    subscription: Subscription,
    events: Vec<EventBody>,
}

impl Follower {
    /// Takes updates until one is what is wanted; `None` when the subscription is closed first.
    async fn until(&mut self, what: &str, is: impl Fn(&EventBody) -> bool) -> Option<EventBody> {
        if let Some(at) = self.events.iter().position(&is) {
            return Some(self.events.remove(at));
        }
        loop {
            for update in soon(what, self.subscription.next()).await? {
                match update {
                    Update::Event(event) => self.events.push(event.event.body.clone()),
                    Update::Delta { .. } => {}
                    Update::Closed { .. } => return None,
                }
            }
            if let Some(at) = self.events.iter().position(&is) {
                return Some(self.events.remove(at));
            }
        }
    }

    async fn end_of(&mut self, turn: u64) -> Option<(TurnEnd, Option<String>)> {
        let is = |body: &EventBody| matches!(body, EventBody::TurnCompleted { turn: of, .. } if *of == TurnNo(turn));
        match self.until("a turn's end", is).await {
            Some(EventBody::TurnCompleted { reason, message, .. }) => Some((reason, message)),
            _ => None,
        }
    }
}

fn accepted(turn: u64, queued: bool) -> AcceptedTurn {
    AcceptedTurn { turn: TurnNo(turn), queued }
}

fn ends(events: &[Event]) -> Vec<(u64, TurnEnd)> {
    let of = |event: &Event| match &event.body {
        EventBody::TurnCompleted { turn, reason, .. } => Some((turn.0, *reason)),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

fn prompts(items: &[Item]) -> Vec<String> {
    let of = |item: &Item| match &item.body {
        ItemBody::User(message) => Some(message.text.clone()),
        _ => None,
    };
    items.iter().filter_map(of).collect()
}
