//! `offline/retrieval`: what answers when no language model is configured.
//!
//! It is a model in form only: it takes a Chat Completions body and gives the events that a stream would have given,
//! with real tool calls, so that everything but the prose works on a machine without a key. One search, two reads, an
//! answer that quotes with places. It is not a code index and shall not grow into one. Called by `provider` in place of
//! HTTP.

mod answer;
mod conversation;
mod hits;
mod keywords;
mod rank;
mod words;

use super::event::{BlockContent, ModelEvent, StopReason};
use super::usage::Usage;
use conversation::{Call, Conversation};
use hits::FileHits;
use serde_json::{Value, json};

/// Most files that the search may show; enough to rank them.
const SEARCH_FILES: u64 = 400;

/// Files that are read.
const READS: usize = 2;

/// Lines of a read. An asked range is shown up to a limit of its own, which is larger than that of a whole file: most
/// sources come complete.
const READ_LINES: u64 = 1_000;

/// About how many bytes one text delta has.
const DELTA_BYTES: usize = 96;

/// Bytes per token, for the usage that is reported.
const BYTES_PER_TOKEN: usize = 4;

/// The whole response to a request body, as the events of a stream: ends with usage and `Finished`. The same body gives
/// the same events. Never fails: a body that is no request gets an answer that says so.
pub fn respond(body: &[u8]) -> Vec<ModelEvent> {
    let reply = match Conversation::parse(body) {
        Ok(conversation) => reply(&conversation),
        Err(problem) => Reply::Text(answer::unreadable(&problem)),
    };
    events(reply, body.len())
}

/// What the model says in one step.
enum Reply {
    Text(String),
    Calls(Vec<(&'static str, Value)>),
}

fn reply(conversation: &Conversation) -> Reply {
    let keywords = keywords::of(&conversation.query);
    if keywords.is_empty() {
        return Reply::Text(answer::no_keywords());
    }
    if !conversation.offers("grep") {
        return Reply::Text(answer::no_tools());
    }
    let reads: Vec<&Call> = conversation.calls.iter().filter(|call| call.name == "read_file").collect();
    let searches: Vec<&Call> = conversation.calls.iter().filter(|call| call.name == "grep").collect();
    let Some(search) = searches.last() else {
        return Reply::Calls(vec![grep(&keywords::narrow(&keywords))]);
    };
    let files = rank::order(hits::counts(&search.result), &keywords);
    if !reads.is_empty() {
        return Reply::Text(answer::quoted(&keywords, &files, &reads));
    }
    if files.is_empty() {
        let wide = keywords::wide(&keywords);
        // A narrow search wants two keywords on one line; only when that gave nothing, one of them is enough.
        return if searches.len() == 1 && wide != keywords::narrow(&keywords) {
            Reply::Calls(vec![grep(&wide)])
        } else {
            Reply::Text(answer::nothing_found(&keywords, &search.result))
        };
    }
    if !conversation.offers("read_file") {
        return Reply::Text(answer::quoted(&keywords, &files, &[]));
    }
    Reply::Calls(files.iter().take(READS).map(read).collect())
}

/// Counts per file: the lines themselves would fill the first page with the first few files, and the best one may be the
/// last.
fn grep(pattern: &str) -> (&'static str, Value) {
    let arguments = json!({
        "pattern": pattern, "output_mode": "count", "case_insensitive": true, "head_limit": SEARCH_FILES,
    });
    ("grep", arguments)
}

fn read(file: &FileHits) -> (&'static str, Value) {
    ("read_file", json!({"target_file": file.path, "offset": 1, "limit": READ_LINES}))
}

fn events(reply: Reply, sent: usize) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    let mut written = 0;
    let stop = match reply {
        Reply::Text(text) => {
            written += text.len();
            events.extend(pieces(&text).map(|piece| ModelEvent::TextDelta { block: 0, text: piece.to_owned() }));
            events.push(ModelEvent::BlockDone { block: 0, content: BlockContent::Text(text) });
            StopReason::EndTurn
        }
        Reply::Calls(calls) => {
            for (block, (name, arguments)) in (0..).zip(calls) {
                let arguments = arguments.to_string();
                written += name.len() + arguments.len();
                events.push(ModelEvent::CallStarted { block, name: name.to_owned() });
                let content = BlockContent::Call { provider_id: None, name: name.to_owned(), arguments };
                events.push(ModelEvent::BlockDone { block, content });
            }
            StopReason::ToolCalls
        }
    };
    let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
    events.push(ModelEvent::Usage(Usage { input: tokens(sent), output: tokens(written), ..Usage::default() }));
    events.push(ModelEvent::Finished(stop));
    events
}

/// `text` in pieces of about [`DELTA_BYTES`], cut after blanks and line ends.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .map(|(at, c)| (at + c.len_utf8(), c))
            .find(|(end, c)| *end >= DELTA_BYTES && c.is_whitespace())
            .map_or(rest.len(), |(end, _)| end);
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests;
