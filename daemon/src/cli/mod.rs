//! The command line: what `plimsoll …` does. Bridges and commands find the daemon and speak to it like any other client;
//! `plimsoll daemon` is the daemon. The only caller is `main`.

mod accept;
mod args;
mod ask;
mod bridge;
mod build;
mod chat;
mod compact;
mod configure;
mod confirm;
mod connect;
mod daemon;
mod doctor;
mod found;
mod history;
mod idle;
mod inspect;
mod lock;
mod manage;
mod memories;
mod models;
mod ops;
mod out;
mod permissions;
mod progress;
mod projects;
mod reach;
mod readiness;
mod replay;
mod requests;
mod search;
mod sessions;
mod setup;
mod show;
mod socket;
mod start;
mod successor;
mod task;
mod undo;
mod wiring;

use plimsoll_protocol::hello::Facade;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command that the arguments name, the program's own name first. Bridges are told apart before anything is
/// set up: they are started with every editor.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    let words: Vec<&str> = arguments.iter().skip(1).map(|word| word.to_str().unwrap_or_default()).collect();
    match words.as_slice() {
        ["__exec", ..] => crate::process::exec::main(arguments.into_iter().skip(2)),
        ["stdio"] => bridge::main(Facade::Native),
        ["acp"] => bridge::main(Facade::Acp),
        _ => args::main(arguments),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Folders;
    use plimsoll_protocol::hello::{Welcome, WelcomeMark};
    use plimsoll_protocol::version::ProtocolRange;

    /// Folders of a machine of its own; the data folder exists.
    pub fn folders() -> (tempfile::TempDir, Folders) {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let folders =
            Folders { config: at("config"), data: at("data"), runtime: at("run"), managed: at("managed.toml") };
        folders.ensure_data().unwrap();
        (root, folders)
    }

    /// A daemon's answer.
    pub fn welcome() -> Welcome {
        Welcome {
            plimsoll: WelcomeMark::Welcome,
            build: "b".to_owned(),
            protocol: ProtocolRange::OURS,
            pid: 7,
            started_at: 1,
            binary: None,
            error: None,
        }
    }
}
