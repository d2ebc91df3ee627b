//! What commands cost the daemon: memory, file descriptors, processes. Measured on this very process, so that these
//! tests run one after the other.

#![allow(clippy::unwrap_used, reason = "only tests call this")]

mod support;

use futures_util::StreamExt;
use plimsoll::process::table;
use plimsoll_core::tool::outcome::{Exit, Status};
use support::{Workspace, until};
use tokio::sync::Mutex;

static ALONE: Mutex<()> = Mutex::const_new(());

/// How much the memory of the daemon may grow under a flood.
const GROWTH: u64 = 64 * 1024 * 1024;

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn fds() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn zombies() -> usize {
    table::all().iter().filter(|process| process.parent == std::process::id() && process.dead).count()
}

#[tokio::test]
async fn a_flood_of_output_is_bounded_in_memory_and_keeps_its_ends() {
    let _alone = ALONE.lock().await;
    let workspace = Workspace::new();
    workspace.run("echo warm").await;
    let before = resident();
    let mut most = before;
    let flood = workspace.run_for("echo first; timeout 3 yes; echo; echo last", 20_000);
    tokio::pin!(flood);
    let mut look = tokio::time::interval(std::time::Duration::from_millis(20));
    let ran = loop {
        tokio::select! {
            ran = &mut flood => break ran,
            _ = look.tick() => most = most.max(resident()),
        }
    };
    assert!(most - before < GROWTH, "grew by {} bytes", most - before);
    let run = ran.command();
    assert_eq!(run.exit, Exit::Code(0));
    let output = &run.output;
    assert!(output.head.starts_with("first\ny\ny\n") && output.tail.ends_with("\nlast\n"));
    assert!(output.omitted > 1024 * 1024 && output.head.len() + output.tail.len() <= 1024 * 1024);
    assert_eq!(output.head.len() as u64 + output.omitted + output.tail.len() as u64, output.total_bytes);
    assert_eq!(output.omitted_lines * 2, output.omitted);
    assert!(ran.live.contains("bytes not shown here") && ran.live.len() < 8 * 1024 * 1024);
    let log = std::fs::metadata(run.log.as_ref().unwrap()).unwrap().len();
    let cap = 256 * 1024 * 1024;
    assert!(log == output.total_bytes || (output.total_bytes > cap && (cap..cap + 100).contains(&log)), "{log}");
}

#[tokio::test]
async fn commands_leave_no_file_descriptor_and_no_zombie() {
    let _alone = ALONE.lock().await;
    let workspace = Workspace::new();
    workspace.run("echo warm").await;
    let before = fds();
    for _ in 0..5 {
        assert_eq!(workspace.run("echo x; echo y >&2").await.outcome.status, Status::Ok);
        workspace.run_for("sleep 60", 50).await;
    }
    assert_eq!((fds(), zombies()), (before, 0));
    let ran = workspace.run("sleep 61 & echo ready").await;
    assert!(fds() > before, "what still runs is held");
    workspace.run(&format!("kill {}", ran.command().left_running[0])).await;
    until("all is let go", || fds() == before).await;
    assert_eq!(zombies(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_commands_side_by_side_each_get_their_own_output() {
    /// As many as a daemon runs at once for a few sessions.
    const AT_ONCE: usize = 16;
    let _alone = ALONE.lock().await;
    let workspace = Workspace::new();
    let runs = (0..100).map(|no| {
        let workspace = &workspace;
        async move {
            let ran = workspace.run(&format!("echo {no}; echo {no} >&2; exit {no}")).await;
            let run = ran.command();
            (run.exit, run.stderr.head.clone(), run.output.head.clone()) == {
                (Exit::Code(no), format!("{no}\n"), format!("{no}\n{no}\n"))
            }
        }
    });
    let right = futures_util::stream::iter(runs).buffer_unordered(AT_ONCE).filter(|right| std::future::ready(*right));
    assert_eq!(right.count().await, 100);
}
