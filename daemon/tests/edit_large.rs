//! What edits of large files cost, in memory and time. Memory is measured on this very process, so that these tests run
//! one after the other. Time is printed and not judged: the machines that run this are shared.

#![allow(clippy::unwrap_used, reason = "only tests call this")]

use plimsoll::tool::multi_edit::MultiEdit;
use plimsoll::tool::{Tool, ToolEnv, ToolRun};
use plimsoll_core::id::CallId;
use plimsoll_core::permission::leave::Leave;
use plimsoll_core::tool::call::Call;
use plimsoll_core::tool::outcome::Status;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

static ALONE: Mutex<()> = Mutex::const_new(());

/// What the process and its runtime need besides the file, whatever its size.
const BASE: u64 = 8 << 20;

fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Makes these edits in a file of numbered lines; gives how far memory grew, and the time.
async fn cost(content: &[u8], edits: Vec<Value>, expected: impl FnOnce(&[u8]) -> bool) -> (u64, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let (root, data) = (top.join("ws"), top.join("data"));
    std::fs::create_dir_all(&root).unwrap();
    let path = root.join("large.txt");
    std::fs::write(&path, content).unwrap();
    let env = ToolEnv {
        roots: [root].into(),
        client_env: std::collections::BTreeMap::new().into(),
        session_dir: data.join("session"),
        plan_file: data.join("plans").join("session.md"),
        readable: [data.clone()].into(),
        pre_images: data.join("pre-images"),
        protected: [data].into(),
        writable: [].into(),
        secret_env: [].into(),
        tests: std::sync::Arc::default(),
    };
    let args = json!({"file_path": "large.txt", "edits": edits});
    let call = Call { id: CallId(1), tool: "MultiEdit".to_owned(), args };
    // From here on the kernel keeps the highest mark anew.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory("VmRSS:");
    let begun = Instant::now();
    let prepared = MultiEdit.prepare(&call, &env).await.unwrap();
    let (events, _keep) = tokio::sync::mpsc::channel(1);
    let (env, leave, cancel) = (&env, Leave::FREE, CancellationToken::new());
    let outcome = MultiEdit.run(ToolRun { call: &call, prepared: &prepared, leave, env, events, cancel }).await;
    let took = begun.elapsed();
    let grown = memory("VmHWM:").saturating_sub(before);
    assert_eq!(outcome.status, Status::Ok, "{outcome:?}");
    assert!(expected(&std::fs::read(&path).unwrap()));
    (grown, took)
}

fn lines(bytes: usize) -> Vec<u8> {
    let mut content = Vec::with_capacity(bytes + 64);
    let mut no = 0;
    while content.len() < bytes {
        no += 1;
        content.extend_from_slice(format!("line {no:08} of a file that is large\n").as_bytes());
    }
    content
}

fn check(what: &str, size: usize, (grown, took): (u64, Duration)) {
    assert!(grown < 2 * size as u64 + BASE, "{what}: grew by {grown} bytes for a file of {size}");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{what}: {grown} bytes, {took:?}\n").as_bytes());
}

#[tokio::test]
async fn one_edit_of_fifty_megabytes_needs_less_than_twice_the_file() {
    let _alone = ALONE.lock().await;
    let content = lines(50 << 20);
    let edit = json!({"old_string": "line 00000700 of", "new_string": "LINE 700 of"});
    let cost = cost(&content, vec![edit], |after| after.len() == content.len() - 5).await;
    check("one edit in 50 MB", content.len(), cost);
}

#[tokio::test]
async fn five_hundred_edits_of_one_file_are_made_in_one_call() {
    let _alone = ALONE.lock().await;
    let content = lines(1 << 20);
    let edits = (1..=500).map(
        |no| json!({"old_string": format!("line {:08} of", no * 40), "new_string": format!("LINE {:08} of", no * 40)}),
    );
    let changed = |after: &[u8]| {
        let count = after.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"LINE")).count();
        (count, after.len()) == (500, content.len())
    };
    let cost = cost(&content, edits.collect(), changed).await;
    check("500 edits in 1 MB", content.len(), cost);
}
