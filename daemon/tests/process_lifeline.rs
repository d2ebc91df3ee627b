//! A command ends with its daemon, also with one that had no time to say anything.

#![allow(clippy::unwrap_used, reason = "only tests call this")]

mod support;

use plimsoll::process::Helper;
use plimsoll::process::frame::{End, Ended, Frame, STOP, Totals};
use plimsoll::process::limits::Limits;
use plimsoll::process::recover::{LeftoverEnd, end_leftover};
use plimsoll::process::run::{CommandSpec, RunEvent, spawn};
use plimsoll::process::table;
use plimsoll_core::ledger::ProcessMark;
use std::cell::RefCell;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{processes_in, until};

/// The variable in which the test tells its second self where to run a command.
const FOLDER: &str = "PROCESS_LIFELINE_FOLDER";

/// What is hardest to end: another session, deaf to TERM and HUP, no output held.
const STUBBORN: &str =
    "setsid sh -c 'trap \"\" TERM HUP; echo > deep; sleep 60; touch late' > /dev/null 2>&1 & echo > begun; sleep 60";

fn helper() -> Helper {
    Helper::at(env!("CARGO_BIN_EXE_plimsoll"))
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let kept = tempfile::tempdir().unwrap();
    let path = kept.path().canonicalize().unwrap();
    (kept, path)
}

fn start(folder: &Path, command: &str) -> (UnixStream, std::process::Child) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (ours, begin(folder, command, theirs))
}

fn begin(folder: &Path, command: &str, theirs: UnixStream) -> std::process::Child {
    let limits = serde_json::to_string(&Limits::FREE).unwrap();
    Command::new(helper().path())
        .args([Path::new("__exec"), &folder.join("c1.log"), Path::new(&limits), Path::new(command)])
        .current_dir(folder)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn when_the_lifeline_ends_everything_that_the_command_started_ends() {
    let (_keep, folder) = folder();
    let (ours, mut child) = start(&folder, STUBBORN);
    until("both have begun", || folder.join("begun").exists() && folder.join("deep").exists()).await;
    drop(ours);
    assert!(child.wait().unwrap().success());
    assert_eq!(processes_in(&folder), [] as [u32; 0]);
    assert!(!folder.join("late").exists());
}

#[tokio::test]
async fn a_daemon_that_is_gone_before_it_was_told_anything_is_noticed() {
    let (_keep, folder) = folder();
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(ours);
    let child = RefCell::new(begin(&folder, "sleep 600", theirs));
    until("the helper has ended", || child.borrow_mut().try_wait().unwrap().is_some()).await;
    assert_eq!(processes_in(&folder), [] as [u32; 0]);
}

#[test]
fn a_stop_is_answered_with_the_end() {
    let (_keep, folder) = folder();
    let (mut ours, mut child) = start(&folder, "echo begun; exec sleep 60");
    let (mut bytes, mut frames, mut buffer) = (Vec::new(), Vec::new(), [0; 4096]);
    loop {
        while let Some((frame, len)) = Frame::decode(&bytes).unwrap() {
            bytes.drain(..len);
            if frame == Frame::Live(b"begun\n".to_vec()) {
                ours.write_all(&[STOP]).unwrap();
            }
            frames.push(frame);
        }
        match ours.read(&mut buffer).unwrap() {
            0 => break,
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
    let Some(Frame::Ended(ended)) = frames.pop() else { panic!("the last frame of {frames:?} is not the end") };
    let (duration_ms, totals) = (ended.duration_ms, Totals { bytes: 6, ..Totals::default() });
    let expected = Ended {
        end: End::Signal(15),
        stopped: true,
        duration_ms,
        left_running: Vec::new(),
        stays: false,
        output: totals,
        stderr: Totals::default(),
        log_error: None,
    };
    assert_eq!(*ended, expected);
    assert!(frames.contains(&Frame::OutputHead(b"begun\n".to_vec())), "{frames:?}");
    assert!(child.wait().unwrap().success());
}

#[tokio::test]
async fn kill_9_of_the_daemon_ends_its_commands() {
    let (_keep, folder) = folder();
    let mut daemon = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "a_daemon_with_a_command"])
        .env(FOLDER, &folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("both have begun", || folder.join("begun").exists() && folder.join("deep").exists()).await;
    let mark: ProcessMark = serde_json::from_slice(&std::fs::read(folder.join("mark")).unwrap()).unwrap();
    assert!(table::find(&mark).is_some());
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    until("its processes are gone", || processes_in(&folder).is_empty()).await;
    assert_eq!(end_leftover(&mark), LeftoverEnd::Gone);
    assert!(!folder.join("late").exists());
}

#[tokio::test]
#[ignore = "the daemon that kill_9_of_the_daemon_ends_its_commands kills"]
async fn a_daemon_with_a_command() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let spec = CommandSpec {
        helper: helper(),
        // The mark is stored before the effect, as a session does it.
        command: format!("until [ -e mark ]; do sleep 0.01; done; {STUBBORN}"),
        cwd: folder.clone(),
        env: std::env::vars().collect(),
        log: folder.join("c1.log"),
        limits: Limits::FREE,
    };
    let mut running = spawn(&spec).unwrap();
    loop {
        if let RunEvent::Started(mark) = running.next().await.unwrap() {
            std::fs::write(folder.join("mark.new"), serde_json::to_vec(&mark).unwrap()).unwrap();
            std::fs::rename(folder.join("mark.new"), folder.join("mark")).unwrap();
        }
    }
}

#[tokio::test]
async fn what_a_dead_daemon_left_is_found_by_its_mark_and_ended() {
    let (_keep, folder) = folder();
    let mut child = Command::new("sh")
        .args(["-c", "trap '' TERM; sleep 60 & echo > begun; wait; sleep 60"])
        .current_dir(&folder)
        .process_group(0)
        .spawn()
        .unwrap();
    until("it has begun", || folder.join("begun").exists()).await;
    let start_ticks = table::process(child.id()).unwrap().start_ticks;
    let mark = ProcessMark { pid: child.id(), start_ticks, boot_id: table::boot_id() };
    // Another process with the same number, or of another boot, is left alone.
    assert_eq!(end_leftover(&ProcessMark { start_ticks: start_ticks + 1, ..mark.clone() }), LeftoverEnd::Gone);
    assert_eq!(end_leftover(&ProcessMark { boot_id: "other".into(), ..mark.clone() }), LeftoverEnd::Gone);
    assert_eq!(child.try_wait().unwrap(), None);
    assert_eq!(end_leftover(&mark), LeftoverEnd::Ended);
    assert!(!child.wait().unwrap().success());
    assert_eq!(processes_in(&folder), [] as [u32; 0]);
}
