//! A machine of its own for one test: temporary home, configuration, data and runtime folders, a clean environment, and
//! commands that run in it. Whatever daemon was started on it, by whom ever, ends with it.

use crate::daemon::TestDaemon;
use crate::model_server::ModelServer;
use crate::program;
use plimsoll_core::model::request::Api;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tokio::process::Command;

/// The variable of the test run that names the bundle of texts with which machines work that have a scripted model.
pub const BUNDLE: &str = "PLIMSOLL_TEST_BUNDLE";

/// A version of the same length as ours that is newer, or older, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Older than ours.
    Older,
    /// Newer than ours.
    Newer,
}

impl Version {
    /// Its text.
    pub fn text(self) -> String {
        let ours = env!("CARGO_PKG_VERSION");
        let theirs = match self {
            Self::Older => ours.replace(|character: char| character.is_ascii_digit(), "0"),
            Self::Newer => ours.replacen(|character: char| character.is_ascii_digit(), "9", 1),
        };
        assert_ne!(theirs, ours, "there is such a version");
        theirs
    }
}

/// The folders and the environment. See the module's head.
pub struct Machine {
    folder: TempDir,
    binary: PathBuf,
    env: BTreeMap<String, String>,
    /// What only the daemon has, and nobody who speaks with it.
    daemon_env: BTreeMap<String, String>,
}

impl Machine {
    /// A fresh machine on which this binary is Plimsoll; usually [`binary!`](crate::binary).
    pub fn new(binary: &Path) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let mut env = BTreeMap::new();
        for (name, sub) in [
            ("HOME", "home"),
            ("PLIMSOLL_CONFIG_DIR", "config"),
            ("PLIMSOLL_DATA_DIR", "data"),
            ("PLIMSOLL_RUNTIME_DIR", "run"),
        ] {
            let path = folder.path().join(sub);
            fs::create_dir(&path).expect("a folder of the machine");
            env.insert(name.to_owned(), path.to_str().expect("temporary folders have plain names").to_owned());
        }
        env.insert("PATH".to_owned(), std::env::var("PATH").expect("a PATH"));
        env.insert("LANG".to_owned(), "C.UTF-8".to_owned());
        Self { folder, binary: binary.to_owned(), env, daemon_env: BTreeMap::new() }
    }

    /// Sets a variable for everything that is started from now on.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    /// The same where the machine has its daemon already.
    pub fn set(&mut self, name: &str, value: &str) {
        self.env.insert(name.to_owned(), value.to_owned());
    }

    /// Takes a variable out again.
    pub fn unset(&mut self, name: &str) {
        self.env.remove(name);
    }

    /// Sets a variable for daemons that are started from now on, and for nothing else.
    pub fn set_for_daemon(&mut self, name: &str, value: &str) {
        self.daemon_env.insert(name.to_owned(), value.to_owned());
    }

    /// Takes them all out again.
    pub fn unset_for_daemon(&mut self) {
        self.daemon_env.clear();
    }

    /// The folder that holds all of its folders.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Makes `server` the configured model `test/scripted`, with the given permission mode, and with the bundle that
    /// [`BUNDLE`] names.
    pub fn model(self, server: &ModelServer, api: Api, mode: &str) -> Self {
        self.provider(server, api, mode, "")
    }

    /// The same in mode `full`, with the key from this variable.
    pub fn model_with_key(self, server: &ModelServer, api: Api, variable: &str) -> Self {
        self.provider(server, api, "full", &format!("api_key_env = \"{variable}\"\n"))
    }

    fn provider(self, server: &ModelServer, api: Api, mode: &str, key: &str) -> Self {
        let word = match api {
            Api::OpenaiChat => "openai-chat",
            Api::AnthropicMessages => "anthropic-messages",
            Api::Offline => panic!("the offline model needs no server"),
        };
        let bundle = std::env::var(BUNDLE).ok().filter(|bundle| !bundle.is_empty());
        let bundle = bundle.map(|bundle| format!("prompt.bundle = \"{bundle}\"")).unwrap_or_default();
        self.configure(&format!(
            "model = \"test/scripted\"\n{bundle}\n[providers.test]\napi = \"{word}\"\nbase_url = \"{}\"\n{key}\n\
             [providers.test.models.scripted]\ncontext_window = 200000\nmax_output = 8192\n\n[permissions]\nmode = \"{mode}\"\n",
            server.base_url(api)
        ))
    }

    /// Writes `config.toml`.
    pub fn configure(self, text: &str) -> Self {
        fs::write(self.folder_of("PLIMSOLL_CONFIG_DIR").join("config.toml"), text).expect("a configuration");
        self
    }

    fn folder_of(&self, variable: &str) -> PathBuf {
        self.env[variable].clone().into()
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.folder_of("PLIMSOLL_DATA_DIR")
    }

    /// The configuration folder.
    pub fn config(&self) -> PathBuf {
        self.folder_of("PLIMSOLL_CONFIG_DIR")
    }

    /// The folder of the socket.
    pub fn runtime(&self) -> PathBuf {
        self.folder_of("PLIMSOLL_RUNTIME_DIR")
    }

    /// The environment of everything that is started here.
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// `plimsoll` with these arguments, in this folder, ready to be started; killed when its handle is dropped.
    pub fn command(&self, cwd: &Path, arguments: &[&str]) -> Command {
        self.command_of(&self.binary, cwd, arguments)
    }

    /// Another build on this machine: a copy of the binary that was modified so many seconds after it.
    pub fn other_build(&self, seconds: i64) -> PathBuf {
        let path = self.folder.path().join(format!("plimsoll{seconds}"));
        program::copy(&self.binary, &path);
        self.date(&path, seconds);
        path
    }

    /// A build of another version on this machine, modified so many seconds after the binary: a copy in whose stamp, the one
    /// place from which all code has its version, another number stands.
    pub fn other_version(&self, version: Version, seconds: i64) -> PathBuf {
        let path = self.folder.path().join(format!("plimsoll-{version:?}"));
        let mut bytes = fs::read(&self.binary).expect("the binary can be read");
        let stamp = |version: &str| format!("@(#)plimsoll {version}\n").into_bytes();
        let (ours, theirs) = (stamp(env!("CARGO_PKG_VERSION")), stamp(&version.text()));
        let places: Vec<usize> = memchr::memmem::find_iter(&bytes, &ours).collect();
        assert_eq!((places.len(), ours.len()), (1, theirs.len()), "one stamp, and room for the other version");
        bytes[places[0]..][..theirs.len()].copy_from_slice(&theirs);
        program::write(&path, &bytes);
        self.date(&path, seconds);
        path
    }

    /// Sets a copy's time to so many seconds after the binary's.
    fn date(&self, path: &Path, seconds: i64) {
        let modified = fs::metadata(&self.binary).and_then(|metadata| metadata.modified()).expect("a time");
        let apart = std::time::Duration::from_secs(seconds.unsigned_abs());
        let modified = if seconds < 0 { modified - apart } else { modified + apart };
        // Its owner may set it without opening the file for writing, which would keep it from being run.
        let file = fs::File::open(path).expect("the copy is ours");
        file.set_modified(modified).expect("the copy's time can be set");
    }

    /// The command that starts a daemon, in this folder.
    pub fn daemon_command(&self, cwd: &Path) -> Command {
        let mut command = self.command(cwd, &["daemon", "--detached"]);
        command.envs(&self.daemon_env);
        command
    }

    /// [`command`](Self::command) of another build.
    pub fn command_of(&self, binary: &Path, cwd: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary);
        command.args(arguments).current_dir(cwd).env_clear().envs(&self.env).kill_on_drop(true);
        command
    }

    /// The file from which the running daemon was started.
    pub fn daemon_program(&self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/exe", self.daemon_pid()?)).ok()
    }

    /// The same behind a line of shell, which gets the whole command as its arguments.
    pub fn shell(&self, cwd: &Path, line: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line, "sh"]).arg(&self.binary).args(arguments);
        command.current_dir(cwd).env_clear().envs(&self.env).kill_on_drop(true);
        command
    }

    /// Starts a daemon and waits until it is ready.
    pub async fn daemon(self) -> TestDaemon {
        TestDaemon::start(self).await
    }

    /// What the daemon has logged, for the messages of failures.
    pub fn log(&self) -> String {
        let mut files: Vec<PathBuf> = fs::read_dir(self.data().join("logs"))
            .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
            .unwrap_or_default();
        files.sort();
        files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect()
    }

    /// The process that last became the daemon here, if it still runs and is one of ours.
    pub fn daemon_pid(&self) -> Option<u32> {
        let holder: Value = serde_json::from_slice(&fs::read(self.data().join("daemon.lock")).ok()?).ok()?;
        let pid = u32::try_from(holder["pid"].as_u64()?).ok()?;
        // Numbers are used again: only while somebody holds the lock is it the one who wrote that.
        let lock = fs::File::open(self.data().join("daemon.lock")).ok()?;
        lock.try_lock_shared().is_err().then_some(pid)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let pid = self.daemon_pid().and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            // What the daemon had started ends by its lifeline.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        if std::thread::panicking() {
            eprintln!("log of the daemon in {}:\n{}", self.folder.path().display(), self.log());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn commands_run_in_a_clean_environment() {
        let machine = Machine::new(Path::new("/usr/bin/env")).env("EXTRA", "1");
        let output = machine.command(Path::new("/"), &[]).output().await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        let expected =
            ["EXTRA", "HOME", "LANG", "PATH", "PLIMSOLL_CONFIG_DIR", "PLIMSOLL_DATA_DIR", "PLIMSOLL_RUNTIME_DIR"];
        assert_eq!(names, expected);
    }

    fn lock_file(machine: &Machine, pid: u32) -> fs::File {
        let path = machine.data().join("daemon.lock");
        fs::write(&path, format!("{{\"pid\":{pid}}}")).unwrap();
        fs::File::open(path).unwrap()
    }

    #[tokio::test]
    async fn a_daemon_that_is_left_behind_ends_with_its_machine() {
        let machine = Machine::new(Path::new("/bin/cat"));
        let piped = std::process::Stdio::piped;
        let mut child = machine.command(Path::new("/"), &[]).stdin(piped()).spawn().unwrap();
        let pid = child.id().unwrap();
        let held = lock_file(&machine, pid);
        held.lock().unwrap();
        assert_eq!(machine.daemon_pid(), Some(pid));
        drop(machine);
        assert_eq!(crate::in_time("its end", child.wait()).await.unwrap().code(), None);
    }

    #[tokio::test]
    async fn a_process_that_does_not_hold_the_lock_is_not_taken_for_the_daemon() {
        let machine = Machine::new(Path::new("/bin/cat"));
        lock_file(&machine, std::process::id());
        assert_eq!(machine.daemon_pid(), None);
    }
}
