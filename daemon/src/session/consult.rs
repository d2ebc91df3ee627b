//! What host tools ask of the store and the disk.

use super::driver::Driver;
use super::operations;
use super::tasks::tell;
use plimsoll_core::id::CallId;
use plimsoll_core::turn::effect::Consult;
use plimsoll_core::turn::input::InputBody;

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
            Consult::Citations { .. } => self.spawn(owed.clone(), |mailbox| tell(mailbox, owed)),
        }
    }
}
