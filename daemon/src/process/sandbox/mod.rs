//! How a command is held to its [`Limits`](super::limits::Limits). Runs in the helper, before the command exists; the
//! daemon itself is never restricted. It decides nothing: what cannot be enforced is an error, and the command is then
//! not started.
//!
//! Three layers, each over the one before:
//!
//! 1. Namespaces ([`namespaces`]): a network of its own with nothing but a loopback device, and a view of the file system
//!    in which hidden folders are empty. Made with the right to administer where the user has it (root keeps all user
//!    ids), else in a user namespace in which the user keeps its own id.
//! 2. Landlock ([`files`]): the list of what may be read and written; no signal, no trace and no abstract socket beyond
//!    the command and what it starts. Where the system gives no file system view, the list leaves the hidden folders out.
//! 3. No new privileges, and for root none that reach beyond files and processes ([`privileges`]).
//!
//! Paths of sockets are not covered by Landlock: where the view is missing a command can connect to the daemon's socket,
//! and the daemon refuses it ([`origin`](super::origin)).

#[cfg(target_os = "linux")]
pub mod bubblewrap;
#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod privileges;
pub mod probe;

#[cfg(target_os = "linux")]
pub use linux::{Stage, Start, inside, prepare};
#[cfg(not(target_os = "linux"))]
pub use other::{Stage, Start, inside, prepare};

#[cfg(target_os = "linux")]
mod linux {
    use super::bubblewrap::Bubblewrap;
    use super::{files, namespaces, privileges};
    use crate::process::limits::Limits;
    use plimsoll_core::permission::leave::Files;
    use std::path::PathBuf;

    /// What was done before the first thread, and what is left to do.
    #[derive(Debug)]
    pub struct Stage {
        limits: Limits,
        cwd: PathBuf,
        /// Why there may be no namespaces; none when there may.
        refused: Option<String>,
    }

    /// How the shell has to be started.
    #[derive(Debug)]
    pub enum Start {
        /// As always, by this thread.
        Here,
        /// By bubblewrap, which makes the namespaces and runs this program's second stage.
        Behind(Bubblewrap),
    }

    /// Does what has to be done while the process has one thread. `cwd` is the command's folder.
    pub fn prepare(limits: Limits, cwd: PathBuf) -> Stage {
        let refused = namespaces::enter().err();
        Stage { limits, cwd, refused }
    }

    impl Stage {
        /// Confines the calling thread, which starts the command and nothing else. The error is for the model.
        pub fn confine(self) -> Result<Start, String> {
            let Self { limits, cwd, refused } = self;
            let mut hidden_by_view = false;
            if !limits.leave.network {
                let own = refused.clone().map_or_else(namespaces::own_network, Err);
                if let Err(why) = own {
                    let Some(found) = Bubblewrap::find() else {
                        return Err(format!(
                            "it may not use the network, and this system cannot keep it from that: {why}, and \
                             bubblewrap (bwrap) is not installed"
                        ));
                    };
                    return Ok(Start::Behind(found.with(&limits, &cwd)));
                }
            }
            if limits.leave.files != Files::All && refused.is_none() {
                // Without the view Landlock's list leaves the hidden folders out, and what Landlock has no rules for (modes,
                // owners, times) is not refused.
                hidden_by_view = namespaces::own_view(&limits, &cwd).is_ok();
            }
            inside(&limits, hidden_by_view)?;
            Ok(Start::Here)
        }
    }

    /// The layers that need no namespaces. The error is for the model.
    pub fn inside(limits: &Limits, hidden_by_view: bool) -> Result<(), String> {
        files::restrict(limits, hidden_by_view)?;
        privileges::reduce().map_err(|error| format!("its privileges cannot be reduced: {error}"))
    }
}

/// Where limits are not implemented, no command is started that needs them.
#[cfg(not(target_os = "linux"))]
mod other {
    use crate::process::limits::Limits;
    use std::path::PathBuf;

    #[derive(Debug)]
    pub struct Stage;

    #[derive(Debug)]
    pub enum Start {
        Here,
    }

    pub fn prepare(_: Limits, _: PathBuf) -> Stage {
        Stage
    }

    impl Stage {
        pub fn confine(self) -> Result<Start, String> {
            Err("it is to be limited, and limits are implemented for Linux only".to_owned())
        }
    }

    pub fn inside(_: &Limits, _: bool) -> Result<(), String> {
        Stage.confine().map(|_| ())
    }
}
