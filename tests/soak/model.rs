//! A model that answers any number of prompts: what it does is the first word of the prompt.

use plimsoll_tests::model_server::{Call, Recorded, Script, Seen, Step};
use serde_json::json;

/// The first words that it knows.
pub const WORDS: &[&str] = &["say", "think", "read", "write", "fail", "many"];

/// A file of the workspace that it reads.
pub const FILE: &str = "notes.txt";

fn is(word: &'static str) -> impl Fn(&Recorded) -> bool + Send + 'static {
    move |request| matches!(request.seen().last(), Some(Seen::User(text)) if text.contains(&format!("<user_query>\n{word} ")))
}

/// See the module's head.
pub fn script() -> Script {
    let deltas: Vec<String> = (0..200).map(|at| format!("piece {at} of a longer answer. ")).collect();
    Script::new([])
        .on(|request| matches!(request.seen().last(), Some(Seen::Result(..))), Step::say("That is what it was."))
        .on(is("think"), Step::empty().reasoning("Let me see.").text("I have thought."))
        .on(is("read"), Step::calls([Call::new("read_file", json!({"target_file": FILE}))]))
        .on(
            is("write"),
            Step::calls([Call::new("run_terminal_cmd", json!({"command": "date >> log.txt; wc -l log.txt"}))]),
        )
        .on(is("fail"), Step::error(400, json!({"error": {"message": "no", "type": "invalid_request_error"}})))
        .on(is("many"), Step::empty().text_in(deltas))
        .on(|_| true, Step::say("Yes."))
}
