//! What the attached editors show, per project, forgotten with their connection.

use super::api::Client;
use plimsoll_core::id::ProjectKey;
use plimsoll_core::workspace::EditorState;
use std::sync::{Mutex, PoisonError};

/// Files of one client that are kept; more are of no use to a model.
const FILES_PER_CLIENT: usize = 100;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Editors {
    /// Newest last.
    states: Mutex<Vec<(u64, ProjectKey, EditorState)>>,
}

impl Editors {
    /// Replaces what this client's editor shows in this project.
    pub(super) fn set(&self, client: &Client, project: &ProjectKey, mut state: EditorState) {
        state.files.truncate(FILES_PER_CLIENT);
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.retain(|(connection, of, _)| *connection != client.connection || of != project);
        states.push((client.connection, project.clone(), state));
    }

    /// Forgets everything of this client.
    pub(super) fn forget(&self, client: &Client) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.retain(|(connection, ..)| *connection != client.connection);
    }

    /// What all editors show in this project, the one that spoke last first; each file once.
    pub(super) fn of(&self, project: &ProjectKey) -> EditorState {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let mut merged = EditorState::default();
        for (_, _, state) in states.iter().rev().filter(|(_, of, _)| of == project) {
            for file in &state.files {
                if !merged.files.iter().any(|known| known.path == file.path) {
                    merged.files.push(file.clone());
                }
            }
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::workspace::EditorFile;

    fn state(paths: &[&str]) -> EditorState {
        let file = |path: &&str| EditorFile { path: (*path).to_owned(), ..EditorFile::default() };
        EditorState { files: paths.iter().map(file).collect() }
    }

    #[test]
    fn editors_are_merged_newest_first_and_forgotten_with_their_connection() {
        let editors = Editors::default();
        let project: ProjectKey = "p1".parse().unwrap();
        let client = |connection| Client { connection, ..Client::default() };
        editors.set(&client(1), &project, state(&["a", "b"]));
        editors.set(&client(2), &project, state(&["c", "a"]));
        assert_eq!(editors.of(&project), state(&["c", "a", "b"]));
        editors.set(&client(1), &project, state(&["b"]));
        assert_eq!(editors.of(&project), state(&["b", "c", "a"]));
        editors.forget(&client(2));
        assert_eq!(editors.of(&project), state(&["b"]));
        assert_eq!(editors.of(&"p2".parse().unwrap()), EditorState::default());
    }
}
