//! What clients may see and say of what the model is told: memories that the user keeps, rules, skills, texts, the todo list.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Seen, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

#[tokio::test]
async fn what_the_user_keeps_is_told_to_the_model_and_can_be_changed() {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([Step::say("Yes.")])).await;
    let daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let project = client.ok("session/get", json!({"session": session})).await["project"].clone();
    let put = |more: Value| {
        let mut params = json!({"project": project});
        params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        params
    };
    let kept = client.ok("memory/put", put(json!({"title": "Use pnpm", "text": "Never npm."}))).await;
    assert_eq!((&kept["id"], &kept["session"], &kept["item"]), (&json!("m1"), &Value::Null, &Value::Null));
    assert_eq!(client.ok("memory/put", put(json!({"title": "Use pnpm", "text": "Never npm."}))).await, kept);
    let changed = client.ok("memory/put", put(json!({"id": "m1", "text": "Never npm, nor yarn."}))).await;
    assert_eq!((&changed["id"], &changed["title"]), (&json!("m1"), &json!("Use pnpm")));
    let user = client.ok("memory/put", put(json!({"scope": "user", "title": "Answer briefly"}))).await;
    assert_eq!(user["id"], "u1");
    let read = client.ok("memory/get", json!({"project": project, "id": "m1"})).await;
    assert_eq!((&read["memory"], &read["text"]), (&changed, &json!("Never npm, nor yarn.\n")));
    let file = std::fs::read_to_string(kept["path"].as_str().expect("a path")).expect("its file");
    assert_eq!(file, "# Use pnpm\n\nNever npm, nor yarn.\n");
    assert_eq!(client.ok("memory/list", json!({"project": project})).await["memories"], json!([changed, user]));

    for (wrong, kind) in [
        (json!({"text": "no title"}), "invalidParams"),
        (json!({"title": "two\nlines"}), "invalidParams"),
        (json!({"id": "m9", "title": "x"}), "notFound"),
        (json!({"id": "x9", "title": "x"}), "invalidParams"),
        (json!({"id": "m1"}), "invalidParams"),
        (json!({"id": "m1", "scope": "user", "title": "x"}), "invalidParams"),
    ] {
        let error = client.err("memory/put", put(wrong.clone())).await;
        assert_eq!(error["data"]["kind"], kind, "{wrong}: {error}");
        assert!(error["data"]["hint"].is_string(), "{wrong}: {error}");
    }
    let error = client.err("memory/get", json!({"project": project, "id": "m9"})).await;
    assert_eq!(
        (&error["data"]["kind"], &error["data"]["hint"]),
        (&json!("notFound"), &json!("memory/list shows the memories"))
    );

    client.turn(&session, "hello").await;
    let told: String = server.requests()[0]
        .seen()
        .into_iter()
        .filter_map(|seen| match seen {
            Seen::System(text) | Seen::User(text) => Some(text),
            Seen::Assistant { .. } | Seen::Result(..) => None,
        })
        .collect();
    assert!(told.contains("Use pnpm") && told.contains("Answer briefly"), "{told}");
}

#[tokio::test]
async fn rules_skills_texts_and_the_todo_list_are_shown_as_they_are() {
    let workspace = Workspace::new()
        .file("AGENTS.md", "Use tabs.\n")
        .file(".plimsoll/rules/sql.md", "---\ndescription: Queries\nglobs: \"*.sql\"\n---\nUpper case.\n")
        .file(".plimsoll/rules/words.md", "---\ndescription: Words\n---\nBritish.\n")
        .file(".plimsoll/skills/release/SKILL.md", "---\ndescription: Releases\n---\nTag it.\n");
    let todos = json!([{"id": "1", "content": "look", "status": "in_progress"}, {"id": "2", "content": "act", "status": "pending"}]);
    let server = ModelServer::start(Script::new([
        Step::calls([Call::new("todo_write", json!({"merge": false, "todos": todos}))]),
        Step::say("Planned."),
    ]))
    .await;
    let machine = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask");
    let own = machine.config().join("prompts/lean/identity.md");
    std::fs::create_dir_all(own.parent().expect("a folder")).expect("a folder");
    std::fs::write(&own, "You are Tester.\n").expect("a text");
    let daemon = machine.daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let project = client.ok("session/get", json!({"session": session})).await["project"].clone();
    let of_project = json!({"project": project});

    let rules = client.ok("rule/list", of_project.clone()).await;
    let path = |name: &str| workspace.path().join(name).to_str().expect("plain").to_owned();
    assert_eq!(
        rules["rules"],
        json!([
            {"name": "AGENTS", "path": path("AGENTS.md"), "applies": "always"},
            {"name": "sql", "path": path(".plimsoll/rules/sql.md"), "applies": "touched", "description": "Queries", "globs": ["*.sql"]},
            {"name": "words", "path": path(".plimsoll/rules/words.md"), "applies": "asked", "description": "Words"},
        ])
    );
    assert_eq!(client.ok("skill/list", of_project.clone()).await["skills"], json!([]), "the project is not trusted");
    client.ok("project/trust", json!({"project": project, "trusted": true})).await;
    assert_eq!(
        client.ok("skill/list", of_project.clone()).await["skills"],
        json!([{"name": "release", "description": "Releases", "path": path(".plimsoll/skills/release/SKILL.md")}])
    );

    assert_eq!(client.ok("todo/get", json!({"session": session})).await["todos"], json!([]));
    client.turn(&session, "plan it").await;
    assert_eq!(
        client.ok("todo/get", json!({"session": session})).await["todos"],
        json!([{"id": "1", "content": "look", "status": "inProgress"}, {"id": "2", "content": "act", "status": "pending"}])
    );

    // After the first turn the texts of its epoch are in force.
    let listed = client.ok("prompt/list", json!({"session": session})).await;
    let bundle = listed["bundle"].as_str().expect("a word");
    let texts = listed["texts"].as_array().expect("a list");
    let paths: Vec<&str> = texts.iter().filter_map(|text| text["path"].as_str()).collect();
    assert!(paths.is_sorted() && paths.contains(&"reminders/interrupted.md"), "{paths:?}");
    let other = if bundle == "lean" { "full/" } else { "lean/" };
    assert!(!paths.iter().any(|path| path.starts_with(other)), "{paths:?}");
    if bundle == "lean" {
        let identity = texts.iter().find(|text| text["path"] == "lean/identity.md").expect("the identity");
        let expected =
            json!({"path": "lean/identity.md", "source": "own", "file": own.to_str().expect("plain"), "bytes": 15});
        assert_eq!(*identity, expected);
    }

    std::fs::rename(workspace.path(), workspace.path().with_extension("gone")).expect("a rename");
    let error = client.err("rule/list", of_project).await;
    std::fs::rename(workspace.path().with_extension("gone"), workspace.path()).expect("a rename");
    assert_eq!(error["data"]["kind"], "workspaceMissing", "{error}");
}
