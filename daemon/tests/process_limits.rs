//! What commands cost the daemon, and that they keep apart. Memory is measured on this very process, so that these tests
//! run one after the other.

#![allow(clippy::unwrap_used, reason = "only tests call this")]

mod support;

use futures_util::StreamExt;
use plimsoll_core::tool::outcome::Exit;
use support::Workspace;
use tokio::sync::Mutex;

static ALONE: Mutex<()> = Mutex::const_new(());

/// How much the memory of the daemon may grow under a flood.
const GROWTH: u64 = 64 * 1024 * 1024;

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
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
    let edges = (&output.head[..10], &output.tail[output.tail.len().saturating_sub(10)..]);
    assert!(edges.0 == "first\ny\ny\n" && edges.1.ends_with("\nlast\n"), "{edges:?} of {} bytes", output.total_bytes);
    assert!(output.omitted > 1024 * 1024 && output.head.len() + output.tail.len() <= 1024 * 1024);
    assert_eq!(output.head.len() as u64 + output.omitted + output.tail.len() as u64, output.total_bytes);
    assert_eq!(output.omitted_lines * 2, output.omitted);
    assert!(ran.live.contains("bytes not shown here") && ran.live.len() < 8 * 1024 * 1024);
    let log = std::fs::metadata(run.log.as_ref().unwrap()).unwrap().len();
    let cap = 256 * 1024 * 1024;
    assert!(log == output.total_bytes || (output.total_bytes > cap && (cap..cap + 100).contains(&log)), "{log}");
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

#[tokio::test]
async fn what_is_in_the_pipe_when_the_command_ends_is_in_the_result() {
    /// More than a pipe holds, so that the last part is still in it when the command ends.
    const SIZE: usize = 70_000;
    let _alone = ALONE.lock().await;
    let workspace = Workspace::new();
    for _ in 0..20 {
        let ran = workspace.run(&format!("head -c {SIZE} /dev/zero | tr '\\0' x; printf end")).await;
        let output = &ran.command().output;
        assert_eq!((output.total_bytes, output.head.ends_with("xend")), (SIZE as u64 + 3, true));
    }
}
