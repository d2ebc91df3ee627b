//! `plimsoll show`: the transcript of a session, as people read it.

use super::connect::{self, CommandError};
use super::reach::Spawn;
use super::{args, out};
use crate::rpc::client::RpcClient;
use plimsoll_protocol::session::{SessionApiClient, SessionInfo};
use plimsoll_protocol::transcript::{CallStatus, Item, ItemBody, TranscriptApiClient};
use std::process::ExitCode;

/// Items in one answer: a page of a long session comes at once.
const PAGE: u32 = 200;
/// Letters of arguments and of results that are shown; `--json` shows all.
const CALL_WIDTH: usize = 100;

/// Runs the command.
pub fn main(arguments: &args::Show) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let info = client.get(arguments.session.clone()).await?;
        if !arguments.json {
            out::print(&head(&info))?;
        }
        for_each_item(&client, &info, |item| {
            if arguments.json { out::json(item) } else { out::print(&text(item, out::Style::of_stdout())) }
        })
        .await?;
        Ok(ExitCode::SUCCESS)
    })
}

async fn for_each_item(
    client: &RpcClient,
    info: &SessionInfo,
    mut show: impl FnMut(&Item) -> std::io::Result<()>,
) -> Result<(), CommandError> {
    let mut after = 0;
    loop {
        let page = client.read(info.id.clone(), Some(after), None, Some(PAGE)).await?;
        for item in &page.items {
            show(item)?;
        }
        match page.items.last() {
            Some(item) if item.no < page.last => after = item.no,
            _ => return Ok(()),
        }
    }
}

fn head(info: &SessionInfo) -> String {
    let title = if info.title.is_empty() { "(no title)" } else { &info.title };
    let roots = info.roots.join(", ");
    format!("{}\n{} · {} · {}\n", out::harmless(title, false), info.id, info.model, out::harmless(&roots, false))
}

/// An item for people; empty for what is not part of the conversation's view.
fn text(item: &Item, style: out::Style) -> String {
    match &item.body {
        ItemBody::User { text, steering, .. } => {
            let who = if *steering { "you, meanwhile" } else { "you" };
            format!("\n{}\n{}\n", style.bold(who), out::harmless(text.trim_end(), true))
        }
        ItemBody::Assistant { text, cut } => {
            let end = if *cut { style.dim(" (cut)") } else { String::new() };
            format!("\n{}\n{}{end}\n", style.bold("plimsoll"), out::harmless(text.trim_end(), true))
        }
        ItemBody::ToolCall { call, tool, arguments } => {
            let call = format!("{call} {} {}", out::short(tool, 40), out::short(arguments, CALL_WIDTH));
            format!("{}\n", style.dim(&format!("• {call}")))
        }
        ItemBody::ToolResult { call, status, text, .. } => {
            let said = text.as_deref().map(|text| out::short(text, CALL_WIDTH)).unwrap_or_default();
            format!("{}\n", style.dim(&format!("  {call} {}: {said}", status_word(status))))
        }
        ItemBody::Notice { text, .. } => format!("{}\n", style.dim(&format!("({})", out::harmless(text, false)))),
        ItemBody::Rewind { before, .. } => {
            format!("{}\n", style.dim(&format!("(the conversation went back to before turn {before})")))
        }
        ItemBody::Meta { .. } | ItemBody::Observation { .. } | ItemBody::Reasoning { .. } | ItemBody::Unknown => {
            String::new()
        }
    }
}

/// A status in one word.
pub fn status_word(status: &CallStatus) -> String {
    match status {
        CallStatus::Ok => "ok".to_owned(),
        CallStatus::Failed => "failed".to_owned(),
        CallStatus::Denied => "denied".to_owned(),
        CallStatus::Cancelled => "cancelled".to_owned(),
        CallStatus::Unknown => "unknown whether it took effect".to_owned(),
        CallStatus::Other(other) => out::short(other, 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_reads_as_one_and_what_the_model_alone_saw_is_left_out() {
        let bodies = [
            ItemBody::User {
                text: "Fix it\n".to_owned(),
                additional_data: "git".to_owned(),
                steering: false,
                images: vec![],
            },
            ItemBody::Meta { cause: "c".to_owned(), text: "hidden".to_owned() },
            ItemBody::ToolCall { call: "c1".to_owned(), tool: "read_file".to_owned(), arguments: "{\n}".to_owned() },
            ItemBody::ToolResult {
                call: "c1".to_owned(),
                tool: "read_file".to_owned(),
                status: CallStatus::Ok,
                text: Some("line\x1b[1m one\ntwo".to_owned()),
                data: None,
                revision: "r1".to_owned(),
                approximate: false,
            },
            ItemBody::Assistant { text: "Done.".to_owned(), cut: true },
        ];
        let items = bodies.map(|body| Item { no: 1, turn: 1, step: 1, at: 0, out_of_view: false, body });
        let shown: String = items.iter().map(|item| text(item, out::Style::PLAIN)).collect();
        let expected = "\nyou\nFix it\n• c1 read_file { }\n  c1 ok: line\u{fffd}[1m one two\n\nplimsoll\nDone. (cut)\n";
        assert_eq!(shown, expected);
    }
}
