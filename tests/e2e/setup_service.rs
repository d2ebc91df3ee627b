//! `plimsoll setup service` on files that are not there, empty, ours, somebody else's, and not to be written.

use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::program;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

const UNIT: &str = ".config/systemd/user/plimsoll.service";

struct Setup {
    machine: Machine,
    unit: PathBuf,
}

impl Setup {
    /// A machine whose service manager writes down what it is told.
    fn new() -> Self {
        let machine = Machine::new(plimsoll_tests::binary!());
        let home = PathBuf::from(&machine.environment()["HOME"]);
        let programs = home.join("bin");
        fs::create_dir(&programs).unwrap();
        let manager = programs.join("systemctl");
        program::write(&manager, format!("#!/bin/sh\necho \"$*\" >> {}/told\n", home.display()).as_bytes());
        let path = format!("{}:{}", programs.display(), machine.environment()["PATH"]);
        Self { machine: machine.env("PATH", &path), unit: home.join(UNIT) }
    }

    async fn run(&self, arguments: &[&str]) -> Output {
        let arguments = [&["setup", "service"][..], arguments].concat();
        in_time("setup", self.machine.command(Path::new("/"), &arguments).output()).await.unwrap()
    }

    fn unit(&self) -> String {
        fs::read_to_string(&self.unit).unwrap()
    }

    fn write(&self, text: &[u8]) {
        fs::create_dir_all(self.unit.parent().unwrap()).unwrap();
        fs::write(&self.unit, text).unwrap();
    }

    /// What the manager was told, since this was last asked for.
    fn told(&self) -> String {
        let file = PathBuf::from(&self.machine.environment()["HOME"]).join("told");
        let told = fs::read_to_string(&file).unwrap_or_default();
        let _ = fs::remove_file(file);
        told
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn a_missing_file_is_shown_written_and_taken_away_again() {
    let setup = Setup::new();
    let printed = setup.run(&["--print"]).await;
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(text.contains(&format!("ExecStart=\"{}\" daemon", plimsoll_tests::binary!().display())), "{text}");
    assert!(text.contains(&format!("PLIMSOLL_DATA_DIR={}", setup.machine.data().display())), "{text}");
    assert!(!setup.unit.exists());

    let unasked = setup.run(&[]).await;
    assert_eq!(unasked.status.code(), Some(3), "{}", said(&unasked));
    assert!(said(&unasked).contains("+ExecStart="), "{}", said(&unasked));
    assert!(!setup.unit.exists());

    let written = setup.run(&["--yes"]).await;
    assert_eq!(written.status.code(), Some(0), "{}", said(&written));
    assert_eq!(setup.unit(), text);
    assert_eq!(setup.told(), "--user daemon-reload\n--user enable plimsoll.service\n");
    let again = setup.run(&[]).await;
    assert_eq!(again.status.code(), Some(0));
    assert!(said(&again).contains("is there already"), "{}", said(&again));
    setup.told();

    assert_eq!(setup.run(&["--remove"]).await.status.code(), Some(3));
    assert!(setup.unit.exists());
    assert_eq!(setup.run(&["--remove", "--yes"]).await.status.code(), Some(0));
    assert_eq!(setup.told(), "--user disable plimsoll.service\n");
    assert!(!setup.unit.exists());
    assert_eq!(setup.run(&["--remove"]).await.status.code(), Some(0));
    assert_eq!(setup.machine.daemon_pid(), None, "none of it starts a daemon");
}

#[tokio::test]
async fn what_is_there_is_shown_as_a_difference_and_kept() {
    let setup = Setup::new();
    setup.write(b"");
    assert_eq!(setup.run(&["--yes"]).await.status.code(), Some(0));
    let text = setup.unit();
    let own = text.replace("RestartSec=5", "RestartSec=60");
    setup.write(own.as_bytes());
    let output = setup.run(&["--yes"]).await;
    assert!(said(&output).contains("-RestartSec=60\n  +RestartSec=5"), "{}", said(&output));
    assert_eq!(setup.unit(), text);
    let kept = setup.unit.with_extension("service.before");
    assert_eq!(fs::read_to_string(kept).unwrap(), own);

    // Whatever somebody else wrote is kept in the same way, and not removed.
    setup.write(b"[Unit\nno unit at all");
    let refused = setup.run(&["--remove", "--yes"]).await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("was not written by Plimsoll"), "{}", said(&refused));
    assert_eq!(setup.run(&["--yes"]).await.status.code(), Some(0));
    assert_eq!(setup.unit(), text);
    let kept = setup.unit.with_extension("service.before-1");
    assert_eq!(fs::read_to_string(kept).unwrap(), "[Unit\nno unit at all");
}

#[tokio::test]
async fn what_cannot_be_read_or_written_stays_and_is_told() {
    let setup = Setup::new();
    setup.write(b"\xff\xfe\x00");
    let output = setup.run(&["--yes"]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("is not text") && said(&output).contains("move it away"), "{}", said(&output));
    setup.write(b"# mine\n");
    fs::set_permissions(&setup.unit, Permissions::from_mode(0o444)).unwrap();
    let output = setup.run(&["--yes"]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("cannot be written") && said(&output).contains("--print"), "{}", said(&output));
    assert_eq!(setup.unit(), "# mine\n");
    assert_eq!(setup.told(), "");
}

#[tokio::test]
async fn where_no_manager_listens_the_commands_are_told() {
    let setup = Setup::new();
    let manager = PathBuf::from(&setup.machine.environment()["HOME"]).join("bin/systemctl");
    program::write(&manager, b"#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n");
    let output = setup.run(&["--yes"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(setup.unit.exists());
    assert!(said(&output).contains("Failed to connect to bus"), "{}", said(&output));
    assert!(said(&output).contains("systemctl --user enable plimsoll.service"), "{}", said(&output));
}
