//! Sessions that somebody refers to: the model by `read_session` or by a path in the project's folder, the user by
//! `@session:<id>` or an attachment.

use crate::store::{ProjectStore, StoreError};
use plimsoll_core::context::attached_sessions::each;
use plimsoll_core::id::SessionId;
use plimsoll_core::path::escape;
use plimsoll_core::tool::account::{Account, Part};
use plimsoll_core::workspace::{AttachedSession, Attachment};
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;

/// The sessions of a project as one of them reads them.
#[derive(Clone)]
pub(super) struct Transcripts {
    store: ProjectStore,
    own: SessionId,
}

impl Transcripts {
    pub(super) fn new(store: ProjectStore, own: SessionId) -> Self {
        Self { store, own }
    }

    /// What stands in a session; without an id in this one. The error is for model and user.
    pub(super) async fn read(&self, id: Option<SessionId>, part: Part) -> Result<Account, String> {
        let id = id.unwrap_or_else(|| self.own.clone());
        let mut account = match self.store.account(&id, part).await {
            Ok(Some(account)) => account,
            Ok(None) => {
                let turns = self.store.session(&id).await.map(|row| row.counters.turn).unwrap_or_default();
                return Err(format!(
                    "session {id} has no such place: it has {turns} turns, and a cursor is taken as a result named it. Leave \
                     `turn` and `cursor` out for its latest turns."
                ));
            }
            Err(StoreError::NotFound { .. }) => {
                return Err(format!(
                    "there is no session {id} in this project, and sessions of other projects are not read. The user sees the \
                     ids in `plimsoll sessions`."
                ));
            }
            Err(error) => return Err(format!("session {id} could not be read: {error}")),
        };
        account.session = account.session.filter(|id| *id != self.own);
        // Its path is told, so it must be there, with all that is stored.
        self.bring_up_to_date(&id).await;
        Ok(account)
    }

    /// Takes out what refers to sessions, and reads it for a model with this window.
    pub(super) async fn attached(&self, attachments: &mut Vec<Attachment>, window: u64) -> Vec<AttachedSession> {
        let all = std::mem::take(attachments);
        let named = |one: &Attachment| matches!(one, Attachment::Session { .. });
        let budget = each(window, all.iter().filter(|one| named(one)).count());
        let mut sessions = Vec::new();
        for attachment in all {
            let Attachment::Session { session } = attachment else {
                attachments.push(attachment);
                continue;
            };
            let content = match session.parse::<SessionId>() {
                Ok(id) => self.read(Some(id), Part::Recent).await,
                Err(error) => Err(error.to_string()),
            };
            let content = content.map(|account| (account.transcript.clone(), account.show(Part::Recent, budget)));
            sessions.push(AttachedSession { session, content });
        }
        sessions
    }

    /// Returns when the mirrors that a call names hold what was committed before: they are written beside the turn, and a
    /// call must not miss what the model has seen. One that cannot be written holds nothing up: the call reads what is there.
    pub(super) async fn settle(&self, args: &Value) {
        let mut named = BTreeSet::new();
        let folder = self.store.folder();
        let canonical = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        for folder in BTreeSet::from([folder, &canonical]) {
            collect(args, &escape(folder.as_os_str().as_bytes()), &self.own, &mut named);
        }
        for id in named {
            self.bring_up_to_date(&id).await;
        }
    }

    async fn bring_up_to_date(&self, id: &SessionId) {
        if let Err(error) = self.store.settle_mirror(id).await {
            tracing::warn!(session = %id, %error, "the mirror of a session that is read could not be brought up to date");
        }
    }
}

/// Sessions whose folder a text names; `own` where the folder of all is named.
fn collect(value: &Value, folder: &str, own: &SessionId, named: &mut BTreeSet<SessionId>) {
    match value {
        Value::String(text) => {
            for (at, _) in text.match_indices(folder) {
                let rest = text.get(at + folder.len()..).unwrap_or_default();
                let inside = rest.strip_prefix('/').unwrap_or_default();
                let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
                let id = inside.get(..end.unwrap_or(inside.len())).and_then(|id| id.parse().ok());
                named.insert(id.unwrap_or_else(|| own.clone()));
            }
        }
        Value::Array(all) => all.iter().for_each(|value| collect(value, folder, own, named)),
        Value::Object(all) => all.values().for_each(|value| collect(value, folder, own, named)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sessions_are_found_where_their_folder_is_named() {
        let own: SessionId = "me".parse().unwrap();
        let found = |args: Value| {
            let mut named = BTreeSet::new();
            collect(&args, "/d/p", &own, &mut named);
            named.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found(json!({"path": "/d/p/01a/transcript.txt"})), ["01a"]);
        assert_eq!(found(json!({"command": "cat /d/p/01a/x '/d/p/01b'", "more": ["/d/p"]})), ["01a", "01b", "me"]);
        assert_eq!(found(json!({"path": "src", "limit": 3, "deep": null})), Vec::<String>::new());
    }
}
