//! `read_file`: a text file, or a range of its lines or bytes; an image file as an image.

use super::scope::{Resolved, recheck, resolve_existing};
use super::{Tool, ToolEnv, ToolRun, blocking};
use crate::file_io::image::read_image;
use crate::file_io::{Ask, OpenError, ReadError, Text, Version, read_text};
use futures_util::future::BoxFuture;
use plimsoll_core::tool::call::{Call, Prepared, Zone};
use plimsoll_core::tool::outcome::{Body, FileRead, Outcome, Status};
use serde::Deserialize;
use std::path::Path;

/// The tool.
#[derive(Debug, Clone, Copy)]
pub struct ReadFile;

#[derive(Debug, Clone, Deserialize)]
struct Args {
    target_file: String,
    offset: Option<u64>,
    limit: Option<u64>,
    byte_offset: Option<u64>,
    byte_limit: Option<u64>,
    expected_version: Option<String>,
}

impl Args {
    fn ask(&self) -> Result<Ask, String> {
        let lines = self.offset.is_some() || self.limit.is_some();
        let bytes = self.byte_offset.is_some() || self.byte_limit.is_some();
        match (lines, bytes) {
            (true, true) => {
                Err("Ask for lines (offset, limit) or for bytes (byte_offset, byte_limit), not for both.".to_owned())
            }
            (true, false) => Ok(Ask::Lines { first: self.offset.unwrap_or(1).max(1), count: self.limit }),
            (false, true) => Ok(Ask::Bytes { start: self.byte_offset.unwrap_or(0), count: self.byte_limit }),
            (false, false) => Ok(Ask::Whole),
        }
    }
}

impl Tool for ReadFile {
    fn name(&self) -> &'static str {
        "read_file"
    }

    fn prepare<'a>(&'a self, call: &'a Call, env: &'a ToolEnv) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(async move {
            let args: Args = super::arguments(call)?;
            args.ask()?;
            let env = env.clone();
            blocking::look(move || {
                let file = resolve_existing(&env, &args.target_file)?;
                let title = format!("read {}", file.shown);
                Ok(Prepared { targets: vec![file.target()], title, ..Prepared::default() })
            })
            .await
        })
    }

    fn run<'a>(&'a self, run: ToolRun<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let args: Args = match super::arguments(run.call) {
                Ok(args) => args,
                Err(problem) => return Outcome::failed(problem),
            };
            let (env, target) = (run.env.clone(), run.prepared.targets.first().cloned());
            blocking::run(&run.cancel, move |stop| {
                let read = || {
                    let ask = args.ask()?;
                    let file = recheck(&env, &args.target_file, target.as_ref())?;
                    if ask == Ask::Whole
                        && let Some(image) =
                            read_image(&file.path, &file.shown).map_err(|error| format!("`{}` {error}.", file.shown))?
                    {
                        return Ok(Body::Image(image));
                    }
                    let stopped = || stop.is_set();
                    // A log that has grown is no other file.
                    let grows = grows(&file);
                    let expected = args.expected_version.as_deref().filter(|_| !grows);
                    let changed = |version: &Version| expected.is_some_and(|expected| !version.is_named(expected));
                    let (text, ask) = match read_text(&file.path, ask, &stopped) {
                        // The range is gone, so that the content now is given from its beginning.
                        Err(ReadError::PastEnd { version, .. }) if changed(&version) => {
                            (read_text(&file.path, Ask::Whole, &stopped), Ask::Whole)
                        }
                        read => (read, ask),
                    };
                    text.map(|text| Body::File(FileRead { grows, ..page(&file.shown, text, ask, expected) }))
                        .map_err(|error| problem(&file.shown, ask, &error))
                };
                match read() {
                    Ok(body) => Outcome { status: Status::Ok, body },
                    Err(problem) => Outcome::failed(problem),
                }
            })
            .await
        })
    }
}

fn page(shown: &str, text: Text, ask: Ask, expected: Option<&str>) -> FileRead {
    let page = text.page;
    FileRead {
        path: shown.to_owned(),
        version: text.version.to_string(),
        encoding: text.encoding,
        eol: text.eol.to_owned(),
        lossy: text.lossy,
        total_lines: text.total_lines,
        total_bytes: text.total_bytes,
        unended: text.unended,
        grows: false,
        first_line: page.first_line,
        lines: page.lines,
        asked_range: ask != Ask::Whole,
        bytes: page.bytes,
        long_lines: page.long_lines,
        tail: page.tail,
        asked_until: page.asked_until,
        expected: expected.filter(|expected| !text.version.is_named(expected)).map(str::to_owned),
    }
}

/// Whether it is a log or transcript of Plimsoll's own, which are only appended to.
fn grows(file: &Resolved) -> bool {
    let name = file.path.file_name();
    let of_artifacts = file.path.parent().and_then(Path::file_name) == Some("artifacts".as_ref());
    let log = of_artifacts && file.path.extension() == Some("log".as_ref());
    file.zone == Zone::Readable && (log || name == Some("transcript.txt".as_ref()))
}

fn problem(shown: &str, ask: Ask, error: &ReadError) -> String {
    let advice = match error {
        ReadError::Open(OpenError::IsDir) => " Use list_dir to list it.",
        ReadError::Open(OpenError::Special(_)) => " It holds no text to read.",
        ReadError::Binary(_) => " Its content is not shown; a program run by run_terminal_cmd may read it.",
        ReadError::PastEnd { lines, bytes, .. } => {
            let at = match ask {
                Ask::Lines { first, .. } => format!("offset {first} is past the end: it has {}", count(*lines, "line")),
                Ask::Bytes { start, .. } => {
                    format!("byte_offset {start} is past the end: it has {}", count(*bytes, "byte"))
                }
                Ask::Whole => "it ends early".to_owned(),
            };
            let state = if *bytes == 0 { "is empty; " } else { "is shorter than asked: " };
            return format!("`{shown}` {state}{at}.");
        }
        ReadError::Open(_) | ReadError::Changing | ReadError::Cancelled | ReadError::Io(_) => "",
    };
    format!("`{shown}` {error}.{advice}")
}

fn count(number: u64, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod following;
#[cfg(test)]
mod tests;
