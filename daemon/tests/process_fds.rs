//! Commands leave nothing open in the daemon. Measured on this very process, so that this test is alone in its binary.

#![allow(clippy::unwrap_used, reason = "only tests call this")]

mod support;

use plimsoll::process::table;
use plimsoll_core::tool::outcome::Status;
use support::{Workspace, until};

fn fds() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn zombies() -> usize {
    table::all().iter().filter(|process| process.parent == std::process::id() && process.dead).count()
}

#[tokio::test]
async fn commands_leave_no_file_descriptor_and_no_zombie() {
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
