//! What must not get out, and what must not get in: keys, files of others, programs of the repository.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::json;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

const CANARY: &str = "CANARY-7f3a";

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[tokio::test]
async fn provider_keys_reach_no_command_and_no_file() {
    let server = ModelServer::start(Script::new([
        Step::calls([
            Call::new("run_terminal_cmd", json!({"command": "env"})),
            Call::new(
                "run_terminal_cmd",
                json!({"command": "cat /proc/$PPID/environ | tr '\\0' '\\n'; git config --list"}),
            ),
            Call::new("run_terminal_cmd", json!({"command": "python3 -c 'import os; print(dict(os.environ))'"})),
            Call::new("run_terminal_cmd", json!({"command": "(env > background.txt) & wait"})),
        ]),
        Step::say("Done."),
    ]))
    .await;
    let mut machine = Machine::new(plimsoll_tests::binary!());
    for (number, name) in (1..).zip(["MY_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"]) {
        machine = machine.env(name, &format!("{CANARY}-{number}"));
    }
    let machine = machine.model_with_key(&server, Api::OpenaiChat, "MY_KEY").env("PLIMSOLL_LOG", "trace");
    let machine = machine.env("HTTPS_PROXY", &format!("http://user:{CANARY}-9@proxy.test:3128"));
    let daemon = machine.daemon().await;
    let client = daemon.client().await;
    let workspace = Workspace::new();
    let session = client.session(&workspace).await;
    assert_eq!(client.turn(&session, "look").await["stopReason"], "endTurn");
    let sent = server.requests();
    assert_eq!(
        sent[0].header("authorization"),
        Some(format!("Bearer {CANARY}-1").as_str()),
        "the provider gets its key"
    );
    let results = sent[1].results();
    for name in ["PATH=", "HOME=", "LANG="] {
        assert!(results[0].1.contains(name), "{name} is there: {}", results[0].1);
    }
    assert!(workspace.read("background.txt").expect("it ran").contains("PATH="));
    assert!(!workspace.read("background.txt").expect("it ran").contains(CANARY));
    assert!(!String::from_utf8_lossy(&sent[1].body).contains(CANARY));
    assert!(!json!(client.others()).to_string().contains(CANARY));
    for file in files(&daemon.machine().data()).into_iter().filter(|path| path.is_file()) {
        let bytes = std::fs::read(&file).expect("a file");
        let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!found, "a key stands in {}", file.display());
    }
    server.assert_clean();
}

#[tokio::test]
async fn a_repository_runs_nothing_by_its_configuration() {
    let workspace = Workspace::new().file("a.txt", "aaaa\n").file(".gitattributes", "* filter=x diff=x\n").git();
    let trap = |name: &str| format!("touch '{}/PWN-{name}'; true", workspace.text());
    for name in
        ["core.fsmonitor", "diff.external", "diff.x.textconv", "core.pager", "core.sshCommand", "filter.x.clean"]
    {
        workspace.run_git(&["config", name, &trap(name)]);
    }
    for name in ["post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman"] {
        let hook = workspace.path().join(".git/hooks").join(name);
        workspace.write(&format!(".git/hooks/{name}"), format!("#!/bin/sh\n{}\n", trap(name)));
        std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).expect("an executable hook");
    }
    // Of the same size, so that the content decides and a filter would be asked.
    workspace.write("a.txt", "bbbb\n");
    let reads = || {
        Step::calls([
            Call::new("read_file", json!({"target_file": "a.txt"})),
            Call::new("list_dir", json!({"target_directory": "."})),
            Call::new("glob_file_search", json!({"glob_pattern": "*"})),
            Call::new("grep", json!({"pattern": "bbbb"})),
        ])
    };
    let steps = (0..3).flat_map(|_| [reads(), Step::say("Read.")]);
    let server = ModelServer::start(Script::new(steps)).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    for turn in 1..=3 {
        workspace.write("a.txt", format!("bbb{turn}\n"));
        assert_eq!(client.turn(&session, "read everything").await["stopReason"], "endTurn");
    }
    let sprung = || -> Vec<PathBuf> {
        files(workspace.path()).into_iter().filter(|path| path.to_string_lossy().contains("PWN-")).collect()
    };
    assert_eq!(sprung(), Vec::<PathBuf>::new());
    // The traps work: git by itself falls into them.
    workspace.run_git(&["diff"]);
    assert_ne!(sprung(), Vec::<PathBuf>::new());
    let first = server.requests()[0].last_user_text().expect("a prompt");
    assert!(first.contains("M a.txt"), "{first}");
    server.assert_clean();
}

#[tokio::test]
async fn everything_on_disk_is_its_owners_alone_whatever_the_umask() {
    let workspace = Workspace::new();
    let output = "for i in $(seq 20000); do echo line $i of a long output; done";
    let server = ModelServer::start(Script::new([
        Step::calls([
            Call::new("run_terminal_cmd", json!({"command": output})),
            Call::new("write", json!({"file_path": "made.txt", "contents": "one\n"})),
            // What was there is kept, so that it can be restored.
            Call::new("string_replace", json!({"file_path": "made.txt", "old_string": "one", "new_string": "two"})),
            Call::new("delete_file", json!({"target_file": "made.txt"})),
        ]),
        Step::say("Done."),
    ]))
    .await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full");
    for folder in [machine.data(), machine.runtime()] {
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o777)).expect("a wide folder");
    }
    let arguments = ["ask", "run it"];
    let mut command = machine.shell(workspace.path(), "umask 000; exec \"$@\"", &arguments);
    let output = plimsoll_tests::in_time("the command", command.stdin(Stdio::null()).output()).await.expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut seen, mut kept) = (0, 0);
    for path in [files(&machine.data()), files(&machine.runtime())].concat() {
        let metadata = std::fs::symlink_metadata(&path).expect("a file");
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.permissions().mode() & 0o777, expected, "{}", path.display());
        seen += 1;
        kept += usize::from(metadata.is_file() && path.parent().is_some_and(|folder| folder.ends_with("pre-images")));
    }
    assert!(seen > 10, "{seen} files");
    assert_eq!(kept, 2, "what was replaced and what was deleted");
    server.assert_clean();
}

#[tokio::test]
async fn nothing_is_open_to_others_for_a_moment_while_a_daemon_begins() {
    let machine = Machine::new(plimsoll_tests::binary!());
    let folders = [machine.data(), machine.runtime()];
    for folder in &folders {
        std::fs::remove_dir(folder).expect("an empty folder");
    }
    let ready = AtomicBool::new(false);
    let (seen, child) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut seen = BTreeSet::new();
            while !ready.load(Ordering::Relaxed) {
                seen.extend(folders.iter().flat_map(|folder| modes(folder)));
            }
            seen
        });
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", "umask 000; exec \"$@\"", "sh"])
            .arg(plimsoll_tests::binary!())
            .args(["daemon", "--detached"]);
        command.env_clear().envs(machine.environment()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a daemon");
        let mut line = String::new();
        let output = child.stdout.take().expect("a pipe");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("its readiness");
        ready.store(true, Ordering::Relaxed);
        assert!(line.contains("ready"), "{line}");
        (watch.join().expect("no panic"), child)
    });
    let open: Vec<_> = seen.iter().filter(|(_, mode)| mode & 0o077 != 0).collect();
    assert_eq!(open, Vec::<&(PathBuf, u32)>::new());
    assert!(seen.iter().any(|(path, _)| path.extension().is_some_and(|name| name == "sock")), "{seen:?}");
    // Another user does not get in, also where all above is open.
    let socket = seen.iter().find(|(path, _)| path.extension().is_some_and(|name| name == "sock"));
    let socket = &socket.expect("seen").0;
    std::fs::set_permissions(machine.runtime().parent().expect("a folder"), PermissionsExt::from_mode(0o755))
        .expect("open");
    if rustix::process::geteuid().is_root() {
        let connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
        let mut other = std::process::Command::new("setpriv");
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups", "python3", "-c", connect]).arg(socket);
        let refused = other.output().expect("another user");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains("PermissionError"), "{said}");
    }
    drop(machine);
    let mut child = child;
    child.wait().expect("a child");
}

/// What is in a folder now, with the bits of its mode; what goes meanwhile is not there.
fn modes(folder: &Path) -> Vec<(PathBuf, u32)> {
    let Ok(metadata) = std::fs::symlink_metadata(folder) else { return Vec::new() };
    let mut found = vec![(folder.to_owned(), metadata.permissions().mode() & 0o777)];
    if metadata.is_dir() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        found.extend(entries.flat_map(|entry| modes(&entry.path())));
    }
    found
}
