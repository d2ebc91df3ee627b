//! Three people, eight sessions, at most four running turns; connections that break at any moment, readers that do not
//! read, a daemon that is killed: in the end all have seen the same, every prompt that was accepted stands there once.

use crate::model;
use plimsoll_core::model::request::Api;
use plimsoll_tests::client::{Client, Framing};
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::ModelServer;
use plimsoll_tests::random::{Random, seed};
use plimsoll_tests::told::{durable, items};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::sync::{RwLock, Semaphore};
use tokio::task::JoinSet;
use tokio::time::sleep;

const PEOPLE: u64 = 3;
const SESSIONS: usize = 8;
const RUNNING: usize = 4;
/// How long a daemon lives at most.
const LIFE: u64 = 8_000;

/// What all of them share.
struct World {
    daemon: RwLock<TestDaemon>,
    sessions: Vec<String>,
    running: Semaphore,
    until: Instant,
}

impl World {
    /// A connection; a daemon that is just being killed is waited for.
    async fn connect(&self) -> Client {
        self.daemon.read().await.client().await
    }
}

/// What one person has seen of each session, and what was accepted of what they said.
struct Person {
    no: u64,
    random: Random,
    seen: BTreeMap<String, Vec<Value>>,
    said: u64,
    accepted: BTreeSet<String>,
}

impl Person {
    fn last(&self, session: &str) -> u64 {
        self.seen.get(session).and_then(|seen| seen.last()).map_or(0, |event| event["seq"].as_u64().expect("a number"))
    }

    /// Takes over what came on a connection: each session goes on where it was.
    fn harvest(&mut self, events: &[Value]) {
        for event in durable(events).into_iter().map(first_told) {
            let session = event["session"].as_str().expect("a session").to_owned();
            assert_eq!(event["seq"], self.last(&session) + 1, "events follow each other: {event:#}");
            self.seen.entry(session).or_default().push(event);
        }
    }

    /// Follows all sessions from where it has seen them; whether the connection holds.
    async fn attach(&self, client: &Client, sessions: &[String]) -> bool {
        for session in sessions {
            let params = json!({"session": session, "after": self.last(session)});
            match client.attempt("session/attach", params).await {
                Some(answer) => drop(answer.expect("a session that exists can be followed")),
                None => return false,
            }
        }
        true
    }

    /// Does things until the connection breaks, or is broken off.
    async fn connection(&mut self, world: &World) {
        let client = world.connect().await;
        if self.attach(&client, &world.sessions).await {
            for _ in 0..=self.random.below(20) {
                if !self.act(&client, world).await {
                    break;
                }
            }
        }
        self.harvest(&client.events());
    }

    /// Does one thing; whether the connection holds.
    async fn act(&mut self, client: &Client, world: &World) -> bool {
        let session = self.random.pick(&world.sessions).clone();
        if self.random.below(60) == 0 {
            return self.rewind(client, &session).await;
        }
        match self.random.below(10) {
            0 => client.attempt("turn/cancel", json!({"session": session})).await.is_some(),
            1 => client.attempt("session/list", json!({"limit": 3})).await.is_some(),
            2 => {
                sleep(Duration::from_millis(self.random.below(200))).await;
                true
            }
            _ => self.prompt(client, world, &session).await,
        }
    }

    /// Goes back to where the conversation went back before, so that none outgrows the model's window however long all this
    /// lasts.
    async fn rewind(&mut self, client: &Client, session: &str) -> bool {
        let seen = self.seen.get(session).into_iter().flatten().rev();
        let since = seen.take_while(|event| event["item"]["kind"] != "rewind");
        let first = since.filter(|event| event["item"]["kind"] == "user").last();
        let turn = first.map_or(1, |event| event["item"]["turn"].as_u64().expect("a number"));
        match client.attempt("session/rewind", json!({"session": session, "turn": turn})).await {
            Some(Ok(_)) => true,
            Some(Err(error)) => {
                // Somebody else may have gone back meanwhile.
                let kind = error["data"]["kind"].as_str().unwrap_or_default();
                assert!(["busy", "shuttingDown", "notFound"].contains(&kind), "{error:#}");
                true
            }
            None => false,
        }
    }

    async fn prompt(&mut self, client: &Client, world: &World, session: &str) -> bool {
        let Ok(_place) = world.running.try_acquire() else {
            sleep(Duration::from_millis(self.random.below(50))).await;
            return true;
        };
        self.said += 1;
        let key = format!("{} {}", self.no, self.said);
        let text = format!("{} {key}", self.random.pick(model::WORDS));
        let params = json!({"session": session, "text": text, "idempotencyKey": key, "whenBusy": "refuse"});
        // Whoever does not know whether it was accepted says it again, as an editor does.
        let mut answer = client.attempt("turn/start", params.clone()).await;
        let holds = answer.is_some();
        while answer.is_none() {
            answer = world.connect().await.attempt("turn/start", params.clone()).await;
        }
        match answer.expect("asked until there was one") {
            Ok(_) => drop(self.accepted.insert(text)),
            Err(error) => {
                let kind = error["data"]["kind"].as_str().unwrap_or_default();
                assert!(["busy", "shuttingDown"].contains(&kind), "{error:#}");
                answer_questions(client, session).await;
            }
        }
        sleep(Duration::from_millis(self.random.below(100))).await;
        holds
    }

    /// Follows everything and does not read for a while; then reads, or leaves.
    async fn stalled(&mut self, world: &World) {
        let mut stream = world.daemon.read().await.greeted("native").await;
        let attach = world
            .sessions
            .iter()
            .map(|session| ("session/attach", json!({"session": session, "after": self.last(session)})));
        let first = ("initialize", json!({"clientInfo": {"name": "stalled"}, "protocolVersion": "1.0"}));
        for (id, (method, params)) in (1..).zip(std::iter::once(first).chain(attach)) {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            if stream.write_all(&Framing::Lines.frame(&call.to_string())).await.is_err() {
                return;
            }
        }
        sleep(Duration::from_millis(self.random.below(1_500))).await;
        if self.random.below(2) == 0 {
            return;
        }
        let client = Client::over(stream, Framing::Lines);
        // It may have been cut off, or the daemon killed: what came is right as far as it goes.
        let _ = client.attempt("daemon/status", json!({})).await;
        self.harvest(&client.events());
    }

    async fn live(mut self, world: Arc<World>) -> Self {
        while Instant::now() < world.until {
            match self.random.below(4) {
                0 => self.stalled(&world).await,
                _ => self.connection(&world).await,
            }
        }
        self
    }

    /// Reads the rest of each session, whose last events these are.
    async fn catch_up(&mut self, client: &Client, lasts: &BTreeMap<String, u64>) {
        for (session, last) in lasts {
            client.attach(session, self.last(session)).await;
            let events = client.wait_events("the rest", |events| {
                let of = |event: &&Value| event["session"] == **session && !event["seq"].is_null();
                self.last(session) == *last || events.iter().rev().find(of).is_some_and(|event| event["seq"] == *last)
            });
            drop(events.await);
        }
        self.harvest(&client.events());
    }
}

/// Answers what the session asks: a command of which a killed daemon did not see the end is asked about before it runs again.
async fn answer_questions(client: &Client, session: &str) {
    let Some(Ok(info)) = client.attempt("session/get", json!({"session": session})).await else { return };
    for ask in info["openAsks"].as_array().into_iter().flatten() {
        // Somebody else may have been first, and the daemon may die.
        let answer = json!({"session": session, "ask": ask["id"], "choice": "allowOnce"});
        drop(client.attempt("permission/respond", answer).await);
    }
}

async fn run(length: Duration) {
    let seed = seed();
    let mut random = Random::new(seed);
    let workspaces = [(); 2].map(|()| Workspace::new().file(model::FILE, "one\ntwo\nthree\n"));
    let server = ModelServer::start(model::script()).await;
    server.forget_bodies();
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let client = daemon.client().await;
    let mut sessions = Vec::new();
    for at in 0..SESSIONS {
        sessions.push(client.session(&workspaces[at % 2]).await);
    }
    drop(client);
    let world = Arc::new(World {
        daemon: RwLock::new(daemon),
        sessions,
        running: Semaphore::new(RUNNING),
        until: Instant::now() + length,
    });
    let mut people = JoinSet::new();
    for no in 1..=PEOPLE {
        let person =
            Person { no, random: Random::new(seed ^ no), seen: BTreeMap::new(), said: 0, accepted: BTreeSet::new() };
        people.spawn(person.live(Arc::clone(&world)));
    }
    let mut kills = 0;
    while Instant::now() < world.until {
        sleep(Duration::from_millis(LIFE / 2 + random.below(LIFE / 2))).await;
        let mut daemon = world.daemon.write().await;
        daemon.kill9().await;
        daemon.restart().await;
        kills += 1;
    }
    let people = people.join_all().await;
    compare(&world, people, kills).await;
    server.assert_clean();
}

/// Everybody has seen the same, which is what stands in the transcripts.
async fn compare(world: &World, people: Vec<Person>, kills: u32) {
    let client = world.connect().await;
    let mut lasts = BTreeMap::new();
    let mut whole = BTreeMap::new();
    for session in &world.sessions {
        client.attach(session, 0).await;
        // Behind everything else that may still run, and ask.
        let goodbye = client.start(session, "say goodbye").await;
        let of = |event: &&Value| event["session"] == **session;
        // Each event is looked at once: there are tens of thousands.
        let (scanned, asked, end) = (Cell::new(0), Cell::new(false), RefCell::new(None));
        let scan = |events: &[Value]| {
            for event in events.iter().skip(scanned.replace(events.len())).filter(of) {
                match event["type"].as_str() {
                    Some("turnCompleted") if event["turn"] == goodbye => *end.borrow_mut() = Some(event.clone()),
                    Some("permissionAsked") => asked.set(true),
                    Some(kind) if kind.starts_with("permission") => asked.set(false),
                    _ => {}
                }
            }
            end.borrow().is_some() || asked.get()
        };
        let end: Value = loop {
            client.wait_events("the end, or a question", scan).await;
            match end.take() {
                Some(end) => break end,
                None => answer_questions(&client, session).await,
            }
        };
        assert_eq!(end["stopReason"], "endTurn", "{end:#}");
        let info = client.ok("session/get", json!({"session": session})).await;
        assert_eq!(info["state"], "idle");
        let last = info["lastSeq"].as_u64().expect("a number");
        lasts.insert(session.clone(), last);
    }
    for (session, last) in &lasts {
        let of = |event: &&Value| event["session"] == **session;
        let events = client
            .wait_events("all events", |events| {
                let newest = events.iter().rev().find(|event| of(event) && !event["seq"].is_null());
                newest.is_some_and(|event| event["seq"] == *last)
            })
            .await;
        let events = durable(&events.iter().filter(of).cloned().collect::<Vec<_>>());
        assert_eq!(events.len() as u64, *last, "each event once");
        let mut stored = Vec::new();
        while let Some(page) = page_after(&client, session, stored.len()).await {
            stored.extend(page);
        }
        let events: Vec<Value> = events.into_iter().map(first_told).collect();
        let told = items(&events);
        for (told, stored) in told.iter().zip(stored.iter().cloned().map(as_it_was)) {
            assert_eq!(*told, stored, "events of {session} tell what is stored");
        }
        assert_eq!(told.len(), stored.len(), "events of {session} tell all that is stored");
        whole.insert(session.clone(), events);
    }
    let said: Vec<String> = whole.values().flat_map(|events| items(events)).filter_map(|item| prompt(&item)).collect();
    let mut turns = 0;
    for mut person in people {
        person.catch_up(&world.connect().await, &lasts).await;
        for (session, events) in &whole {
            let seen = person.seen.get(session).map(Vec::as_slice).unwrap_or_default();
            for (seen, event) in seen.iter().zip(events) {
                assert_eq!(seen, event, "person {} has seen this of {session}", person.no);
            }
            assert_eq!(seen.len(), events.len(), "person {} has seen all of {session}", person.no);
        }
        for text in &person.accepted {
            assert_eq!(said.iter().filter(|said| *said == text).count(), 1, "{text:?} was accepted");
        }
        turns += person.accepted.len();
    }
    println!("{turns} turns, {kills} kills, {} events", lasts.values().sum::<u64>());
    assert!(turns > 0 && kills > 0, "something happened");
}

async fn page_after(client: &Client, session: &str, after: usize) -> Option<Vec<Value>> {
    let page = client.ok("transcript/read", json!({"session": session, "after": after, "limit": 1_000})).await;
    page["items"].as_array().filter(|items| !items.is_empty()).cloned()
}

/// An event as whoever was there when it came was told it: see [`as_it_was`]. A question that is read later says how it ended.
fn first_told(mut event: Value) -> Value {
    if let Some(ask) = event.get_mut("ask").and_then(Value::as_object_mut) {
        ask.remove("resolution");
    }
    if let Some(item) = event.get_mut("item") {
        *item = as_it_was(item.take());
    }
    event
}

/// An item as it was when it came to be: what a rewind left behind is marked when it is read later.
fn as_it_was(mut item: Value) -> Value {
    item.as_object_mut().expect("an item").remove("outOfView");
    item
}

fn prompt(item: &Value) -> Option<String> {
    (item["kind"] == "user").then(|| item["text"].as_str().expect("a text").to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_breaks_all_have_seen_the_same_in_the_end() {
    run(Duration::from_mins(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "runs for half an hour"]
async fn whatever_breaks_for_half_an_hour_all_have_seen_the_same_in_the_end() {
    run(Duration::from_mins(30)).await;
}
