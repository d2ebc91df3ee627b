//! The texts that the offline model answers with. They are for people; no model reads them.

use super::conversation::Call;
use super::hits::{self, FileHits, Line};
use super::keywords::Keyword;
use super::rank;
use std::fmt::Write as _;

/// Most characters of a quoted line.
const LINE_CHARS: usize = 1_000;

/// Most further files that are named.
const FURTHER: usize = 6;

/// Most characters of a tool's own words in an answer.
const TOOL_WORDS: usize = 300;

const NO_MODEL: &str =
    "No language model is configured; this is a retrieval answer: passages found by keywords, not understood.";

const HOW_TO_SET: &str =
    "For real answers set `model = \"<provider>/<model>\"` in Plimsoll's `config.toml`; the README shows how.";

/// The request could not be read.
pub fn unreadable(problem: &str) -> String {
    format!("The offline model could not read the request: {problem}.")
}

/// The user said nothing that could be searched for.
pub fn no_keywords() -> String {
    format!(
        "No language model is configured, so all I can do is to search this project by keywords. Ask about something in \
         it, such as \"Where is the configuration read?\"\n\n{HOW_TO_SET}"
    )
}

/// The request offers no search.
pub fn no_tools() -> String {
    format!("{NO_MODEL} Here I may not search, so there is nothing to quote.\n\n{HOW_TO_SET}")
}

/// The search gave no file.
pub fn nothing_found(keywords: &[Keyword], result: &str) -> String {
    let searched = names(keywords);
    let said: String = result.trim().chars().take(TOOL_WORDS).collect();
    let mut text = format!("{NO_MODEL}\n\nI searched this project for {searched} and found nothing to quote.");
    if !said.is_empty() {
        let fence = fence(&said);
        let _ = write!(text, " The search said:\n\n{fence}text\n{said}\n{fence}");
    }
    format!("{text}\n\nOther words, as they stand in the code, may find more.\n\n{HOW_TO_SET}")
}

/// The best passages of what was read, with their places, and the names of further files.
pub fn quoted(keywords: &[Keyword], files: &[FileHits], reads: &[&Call]) -> String {
    let mut text = format!("{NO_MODEL} I searched for {}.\n", names(keywords));
    let mut shown = Vec::new();
    for read in reads {
        let path = read.arguments.get("target_file").and_then(serde_json::Value::as_str).unwrap_or("the file");
        shown.push(path);
        let lines = hits::lines(&read.result);
        let quote = lines.get(rank::passage(&lines, keywords)).unwrap_or_default();
        match quote {
            [] => {
                let said: String = read.result.lines().take(2).collect::<Vec<_>>().join(" ");
                let said: String = said.chars().take(TOOL_WORDS).collect();
                let _ = write!(text, "\n`{path}` could not be quoted: {said}\n");
            }
            [first, ..] => {
                let last = quote.last().unwrap_or(first).no;
                let place = if first.no == last { format!("{last}") } else { format!("{}-{last}", first.no) };
                let quote: String = quote.iter().map(line).collect();
                let fence = fence(&quote);
                let language =
                    path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map_or("", |(_, end)| end);
                let _ = write!(text, "\n`{path}:{place}`\n\n{fence}{language}\n{quote}{fence}\n");
            }
        }
    }
    let further: Vec<String> = files
        .iter()
        .filter(|file| !shown.contains(&file.path.as_str()))
        .take(FURTHER)
        .map(|file| format!("`{}` ({})", file.path, file.count))
        .collect();
    if !further.is_empty() {
        let _ = write!(text, "\nMatching lines are also in {}.\n", further.join(", "));
    }
    format!("{text}\n{HOW_TO_SET}")
}

fn line(line: &Line<'_>) -> String {
    let mut text: String = line.text.chars().take(LINE_CHARS).collect();
    if text.len() < line.text.len() {
        text.push('\u{2026}');
    }
    text.push('\n');
    text
}

fn names(keywords: &[Keyword]) -> String {
    keywords.iter().map(|keyword| format!("`{}`", keyword.word)).collect::<Vec<_>>().join(", ")
}

/// A fence that no run of backticks in `text` can close.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}
