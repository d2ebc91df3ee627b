//! Which words of a command make a harmless program dangerous.

use super::Simple;
use super::program::{self, Program};
use super::word::{PIPE, Value, Word};

/// A word that a rule for the words before it does not cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Danger {
    /// Number of the word.
    pub at: usize,
    /// A clause for people.
    pub why: String,
}

/// All such words.
pub fn dangers(simple: &Simple) -> Vec<Danger> {
    let words = &simple.words;
    let Some(name) = simple.name() else { return Vec::new() };
    let name = name.rsplit('/').next().unwrap_or(name);
    let mut found = match name {
        "git" => git(words),
        "sed" => sed(words),
        "awk" | "gawk" | "mawk" | "nawk" => awk(words),
        _ => program(name).map(|program| options(words, 1, program)).unwrap_or_default(),
    };
    let operands: Vec<usize> = (1..words.len()).filter(|at| words.get(*at).is_some_and(is_operand)).collect();
    let at = |at: usize, why: &str| Danger { at, why: why.to_owned() };
    match (name, operands.as_slice()) {
        ("uniq" | "xxd", [_, second, ..]) => found.push(at(*second, "it writes to its second file")),
        ("uniq" | "xxd", [first]) if words.get(*first).is_some_and(|word| word.literal().is_none()) => {
            found.push(at(*first, "it writes to its second file"));
        }
        ("hostname", [first, ..]) => found.push(at(*first, "`hostname` with a name changes it")),
        ("date", _) => found.extend(date(words)),
        ("tar", [first, ..]) if *first == 1 => {
            // The first word of tar is a cluster of options also without a dash.
            let text = words.get(1).map(Word::lead).unwrap_or_default();
            if text.contains(['I', 'F', 'P']) {
                found.push(at(1, "such options of `tar` run programs"));
            }
        }
        ("make", _) => {
            let sets =
                |word: &Word| ["SHELL", ".SHELLFLAGS", "MAKEFLAGS"].iter().any(|name| word.lead().starts_with(name));
            let set = words.iter().skip(1).position(sets);
            found.extend(set.map(|index| at(index + 1, "it makes `make` run another shell")));
        }
        ("test" | "[" | "[[", _) => found.extend(test(words)),
        _ if simple.fed && is_fed(name) && (operands.is_empty() || matches!(name, "ssh" | "parallel")) => {
            found.push(at(words.len(), "it runs what it is fed"));
        }
        _ => {}
    }
    if is_fed(name) || matches!(name, "source" | ".") {
        let piped = |word: &Word| word.literal().is_none() && word.lead() == PIPE;
        let first = words.iter().position(piped);
        found.extend(first.map(|index| at(index, "it runs what it is fed")));
    }
    found
}

/// Whether a program runs what it is fed.
pub fn is_fed(name: &str) -> bool {
    program::FED.contains(&name) || program::FED.contains(&plain(name))
}

/// A name without its version.
fn plain(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

fn program(name: &str) -> Option<&'static Program> {
    program::find(name).or_else(|| program::find(plain(name)))
}

fn is_operand(word: &Word) -> bool {
    !word.lead().starts_with('-')
}

/// Dangerous options among the words from number `from` on.
fn options(words: &[Word], from: usize, program: &Program) -> Vec<Danger> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(from) {
        match word.literal() {
            Some("--") => break,
            Some(text) if is_dangerous(text, program) => {
                found.push(Danger {
                    at,
                    why: format!("`{word}` of `{}` can run programs or write files", program.name),
                });
            }
            Some(_) => {}
            None if word.may_hide_option() => {
                found.push(Danger { at, why: format!("`{word}` may become an option of `{}`", program.name) });
            }
            None => {}
        }
    }
    found
}

fn is_dangerous(text: &str, program: &Program) -> bool {
    if program.plus && text.starts_with('+') {
        return true;
    }
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    if program.harmless.contains(&name) {
        return false;
    }
    program.options.iter().any(|option| {
        if let Some(long) = option.strip_prefix("--") {
            name.strip_prefix("--").is_some_and(|name| !name.is_empty() && long.starts_with(name))
        } else if let Some(letter) = option.strip_prefix('-').filter(|letter| letter.len() == 1) {
            let cluster = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
            let letters = cluster.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(cluster.len());
            cluster.get(..letters).unwrap_or_default().contains(letter)
        } else {
            // Some programs take their long options with one dash or two.
            name == *option || name.strip_prefix('-') == Some(option)
        }
    })
}

/// Whether a word is the message of a commit or the like, and so one value whatever it holds.
fn is_message(words: &[Word], sub: &str, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| words.get(before)).and_then(Word::literal);
    let whole = words.get(at).is_some_and(|word| matches!(word.value, Value::Dynamic { splits: false, .. }));
    whole && matches!(sub, "commit" | "merge" | "tag") && matches!(before, Some("-m" | "-am" | "--message"))
}

/// Number of git's sub-command among its words.
pub fn git_sub(words: &[Word]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match word.literal() {
            Some("-c" | "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--config-env") => at += 2,
            Some(text) if text.starts_with('-') => at += 1,
            _ => return Some(at),
        }
    }
    None
}

fn git(words: &[Word]) -> Vec<Danger> {
    let sub = git_sub(words).unwrap_or(words.len());
    let mut found = options(words.get(..sub).unwrap_or_default(), 1, &program::GIT);
    let name = words.get(sub).map(Word::lead).unwrap_or_default();
    found.extend(
        options(words, sub + 1, &program::GIT_SUB).into_iter().filter(|danger| !is_message(words, name, danger.at)),
    );
    let mut add = |at: usize, why: String| found.push(Danger { at, why });
    match words.get(sub) {
        Some(word) if word.literal().is_none() => add(sub, format!("what `{word}` becomes is not known")),
        Some(_) if program::GIT_RUNNERS.contains(&name) => add(sub, format!("`git {name}` can run programs")),
        _ => {}
    }
    for (at, word) in words.iter().enumerate().skip(sub + 1) {
        let text = word.lead();
        let short = |letter: char| text.starts_with('-') && !text.starts_with("--") && text.contains(letter);
        let runs = match name {
            "grep" => short('O'),
            "rebase" => short('x'),
            "clone" => short('u') || short('c') || text.starts_with("--config"),
            "submodule" => text == "foreach",
            "bisect" => text == "run",
            "format-patch" | "archive" => short('o'),
            _ => false,
        };
        if runs || text.starts_with("ext::") {
            found.push(Danger { at, why: format!("`{word}` makes `git {name}` run programs or write files") });
        }
    }
    found
}

/// Options of sed that change nothing but how its script is read.
const SED: &[&str] = &[
    "-n",
    "-E",
    "-r",
    "-s",
    "-u",
    "-z",
    "-ne",
    "-nE",
    "-nr",
    "-Ee",
    "-nEe",
    "--quiet",
    "--silent",
    "--regexp-extended",
];

fn sed(words: &[Word]) -> Vec<Danger> {
    let mut found = Vec::new();
    let mut script = !words.iter().any(|word| matches!(word.literal(), Some("-e" | "-ne" | "-Ee" | "-nEe")));
    let mut next = false;
    for (at, word) in words.iter().enumerate().skip(1) {
        let mut bad = || found.push(Danger { at, why: format!("`{word}` of `sed` can run programs or write files") });
        match word.literal() {
            Some(text) if next || script && !text.starts_with('-') => {
                if !plain_script(text) {
                    bad();
                }
                (next, script) = (false, false);
            }
            Some(text) if text.starts_with('-') => {
                next = text.ends_with('e') && SED.contains(&text) || text == "-e";
                if !next && !SED.contains(&text) {
                    bad();
                }
            }
            Some(_) => {}
            None if word.may_hide_option() || next || script => bad(),
            None => {}
        }
    }
    found
}

/// Scripts that print, delete and replace, and nothing else: `s/a/b/g`, `1,5p`, `/x/d`, joined by `;`.
fn plain_script(text: &str) -> bool {
    text.split([';', '\n']).all(|part| {
        let part = part.trim();
        let line = |c: char| c.is_ascii_digit() || ",$+~! ".contains(c);
        let rest = part.trim_start_matches(line);
        if matches!(rest, "" | "p" | "d" | "q" | "=" | "P" | "D" | "n" | "N" | "G" | "h" | "x") {
            return true;
        }
        if let Some(rest) = rest.strip_prefix('/')
            && let Some((pattern, action)) = rest.rsplit_once('/')
        {
            return !pattern.contains(['/', '\\', '{', '[']) && matches!(action, "p" | "d" | "q" | "!p" | "!d" | "=");
        }
        let mut chars = rest.chars();
        let (Some('s'), Some(sign)) = (chars.next(), chars.next()) else { return false };
        let body = chars.as_str();
        let parts: Vec<&str> = body.split(sign).collect();
        let tidy = |part: &str| !part.ends_with('\\') && !part.contains('[');
        let flags = |flags: &str| flags.chars().all(|c| "gpIi0123456789".contains(c));
        !sign.is_alphanumeric()
            && !sign.is_whitespace()
            && sign != '\\'
            && matches!(parts.as_slice(), [from, to, end] if tidy(from) && tidy(to) && flags(end))
    })
}

fn awk(words: &[Word]) -> Vec<Danger> {
    let mut found = Vec::new();
    let mut script = true;
    let mut value = false;
    for (at, word) in words.iter().enumerate().skip(1) {
        let mut bad = || found.push(Danger { at, why: format!("`{word}` of `awk` can run programs or write files") });
        match word.literal() {
            Some(_) if value => value = false,
            Some("-F" | "-v") if script => value = true,
            Some(text) if script && (text.starts_with("-F") || text.starts_with("-v")) => {}
            Some("--") => {}
            Some(text) if text.starts_with('-') => bad(),
            Some(text) if script => {
                if ["system", "getline", "|", ">", "@", "ARGV", "close", "printf("]
                    .iter()
                    .any(|sign| text.contains(sign))
                {
                    bad();
                }
                script = false;
            }
            Some(_) => {}
            None if script || word.may_hide_option() => bad(),
            None => {}
        }
    }
    found
}

/// Tests that read a value as arithmetic or as the name of an element, both of which can run a command that a value holds.
fn test(words: &[Word]) -> Option<Danger> {
    let double = words.first().is_some_and(|word| word.source == "[[");
    let sums = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
    let bad = |word: &Word| matches!(word.lead(), "-v" | "-R") || double && sums.contains(&word.lead());
    let at = words.iter().position(bad)?;
    Some(Danger { at, why: "such a test can run what a value holds".to_owned() })
}

/// `date` with a bare operand sets the clock.
fn date(words: &[Word]) -> Option<Danger> {
    let mut value = false;
    for (at, word) in words.iter().enumerate().skip(1) {
        let text = word.lead();
        if value {
            value = false;
        } else if matches!(text, "-d" | "--date" | "-r" | "--reference" | "-f" | "--file") {
            value = true;
        } else if !text.starts_with(['-', '+']) {
            return Some(Danger { at, why: "`date` with such an argument sets the clock".to_owned() });
        }
    }
    None
}
