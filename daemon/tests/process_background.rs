//! Commands in the background with real processes: started, asked, ended, and what they cost meanwhile. Memory and
//! descriptors are measured on this very process, so that these tests run one after the other.

#![allow(clippy::unwrap_used, clippy::panic, reason = "only tests call this")]

mod support;

use plimsoll::tool::stop_task::StopTask;
use plimsoll::tool::task_output::TaskOutput;
use plimsoll_core::id::CallId;
use plimsoll_core::tool::outcome::{Body, Exit, Outcome, Status, TaskState};
use serde_json::json;
use std::time::{Duration, Instant};
use support::{Workspace, until};
use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

static ALONE: Mutex<()> = Mutex::const_new(());

/// A workspace with the tools that look after what runs in it.
struct World {
    workspace: Workspace,
    output: TaskOutput,
    stop: StopTask,
    _alone: MutexGuard<'static, ()>,
}

impl World {
    async fn new() -> Self {
        let alone = ALONE.lock().await;
        let workspace = Workspace::new();
        let output = TaskOutput::new(workspace.background.clone());
        let stop = StopTask::new(workspace.background.clone());
        Self { workspace, output, stop, _alone: alone }
    }

    async fn start(&self, command: &str) -> Outcome {
        let args = json!({ "command": command, "is_background": true });
        self.workspace.run_with(args, CancellationToken::new()).await.outcome
    }

    async fn output(&self, id: CallId, wait_ms: u64) -> TaskState {
        let args = json!({ "id": id.to_string(), "wait_ms": wait_ms });
        state(&self.workspace.call(&self.output, args, CancellationToken::new()).await.outcome)
    }

    async fn stop(&self, id: CallId) -> TaskState {
        let args = json!({ "id": id.to_string() });
        state(&self.workspace.call(&self.stop, args, CancellationToken::new()).await.outcome)
    }

    fn running(&self) -> usize {
        self.workspace.background.count(&self.workspace.env.session_dir)
    }
}

fn state(outcome: &Outcome) -> TaskState {
    match (&outcome.body, outcome.status) {
        (Body::Task(task), Status::Ok) => task.clone(),
        _ => panic!("not a task: {outcome:?}"),
    }
}

fn text(task: &TaskState) -> &str {
    &task.run.output.head
}

fn fds() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn a_command_in_the_background_returns_at_once_and_is_asked_and_ended() {
    let world = World::new().await;
    world.workspace.run("echo warm").await;
    let (before, begin) = (fds(), Instant::now());
    let line = "echo ready; until [ -e go ]; do sleep 0.02; done; echo went; sleep 300 & echo deeper; wait";
    let started = state(&world.start(line).await);
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    assert_eq!((text(&started), started.run.exit, started.from, started.id), ("ready\n", Exit::Running, 0, CallId(2)));
    assert!(fds() > before, "what runs is held");
    let nothing = world.output(started.id, 0).await;
    assert_eq!((text(&nothing), nothing.run.exit, nothing.from), ("", Exit::Running, 6));
    world.workspace.run("touch go").await;
    let mut seen = String::new();
    while seen != "went\ndeeper\n" {
        let more = world.output(started.id, 60_000).await;
        assert_eq!((more.from, more.run.exit), (6 + seen.len() as u64, Exit::Running));
        seen.push_str(text(&more));
    }
    assert!(world.workspace.processes().len() >= 3);
    let ended = world.stop(started.id).await;
    assert_eq!((text(&ended), ended.run.exit), ("", Exit::Cancelled));
    assert_eq!(world.workspace.processes(), [] as [u32; 0]);
    until("all is let go", || fds() == before).await;
    // Its end can still be asked about; so can be what never was.
    assert_eq!(world.output(started.id, 0).await.run.exit, Exit::Cancelled);
}

#[tokio::test]
async fn one_that_fails_at_once_is_told_with_its_exit_and_output() {
    let world = World::new().await;
    let outcome = world.start("echo no such port; exit 3").await;
    let Body::Command(run) = &outcome.body else { panic!("{outcome:?}") };
    assert_eq!((outcome.status, run.exit, run.output.head.as_str()), (Status::Failed, Exit::Code(3), "no such port\n"));
    assert_eq!(world.running(), 0);
}

#[tokio::test]
async fn the_end_of_its_own_is_waited_for_and_told() {
    let world = World::new().await;
    let started = state(&world.start("until [ -e go ]; do sleep 0.02; done; printf last; exit 4").await);
    let task = world.workspace.background.find(&world.workspace.env.session_dir, started.id).unwrap();
    world.workspace.run("touch go").await;
    let end = task.ended().await;
    assert_eq!((end.call, end.exit, end.told), (started.id, Some(Exit::Code(4)), false));
    let last = world.output(started.id, 60_000).await;
    assert_eq!((text(&last), last.run.exit), ("last", Exit::Code(4)));
}

#[tokio::test]
async fn what_a_command_left_running_has_the_same_handle() {
    let world = World::new().await;
    let ran = world.workspace.run("(trap '' TERM; while :; do echo tick; sleep 0.05; done) & echo ready").await;
    assert_eq!(ran.command().exit, Exit::Code(0));
    let id = CallId(1);
    let more = world.output(id, 60_000).await;
    assert!(text(&more).contains("tick\n") && !text(&more).contains("ready"), "{}", text(&more));
    assert_eq!((more.run.exit, more.run.left_running.is_empty()), (Exit::Code(0), false));
    let begin = Instant::now();
    assert_eq!(world.stop(id).await.run.left_running, [] as [u32; 0]);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!(world.workspace.processes(), [] as [u32; 0]);
}

#[tokio::test]
async fn a_wait_ends_with_the_users_interrupt() {
    let world = World::new().await;
    let started = state(&world.start("sleep 300").await);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let args = json!({ "id": started.id.to_string(), "wait_ms": 600_000 });
    let ran = world.workspace.call(&world.output, args, cancel).await;
    assert_eq!(state(&ran.outcome).run.exit, Exit::Running);
}

#[tokio::test]
async fn an_unknown_id_is_told_with_what_runs_and_too_many_are_refused() {
    let world = World::new().await;
    let unknown = json!({ "id": "c99" });
    let problem = |ran: support::Ran| match ran.outcome.body {
        Body::Text(text) => text,
        other => panic!("{other:?}"),
    };
    let ran = world.workspace.call(&world.stop, unknown.clone(), CancellationToken::new()).await;
    assert_eq!(problem(ran), "No command with the id `c99` is in the background. None of this session runs now.");
    for _ in 0..16 {
        state(&world.start("sleep 300").await);
    }
    let ran = world.workspace.call(&world.output, unknown, CancellationToken::new()).await;
    let text = problem(ran);
    assert!(text.contains("Running now: c2 (sleep 300), c3 (sleep 300), "), "{text}");
    let refused = world.start("sleep 300").await;
    let Body::Text(text) = &refused.body else { panic!("{refused:?}") };
    assert!(text.contains("16 commands") && text.contains("stop_task") && text.contains("c2 (sleep 300)"), "{text}");
    world.workspace.background.end_session(&world.workspace.env.session_dir).await;
    assert_eq!(world.workspace.processes(), [] as [u32; 0]);
}

#[tokio::test]
async fn a_session_that_closes_ends_the_whole_tree() {
    let world = World::new().await;
    state(&world.start("sh -c '(sleep 5; touch late) & trap \"\" TERM; sleep 60'").await);
    let begin = Instant::now();
    world.workspace.background.end_session(&world.workspace.env.session_dir).await;
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!(world.workspace.processes(), [] as [u32; 0]);
    assert!(!world.workspace.root.join("late").exists());
}

#[tokio::test]
async fn a_flood_that_nobody_asks_about_costs_no_memory_and_is_shown_bounded() {
    let world = World::new().await;
    world.workspace.run("echo warm").await;
    let before = resident();
    let started = state(&world.start("echo first; timeout 3 yes; echo; echo last").await);
    let task = world.workspace.background.find(&world.workspace.env.session_dir, started.id).unwrap();
    let end = task.ended();
    tokio::pin!(end);
    let mut most = before;
    let mut look = tokio::time::interval(Duration::from_millis(20));
    loop {
        tokio::select! {
            _ = &mut end => break,
            _ = look.tick() => most = most.max(resident()),
        }
    }
    assert!(most - before < 64 * 1024 * 1024, "grew by {} bytes", most - before);
    let all = world.output(started.id, 0).await;
    let output = &all.run.output;
    assert!(output.head.len() + output.tail.len() <= 8 * 1024 && output.tail.ends_with("\nlast\n"), "{}", output.tail);
    let (start, end) = all.gap.unwrap();
    let log = std::fs::metadata(all.run.log.as_ref().unwrap()).unwrap().len();
    assert_eq!(start - all.from, output.head.len() as u64);
    assert_eq!(log - end, output.tail.len() as u64);
}
