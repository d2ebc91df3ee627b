//! What the harness tells the model of its own accord, and in which order it stands at the tail.
//!
//! When a turn starts: these injections, the prompt, then what is said about the mode. Before a later request of the turn:
//! results, their observation, these injections, then the mode.

use super::super::machine::Machine;

impl Machine {
    /// Everything that is to be told by now, but for the mode. Telling it twice tells nothing the second time.
    pub(in crate::turn) fn tell(&mut self) {
        self.add_ended();
    }
}
