//! Section 6: what the user said.
//!
//! The session's first message, messages that hold a constraint, and every sentence with standing force stay word for word,
//! whatever they cost. Of the others the oldest shrink to their first line, and when that does not suffice the oldest are
//! only counted. Two bounds keep a pasted file from filling the window for good: a message that stays whole and is
//! larger than the section's share by itself is shown as head and tail with what stands in it, and when the sentences that
//! stand in one message are larger than a quarter of the window, they were pasted, and the first and last are shown.
//! Whatever is not shown is named by its item.

use super::Facts;
use super::budget::Budget;
use super::compose::{defuse, one_line};
use super::standing::standing;
use crate::tokens::{prefix_within, suffix_within, tokens};
use std::collections::HashSet;
use std::fmt::Write as _;

/// Characters of a first line.
const LINE: usize = 120;

/// Tokens of the line that counts what is left out.
const COUNTED: u64 = 30;

/// Images of one message that are named, and characters of such a name.
const IMAGES: usize = 8;
const IMAGE: usize = 120;

/// What the user said, ready to be cut.
pub(super) struct Messages {
    entries: Vec<Entry>,
}

struct Entry {
    item: u64,
    /// It stays as `whole` is.
    kept: bool,
    /// As much of it as is ever shown.
    whole: String,
    /// Its first line and what stands.
    line: String,
    /// What stands; empty when nothing does.
    stands: String,
}

impl Messages {
    pub(super) fn of(facts: &Facts) -> Self {
        let entries = facts.said.iter().enumerate().map(|(at, said)| {
            let holds = facts.constraints.iter().any(|constraint| {
                constraint.item == Some(said.item)
                    || !constraint.quote.trim().is_empty() && said.text.contains(&constraint.quote)
            });
            let while_running = if said.steering { ", while it ran" } else { "" };
            let images = named(&said.images);
            let head = format!("#{} (turn {}{while_running}{images})", said.item, said.turn);
            Entry::of(&head, said.item.0, &said.text, at == 0 || holds, facts.window)
        });
        Self { entries: entries.collect() }
    }

    /// Tokens of what is never cut.
    pub(super) fn least(&self) -> u64 {
        let others = self.entries.iter().any(|entry| !entry.kept && entry.stands.is_empty());
        let sum: u64 = self.entries.iter().map(|entry| tokens(entry.least())).sum();
        sum + if others { COUNTED } else { 0 }
    }

    /// Within so many tokens, unless what is never cut needs more.
    pub(super) fn render(&self, room: u64) -> String {
        let mut shown: Vec<&str> = self.entries.iter().map(|entry| entry.whole.as_str()).collect();
        let mut cost: u64 = shown.iter().map(|text| tokens(text)).sum();
        let mut counted = false;
        for form in [Entry::line, Entry::least] {
            for (entry, shown) in self.entries.iter().zip(&mut shown) {
                if cost <= room {
                    break;
                }
                let shorter = form(entry);
                if shorter.is_empty() && !counted {
                    counted = true;
                    cost = cost.saturating_add(COUNTED);
                }
                cost = cost.saturating_sub(tokens(shown)).saturating_add(tokens(shorter));
                *shown = shorter;
            }
        }
        let gone: Vec<u64> = self.gone(&shown).collect();
        let mut out = String::new();
        for (entry, text) in self.entries.iter().zip(&shown) {
            if text.is_empty() && gone.first() == Some(&entry.item) {
                let last = gone.last().copied().unwrap_or_default();
                let number = gone.len();
                // Writing to a String cannot fail.
                let _ = writeln!(out, "#{}–#{last}: {number} messages left out here, in the transcript.", entry.item);
            }
            out.push_str(text);
        }
        out
    }

    fn gone<'a>(&'a self, shown: &'a [&str]) -> impl Iterator<Item = u64> + 'a {
        let pairs = self.entries.iter().zip(shown);
        pairs.filter(|(_, text)| text.is_empty()).map(|(entry, _)| entry.item)
    }
}

/// What is said of a message's images, which nobody sees there.
fn named(images: &[String]) -> String {
    if images.is_empty() {
        return String::new();
    }
    let mut names: Vec<String> = images.iter().take(IMAGES).map(|name| one_line(name, IMAGE)).collect();
    if images.len() > IMAGES {
        names.push(format!("{} more images", images.len() - IMAGES));
    }
    format!(", with the images {}", names.join("; "))
}

impl Entry {
    fn of(head: &str, item: u64, text: &str, kept: bool, window: u64) -> Self {
        let share = Budget::of(window).said;
        let sentences = Sentences::of(text, item, window);
        let whole = format!("{head}:\n{}\n", defuse(text));
        if kept && tokens(&whole) > share {
            let start = text.get(..prefix_within(text, share / 4)).unwrap_or_default();
            let rest = text.get(start.len()..).unwrap_or_default();
            let end = rest.get(suffix_within(rest, share / 8)..).unwrap_or_default();
            let inner = sentences.beside(&[start, end]);
            let stands = if inner.is_empty() { String::new() } else { format!("What stands in between:\n{inner}") };
            let whole = format!(
                "{head}, head and tail, the whole of {} characters in the transcript:\n{}\n[…]\n{stands}[…]\n{}\n",
                text.chars().count(),
                defuse(start),
                defuse(end)
            );
            return Self { item, kept, whole, line: String::new(), stands: String::new() };
        }
        let mut first = text.trim().lines().next().unwrap_or_default().trim_end();
        let cut = first.char_indices().nth(LINE).map(|(at, _)| at);
        first = first.get(..cut.unwrap_or(first.len())).unwrap_or(first);
        let dots = if first.len() < text.trim().len() { "…" } else { "" };
        let line = format!("{head}, in short: {}{dots}\n{}", defuse(first), sentences.beside(&[first]));
        let line = if tokens(&line) < tokens(&whole) { line } else { whole.clone() };
        let stands = match sentences.beside(&[]) {
            none if none.is_empty() => String::new(),
            some => format!("{head}, in part:\n{some}"),
        };
        let stands = if tokens(&stands) < tokens(&line) { stands } else { line.clone() };
        Self { item, kept, whole, line, stands }
    }

    fn line(&self) -> &str {
        if self.kept { &self.whole } else { &self.line }
    }

    fn least(&self) -> &str {
        if self.kept { &self.whole } else { &self.stands }
    }
}

/// What stands in a message.
struct Sentences<'a> {
    shown: Vec<&'a str>,
    /// Where those that are left out would stand, and what is said of them.
    left_out: Option<(usize, String)>,
}

impl<'a> Sentences<'a> {
    fn of(text: &'a str, item: u64, window: u64) -> Self {
        let mut known = HashSet::new();
        let mut all: Vec<&str> = standing(text).into_iter().filter(|sentence| known.insert(*sentence)).collect();
        let costs: Vec<u64> = all.iter().map(|sentence| tokens(sentence) + 1).collect();
        if costs.iter().sum::<u64>() <= window / 4 {
            return Self { shown: all, left_out: None };
        }
        let within = |costs: &mut dyn Iterator<Item = &u64>| {
            let mut left = window / 16;
            costs.take_while(|cost| left.checked_sub(**cost).map(|rest| left = rest).is_some()).count()
        };
        let first = within(&mut costs.iter());
        let last = within(&mut costs.iter().skip(first).rev());
        let number = all.len().saturating_sub(first + last);
        all.drain(first..first + number);
        Self { shown: all, left_out: Some((first, format!("[{number} more such sentences in #{item}]"))) }
    }

    /// One a line, without those that stand in one of `texts`.
    fn beside(&self, texts: &[&str]) -> String {
        let mut out = String::new();
        for (at, sentence) in self.shown.iter().map(Some).chain([None]).enumerate() {
            if let Some((_, note)) = self.left_out.as_ref().filter(|(place, _)| *place == at) {
                let _ = writeln!(out, "{note}");
            }
            if let Some(sentence) = sentence.filter(|sentence| !texts.iter().any(|text| text.contains(**sentence))) {
                let _ = writeln!(out, "{}", defuse(sentence));
            }
        }
        out
    }
}
