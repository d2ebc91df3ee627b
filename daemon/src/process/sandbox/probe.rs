//! What commands can be held to on this machine, found out by trying it in a process that ends at once.

use crate::process::exec::PROBE;
use crate::process::{Helper, children};
use plimsoll_core::permission::policy::Sandbox;
use serde::{Deserialize, Serialize};
use std::process::{ExitCode, Stdio};
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::sync::OnceCell;

/// It takes milliseconds; a machine where it takes longer than this holds nothing back.
const TIME: Duration = Duration::from_secs(10);

/// What was found. The texts are for people, and say why something cannot be enforced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Why it cannot be limited where a command writes; none when it can.
    pub files: Option<String>,
    /// Why a command cannot be kept from the network; none when it can.
    pub network: Option<String>,
}

impl Found {
    /// As decisions are made with.
    pub fn sandbox(&self) -> Sandbox {
        Sandbox { files: self.files.is_none(), network: self.network.is_none() }
    }

    fn nothing(why: &str) -> Self {
        Self { files: Some(why.to_owned()), network: Some(why.to_owned()) }
    }
}

/// Finds it out once, when it is first asked for. One for a daemon.
#[derive(Debug, Default)]
pub struct Probe {
    found: OnceCell<Found>,
}

impl Probe {
    /// What commands that this binary starts can be held to.
    pub async fn found(&self, helper: &Helper) -> &Found {
        self.found
            .get_or_init(|| async {
                let found = ask(helper).await.unwrap_or_else(|why| Found::nothing(&why));
                for (what, why) in [("files", &found.files), ("network", &found.network)] {
                    if let Some(why) = why {
                        tracing::warn!(%why, "commands cannot be limited here: {what}");
                    }
                }
                found
            })
            .await
    }
}

async fn ask(helper: &Helper) -> Result<Found, String> {
    let mut command = Command::new(helper.path());
    command.args(["__exec", PROBE]).env_clear().current_dir("/").kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = children::start(|| command.spawn(), Child::id)
        .map_err(|error| format!("the probe cannot be started: {error}"))?;
    let answer = tokio::time::timeout(TIME, child.wait_with_output()).await;
    let answer = answer.map_err(|_| "the probe did not answer".to_owned())?;
    let answer = answer.map_err(|error| format!("the probe cannot be waited for: {error}"))?;
    serde_json::from_slice(&answer.stdout).map_err(|error| format!("the probe's answer cannot be read: {error}"))
}

/// The probe itself: tries everything on this process and says on standard output what became of it.
pub fn answer() -> ExitCode {
    let Ok(text) = serde_json::to_vec(&try_all()) else { return ExitCode::FAILURE };
    match std::io::Write::write_all(&mut std::io::stdout(), &text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

#[cfg(target_os = "linux")]
fn try_all() -> Found {
    use super::bubblewrap::Bubblewrap;
    use super::{files, namespaces};
    let own = namespaces::enter().and_then(|()| namespaces::own_network());
    let network = own.err().and_then(|why| match Bubblewrap::find() {
        Some(found) if found.works() => None,
        Some(_) => Some(format!("{why}, and bubblewrap cannot do it either")),
        None => Some(format!("{why}, and bubblewrap (bwrap) is not installed")),
    });
    Found { files: files::refused(), network }
}

#[cfg(not(target_os = "linux"))]
fn try_all() -> Found {
    Found::nothing("limits are implemented for Linux only")
}
