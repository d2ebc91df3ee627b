//! What host tools ask of the store and the disk.

use super::driver::Driver;
use plimsoll_core::id::CallId;
use plimsoll_core::turn::effect::Consult;
use plimsoll_core::turn::input::InputBody;

impl Driver {
    /// Begins to find it out; the machine gets `Input::Consulted`.
    pub(super) fn consult(&mut self, call: CallId, question: Consult) {
        let result = Err("It could not be found out: an internal fault; the daemon's log has more.".to_owned());
        let owed = InputBody::Consulted { call, result };
        match question {
            Consult::Operation { .. } => self.spawn(owed.clone(), |mailbox| super::tasks::tell(mailbox, owed)),
            Consult::Citations { .. } => self.spawn(owed.clone(), |mailbox| super::tasks::tell(mailbox, owed)),
        }
    }
}
