//! The real daemon on a machine of its own, started, killed, restarted and stopped as a test wants it.

use crate::client::{Client, Framing};
use crate::gone::Watched;
use crate::in_time;
use crate::machine::Machine;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::Child;

/// A running daemon. It ends with the value, and so does what it started.
pub struct TestDaemon {
    // Before the machine: a child is reaped before its folders go.
    child: Child,
    machine: Machine,
    socket: PathBuf,
}

impl TestDaemon {
    /// Starts a daemon on `machine` and waits for its line of readiness.
    pub async fn start(machine: Machine) -> Self {
        Self::start_in(machine, Path::new("/")).await
    }

    /// The same with this current folder for its start, and `/` for later ones.
    pub async fn start_in(machine: Machine, cwd: &Path) -> Self {
        let (child, socket) = spawn(&machine, cwd).await;
        Self { child, machine, socket }
    }

    /// Its machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The same, to change the environment of daemons that are started from now on.
    pub fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// Its socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("the daemon runs")
    }

    /// Bytes of memory that it holds now.
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("the daemon runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    /// A connection on which nothing has been said.
    pub async fn stream(&self) -> UnixStream {
        UnixStream::connect(&self.socket).await.expect("the daemon listens")
    }

    /// A connection on which a hello was sent and answered, as a bridge for this facade (`native`, `acp`) opens it.
    pub async fn greeted(&self, facade: &str) -> UnixStream {
        let mut stream = self.stream().await;
        let hello = json!({
            "plimsoll": "hello", "facade": facade, "build": "test", "protocol": {"min": "1.0", "max": "1.0"},
            "cwd": "/", "env": self.machine.environment(),
        });
        // The mark must be the line's first field, whatever order the map has.
        let rest = hello.as_object().expect("an object").iter().filter(|(name, _)| *name != "plimsoll");
        let rest: Vec<String> = rest.map(|(name, value)| format!("\"{name}\":{value}")).collect();
        let line = format!("{{\"plimsoll\":\"hello\",{}}}\n", rest.join(","));
        stream.write_all(line.as_bytes()).await.expect("the daemon reads");
        let mut welcome = Vec::new();
        loop {
            match in_time("the welcome", stream.read_u8()).await.expect("a welcome") {
                b'\n' => break,
                byte => welcome.push(byte),
            }
        }
        let welcome: Value = serde_json::from_slice(&welcome).expect("the welcome is JSON");
        assert!(welcome.get("error").is_none(), "the daemon refused the hello: {welcome}");
        stream
    }

    /// A native client, greeted and initialised.
    pub async fn client(&self) -> Client {
        self.client_with(Framing::Lines).await
    }

    /// The same with this framing.
    pub async fn client_with(&self, framing: Framing) -> Client {
        let client = Client::over(self.greeted("native").await, framing);
        client.initialize().await;
        client
    }

    /// Ends it as a crash does, and waits until it is gone.
    pub async fn kill9(&mut self) {
        kill(self.pid());
        in_time("the daemon's end", self.child.wait()).await.expect("a child that can be waited for");
    }

    /// Starts it again after it ended, on the same folders.
    pub async fn restart(&mut self) {
        let ended = self.child.try_wait().expect("a child that can be waited for");
        assert!(ended.is_some(), "it still runs");
        (self.child, self.socket) = spawn(&self.machine, Path::new("/")).await;
    }

    /// Asks it to end and waits for that.
    pub async fn stop(&mut self) -> ExitStatus {
        let pid = Pid::from_raw(i32::try_from(self.pid()).expect("a process number")).expect("not 0");
        kill_process(pid, Signal::TERM).expect("the daemon is ours");
        self.ended().await
    }

    /// Waits until it ends by itself.
    pub async fn ended(&mut self) -> ExitStatus {
        in_time("the daemon's end", self.child.wait()).await.expect("a child that can be waited for")
    }

    /// Sets a variable in the environment of everything that is started or greeted from now on.
    pub fn set(&mut self, variable: &str, value: &str) {
        self.machine.set(variable, value);
    }

    /// Takes a variable out of the environment of everything that is started or greeted from now on.
    pub fn unset(&mut self, variable: &str) {
        self.machine.unset(variable);
    }

    /// Watches one of its processes.
    pub fn watch(pid: u32) -> Watched {
        Watched::new(pid)
    }
}

fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Starts the daemon and reads the one line that it says when it can be reached.
async fn spawn(machine: &Machine, cwd: &Path) -> (Child, PathBuf) {
    let mut child = machine
        .daemon_command(cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary under test can be started");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("a pipe");
    let read = in_time("the daemon's readiness", BufReader::new(stdout).read_line(&mut line)).await;
    let ready: Option<Value> = read.ok().and_then(|_| serde_json::from_str(&line).ok());
    let socket = ready.as_ref().and_then(|ready| ready["ready"]["socket"].as_str());
    let Some(socket) = socket else {
        kill(child.id().unwrap_or_default());
        let mut said = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            let _ = stderr.read_to_string(&mut said).await;
        }
        panic!("the daemon did not get ready: {line:?}\n{said}\n{}", machine.log());
    };
    let socket = PathBuf::from(socket);
    // Nobody reads on: a pipe that is full must not stop it.
    if let Some(mut stderr) = child.stderr.take() {
        tokio::spawn(async move { tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await });
    }
    (child, socket)
}
