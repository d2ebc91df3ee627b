//! One run: a daemon works through some jobs, dies somewhere, is started again, and the work is brought to its end by a
//! model that looks before it repeats anything.

use crate::job::{Job, Stand};
use crate::known::{Known, Unseen};
use plimsoll_core::model::request::Api;
use plimsoll_tests::boundary::{Boundary, Passed, Stopper, arm, passed};
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Gate, ModelServer, Script, Seen, Step};
use plimsoll_tests::sent::{assert_all_stored, assert_grows};
use plimsoll_tests::told::{durable, items};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::time::Duration;

/// What is to be done: the jobs of each of the model's messages.
pub struct Work {
    pub messages: Vec<Vec<Job>>,
    pub api: Api,
}

/// Where the daemon dies.
#[derive(Debug, Clone)]
pub enum Death {
    /// Nowhere.
    Never,
    /// At a system call.
    At(Boundary),
    /// While the model has not begun the answer of this number, from 0.
    Waiting(usize),
    /// In the middle of that answer.
    Streaming(usize),
    /// After this time.
    After(Duration),
    /// At the first, and when it is started again, at the second.
    Twice(Boundary, Boundary),
}

impl Death {
    fn first(&self) -> Option<&Boundary> {
        match self {
            Self::At(boundary) | Self::Twice(boundary, _) => Some(boundary),
            Self::Never | Self::Waiting(_) | Self::Streaming(_) | Self::After(_) => None,
        }
    }

    fn second(&self) -> Option<&Boundary> {
        match self {
            Self::Twice(_, boundary) => Some(boundary),
            Self::Never | Self::At(_) | Self::Waiting(_) | Self::Streaming(_) | Self::After(_) => None,
        }
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::At(boundary) => boundary.fmt(f),
            Self::Twice(first, second) => write!(f, "{first}, then {second}"),
            Self::Waiting(answer) => write!(f, "before answer {answer}"),
            Self::Streaming(answer) => write!(f, "in answer {answer}"),
            Self::After(time) => write!(f, "after {} ms", time.as_millis()),
        }
    }
}

/// What a run was.
pub struct Ran {
    /// Whether the daemon died.
    pub died: bool,
    /// The calls that changed files, until it ended or died.
    pub passed: Vec<Passed>,
    /// Those of the daemon that found it dead, until the session was as it should be.
    pub recovered: Vec<Passed>,
    pub data: PathBuf,
    pub workspace: PathBuf,
}

struct Scene {
    work: Vec<Job>,
    workspace: Workspace,
    server: ModelServer,
    daemon: TestDaemon,
    client: Client,
    session: String,
    /// Whether the prompt's call was answered.
    accepted: bool,
}

fn shown(jobs: &[Job]) -> Vec<Call> {
    let mut files: Vec<String> = jobs.iter().flat_map(|job| job.reads()).collect();
    files.sort();
    files.dedup();
    files.into_iter().map(|file| Call::new("read_file", json!({"target_file": file}))).collect()
}

/// The model's answers; `gate` stands in or before one of them.
fn script(work: &Work, jobs: &[Job], death: &Death, gate: &Gate) -> Vec<Step> {
    let mut calls = vec![shown(jobs)];
    calls.extend(work.messages.iter().map(|jobs| jobs.iter().map(|job| job.call()).collect()));
    calls.retain(|calls: &Vec<Call>| !calls.is_empty());
    calls.push(Vec::new());
    let step = |(no, calls): (usize, Vec<Call>)| {
        let mut step = Step::empty().text("I go on");
        if matches!(death, Death::Streaming(at) if *at == no) {
            step = step.stall(gate);
        }
        if matches!(death, Death::Waiting(at) if *at == no) {
            step = step.stall_before(gate);
        }
        calls.into_iter().fold(step.text("."), Step::call)
    };
    calls.into_iter().enumerate().map(step).collect()
}

/// How many answers the model gives when nothing happens.
pub fn answers(work: &Work) -> usize {
    let jobs: Vec<Job> = work.messages.concat();
    script(work, &jobs, &Death::Never, &Gate::new()).len()
}

/// Runs the work to its end, whatever happens on the way. Panics when anything is wrong.
pub async fn run(stopper: &Stopper, work: &Work, death: &Death) -> Ran {
    let jobs: Vec<Job> = work.messages.concat();
    let workspace = Workspace::new();
    for job in &jobs {
        job.prepare(&workspace);
    }
    let gate = Gate::new();
    let server = ModelServer::start(Script::new(script(work, &jobs, death, &gate))).await;
    let mut machine = Machine::new(plimsoll_tests::binary!()).model(&server, work.api, "full");
    stopper.watch(&mut machine, death.first());
    let daemon = machine.daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let mut scene = Scene { work: jobs, workspace, server, daemon, client, session, accepted: false };

    arm(scene.daemon.machine());
    let died = scene.first_turn(death, &gate).await;
    let mut noted = passed(scene.daemon.machine());
    let until = noted.len();
    if died {
        scene.come_back(stopper, death.second()).await;
        noted = passed(scene.daemon.machine());
        scene.go_on().await;
    }
    scene.finish().await;
    let recovered = noted.split_off(until);
    let (data, workspace) = (scene.daemon.machine().data(), scene.workspace.path().to_owned());
    Ran { died, passed: noted, recovered, data, workspace }
}

fn has_ended(session: &str, events: &[Value]) -> bool {
    events.iter().any(|event| event["session"] == session && event["type"] == "turnCompleted")
}

impl Scene {
    fn prompt(&self) -> Value {
        json!({"session": self.session, "text": "Do it.", "idempotencyKey": "the first prompt"})
    }

    /// Runs until the turn's end, which is `false`, or until the daemon died.
    async fn first_turn(&mut self, death: &Death, gate: &Gate) -> bool {
        self.accepted = self.client.attempt("turn/start", self.prompt()).await.is_some();
        match death {
            Death::Never | Death::At(_) | Death::Twice(..) => {}
            Death::Waiting(_) | Death::Streaming(_) => {
                gate.reached().await;
                self.daemon.kill9().await;
            }
            Death::After(time) => {
                tokio::time::sleep(*time).await;
                self.daemon.kill9().await;
            }
        }
        let by_itself = death.first().is_some() || matches!(death, Death::Never);
        let ended = |events: &[Value]| has_ended(&self.session, events);
        let ended = self.client.reached_or_closed("the end of the turn or of the daemon", ended).await;
        if by_itself && ended {
            return false;
        }
        self.client.closed().await;
        if by_itself {
            self.died().await;
        }
        true
    }

    async fn died(&mut self) {
        let status = self.daemon.ended().await;
        assert_eq!(status.signal(), Some(9), "the daemon ended by itself: {status}");
    }

    /// Starts the daemon again, twice when it dies once more, and waits until the first turn has its end. What the client
    /// had seen must be there.
    async fn come_back(&mut self, stopper: &Stopper, again: Option<&Boundary>) {
        let before = durable(&self.client.events());
        stopper.watch(self.daemon.machine_mut(), again);
        self.daemon.restart().await;
        if again.is_some() {
            self.died().await;
            stopper.watch(self.daemon.machine_mut(), None);
            self.daemon.restart().await;
        }
        self.client = self.daemon.client().await;
        self.client.attach(&self.session, 0).await;
        if !self.accepted {
            // An editor that got no answer says it again: it must not count twice.
            self.client.ok("turn/start", self.prompt()).await;
        }
        self.client.completed(&self.session, 1).await;
        let now = durable(&self.client.events());
        assert_eq!(now[..before.len()], before, "what a client has seen is there, and in its place");
    }

    /// Looks at what the daemon says of each job, and lets the model do the rest.
    async fn go_on(&mut self) {
        let items = items(&self.client.events());
        let operations = self.client.ok("operation/list", json!({"session": self.session})).await["operations"].take();
        let operations = operations.as_array().expect("a list");
        let (mut unseen, mut rest) = (Vec::new(), Vec::new());
        for job in &self.work {
            let known = Known::of(*job, &items);
            known.assert_true(*job, operations, &self.workspace);
            unseen.extend(known.unseen(*job, &self.workspace));
            if !(known.is_done() || known.is_unknown() && job.is_done(&self.workspace)) {
                rest.push(*job);
            }
        }

        // What no file can tell is done again only when it was proposed twice and the user says so.
        let held_back = |job: &Job| unseen.iter().any(|unseen| unseen.job == *job && !unseen.is_settled());
        let asks = rest.iter().filter(|job| held_back(job)).count();
        let mut steps: Vec<Step> = Vec::new();
        let inspect = |unseen: &Unseen| Call::new("inspect_operation", json!({"operation_id": unseen.call}));
        let looks: Vec<Call> = unseen.iter().map(inspect).chain(shown(&rest)).collect();
        if !looks.is_empty() {
            steps.push(Step::calls(looks));
        }
        for job in &rest {
            if held_back(job) {
                steps.push(Step::calls([job.call()]));
            }
            steps.push(Step::calls(self.again(*job)));
        }
        steps.push(Step::say("Done."));
        self.server.rewrite(steps);

        let before = self.server.requests().len();
        let turn = self.client.start(&self.session, "Go on.").await;
        for _ in 0..asks {
            self.allow().await;
        }
        assert_eq!(self.client.completed(&self.session, turn).await["stopReason"], "endTurn");
        self.assert_told(before, &unseen);
        for unseen in unseen.iter().filter(|unseen| !unseen.is_settled()) {
            self.resolve(unseen).await;
        }
    }

    async fn allow(&self) {
        let ask = self.client.asked(&self.session).await;
        let answer = json!({"session": self.session, "ask": ask["id"], "choice": "allowOnce"});
        self.client.ok("permission/respond", answer).await;
        let resolved = |event: &Value| event["type"] == "permissionResolved" && event["ask"]["id"] == ask["id"];
        self.client.wait_events("the answer", |events| events.iter().any(resolved)).await;
    }

    /// The user settles what is open, if anything still is.
    async fn resolve(&self, unseen: &Unseen) {
        let open = self.client.ok("operation/list", json!({"session": self.session, "unsettled": true})).await;
        if open["operations"].as_array().expect("a list").iter().any(|operation| operation["call"] == unseen.call) {
            let resolution = json!({"session": self.session, "call": unseen.call, "resolution": "applied"});
            assert_eq!(self.client.ok("operation/resolve", resolution).await["settled"], true);
        }
    }

    /// The model was told of each call whose end was not seen: in the first request, and when it inspected it.
    fn assert_told(&self, before: usize, unseen: &[Unseen]) {
        if unseen.is_empty() {
            return;
        }
        let requests = self.server.requests();
        let seen = requests[before].seen();
        let user = seen.iter().filter_map(|seen| if let Seen::User(text) = seen { Some(text.as_str()) } else { None });
        let told: Vec<&str> = user.filter(|text| text.contains("The end of these calls was not seen")).collect();
        let results = requests[before + 1].results();
        for unseen in unseen {
            let (start, words) = (format!("{} ", unseen.call), unseen.words());
            let line = told.iter().flat_map(|text| text.lines()).find(|line| line.contains(&start));
            assert!(line.is_some_and(|line| line.contains(words)), "{unseen:?}: {words} is not in {told:#?}");
            let inspected = results.iter().any(|(_, text)| text.contains(&start) && text.contains(words));
            assert!(inspected, "{unseen:?}: no inspection says {words}: {results:#?}");
        }
    }

    /// The calls that do a job that is not done, or done in part.
    fn again(&self, job: Job) -> Vec<Call> {
        let stands = job.stands(&self.workspace);
        if stands.iter().all(|stand| *stand == Stand::Undone) {
            return vec![job.call()];
        }
        let parts = job.files().into_iter().zip(stands).filter(|(_, stand)| *stand != Stand::Done);
        let repair = |part: crate::job::Part| match part.after {
            Some(content) => Call::new("write", json!({"file_path": part.file, "contents": content})),
            None => Call::new("delete_file", json!({"target_file": part.file})),
        };
        parts.map(|(part, _)| repair(part)).collect()
    }

    /// Everything is done, once; the model server has nothing to complain of, and the store prints what it got.
    async fn finish(&mut self) {
        for job in &self.work {
            assert!(job.is_done(&self.workspace), "{job:?}: {:?}", job.stands(&self.workspace));
        }
        self.server.assert_clean();
        assert_eq!(self.server.steps_left(), 0);
        assert_grows(&self.server);
        let open = self.client.ok("operation/list", json!({"session": self.session, "unsettled": true})).await;
        assert_eq!(open["operations"], json!([]));
        let state = self.client.ok("session/get", json!({"session": self.session})).await;
        assert_eq!(state["state"], "idle");
        assert_all_stored(&mut self.daemon, &self.server).await;
    }
}
