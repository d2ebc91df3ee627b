//! A question with a yes or a no, on the terminal itself: standard input may be a pipe.

use super::out;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Only what is clearly a yes is one.
    Yes,
    /// Anything else.
    No,
    /// There is no terminal, so that nobody could be asked.
    Nobody,
}

impl Said {
    /// What a line means.
    fn of_line(line: &str) -> Self {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => Self::Yes,
            _ => Self::No,
        }
    }
}

/// Asks, and waits for the answer.
pub fn ask(question: &str) -> Said {
    if !out::stderr_is_terminal() {
        return Said::Nobody;
    }
    let Ok(mut terminal) = OpenOptions::new().read(true).write(true).open("/dev/tty") else { return Said::Nobody };
    let mut line = String::new();
    let asked = write!(terminal, "{question} [y/N] ").and_then(|()| terminal.flush());
    match asked.and_then(|()| BufReader::new(terminal).read_line(&mut line)) {
        Ok(_) => Said::of_line(&line),
        Err(_) => Said::Nobody,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        let said = ["y", " Yes\n", "", "n", "yep", "yes please"].map(Said::of_line);
        assert_eq!(said, [Said::Yes, Said::Yes, Said::No, Said::No, Said::No, Said::No]);
    }
}
