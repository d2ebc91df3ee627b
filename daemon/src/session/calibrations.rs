//! How models' own token counts compare with the estimate, for the turns of all sessions. A store that cannot be read or
//! written costs accuracy and nothing else.

use super::driver::Driver;
use crate::store::Stores;
use plimsoll_core::model::calibration::Calibration;

/// What was learned about a model.
pub(super) async fn known(stores: &Stores, model: &str) -> Calibration {
    stores.calibration(model).await.unwrap_or_else(|error| {
        tracing::warn!(model, %error, "what was learned about a model's tokens cannot be read");
        Calibration::default()
    })
}

impl Driver {
    /// The machine works with what was known when its turn was asked for.
    pub(super) fn calibrate(&mut self, known: Calibration) {
        if let Some(machine) = &mut self.machine {
            machine.calibrate(known);
        }
    }

    /// Keeps what the turn that has ended taught, beside whatever comes next.
    pub(super) fn keep_learned(&mut self) {
        let Some(machine) = self.machine.as_mut().filter(|machine| machine.is_idle()) else { return };
        let Some((model, learned)) = machine.take_learned() else { return };
        let stores = self.project.stores.clone();
        self.tasks.spawn(async move {
            if let Err(error) = stores.keep_calibration(model, learned).await {
                tracing::warn!(%error, "what was learned about a model's tokens cannot be kept");
            }
        });
    }
}
