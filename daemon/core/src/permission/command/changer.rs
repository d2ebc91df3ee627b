//! Programs that change the files that their words name. Others may change files too; of these it is known from the words.

use super::Simple;
use super::danger::git_sub;
use super::word::Word;

/// A file that a command changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The path that names it, or what is known of its beginning.
    pub path: String,
    /// Whether it goes, with everything below it.
    pub removes: bool,
}

/// Programs all of whose operands go.
const REMOVERS: &[&str] = &["rm", "rmdir", "unlink", "shred", "mv"];

/// Programs all of whose operands are written.
const WRITERS: &[&str] = &["touch", "tee", "truncate", "chmod", "chown", "chgrp", "mkdir", "mkfifo"];

/// Programs whose last operand is written.
const LAST: &[&str] = &["cp", "ln", "install", "rsync"];

/// Programs that write their operands when they have one of these options, alone or as the beginning of a word.
const IN_PLACE: &[(&str, &[&str])] = &[
    ("sed", &["-i", "--in-place", "-ni", "-Ei", "-ri", "-si"]),
    ("perl", &["-i", "-pi", "-ni", "-lpi", "-p0i"]),
    ("ruby", &["-i", "-pi", "-ni"]),
    ("prettier", &["--write", "-w"]),
    ("gofmt", &["-w"]),
    ("autopep8", &["-i", "--in-place"]),
];

/// Sub-commands of git whose operands change, with whether they go.
const GIT: &[(&str, bool)] = &[("checkout", false), ("restore", false), ("rm", true), ("mv", true), ("clean", true)];

/// The files that a simple command is seen to change, without its redirections.
pub fn changed(simple: &Simple) -> Vec<Changed> {
    let Some(name) = simple.name().map(|name| name.rsplit('/').next().unwrap_or(name)) else { return Vec::new() };
    let words = simple.words.get(1..).unwrap_or_default();
    let in_place =
        |options: &[&str]| words.iter().any(|word| options.iter().any(|option| word.lead().starts_with(option)));
    if REMOVERS.contains(&name) {
        return operands(words, true);
    }
    if WRITERS.contains(&name) || IN_PLACE.iter().any(|(program, options)| *program == name && in_place(options)) {
        return operands(words, false);
    }
    if LAST.contains(&name) {
        return operands(words, false).into_iter().next_back().into_iter().collect();
    }
    if name == "git"
        && let Some(at) = git_sub(&simple.words)
        && let Some(sub) = simple.words.get(at).and_then(Word::literal)
        && let Some((_, removes)) = GIT.iter().find(|(known, _)| *known == sub)
    {
        return operands(simple.words.get(at + 1..).unwrap_or_default(), *removes);
    }
    Vec::new()
}

/// The words that are no options.
fn operands(words: &[Word], removes: bool) -> Vec<Changed> {
    let named = words.iter().filter(|word| !word.lead().is_empty() && !word.lead().starts_with('-'));
    named.map(|word| Changed { path: word.lead().to_owned(), removes }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn check(command: &str, expected: &[(&str, bool)]) {
        let parsed = parse(command).unwrap();
        let found: Vec<(String, bool)> =
            parsed.commands.iter().flat_map(changed).map(|changed| (changed.path, changed.removes)).collect();
        let expected: Vec<(String, bool)> =
            expected.iter().map(|(path, removes)| ((*path).to_owned(), *removes)).collect();
        assert_eq!(found, expected, "{command}");
    }

    #[test]
    fn programs_that_change_files_name_them() {
        check("rm -rf a 'b c' d/*.txt", &[("a", true), ("b c", true), ("d/", true)]);
        check("/bin/mv a b", &[("a", true), ("b", true)]);
        check("cp a b c/", &[("c/", false)]);
        check(
            "sed -n p a; sed -i.bak s/x/y/ a; sed --in-place=x e b",
            &[("s/x/y/", false), ("a", false), ("e", false), ("b", false)],
        );
        check("git -C x checkout -- a/b && git log a && git rm -r t", &[("a/b", false), ("t", true)]);
        check("echo a | tee -a b && cat c && pytest tests/", &[("b", false)]);
    }
}
