//! Conversations that are shortened: what the user said first, and how requests for summaries are told from the others.

use crate::machine::Machine;
use crate::model_server::{ModelServer, Recorded, Step};
use plimsoll_core::compaction::summary::Section;
use plimsoll_core::model::request::Api;
use serde_json::Value;

/// What the user says first, which must stand in every request: case G06.
pub const RULE: &str = "Never edit files under legacy/. Ask before any git push.";

/// Whether a request asks for a summary.
pub fn asks_for_summary(request: &Recorded) -> bool {
    let last = request.json["messages"].as_array().and_then(|messages| messages.last()).map(Value::to_string);
    last.is_some_and(|last| last.contains("these eight sections") || last.contains("all eight"))
}

/// A summary that is taken: each of the sections that a model writes says this.
pub fn good(said: &str) -> Step {
    let sections: Vec<String> = Section::models().map(|section| format!("{}\n{said}\n", section.heading())).collect();
    Step::say(&sections.join("\n"))
}

/// The requests of the conversation, and those for summaries.
pub fn parted(server: &ModelServer) -> (Vec<Recorded>, Vec<Recorded>) {
    server.requests().into_iter().partition(|request| !asks_for_summary(request))
}

/// The messages of a request over Chat Completions, the system text among them.
pub fn messages(request: &Recorded) -> &[Value] {
    request.json["messages"].as_array().expect("messages")
}

/// Whether a request goes on where the one before it ended.
pub fn goes_on(before: &Recorded, request: &Recorded) -> bool {
    messages(request).starts_with(messages(before))
}

/// Makes `server` the configured model `test/scripted`, with a window of so many tokens, and this under `[context]`.
/// Summaries are written beside the work, as for a model on another machine.
pub fn configure(machine: Machine, server: &ModelServer, window: u64, context: &str) -> Machine {
    let prepare = if context.contains("prepare_summaries") { "" } else { "prepare_summaries = true\n" };
    machine.configure(&format!(
        "model = \"test/scripted\"\n[providers.test]\napi = \"openai-chat\"\nbase_url = \"{}\"\n\
         [providers.test.models.scripted]\ncontext_window = {window}\nmax_output = 1000\n\
         [permissions]\nmode = \"full\"\n[context]\n{prepare}{context}",
        server.base_url(Api::OpenaiChat)
    ))
}

/// A text of so many numbered lines, about ten tokens each.
pub fn notes(lines: usize) -> String {
    let lines: Vec<String> = (0..lines).map(|line| format!("note {line}: words and words and words\n")).collect();
    lines.concat()
}
