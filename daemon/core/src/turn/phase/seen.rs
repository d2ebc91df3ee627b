//! What the model was shown of files: noted when a result is stored, asked before an edit is decided.

use super::super::machine::Machine;
use crate::id::CallId;
use crate::tool::call::Prepared;
use crate::tool::outcome::{Body, Outcome};
use crate::tool::projection::Shown;

impl Machine {
    /// Keeps what a prepared call acts on. Changes of what was not shown make it an error, in words for the model.
    pub(in crate::turn) fn admitted(
        &mut self,
        id: CallId,
        result: Result<Prepared, String>,
    ) -> Result<Prepared, String> {
        let prepared = result?;
        self.touch(&prepared);
        if let Some(slot) = self.slot(id) {
            slot.target = prepared.targets.first().map(|target| target.path.clone());
        }
        for change in &prepared.changes {
            self.seen.admits(change).map_err(|why| format!("Not run: {why}"))?;
        }
        Ok(prepared)
    }

    /// Takes in what a result shows of files, and gives it as it is to be stored: by canonical path, and of edited files
    /// everything that is known of the new version.
    pub(in crate::turn) fn note_shown(&mut self, id: CallId, outcome: &Outcome, shown: Vec<Shown>) -> Vec<Shown> {
        let shown: Vec<Shown> = if let Body::Edit(edited) = &outcome.body {
            edited.files.iter().filter_map(|file| self.seen.after(file)).collect()
        } else if let Body::Matches(_) = &outcome.body {
            // A search names the files itself.
            shown
        } else {
            // Without a target it is not known which file the shown path is.
            let Some(path) = self.slot(id).and_then(|slot| slot.target.clone()) else { return Vec::new() };
            shown.into_iter().map(|shown| Shown { path: path.clone(), ..shown }).collect()
        };
        for shown in &shown {
            self.seen.add(shown);
        }
        shown
    }
}
