//! The daemon dies at every boundary of a compaction, by hand between turns and by itself within one. Afterwards the view
//! is the old one or the new one, and nothing else.

use crate::boundaries::{Named, boundaries, table};
use futures_util::StreamExt;
use plimsoll_tests::boundary::{Boundary, Passed, Stopper, arm, passed};
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Seen, Step};
use plimsoll_tests::sent::assert_stored;
use plimsoll_tests::summaries::{RULE, asks_for_summary, configure, goes_on, good, messages, notes, parted};
use plimsoll_tests::told::durable;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Runs that go on at the same time.
const TOGETHER: usize = 3;
/// Turns before the compaction.
const TURNS: usize = 5;

/// Who begins the compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// A client, while no turn runs.
    Hand,
    /// The daemon, before the first request of the turn after [`TURNS`].
    Itself,
}

/// Where the daemon dies.
#[derive(Debug, Clone)]
enum Death {
    Never,
    At(Boundary),
    /// While the summary is asked for and nothing of it has come.
    Waiting,
    /// In the middle of the summary.
    Streaming,
}

struct Scene {
    by: By,
    server: ModelServer,
    daemon: TestDaemon,
    client: Client,
    session: String,
    workspace: Workspace,
}

/// What an undisturbed run passed, and where.
struct Ran {
    died: bool,
    passed: Vec<Passed>,
    data: PathBuf,
    workspace: PathBuf,
}

fn summary(death: &Death, gate: &Gate) -> Step {
    let step = good("Notes were read.");
    match death {
        Death::Waiting => step.stall_before(gate),
        Death::Streaming => Step::say("## 1").stall(gate).text(" half of it"),
        Death::Never | Death::At(_) => step,
    }
}

impl Scene {
    async fn begin(by: By, stopper: &Stopper, death: &Death, gate: &Gate) -> Self {
        let lines = notes(60);
        let workspace = Workspace::new().file("notes.txt", lines);
        let script = Script::new([])
            .on(asks_for_summary, summary(death, gate))
            .on(
                |request| matches!(request.seen().last(), Some(Seen::Result(..))),
                Step::say("That is what stands there."),
            )
            .on(|_| true, Step::calls([Call::new("read_file", json!({"target_file": "notes.txt"}))]));
        let server = ModelServer::start(script).await;
        let context = match by {
            By::Hand => "compaction = \"off\"\ntail_guard_turns = 1\n".to_owned(),
            By::Itself => {
                format!("prepare_summaries = false\ncompact_every_turns = {TURNS}\ntail_guard_turns = 1\n")
            }
        };
        let mut machine = configure(Machine::new(plimsoll_tests::binary!()), &server, 100_000, &context);
        let at = if let Death::At(boundary) = death { Some(boundary) } else { None };
        stopper.watch(&mut machine, at);
        let daemon = machine.daemon().await;
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        for turn in 0..TURNS {
            let text = if turn == 0 { RULE } else { "look again" };
            assert_eq!(client.turn(&session, text).await["stopReason"], "endTurn");
        }
        Self { by, server, daemon, client, session, workspace }
    }

    fn prompt(&self) -> Value {
        json!({"session": self.session, "text": "and again", "idempotencyKey": "the prompt"})
    }

    /// What is to be killed: begun, and waited for until its end or the daemon's; whether the daemon died.
    async fn compact(&mut self, death: &Death, gate: &Gate) -> bool {
        let ended = match self.by {
            By::Hand => {
                self.client.attempt("context/compact", json!({"session": self.session})).await;
                "compactionFinished"
            }
            By::Itself => {
                self.client.attempt("turn/start", self.prompt()).await;
                "turnCompleted"
            }
        };
        let wanted = if self.by == By::Hand { 1 } else { TURNS + 1 };
        if matches!(death, Death::Waiting | Death::Streaming) {
            gate.reached().await;
            self.daemon.kill9().await;
        }
        let is_over = |events: &[Value]| events.iter().filter(|event| event["type"] == ended).count() >= wanted;
        let over = self.client.reached_or_closed("the end of the compaction or of the daemon", is_over).await;
        if over && !matches!(death, Death::Waiting | Death::Streaming) {
            return false;
        }
        self.client.closed().await;
        if matches!(death, Death::At(_)) {
            self.daemon.ended().await;
        }
        true
    }

    /// Whether clients were told of an epoch that a compaction opened.
    fn switches(&self) -> usize {
        let events = self.client.events();
        events.iter().filter(|event| event["type"] == "compactionFinished" && event["epoch"].is_u64()).count()
    }

    /// The daemon is started again, and the work goes on.
    async fn come_back(&mut self, stopper: &Stopper) {
        let before = durable(&self.client.events());
        stopper.watch(self.daemon.machine_mut(), None);
        self.daemon.restart().await;
        self.client = self.daemon.client().await;
        self.client.attach(&self.session, 0).await;
        if self.by == By::Itself {
            // An editor that got no answer says it again: it must not count twice.
            let turn = self.client.ok("turn/start", self.prompt()).await["turn"].as_u64().expect("a turn");
            self.client.completed(&self.session, turn).await;
        }
        let last = self.client.ok("session/get", json!({"session": self.session})).await["lastSeq"].clone();
        let all = |events: &[Value]| durable(events).last().is_some_and(|event| event["seq"] == last);
        let now = durable(&self.client.wait_events("all that was told", all).await);
        assert_eq!(now[..before.len()], before, "what a client has seen is there, and in its place");
    }

    /// The view is the old one or the new one: each request goes on from the one before it, but where a compaction is told.
    async fn finish(&mut self) {
        let told = self.switches();
        let shortened = self.client.ok("context/inspect", json!({"session": self.session})).await;
        assert_eq!(shortened.get("shortened").is_some(), told > 0, "{}", shortened["shortened"]);
        let turn = self.client.turn(&self.session, "and now").await;
        assert_eq!(turn["stopReason"], "endTurn", "{turn}");
        let told = self.switches();
        assert!(told <= 1 && (self.by == By::Hand || told == 1), "{told} compactions");
        let (sent, _) = parted(&self.server);
        let head = |index: usize| (&sent[index].json["tools"], &messages(&sent[index])[0]);
        let mut breaks = 0;
        for (no, request) in sent.iter().enumerate() {
            let text = request.json["messages"].to_string();
            assert!(text.contains(RULE), "request {no} has what the user said first");
            assert_eq!(head(no), head(0));
            if no > 0 && !goes_on(&sent[no - 1], request) {
                breaks += 1;
                assert!(text.contains("[Previous conversation summary]"), "a switch, and not half of one: {text}");
                assert!(text.contains("The conversation above was shortened"), "with what is in force: {text}");
            }
        }
        assert_eq!(breaks, told, "a prefix breaks where a compaction was told");
        self.server.assert_clean();
        assert_stored(&mut self.daemon, sent).await;
    }
}

async fn run(by: By, stopper: &Stopper, death: &Death) -> Ran {
    let gate = Gate::new();
    let mut scene = Scene::begin(by, stopper, death, &gate).await;
    arm(scene.daemon.machine());
    let died = scene.compact(death, &gate).await;
    let passed = passed(scene.daemon.machine());
    gate.release();
    if died {
        scene.come_back(stopper).await;
    }
    scene.finish().await;
    Ran { died, passed, data: scene.daemon.machine().data(), workspace: scene.workspace.path().to_owned() }
}

async fn every(by: By) {
    let stopper = Stopper::new();
    let ran = run(by, &stopper, &Death::Never).await;
    assert!(!ran.died);
    let at = |named: Named| (named.kind, Death::At(named.at));
    let mut all: Vec<(&'static str, Death)> =
        boundaries(&ran.passed, &ran.data, &ran.workspace).into_iter().map(at).collect();
    assert!(!all.is_empty());
    all.push(("before a summary", Death::Waiting));
    all.push(("in a summary", Death::Streaming));
    let one = async |(kind, death): (&'static str, Death)| {
        println!("{death:?}");
        (kind, run(by, &stopper, &death).await.died)
    };
    let ends: Vec<_> = futures_util::stream::iter(all).map(one).buffer_unordered(TOGETHER).collect().await;
    println!("{}", table(&ends));
    assert!(ends.iter().all(|(_, died)| *died), "boundaries that did not come again");
}

#[tokio::test]
async fn of_a_compaction_by_hand() {
    every(By::Hand).await;
}

#[tokio::test]
async fn of_a_compaction_within_a_turn() {
    every(By::Itself).await;
}
