//! What an act is about: paths, the tests, everything, or something that no rule can say.

use super::clause::{Clause, Token};
use super::words::{self, Act};
use super::{rules, things};
use crate::permission::glob;

/// Most paths of one clause.
const PATHS: usize = 10;

/// The rules that deny an act of a clause; `at` is the number of its word.
pub fn rules(act: Act, clause: &Clause, at: usize) -> Vec<String> {
    match act {
        Act::Commit => rules::commands(rules::COMMIT),
        Act::Push => rules::commands(rules::PUSH),
        Act::Request => rules::commands(rules::REQUEST),
        Act::Merge => rules::commands(rules::MERGE),
        Act::Rebase => rules::commands(rules::REBASE),
        Act::Deploy => rules::commands(rules::DEPLOY),
        Act::Install => rules::commands(rules::INSTALL),
        Act::Network => rules::network(),
        Act::Edit => rules::edits(&globs(clause, at)),
        Act::Delete => rules::deletions(&globs(clause, at)),
    }
}

/// The files that an act is about, as globs; none when no rule can say which.
fn globs(clause: &Clause, at: usize) -> Vec<String> {
    if words::any(things::EXCEPT, &clause.text) {
        return Vec::new();
    }
    // In German and Chinese the object stands before the verb as well as after it.
    let before = clause.tokens.iter().any(|token| words::GERMAN_NEGATIONS.contains(&token.word.as_str())) || at == 0;
    let found = paths(clause, if before { 0 } else { at });
    if !found.is_empty() {
        return found;
    }
    let after = clause.tokens.get(at + 1..).unwrap_or_default();
    let rest = if before { clause.tokens.as_slice() } else { after };
    if about(rest, things::TESTS) || things::CHINESE_TESTS.iter().any(|word| clause.text.contains(word)) {
        return rules::TESTS.iter().map(|glob| (*glob).to_owned()).collect();
    }
    let nothing =
        after.iter().all(|token| things::FILLERS.contains(&token.word.as_str())) && !super::is_chinese(&clause.text);
    let chinese = things::CHINESE_ALL.iter().any(|word| clause.text.contains(word));
    if nothing || chinese || about(rest, things::ALL) { vec![rules::EVERYTHING.to_owned()] } else { Vec::new() }
}

/// Whether one of these words is what is spoken of, and not the beginning of something else, as in "test command".
fn about(tokens: &[Token], list: &[&str]) -> bool {
    tokens.iter().enumerate().any(|(at, token)| {
        let after = tokens.get(at + 1).map_or("", |token| token.word.as_str());
        let before = at.checked_sub(1).and_then(|at| tokens.get(at)).map_or("", |token| token.word.as_str());
        let plain = before.is_empty()
            || [things::FILLERS, things::ARTICLES, things::OF_OBJECT, words::GERMAN_NEGATIONS, list]
                .iter()
                .any(|list| list.contains(&before))
            || words::act(before).is_some_and(Act::has_object);
        plain
            && list.contains(&token.word.as_str())
            && (after.is_empty()
                || things::FILLERS.contains(&after)
                || things::AFTER_OBJECT.contains(&after)
                || list.contains(&after))
    })
}

/// The paths that words from `from` on name, as globs.
pub fn paths(clause: &Clause, from: usize) -> Vec<String> {
    let named = clause.tokens.iter().skip(from).filter_map(path);
    named.take(PATHS).flatten().collect()
}

/// The globs of a word that is a path; none where it is none.
pub fn path(token: &Token) -> Option<Vec<String>> {
    let ascii = token.source.split(|c: char| ('\u{3000}'..='\u{ffef}').contains(&c)).find(|part| is_path(part, token));
    let text = ascii?.trim_start_matches("./");
    if text.is_empty() || text.starts_with('~') || glob::problem(text).is_some() {
        return None;
    }
    let folder = text.strip_suffix('/').unwrap_or(text);
    let anywhere = !text.contains('/') && !text.starts_with('*');
    let glob = if anywhere { format!("**/{folder}") } else { folder.to_owned() };
    Some(match (text.ends_with('/'), text.ends_with('*')) {
        (_, true) => vec![glob],
        (true, _) => vec![format!("{glob}/**")],
        (false, false) => vec![glob.clone(), format!("{glob}/**")],
    })
}

fn is_path(text: &str, token: &Token) -> bool {
    if text.is_empty() || text.contains("://") || things::NO_PATHS.contains(&token.word.as_str()) {
        return false;
    }
    let sane = text.chars().all(|c| c.is_alphanumeric() || "/._-*@+~".contains(c));
    let extension = text.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=8).contains(&extension.len())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
            && extension.chars().any(|c| c.is_ascii_alphabetic())
            && stem.chars().last().is_some_and(|c| c != '.')
            && (stem.len() > 1 || extension.len() > 1)
    });
    let hidden = text.starts_with('.') && text.len() > 2 && text.chars().nth(1).is_some_and(char::is_alphabetic);
    sane && text.chars().any(char::is_alphanumeric)
        && (text.contains('/')
            || extension
            || hidden
            || things::FILES.contains(&text)
            || token.quoted && text.contains(['.', '_', '-']))
}
