//! Whether a command is covered: by rules, or because it is known to only look.
//!
//! A command is covered when every simple command in it is. What a rule says is compared with words, never with text.

use super::ask::NOT_YET;
use super::command::danger::{dangers, is_fed};
use super::command::program::{local_variable, quiet_variable};
use super::command::word::{Value, Word};
use super::command::wrapper::{Inner, inner};
use super::command::{Parsed, Redirection, RedirectionKind, Simple, readonly};
use super::rule::Commands;

/// How many programs that run programs are looked through.
const MAX_LEVEL: u8 = 12;

/// What coverage is judged with.
#[derive(Debug, Clone)]
pub struct Terms<'a> {
    /// Patterns of the rules that allow.
    pub allowed: &'a [Commands],
    /// Whether commands that only look, and only inside, are free.
    pub looking: bool,
    /// Whether files inside may be written by redirection.
    pub writing: bool,
}

/// By what a simple command is covered. The order is that of what it lets the command do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// It only looks.
    Looking,
    /// It writes files inside, which is free.
    Writing,
    /// A rule allows it.
    Rule,
}

/// One simple command, judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// As it was written.
    pub simple: Simple,
    /// By what it is covered, or why it is not, as a clause for people.
    pub standing: Result<By, String>,
}

/// Judges every simple command.
pub fn judge(parsed: &Parsed, terms: &Terms<'_>) -> Vec<Part> {
    let mut seen: Vec<Part> = Vec::new();
    for simple in &parsed.commands {
        if !seen.iter().any(|part| part.simple == *simple) {
            let standing = cover(simple, &parsed.redefined, terms, 0);
            seen.push(Part { simple: simple.clone(), standing });
        }
    }
    seen
}

/// By what all parts together are covered.
pub fn all(parts: &[Part]) -> Option<By> {
    parts.iter().try_fold(By::Looking, |by, part| part.standing.as_ref().ok().map(|part| by.max(*part)))
}

fn cover(simple: &Simple, redefined: &[String], terms: &Terms<'_>, level: u8) -> Result<By, String> {
    let mut by = By::Looking;
    if level > MAX_LEVEL {
        return Err("it is wrapped too often".to_owned());
    }
    if let Some(name) = simple.name().filter(|name| redefined.iter().any(|other| other == name)) {
        return Err(format!("`{name}` is given another meaning in this command"));
    }
    for set in &simple.assignments {
        let quiet = quiet_variable(&set.name, set.value.literal());
        if !(quiet || simple.words.is_empty() && local_variable(&set.name)) {
            return Err(format!("it sets `{}`, which may change what programs do", set.name));
        }
    }
    for redirection in &simple.redirections {
        by = by.max(redirected(redirection, terms)?);
    }
    if simple.words.is_empty() {
        return Ok(by);
    }
    words(simple, redefined, terms, level).map(|words| by.max(words))
}

fn redirected(redirection: &Redirection, terms: &Terms<'_>) -> Result<By, String> {
    let target = &redirection.target;
    match redirection.kind {
        RedirectionKind::Descriptor | RedirectionKind::Text => Ok(By::Looking),
        _ if target.literal() == Some("/dev/null") => Ok(By::Looking),
        RedirectionKind::Read if terms.looking => {
            readonly::inside(target).map(|()| By::Looking).map_err(|why| format!("it reads a file, and {why}"))
        }
        RedirectionKind::Read => match &target.value {
            Value::Literal(_) if readonly::inside(target).is_ok() => Ok(By::Looking),
            _ => Err(format!("it reads `{target}`")),
        },
        RedirectionKind::Write if terms.writing && target.literal().is_some() => {
            readonly::inside(target).map(|()| By::Writing).map_err(|why| format!("it writes a file, and {why}"))
        }
        RedirectionKind::Write => Err(format!("it writes `{target}`")),
    }
}

fn words(simple: &Simple, redefined: &[String], terms: &Terms<'_>, level: u8) -> Result<By, String> {
    let mut why = None;
    for rule in terms.allowed {
        let (words, more) = match rule {
            Commands::All => return Ok(By::Rule),
            Commands::Text(_) => continue,
            Commands::Words { words, more } => (words, *more),
        };
        if !begins(&simple.words, words) || !more && simple.words.len() != words.len() {
            continue;
        }
        match beyond(simple, words.len(), redefined, terms, level) {
            Ok(()) => return Ok(By::Rule),
            Err(clause) => why = Some(clause),
        }
    }
    if let Some(why) = why {
        return Err(why);
    }
    match inner(simple, level) {
        Inner::Unknown(_, why) => Err(why),
        Inner::Runs { parsed, at, .. } => {
            let within = covers_all(&parsed, redefined, terms, level)?;
            if simple.name() == Some("find") {
                let head = Simple { words: without_actions(&simple.words, at), ..Simple::default() };
                return cover(&head, redefined, terms, level + 1).map(|by| by.max(within));
            }
            // Only the plain name is known to be that program.
            let plain = simple.name().is_some_and(|name| !name.contains('/'));
            if plain { Ok(within) } else { Err(NOT_YET.to_owned()) }
        }
        Inner::Nothing | Inner::Perhaps(_) if terms.looking => match readonly::check(simple) {
            Ok(()) => Ok(By::Looking),
            Err(why) => Err(why),
        },
        Inner::Nothing | Inner::Perhaps(_) => Err(NOT_YET.to_owned()),
    }
}

/// Whether what stands behind the first `len` words, which a rule names, leaves the command what the rule says.
fn beyond(simple: &Simple, len: usize, redefined: &[String], terms: &Terms<'_>, level: u8) -> Result<(), String> {
    if level > MAX_LEVEL {
        return Err("it is wrapped too often".to_owned());
    }
    if let Some(danger) = dangers(simple).into_iter().find(|danger| danger.at >= len) {
        return Err(danger.why);
    }
    match inner(simple, level) {
        Inner::Nothing | Inner::Perhaps(_) => Ok(()),
        Inner::Unknown(at, why) => {
            if at < len {
                Ok(())
            } else {
                Err(why)
            }
        }
        Inner::Runs { parsed, at, text } => match parsed.commands.as_slice() {
            _ if at < len && text => Ok(()),
            [only] if at < len => beyond(only, len - at, redefined, terms, level + 1),
            _ => covers_all(&parsed, redefined, terms, level).map(drop),
        },
    }
}

/// The words of `find` without those of the commands that it runs.
fn without_actions(words: &[Word], first: usize) -> Vec<Word> {
    let mut kept = words.get(..first.saturating_sub(1)).unwrap_or_default().to_vec();
    let mut inside = true;
    for word in words.iter().skip(first) {
        let text = word.literal();
        match inside {
            true => inside = !matches!(text, Some(";" | "+")),
            false if matches!(text, Some("-exec" | "-execdir" | "-ok" | "-okdir")) => inside = true,
            false => kept.push(word.clone()),
        }
    }
    kept
}

fn covers_all(parsed: &Parsed, redefined: &[String], terms: &Terms<'_>, level: u8) -> Result<By, String> {
    let mut names = parsed.redefined.clone();
    names.extend_from_slice(redefined);
    parsed.commands.iter().try_fold(By::Looking, |by, simple| match cover(simple, &names, terms, level + 1) {
        Ok(part) => Ok(by.max(part)),
        Err(why) => Err(format!("inside it, `{simple}`: {why}")),
    })
}

fn begins(words: &[Word], rule: &[String]) -> bool {
    words.len() >= rule.len() && words.iter().zip(rule).all(|(word, rule)| word.literal() == Some(rule))
}

/// Whether a rule that asks or denies is about something in a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hit {
    /// Nothing in it.
    No,
    /// It cannot be seen.
    Maybe,
    /// It is.
    Yes,
}

/// Whether a rule is about any simple command, also about those that others would run.
pub fn hits(rule: &Commands, parsed: &Parsed) -> Hit {
    let Commands::Words { words, .. } = rule else { return Hit::No };
    any_hit(words, parsed, 0)
}

fn any_hit(rule: &[String], parsed: &Parsed, level: u8) -> Hit {
    parsed.commands.iter().map(|simple| hit(rule, simple, level)).max().unwrap_or(Hit::No)
}

fn hit(rule: &[String], simple: &Simple, level: u8) -> Hit {
    if level > MAX_LEVEL {
        return Hit::Maybe;
    }
    // An alias that the command itself gives to git can be any of its sub-commands.
    let alias = rule.first().is_some_and(|first| first == "git")
        && simple.name().is_some_and(|name| name == "git" || name.ends_with("/git"))
        && simple.words.iter().any(|word| word.source.to_ascii_lowercase().contains("alias."));
    let own = leads(rule, &simple.words).max(if alias { Hit::Maybe } else { Hit::No });
    let fed = simple.fed && simple.name().is_some_and(is_fed);
    let within = match inner(simple, level) {
        Inner::Nothing if fed => Hit::Maybe,
        Inner::Nothing => Hit::No,
        Inner::Unknown(..) => Hit::Maybe,
        Inner::Runs { parsed, .. } => any_hit(rule, &parsed, level + 1),
        Inner::Perhaps(commands) => commands.iter().map(|inner| hit_words(rule, inner)).max().unwrap_or(Hit::No),
    };
    own.max(within)
}

/// As [`hit`], of words that may begin with anything: only what is certain counts.
fn hit_words(rule: &[String], simple: &Simple) -> Hit {
    match leads(rule, &simple.words) {
        Hit::Yes => Hit::Yes,
        Hit::Maybe | Hit::No => Hit::No,
    }
}

/// Whether a command begins with the words of a rule; options between them are passed over, with a value each.
fn leads(rule: &[String], words: &[Word]) -> Hit {
    let mut maybe = false;
    let mut reached = vec![false; words.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    for (number, wanted) in rule.iter().enumerate() {
        let mut next = vec![false; words.len() + 1];
        let mut carried = reached.clone();
        carried.resize(words.len() + 3, false);
        for (at, word) in words.iter().enumerate() {
            if !carried.get(at).copied().unwrap_or_default() {
                continue;
            }
            let set = |list: &mut Vec<bool>, at: usize| {
                if let Some(slot) = list.get_mut(at) {
                    *slot = true;
                }
            };
            let Some(text) = word.literal() else {
                let lead = word.lead();
                let option = number > 0 && lead.starts_with('-');
                maybe |= wanted.starts_with(lead) || option || number == 0 && lead.contains('/');
                continue;
            };
            let name = if number == 0 { text.rsplit('/').next().unwrap_or(text) } else { text };
            if name == wanted || text == wanted {
                set(&mut next, at + 1);
            }
            if number > 0 && text.len() > 1 && text.starts_with(['-', '+']) {
                set(&mut carried, at + 1);
                if !text.contains('=') {
                    set(&mut carried, at + 2);
                }
            }
        }
        reached = next;
    }
    match (reached.contains(&true), maybe) {
        (true, _) => Hit::Yes,
        (false, true) => Hit::Maybe,
        (false, false) => Hit::No,
    }
}
