//! A temporary workspace for the tests of tools: calls go the way that a model's calls go.

use super::{Tool, ToolEnv, ToolRun};
use plimsoll_core::id::{CallId, EvidenceId, Revision};
use plimsoll_core::permission::leave::Leave;
use plimsoll_core::tool::args;
use plimsoll_core::tool::call::{Call, Prepared};
use plimsoll_core::tool::outcome::{Body, Edited, Entries, FileRead, Matches, Outcome, Status};
use plimsoll_core::tool::projection::{Budget, Projection, ProjectionInput, Saved, project};
use plimsoll_core::tool::spec;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A workspace and a folder outside it.
pub struct Place {
    pub dir: tempfile::TempDir,
    pub w: PathBuf,
    pub o: PathBuf,
    pub env: ToolEnv,
}

impl Place {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (w, o, data) = (top.join("ws"), top.join("out"), top.join("data"));
        for folder in [&w, &o, &data.join("session")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let env = ToolEnv {
            roots: [w.clone()].into(),
            client_env: BTreeMap::from([("HOME".to_owned(), top.join("home").to_string_lossy().into_owned())]).into(),
            session_dir: data.join("session"),
            plan_file: data.join("plans/session.md"),
            readable: [data.join("session")].into(),
            pre_images: data.join("pre-images"),
            protected: [data].into(),
            writable: [].into(),
            secret_env: [].into(),
            tests: std::sync::Arc::default(),
        };
        Self { dir, w, o, env }
    }

    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.w.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub async fn call(&self, tool: &dyn Tool, arguments: Value) -> Outcome {
        self.call_with(tool, arguments, &CancellationToken::new()).await
    }

    pub async fn call_with(&self, tool: &dyn Tool, arguments: Value, cancel: &CancellationToken) -> Outcome {
        match self.prepare(tool, arguments).await {
            Ok((call, prepared)) => self.run(tool, &call, &prepared, cancel).await,
            Err(problem) => Outcome::failed(problem),
        }
    }

    pub async fn prepare(&self, tool: &dyn Tool, arguments: Value) -> Result<(Call, Prepared), String> {
        let schema = spec::find(tool.name()).unwrap().schema;
        let args = args::parse(&arguments.to_string(), schema).unwrap();
        let call = Call { id: CallId(7), tool: tool.name().to_owned(), args };
        let prepared = tool.prepare(&call, &self.env).await?;
        Ok((call, prepared))
    }

    pub async fn run(&self, tool: &dyn Tool, call: &Call, prepared: &Prepared, cancel: &CancellationToken) -> Outcome {
        let (events, _keep) = mpsc::channel(8);
        let (env, leave) = (&self.env, Leave::FREE);
        tool.run(ToolRun { call, prepared, leave, env, events, cancel: cancel.clone() }).await
    }

    pub async fn edited(&self, tool: &dyn Tool, arguments: Value) -> Edited {
        match self.call(tool, arguments).await {
            Outcome { status: Status::Ok, body: Body::Edit(edited) } => edited,
            other => panic!("no edit: {other:?}"),
        }
    }

    pub fn bytes(&self, path: impl AsRef<Path>) -> Vec<u8> {
        std::fs::read(self.w.join(path)).unwrap()
    }

    /// Names in the workspace's folder, sorted.
    pub fn names(&self) -> Vec<String> {
        names(&self.w)
    }

    pub async fn problem(&self, tool: &dyn Tool, arguments: Value) -> String {
        let outcome = self.call(tool, arguments).await;
        match outcome {
            Outcome { status: Status::Failed, body: Body::Text(text) } => text,
            other => panic!("no failure: {other:?}"),
        }
    }

    pub async fn file(&self, tool: &dyn Tool, arguments: Value) -> FileRead {
        match self.call(tool, arguments).await {
            Outcome { status: Status::Ok, body: Body::File(file) } => file,
            other => panic!("no file: {other:?}"),
        }
    }

    pub async fn entries(&self, tool: &dyn Tool, arguments: Value) -> Entries {
        match self.call(tool, arguments).await {
            Outcome { status: Status::Ok, body: Body::Entries(entries) } => entries,
            other => panic!("no entries: {other:?}"),
        }
    }

    pub async fn matches(&self, tool: &dyn Tool, arguments: Value) -> Matches {
        match self.call(tool, arguments).await {
            Outcome { status: Status::Ok, body: Body::Matches(matches) } => matches,
            other => panic!("no matches: {other:?}"),
        }
    }
}

/// What the view would show.
pub fn shown(tool: &str, outcome: &Outcome) -> Projection {
    project(&ProjectionInput {
        call: CallId(7),
        tool,
        outcome,
        evidence: EvidenceId { call: CallId(7), revision: Revision(1) },
        approximate: false,
        budget: Budget::default(),
        cursor: None,
        saved: Saved::No,
    })
}

/// Paths of entries.
pub fn paths(entries: &Entries) -> Vec<&str> {
    entries.entries.iter().map(|entry| entry.path.as_str()).collect()
}

/// Names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Makes a named pipe.
pub fn fifo(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o644), 0)
        .unwrap();
}

/// Whether permissions bind this process; the superuser reads everything.
pub fn permissions_bind() -> bool {
    !rustix::process::geteuid().is_root()
}
