//! A workspace in a temporary folder in which `run_terminal_cmd` runs for real.

#![allow(dead_code, reason = "each test binary uses a part of this")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "only tests call this")]

use plimsoll::process::Helper;
use plimsoll::process::background::Background;
use plimsoll::tool::run_terminal_cmd::RunTerminalCmd;
use plimsoll::tool::{Tool, ToolEnv, ToolEvent, ToolRun};
use plimsoll_core::id::CallId;
use plimsoll_core::ledger::ProcessMark;
use plimsoll_core::permission::leave::Leave;
use plimsoll_core::tool::call::Call;
use plimsoll_core::tool::outcome::{Body, CommandRun, Outcome, Status};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The longest that anything in these tests may take before it counts as hanging.
pub const LIMIT: Duration = Duration::from_mins(1);

pub struct Workspace {
    _folder: tempfile::TempDir,
    pub root: PathBuf,
    pub env: ToolEnv,
    pub background: Arc<Background>,
    pub tool: RunTerminalCmd,
    /// What its commands may do.
    pub leave: Leave,
    calls: AtomicU64,
}

/// A finished call and what it told while it ran.
pub struct Ran {
    pub outcome: Outcome,
    pub marks: Vec<ProcessMark>,
    pub live: String,
}

impl Ran {
    pub fn command(&self) -> &CommandRun {
        match &self.outcome.body {
            Body::Command(run) => run,
            other => panic!("not a command's result: {other:?}"),
        }
    }

    /// Status and output.
    pub fn shown(&self) -> (Status, &str) {
        (self.outcome.status, &self.command().output.head)
    }
}

impl Workspace {
    pub fn new() -> Self {
        Self::below(tempfile::tempdir().unwrap())
    }

    /// One in this folder.
    pub fn below(folder: tempfile::TempDir) -> Self {
        let base = folder.path().canonicalize().unwrap();
        let (root, session_dir) = (base.join("root"), base.join("session"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&session_dir).unwrap();
        let client_env = ["PATH", "HOME", "LANG"]
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .collect::<BTreeMap<_, _>>();
        let env = ToolEnv {
            roots: Arc::from([root.clone()]),
            client_env: Arc::new(client_env),
            plan_file: folder.path().join("plans").join("session.md"),
            session_dir,
            readable: Arc::from([]),
            pre_images: folder.path().join("pre-images"),
            protected: Arc::from([]),
            writable: Arc::from([]),
            secret_env: Arc::from([]),
            tests: std::sync::Arc::default(),
        };
        let background = Arc::new(Background::default());
        let tool = RunTerminalCmd::new(Helper::at(env!("CARGO_BIN_EXE_plimsoll")), background.clone());
        Self { _folder: folder, root, env, background, tool, leave: Leave::FREE, calls: AtomicU64::new(1) }
    }

    pub async fn run(&self, command: &str) -> Ran {
        self.run_with(serde_json::json!({ "command": command }), CancellationToken::new()).await
    }

    pub async fn run_for(&self, command: &str, timeout_ms: u64) -> Ran {
        let args = serde_json::json!({ "command": command, "timeout_ms": timeout_ms });
        self.run_with(args, CancellationToken::new()).await
    }

    pub async fn run_with(&self, args: serde_json::Value, cancel: CancellationToken) -> Ran {
        self.call(&self.tool, args, cancel).await
    }

    /// A call of any tool.
    pub async fn call(&self, tool: &dyn Tool, args: serde_json::Value, cancel: CancellationToken) -> Ran {
        let id = CallId(self.calls.fetch_add(1, Ordering::Relaxed));
        let call = Call { id, tool: tool.name().into(), args };
        let prepared = tool.prepare(&call, &self.env).await.unwrap();
        let (events, mut told) = mpsc::channel(64);
        let run = ToolRun { call: &call, prepared: &prepared, leave: self.leave, env: &self.env, events, cancel };
        let listen = async {
            let (mut marks, mut live) = (Vec::new(), String::new());
            while let Some(event) = told.recv().await {
                match event {
                    ToolEvent::Process(mark) => marks.push(mark),
                    ToolEvent::Output(text) => live.push_str(&text),
                    ToolEvent::Background(_) | ToolEvent::Memory(..) | ToolEvent::Observe { .. } => {}
                }
            }
            (marks, live)
        };
        let both = futures_util::future::join(tool.run(run), listen);
        let (outcome, (marks, live)) = tokio::time::timeout(LIMIT, both).await.expect("the command hangs");
        Ran { outcome, marks, live }
    }

    /// The processes that work in this workspace, helpers among them.
    pub fn processes(&self) -> Vec<u32> {
        processes_in(&self.root)
    }
}

/// The processes whose current folder is `folder`.
pub fn processes_in(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder)).collect()
}

/// Waits until something is so.
pub async fn until(what: &str, is_so: impl Fn() -> bool) {
    let mut look = tokio::time::interval(Duration::from_millis(10));
    let wait = async {
        while !is_so() {
            look.tick().await;
        }
    };
    tokio::time::timeout(LIMIT, wait).await.unwrap_or_else(|_| panic!("not within {LIMIT:?}: {what}"));
}
