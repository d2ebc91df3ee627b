//! `plimsoll doctor`: what it finds on machines with something wrong, each with its fix, and that it touches nothing.

use plimsoll_core::model::request::Api;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{ModelServer, Script, Step, Usage};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Runs `plimsoll doctor` with these further arguments; exit code and output.
async fn doctor(machine: &Machine, arguments: &[&str]) -> (Option<i32>, String) {
    let arguments: Vec<&str> = std::iter::once("doctor").chain(arguments.iter().copied()).collect();
    let mut command = machine.command(Path::new("/"), &arguments);
    let output = in_time("the doctor", command.stdin(Stdio::null()).output()).await.expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (output.status.code(), String::from_utf8(output.stdout).expect("text"))
}

/// The same as JSON.
async fn report(machine: &Machine, arguments: &[&str]) -> (Option<i32>, Value) {
    let arguments: Vec<&str> = std::iter::once("--json").chain(arguments.iter().copied()).collect();
    let (code, output) = doctor(machine, &arguments).await;
    (code, serde_json::from_str(&output).expect("JSON"))
}

/// The findings with this id.
fn found(report: &Value, id: &str) -> Vec<Value> {
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().filter(|finding| finding["id"] == id).cloned().collect()
}

/// The only finding with this id.
fn one(report: &Value, id: &str) -> Value {
    let found = found(report, id);
    assert_eq!(found.len(), 1, "{id} in {report:#}");
    found[0].clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A machine whose folders are ours alone and on which no server is looked for.
fn machine() -> Machine {
    let machine = Machine::new(plimsoll_tests::binary!()).env("PLIMSOLL_PROBE_PORTS", "");
    for folder in [machine.config(), machine.data(), machine.runtime()] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700)).expect("a mode");
    }
    machine
}

/// Every file below a folder with its content.
fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(content(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_fresh_machine_is_well_and_stays_as_it_is() {
    let machine = machine();
    let (code, found) = report(&machine, &[]).await;
    assert_eq!((code, &found["errors"], &found["version"]), (Some(0), &json!(0), &json!(env!("CARGO_PKG_VERSION"))));
    for id in [
        "folders.config",
        "folders.data",
        "folders.runtime",
        "config.file",
        "daemon.process",
        "data.size",
        "system.git",
    ] {
        assert_eq!(one(&found, id)["level"], "ok", "{id} in {found:#}");
    }
    assert_eq!(one(&found, "config.model")["level"], "warn");
    for finding in found["findings"].as_array().expect("findings") {
        let well = finding["level"] == "ok";
        assert!(well || !text(&finding["fix"]).is_empty(), "no fix: {finding}");
    }
    let (code, shown) = doctor(&machine, &[]).await;
    assert_eq!(code, Some(0));
    for line in [
        "\nFolders\n",
        "\nConfiguration\n",
        "\nDaemon\n  ok     none runs; it is started when it is needed\n",
        "\nno errors, ",
    ] {
        assert!(shown.contains(line), "{line:?} is not in {shown}");
    }
    let files: Vec<_> =
        [machine.config(), machine.data(), machine.runtime()].iter().flat_map(|path| content(path)).collect();
    assert_eq!((files, machine.daemon_pid()), (Vec::new(), None));
}

#[tokio::test]
async fn what_is_wrong_has_its_fix_and_ends_with_one() {
    let machine = machine().env("OTHER_KEY", "hush-7").configure(
        "model = \"a/m\"\n[providers.a]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
         api_key_env = \"A_KEY\"\nbase_ulr = 3\n[providers.b]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
         api_key = \"hush-7\"\n",
    );
    std::fs::set_permissions(machine.data(), PermissionsExt::from_mode(0o755)).expect("a mode");
    let file = machine.config().join("config.toml");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("a mode");
    let (code, found) = report(&machine, &[]).await;
    assert_eq!((code, &found["errors"]), (Some(1), &json!(1)));
    let data = one(&found, "folders.data");
    assert_eq!(data["fix"], json!(format!("run `chmod 700 '{}'`", machine.data().display())));
    let key = json!({
        "id": "keys.provider", "level": "error", "what": "a: A_KEY is not set in this environment",
        "fix": "export A_KEY where your shell or editor starts, or use api_key_command",
    });
    assert_eq!(self::found(&found, "keys.provider")[0], key);
    let warnings: Vec<Value> = self::found(&found, "config.warning").iter().map(|one| one["fix"].clone()).collect();
    assert!(warnings.contains(&json!("did you mean `providers.a.base_url`?")), "{warnings:?}");
    assert!(warnings.contains(&json!("run `chmod 600` on the file, or use api_key_env")), "{warnings:?}");
    assert!(!found.to_string().contains("hush-7"));

    let machine = machine.configure("model = \n");
    let (code, found) = report(&machine, &[]).await;
    let error = one(&found, "config.error");
    assert_eq!((code, &error["fix"]), (Some(1), &json!("Correct this line")));
    assert!(text(&error["what"]).starts_with(&format!("{}:1: not valid TOML", file.display())), "{error}");
}

#[tokio::test]
async fn a_running_daemon_is_asked_and_its_databases_are_read_beside_it() {
    let workspace = Workspace::new();
    let server = ModelServer::start(Script::new([Step::say("Done.")])).await;
    let mut daemon = machine().model(&server, Api::OpenaiChat, "ask").daemon().await;
    let client = daemon.client().await;
    let session = client.session(&workspace).await;
    client.turn(&session, "hello").await;
    let (code, found) = report(daemon.machine(), &[]).await;
    assert_eq!(code, Some(0), "{found:#}");
    let process = one(&found, "daemon.process");
    assert!(
        process["level"] == "ok" && text(&process["what"]).contains(&format!("process {}", daemon.pid())),
        "{process}"
    );
    let project = one(&found, "data.project");
    assert!(project["level"] == "ok" && text(&project["what"]).contains(workspace.text()), "{project}");

    daemon.stop().await;
    let mut database = content(&daemon.machine().data()).into_iter().map(|(path, _)| path);
    let database = database.find(|path| path.ends_with("plimsoll.db")).expect("a project's database");
    let mut bytes = std::fs::read(&database).expect("a database");
    bytes[60..64].copy_from_slice(&999_u32.to_be_bytes());
    std::fs::write(&database, bytes).expect("a newer database");
    let before = content(&daemon.machine().data());
    let (code, found) = report(daemon.machine(), &[]).await;
    let project = one(&found, "data.project");
    assert_eq!((code, &project["level"]), (Some(1), &json!("error")));
    assert_eq!(project["fix"], "install the newer build again, or move the file away");
    assert_eq!(content(&daemon.machine().data()), before, "nothing is touched");
    server.assert_clean();
}

#[tokio::test]
async fn a_provider_is_tried_with_one_small_call() {
    let usage = Usage { input: 21, cached: 0, written: 0, output: 4 };
    let wrong =
        json!({"error": {"message": "bad key hush-9", "type": "invalid_request_error", "code": "invalid_api_key"}});
    let server = ModelServer::start(Script::new([Step::say("ok").usage(usage), Step::error(401, wrong)])).await;
    let machine = machine().env("A_KEY", "hush-9").model_with_key(&server, Api::OpenaiChat, "A_KEY");
    let (code, found) = report(&machine, &["--provider", "test"]).await;
    let call = one(&found, "provider.call");
    assert_eq!((code, &call["level"]), (Some(0), &json!("ok")), "{call}");
    let what = text(&call["what"]);
    assert!(what.starts_with("test/scripted answered \"ok\": first word after "), "{what}");
    assert!(what.ends_with(" ms, 21 tokens in, 4 out"), "{what}");
    let [request] = server.requests().try_into().expect("one call");
    assert_eq!(request.header("authorization"), Some("Bearer hush-9"));
    assert!(request.body.len() < 500 && request.json["model"] == "scripted", "{}", request.json);

    let (code, found) = report(&machine, &["--provider", "test/scripted"]).await;
    let call = one(&found, "provider.call");
    assert_eq!((code, &call["level"]), (Some(1), &json!("error")));
    assert!(text(&call["what"]).contains("bad key [key]; the key came from the variable A_KEY"), "{call}");
    assert!(text(&call["fix"]).contains("see that the key is the right one") && !found.to_string().contains("hush-9"));
    let (code, found) = report(&machine, &["--provider", "tset"]).await;
    assert_eq!((code, &one(&found, "provider.call")["fix"]), (Some(1), &json!("Did you mean `test`?")));
    assert_eq!((server.requests().len(), machine.daemon_pid()), (2, None));
    server.assert_clean();
}

#[tokio::test]
async fn a_server_on_this_machine_comes_with_the_lines_that_use_it() {
    let server = ModelServer::start(Script::new([Step::say("ok")])).await;
    let machine = machine().env("PLIMSOLL_PROBE_PORTS", &server.addr().port().to_string());
    let (code, found) = report(&machine, &[]).await;
    let answer = one(&found, "servers.found");
    assert_eq!((code, &answer["level"]), (Some(0), &json!("ok")));
    assert_eq!(answer["what"], json!(format!("vLLM answers at http://{}/v1 with scripted", server.addr())));
    let (head, lines) = text(&answer["fix"]).split_once('\n').expect("lines to write");
    assert_eq!(head, format!("to use it, write into {}:", machine.config().join("config.toml").display()));
    let machine = machine.configure(lines);
    let (code, found) = report(&machine, &["--provider", "vllm"]).await;
    assert_eq!(code, Some(0), "{found:#}");
    assert_eq!(one(&found, "config.model")["what"], "model vllm/scripted, window 200000 tokens, mode ask");
    let answer = one(&found, "servers.found");
    assert!(text(&answer["what"]).ends_with(": provider `vllm`") && answer["fix"].is_null(), "{answer}");
    assert_eq!(one(&found, "provider.call")["level"], "ok");
    let machine = machine.env("PLIMSOLL_PROBE_PORTS", "80x");
    let (code, found) = report(&machine, &[]).await;
    assert_eq!((code, &one(&found, "servers.ports")["level"]), (Some(1), &json!("error")));
    server.assert_clean();
}
