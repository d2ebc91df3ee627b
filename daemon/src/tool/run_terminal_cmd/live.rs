//! Output for the eyes of those who watch a command: clean text that is only ever appended to.
//!
//! A line appears when it is finished, an unfinished one when nothing has come for a while. A line that was shown and is
//! then begun anew (a progress bar) is shown again as a further line. Nothing of this is stored.

use plimsoll_core::ingest::command::CommandCleaner;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Live {
    cleaner: CommandCleaner,
    /// What of the unfinished line was shown.
    shown: String,
}

impl Live {
    /// Takes what was printed; gives what is to be appended.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let mut finished = String::new();
        self.cleaner.push(bytes, &mut finished);
        if finished.is_empty() { finished } else { self.after_shown(&finished) }
    }

    /// Says that nothing came for a while; gives what is to be appended.
    pub(super) fn quiet(&mut self) -> String {
        let unfinished = self.cleaner.unfinished().to_owned();
        let more = self.after_shown(&unfinished);
        self.shown = unfinished;
        more
    }

    /// Whether [`Live::quiet`] would give something.
    pub(super) fn is_waiting(&self) -> bool {
        !self.cleaner.unfinished().is_empty() && self.cleaner.unfinished() != self.shown
    }

    /// Says that `count` bytes are left out here; gives what is to be appended.
    pub(super) fn skip(&mut self, count: u64) -> String {
        let begun = self.quiet();
        *self = Self::default();
        format!("{begun}\n[{count} bytes not shown here; the result and the log have them]\n")
    }

    /// `line` without what of it was shown already.
    fn after_shown(&mut self, line: &str) -> String {
        let shown = std::mem::take(&mut self.shown);
        match line.strip_prefix(shown.as_str()) {
            Some(more) => more.to_owned(),
            None => format!("\n{line}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_lines_come_at_once_and_an_unfinished_one_when_it_is_quiet() {
        let mut live = Live::default();
        assert_eq!(live.push(b"one\ntw"), "one\n");
        assert!(live.is_waiting());
        assert_eq!(live.quiet(), "tw");
        assert!(!live.is_waiting());
        assert_eq!(live.push(b"o"), "");
        assert_eq!(live.push(b"\nthree\n"), "o\nthree\n");
        assert!(!live.is_waiting());
    }

    #[test]
    fn a_line_that_is_begun_anew_is_shown_again() {
        let mut live = Live::default();
        live.push(b"10%");
        assert_eq!(live.quiet(), "10%");
        live.push(b"\r20%");
        assert_eq!(live.quiet(), "\n20%");
        assert_eq!(live.push(b"\r100%\n"), "\n100%\n");
    }

    #[test]
    fn what_is_skipped_is_said() {
        let mut live = Live::default();
        live.push(b"begun \x1b[3");
        assert_eq!(live.skip(7), "begun \n[7 bytes not shown here; the result and the log have them]\n");
        assert_eq!(live.push(b"next\n"), "next\n");
    }
}
