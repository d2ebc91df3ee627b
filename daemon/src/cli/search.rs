//! `plimsoll search`: words in what was said and done, grouped by session.

use super::connect::{self, CommandError};
use super::permissions::project_of;
use super::reach::Spawn;
use super::sessions::project_folder;
use super::{args, out};
use crate::rpc::client::RpcClient;
use plimsoll_protocol::transcript::{Hit, SearchResult, TranscriptApiClient};
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Hits in one answer: the most that the protocol gives.
const PAGE: u32 = 200;
/// When a search that goes on says so.
const PATIENCE: Duration = Duration::from_secs(1);
/// The exit code after Ctrl-C, as shells give it.
const INTERRUPTED: u8 = 130;

/// Runs the command.
pub fn main(arguments: &args::Search) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        // Whoever asks for a piece no more ends the search: the daemon does nothing between two of them.
        tokio::select! {
            found = run(&client, arguments) => found,
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                Ok(ExitCode::from(INTERRUPTED))
            }
        }
    })
}

async fn run(client: &RpcClient, arguments: &args::Search) -> Result<ExitCode, CommandError> {
    let project = match (&arguments.session, arguments.all) {
        (None, false) => {
            let folder = project_folder(arguments.project.as_deref())?;
            let project = project_of(client, &folder).await?;
            Some(project.ok_or_else(|| CommandError::Argument {
                message: format!("{} is in no project", folder.display()),
                hint: "`--all` searches the sessions of all projects".to_owned(),
            })?)
        }
        (Some(_), _) | (None, true) => None,
    };
    let (query, kinds) = (arguments.words.join(" "), arguments.kind.clone());
    let mut left = arguments.limit;
    let mut shown = Shown::default();
    let mut cursor = None;
    let mut progress = Progress::begin();
    while left > 0 {
        let page = client
            .search(
                query.clone(),
                arguments.session.clone(),
                project.as_ref().map(|project| project.key.clone()),
                (!kinds.is_empty()).then(|| kinds.clone()),
                cursor.take(),
                Some(left.min(PAGE)),
            )
            .await?;
        progress.clear();
        for skipped in &page.skipped {
            let reason = out::harmless(&skipped.reason, false);
            out::note(&format!("project {} could not be searched: {reason}", out::harmless(&skipped.project, false)));
        }
        show(&page, arguments.json, &mut shown)?;
        left = left.saturating_sub(u32::try_from(page.hits.len()).unwrap_or(u32::MAX));
        progress.step(page.searched, shown.hits);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    progress.clear();
    if cursor.is_some() {
        out::note("there may be more; --limit shows it");
    }
    if shown.hits == 0 {
        out::note(&format!("nothing was found in {} items", progress.searched));
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// What was printed.
#[derive(Default)]
struct Shown {
    hits: u64,
    session: String,
}

fn show(page: &SearchResult, json: bool, shown: &mut Shown) -> std::io::Result<()> {
    for hit in &page.hits {
        if json {
            out::json(hit)?;
        } else {
            out::print(&text(hit, shown, out::Style::of_stdout()))?;
        }
        shown.hits += 1;
    }
    Ok(())
}

/// A hit for people, under its session's title where that is another than before.
fn text(hit: &Hit, shown: &mut Shown, style: out::Style) -> String {
    let mut out = String::new();
    if hit.session != shown.session {
        if shown.hits > 0 {
            out.push('\n');
        }
        let title = if hit.title.is_empty() { "(no title)" } else { &hit.title };
        let id = style.dim(&out::harmless(&hit.session, false));
        let _ = writeln!(out, "{}  {id}", out::harmless(title, false));
        shown.session.clone_from(&hit.session);
    }
    let place = format!("  #{} {}: ", hit.item, out::harmless(&hit.kind, false));
    out.push_str(&style.dim(&place));
    out.push_str(&piece(hit, style));
    out.push('\n');
    out
}

/// The piece of text on one line, its words made to stand out.
fn piece(hit: &Hit, style: out::Style) -> String {
    let mut line = String::new();
    let mut at = 0;
    for [start, end] in &hit.ranges {
        let (start, end) = (usize::try_from(*start).unwrap_or(usize::MAX), usize::try_from(*end).unwrap_or(usize::MAX));
        let (Some(before), Some(word)) = (hit.text.get(at..start), hit.text.get(start..end)) else { break };
        line.push_str(&out::harmless(before, false));
        line.push_str(&style.bold(&out::harmless(word, false)));
        at = end;
    }
    line.push_str(&out::harmless(hit.text.get(at..).unwrap_or_default(), false));
    line.trim().to_owned()
}

/// Says on a terminal how far a search has come, once it takes longer.
struct Progress {
    begun: Instant,
    searched: u64,
    shown: bool,
}

impl Progress {
    fn begin() -> Self {
        Self { begun: Instant::now(), searched: 0, shown: false }
    }

    fn step(&mut self, searched: u64, hits: u64) {
        self.searched += searched;
        if self.begun.elapsed() >= PATIENCE && out::stderr_is_terminal() {
            out::transient(&format!("{} items searched, {hits} found", self.searched));
            self.shown = true;
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            out::transient("");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_stand_below_their_session_on_one_line_each() {
        let hit = |session: &str, item, text: &str| Hit {
            session: session.to_owned(),
            title: "Fix it".to_owned(),
            item,
            turn: 1,
            kind: "toolResult".to_owned(),
            at: 0,
            text: text.to_owned(),
            ranges: vec![[2, 5]],
        };
        let mut shown = Shown::default();
        let mut out = String::new();
        for hit in [hit("s2", 7, "a\nfoo\x1b[2J b"), hit("s2", 3, "a foo"), hit("s1", 1, "a foo")] {
            out.push_str(&text(&hit, &mut shown, out::Style::PLAIN));
            shown.hits += 1;
        }
        let expected = "Fix it  s2\n  #7 toolResult: a foo\u{fffd}[2J b\n  #3 toolResult: a foo\n\n\
            Fix it  s1\n  #1 toolResult: a foo\n";
        assert_eq!(out, expected);
    }
}
