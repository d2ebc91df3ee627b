//! The environment of a session is that of its client, whoever started the daemon, and after a reconnect that of the client
//! that came back.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::json;

#[tokio::test]
async fn two_clients_of_one_daemon_have_their_own_path_proxy_and_locale() {
    let print = || {
        let command = "printf '[[%s %s %s]]' \"$PATH\" \"$HTTPS_PROXY\" \"$LC_TIME\"";
        [Step::calls([Call::new("run_terminal_cmd", json!({"command": command}))]), Step::say("Done.")]
    };
    let server = ModelServer::start(Script::new([print(), print(), print(), print()].into_iter().flatten())).await;
    let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "full").daemon().await;
    let path = daemon.machine().environment()["PATH"].clone();
    let workspaces = [Workspace::new(), Workspace::new()];
    let mut clients = Vec::new();
    let mut seen = Vec::new();
    for (name, workspace) in ["one", "two"].into_iter().zip(&workspaces) {
        daemon.set("PATH", &format!("/{name}:{path}"));
        daemon.set("HTTPS_PROXY", &format!("http://{name}.invalid"));
        daemon.set("LC_TIME", name);
        let client = daemon.client().await;
        let session = client.session(workspace).await;
        clients.push((client, session));
    }
    for (client, session) in &clients {
        client.turn(session, "print it").await;
    }
    let (client, session) = clients.remove(0);
    drop(client);
    daemon.set("PATH", &format!("/three:{path}"));
    let back = daemon.client().await;
    back.attach(&session, 0).await;
    let turn = back.start(&session, "print it").await;
    back.completed(&session, turn).await;
    let (client, session) = &clients[0];
    client.turn(session, "print it").await;
    for request in server.requests().iter().skip(1).step_by(2) {
        let (_, text) = request.results().pop().expect("a result");
        let printed = text.rsplit("[[").next().and_then(|rest| rest.split("]]").next()).expect("what was printed");
        seen.push(printed.replace(&path, "…"));
    }
    let expected = [
        "/one:… http://one.invalid one",
        "/two:… http://two.invalid two",
        "/three:… http://two.invalid two",
        "/two:… http://two.invalid two",
    ];
    assert_eq!(seen, expected);
    server.assert_clean();
}
