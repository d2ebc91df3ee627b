//! `run_terminal_cmd` with real processes: every command here is started by the real helper.

mod support;

use plimsoll_core::id::CallId;
use plimsoll_core::tool::outcome::{Body, Exit, Status};
use plimsoll_core::tool::projection::command::project_command;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Workspace, until};
use tokio_util::sync::CancellationToken;

fn pids(ran: &support::Ran) -> &[u32] {
    &ran.command().left_running
}

/// A token for four letters or one ideograph.
fn tokens(text: &str) -> u64 {
    text.chars().map(|c| if c.is_ascii() { 1 } else { 4 }).sum::<u64>().div_ceil(4)
}

#[tokio::test]
async fn a_command_gives_its_output_and_end() {
    let workspace = Workspace::new();
    let ran = workspace.run("echo out; echo err >&2; pwd").await;
    let run = ran.command();
    let mut lines: Vec<&str> = run.output.head.lines().collect();
    lines.sort_unstable();
    let mut expected = [workspace.root.to_str().unwrap(), "err", "out"];
    expected.sort_unstable();
    assert_eq!(lines, expected);
    assert_eq!((run.stderr.head.as_str(), run.exit, run.cwd.as_str()), ("err\n", Exit::Code(0), "."));
    let log = run.log.as_ref().unwrap();
    assert_eq!(std::fs::read_to_string(log).unwrap(), run.output.head);
    assert_eq!(std::fs::metadata(log).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(ran.live, run.output.head);
    assert_eq!(ran.marks.len(), 1);
    assert!(ran.marks[0].start_ticks > 0 && !ran.marks[0].boot_id.is_empty());
    assert_eq!(workspace.processes(), [] as [u32; 0]);
}

#[tokio::test]
async fn a_command_that_prints_nothing_leaves_no_log() {
    let workspace = Workspace::new();
    let ran = workspace.run("true").await;
    assert_eq!((ran.shown(), ran.command().log.as_deref()), ((Status::Ok, ""), None));
    assert_eq!(std::fs::read_dir(workspace.env.session_dir.join("artifacts")).unwrap().count(), 0);
}

#[tokio::test]
async fn it_runs_in_the_asked_folder_and_says_where_that_is() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.root.join("sub")).unwrap();
    let args = serde_json::json!({ "command": "basename \"$PWD\"", "working_directory": "sub" });
    let ran = workspace.run_with(args, CancellationToken::new()).await;
    assert_eq!((ran.shown(), ran.command().cwd.as_str()), ((Status::Ok, "sub\n"), "sub"));
}

#[tokio::test]
async fn a_command_that_reads_its_input_ends_at_once_and_nobody_is_asked() {
    let workspace = Workspace::new();
    let begin = Instant::now();
    assert_eq!(workspace.run("cat").await.shown(), (Status::Ok, ""));
    assert_eq!(workspace.run("read x; echo \"[$x] $?\"").await.shown(), (Status::Ok, "[] 1\n"));
    let git = workspace.run("git -c credential.helper= ls-remote https://user@127.0.0.1:9/x").await;
    assert_eq!(git.outcome.status, Status::Failed);
    let terminal = workspace.run("echo x > /dev/tty").await;
    assert_eq!(terminal.outcome.status, Status::Failed);
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_quiet_background_child_does_not_hold_the_tool() {
    let workspace = Workspace::new();
    let begin = Instant::now();
    let ran = workspace.run_for("sleep 61 & echo ready", 30_000).await;
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    assert_eq!((ran.shown(), pids(&ran).len()), ((Status::Ok, "ready\n"), 1));
    assert!(workspace.processes().contains(&pids(&ran)[0]));
    // It can be ended by a later command, too.
    assert_eq!(workspace.background.count(&workspace.env.session_dir), 1);
    assert_eq!(workspace.run(&format!("kill {}", pids(&ran)[0])).await.shown(), (Status::Ok, ""));
    until("the keeper lets go", || workspace.background.count(&workspace.env.session_dir) == 0).await;
    assert_eq!(workspace.processes(), [] as [u32; 0]);
}

#[tokio::test]
async fn a_chatty_background_child_does_not_hold_the_tool_and_its_log_goes_on() {
    let workspace = Workspace::new();
    let begin = Instant::now();
    let ran = workspace.run_for("(trap '' TERM; while :; do echo tick; sleep 0.05; done) & echo ready", 30_000).await;
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    assert!(ran.command().output.head.contains("ready\n"));
    assert!(!pids(&ran).is_empty());
    let log = ran.command().log.clone().unwrap();
    let size = std::fs::metadata(&log).unwrap().len();
    until("the log grows", || std::fs::metadata(&log).unwrap().len() > size + 20).await;
    // The end of the session ends it.
    workspace.background.end_session(&workspace.env.session_dir).await;
    assert_eq!(workspace.processes(), [] as [u32; 0]);
}

#[tokio::test]
async fn the_last_part_of_a_pipeline_that_bash_does_not_wait_for_is_in_the_result() {
    let workspace = Workspace::new();
    let ran = workspace.run("echo one > >(sleep 0.1; cat)").await;
    assert_eq!((ran.shown(), pids(&ran)), ((Status::Ok, "one\n"), &[][..]));
}

#[tokio::test]
async fn the_end_of_the_time_ends_the_whole_tree() {
    let workspace = Workspace::new();
    for command in [
        r#"sh -c '(sleep 5; touch late) & trap "" TERM; sleep 60'"#,
        r#"setsid sh -c 'trap "" TERM HUP; sleep 5; touch late' & trap "" TERM; sleep 60"#,
        r#"(setsid nohup sh -c 'trap "" TERM; sleep 5; touch late' > /dev/null 2>&1 &) ; kill -STOP $$"#,
    ] {
        let begin = Instant::now();
        let ran = workspace.run_for(command, 1_000).await;
        assert!(begin.elapsed() < Duration::from_secs(5), "{command}: {:?}", begin.elapsed());
        assert_eq!((ran.command().exit, ran.outcome.status), (Exit::TimedOut, Status::Failed), "{command}");
        assert_eq!(workspace.processes(), [] as [u32; 0], "{command}");
        assert!(!workspace.root.join("late").exists(), "{command}");
    }
}

#[tokio::test]
async fn an_interrupt_ends_the_whole_tree() {
    let workspace = Workspace::new();
    let cancel = CancellationToken::new();
    let args = serde_json::json!({ "command": "echo begun > begun; setsid sleep 60 & sleep 60" });
    let begun = workspace.root.join("begun");
    let interrupt = async {
        until("the command has begun", || begun.exists()).await;
        cancel.cancel();
    };
    let (ran, ()) = tokio::join!(workspace.run_with(args.clone(), cancel.clone()), interrupt);
    assert_eq!((ran.command().exit, ran.outcome.status), (Exit::Cancelled, Status::Cancelled));
    assert_eq!(workspace.processes(), [] as [u32; 0]);

    std::fs::remove_file(&begun).unwrap();
    let ran = workspace.run_with(args, cancel).await;
    assert_eq!(ran.outcome.status, Status::Cancelled);
    assert!(!begun.exists() && ran.marks.is_empty());
}

#[tokio::test]
async fn a_character_split_between_two_reads_is_whole() {
    let workspace = Workspace::new();
    let ran = workspace.run(r"printf 'x \342'; sleep 0.2; printf '\202\254 y\n'").await;
    assert_eq!(ran.shown(), (Status::Ok, "x \u{20ac} y\n"));
    assert_eq!(ran.live.replace('\n', ""), "x \u{20ac} y");
    let ran = workspace.run(r"printf '\344\275\240%.0s' {1..200000}").await;
    assert!(ran.command().output.head.chars().eq(std::iter::repeat_n('\u{4F60}', 200_000)));
    let ran = workspace.run(r"printf '\344\275\240%.0s' {1..400000}").await;
    let (output, kept) = (&ran.command().output, |text: &str| text.chars().all(|c| c == '\u{4F60}'));
    assert!(kept(&output.head) && kept(&output.tail));
    assert_eq!(output.head.len() as u64 + output.omitted + output.tail.len() as u64, 1_200_000);
    let shown = project_command(ran.command(), CallId(1), 2_000, tokens);
    assert!(shown.partial && !shown.body.contains('\u{FFFD}'));
    assert!(tokens(&shown.body) <= 2_000, "{}", tokens(&shown.body));
}

#[tokio::test]
async fn bytes_that_are_no_text_and_terminal_control_are_taken_out() {
    let workspace = Workspace::new();
    let ran = workspace.run(r"printf 'a\377b\000c\033]0;t\007d\n'").await;
    assert_eq!((ran.shown(), ran.live.as_str()), ((Status::Ok, "a\u{FFFD}bcd\n"), "a\u{FFFD}bcd\n"));
    assert_eq!(std::fs::read(ran.command().log.as_ref().unwrap()).unwrap(), b"a\xFFb\0c\x1b]0;t\x07d\n");
    let ran = workspace.run(r"printf '\033[3'; sleep 0.2; printf '1mRED\033[0m\n'").await;
    assert_eq!((ran.shown(), ran.live.as_str()), ((Status::Ok, "RED\n"), "RED\n"));
}

#[tokio::test]
async fn death_by_a_signal_is_a_failure() {
    let workspace = Workspace::new();
    for (command, exit, status, output) in [
        ("printf before; kill -KILL $$", Exit::Signal(9), Status::Failed, "before"),
        ("ulimit -c 0; kill -SEGV $$", Exit::Signal(11), Status::Failed, ""),
        ("exit 7", Exit::Code(7), Status::Failed, ""),
        // The shell says so of its child, and goes on.
        ("sh -c 'kill -TERM $$' 2> /dev/null; true", Exit::Code(0), Status::Ok, "Terminated\n"),
    ] {
        let ran = workspace.run(command).await;
        assert_eq!((ran.command().exit, ran.shown()), (exit, (status, output)), "{command}");
    }
    let facts = project_command(workspace.run("kill -KILL $$").await.command(), CallId(1), 2_000, |_| 0).facts;
    assert_eq!(facts[0], "exit code 137, ended by signal 9 (KILL)");
}

#[tokio::test]
async fn secrets_and_the_daemons_own_environment_do_not_reach_a_command() {
    let mut workspace = Workspace::new();
    let mut client = (*workspace.env.client_env).clone();
    let secrets = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MY_HOST_TOKEN", "MCP_SECRET", "PLIMSOLL_TEST_KEY"];
    for (no, name) in secrets.iter().enumerate() {
        client.insert((*name).to_owned(), format!("CANARY-7f3a-{no}"));
    }
    client.insert("HTTPS_PROXY".into(), "http://user:CANARY-7f3a-9@proxy.test:3128".into());
    client.insert("LANG".into(), "C.UTF-8".into());
    client.insert("BASH_ENV".into(), "evil.sh".into());
    client.insert("BASH_FUNC_env%%".into(), "() { echo FUNCTION; }".into());
    std::fs::write(workspace.root.join("evil.sh"), "echo BASHENV\n").unwrap();
    workspace.env.client_env = Arc::new(client);
    workspace.env.secret_env = secrets[..4].iter().map(|name| (*name).to_owned()).collect();
    // The helper's environment can be read by the command as well.
    let command = "env; tr '\\0' '\\n' < /proc/$PPID/environ; git config --list; (env; echo later) & wait";
    let ran = workspace.run(command).await;
    let output = &ran.command().output.head;
    for absent in ["CANARY", "FUNCTION", "BASHENV", "CARGO_"] {
        assert!(!output.contains(absent), "{absent}: {output}");
    }
    let seen: BTreeMap<&str, &str> = output.lines().filter_map(|line| line.split_once('=')).collect();
    assert!(seen.contains_key("PATH") && seen.contains_key("HOME"));
    assert_eq!((seen.get("LANG"), seen.get("HTTPS_PROXY")), (Some(&"C.UTF-8"), Some(&"http://proxy.test:3128")));
}

#[tokio::test]
async fn a_command_that_kills_its_helper_is_ended_and_its_end_is_unknown() {
    let workspace = Workspace::new();
    let ran = workspace.run("echo begun; sleep 0.3; kill -9 $PPID; sleep 60").await;
    assert_eq!(ran.outcome.status, Status::Unknown);
    let Body::Text(text) = &ran.outcome.body else { panic!("{:?}", ran.outcome.body) };
    assert!(text.contains("is not known") && text.contains("It has been ended."), "{text}");
    until("its processes are gone", || workspace.processes().is_empty()).await;
}

#[tokio::test]
async fn what_cannot_be_run_says_why() {
    let workspace = Workspace::new();
    let long = workspace.run(&format!("true {}", "x".repeat(3_000_000))).await;
    let text = format!("{:?}", long.outcome);
    assert!(long.outcome.status == Status::Failed && text.contains("long"), "{text}");

    let call = |args: serde_json::Value| plimsoll_core::tool::call::Call {
        id: plimsoll_core::id::CallId(900),
        tool: "run_terminal_cmd".into(),
        args,
    };
    for (args, expected) in [
        (serde_json::json!({ "command": " " }), "`command` is empty"),
        (serde_json::json!({ "command": "true", "timeout_ms": 0 }), "from 1 to 3600000"),
        (
            serde_json::json!({ "command": "true", "working_directory": "none" }),
            "`working_directory`: `none` does not exist",
        ),
        (serde_json::json!({}), "missing field `command`"),
    ] {
        let problem = plimsoll::tool::Tool::prepare(&workspace.tool, &call(args), &workspace.env).await.unwrap_err();
        assert!(problem.contains(expected), "{problem}");
    }
}

#[tokio::test]
async fn the_folder_is_checked_again_when_the_command_runs() {
    use plimsoll::tool::{Tool, ToolRun};
    let workspace = Workspace::new();
    let (first, second) = (workspace.root.join("a"), workspace.root.join("b"));
    std::fs::create_dir(&first).unwrap();
    std::fs::create_dir(&second).unwrap();
    let link = workspace.root.join("link");
    std::os::unix::fs::symlink(&first, &link).unwrap();
    let call = plimsoll_core::tool::call::Call {
        id: plimsoll_core::id::CallId(1),
        tool: "run_terminal_cmd".into(),
        args: serde_json::json!({ "command": "touch here", "working_directory": "link" }),
    };
    let prepared = workspace.tool.prepare(&call, &workspace.env).await.unwrap();
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&second, &link).unwrap();
    let (events, _told) = tokio::sync::mpsc::channel(1);
    let cancel = CancellationToken::new();
    let leave = plimsoll_core::permission::leave::Leave::FREE;
    let run = ToolRun { call: &call, prepared: &prepared, leave, env: &workspace.env, events, cancel };
    let outcome = workspace.tool.run(run).await;
    assert_eq!(outcome.status, Status::Failed);
    assert!(!first.join("here").exists() && !second.join("here").exists());
}
