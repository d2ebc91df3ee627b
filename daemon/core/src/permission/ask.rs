//! What a person is asked, and what the answers offer.

use super::command::program::quiet_variable;
use super::command::{Redirection, RedirectionKind, Simple, readonly};
use super::coverage::Part;
use super::leave::Leave;
use super::policy::Decision;
use super::rule::{Commands, Matcher};
use crate::event::{AskChoice, AskOption};

/// Longest text of a rule inside a label, in characters. The option's rules hold all of it.
const LABEL: usize = 120;

/// Most parts of a command that a reason names.
const NAMED: usize = 4;

/// A question whose lasting answers store these rules; without rules, none are offered.
pub fn question(reason: String, rules: &[Matcher], leave: Leave) -> Decision {
    let option = |kind, label: String, rules: &[String]| AskOption { kind, label, rules: rules.to_vec() };
    let mut options = vec![option(AskChoice::AllowOnce, "Allow once".to_owned(), &[])];
    if !rules.is_empty() {
        let texts: Vec<String> = rules.iter().map(ToString::to_string).collect();
        let what = rules.iter().map(describe).collect::<Vec<_>>().join(", ");
        options.push(option(AskChoice::AllowSession, format!("Allow {what} for this session"), &texts));
        options.push(option(AskChoice::AllowAlways, format!("Always allow {what} in this project"), &texts));
    }
    options.push(option(AskChoice::Reject, "Reject".to_owned(), &[]));
    Decision::Ask { reason, options, leave }
}

fn describe(rule: &Matcher) -> String {
    match (&rule.pattern, rule.commands()) {
        (Some(_), Ok(Commands::Text(text))) => format!("exactly the text `{}`", short(&text)),
        (Some(pattern), Ok(Commands::Words { .. })) if rule.tool == super::rule::COMMAND => {
            format!("`{}`", short(pattern))
        }
        _ => format!("`{}`", short(&rule.to_string())),
    }
}

fn short(text: &str) -> String {
    let mut chars = text.chars();
    let mut out: String = chars.by_ref().take(LABEL).map(|c| if c == '\n' { '\u{23ce}' } else { c }).collect();
    if chars.next().is_some() {
        out.push('\u{2026}');
    }
    out
}

/// Says which parts of a command need an answer, and which do not.
pub fn reason(parts: &[Part]) -> String {
    let name = |part: &Part| format!("`{}`", short(&part.simple.to_string()));
    let open: Vec<&Part> = parts.iter().filter(|part| part.standing.is_err()).collect();
    let mut clauses: Vec<String> = open
        .iter()
        .take(NAMED)
        .map(|part| match &part.standing {
            Err(why) if why != NOT_YET && why != readonly::NOT_KNOWN => {
                format!("{} is not allowed yet ({why})", name(part))
            }
            _ => format!("{} is not allowed yet", name(part)),
        })
        .collect();
    if let Some(more) = open.len().checked_sub(NAMED).filter(|more| *more > 0) {
        clauses.push(format!("neither are {more} more"));
    }
    let free: Vec<String> = parts.iter().filter(|part| part.standing.is_ok()).take(NAMED).map(name).collect();
    match free.as_slice() {
        [] => {}
        [one] => clauses.push(format!("{one} is")),
        several => clauses.push(format!("{} are", several.join(", "))),
    }
    clauses.join("; ")
}

/// The clause for a command that nothing is known about.
pub const NOT_YET: &str = "it is not allowed yet";

/// The rules that would cover what is not covered yet: the words of each such part, or, where words do not say all of it,
/// the exact text of the whole command.
pub fn rules(command: &str, parts: &[Part]) -> Vec<Matcher> {
    let open = parts.iter().filter(|part| part.standing.is_err());
    let words: Option<Vec<Matcher>> = open.map(|part| in_words(&part.simple)).collect();
    match words {
        Some(words) if !words.is_empty() => words,
        _ => vec![Matcher::text(command)],
    }
}

/// The rule for the words of a simple command, when they say all that it does.
fn in_words(simple: &Simple) -> Option<Matcher> {
    let words: Vec<&str> = simple.words.iter().map(super::command::Word::literal).collect::<Option<_>>()?;
    let harmless = |redirection: &Redirection| {
        redirection.kind == RedirectionKind::Descriptor || redirection.target.literal() == Some("/dev/null")
    };
    // What a program is fed is not in its words; programs that only look do the same with any of it.
    let plain = simple.assignments.iter().all(|set| quiet_variable(&set.name, set.value.literal()))
        && simple.redirections.iter().all(harmless)
        && (!simple.fed || readonly::check(simple).is_ok());
    let rule = Matcher::words(&words);
    let same = matches!(rule.commands(), Ok(Commands::Words { words: read, more: false }) if read == words);
    (plain && same && !words.is_empty()).then_some(rule)
}
