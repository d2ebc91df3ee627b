//! Which files a command names, so that it can be looked up where they lie before it is decided.

use super::readonly::is_text;
use super::word::Word;
use super::{RedirectionKind, parse};
use std::collections::HashSet;

/// Most folders that a command goes to that are looked into.
const MAX_FOLDERS: usize = 8;

/// A word that may be a path, relative to the folder in which the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The word.
    pub path: String,
    /// Whether a redirection writes there, so that it counts although nothing may be there yet.
    pub written: bool,
}

/// The words of a command that may be paths, in order, each once, also in the folders that it goes to. A command that is not
/// understood names none.
pub fn named(command: &str) -> Vec<Named> {
    let Ok(parsed) = parse(command) else { return Vec::new() };
    let mut all = Vec::new();
    let mut known = HashSet::new();
    let mut folders = vec![String::new()];
    for simple in &parsed.commands {
        let mut add = |path: &str, written: bool| {
            for folder in folders.iter().filter(|_| !path.is_empty() && path != "/dev/null") {
                let path = if path.starts_with('/') { path.to_owned() } else { format!("{folder}{path}") };
                if known.insert((path.clone(), written)) {
                    all.push(Named { path, written });
                }
            }
        };
        let text = simple.name().is_some_and(is_text);
        for word in simple.words.iter().skip(1).filter(|_| !text).filter_map(Word::literal) {
            match word.strip_prefix('-') {
                None => add(word, false),
                Some(option) => add(option.split_once('=').map_or("", |(_, value)| value), false),
            }
        }
        for redirection in &simple.redirections {
            let written = match redirection.kind {
                RedirectionKind::Write => true,
                RedirectionKind::Read => false,
                RedirectionKind::Descriptor | RedirectionKind::Text => continue,
            };
            add(redirection.target.literal().unwrap_or_default(), written);
        }
        if let (Some("cd"), Some(to)) = (simple.name(), simple.words.get(1).and_then(Word::literal))
            && folders.len() < MAX_FOLDERS
        {
            let last = folders.last().cloned().unwrap_or_default();
            folders.push(format!("{last}{to}/"));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, expected: &[(&str, bool)]) {
        let found: Vec<(String, bool)> = named(command).into_iter().map(|named| (named.path, named.written)).collect();
        let expected: Vec<(String, bool)> =
            expected.iter().map(|(path, written)| ((*path).to_owned(), *written)).collect();
        assert_eq!(found, expected, "{command}");
    }

    #[test]
    fn files_are_named_by_words_options_and_redirections() {
        check(
            "cat a 'b c' | wc -l --files0-from=d > e 2>/dev/null",
            &[("a", false), ("b c", false), ("d", false), ("e", true)],
        );
        check("echo a < b; ls \"$(cat c)\" $x", &[("b", false), ("c", false)]);
        check("cd a && cat b", &[("a", false), ("b", false), ("a/b", false)]);
        check("cat (", &[]);
    }
}
