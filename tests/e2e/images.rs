//! Images: beside a prompt and read by the model, over both APIs and to a model that takes none; what clients and the
//! mirror hear of them; the same bytes after a restart.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{Call, ModelServer, Script, Step};
use plimsoll_tests::over_both_apis;
use plimsoll_tests::sent::{assert_grows, assert_replayed};
use plimsoll_tests::told::items;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};

over_both_apis! { images_go_to_a_model_that_takes_them }

/// The smallest GIF of this size: a header and nothing more.
fn gif(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = b"GIF89a".to_vec();
    bytes.extend(width.to_le_bytes());
    bytes.extend(height.to_le_bytes());
    bytes.extend([0, 0, 0, 0x3b]);
    bytes
}

fn read(path: &str) -> Call {
    Call::new("read_file", json!({"target_file": path}))
}

fn machine(server: &ModelServer, api: Api, images: bool) -> Machine {
    let word = if api == Api::OpenaiChat { "openai-chat" } else { "anthropic-messages" };
    Machine::new(plimsoll_tests::binary!()).configure(&format!(
        "model = \"test/scripted\"\n[providers.test]\napi = \"{word}\"\nbase_url = \"{}\"\n\
         [providers.test.models.scripted]\ncontext_window = 200000\nmax_output = 8192\nimages = {images}\n\
         [permissions]\nmode = \"full\"\n",
        server.base_url(api)
    ))
}

/// Base64 of the images of a request, in order, from either wire.
fn sent(body: &Value) -> Vec<String> {
    let blocks = body["messages"].as_array().into_iter().flatten().filter_map(|message| message["content"].as_array());
    let data = |block: &Value| match block["type"].as_str() {
        Some("image") => block["source"]["data"].as_str().map(str::to_owned),
        Some("image_url") => block["image_url"]["url"].as_str()?.rsplit(',').next().map(str::to_owned),
        _ => None,
    };
    blocks.flatten().filter_map(data).collect()
}

async fn images_go_to_a_model_that_takes_them(api: Api) {
    let broken = b"\x89PNG\r\n\x1a\nnothing".to_vec();
    let workspace = Workspace::new().file("a.gif", gif(30, 40)).file("b.gif", gif(50, 60)).file("c.png", broken);
    let script = Script::new([
        Step::calls([read("a.gif"), read("c.png"), read("b.gif")]),
        Step::say("Two pictures."),
        Step::say("Still two."),
    ]);
    let server = ModelServer::start(script).await;
    let mut daemon = machine(&server, api, true).daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    let data = STANDARD.encode(gif(7, 8));
    let image = json!({"kind": "image", "name": "shot", "mimeType": "image/gif", "data": data});
    let prompt = json!({"session": session, "text": "What is this?", "attachments": [image]});
    let turn = client.ok("turn/start", prompt).await["turn"].as_u64().expect("a turn");
    client.completed(&session, turn).await;
    let events = client.events();
    drop(client);
    daemon.stop().await;
    daemon.restart().await;
    let client = daemon.client().await;
    client.attach(&session, 0).await;
    client.turn(&session, "And now?").await;

    let bodies: Vec<Value> =
        server.requests().iter().map(|request| serde_json::from_slice(&request.body).expect("JSON")).collect();
    let (a, b) = (STANDARD.encode(gif(30, 40)), STANDARD.encode(gif(50, 60)));
    assert_eq!(sent(&bodies[0]), std::slice::from_ref(&data));
    assert_eq!(sent(&bodies[1]), [data.clone(), a.clone(), b.clone()]);
    assert_eq!(sent(&bodies[2]), [data.clone(), a.clone(), b]);
    let results = server.requests()[1].results();
    assert!(results[0].1.contains("a.gif \u{b7} image/gif, 30x40, 14 bytes"), "{results:?}");
    assert!(results[1].1.contains("its header is broken"), "{results:?}");
    server.assert_clean();
    assert_grows(&server);

    let told = items(&events);
    let text = json!(told).to_string();
    assert!(!text.contains(&data) && !text.contains(&a), "clients hear no content");
    let user = told.iter().find(|item| item["kind"] == "user").expect("the prompt");
    assert_eq!(
        (&user["images"][0]["name"], &user["images"][0]["mimeType"], &user["images"][0]["width"]),
        (&json!("shot"), &json!("image/gif"), &json!(7))
    );
    let observed = told.iter().find(|item| item["kind"] == "observation").expect("an observation");
    assert_eq!(observed["calls"], json!(["c1", "c3"]));
    drop(client);
    assert_replayed(&mut daemon, &server).await;
}

#[tokio::test]
async fn a_model_that_takes_no_images_reads_their_names() {
    let workspace = Workspace::new().file("a.gif", gif(30, 40));
    let server = ModelServer::start(Script::new([Step::calls([read("a.gif")]), Step::say("I cannot see it.")])).await;
    let daemon = machine(&server, Api::OpenaiChat, false).daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.turn(&session, "What is in a.gif?").await;
    let body = String::from_utf8(server.requests()[1].body.to_vec()).expect("text");
    assert!(body.contains("- c1 a.gif (image/gif, 30x40, 14 bytes): not shown, this model takes no images"), "{body}");
    assert!(!body.contains("image_url"), "{body}");
    server.assert_clean();
}
