//! What the user's words forbid, as rules that deny. By tables of words (English, German, Chinese), never by a model.
//!
//! Only a negation binds: "commit when done" forbids nothing, nor does "do not forget to commit". What cannot be said as a
//! rule ("leave the include rules", "change nothing outside src/") binds nothing, and is left to the model. Where a demand has a
//! condition ("do not commit before the tests pass"), what it forbids is denied until the user lifts it: nothing here knows
//! when the condition is met.

mod clause;
mod object;
mod rules;
#[cfg(test)]
mod tests;
mod things;
mod words;

use clause::{Clause, Token, sentences};
use words::Act;

/// What a demand binds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bound {
    /// Rules in their text form, each once.
    pub denies: Vec<String>,
    /// Whether it holds only under a condition, or for a time.
    pub conditional: bool,
}

/// What these words of the user forbid.
pub fn bind(quote: &str) -> Bound {
    let mut denies: Vec<String> = Vec::new();
    for sentence in sentences(quote) {
        let mut carried = Carried::default();
        for clause in &sentence {
            for rule in forbidden(clause, &mut carried) {
                if !denies.contains(&rule) {
                    denies.push(rule);
                }
            }
        }
    }
    let conditional = !denies.is_empty() && words::any(words::CONDITIONS, quote);
    Bound { denies, conditional }
}

/// What a clause takes over from the one before it, as in "do not commit, push or deploy".
#[derive(Debug, Default)]
struct Carried {
    /// Whether its negation goes on.
    negated: bool,
    /// The acts whose objects are listed: "do not touch a/, b/".
    acts: Vec<Act>,
}

/// The rules of one clause.
fn forbidden(clause: &Clause, carried: &mut Carried) -> Vec<String> {
    if let Some(rules) = kept(clause) {
        *carried = Carried { negated: true, acts: vec![Act::Edit] };
        return rules;
    }
    let acts = match negation(clause) {
        Negation::Of(acts) => {
            carried.negated = true;
            acts
        }
        // What is wanted ends the list of what is not.
        Negation::Inverse => {
            *carried = Carried::default();
            return Vec::new();
        }
        Negation::None if carried.negated && !words::any(words::WANTED, &clause.text) => {
            let first = clause.tokens.iter().position(|token| !words::LINKS.contains(&token.word.as_str()));
            let Some(first) = first else { return Vec::new() };
            match clause.tokens.get(first) {
                Some(token) if object::path(token).is_some() => {
                    return carried.acts.iter().flat_map(|act| object::rules(*act, clause, first)).collect();
                }
                Some(token) if words::act(&token.word).is_some() => acts_from(clause, first, usize::MAX),
                Some(_) if is_chinese(&clause.text) => chinese_acts(&clause.text, true),
                Some(_) | None => Vec::new(),
            }
        }
        Negation::None => Vec::new(),
    };
    if acts.is_empty() {
        carried.negated = false;
    }
    carried.acts = acts.iter().map(|(act, _)| *act).filter(|act| act.has_object()).collect();
    acts.into_iter().flat_map(|(act, at)| object::rules(act, clause, at)).collect()
}

/// A demand to leave something as it is, which needs no negation: "leave src/ alone", "read only", "stay offline".
fn kept(clause: &Clause) -> Option<Vec<String>> {
    let has = |list: &[&str]| clause.tokens.iter().any(|token| list.contains(&token.word.as_str()));
    let paths = object::paths(clause, 0);
    if !paths.is_empty() && (has(things::LEAVE) && has(things::ALONE) || words::any(things::OFF_LIMITS, &clause.text)) {
        return Some(rules::edits(&paths));
    }
    let rest = clause.tokens.iter().filter(|token| !things::READ_ONLY_FRAME.contains(&token.word.as_str()));
    let rest: Vec<&str> = rest.map(|token| token.word.as_str()).collect();
    let read_only = things::READ_ONLY.iter().any(|words| **words == *rest);
    if read_only {
        return Some(rules::edits(&[rules::EVERYTHING.to_owned()]));
    }
    (has(things::STAY) && has(&["offline"])).then(rules::network)
}

/// What a clause says no to.
enum Negation {
    /// These acts, each with the number of its word.
    Of(Vec<(Act, usize)>),
    /// It is no prohibition: "do not forget to commit".
    Inverse,
    /// It has no negation.
    None,
}

fn negation(clause: &Clause) -> Negation {
    let tokens = &clause.tokens;
    let mut found: Option<Vec<(Act, usize)>> = None;
    let mut inverse = false;
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at)).map_or("", |token| token.word.as_str());
        let after = tokens.get(at + 1).map_or("", |token| token.word.as_str());
        let word = token.word.as_str();
        let english = words::NEGATIONS.contains(&word)
            || word == "not" && (words::BEFORE_NOT.contains(&before) || words::AFTER_NOT.contains(&after))
            || word == "no";
        let german = words::GERMAN_NEGATIONS.contains(&word);
        if !english && !german {
            continue;
        }
        let scope = if german { tokens.as_slice() } else { tokens.get(at + 1..).unwrap_or_default() };
        let first_act = scope.iter().position(|token| words::act(&token.word).is_some()).unwrap_or(scope.len());
        let turns = |token: &Token| words::INVERSE.contains(&token.word.as_str());
        if if german { scope.iter().any(turns) } else { scope.iter().take(first_act).any(turns) } {
            inverse = true;
            continue;
        }
        let acts = match (german, word) {
            (true, _) => acts_from(clause, 0, usize::MAX),
            (false, "no") => acts_from(clause, at + 1, 3),
            (false, _) => acts_from(clause, at + 1, usize::MAX),
        };
        let known = found.get_or_insert_default();
        for act in acts {
            if !known.contains(&act) {
                known.push(act);
            }
        }
    }
    match found {
        Some(acts) => return Negation::Of(acts),
        None if inverse => return Negation::Inverse,
        None => {}
    }
    match words::CHINESE_NEGATIONS.iter().find_map(|no| clause.text.split_once(no)) {
        Some((_, rest)) if rest.chars().take(2).any(|c| c == '忘') => Negation::Inverse,
        Some((_, rest)) => Negation::Of(chinese_acts(rest, true)),
        None => Negation::None,
    }
}

/// The acts that words from `from` on name, looking at no more than `most` of them.
fn acts_from(clause: &Clause, from: usize, most: usize) -> Vec<(Act, usize)> {
    let tokens = &clause.tokens;
    let mut acts: Vec<(Act, usize)> = Vec::new();
    for (at, token) in tokens.iter().enumerate().skip(from).take(most) {
        let Some(act) = words::act(&token.word) else { continue };
        let before = at.checked_sub(1).and_then(|at| tokens.get(at)).map_or("", |token| token.word.as_str());
        let after = tokens.get(at + 1).map_or("", |token| token.word.as_str());
        let thing = things::THINGS.contains(&after) && !act.has_object();
        let named = things::ARTICLES.contains(&before) && !matches!(act, Act::Network) && at > from;
        let other = matches!(act, Act::Network)
            && (acts.iter().any(|(act, _)| act.has_object())
                || !(after.is_empty() || things::AFTER_NETWORK.contains(&after)));
        // Only a part of pushing is meant, and that is no rule.
        let part = matches!(act, Act::Push) && tokens.iter().any(|token| things::FORCE.contains(&token.word.as_str()));
        if !(thing || named || other || part) {
            acts.push((act, at));
        }
    }
    acts
}

/// Whether a text has Chinese characters.
fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

/// The acts that a text without blanks between its words names. Their place is the clause's beginning.
fn chinese_acts(text: &str, first: bool) -> Vec<(Act, usize)> {
    let mut acts: Vec<(Act, usize)> = Vec::new();
    let near: String = text.chars().take(16).collect();
    let mut add = |act: Act| {
        if !acts.contains(&(act, 0)) {
            acts.push((act, 0));
        }
    };
    for (word, act) in words::CHINESE {
        let begins = near.trim_start_matches(['再', '去', '做', ' ']).starts_with(word);
        if near.contains(word) && (word.chars().count() > 1 || first && begins) {
            add(*act);
        }
    }
    acts
}
