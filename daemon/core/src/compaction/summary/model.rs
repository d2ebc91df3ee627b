//! What a model wrote of a summary, taken from its answer.

use super::Section;
use super::problem::Problem;
use std::collections::BTreeMap;

/// The model's sections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    sections: BTreeMap<Section, String>,
}

impl Model {
    /// What it wrote under that heading; nothing for the host's section.
    pub fn section(&self, section: Section) -> &str {
        self.sections.get(&section).map_or("", String::as_str)
    }

    /// As it would have been answered.
    pub(super) fn to_text(&self) -> String {
        let sections = self.sections.iter().map(|(section, text)| format!("{}\n{text}", section.heading()));
        sections.collect::<Vec<_>>().join("\n\n")
    }

    /// All sections in order.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.sections.values().map(String::as_str)
    }
}

/// Blocks in which models think aloud.
const THOUGHTS: &[&str] = &["think", "thinking", "thought", "analysis", "reasoning", "scratchpad"];

/// Other titles that a heading with the right number may have.
const ALSO: &[(&str, Section)] = &[
    ("primary request", Section::Intent),
    ("key concepts", Section::Concepts),
    ("technical concepts", Section::Concepts),
    ("files and code", Section::Files),
    ("errors", Section::Errors),
    ("problems", Section::Solving),
    ("user messages", Section::Said),
    ("next step", Section::Next),
    ("next steps", Section::Next),
    ("optional next step", Section::Next),
];

/// The sections of an answer. What stands before the first heading is left out, and so is a section that is the host's.
/// Headings are known in any common dress; titles in another language by their numbers, when no heading has its own title.
pub fn parse(answer: &str) -> Result<Model, Vec<Problem>> {
    let answer = without_thoughts(&answer.replace("\r\n", "\n"));
    if answer.trim().is_empty() {
        return Err(vec![Problem::Empty]);
    }
    // A fence that was left open swallows headings: then none counts as a fence.
    let mut best = taken(&answer, heading, true);
    for (recognise, fences) in [(heading as Recognise, false), (numbered as Recognise, true)] {
        if best.is_ok() {
            break;
        }
        let other = taken(&answer, recognise, fences);
        if other.is_ok() || best == Err(vec![Problem::NoSections]) {
            best = other;
        }
    }
    best
}

type Recognise = fn(&str) -> Option<(Section, &str)>;

fn taken(answer: &str, recognise: Recognise, fences: bool) -> Result<Model, Vec<Problem>> {
    let mut found: Vec<(Section, String)> = Vec::new();
    let mut fenced = false;
    for line in answer.lines() {
        let bare = line.trim();
        let is_fence = bare.starts_with("```") || bare.starts_with("~~~");
        if is_fence && (found.is_empty() || !fences) {
            // Around the whole answer.
            if !found.is_empty() {
                push(&mut found, line);
            }
            continue;
        }
        if is_fence {
            fenced = !fenced;
        } else if let Some((section, rest)) = recognise(line).filter(|_| !fenced) {
            found.push((section, rest.to_owned()));
            continue;
        }
        if !matches!(bare.to_lowercase().as_str(), "<summary>" | "</summary>") {
            push(&mut found, line);
        }
    }
    if found.is_empty() {
        return Err(vec![Problem::NoSections]);
    }
    let mut problems: Vec<Problem> = Vec::new();
    let mut sections: BTreeMap<Section, String> = BTreeMap::new();
    let mut last = None;
    for (section, text) in found {
        if last.is_some_and(|last| section <= last) {
            problems.push(Problem::Order(section));
        }
        last = last.max(Some(section));
        let text = balanced(text.trim());
        if section != Section::Said && !text.is_empty() {
            sections.entry(section).or_insert(text);
        }
    }
    let missing: Vec<Section> = Section::models().filter(|section| !sections.contains_key(section)).collect();
    if !missing.is_empty() {
        problems.insert(0, Problem::Missing(missing));
    }
    if problems.is_empty() { Ok(Model { sections }) } else { Err(problems) }
}

fn push(found: &mut [(Section, String)], line: &str) {
    if let Some((_, text)) = found.last_mut() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line);
    }
}

/// A section without a fence that stands alone at its end: it closed one around the whole answer. One that is open is closed.
fn balanced(text: &str) -> String {
    let fences = text.lines().filter(|line| line.trim_start().starts_with("```")).count();
    if fences % 2 == 0 {
        return text.to_owned();
    }
    match text.strip_suffix("```") {
        Some(rest) if rest.is_empty() || rest.ends_with('\n') => rest.trim_end().to_owned(),
        Some(_) | None => format!("{text}\n```"),
    }
}

/// The section that a line is the heading of, with what stands behind it on that line.
pub(super) fn heading(line: &str) -> Option<(Section, &str)> {
    let (marked, number, rest) = undressed(line);
    let mut words = rest.to_lowercase().replace(" & ", " and ");
    words.retain(|c| c != ',');
    let named = Section::ALL.into_iter().map(|section| (section.title().to_lowercase(), section));
    let also = ALSO.iter().map(|(title, section)| ((*title).to_owned(), *section));
    for (title, section) in named.chain(also) {
        let Some(behind) = words.strip_prefix(&title) else { continue };
        let behind = behind.trim_start_matches(['*', '_', '#', ' ']);
        let plain = behind.is_empty() || behind.starts_with([':', '：']);
        let exact = title == section.title().to_lowercase();
        if number.is_some_and(|number| number != section.number()) || !plain {
            continue;
        }
        // A line of text, or a heading within a section, may happen to consist of such words.
        if number.is_some() || exact && (marked || behind.is_empty()) {
            let text = rest.split_once([':', '：']).map_or("", |(_, text)| text);
            return Some((section, text.trim_start_matches(['*', '_', ' ']).trim_end()));
        }
    }
    None
}

/// The section that a heading of Markdown has the number of.
fn numbered(line: &str) -> Option<(Section, &str)> {
    let (_, number, _) = undressed(line);
    let level = line.trim_start().bytes().take_while(|byte| *byte == b'#').count();
    let number = number.filter(|_| (1..=2).contains(&level))?;
    Section::ALL.into_iter().find(|section| section.number() == number).map(|section| (section, ""))
}

/// A line without the marks of a heading: whether it had any, its number, and the rest.
fn undressed(line: &str) -> (bool, Option<u8>, &str) {
    let line = line.trim();
    let bare = line.trim_start_matches(['#', '*', '_', '>', ' ']);
    let marked = bare.len() < line.len();
    let after = bare.strip_prefix("Section ").or_else(|| bare.strip_prefix("section ")).unwrap_or(bare);
    let digit = after.bytes().next().filter(u8::is_ascii_digit).map(|byte| byte - b'0');
    let rest = after.get(1..).unwrap_or_default();
    match digit.filter(|_| rest.starts_with(['.', ')', ':', ' ', '、', '．'])) {
        Some(number) => {
            let rest = rest.trim_start_matches(['.', ')', ':', ' ', '、', '．', '*', '_', '-', '—']);
            (marked, Some(number), rest)
        }
        None => (marked, None, bare),
    }
}

/// Without blocks in which the model thinks. One that is not closed ends with the answer's first heading, since nothing but
/// the tag is taken away.
fn without_thoughts(answer: &str) -> String {
    let mut text = answer.to_owned();
    for name in THOUGHTS {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        // Letters of ASCII only change, so that places stay the same.
        while let Some(end) = text.to_ascii_lowercase().find(&close) {
            let lower = text.to_ascii_lowercase();
            let start = lower.get(..end).and_then(|before| before.find(&open)).unwrap_or(0);
            text.replace_range(start..end + close.len(), "");
        }
        while let Some(start) = text.to_ascii_lowercase().find(&open) {
            text.replace_range(start..start + open.len(), "");
        }
    }
    text
}
