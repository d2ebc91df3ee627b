//! Commands in the background: they outlive their turn, their end is told to clients and once to the model, and they end
//! with the session and the daemon.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::gone::Watched;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Seen, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::{assert_grows, assert_replayed};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

over_both_apis! {
    an_end_is_told_at_the_next_turn_and_the_output_can_be_asked_for
    one_that_is_stopped_is_told_by_the_result
    a_deleted_session_ends_it
    a_daemon_that_dies_ends_it_and_the_model_is_told_once
    a_daemon_that_is_stopped_ends_it_and_the_model_is_told_once
}

/// Goes on until the file `go` is there; says in which process.
const SERVE: &str = "echo process $$ .; until [ -e go ]; do sleep 0.05; done; echo went; exit 3";

fn serve() -> Call {
    Call::new("run_terminal_cmd", json!({"command": SERVE, "is_background": true}))
}

struct World {
    daemon: TestDaemon,
    server: ModelServer,
    client: Client,
    session: String,
    workspace: Workspace,
}

impl World {
    /// A first turn that leaves the command running.
    async fn begin(api: Api, rest: impl IntoIterator<Item = Step>) -> (Self, Watched) {
        let workspace = Workspace::new();
        let steps = [Step::calls([serve()]), Step::say("It runs.")].into_iter().chain(rest);
        let server = ModelServer::start(Script::new(steps)).await;
        let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "full").daemon().await;
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        let end = client.turn(&session, "start it").await;
        assert_eq!((&end["stopReason"], &end["unsettled"]), (&json!("endTurn"), &json!([])));
        let result = result(&client.events(), "c1");
        assert_eq!((&result["status"], &result["data"]["kind"]), (&json!("ok"), &json!("task")));
        assert_eq!(result["data"]["run"]["exit"], json!({"type": "running"}));
        let printed = result["data"]["run"]["output"]["head"].as_str().unwrap_or_default();
        let pid = printed.split(' ').nth(1).and_then(|pid| pid.parse().ok()).expect("a process number");
        (Self { daemon, server, client, session, workspace }, Watched::new(pid))
    }

    async fn finish(mut self) {
        self.server.assert_clean();
        assert_eq!(self.server.steps_left(), 0);
        assert_grows(&self.server);
        assert_replayed(&mut self.daemon, &self.server).await;
    }

    /// How often the last request speaks of ended commands, and what the first of them says.
    fn told(&self) -> (usize, String) {
        let request = self.server.requests().pop().expect("a request");
        let seen = request.seen().into_iter().filter_map(|seen| match seen {
            Seen::User(text) if text.contains("in the background have ended") => Some(text),
            _ => None,
        });
        let told: Vec<String> = seen.collect();
        (told.len(), told.first().cloned().unwrap_or_default())
    }
}

fn result(events: &[Value], call: &str) -> Value {
    let of = |event: &&Value| event["item"]["kind"] == "toolResult" && event["item"]["call"] == call;
    events.iter().find(of).map(|event| event["item"].clone()).expect("a result")
}

async fn ended(client: &Client) -> Value {
    let is = |event: &Value| event["type"] == "taskEnded";
    let events = client.wait_events("the command's end", |events| events.iter().any(is)).await;
    events.into_iter().find(is).expect("waited for it")
}

async fn an_end_is_told_at_the_next_turn_and_the_output_can_be_asked_for(api: Api) {
    let ask = Call::new("task_output", json!({"id": "c1"}));
    let (world, process) = World::begin(api, [Step::calls([ask]), Step::say("It failed.")]).await;
    world.workspace.write("go", "");
    process.gone().await;
    let end = ended(&world.client).await;
    assert_eq!((&end["call"], &end["exit"]), (&json!("c1"), &json!({"type": "code", "code": 3})));
    assert_eq!(world.client.turn(&world.session, "and now?").await["stopReason"], "endTurn");
    let (times, text) = world.told();
    assert!(times == 1 && text.contains("exit code 3 after ") && text.contains("c1 echo process"), "{text}");
    let shown = result(&world.client.events(), "c2");
    assert_eq!(shown["data"]["run"]["output"]["head"], "went\n");
    assert!(shown["text"].as_str().unwrap_or_default().contains("exit code 3"), "{shown}");
    world.finish().await;
}

async fn one_that_is_stopped_is_told_by_the_result(api: Api) {
    let stop = Call::new("stop_task", json!({"id": "c1"}));
    let (world, process) = World::begin(api, [Step::calls([stop]), Step::say("Stopped.")]).await;
    assert_eq!(world.client.turn(&world.session, "stop it").await["stopReason"], "endTurn");
    process.gone().await;
    let end = ended(&world.client).await;
    assert_eq!(end["exit"], json!({"type": "cancelled"}));
    assert_eq!(world.told(), (0, String::new()));
    let shown = result(&world.client.events(), "c2");
    assert!(shown["text"].as_str().unwrap_or_default().contains("stopped, ended with everything"), "{shown}");
    world.finish().await;
}

async fn a_deleted_session_ends_it(api: Api) {
    let (world, process) = World::begin(api, []).await;
    world.client.ok("session/delete", json!({"session": world.session})).await;
    process.gone().await;
    world.server.assert_clean();
}

async fn a_daemon_that_dies_ends_it_and_the_model_is_told_once(api: Api) {
    let (mut world, process) = World::begin(api, [Step::say("It is gone."), Step::say("Still.")]).await;
    world.daemon.kill9().await;
    world.client.closed().await;
    process.gone().await;
    world.daemon.restart().await;
    world.client = world.daemon.client().await;
    world.client.attach(&world.session, 0).await;
    let info = world.client.ok("session/get", json!({"session": world.session})).await;
    assert_eq!(info["state"], "idle", "no turn was cut");
    let end = world.client.turn(&world.session, "and now?").await;
    assert_eq!((&end["stopReason"], &end["unsettled"]), (&json!("endTurn"), &json!(["c1"])));
    let (times, text) = world.told();
    assert!(times == 1 && text.contains("the daemon ended, and this command with it"), "{text}");
    assert_eq!(world.client.turn(&world.session, "sure?").await["stopReason"], "endTurn");
    assert_eq!(world.told().0, 1);
    world.finish().await;
}

async fn a_daemon_that_is_stopped_ends_it_and_the_model_is_told_once(api: Api) {
    let (mut world, process) = World::begin(api, [Step::say("It was stopped.")]).await;
    world.daemon.stop().await;
    world.client.closed().await;
    process.gone().await;
    world.daemon.restart().await;
    world.client = world.daemon.client().await;
    world.client.attach(&world.session, 0).await;
    assert_eq!(ended(&world.client).await["exit"], json!({"type": "cancelled"}));
    let end = world.client.turn(&world.session, "and now?").await;
    assert_eq!((&end["stopReason"], &end["unsettled"]), (&json!("endTurn"), &json!([])));
    let (times, text) = world.told();
    assert!(times == 1 && text.contains("stopped, ended with everything it started after "), "{text}");
    world.finish().await;
}
