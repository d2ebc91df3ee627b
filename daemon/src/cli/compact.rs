//! `plimsoll compact`: has the history of a session shortened for the model, and waits for the end.

use super::connect::{self, CommandError};
use super::inspect::{self, thousands};
use super::out;
use super::progress::Progress;
use super::reach::Spawn;
use crate::rpc::client::RpcClient;
use plimsoll_protocol::context::ContextApiClient;
use plimsoll_protocol::event::{Event, SessionEvent};
use plimsoll_protocol::session::{SessionApiClient, SessionState};
use plimsoll_protocol::turn::TurnApiClient;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::interval;

const INTERRUPTED: u8 = 130;
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Runs the command.
pub fn main(arguments: &super::args::Compact) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let session = inspect::session(&client, arguments.session.as_deref(), arguments.project.as_deref()).await?;
        let Some(event) = run(&client, &session, arguments).await? else { return Ok(ExitCode::from(INTERRUPTED)) };
        let shortened = matches!(event.event, Event::CompactionFinished { epoch: Some(_), .. });
        if arguments.json {
            out::json(&event)?;
        } else if shortened {
            out::line(&told(&event.event))?;
        } else {
            out::error(&told(&event.event), None);
        }
        Ok(if shortened { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

/// The end of the compaction; none when it was interrupted.
async fn run(
    client: &RpcClient,
    session: &str,
    arguments: &super::args::Compact,
) -> Result<Option<SessionEvent>, CommandError> {
    let info = SessionApiClient::get(client, session.to_owned()).await?;
    let mut last = info.last_seq;
    let mut events = client.attach(session.to_owned(), Some(last)).await?;
    let mut interrupts = signal(SignalKind::interrupt())?;
    let key = uuid::Uuid::now_v7().to_string();
    client.compact(session.to_owned(), arguments.focus.clone(), Some(key)).await?;
    let mut progress = Progress::new(!arguments.json);
    let mut tick = interval(PROGRESS_EVERY);
    loop {
        tokio::select! {
            biased;
            Some(()) = interrupts.recv() => {
                progress.clear();
                // A turn that runs is not this command's to end.
                if !matches!(info.state, SessionState::Running | SessionState::Waiting) {
                    client.cancel(session.to_owned(), None).await?;
                }
                return Ok(None);
            }
            event = events.next() => match event {
                Some(Ok(event)) => {
                    last = event.seq.unwrap_or(last).max(last);
                    if matches!(event.event, Event::CompactionFinished { .. }) {
                        progress.clear();
                        return Ok(Some(event));
                    }
                }
                Some(Err(error)) => tracing::debug!(%error, "an event that this build cannot read"),
                // Cut off for not reading fast enough, or the daemon has gone: then this fails.
                None => events = client.attach(session.to_owned(), Some(last)).await?,
            },
            _ = tick.tick() => progress.tick(true),
        }
    }
}

/// What a compaction did, on one line.
pub fn told(event: &Event) -> String {
    let Event::CompactionFinished { before: Some(before), after: Some(after), levels, usable, given_up, .. } = event
    else {
        let why = match event {
            Event::CompactionFinished { message: Some(message), .. } => format!(": {}", out::harmless(message, false)),
            _ => String::new(),
        };
        return format!("nothing was shortened{why}");
    };
    let done: Vec<String> = levels.iter().map(|level| done(level)).collect();
    let mut text = format!("{} → {} tokens", thousands(*before), thousands(*after));
    if let Some(usable) = usable {
        // Writing to a String cannot fail.
        let _ = write!(text, " of {}", thousands(*usable));
    }
    if !done.is_empty() {
        let _ = write!(text, ": {}", done.join(", "));
    }
    if let Some(given_up) = given_up.filter(|tokens| *tokens > 0) {
        let _ = write!(text, "; {} cached tokens given up", thousands(given_up));
    }
    text
}

fn done(level: &str) -> String {
    match level {
        "snip" => "old results and images are cut".to_owned(),
        "prune" => "old turns are a line each".to_owned(),
        "summarize" => "the beginning is summarised".to_owned(),
        other => out::short(other, 40),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(json: &str) -> Event {
        serde_json::from_str(&format!("{{\"type\":\"compactionFinished\"{json}}}")).unwrap()
    }

    #[test]
    fn the_end_is_one_line() {
        let full = r#","epoch":3,"levels":["snip","summarize"],"before":18200,"after":6100,"freed":12100,"usable":24000,"givenUp":900"#;
        assert_eq!(
            told(&end(full)),
            "18,200 → 6,100 tokens of 24,000: old results and images are cut, the beginning is summarised; 900 cached tokens given up"
        );
        assert_eq!(told(&end(r#","message":"it is short already""#)), "nothing was shortened: it is short already");
        assert_eq!(told(&end("")), "nothing was shortened");
    }
}
