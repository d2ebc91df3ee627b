//! Programs that run another program: what they would run.

use super::tree::parse_inside;
use super::word::{Value, Word};
use super::{Assignment, Parsed, Simple};

/// What a simple command would run besides itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inner {
    /// Nothing that is seen here.
    Nothing,
    /// These commands, and nothing else of its own.
    Runs {
        /// What it runs.
        parsed: Parsed,
        /// Number of the first word that belongs to what is run.
        at: usize,
        /// Whether that word is a text that holds all of it.
        text: bool,
    },
    /// Something of which at most the words are known, with other rights or by other means: it may be any of these.
    Perhaps(Vec<Simple>),
    /// Something that cannot be known; a clause for people says why. The number is that of the word where that begins.
    Unknown(usize, String),
}

/// Options of a wrapper that are understood.
struct Options {
    flags: &'static [&'static str],
    values: &'static [&'static str],
    /// Words between options and command.
    operands: usize,
}

const NONE: Options = Options { flags: &[], values: &[], operands: 0 };
const NICE: Options = Options { flags: &[], values: &["-n", "--adjustment"], operands: 0 };
const TIME: Options = Options { flags: &["-p"], values: &[], operands: 0 };
const TIMEOUT: Options = Options {
    flags: &["--preserve-status", "--foreground", "-v", "--verbose"],
    values: &["-s", "--signal", "-k", "--kill-after"],
    operands: 1,
};
const STDBUF: Options =
    Options { flags: &[], values: &["-i", "-o", "-e", "--input", "--output", "--error"], operands: 0 };
const COMMAND: Options = Options { flags: &["-p"], values: &[], operands: 0 };
const EXEC: Options = Options { flags: &["-c", "-l"], values: &["-a"], operands: 0 };
const XARGS: Options = Options {
    flags: &["-0", "--null", "-r", "--no-run-if-empty", "-t", "--verbose", "-x", "--exit"],
    values: &[
        "-n",
        "--max-args",
        "-P",
        "--max-procs",
        "-L",
        "--max-lines",
        "-d",
        "--delimiter",
        "-E",
        "-s",
        "--max-chars",
        "-I",
    ],
    operands: 0,
};
const SHELL: Options = Options { flags: &["-e", "-u", "-x", "-eu", "-ex", "-eux"], values: &["-o"], operands: 0 };

/// Programs that run their operands with other rights, elsewhere or later; which operand begins the command is not said
/// here.
const OPAQUE: &[&str] = &[
    "bwrap",
    "busybox",
    "chroot",
    "chrt",
    "dbus-run-session",
    "doas",
    "entr",
    "fakeroot",
    "firejail",
    "fish",
    "flock",
    "ionice",
    "ksh",
    "ltrace",
    "nsenter",
    "parallel",
    "pkexec",
    "proxychains",
    "runuser",
    "script",
    "setarch",
    "setsid",
    "ssh",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "toybox",
    "unshare",
    "valgrind",
    "watch",
    "xvfb-run",
    "zsh",
];

/// What `simple` would run, `level` texts deep.
pub fn inner(simple: &Simple, level: u8) -> Inner {
    let words = &simple.words;
    let Some(name) = simple.name() else { return Inner::Nothing };
    let name = name.rsplit('/').next().unwrap_or(name);
    match name {
        "env" => env(simple),
        "nice" => plain(simple, &NICE),
        "nohup" | "builtin" => plain(simple, &NONE),
        "time" => plain(simple, &TIME),
        "timeout" => plain(simple, &TIMEOUT),
        "stdbuf" => plain(simple, &STDBUF),
        "command" if words.iter().skip(1).any(|word| matches!(word.literal(), Some("-v" | "-V"))) => Inner::Nothing,
        "command" => plain(simple, &COMMAND),
        "exec" => plain(simple, &EXEC),
        "xargs" => xargs(simple),
        "find" => find(simple),
        "sh" | "bash" | "dash" | "ash" => shell(simple, name, level),
        "eval" => joined(words, 1, level),
        "trap" => trap(simple, level),
        _ if OPAQUE.contains(&name) => {
            let rest = (1..words.len()).filter_map(|at| words.get(at..));
            let mut perhaps: Vec<Simple> =
                rest.map(|words| Simple { words: words.to_vec(), ..Simple::default() }).collect();
            // Some of them hand a text to a shell.
            let texts = words.iter().skip(1).filter_map(Word::literal).filter(|text| text.contains([' ', ';']));
            perhaps.extend(texts.filter_map(|text| parse_inside(text, level + 1).ok()).flat_map(|it| it.commands));
            Inner::Perhaps(perhaps)
        }
        _ => Inner::Nothing,
    }
}

/// The number of the word after the options, or the clause and the word at which it stops being clear.
fn after_options(words: &[Word], options: &Options) -> Result<usize, (usize, String)> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let unclear = || (at, format!("what `{word}` makes of it is not known"));
        if word.may_hide_option() {
            return Err(unclear());
        }
        let Some(text) = word.literal().filter(|text| text.len() > 1 && text.starts_with('-')) else { break };
        let takes = |option: &str| options.values.contains(&option);
        at += match text {
            "--" => {
                at += 1;
                break;
            }
            _ if options.flags.contains(&text) => 1,
            _ if takes(text) => 2,
            _ if text.split_once('=').is_some_and(|(name, _)| name.starts_with("--") && takes(name)) => 1,
            _ if !text.starts_with("--") && text.get(..2).is_some_and(takes) => 1,
            _ if text.starts_with('-')
                && text.chars().skip(1).all(|c| options.flags.contains(&format!("-{c}").as_str())) =>
            {
                1
            }
            _ => return Err(unclear()),
        };
    }
    for _ in 0..options.operands {
        match words.get(at) {
            Some(word) if word.may_hide_option() => {
                return Err((at, format!("what `{word}` makes of it is not known")));
            }
            _ => at += 1,
        }
    }
    Ok(at)
}

fn runs(simple: &Simple, at: usize, words: Vec<Word>) -> Inner {
    let inner = Simple { words, fed: simple.fed, ..Simple::default() };
    Inner::Runs { parsed: Parsed { commands: vec![inner], redefined: Vec::new() }, at, text: false }
}

fn plain(simple: &Simple, options: &Options) -> Inner {
    match after_options(&simple.words, options) {
        Ok(at) => match simple.words.get(at..).filter(|rest| !rest.is_empty()) {
            Some(rest) => runs(simple, at, rest.to_vec()),
            None => Inner::Nothing,
        },
        Err((at, why)) => Inner::Unknown(at, why),
    }
}

fn env(simple: &Simple) -> Inner {
    const ENV: Options = Options {
        flags: &["-i", "-", "--ignore-environment", "-0", "--null"],
        values: &["-u", "--unset"],
        operands: 0,
    };
    let mut at = match after_options(&simple.words, &ENV) {
        Ok(at) => at,
        Err((at, why)) => return Inner::Unknown(at, why),
    };
    let mut assignments = Vec::new();
    while let Some(word) = simple.words.get(at) {
        match word.lead().split_once('=') {
            Some((name, rest)) => {
                let value = match &word.value {
                    Value::Literal(_) => Word::of(rest),
                    Value::Glob { .. } | Value::Dynamic { .. } => Word::unknown(&word.source),
                };
                assignments.push(Assignment { name: name.to_owned(), value });
                at += 1;
            }
            None if word.literal().is_none() => {
                return Inner::Unknown(at, format!("what `{word}` becomes is not known"));
            }
            None => break,
        }
    }
    let words = simple.words.get(at..).unwrap_or_default().to_vec();
    if words.is_empty() {
        return Inner::Nothing;
    }
    let inner = Simple { words, assignments, fed: simple.fed, ..Simple::default() };
    Inner::Runs { parsed: Parsed { commands: vec![inner], redefined: Vec::new() }, at, text: false }
}

fn xargs(simple: &Simple) -> Inner {
    let at = match after_options(&simple.words, &XARGS) {
        Ok(at) => at,
        Err((at, why)) => return Inner::Unknown(at, why),
    };
    let options: Vec<&str> = simple.words.get(1..at).unwrap_or_default().iter().filter_map(Word::literal).collect();
    let mark = options.iter().enumerate().find_map(|(at, option)| match option.strip_prefix("-I") {
        Some("") => options.get(at + 1).copied(),
        other => other,
    });
    let mut words = simple.words.get(at..).unwrap_or_default().to_vec();
    if words.is_empty() {
        words.push(Word::of("echo"));
    }
    match mark {
        Some(mark) => words = fill(words, mark, ""),
        None => words.push(Word::unknown("\u{2026}")),
    }
    let inner = Simple { words, ..Simple::default() };
    Inner::Runs { parsed: Parsed { commands: vec![inner], redefined: Vec::new() }, at, text: false }
}

/// Words in which a mark stands for one argument that begins with `lead`.
fn fill(words: Vec<Word>, mark: &str, lead: &str) -> Vec<Word> {
    let filled = words.into_iter().map(|word| {
        let whole = word.literal() == Some(mark);
        if !whole && !word.source.contains(mark) {
            return word;
        }
        let lead = if whole { lead.to_owned() } else { String::new() };
        Word { value: Value::Dynamic { lead, splits: !whole }, source: word.source }
    });
    filled.collect()
}

fn find(simple: &Simple) -> Inner {
    let words = &simple.words;
    let action = |word: &Word| matches!(word.literal(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
    let mut commands = Vec::new();
    let mut first = None;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        if !action(word) {
            continue;
        }
        first.get_or_insert(at);
        let rest = words.get(at..).unwrap_or_default();
        let ends = |word: &Word| matches!(word.literal(), Some(";" | "+"));
        let Some(end) = rest.iter().position(ends).filter(|end| *end > 0) else {
            return Inner::Unknown(at, "where the command of `find` ends is not known".to_owned());
        };
        // What it finds begins as the place does where it began to look.
        let inside = words.get(1).is_some_and(|place| place.literal().is_some_and(|text| !text.starts_with('-')));
        let mut inner = rest.get(..end).unwrap_or_default().to_vec();
        let found = Word { source: "{}".to_owned(), value: Value::Glob { lead: "./".to_owned() } };
        for word in &mut inner {
            if word.literal() == Some("{}") && inside {
                *word = found.clone();
            }
        }
        let inner = inner.into_iter().map(|word| match word.literal() {
            Some(text) if text.contains("{}") => Word::unknown(&word.source),
            _ => word,
        });
        commands.push(Simple { words: inner.collect(), ..Simple::default() });
        at += end + 1;
    }
    match first {
        Some(at) => Inner::Runs { parsed: Parsed { commands, redefined: Vec::new() }, at, text: false },
        None => Inner::Nothing,
    }
}

/// `sh -c 'text'`. A shell without `-c` runs a file or what it is fed, which is not seen here.
fn shell(simple: &Simple, name: &str, level: u8) -> Inner {
    let words = &simple.words;
    let asks = |word: &Word| {
        word.literal().is_some_and(|text| text.starts_with('-') && !text.starts_with("--") && text.contains('c'))
    };
    let Some(flag) = words.iter().skip(1).take_while(|word| word.lead().starts_with('-')).position(asks) else {
        return match words.iter().skip(1).find(|word| word.may_hide_option()) {
            Some(word) => Inner::Unknown(1, format!("what `{word}` becomes is not known")),
            None => Inner::Nothing,
        };
    };
    let flag = flag + 1;
    let before = words.get(..flag).unwrap_or_default();
    let understood =
        matches!(words.get(flag).and_then(Word::literal), Some("-c" | "-ec" | "-euc" | "-ce" | "-uc" | "-xc"))
            && after_options(before, &SHELL) == Ok(flag);
    let at = flag + 1;
    let Some(text) = words.get(at).and_then(Word::literal).filter(|text| understood && !text.starts_with('-')) else {
        return Inner::Unknown(at, format!("what `{name}` runs is not known"));
    };
    // Other shells end such quotes elsewhere.
    if name != "bash" && (text.contains("$'") || text.contains("$\"") || text.contains("&>")) {
        return Inner::Unknown(at, format!("what `{name}` makes of `$'` is not known"));
    }
    text_inside(text, at, level)
}

fn text_inside(text: &str, at: usize, level: u8) -> Inner {
    match parse_inside(text, level + 1) {
        Ok(parsed) => Inner::Runs { parsed, at, text: true },
        Err(error) => Inner::Unknown(at, format!("the text inside cannot be understood: {error}")),
    }
}

fn joined(words: &[Word], from: usize, level: u8) -> Inner {
    let texts: Option<Vec<&str>> = words.iter().skip(from).map(Word::literal).collect();
    match texts {
        Some(texts) => text_inside(&texts.join(" "), from, level),
        None => Inner::Unknown(from, "what `eval` runs is not known".to_owned()),
    }
}

fn trap(simple: &Simple, level: u8) -> Inner {
    match simple.words.get(1).map(|word| (word, word.literal())) {
        None | Some((_, Some("" | "-" | "-p" | "-l"))) => Inner::Nothing,
        Some((_, Some(text))) => text_inside(text, 1, level),
        Some((word, None)) => Inner::Unknown(1, format!("what `{word}` becomes is not known")),
    }
}
