//! What host tools ask of the store and the disk.

use super::driver::Driver;
use super::operations;
use super::tasks::{Mailbox, tell};
use super::transcripts::Transcripts;
use crate::store::ProjectStore;
use crate::workspace::Workspace;
use plimsoll_core::id::{CallId, EvidenceId, ItemNo, SessionId};
use plimsoll_core::path::escape;
use plimsoll_core::turn::effect::Consult;
use plimsoll_core::turn::input::{Citations, Consulted, InputBody};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;

impl Driver {
    /// Begins to find it out; the machine gets `Input::Consulted`.
    pub(super) fn consult(&mut self, call: CallId, question: Consult) {
        let result = Err("It could not be found out: an internal fault; the daemon's log has more.".to_owned());
        let owed = InputBody::Consulted { call, result };
        match question {
            Consult::Operation { of, target } => {
                let (store, id, workspace) = (self.store.clone(), self.id.clone(), self.project.workspace());
                self.spawn_for_turn(owed, |turn, mailbox| async move {
                    let result = operations::consult(store, id, of, target, turn.tool_env, workspace).await;
                    tell(mailbox, InputBody::Consulted { call, result }).await;
                });
            }
            Consult::Session { session, part } => {
                let transcripts = Transcripts::new(self.store.clone(), self.id.clone());
                self.spawn(owed, |mailbox| async move {
                    let read = transcripts.read(session, part).await;
                    let result = read.map(|found| Consulted::Session(Box::new(found)));
                    tell(mailbox, InputBody::Consulted { call, result }).await;
                });
            }
            Consult::Citations { evidence, quotes, deeds } => {
                let asked = Asked { store: self.store.clone(), id: self.id.clone(), evidence, quotes, deeds };
                let (roots, workspace) = (self.project.roots(), self.project.workspace());
                self.spawn(owed, |mailbox| citations(asked, roots, workspace, call, mailbox));
            }
        }
    }
}

/// What of a session is asked.
struct Asked {
    store: ProjectStore,
    id: SessionId,
    evidence: Vec<EvidenceId>,
    quotes: Vec<(String, Option<ItemNo>)>,
    deeds: bool,
}

async fn citations(asked: Asked, roots: Arc<[PathBuf]>, workspace: Workspace, call: CallId, mailbox: Mailbox) {
    let Asked { store, id, evidence, quotes, deeds } = asked;
    let before = workspace.revision();
    let revision = if deeds { workspace.observe(before).await.revision } else { before };
    let result = match store.cited(&id, evidence, quotes, deeds).await {
        Ok(cited) => Ok(Consulted::Citations(Citations {
            unresolved: cited.unresolved,
            items: cited.items,
            deeds: cited.deeds,
            roots: texts(&roots),
            revision,
        })),
        Err(error) => Err(format!("What it cites could not be looked up: {error}")),
    };
    tell(mailbox, InputBody::Consulted { call, result }).await;
}

/// Roots in text form.
pub(super) fn texts(roots: &[PathBuf]) -> Vec<String> {
    roots.iter().map(|root| escape(root.as_os_str().as_bytes())).collect()
}
