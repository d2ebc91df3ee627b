//! Models and providers that misbehave: nothing half is run or kept, and the next request is one that a provider takes.

use plimsoll_core::model::request::Api;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, Cut, ModelServer, Script, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::assert_replayed;
use plimsoll_tests::told::{items, told};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

over_both_apis! {
    a_stream_that_is_cut_runs_nothing
    malformed_arguments_are_a_result
    calls_are_told_apart_whatever_their_ids
    an_unknown_tool_does_not_loop
    empty_answers_end_the_turn
    a_provider_that_asks_for_patience
}

struct Talk {
    daemon: TestDaemon,
    server: ModelServer,
    workspace: Workspace,
    client: plimsoll_tests::client::Client,
    session: String,
}

impl Talk {
    async fn begin(api: Api, workspace: Workspace, steps: Vec<Step>) -> Self {
        let server = ModelServer::start(Script::new(steps)).await;
        let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        Self { daemon, server, workspace, client, session }
    }

    /// One more turn; gives how it ended.
    async fn turn(&self, text: &str) -> Value {
        self.client.turn(&self.session, text).await
    }

    fn told(&self) -> Vec<String> {
        told(&self.client.events(), 0)
    }

    /// A last turn after all that was bad; then everything that was sent was in order.
    async fn end(mut self) {
        self.server.push(Step::say("All is well."));
        assert_eq!(self.turn("and now?").await["stopReason"], "endTurn");
        self.server.assert_clean();
        assert_eq!(self.server.steps_left(), 0);
        assert_replayed(&mut self.daemon, &self.server).await;
    }
}

async fn a_stream_that_is_cut_runs_nothing(api: Api) {
    let command = || Call::new("run_terminal_cmd", json!({"command": "touch made"}));
    let start = match api {
        Api::AnthropicMessages => "content_block_start",
        Api::OpenaiChat | Api::Offline => "run_terminal_cmd",
    };
    let steps = vec![
        // In the arguments, after visible text: the model is asked to go on.
        Step::empty().text("I make it. ").call(command()).cut(Cut::Text("command".to_owned())),
        // In the arguments, orderly: no end mark, no reason.
        Step::empty().text("Again. ").call(command()).end_early(Cut::Text("tou".to_owned())),
        // Behind the name, before any argument.
        Step::empty().text("Once more. ").call(command()).end_early(Cut::Text(start.to_owned())),
        Step::say("I give up."),
    ];
    let talk = Talk::begin(api, Workspace::new(), steps).await;
    assert_eq!(talk.turn("make it").await["stopReason"], "endTurn");
    assert_eq!(talk.workspace.read("made"), None);
    let lines = talk.told();
    assert!(!lines.iter().any(|line| line.starts_with("c1")), "no part of a call is kept: {lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("notice retry")).count(), 3, "{lines:#?}");
    assert!(lines.contains(&"text \"I give up.\"".to_owned()), "{lines:#?}");
    talk.end().await;
}

async fn malformed_arguments_are_a_result(api: Api) {
    let bad = ["{\"command\": \"touch P", "", "[1]", "\"x\"", "{\"command\": 7"];
    let mut steps: Vec<Step> = bad
        .iter()
        .map(|arguments| {
            Step::calls([
                Call::raw("run_terminal_cmd", arguments),
                Call::new("read_file", json!({"target_file": "ok.txt"})),
            ])
        })
        .collect();
    steps.push(Step::say("I stop."));
    let talk = Talk::begin(api, Workspace::new().file("ok.txt", "fine\n"), steps).await;
    let end = talk.turn("do it").await;
    assert_eq!(end["stopReason"], "endTurn", "{end}");
    assert_eq!(talk.workspace.read("P"), None);
    let items = items(&talk.client.events());
    let of = |kind: &str, tool: &str| -> Vec<Value> {
        items.iter().filter(|item| item["kind"] == kind && item["tool"] == tool).cloned().collect()
    };
    let kept: Vec<Value> = of("toolCall", "run_terminal_cmd").iter().map(|item| item["arguments"].clone()).collect();
    assert_eq!(kept, bad, "the bytes of the model are kept");
    let statuses: Vec<Value> = of("toolResult", "run_terminal_cmd").iter().map(|item| item["status"].clone()).collect();
    assert_eq!(statuses, ["failed"; 5]);
    let first = of("toolResult", "run_terminal_cmd")[0]["text"].as_str().expect("a text").to_owned();
    assert!(first.contains("line 1") || first.contains("column") || first.contains("position"), "{first}");
    assert!(of("toolResult", "read_file").iter().all(|item| item["status"] == "ok"));
    talk.end().await;
}

async fn calls_are_told_apart_whatever_their_ids(api: Api) {
    let read = |path: &str| Call::new("read_file", json!({"target_file": path}));
    let steps = vec![
        Step::calls([read("a").id("call_0"), read("b").id("call_0")]),
        Step::calls([read("c").id("call_0")]),
        Step::calls([read("d").without_id()]),
        Step::calls([read("e"), read("f")]).same_index(),
        Step::say("Read."),
    ];
    let workspace = ["a", "b", "c", "d", "e", "f"]
        .into_iter()
        .fold(Workspace::new(), |workspace, name| workspace.file(name, format!("in {name}\n")));
    let talk = Talk::begin(api, workspace, steps).await;
    assert_eq!(talk.turn("read").await["stopReason"], "endTurn");
    let requests = talk.server.requests();
    let results = requests.last().expect("requests").results();
    let found: Vec<bool> = ["a", "b", "c", "d", "e", "f"]
        .iter()
        .zip(&results)
        .map(|(name, (_, text))| text.contains(&format!("1|in {name}")))
        .collect();
    assert_eq!(found, [true; 6], "{results:#?}");
    let mut ids: Vec<&String> = results.iter().map(|(id, _)| id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6);
    talk.end().await;
}

async fn an_unknown_tool_does_not_loop(api: Api) {
    let step = || Step::calls([Call::new("search_files", json!({"query": "x"}))]);
    let tolerated = Step::calls([Call::new("Read_File ", json!({"target_file": "ok.txt"}))]);
    let steps = vec![tolerated, step(), step(), step()];
    let talk = Talk::begin(api, Workspace::new().file("ok.txt", "fine\n"), steps).await;
    let end = talk.turn("search").await;
    assert_ne!(end["stopReason"], "endTurn");
    let message = end["message"].as_str().expect("a message");
    assert!(message.contains("search_files"), "{message}");
    let lines = talk.told();
    assert_eq!(lines.iter().filter(|line| line.ends_with(" failed")).count(), 3, "{lines:#?}");
    assert!(lines.contains(&"c1 ok".to_owned()), "a name in other letters is understood: {lines:#?}");
    talk.end().await;
}

async fn empty_answers_end_the_turn(api: Api) {
    let talk = Talk::begin(api, Workspace::new(), vec![Step::empty(), Step::empty(), Step::empty()]).await;
    let end = talk.turn("hello").await;
    assert_eq!(end["stopReason"], "modelError");
    assert!(end["message"].as_str().expect("a message").contains("empty response"), "{end}");
    assert!(!talk.told().iter().any(|line| line.starts_with("text")));
    talk.end().await;
}

async fn a_provider_that_asks_for_patience(api: Api) {
    let limited = || json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}});
    let quota = json!({"type": "error", "error": {
        "type": "insufficient_quota", "code": "insufficient_quota", "message": "You exceeded your current quota"}});
    let steps = vec![
        Step::error(429, limited()).header("retry-after", "1"),
        Step::say("Now."),
        Step::error(429, limited()).header("retry-after", "7200"),
        Step::error(429, quota),
    ];
    let talk = Talk::begin(api, Workspace::new(), steps).await;
    assert_eq!(talk.turn("one").await["stopReason"], "endTurn");
    let requests = talk.server.requests();
    let waited = requests[1].at - requests[0].at;
    assert!((1_000..2_500).contains(&waited.as_millis()), "{waited:?}");
    let notice = items(&talk.client.events()).into_iter().find(|item| item["kind"] == "notice").expect("a notice");
    assert!(notice["text"].as_str().expect("text").contains("again in 1 s"), "{notice}");
    for (text, part) in [("two", "7200 s"), ("three", "quota")] {
        let end = talk.turn(text).await;
        assert_eq!(end["stopReason"], "modelError");
        assert!(end["message"].as_str().expect("a message").contains(part), "{end}");
    }
    assert_eq!(talk.server.requests().len(), 4, "neither is tried again");
    talk.end().await;
}
