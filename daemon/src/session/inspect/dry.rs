//! The actor's part: a copy of the machine for a look at what a prompt would send.

use crate::session::api::{ApiError, ApiErrorKind};
use crate::session::driver::{Driver, now};
use crate::session::load;
use crate::session::setup::TurnSetup;
use plimsoll_core::turn::input::Prompt;
use plimsoll_core::turn::machine::Machine;
use plimsoll_core::turn::preview::Dry;

impl Driver {
    /// A copy of the machine with this prompt; none while a turn runs, or waits for answers. A session whose machine is not
    /// loaded, or works with another model, is read from the store, and nothing is kept of that.
    pub(in crate::session) async fn dry(&self, turn: &TurnSetup, prompt: Prompt) -> Result<Option<Dry>, ApiError> {
        if self.machine.as_ref().is_some_and(Machine::is_broken) {
            return Err(ApiError::new(
                ApiErrorKind::Store,
                "the session could not be stored; what ran is still ending",
            )
            .hint("try again in a moment"));
        }
        let settings = turn.settings(self.mode, self.project.policy(turn));
        if let Some(machine) = &self.machine {
            if !machine.is_idle() {
                return Ok(None);
            }
            if machine.works_with(&settings) {
                return Ok(machine.dry(now(), prompt, Vec::new()));
            }
        }
        let Some(machine) = load::machine_at_rest(&self.store, &self.id, settings).await? else { return Ok(None) };
        let ended = self.ended(&machine);
        Ok(machine.dry(now(), prompt, ended))
    }
}
