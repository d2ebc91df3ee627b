//! What a daemon that shall end waits for: turns, commands in the background, and calls that are about to begin one.

use super::super::live::Beginning;
use super::Service;

impl Service {
    /// Commands in the background that run, or what they left.
    pub fn jobs(&self) -> usize {
        self.inner.shared.background.count_all()
    }

    /// How much runs: turns, also those that wait for an answer, and commands in the background.
    pub fn work(&self) -> usize {
        self.running_turns() + self.jobs()
    }

    /// Lets nothing begin any more, unless something runs or is about to; whether that is so. What is asked for
    /// afterwards is refused with `shuttingDown`.
    pub fn come_to_rest(&self) -> bool {
        self.work() == 0 && self.inner.sessions.close_unless(|| self.work() > 0)
    }

    /// Announces that a call is about to begin a turn, for as long as the value lives.
    pub(super) fn beginning(&self) -> Beginning {
        self.inner.sessions.beginning()
    }
}
