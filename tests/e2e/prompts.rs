//! Which texts the model gets: bundles, base prompts, languages, and own texts in the place of built-in ones.

use plimsoll_core::model::request::Api;
use plimsoll_tests::client::Client;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{ModelServer, Script, Step};
use plimsoll_tests::sent::assert_grows;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;

const API: Api = Api::AnthropicMessages;
const LEAN: &str = "\n\n# Harness\n";
const FULL: &str = "\n\n# Doing tasks\n";

struct Place {
    daemon: TestDaemon,
    server: ModelServer,
    workspace: Workspace,
    client: Client,
    project: Value,
}

impl Place {
    async fn begin(prompt: &str, answers: usize) -> Self {
        let server = ModelServer::start(Script::new((0..answers).map(|no| Step::say(&format!("Answer {no}."))))).await;
        let daemon = Machine::new(plimsoll_tests::binary!()).configure(&config(&server, prompt)).daemon().await;
        let client = daemon.client().await;
        let workspace = Workspace::new().file("a.txt", "a\n");
        let project = client.ok("project/open", json!({"roots": [workspace.text()]})).await;
        Self { daemon, server, workspace, client, project: project["key"].clone() }
    }

    fn configure(&self, prompt: &str) {
        let file = self.daemon.machine().config().join("config.toml");
        std::fs::write(file, config(&self.server, prompt)).expect("a configuration");
    }

    fn own_text(&self, path: &str, text: &str) {
        write(&self.daemon.machine().config().join("prompts").join(path), text);
    }

    async fn session(&self, base: Option<&str>) -> String {
        let session = self.client.ok("session/create", json!({"project": self.project, "basePrompt": base})).await;
        let id = session["id"].as_str().expect("a session has an id").to_owned();
        self.client.attach(&id, 0).await;
        id
    }

    /// A turn in this session; gives static text, dynamic text and the description of `grep` as its request had them.
    async fn sent(&self, session: &str) -> [String; 3] {
        assert_eq!(self.client.turn(session, "hello").await["stopReason"], "endTurn");
        let sent = self.server.requests().pop().expect("a request").json;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let tools = sent["tools"].as_array().cloned().unwrap_or_default();
        let grep = tools.iter().find(|tool| tool["name"] == "grep").map(|tool| text(&tool["description"]));
        [text(&sent["system"][0]["text"]), text(&sent["system"][1]["text"]), grep.unwrap_or_default()]
    }

    /// Texts of the notices of a session.
    async fn notices(&self, session: &str) -> Vec<String> {
        let page = self.client.ok("transcript/read", json!({"session": session})).await;
        let items = page["items"].as_array().cloned().unwrap_or_default();
        let notices = items.iter().filter(|item| item["kind"] == "notice");
        notices.map(|item| item["text"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

fn config(server: &ModelServer, prompt: &str) -> String {
    format!(
        "model = \"test/scripted\"\nlanguage = \"de\"\n[providers.test]\napi = \"anthropic-messages\"\nbase_url = \"{}\"\n\
         [providers.test.models.scripted]\ncontext_window = 200000\nmax_output = 8192\n[permissions]\nmode = \"full\"\n\
         [prompt]\n{prompt}",
        server.base_url(API)
    )
}

fn write(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().expect("a folder above")).expect("a folder");
    std::fs::write(file, text).expect("a file");
}

#[tokio::test]
async fn the_bundle_is_chosen_when_a_session_is_made_and_stays_with_it() {
    let mut place = Place::begin("bundle = \"lean\"\n", 4).await;
    let old = place.session(None).await;
    place.configure("lean = false\n");
    let new = place.session(None).await;
    let [lean, dynamic, _] = place.sent(&old).await;
    assert!(lean.contains(LEAN) && !lean.contains(FULL), "{lean}");
    assert!(dynamic.contains("# Language\n\nAnswer in the language `de`"), "{dynamic}");
    let [full, same, _] = place.sent(&new).await;
    assert!(full.contains(FULL) && !full.contains(LEAN), "{full}");
    assert_eq!(same, dynamic);
    place.daemon.stop().await;
    place.daemon.restart().await;
    place.configure("");
    place.client = place.daemon.client().await;
    for (session, bundle) in [(old, LEAN), (new, FULL)] {
        place.client.attach(&session, 0).await;
        let [text, _, _] = place.sent(&session).await;
        assert!(text.contains(bundle), "{text}");
    }
    place.server.assert_clean();
}

#[tokio::test]
async fn a_base_prompt_comes_from_the_client_or_the_configuration_and_is_kept() {
    let place = Place::begin("base_prompt = \"You are of the configuration.\"\n", 3).await;
    let (configured, asked) = (place.session(None).await, place.session(Some("You are {{X}}.")).await);
    place.configure("bundle = \"full\"\nbase_prompt = \"You are another.\"\n");
    for (session, begin) in [(&configured, "You are of the configuration.\n\n"), (&asked, "You are {{X}}.\n\n")] {
        let [text, _, _] = place.sent(session).await;
        assert!(text.starts_with(begin) && text.contains(LEAN), "{text}");
    }
    let [text, _, _] = place.sent(&place.session(None).await).await;
    assert!(text.starts_with("You are another.\n\n") && text.contains(FULL), "{text}");

    let refused =
        |base: String| place.client.err("session/create", json!({"project": place.project, "basePrompt": base}));
    let error = refused("word ".repeat(50_000)).await;
    assert!(error["message"].as_str().is_some_and(|text| text.starts_with("`basePrompt` has 249999 bytes")), "{error}");
    let error = refused(" ".to_owned()).await;
    assert!(error["message"].as_str().is_some_and(|text| text == "`basePrompt` is empty"), "{error}");
}

#[tokio::test]
async fn own_texts_count_from_the_next_epoch_on_and_broken_ones_are_told_and_not_used() {
    let place = Place::begin("", 5).await;
    place.own_text("lean/system.md", "{{identity}}\n\nMy text.\n");
    place.own_text("tools/grep/lean.md", "My {{word}}.\n");
    place.own_text("tools/grp/lean.md", "Mine.\n");
    let first = place.session(None).await;
    let [text, _, grep] = place.sent(&first).await;
    assert!(text.ends_with("\n\nMy text.") && grep.starts_with("Search file contents"), "{text}\n{grep}");
    let notices = place.notices(&first).await;
    let [broken, unknown] = notices.as_slice() else { panic!("{notices:?}") };
    assert!(broken.ends_with("grep/lean.md: has the placeholder {{word}}, which is not known here, so the built-in text is used; this text has none"), "{broken}");
    assert!(
        unknown.ends_with("there is no text `tools/grp/lean.md`, ignored; did you mean `tools/grep/lean.md`?"),
        "{unknown}"
    );

    place.own_text("tools/grep/lean.md", "My word.\n");
    let [same, _, grep] = place.sent(&first).await;
    assert_eq!((same, grep.starts_with("Search file contents")), (text, true));
    let second = place.session(None).await;
    let [_, _, grep] = place.sent(&second).await;
    assert_eq!(grep, "My word.");
    place.server.assert_clean();

    // A project's own count only when it is trusted.
    write(&place.workspace.path().join(".plimsoll/prompts/tools/read_file/lean.md"), "Read it.\n");
    let read_file = || {
        let sent = place.server.requests().pop().expect("a request").json;
        sent["tools"]
            .as_array()
            .and_then(|tools| Some(tools.iter().find(|tool| tool["name"] == "read_file")?["description"].clone()))
    };
    place.sent(&place.session(None).await).await;
    assert_ne!(read_file(), Some(json!("Read it.")));
    place.client.ok("project/trust", json!({"project": place.project, "trusted": true})).await;
    place.sent(&place.session(None).await).await;
    assert_eq!(read_file(), Some(json!("Read it.")));
}

#[tokio::test]
async fn inside_an_epoch_nothing_that_was_sent_changes_with_the_texts() {
    let place = Place::begin("", 2).await;
    let session = place.session(None).await;
    place.sent(&session).await;
    place.own_text("lean/system.md", "{{identity}}\n\nMy text.\n");
    place.sent(&session).await;
    assert_grows(&place.server);
}

#[tokio::test]
async fn the_doctor_names_own_texts_and_what_is_wrong_with_them() {
    let machine = Machine::new(plimsoll_tests::binary!()).env("PLIMSOLL_PROBE_PORTS", "");
    write(&machine.config().join("prompts/full/tone.md"), "Be kind.\n");
    write(&machine.config().join("prompts/full/care.md"), "\n");
    let mut command = machine.command(Path::new("/"), &["doctor", "--json"]);
    let output = in_time("the doctor", command.stdin(Stdio::null()).output()).await.expect("it runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    let found: Vec<&Value> = findings.iter().filter(|finding| finding["id"] == "texts.own").collect();
    let care = machine.config().join("prompts/full/care.md");
    let what = format!("{}: is empty, so the built-in text is used", care.display());
    assert_eq!(
        found,
        [
            &json!({"id": "texts.own", "level": "warn", "what": what, "fix": "write the text, or remove the file"}),
            &json!({"id": "texts.own", "level": "ok", "what": "own texts in the place of built-in ones: full/tone.md", "fix": null}),
        ]
    );
}
