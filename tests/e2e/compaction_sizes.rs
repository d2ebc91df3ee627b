//! Histories that do not fit by far: one huge result, many times a smaller model's window, more images than the provider
//! takes. The next turn works, and the stored originals stay whole.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_core::tokens::tokens;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Recorded, Script, Seen, Step, Usage};
use plimsoll_tests::summaries::{RULE, asks_for_summary, configure, good, notes, parted};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

/// The window of the smaller model, in tokens.
const SMALL: u64 = 8_000;

/// A second model with a window of 8,000 tokens, behind the settings of `[context]`.
fn beside_a_small_model(context: &str) -> String {
    format!("{context}[providers.test.models.small]\ncontext_window = {SMALL}\nmax_output = 500\n")
}

fn read(file: &str) -> Call {
    Call::new("read_file", json!({"target_file": file}))
}

/// Every request to the smaller model is one that it takes.
fn assert_fit(server: &ModelServer) {
    let small = server.requests().into_iter().filter(|request| request.json["model"] == "small");
    let sizes: Vec<u64> = small.map(|request| tokens(&String::from_utf8_lossy(&request.body))).collect();
    assert!(!sizes.is_empty() && sizes.iter().all(|size| *size <= SMALL), "{sizes:?}");
}

/// Case G04.
#[tokio::test]
async fn a_result_many_times_the_window_does_not_end_the_session() {
    let line = "a line of a log that nobody reads to its end\n";
    let log = line.repeat(1_500_000 / line.len() + 1);
    let workspace = Workspace::new().file("huge.log", &log);
    let steps = [Step::calls([read("huge.log")]), Step::say("Long."), Step::say("Hello.")];
    let server = ModelServer::start(Script::new(steps).on(asks_for_summary, good("A log was read."))).await;
    let context = beside_a_small_model("projection_tokens = 100000\n");
    let daemon = configure(Machine::new(plimsoll_tests::binary!()), &server, 200_000, &context).daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    assert_eq!(client.turn(&session, RULE).await["stopReason"], "endTurn");
    client.ok("session/setModel", json!({"session": session, "model": "test/small"})).await;
    let end = client.turn(&session, "hi").await;
    assert_eq!(end["stopReason"], "endTurn", "{end}");
    assert_fit(&server);
    let (sent, _) = parted(&server);
    let last = sent.last().expect("requests").json["messages"].to_string();
    assert!(last.contains(RULE) && last.contains("huge.log"), "{last}");
    assert!(last.contains("transcript.txt"), "it says where the whole is: {last}");
    server.assert_clean();
}

#[tokio::test]
async fn a_history_of_ten_windows_goes_on_with_the_smallest_model() {
    let lines = notes(300);
    let workspace = Workspace::new().file("notes.txt", &lines);
    let script = Script::new([])
        .on(asks_for_summary, good("Notes were read."))
        .on(|request| request.json["model"] == "small", Step::say("So it is."))
        .on(|request| matches!(request.seen().last(), Some(Seen::Result(..))), Step::say("So it is."))
        .on(|_| true, Step::calls([read("notes.txt")]));
    let server = ModelServer::start(script).await;
    let context = beside_a_small_model("projection_tokens = 8000\n");
    let daemon = configure(Machine::new(plimsoll_tests::binary!()), &server, 200_000, &context).daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let size = |request: &Recorded| tokens(&String::from_utf8_lossy(&request.body));
    for turn in 0.. {
        let text = if turn == 0 { RULE.to_owned() } else { format!("look once more, {turn}") };
        assert_eq!(client.turn(&session, &text).await["stopReason"], "endTurn");
        if server.requests().last().is_some_and(|last| size(last) > 10 * SMALL) {
            break;
        }
        assert!(turn < 60, "the history does not grow");
    }
    client.ok("session/setModel", json!({"session": session, "model": "test/small"})).await;
    for text in ["and now", "and again"] {
        let end = client.turn(&session, text).await;
        assert_eq!(end["stopReason"], "endTurn", "{end}");
    }
    assert_fit(&server);
    let causes: Vec<Value> = client
        .events()
        .iter()
        .filter(|event| event["type"] == "compactionStarted")
        .map(|event| event["cause"].clone())
        .collect();
    assert_eq!(causes.first(), Some(&json!("modelChanged")), "{causes:?}");
    for request in server.requests() {
        if request.json["model"] == "small" && !asks_for_summary(&request) {
            assert!(request.json["messages"].to_string().contains(RULE));
        }
    }
    server.assert_clean();
}

/// A refusal as vendors of Chat Completions word it.
fn too_long() -> Step {
    let message = "This model's maximum context length is 20000 tokens. Please reduce the length of the messages.";
    Step::error(400, json!({"error": {"message": message, "code": "context_length_exceeded"}}))
}

#[tokio::test]
async fn a_window_that_is_smaller_than_configured_is_gone_on_in() {
    const LIMIT: usize = 60_000;
    let workspace = Workspace::new().file("notes.txt", notes(200));
    let script = Script::new([])
        .on(|request| request.body.len() > LIMIT, too_long())
        .on(asks_for_summary, good("Notes were read."))
        .on(|request| matches!(request.seen().last(), Some(Seen::Result(..))), Step::say("So it is."))
        .on(|_| true, Step::calls([read("notes.txt")]));
    let server = ModelServer::start(script).await;
    let daemon = configure(Machine::new(plimsoll_tests::binary!()), &server, 200_000, "").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    for turn in 0..25 {
        let text = if turn == 0 { RULE.to_owned() } else { format!("look once more, {turn}") };
        let end = client.turn(&session, &text).await;
        assert_eq!(end["stopReason"], "endTurn", "{end}");
    }
    let refused: Vec<bool> = server.requests().iter().map(|request| request.body.len() > LIMIT).collect();
    assert!(refused.contains(&true) && !refused.windows(2).any(|pair| pair == [true, true]), "{refused:?}");
    assert!(parted(&server).0.iter().all(|request| request.json["messages"].to_string().contains(RULE)));
    server.assert_clean();
}

/// Case G03.
#[tokio::test]
async fn what_is_refused_as_too_long_whatever_is_done_ends_with_a_choice_and_not_with_a_hundred_requests() {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([]).on(|_| true, too_long())).await;
    let daemon = configure(Machine::new(plimsoll_tests::binary!()), &server, 200_000, "").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    for turn in 1..=2 {
        let end = client.turn(&session, RULE).await;
        assert_eq!(end["stopReason"], "modelError", "{end}");
        let message = end["message"].as_str().expect("a message");
        assert!(message.contains("maximum context length") && message.contains("`/compact`"), "{message}");
        // One for the turn; a summary may have been asked for, and a smaller one sent, which were refused as well.
        assert!(server.requests().len() <= 4 * turn, "{} requests in {turn} turns", server.requests().len());
    }
}

/// An image of about two million bytes.
fn large_gif(no: usize) -> Vec<u8> {
    let mut bytes = b"GIF89a".to_vec();
    bytes.extend(600_u16.to_le_bytes());
    bytes.extend(400_u16.to_le_bytes());
    bytes.extend([0, 0, 0]);
    bytes.resize(2_000_000, u8::try_from(no % 251).expect("small"));
    bytes.push(0x3b);
    bytes
}

/// Case G05.
#[tokio::test]
async fn more_images_than_the_provider_takes_leave_room_for_the_next_turn() {
    const LIMIT: usize = 10_000_000;
    let refused = Step::error(413, json!({"error": {"message": "Request body too large"}}));
    let script = Script::new([])
        .on(|request| request.body.len() > LIMIT, refused)
        .on(asks_for_summary, good("Images were looked at."))
        // What is told is small: only the size of the body is in the way.
        .on(|_| true, Step::say("I see.").usage(Usage { input: 9_000, ..Usage::default() }));
    let server = ModelServer::start(script).await;
    let context = "[providers.test.models.seeing]\ncontext_window = 200000\nmax_output = 1000\nimages = true\n";
    let daemon = configure(Machine::new(plimsoll_tests::binary!()), &server, 200_000, context).daemon().await;
    let client = daemon.client().await;
    let workspace = Workspace::new();
    let session = client.session(&workspace).await;
    client.ok("session/setModel", json!({"session": session, "model": "test/seeing"})).await;
    let switches = || client.events().iter().filter(|event| event["type"] == "compactionFinished").count();
    for turn in 0..10 {
        let image = |no: usize| {
            let data = STANDARD.encode(large_gif(turn * 3 + no));
            json!({"kind": "image", "name": format!("shot {turn}.{no}"), "mimeType": "image/gif", "data": data})
        };
        let text = if turn == 0 { RULE } else { "and these" };
        let prompt = json!({"session": session, "text": text, "attachments": [image(0), image(1), image(2)]});
        let before = switches();
        let turn = client.ok("turn/start", prompt).await["turn"].as_u64().expect("a turn");
        let end = client.completed(&session, turn).await;
        assert_eq!(end["stopReason"], "endTurn", "{end}");
        assert!(switches() <= before + 1, "one compaction is enough");
    }
    let end = client.turn(&session, "What did you see?").await;
    assert_eq!(end["stopReason"], "endTurn", "{end}");
    let (sent, asked) = parted(&server);
    let last = sent.last().expect("requests");
    assert!(last.body.len() < LIMIT, "{} bytes", last.body.len());
    let text = last.json["messages"].to_string();
    assert!(text.contains(RULE) && text.contains("shot 0.0") && text.contains("shot 9.2"));
    assert!(text.contains("left out when the conversation was shortened"));
    for ask in &asked {
        assert!(!String::from_utf8_lossy(&ask.body).contains("base64"), "no image is sent for a summary");
    }
    server.assert_clean();
}
