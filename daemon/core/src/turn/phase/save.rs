//! A long text is saved as a file before its projection is made: nothing is left out of the view that is not at hand.
//!
//! Save, then project, then commit: a death in between leaves a file that no result names, and the call without one. When
//! it cannot be saved the text enters the view whole, or, when that has no room for it, an error that says so.

use super::super::effect::Effect;
use super::super::machine::Machine;
use super::super::state::SlotState;
use crate::id::CallId;
use crate::tool::outcome::{Body, CommandRun, Exit, Outcome, Status};
use crate::tool::projection::{Projection, Saved, exceeds_general};

impl Machine {
    /// Sends a text that is over the general limit to be saved; else gives the outcome back.
    pub(in crate::turn) fn save_first(&mut self, id: CallId, outcome: Outcome) -> Option<Outcome> {
        let Body::Text(text) = &outcome.body else { return Some(outcome) };
        // What the user said to a refusal is never cut.
        if outcome.status == Status::Denied || !exceeds_general(text, self.budget(id)) {
            return Some(outcome);
        }
        let text = text.clone();
        let Some(slot) = self.slot(id) else { return Some(outcome) };
        slot.state = SlotState::Saving(Box::new(outcome));
        self.effects.push(Effect::SaveText { call: id, text });
        None
    }

    /// The text is saved under a path, or is not.
    pub(in crate::turn) fn text_saved(&mut self, id: CallId, result: Result<String, String>) {
        let Some(slot) = self.slot(id) else { return };
        if !matches!(slot.state, SlotState::Saving(_)) {
            return;
        }
        let SlotState::Saving(outcome) = std::mem::replace(&mut slot.state, SlotState::Running) else { return };
        match result {
            Ok(path) => self.settle_with(id, *outcome, Saved::At(&path)),
            Err(why) => self.settle_with(id, *outcome, Saved::Failed(&why)),
        }
        self.advance();
        self.commit();
    }

    /// What is said instead of a result that would stand in the view whole because it could not be saved, when there is
    /// no room for it.
    pub(in crate::turn) fn too_large(&self, outcome: &Outcome, saved: Saved<'_>, whole: &Projection) -> Option<String> {
        let unlogged = |run: &CommandRun| run.log.is_none() && run.exit != Exit::NotStarted;
        let why = match (&outcome.body, saved) {
            (Body::Text(_), Saved::Failed(why)) => why,
            (body, _) if body.command_run().is_some_and(unlogged) => "its log could not be written",
            _ => return None,
        };
        let model = &self.settings.model;
        let room = model.usable_window().saturating_sub(self.view.next_tokens(model));
        (whole.tokens > room).then(|| {
            format!(
                "The result has about {} tokens, for which the window of {} has no room any more, and it could not be saved \
                 as a file: {why}. It ended as `{}`; nothing of it is shown here, all of it is in the transcript. Ask for \
                 less of it.",
                whole.tokens,
                model.id(),
                outcome.status.word(),
            )
        })
    }
}
