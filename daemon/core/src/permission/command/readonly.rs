//! Commands that are known to look and change nothing, and to look only inside the folder where they run.

use super::Simple;
use super::danger::{dangers, git_sub};
use super::program::{local_variable, quiet_variable};
use super::word::{PIPE, Value, Word};

/// Programs that read the files that they are given, or nothing at all.
const READERS: &[&str] = &[
    ":",
    "arch",
    "awk",
    "b2sum",
    "base64",
    "cat",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cut",
    "date",
    "df",
    "diff",
    "du",
    "egrep",
    "expand",
    "false",
    "fd",
    "fdfind",
    "fgrep",
    "file",
    "find",
    "fold",
    "fmt",
    "gawk",
    "grep",
    "groups",
    "head",
    "hexdump",
    "hostname",
    "id",
    "jq",
    "join",
    "less",
    "locale",
    "ls",
    "mawk",
    "md5sum",
    "more",
    "nl",
    "nproc",
    "od",
    "paste",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "rg",
    "sed",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "sleep",
    "sort",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "tr",
    "tree",
    "true",
    "tty",
    "type",
    "uname",
    "unexpand",
    "uniq",
    "uptime",
    "wc",
    "which",
    "whoami",
    "xxd",
    "break",
    "continue",
    "exit",
    "return",
    "exec",
    "wait",
];

/// Programs whose arguments are texts, or of whose files nothing is told but that they are there.
const TEXTS: &[&str] = &["[", "[[", "test", "basename", "dirname", "echo", "printf", "seq", "expr"];

/// Programs whose first argument is a pattern or a script.
const PATTERN_FIRST: &[&str] = &["awk", "egrep", "fgrep", "gawk", "grep", "jq", "mawk", "rg", "sed", "tr"];

/// Sub-commands of git that only look.
const GIT: &[&str] = &[
    "blame",
    "cat-file",
    "check-ignore",
    "count-objects",
    "describe",
    "diff",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "var",
    "version",
    "whatchanged",
];

/// Whether a program takes its arguments as texts.
pub fn is_text(name: &str) -> bool {
    TEXTS.contains(&name)
}

/// What is said of a program that is not in these tables.
pub const NOT_KNOWN: &str = "it is not known to only look";

/// Why a command is not known to only look; a clause for people.
pub fn check(simple: &Simple) -> Result<(), String> {
    let not_known = || Err(NOT_KNOWN.to_owned());
    if simple.words.is_empty() {
        return Ok(());
    }
    let Some(name) = simple.name() else { return Err("which program it runs is not known".to_owned()) };
    if let Some(danger) = dangers(simple).into_iter().next() {
        return Err(danger.why);
    }
    let words = simple.words.get(1..).unwrap_or_default();
    match name {
        "git" => git(simple),
        "cd" => match words {
            [word] if word.literal().is_some_and(|text| text != "-") => inside(word),
            _ => Err("where it goes is not known".to_owned()),
        },
        "command" | "env" | "printenv" | "time" | "trap" if words.iter().all(|word| word.literal().is_some()) => {
            match (name, words) {
                ("env", []) | ("printenv" | "command", _) => Ok(()),
                _ => not_known(),
            }
        }
        "export" => {
            let quiet = |word: &Word| word.literal().and_then(|text| text.split_once('=')).is_some_and(quiet);
            if words.iter().all(quiet) { Ok(()) } else { Err("it changes what later programs are told".to_owned()) }
        }
        "set" => {
            let flag = |word: &Word| {
                word.literal().is_some_and(|text| {
                    text == "pipefail"
                        || text.len() > 1
                            && text.starts_with(['-', '+'])
                            && text.chars().skip(1).all(|c| "eufo".contains(c))
                })
            };
            if !words.is_empty() && words.iter().all(flag) { Ok(()) } else { not_known() }
        }
        "read" => {
            let fine = |word: &Word| word.literal().is_some_and(|text| text == "-r" || local_variable(text));
            if words.iter().all(fine) { Ok(()) } else { not_known() }
        }
        "tail" if words.iter().any(|word| word.lead().starts_with("--pid")) => not_known(),
        _ if TEXTS.contains(&name) => {
            let places = words.iter().filter(|word| matches!(word.value, Value::Glob { .. }));
            places.map(inside).collect()
        }
        _ if READERS.contains(&name) => operands(name, words),
        _ => not_known(),
    }
}

fn quiet((name, value): (&str, &str)) -> bool {
    quiet_variable(name, Some(value))
}

fn operands(name: &str, words: &[Word]) -> Result<(), String> {
    let mut pattern = PATTERN_FIRST.contains(&name);
    let mut value = false;
    let mut before = "";
    for word in words {
        // What follows an option that names a file is no pattern.
        pattern &= !(before.starts_with("--") || before.starts_with('-') && before.ends_with('f'));
        before = word.lead();
        let takes = match name {
            "awk" | "gawk" | "mawk" => matches!(word.literal(), Some("-F" | "-v")),
            "egrep" | "fgrep" | "grep" | "rg" | "sed" => matches!(word.literal(), Some("-e" | "--regexp")),
            _ => false,
        };
        if value {
            value = false;
        } else if takes {
            // The next word is a pattern, a separator or a value, never a file.
            value = true;
            pattern &= matches!(name, "awk" | "gawk" | "mawk");
        } else if pattern && !word.lead().starts_with('-') {
            pattern = false;
        } else {
            inside(word)?;
        }
    }
    Ok(())
}

/// Whether a word can only name something inside the folder where the command runs.
pub fn inside(word: &Word) -> Result<(), String> {
    let lead = word.lead();
    let outside = || Err(format!("`{word}` may lie outside the project"));
    match &word.value {
        // What runs inside is judged by itself.
        Value::Dynamic { lead, splits: false } if lead == PIPE => return Ok(()),
        Value::Dynamic { .. } => return Err(format!("what `{word}` becomes is not known")),
        Value::Glob { .. } if word.source.contains("..") => return outside(),
        // It may find `.git` or `..`.
        Value::Glob { lead } if lead.rsplit('/').next().is_some_and(|part| part.starts_with('.')) => return outside(),
        Value::Literal(_) | Value::Glob { .. } => {}
    }
    if lead == "/dev/null" {
        return Ok(());
    }
    let option = lead.starts_with('-');
    let leaves = |text: &str| text.starts_with(['/', '~']) || text.split('/').any(|part| part == "..");
    let (name, value) = lead.split_once('=').unwrap_or((lead, ""));
    if leaves(lead) || leaves(value) || option && (name.contains('/') || name.contains("..")) {
        return outside();
    }
    if lead.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err(format!("`{word}` lies inside .git"));
    }
    Ok(())
}

fn git(simple: &Simple) -> Result<(), String> {
    let words = &simple.words;
    let Some(at) = git_sub(words) else {
        let version = words.len() == 2 && matches!(words.get(1).and_then(Word::literal), Some("--version" | "--help"));
        return if version { Ok(()) } else { Err(NOT_KNOWN.to_owned()) };
    };
    let quiet =
        |word: &Word| matches!(word.literal(), Some("--no-pager" | "--no-optional-locks" | "--literal-pathspecs"));
    if !words.get(1..at).unwrap_or_default().iter().all(quiet) {
        return Err("such options of `git` are not known to only look".to_owned());
    }
    let name = words.get(at).and_then(Word::literal).unwrap_or_default();
    let rest = words.get(at + 1..).unwrap_or_default();
    let literal: Option<Vec<&str>> = rest.iter().map(Word::literal).collect();
    let listed = |fine: &[&str]| {
        literal.as_ref().is_some_and(|words| {
            words.iter().all(|word| {
                fine.contains(word)
                    || fine.iter().any(|fine| word.strip_prefix(fine).is_some_and(|rest| rest.starts_with('=')))
            })
        })
    };
    let looks = match name {
        "branch" => listed(&[
            "--list",
            "-l",
            "-a",
            "--all",
            "-r",
            "--remotes",
            "-v",
            "-vv",
            "--verbose",
            "--show-current",
            "--contains",
            "--merged",
            "--no-merged",
            "--sort",
            "--format",
            "--column",
            "--no-color",
            "--color",
        ]),
        "tag" => listed(&["--list", "-l", "-n", "--sort", "--format", "--contains", "--merged", "--points-at"]),
        "remote" => {
            listed(&["-v", "--verbose"])
                || matches!(literal.as_deref(), Some(["get-url", name]) if !name.starts_with('-'))
        }
        "stash" => matches!(literal.as_deref(), Some(["list" | "show", ..])),
        "worktree" => matches!(literal.as_deref(), Some(["list", ..])),
        "reflog" => literal.as_deref().is_some_and(|words| matches!(words, [] | ["show", ..])),
        "symbolic-ref" => {
            matches!(literal.as_deref(), Some(["HEAD" | "--short", ..]))
                && rest.len() <= 2
                && listed(&["HEAD", "--short", "-q"])
        }
        _ => GIT.contains(&name),
    };
    if !looks {
        return Err(NOT_KNOWN.to_owned());
    }
    rest.iter().try_for_each(inside)
}
