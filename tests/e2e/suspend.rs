//! A turn that waits for an answer only outlives the daemon: the question stays open, and the answer takes the turn up
//! where it stands.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::{assert_grows, assert_replayed};
use plimsoll_tests::told::told;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

over_both_apis! {
    a_question_outlives_a_death_of_the_daemon
    a_question_outlives_a_stop_of_the_daemon
    a_prompt_waits_behind_a_question_from_before
    an_interrupt_ends_a_turn_that_waited_without_a_daemon
    nothing_is_undone_beside_a_turn_that_waits_without_a_machine
    what_a_suspended_turn_needs_and_is_not_there_is_named
}

struct World {
    daemon: TestDaemon,
    server: ModelServer,
    client: Client,
    session: String,
    workspace: Workspace,
    ask: Value,
}

async fn begin(api: Api, rest: impl IntoIterator<Item = Step>) -> World {
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let calls = [
        Call::new("read_file", json!({"target_file": "a.txt"})),
        Call::new("run_terminal_cmd", json!({"command": "touch made"})),
        Call::new("read_file", json!({"target_file": "made"})),
    ];
    let server = ModelServer::start(Script::new([Step::calls(calls)].into_iter().chain(rest))).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "ask").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.start(&session, "make it").await;
    let ask = client.asked(&session).await;
    World { daemon, server, client, session, workspace, ask }
}

impl World {
    async fn restarted(&mut self) -> u64 {
        self.client.closed().await;
        let seen = self.client.events().iter().filter_map(|event| event["seq"].as_u64()).max().unwrap_or(0);
        self.daemon.restart().await;
        self.client = self.daemon.client().await;
        let info = self.client.ok("session/get", json!({"session": self.session})).await;
        assert_eq!((&info["state"], &info["openAsks"]), (&json!("waiting"), &json!([self.ask])));
        self.client.attach(&self.session, seen).await;
        seen
    }

    fn answer(&self, choice: &str) -> Value {
        json!({"session": self.session, "ask": self.ask["id"], "choice": choice})
    }

    async fn goes_on(mut self, seen: u64) {
        assert_eq!(self.workspace.read("made"), None);
        let accepted = self.client.ok("permission/respond", self.answer("allowOnce")).await;
        assert_eq!(accepted, json!({"accepted": true}));
        let end = self.client.completed(&self.session, 1).await;
        assert_eq!((&end["stopReason"], &end["unsettled"]), (&json!("endTurn"), &json!([])));
        assert_eq!(
            told(&self.client.events(), seen),
            [
                "a1 allowOnce",
                "c2 runs",
                "c2 ok",
                "c3 runs",
                "c3 ok",
                "step 2",
                "text \"Made.\"",
                "step 2 answered",
                "turn 1 ends: endTurn",
            ]
        );
        assert_eq!(self.workspace.read("made").as_deref(), Some(""));
        // Whoever comes too late is told so.
        let again = self.client.ok("permission/respond", self.answer("reject")).await;
        assert_eq!(again, json!({"accepted": false}));
        self.server.assert_clean();
        assert_eq!(self.server.steps_left(), 0);
        assert_grows(&self.server);
        assert_replayed(&mut self.daemon, &self.server).await;
    }
}

async fn a_question_outlives_a_death_of_the_daemon(api: Api) {
    let mut world = begin(api, [Step::say("Made.")]).await;
    world.daemon.kill9().await;
    let seen = world.restarted().await;
    world.goes_on(seen).await;
}

async fn a_question_outlives_a_stop_of_the_daemon(api: Api) {
    let mut world = begin(api, [Step::say("Made.")]).await;
    world.daemon.stop().await;
    let seen = world.restarted().await;
    world.goes_on(seen).await;
}

async fn a_prompt_waits_behind_a_question_from_before(api: Api) {
    let mut world = begin(api, [Step::say("Not made."), Step::say("Next.")]).await;
    world.daemon.kill9().await;
    world.restarted().await;
    let next = world.client.ok("turn/start", json!({"session": world.session, "text": "then this"})).await;
    assert_eq!((&next["turn"], &next["queued"]), (&json!(2), &json!(true)));
    world.client.ok("permission/respond", world.answer("reject")).await;
    assert_eq!(world.client.completed(&world.session, 1).await["stopReason"], "endTurn");
    assert_eq!(world.client.completed(&world.session, 2).await["stopReason"], "endTurn");
    assert_eq!(world.workspace.read("made"), None);
    world.server.assert_clean();
    assert_grows(&world.server);
}

async fn an_interrupt_ends_a_turn_that_waited_without_a_daemon(api: Api) {
    let mut world = begin(api, [Step::say("Then not.")]).await;
    world.daemon.kill9().await;
    let seen = world.restarted().await;
    world.client.ok("turn/cancel", json!({"session": world.session})).await;
    assert_eq!(world.client.completed(&world.session, 1).await["stopReason"], "cancelled");
    assert_eq!(
        told(&world.client.events(), seen),
        ["a1 void", "c2 cancelled", "c3 cancelled", "notice interrupted", "meta interrupted", "turn 1 ends: cancelled"]
    );
    let error = world.client.err("permission/respond", world.answer("allowOnce")).await;
    assert_eq!(error["data"]["kind"], "conflict");
    assert_eq!(world.client.turn(&world.session, "go on").await["stopReason"], "endTurn");
    world.server.assert_clean();
    assert_grows(&world.server);
}

async fn nothing_is_undone_beside_a_turn_that_waits_without_a_machine(api: Api) {
    let workspace = Workspace::new().file("a.txt", "alpha\n");
    let write = Call::new("write", json!({"file_path": "new.txt", "contents": "new\n"}));
    let command = Call::new("run_terminal_cmd", json!({"command": "touch made"}));
    let script = [Step::calls([write]), Step::say("Written."), Step::calls([command]), Step::say("Made.")];
    let server = ModelServer::start(Script::new(script)).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "accept_edits").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.turn(&session, "write").await;
    client.start(&session, "make it").await;
    let ask = client.asked(&session).await;
    let mut world = World { daemon, server, client, session, workspace, ask };
    world.daemon.kill9().await;
    world.restarted().await;
    for dry in [true, false] {
        let undo = json!({"session": world.session, "turn": 1, "dryRun": dry});
        if dry {
            assert_eq!(world.client.ok("checkpoint/restore", undo).await["state"], "planned");
        } else {
            let error = world.client.err("checkpoint/restore", undo).await;
            assert_eq!(error["data"]["kind"], "busy", "{error}");
        }
    }
    assert_eq!(world.workspace.read("new.txt").as_deref(), Some("new\n"));
    world.client.ok("permission/respond", world.answer("allowOnce")).await;
    assert_eq!(world.client.completed(&world.session, 2).await["stopReason"], "endTurn");
    let done = world.client.ok("checkpoint/restore", json!({"session": world.session, "turn": 1})).await;
    assert_eq!((&done["state"], world.workspace.read("new.txt")), (&json!("done"), None));
    world.server.assert_clean();
}

async fn what_a_suspended_turn_needs_and_is_not_there_is_named(api: Api) {
    let workspace = Workspace::new();
    let call = Call::new("run_terminal_cmd", json!({"command": "touch made"}));
    let server = ModelServer::start(Script::new([Step::calls([call])])).await;
    let machine = Machine::new(plimsoll_tests::binary!())
        .model_with_key(&server, api, "SCRIPTED_KEY")
        .env("SCRIPTED_KEY", "secret")
        .env("PLIMSOLL_MODE", "ask");
    let mut daemon = machine.daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.start(&session, "make it").await;
    let ask = client.asked(&session).await;
    daemon.kill9().await;
    client.closed().await;
    daemon.unset("SCRIPTED_KEY");
    daemon.restart().await;
    let client = daemon.client().await;
    let answer = json!({"session": session, "ask": ask["id"], "choice": "allowOnce"});
    let error = client.err("permission/respond", answer).await;
    assert_eq!(error["data"]["kind"], "authRequired");
    assert!(error["message"].as_str().unwrap_or_default().contains("SCRIPTED_KEY"), "{error}");
    let info = client.ok("session/get", json!({"session": session})).await;
    assert_eq!((&info["state"], info["openAsks"].as_array().map(Vec::len)), (&json!("waiting"), Some(1)));
    assert_eq!(workspace.read("made"), None);
}
