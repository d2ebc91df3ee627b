//! What a person sees while a command waits.

use super::out;

/// A line that shows a person that something still happens. It stands on the terminal only until something else is
/// written.
#[derive(Debug)]
pub struct Progress {
    enabled: bool,
    shown: bool,
    silent_for: u64,
}

impl Progress {
    /// One that shows nothing yet; nothing at all where nobody wants it or there is no terminal.
    pub fn new(wanted: bool) -> Self {
        Self { enabled: wanted && out::stderr_is_terminal(), shown: false, silent_for: 0 }
    }

    /// A second has passed; `room`: a line may be shown.
    pub fn tick(&mut self, room: bool) {
        self.silent_for += 1;
        // The first tick comes at once and not after a second.
        if self.enabled && room && self.silent_for > 1 {
            self.shown = true;
            out::transient(&format!("… {} s", self.silent_for - 1));
        }
    }

    /// Something else is about to be written.
    pub fn clear(&mut self) {
        self.silent_for = 0;
        if std::mem::take(&mut self.shown) {
            out::transient("");
        }
    }
}
