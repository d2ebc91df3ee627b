//! A compaction by hand: what the summary is asked for with, on the conversation's prefix and by another model, and what the
//! conversation's next request shows.

use super::session::{Session, call, settings};
use super::turns::{environment, outcome, prepared, readable};
use expect_test::expect_file;
use plimsoll_core::compaction::summary::Section;
use plimsoll_core::model::event::BlockContent;
use plimsoll_core::model::request::Api;
use plimsoll_core::turn::input::InputBody;
use plimsoll_core::turn::machine::Settings;

/// Three turns, then somebody asks for a compaction.
fn talk(settings: Settings) -> Session {
    let mut session = Session::new(settings);
    session.prompt("Fix the build. Never touch vendor/.", environment());
    session.reply(vec![
        BlockContent::Text("I look first.".into()),
        call("read_file", r#"{"target_file":"src/main.rs"}"#),
        call("run_terminal_cmd", r#"{"command":"make check"}"#),
    ]);
    session.work(prepared, outcome);
    // Long enough that a summary is shorter.
    session.say(&format!("There is no rule `check`.{}", " No rule.".repeat(600)));
    session.prompt("Then add one.\nIt should run the tests.", environment());
    session.say("Added.");
    session.prompt("Thanks.", environment());
    session.say("You are welcome.");
    session.input(InputBody::Compact { focus: Some("the rule `check`".into()) });
    session
}

fn in_short() -> Settings {
    let mut settings = settings(Api::AnthropicMessages);
    settings.compaction.tail_guard_turns = 1;
    settings
}

#[test]
fn on_the_prefix_and_what_comes_after_it() {
    let mut session = talk(in_short());
    let asked = readable(
        "A summary is asked for by hand, with a focus: the conversation as it was sent last, and one message more.",
        &session.beside[0],
    );
    expect_file!["../golden/requests/summary_asked.anthropic-messages.txt"].assert_eq(&asked);
    let sections: Vec<String> =
        Section::models().map(|section| format!("{}\nWhat a model says of it.\n", section.heading())).collect();
    session.summarise(&sections.join("\n"));
    session.prompt("Is it done?", environment());
    let after = readable(
        "The first request after a compaction: the summary of two turns, the last turn as it was, what is in force, the prompt.",
        session.bodies.last().expect("a request"),
    );
    expect_file!["../golden/requests/compacted.anthropic-messages.txt"].assert_eq(&after);
}

#[test]
fn by_a_model_of_its_own() {
    let mut settings = in_short();
    let mut other = settings.model.clone();
    other.name = "small".into();
    other.api = Api::OpenaiChat;
    settings.compaction.summary_model = Some(Box::new(other));
    let session = talk(settings);
    let asked = readable(
        "The same from a model that is set for summaries: the records, and nothing of the conversation's own request.",
        &session.beside[0],
    );
    expect_file!["../golden/requests/summary_asked_alone.openai-chat.txt"].assert_eq(&asked);
}
