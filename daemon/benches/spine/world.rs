//! What the measurements run in: temporary folders, a repository, a service with one session, and real processes.

use super::server::{Exchange, Reply, Server};
use plimsoll::config::Folders;
use plimsoll::process::Helper;
use plimsoll::session::Subscription;
use plimsoll::session::api::{Client, CloseReason, NewSession, Update, WhenBusy};
use plimsoll::session::service::Service;
use plimsoll::store::Stores;
use plimsoll_core::event::{Delta, EventBody};
use plimsoll_core::id::{Seq, SessionId};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::Mutex;

/// See the module's head.
pub struct World {
    service: Service,
    session: SessionId,
    client: Client,
    server: Server,
    events: Mutex<Subscription>,
    _folders: TempDir,
}

impl World {
    /// A session in a repository of so many files.
    pub async fn new(files: usize) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let server = Server::start().await;
        let folders = folders(root.path());
        std::fs::create_dir_all(&folders.config).expect("a folder");
        std::fs::write(
            folders.config_file(),
            format!(
                "model = \"mock/m\"\n[providers.mock]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:{}/v1\"\n\
                 [providers.mock.models.m]\ncontext_window = 1000000\nmax_output = 4096\n[permissions]\nmode = \"full\"\n",
                server.port
            ),
        )
        .expect("a file");
        folders.ensure_data().expect("a folder");
        let workspace = root.path().join("work");
        repository(&workspace, files);
        let stores = Stores::open(&folders.data).await.expect("a store");
        let service = Service::new(folders, BTreeMap::new(), stores, Helper::at(env!("CARGO_BIN_EXE_plimsoll")));
        let env = std::env::vars().filter(|(name, _)| name == "PATH").collect();
        let client = Client { connection: 1, name: "bench".into(), env: Arc::new(env), ..Client::default() };
        let project = service.open_project(vec![workspace]).await.expect("a project");
        let session = service.create_session(&client, &project.key, NewSession::default()).await.expect("a session");
        let events = service.attach(&client, &session.id, Seq(0)).await.expect("a subscription");
        Self { service, session: session.id, client, server, events: Mutex::new(events), _folders: root }
    }

    async fn start(&self, text: &str) {
        let started = self.service.start_turn(&self.client, &self.session, text.into(), None, WhenBusy::Refuse).await;
        started.expect("an accepted turn");
    }

    async fn completed(&self) {
        let mut events = self.events.lock().await;
        loop {
            let updates = events.next().await.expect("the session lives");
            let ends = |update: &Update| matches!(update, Update::Event(event) if matches!(event.event.body, EventBody::TurnCompleted { .. }));
            if updates.iter().any(ends) {
                return;
            }
        }
    }

    /// Runs a turn of one request; gives the moment at which the request had arrived.
    pub async fn turn(&self, text: &str, reply: Reply) -> Instant {
        self.exchanges(text, vec![reply]).await[0].arrived
    }

    /// Runs a turn of as many requests as there are replies.
    pub async fn exchanges(&self, text: &str, replies: Vec<Reply>) -> Vec<Exchange> {
        let (from, count) = (self.server.count(), replies.len());
        self.server.push(replies);
        self.start(text).await;
        self.completed().await;
        self.server.exchanges(from, count).await
    }

    /// From the moment a delta was written by the server to the moment the client had it.
    pub async fn delta_latency(&self, count: usize, gap: Duration) -> Vec<Duration> {
        let (sent, seen) = self.stream(count, gap).await;
        sent.iter().zip(&seen).map(|(sent, seen)| seen.duration_since(*sent)).collect()
    }

    /// From the moment the last delta of a burst was written to the moment the client had all.
    pub async fn burst(&self, count: usize) -> Duration {
        let (sent, seen) = self.stream(count, Duration::ZERO).await;
        seen[count - 1].saturating_duration_since(sent[count - 1])
    }

    async fn stream(&self, count: usize, gap: Duration) -> (Vec<Instant>, Vec<Instant>) {
        const PIECE: usize = 7;
        let from = self.server.count();
        self.server.push([Reply::deltas((0..count).map(|at| format!("d{at:05} ")).collect(), gap)]);
        self.start("stream").await;
        let mut seen = Vec::with_capacity(count);
        let mut bytes = 0;
        let mut events = self.events.lock().await;
        'turn: loop {
            for update in events.next().await.expect("the session lives") {
                match update {
                    Update::Delta { delta: Delta::Text { text, .. }, offset } => bytes = offset as usize + text.len(),
                    Update::Event(event) => match event.event.body {
                        EventBody::StepCompleted { .. } => bytes = count * PIECE,
                        EventBody::TurnCompleted { .. } => break 'turn,
                        _ => {}
                    },
                    _ => {}
                }
                let now = Instant::now();
                seen.resize(bytes / PIECE, now);
            }
        }
        let exchange = &self.server.exchanges(from, 1).await[0];
        (exchange.sent[..count].to_vec(), seen)
    }

    /// Ends everything.
    pub async fn end(self) {
        self.service.shutdown(CloseReason::DaemonEnds).await;
    }
}

fn folders(root: &Path) -> Folders {
    let at = |name: &str| root.join(name);
    Folders { config: at("config"), data: at("data"), runtime: at("run"), managed: at("managed.toml") }
}

/// A repository with some changed and some new files.
fn repository(path: &Path, files: usize) {
    for at in 0..files {
        let dir = if files > 500 { format!("src/p{:02}/m{:02}", at % 40, at / 40 % 25) } else { "src".to_owned() };
        std::fs::create_dir_all(path.join(&dir)).expect("a folder");
        std::fs::write(path.join(dir).join(format!("f{at}.rs")), format!("pub fn f{at}() {{}}\n").repeat(20))
            .expect("a file");
    }
    std::fs::write(path.join("AGENTS.md"), "Keep functions small.\n").expect("a file");
    for arguments in [vec!["init", "-q", "-b", "main"], vec!["add", "-A"], vec!["commit", "-qm", "start"]] {
        let done = Command::new("git")
            .args(["-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "gc.auto=0"])
            .args(arguments)
            .current_dir(path)
            .status();
        assert!(done.expect("git").success());
    }
    std::fs::write(path.join("new.rs"), "// new\n").expect("a file");
}

/// Bridges and daemons as processes.
pub struct Processes {
    root: TempDir,
}

impl Processes {
    /// On folders of its own.
    pub fn new() -> Self {
        Self { root: tempfile::tempdir().expect("a folder") }
    }

    fn command(&self, argument: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        for (name, folder) in [("CONFIG", "config"), ("DATA", "data"), ("RUNTIME", "run")] {
            command.env(format!("PLIMSOLL_{name}_DIR"), self.root.path().join(folder));
        }
        command.arg(argument).current_dir(self.root.path());
        command
    }

    /// Starts a bridge and waits for the answer to `initialize`; `cold`: no daemon runs before.
    pub fn initialize(&self, cold: bool) -> Duration {
        if cold {
            let _ = self.command("stop").stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
        let begun = Instant::now();
        let mut bridge = self
            .command("stdio")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary can be started");
        let mut stdin = bridge.stdin.take().expect("a pipe");
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"bench"},"protocolVersion":"1.0"}}"#;
        writeln!(stdin, "{request}").expect("the bridge reads");
        let mut answer = String::new();
        BufReader::new(bridge.stdout.take().expect("a pipe")).read_line(&mut answer).expect("an answer");
        let took = begun.elapsed();
        assert!(answer.contains("\"result\""), "{answer}");
        drop(stdin);
        let _ = bridge.wait();
        took
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        let _ = self.command("stop").stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
