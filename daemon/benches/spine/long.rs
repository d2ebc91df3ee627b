//! Sessions at size, over the real store: 10,000 of them, one with 100,000 items in 300 MB.

use crate::{Row, show};
use plimsoll::config::Folders;
use plimsoll::process::Helper;
use plimsoll::session::api::{
    Archived, Client, CloseReason, NewSession, SearchFor, SearchScope, SessionFilter, TranscriptRange, Update,
};
use plimsoll::session::service::Service;
use plimsoll::store::Stores;
use plimsoll_core::event::{Event, EventBody};
use plimsoll_core::id::{ItemNo, Seq, SessionId, StepNo, TurnNo};
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::batch::Batch;
use plimsoll_core::transcript::item::{AssistantText, Item, ItemBody};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

const ITEMS: u64 = 100_000;
const SESSIONS: usize = 10_000;
/// Bytes of an item's text.
const TEXT: usize = 3_000;
const ROUNDS: usize = 20;

/// A text that does not compress to nothing.
fn text(no: u64) -> String {
    let mut state = no.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = format!("number {no}");
    while text.len() < TEXT {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let _ = write!(text, " word{}", state % 50_000);
    }
    text
}

async fn service(root: &Path) -> Service {
    let at = |name: &str| root.join(name);
    let folders = Folders { config: at("config"), data: at("data"), runtime: at("run"), managed: at("managed.toml") };
    std::fs::create_dir_all(&folders.config).expect("a folder");
    folders.ensure_data().expect("a folder");
    let stores = Stores::open(&folders.data).await.expect("a store");
    Service::new(folders, BTreeMap::new(), stores, Helper::at(env!("CARGO_BIN_EXE_plimsoll")))
}

async fn fill(root: &Path) -> SessionId {
    let service = service(root).await;
    let client = Client { connection: 1, name: "bench".into(), ..Client::default() };
    let work = root.join("work");
    std::fs::create_dir_all(&work).expect("a folder");
    let project = service.open_project(vec![work]).await.expect("a project");
    let mut long = None;
    for no in 0..SESSIONS {
        let new = NewSession { title: Some(format!("Session number {no}")), ..NewSession::default() };
        long = Some(service.create_session(&client, &project.key, new).await.expect("a session").id);
    }
    service.shutdown(CloseReason::DaemonEnds).await;
    let long = long.expect("a session");
    let stores = Stores::open(&root.join("data")).await.expect("a store");
    let store = stores.open_project(&project.key).await.expect("a project");
    for from in (0..ITEMS).step_by(1_000) {
        let (mut items, mut events) = (Vec::new(), Vec::new());
        for no in from + 1..=from + 1_000 {
            let body = ItemBody::Assistant(AssistantText { text: text(no), cut: false });
            let at = Timestamp(1_861_869_600_000);
            items.push(Item { no: ItemNo(no), turn: TurnNo(1), step: StepNo(1), at, body });
            events.push(Event { seq: Seq(no), at, body: EventBody::ItemAdded { item: ItemNo(no) } });
        }
        store.commit(&long, Batch { items, events, ..Batch::default() }).await.expect("room");
    }
    drop(store);
    stores.close().await;
    long
}

/// Measures.
pub async fn sessions() {
    let root = tempfile::tempdir().expect("a folder");
    let long = fill(root.path()).await;
    let add = |what: &str, budget_ms, samples| show(&Row { what: what.to_owned(), samples, budget_ms });

    let mut samples = Vec::new();
    for _ in 0..5 {
        // Cold: nothing of the session is in memory.
        let service = service(root.path()).await;
        let client = Client::default();
        service.get_session(&long).await.expect("it");
        let begun = Instant::now();
        let mut events = service.attach(&client, &long, Seq(0)).await.expect("a subscription");
        let page = events.next().await.expect("a page");
        samples.push(begun.elapsed());
        assert!(matches!(page.first(), Some(Update::Event(_))));
        drop(events);
        service.shutdown(CloseReason::DaemonEnds).await;
    }
    add("attach to a session of 100,000 items, first page", Some(30.0), samples);

    let service = service(root.path()).await;
    let list = async |query: Option<String>, limit| {
        let filter = SessionFilter { query, archived: Archived::No, limit, ..SessionFilter::default() };
        let begun = Instant::now();
        service.list_sessions(filter).await.expect("a list");
        begun.elapsed()
    };
    let range = |before| TranscriptRange::Before { before, limit: 50 };
    let read = async |before| {
        let begun = Instant::now();
        service.read_transcript(&long, range(before)).await.expect("a page");
        begun.elapsed()
    };
    let (mut pages, mut words, mut last, mut back) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        pages.push(list(None, 500).await);
        words.push(list(Some("number 17".to_owned()), 50).await);
        last.push(read(None).await);
        back.push(read(Some(ItemNo(ITEMS - 49))).await);
    }
    add("list of 10,000 sessions, 500 of them", Some(50.0), pages);
    add("list of 10,000 sessions, words in the title", Some(50.0), words);
    add("its last 50 items", None, last);
    add("the 50 before", None, back);

    let mut pieces: Vec<Duration> = Vec::new();
    let mut cursor = None;
    loop {
        let asked = SearchFor {
            query: "absent".to_owned(),
            scope: SearchScope::Session(long.clone()),
            kinds: Vec::new(),
            cursor: cursor.take(),
            limit: 50,
        };
        let begun = Instant::now();
        let page = service.search(asked).await.expect("a page");
        pieces.push(begun.elapsed());
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    add(&format!("one of {} pieces of a search through its 300 MB", pieces.len()), None, pieces);
    service.shutdown(CloseReason::DaemonEnds).await;
}
