//! What somebody else does to files that the model knows is told with the next prompt, once, and nothing that was sent moves.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Recorded, Script, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::assert_grows;
use plimsoll_tests::workspace::Workspace;
use serde_json::json;

over_both_apis! { a_change_by_somebody_else_is_told_once }

async fn a_change_by_somebody_else_is_told_once(api: Api) {
    let workspace = Workspace::new().file("a.txt", "one\n").file("b.txt", "keep\n").file("c.txt", "other\n");
    let read = |path: &str| Call::new("read_file", json!({"target_file": path}));
    let edit = json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"});
    let server = ModelServer::start(Script::new([
        Step::calls([read("a.txt"), read("b.txt")]),
        Step::calls([Call::new("string_replace", edit)]),
        Step::say("Done."),
        Step::say("Nothing happened."),
        Step::say("I see."),
        Step::say("Nothing new."),
    ]))
    .await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, api, "accept_edits").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let said = async |prompt: &str| {
        assert_eq!(client.turn(&session, prompt).await["stopReason"], "endTurn");
        let requests = server.requests();
        requests.last().and_then(Recorded::last_user_text).expect("a prompt")
    };
    client.turn(&session, "Change it").await;
    let own = said("Go on").await;
    assert!(!own.contains("edit_history"), "the model's own edit is no news: {own}");
    workspace.write("a.txt", "three\n");
    workspace.write("c.txt", "the model does not know this one\n");
    std::fs::remove_file(workspace.path().join("b.txt")).expect("it was there");
    let told = said("Look").await;
    assert!(told.contains("<edit_history>") && told.contains("/a.txt\n@@ -1,1 +1,1 @@\n-two\n+three\n"), "{told}");
    assert!(
        told.contains("gone: ") && told.contains("/b.txt\n</edit_history>") && !told.contains("c.txt\n@@"),
        "{told}"
    );
    let later = said("Once more").await;
    assert!(!later.contains("edit_history"), "{later}");
    server.assert_clean();
    assert_grows(&server);
}
