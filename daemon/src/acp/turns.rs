//! The prompts of one ACP client on one session: which turns are its own, which of them it has cancelled, and who waits
//! for their ends. Plain state; [`session`](super::session) acts on it.

use plimsoll_core::event::TurnEnd;
use plimsoll_core::id::TurnNo;
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Why.
    pub reason: TurnEnd,
    /// For people, when the end was not a good one.
    pub message: Option<String>,
    /// The prompt did not fit the model's window, and was not sent.
    pub refused: bool,
}

/// See the module's head.
#[derive(Debug, Default)]
pub struct Turns {
    /// Prompts that are handed in and not accepted yet.
    starting: usize,
    /// Those shall be cancelled as soon as they begin.
    cancel_starting: bool,
    own: BTreeMap<TurnNo, Own>,
}

#[derive(Debug)]
struct Own {
    running: bool,
    cancel: bool,
    end: oneshot::Sender<Ended>,
}

impl Turns {
    /// A prompt is handed in.
    pub fn starting(&mut self) {
        self.starting += 1;
    }

    /// It was accepted as this turn. Its end comes through the receiver; a dropped sender says that it never will.
    pub fn accepted(&mut self, turn: TurnNo) -> oneshot::Receiver<Ended> {
        let (end, ended) = oneshot::channel();
        let cancel = self.no_longer_starting();
        self.own.insert(turn, Own { running: false, cancel, end });
        ended
    }

    /// It was not accepted; whether it was cancelled meanwhile.
    pub fn refused(&mut self) -> bool {
        self.no_longer_starting()
    }

    fn no_longer_starting(&mut self) -> bool {
        let cancel = self.cancel_starting;
        self.starting = self.starting.saturating_sub(1);
        if self.starting == 0 {
            self.cancel_starting = false;
        }
        cancel
    }

    /// Whether a prompt is handed in and not accepted yet.
    pub fn is_starting(&self) -> bool {
        self.starting > 0
    }

    /// Whether a prompt has no end yet.
    pub fn has_any(&self) -> bool {
        self.starting > 0 || !self.own.is_empty()
    }

    /// Whether this turn is the client's own.
    pub fn is_own(&self, turn: TurnNo) -> bool {
        self.own.contains_key(&turn)
    }

    /// A turn began; whether it has to be interrupted at once.
    pub fn began(&mut self, turn: TurnNo) -> bool {
        let Some(own) = self.own.get_mut(&turn) else { return false };
        own.running = true;
        own.cancel
    }

    /// The client cancels what it has prompted; whether the running turn has to be interrupted now. A turn of somebody
    /// else is not touched, and one that still waits is interrupted when it begins.
    pub fn cancel_all(&mut self) -> bool {
        self.cancel_starting = self.starting > 0;
        let mut now = false;
        for own in self.own.values_mut() {
            own.cancel = true;
            now |= own.running;
        }
        now
    }

    /// The client cancels one prompt; whether the running turn has to be interrupted now.
    pub fn cancel(&mut self, turn: TurnNo) -> bool {
        let Some(own) = self.own.get_mut(&turn) else { return false };
        own.cancel = true;
        own.running
    }

    /// A turn ended: whoever waits for it learns it.
    pub fn ended(&mut self, turn: TurnNo, ended: Ended) {
        if let Some(own) = self.own.remove(&turn) {
            // The one who waited may be gone with its connection.
            drop(own.end.send(ended));
        }
    }

    /// Nothing will be heard of any turn again.
    pub fn give_up(&mut self) {
        self.own.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end() -> Ended {
        Ended { reason: TurnEnd::EndTurn, message: None, refused: false }
    }

    #[test]
    fn a_running_turn_is_interrupted_at_once_and_a_waiting_one_when_it_begins() {
        let mut turns = Turns::default();
        turns.starting();
        let mut first = turns.accepted(TurnNo(1));
        assert!(!turns.began(TurnNo(1)));
        turns.starting();
        let _second = turns.accepted(TurnNo(3));
        assert!(turns.cancel_all());
        assert!(first.try_recv().is_err());
        turns.ended(TurnNo(1), end());
        assert_eq!(first.try_recv().unwrap(), end());
        assert!(!turns.began(TurnNo(2)), "a turn of somebody else");
        assert!(turns.began(TurnNo(3)));
    }

    #[test]
    fn a_cancel_before_the_prompt_is_accepted_counts_for_it_and_for_no_later_one() {
        let mut turns = Turns::default();
        turns.starting();
        assert!(!turns.cancel_all());
        assert!(turns.is_starting());
        let _first = turns.accepted(TurnNo(1));
        assert!(turns.began(TurnNo(1)));
        turns.ended(TurnNo(1), end());
        turns.starting();
        let _second = turns.accepted(TurnNo(2));
        assert!(!turns.began(TurnNo(2)));
        assert_eq!((turns.is_own(TurnNo(1)), turns.is_own(TurnNo(2))), (false, true));
    }

    #[test]
    fn a_cancel_without_a_prompt_touches_nothing() {
        let mut turns = Turns::default();
        assert!(!turns.cancel_all());
        turns.starting();
        assert!(!turns.refused() && !turns.has_any());
        turns.starting();
        assert!(!turns.cancel_all());
        assert!(turns.refused(), "cancelled before it was done with");
        turns.starting();
        let mut only = turns.accepted(TurnNo(1));
        assert!(!turns.began(TurnNo(1)));
        assert!(turns.cancel(TurnNo(1)));
        turns.give_up();
        assert_eq!(only.try_recv(), Err(oneshot::error::TryRecvError::Closed));
    }
}
