//! Tests of the store on temporary folders.

mod batches;
mod calibrations;
mod compaction;
mod counts;
mod damage;
mod forks;
mod grants;
mod limits;
mod lists;
mod mirrors;
mod random;
mod sessions;
mod speed;
mod verified;

use super::*;
use plimsoll_core::event::{Ask, AskChoice, AskOption, Event, EventBody};
use plimsoll_core::id::{AskId, CallId, EpochNo, ItemNo, RequestNo, Revision, Seq, SessionId, StepNo, TurnNo};
use plimsoll_core::ledger::{OpState, Operation};
use plimsoll_core::model::request::{Api, Params};
use plimsoll_core::prompt::{Bundle, Prompts};
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::outcome::{Body, Outcome, Status};
use plimsoll_core::tool::projection::Shown;
use plimsoll_core::transcript::batch::{Batch, StoredProjection};
use plimsoll_core::transcript::epoch::{
    Epoch, EpochCause, Price, RequestRow, Segment, Stated, ToolFacts, request_hash,
};
use plimsoll_core::transcript::item::{AssistantText, Item, ItemBody, ToolCall, ToolResult, UserMessage};
use plimsoll_core::transcript::shape::Shape;
use std::path::{Path, PathBuf};

const NOW: Timestamp = Timestamp(1_861_869_600_000);

/// A data folder, a project folder, and their stores.
struct Place {
    temp: tempfile::TempDir,
    stores: Stores,
}

impl Place {
    async fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("work/shop")).unwrap();
        let stores = Stores::open(&temp.path().join("data")).await.unwrap();
        Self { temp, stores }
    }

    fn data(&self) -> PathBuf {
        self.temp.path().join("data")
    }

    fn root(&self) -> PathBuf {
        self.temp.path().join("work/shop")
    }

    async fn project(&self) -> ProjectStore {
        let project = self.stores.project_for(&[self.root()], NOW).await.unwrap();
        self.stores.open_project(&project.key).await.unwrap()
    }

    /// Closes everything well and opens it again.
    async fn restart(&mut self) {
        self.stores.close().await;
        self.stores = Stores::open(&self.data()).await.unwrap();
    }

    /// Drops everything without closing it, and opens it again.
    async fn crash(self) -> Self {
        let Self { temp, stores } = self;
        drop(stores);
        let stores = Stores::open(&temp.path().join("data")).await.unwrap();
        Self { temp, stores }
    }
}

fn session_id(text: &str) -> SessionId {
    text.parse().unwrap()
}

fn new_session(id: &str) -> SessionRecord {
    SessionRecord {
        id: session_id(id),
        title: String::new(),
        mode: "ask".into(),
        model: "local/small".into(),
        bundle: Bundle::Lean,
        base_prompt: None,
        created_at: NOW,
        key: None,
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp(NOW.0 + seconds * 1000)
}

fn item(no: u64, body: ItemBody) -> Item {
    Item { no: ItemNo(no), turn: TurnNo(1), step: StepNo(1), at: at(no as i64), body }
}

fn user(no: u64, text: &str) -> Item {
    let body = UserMessage { text: text.into(), ..UserMessage::default() };
    item(no, ItemBody::User(body))
}

fn assistant(no: u64, text: &str) -> Item {
    item(no, ItemBody::Assistant(AssistantText { text: text.into(), cut: false }))
}

fn call(no: u64, call: u64) -> Item {
    let arguments = format!("{{\"target_file\":\"f{call}.rs\"}}");
    let body = ToolCall { call: CallId(call), tool: "read_file".into(), arguments, provider_id: None };
    item(no, ItemBody::ToolCall(body))
}

fn result(no: u64, call: u64, body: Body) -> Item {
    let outcome = Outcome { status: Status::Ok, body };
    let body =
        ToolResult { call: CallId(call), tool: "read_file".into(), outcome, revision: Revision(3), approximate: false };
    item(no, ItemBody::ToolResult(body))
}

fn projection(call: u64, text: &str) -> StoredProjection {
    StoredProjection {
        call: CallId(call),
        text: text.into(),
        is_error: false,
        tokens: 7,
        partial: true,
        whole: 70,
        saved: 0,
        shown: vec![shown(call)],
    }
}

fn shown(call: u64) -> Shown {
    Shown { path: "/w/a.rs".into(), version: format!("v{call}"), lines: vec![(1, call)], cut: vec![1], total: 9 }
}

fn added(seq: u64, item: u64) -> Event {
    Event { seq: Seq(seq), at: at(seq as i64), body: EventBody::ItemAdded { item: ItemNo(item) } }
}

fn operation(call: u64, state: OpState) -> Operation {
    Operation {
        call: CallId(call),
        turn: TurnNo(1),
        tool: "run_terminal_cmd".into(),
        class: "execute".into(),
        target: "/w".into(),
        command: Some("make".into()),
        state,
        at: at(1),
        revision: Revision(3),
        files: Vec::new(),
        process: None,
        background: false,
        finding: None,
        repeats: 0,
    }
}

fn ask(id: u64, call: u64) -> Ask {
    Ask {
        id: AskId(id),
        call: CallId(call),
        turn: TurnNo(1),
        at: at(1),
        tool: "run_terminal_cmd".into(),
        title: "run make".into(),
        command: Some("make".into()),
        paths: vec!["/w".into()],
        changes: Vec::new(),
        plan: None,
        reason: "commands are asked for".into(),
        repeats: None,
        options: vec![AskOption { kind: AskChoice::AllowOnce, label: "Allow".into(), rules: Vec::new() }],
        resolution: None,
    }
}

fn stated(blocks: &[(&str, &str)]) -> Stated {
    let said_in =
        blocks.iter().filter(|(name, _)| *name != "user_info").map(|(name, _)| ((*name).to_owned(), ItemNo(2)));
    Stated {
        blocks: blocks.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
        said_in: said_in.collect(),
        ..Stated::default()
    }
}

fn epoch(no: u64, first_item: u64) -> Epoch {
    Epoch {
        prompts: plimsoll_core::prompt::Prompts::default(),
        no: EpochNo(no),
        cause: if no == 1 { EpochCause::SessionStart } else { EpochCause::Cold },
        at: at(1),
        api: Api::OpenaiChat,
        model: "small".into(),
        tools: vec![Segment::new("{\"name\":\"read_file\"}"), Segment::new("{\"name\":\"grep\"}")],
        system: vec![Segment::new("\"You are an agent.\"")],
        preamble: vec![Segment::new("{\"role\":\"user\",\"content\":\"AGENTS.md\"}")],
        stated: stated(&[("user_info", "Linux"), ("git_status", "clean")]),
        first_item: ItemNo(first_item),
        params: Some(Params { model: "small".into(), max_output: 4096, temperature: Some(0.5) }),
        tool_facts: ToolFacts([("tools".to_owned(), "read_file grep".to_owned())].into()),
        price: Price { kept: 100, given_up: 7 },
        base: None,
        shape: Shape::default(),
        switch: None,
    }
}

/// The request that follows `before` (all messages sent in the epoch so far) with a new tail.
fn request(no: u64, epoch: &Epoch, before: &[Segment], tail: &[&str], last_item: u64) -> RequestRow {
    let params = Params { model: "small".into(), max_output: 4096, temperature: Some(0.5) };
    let tail: Vec<Segment> = tail.iter().map(|text| Segment::new(*text)).collect();
    let all = epoch.tools.iter().chain(&epoch.system).chain(&epoch.preamble).chain(before).chain(&tail);
    RequestRow {
        no: RequestNo(no),
        epoch: epoch.no,
        turn: TurnNo(1),
        step: StepNo(no),
        at: at(no as i64),
        last_item: ItemNo(last_item),
        hash: request_hash(&params, all),
        params,
        tail,
        marks: vec![1, 3],
        bytes: 4711,
        stated: stated(&[("user_info", "Linux"), ("git_status", &format!("{no} changed"))]),
        codec: 1,
    }
}

fn texts(segments: &[Segment]) -> Vec<&str> {
    segments.iter().map(|segment| &*segment.text).collect()
}

/// All bytes of all files below a folder.
fn all_bytes(folder: &Path) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        out.extend(if path.is_dir() { all_bytes(&path) } else { std::fs::read(&path).unwrap() });
    }
    out
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
