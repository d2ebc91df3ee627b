//! Commands that try to get out of what they are held to. Each is started by the real helper under the real kernel; where
//! the kernel cannot enforce something, the probe says so and the tests of it are passed over.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "only tests call this")]

mod support;

use plimsoll::process::Helper;
use plimsoll::process::limits::Limits;
use plimsoll::process::sandbox::bubblewrap::Bubblewrap;
use plimsoll::process::sandbox::probe::{Found, Probe};
use plimsoll::tool::run_terminal_cmd::RunTerminalCmd;
use plimsoll_core::id::CallId;
use plimsoll_core::permission::leave::{Files, Leave};
use plimsoll_core::tool::outcome::{Exit, Status};
use plimsoll_core::tool::projection::command::project_command;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use support::{Ran, Workspace, until};

const ROOTS: Leave = Leave { files: Files::Roots, network: true };
const ROOTS_OFFLINE: Leave = Leave { files: Files::Roots, network: false };
const NOTHING: Leave = Leave { files: Files::Nothing, network: false };
const SECRET: &str = "CANARY-51d0";

const BINARY: &str = env!("CARGO_BIN_EXE_plimsoll");

/// What a system grants to the helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum System {
    /// What it grants to these tests.
    AsItIs,
    /// No privileges, but namespaces: any user of most systems.
    Unprivileged,
    /// No view of the file system of its own.
    WithoutView,
    /// No network of its own.
    WithoutNetwork,
}

impl System {
    const WITH_FILES: [Self; 3] = [Self::AsItIs, Self::Unprivileged, Self::WithoutView];

    fn helper(self, folder: &Path) -> Helper {
        let line = match self {
            Self::AsItIs => return Helper::at(BINARY),
            Self::Unprivileged => "unshare -U --map-user=1000 --map-group=1000".to_owned(),
            Self::WithoutView | Self::WithoutNetwork => {
                let kind = if self == Self::WithoutView { "mnt" } else { "net" };
                format!("unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_{kind}_namespaces && exec \"$@\"' sh")
            }
        };
        let script = folder.join("helper");
        let text = format!("#!/bin/sh\nexec {line} {BINARY} \"$@\"\n");
        // By a child: what this process has open for writing, those that other tests start hold for a moment too, and no file
        // is run meanwhile.
        let maker = ["-c", "printf %s \"$2\" >\"$1\" && chmod 700 \"$1\"", "sh", script.to_str().unwrap(), &text];
        assert!(std::process::Command::new("sh").args(maker).status().unwrap().success());
        Helper::at(script)
    }
}

async fn probe(helper: &Helper) -> Found {
    Probe::default().found(helper).await.clone()
}

/// Whether this kernel can enforce what a test is about.
async fn enforced(leave: Leave) -> bool {
    let sandbox = probe(&Helper::at(BINARY)).await.sandbox();
    (leave.files == Files::All || sandbox.files) && (leave.network || sandbox.network)
}

/// A workspace with a home, Plimsoll's own folders, and a folder that is none of its business.
struct Jail {
    workspace: Workspace,
    base: PathBuf,
}

impl Jail {
    /// Outside of the folders for temporary files, as real ones are: the sources may lie in one.
    fn new(leave: Leave) -> Self {
        let home = std::env::var("HOME").unwrap_or_default();
        let temporary = |place: &str| ["/tmp", "/var/tmp"].iter().any(|folder| Path::new(place).starts_with(folder));
        let place = [env!("CARGO_TARGET_TMPDIR"), &home].into_iter().find(|place| !temporary(place));
        Self::below(tempfile::tempdir_in(place.expect("a folder that is not for temporary files")).unwrap(), leave)
    }

    fn below(folder: tempfile::TempDir, leave: Leave) -> Self {
        let mut workspace = Workspace::below(folder);
        let base = workspace.root.parent().unwrap().to_owned();
        for path in ["home/.ssh", "config", "data/p/s", "run", "outside"] {
            std::fs::create_dir_all(base.join(path)).unwrap();
        }
        for path in ["home/.ssh/id_rsa", "config/config.toml", "data/user.db", "run/secret", "data/p/log"] {
            std::fs::write(base.join(path), SECRET).unwrap();
        }
        std::fs::write(base.join("outside/victim"), "as it was").unwrap();
        let mut client: BTreeMap<String, String> = (*workspace.env.client_env).clone();
        client.insert("HOME".into(), base.join("home").to_str().unwrap().into());
        workspace.env.client_env = Arc::new(client);
        workspace.env.protected = ["config", "data", "run"].map(|path| base.join(path)).into();
        workspace.env.readable = [base.join("data/p")].into();
        workspace.env.session_dir = base.join("data/p/s");
        workspace.leave = leave;
        Self { workspace, base }
    }

    fn on(mut self, system: System) -> Self {
        let helper = system.helper(&self.base);
        self.workspace.tool = RunTerminalCmd::new(helper, self.workspace.background.clone());
        self
    }

    /// Runs a command in which `@` stands for the folder with all this.
    async fn run(&self, command: &str) -> Ran {
        self.workspace.run(&command.replace('@', self.base.to_str().unwrap())).await
    }

    fn unharmed(&self) -> bool {
        let names = |path: &str| std::fs::read_dir(self.base.join(path)).unwrap().count();
        std::fs::read(self.base.join("outside/victim")).unwrap() == b"as it was"
            && (names("outside"), names("home"), names("config"), names("data/p")) == (1, 1, 1, 2)
    }
}

/// What the model reads above the output.
fn facts(ran: &Ran) -> Vec<String> {
    project_command(ran.command(), CallId(1), 2_000, |_| 0).facts
}

const WRITES: &[&str] = &[
    "echo x > @/outside/new",
    "echo x > @/outside/victim",
    "truncate -s 0 @/outside/victim",
    "rm @/outside/victim",
    "mv @/outside/victim .",
    "mkdir @/outside/folder",
    "ln -s @/outside link && echo x > link/new",
    "ln -s @/outside/victim to_victim && echo x > to_victim",
    "ln @/outside/victim hard && echo x > hard",
    "echo x > /proc/self/root@/outside/new",
    "exec 3< @/outside && echo x > /proc/self/fd/3/new",
    "cd @/outside && echo x > new",
    "(cd / && echo x > .@/outside/new)",
    "cp /bin/sh @/home/.profile",
    "setsid -w sh -c 'echo x > @/outside/new'",
    "bash -c 'bash -c \"echo x > @/outside/new\"'",
    "unshare -Ur sh -c 'echo x > @/outside/new'",
    "mount --bind @/outside . && echo x > new",
    "echo x > @/data/p/log",
];

#[tokio::test]
async fn writing_outside_is_refused_by_every_way_there() {
    if !enforced(ROOTS).await {
        return;
    }
    for (system, command) in
        System::WITH_FILES.into_iter().flat_map(|system| WRITES.iter().map(move |write| (system, *write)))
    {
        let jail = Jail::new(ROOTS).on(system);
        let ran = jail.run(command).await;
        assert_eq!(ran.outcome.status, Status::Failed, "{system:?} {command}: {:?}", ran.command().output.head);
        assert!(jail.unharmed(), "{system:?} {command}");
        assert!(
            facts(&ran).contains(
                &"sandbox: writes only in the project and in folders for temporary files, no access to keys and \
                  Plimsoll's own files"
                    .to_owned()
            ),
            "{system:?} {command}: {:?}",
            facts(&ran)
        );
    }
}

#[tokio::test]
async fn what_is_not_content_of_a_file_outside_cannot_be_changed_either() {
    if !enforced(ROOTS_OFFLINE).await {
        return;
    }
    for system in [System::AsItIs, System::Unprivileged] {
        for leave in [ROOTS, ROOTS_OFFLINE] {
            let jail = Jail::new(leave).on(system);
            let victim = jail.base.join("outside/victim");
            let facts = || {
                let metadata = std::fs::metadata(&victim).unwrap();
                (metadata.permissions(), metadata.modified().unwrap(), std::os::unix::fs::MetadataExt::uid(&metadata))
            };
            let before = facts();
            for command in [
                "chmod 777 @/outside/victim",
                "touch @/outside/victim",
                "touch -d 2001-01-01 @/outside/victim",
                "chown 0:0 @/outside/victim",
                "python3 -c 'import os; os.setxattr(\"@/outside/victim\", \"user.x\", b\"1\")'",
            ] {
                let ran = jail.run(command).await;
                assert_eq!(ran.outcome.status, Status::Failed, "{system:?} {command}: {:?}", ran.command().output.head);
            }
            assert_eq!(facts(), before, "{system:?}");
            assert_eq!(jail.run("touch a && chmod 700 a && mv a b && chmod 600 b").await.shown(), (Status::Ok, ""));
        }
    }
}

#[tokio::test]
async fn the_project_and_temporary_files_can_be_written() {
    if !enforced(ROOTS).await {
        return;
    }
    for system in System::WITH_FILES {
        let jail = Jail::new(ROOTS).on(system);
        let ran = jail
        .run(
            "set -e; echo a > a; mkdir -p d/e; mv a d/e/b; ln -s d/e/b l; cat l; rm -r d; f=$(mktemp); echo t > $f; \
             cat $f; rm $f; echo n > /dev/null; head -c 1 /dev/urandom | wc -c; ls / > /dev/null; ls ~ > /dev/null; \
             git init -q . && git -c user.name=n -c user.email=e commit -q --allow-empty -m m && git log --format=%s",
        )
        .await;
        assert_eq!(ran.shown(), (Status::Ok, "a\nt\n1\nm\n"), "{:?}", ran.command());
        // A command that did what it should says nothing of what it was held to.
        assert!(!facts(&ran).iter().any(|fact| fact.contains("sandbox")), "{:?}", facts(&ran));
    }
}

#[tokio::test]
async fn with_leave_for_nothing_the_project_is_read_only() {
    if !enforced(NOTHING).await {
        return;
    }
    let jail = Jail::new(NOTHING);
    std::fs::write(jail.workspace.root.join("a"), "text\n").unwrap();
    let ran = jail.run("cat a; f=$(mktemp) && rm $f && echo temp; echo x > a").await;
    assert!(ran.command().output.head.starts_with("text\ntemp\n"), "{:?}", ran.command());
    assert_eq!(ran.outcome.status, Status::Failed);
    assert_eq!(std::fs::read(jail.workspace.root.join("a")).unwrap(), b"text\n");
}

#[tokio::test]
async fn keys_and_plimsolls_own_folders_cannot_be_read() {
    if !enforced(ROOTS).await {
        return;
    }
    // Plimsoll's folders may lie anywhere, also where commands may write.
    let outside_temp = || tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for (place, system) in System::WITH_FILES
        .map(|system| [(outside_temp(), system), (tempfile::tempdir().unwrap(), system)])
        .into_iter()
        .flatten()
    {
        let jail = Jail::below(place, ROOTS).on(system);
        for command in [
            "cat @/home/.ssh/id_rsa",
            "cat ~/.ssh/id_rsa",
            "cat @/config/config.toml",
            "cat @/data/user.db",
            "cat @/run/secret",
            "ln -s ~/.ssh keys; cat keys/id_rsa",
            "ln ~/.ssh/id_rsa key; cat key",
            "mv ~/.ssh key; cat key/id_rsa",
            "cp -r @/data/. copy; cat copy/user.db",
            "cat /proc/self/root@/data/user.db",
            "cat /proc/$PPID/root@/data/user.db",
            "cat /proc/$PPID/cwd/../data/user.db",
            "cd @/data/p && cat ../user.db",
            "grep -r CANARY @/home @/config @/data/user.db @/run",
            "umount -l @/data; cat @/data/user.db",
            "unshare -Urm sh -c 'umount -l @/data; cat @/data/user.db'",
            "touch @/run/new && echo CANARY",
        ] {
            let ran = jail.run(command).await;
            assert_eq!(ran.outcome.status, Status::Failed, "{system:?} {command}: {:?}", ran.command().output.head);
            assert!(
                !ran.command().output.head.contains("CANARY"),
                "{system:?} {command}: {:?}",
                ran.command().output.head
            );
        }
        // What is readable of them is, and cannot be written.
        assert_eq!(jail.run("cat @/data/p/log").await.shown(), (Status::Ok, SECRET));
        assert_eq!(jail.run("echo x > @/data/p/log").await.outcome.status, Status::Failed);
        assert_eq!(jail.run("rm -f @/data/p/log; ls @/data/p").await.shown().0, Status::Ok);
        assert_eq!(std::fs::read_to_string(jail.base.join("data/p/log")).unwrap(), SECRET);
        // The daemon's side of it is untouched: the log is written, and what is hidden is there.
        let logged = jail.run("echo logged").await;
        assert_eq!(std::fs::read_to_string(logged.command().log.as_ref().unwrap()).unwrap(), "logged\n");
        assert_eq!(std::fs::read_to_string(jail.base.join("data/user.db")).unwrap(), SECRET);
        let within = serde_json::json!({ "command": "cat ../user.db", "working_directory": jail.base.join("data/p") });
        let within = jail.workspace.run_with(within, tokio_util::sync::CancellationToken::new()).await;
        assert!(!within.command().output.head.contains("CANARY"), "{:?}", within.command());
    }
}

#[tokio::test]
async fn without_network_nothing_is_reached_but_oneself() {
    if !enforced(ROOTS_OFFLINE).await {
        return;
    }
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let abstract_name = format!("plimsoll-test-{}", std::process::id());
    let unix = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name).unwrap()).unwrap();
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    unix.set_nonblocking(true).unwrap();
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{tcp_port}; echo connected >&3");
    let send = format!("echo sent > /dev/udp/127.0.0.1/{udp_port}");
    let abstract_connect =
        format!("python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"\\0{abstract_name}\"); print(\"in\")'");
    let reached = || {
        let mut buffer = [0; 16];
        tcp.accept().is_ok() || udp.recv(&mut buffer).is_ok() || unix.accept().is_ok()
    };
    for (files, system) in [
        (Files::Roots, System::AsItIs),
        (Files::All, System::AsItIs),
        (Files::Roots, System::Unprivileged),
        (Files::Roots, System::WithoutView),
    ] {
        let jail = Jail::new(Leave { files, network: false }).on(system);
        for command in [&connect, &abstract_connect, &"getent hosts example.com".to_owned()] {
            let ran = jail.run(command).await;
            assert_eq!(ran.outcome.status, Status::Failed, "{command}: {:?}", ran.command().output.head);
            assert!(facts(&ran).iter().any(|fact| fact.ends_with("no network")), "{:?}", facts(&ran));
        }
        jail.run(&send).await;
        jail.run("echo x > /dev/udp/192.0.2.1/9; nsenter -t 1 -n true").await;
        assert!(!reached());
        let own = "python3 -c 'import socket as s; l=s.create_server((\"127.0.0.1\",0)); \
                   c=s.create_connection(l.getsockname()); l.accept()[0].send(b\"own\"); print(c.recv(9).decode())'";
        assert_eq!(jail.run(own).await.shown(), (Status::Ok, "own\n"));
    }
    // The same attempts arrive where the network is on.
    let jail = Jail::new(ROOTS);
    assert_eq!(jail.run(&connect).await.outcome.status, Status::Ok);
    assert_eq!(tcp.accept().map(|_| ()).map_err(|error| error.kind()), Ok::<(), ErrorKind>(()));
    jail.run(&send).await;
    assert_eq!(udp.recv(&mut [0; 16]).unwrap(), 5);
}

/// A process of the same user that a command has no business with.
struct Victim(Child);

impl Victim {
    fn start() -> Self {
        let mut command = Command::new("sleep");
        command.arg("300").env("SECRET", SECRET).stdin(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn other_processes_can_be_neither_signalled_nor_traced() {
    if !enforced(ROOTS_OFFLINE).await {
        return;
    }
    for leave in [ROOTS, ROOTS_OFFLINE, Leave { files: Files::All, network: false }] {
        let jail = Jail::new(leave);
        let mut victim = Victim::start();
        let pid = victim.0.id();
        until("its environment is there", || {
            std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| !environ.is_empty())
        })
        .await;
        for command in [
            format!("kill -9 {pid}"),
            format!("kill -STOP {pid}"),
            "kill -9 $PPID".to_owned(),
            format!("cat /proc/{pid}/environ"),
            format!("head -c 1 /proc/{pid}/mem"),
            format!("cd /proc/{pid}/root"),
            format!("python3 -c 'import ctypes; exit(ctypes.CDLL(None).ptrace(16, {pid}, 0, 0) != 0)'"),
            format!("nsenter -t {pid} -m -n true"),
        ] {
            let ran = jail.run(&command).await;
            assert_eq!(ran.outcome.status, Status::Failed, "{command}: {:?}", ran.command().output.head);
            assert!(!ran.command().output.head.contains(SECRET), "{command}");
        }
        assert_eq!(victim.0.try_wait().unwrap(), None);
        // What it started itself is its own.
        let ran = jail.run("sleep 60 & kill $! && wait $!; echo $?").await;
        assert_eq!(ran.command().output.head.lines().last(), Some("143"), "{:?}", ran.command());
    }
}

#[tokio::test]
async fn nothing_is_gained_by_programs_that_grant_privileges() {
    if !enforced(ROOTS_OFFLINE).await {
        return;
    }
    let jail = Jail::new(ROOTS_OFFLINE);
    let ran = jail.run("grep -E '^(NoNewPrivs|CapBnd)' /proc/self/status; [ -b /dev/vda ] && head -c 1 /dev/vda").await;
    let lines: Vec<&str> = ran.command().output.head.lines().collect();
    assert!(lines.contains(&"NoNewPrivs:\t1"), "{lines:?}");
    let bounding = lines.iter().find_map(|line| line.strip_prefix("CapBnd:\t")).unwrap();
    let bounding = u64::from_str_radix(bounding, 16).unwrap();
    // SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, NET_ADMIN, MKNOD, DAC_READ_SEARCH.
    for capability in [16, 17, 19, 21, 12, 27, 2] {
        assert_eq!(bounding >> capability & 1, 0, "{capability} of {bounding:x}");
    }
    assert_eq!(ran.outcome.status, Status::Failed);
}

#[tokio::test]
async fn what_a_command_leaves_running_stays_in_its_limits_and_says_how_it_ends() {
    if !enforced(ROOTS).await {
        return;
    }
    let jail = Jail::new(ROOTS);
    let ran =
        jail.run("(until [ -e go ]; do sleep 0.02; done; echo x > @/outside/new; echo x > done) & echo ready").await;
    assert_eq!(ran.shown(), (Status::Ok, "ready\n"));
    let pids = ran.command().left_running.iter().map(u32::to_string).collect::<Vec<_>>();
    let body = project_command(ran.command(), CallId(1), 2_000, |_| 0).body;
    let expected = format!(
        "[still running in the background: pid {}. To end them: stop_task {{\"id\":\"c1\"}}. They end with the session.",
        pids.join(", ")
    );
    assert!(body.starts_with(&expected), "{body}");
    std::fs::write(jail.workspace.root.join("go"), "").unwrap();
    until("it has tried", || jail.workspace.root.join("done").exists()).await;
    assert!(jail.unharmed());
}

#[tokio::test]
async fn resources_are_limited_in_every_mode() {
    let mut workspace = Workspace::new();
    for leave in [Leave::FREE, ROOTS] {
        if !enforced(leave).await {
            continue;
        }
        workspace.leave = leave;
        let ran =
            workspace.run("ulimit -Sc; [ $(ulimit -Hn) -le 1048576 ] && [ $(ulimit -u) -le 16384 ] && echo few").await;
        assert_eq!(ran.shown(), (Status::Ok, "0\nfew\n"));
    }
    assert_eq!(workspace.run("exit 3").await.command().limits.is_some(), workspace.leave != Leave::FREE);
    workspace.leave = Leave::FREE;
    assert_eq!(workspace.run("exit 3").await.command().limits, None);
}

#[tokio::test]
async fn what_cannot_be_enforced_is_said_and_the_command_is_not_run() {
    if !enforced(ROOTS_OFFLINE).await {
        return;
    }
    let jail = Jail::new(ROOTS_OFFLINE).on(System::WithoutNetwork);
    let found = probe(&System::WithoutNetwork.helper(&jail.base)).await;
    let why = found.network.clone().unwrap();
    assert!(!found.sandbox().network);
    assert!(why.contains("a network namespace is refused"), "{why}");
    let ran = jail.run("touch ran").await;
    assert_eq!(ran.outcome.status, Status::Failed);
    assert!(!jail.workspace.root.join("ran").exists());
    let output = &ran.command().output.head;
    assert_eq!(ran.command().exit, Exit::NotStarted, "{output}");
    let words = "it may not use the network, and this system cannot keep it from that: a network namespace is refused";
    assert!(output.starts_with(words), "{output}");
}

#[tokio::test]
async fn bubblewrap_holds_a_command_the_same_way() {
    let Some(found) = Bubblewrap::find().filter(Bubblewrap::works) else { return };
    let jail = Jail::new(ROOTS_OFFLINE);
    let base = &jail.base;
    let limits = Limits {
        leave: ROOTS_OFFLINE,
        writable: vec![jail.workspace.root.clone(), "/tmp".into()],
        hidden: ["config", "data", "run", "home/.ssh"].map(|path| base.join(path)).into(),
        readable: vec![base.join("data/p")],
    };
    let wrapped = found.with(&limits, &jail.workspace.root);
    let command = "echo a > a; cat a @/data/p/log; echo; cat @/data/user.db @/home/.ssh/id_rsa; echo x > @/outside/new; \
                   chmod 777 @/outside/victim; echo x > @/data/p/log; tail -n +3 /proc/net/dev | grep -vc lo:; pwd";
    let output = Command::new(&wrapped.program)
        .args(&wrapped.arguments)
        .args([BINARY, "__exec", "--inside", &serde_json::to_string(&limits).unwrap()])
        .arg(command.replace('@', base.to_str().unwrap()))
        .output()
        .unwrap();
    let expected = format!("a\n{SECRET}\n0\n{}\n", jail.workspace.root.display());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{}", String::from_utf8_lossy(&output.stderr));
    assert!(jail.unharmed());
}
