//! What commands write: answers to standard output, everything else to standard error. The only place that touches
//! either. A reader that has gone away is a normal end and not an error to speak of.

use plimsoll_core::path::is_direction_mark;
use std::fs::File;
use std::io::{self, IsTerminal, Write};

/// Takes standard output away and points descriptor 1 at standard error, so that whatever prints by mistake cannot reach
/// whoever reads the protocol. The returned file is the only way to the real one.
pub fn set_stdout_aside() -> io::Result<File> {
    let real = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(File::from(real))
}

/// Writes a text to standard output, at once.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes a line to standard output, at once.
pub fn line(text: &str) -> io::Result<()> {
    print(&format!("{text}\n"))
}

/// Writes a value to standard output as JSON on one line.
pub fn json(value: &impl serde::Serialize) -> io::Result<()> {
    line(&serde_json::to_string(value)?)
}

/// Lets somebody else print, such as the parser of arguments, and sees to it that it is written.
pub fn flush_after(print: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    print()?;
    io::stdout().lock().flush()
}

/// Writes a line for people to standard error. When nobody reads that either there is nobody left to tell.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Says what went wrong and what to do about it.
pub fn error(message: &str, hint: Option<&str>) {
    note(&format!("plimsoll: {message}"));
    if let Some(hint) = hint {
        note(&format!("  {hint}"));
    }
}

/// Replaces the line at the cursor of standard error, which is a terminal, without ending it.
pub fn transient(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush());
}

/// Whether standard error is shown to a person.
pub fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Whether an error only means that the reader is gone.
pub fn is_reader_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Makes parts of a text stand out, on a terminal that wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    colours: bool,
}

impl Style {
    /// For what is no terminal.
    pub const PLAIN: Self = Self { colours: false };

    /// For standard output.
    pub fn of_stdout() -> Self {
        Self::on_terminal(io::stdout().is_terminal())
    }

    /// For standard error.
    pub fn of_stderr() -> Self {
        Self::on_terminal(io::stderr().is_terminal())
    }

    fn on_terminal(terminal: bool) -> Self {
        if terminal && colours_wanted() { Self { colours: true } } else { Self::PLAIN }
    }

    /// Less than the rest.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// More than the rest.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// What comes in by a change.
    pub fn added(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// What goes out by a change.
    pub fn removed(self, text: &str) -> String {
        self.paint("31", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

fn colours_wanted() -> bool {
    let variable = |name: &str| std::env::var_os(name);
    let refused = variable(crate::config::env::NO_COLOR).is_some_and(|value| !value.is_empty());
    !refused && variable("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// A text of somebody else's made safe for a terminal: control characters, which could move the cursor or rewrite what
/// stands above, and marks that turn the direction of reading become visible. Line ends and tabs stay when `lines` is set, else they become blanks.
pub fn harmless(text: &str, lines: bool) -> String {
    text.chars()
        .map(|letter| match letter {
            '\n' | '\t' if lines => letter,
            '\n' | '\t' | '\r' => ' ',
            letter if letter.is_control() || is_direction_mark(letter) => char::REPLACEMENT_CHARACTER,
            letter => letter,
        })
        .collect()
}

/// The beginning of a text, on one line, of at most `width` letters.
pub fn short(text: &str, width: usize) -> String {
    cut(harmless(text.trim(), false), width)
}

/// The same of one line whose blanks and tabs count.
pub fn short_line(line: &str, width: usize) -> String {
    cut(harmless(line, true), width)
}

fn cut(text: String, width: usize) -> String {
    if text.chars().count() <= width {
        return text;
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_others_cannot_command_the_terminal() {
        assert_eq!(harmless("a\x1b[2Jb\nc\td\re", true), "a\u{fffd}[2Jb\nc\td e");
        assert_eq!(harmless("a\nb\u{9b}c", false), "a b\u{fffd}c");
        assert_eq!(harmless("rm \u{202e}cba", true), "rm \u{fffd}cba");
    }

    #[test]
    fn long_texts_are_cut_to_the_width() {
        assert_eq!(short(" one\ntwo ", 10), "one two");
        assert_eq!(short("äöüäöü", 4), "äöü…");
        assert_eq!(short("abcd", 4), "abcd");
    }

    #[test]
    fn without_colours_nothing_is_added() {
        assert_eq!(Style::PLAIN.dim("x"), "x");
        assert_eq!(Style { colours: true }.dim("x"), "\x1b[2mx\x1b[0m");
    }
}
