//! Model servers on this machine: which ports answer as one, with which models. Nothing of a conversation is sent, only
//! lists are asked for. Called by `cli` when a person looks for something to use; whether it is used, that person says.

use super::address::Route;
use super::http::build;
use futures_util::future::join_all;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use std::time::Duration;

/// The ports on which model servers listen when nobody says otherwise: llama.cpp, Ollama, LM Studio, vLLM.
pub const USUAL_PORTS: &[u16] = &[8080, 11434, 1234, 8000];

/// Ports that are looked at in one search; more is a scan and not a look.
pub const PORTS_MAX: usize = 16;

/// Until a connection on this machine stands. Nobody listens: refused at once.
const CONNECT: Duration = Duration::from_millis(500);
/// For one list, from a server that may be busy with a model.
const ANSWER: Duration = Duration::from_millis(1_500);
/// Longest list that is read: thousands of models.
const LIST_MAX: usize = 1024 * 1024;
/// Models of one server that are kept.
const MODELS_MAX: usize = 100;
/// Longest name of a model that is taken.
const NAME_MAX: usize = 200;

/// Which program answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// `llama-server`.
    LlamaCpp,
    /// Ollama.
    Ollama,
    /// LM Studio.
    LmStudio,
    /// vLLM.
    Vllm,
    /// One that speaks Chat Completions and does not say who it is.
    Other,
}

impl ServerKind {
    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::LlamaCpp => "llama.cpp",
            Self::Ollama => "Ollama",
            Self::LmStudio => "LM Studio",
            Self::Vllm => "vLLM",
            Self::Other => "a model server",
        }
    }

    /// A name for it as a provider in the configuration.
    pub fn provider(self) -> &'static str {
        match self {
            Self::LlamaCpp => "llama-cpp",
            Self::Ollama => "ollama",
            Self::LmStudio => "lm-studio",
            Self::Vllm => "vllm",
            Self::Other => "local",
        }
    }

    /// By the owner that a list of models names, else by the port.
    fn of(owner: Option<&str>, port: u16) -> Self {
        match owner {
            Some("llamacpp") => Self::LlamaCpp,
            Some("library" | "ollama") => Self::Ollama,
            Some("organization_owner" | "organization-owner") => Self::LmStudio,
            Some("vllm") => Self::Vllm,
            _ => match port {
                8080 => Self::LlamaCpp,
                11434 => Self::Ollama,
                1234 => Self::LmStudio,
                8000 => Self::Vllm,
                _ => Self::Other,
            },
        }
    }
}

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// What it is.
    pub kind: ServerKind,
    /// What a configuration writes as `base_url` for the API `openai-chat`.
    pub base_url: String,
    /// Its models, never none; those that are in memory first.
    pub models: Vec<LocalModel>,
}

/// A model that a server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalModel {
    /// The server's name of it; printable, without blanks.
    pub name: String,
    /// The window that the server runs it with, in tokens, where it tells.
    pub context_window: Option<u64>,
}

/// Asks all these ports of 127.0.0.1 at the same time; in their order, what answers as a model server with a model. Takes
/// seconds at most, milliseconds where nobody listens.
pub async fn find(ports: &[u16]) -> Vec<LocalServer> {
    let Ok(client) = build(Route::Loopback, CONNECT) else { return Vec::new() };
    let client = &client;
    let found = join_all(ports.iter().take(PORTS_MAX).map(|port| look(client, *port))).await;
    found.into_iter().flatten().collect()
}

async fn look(client: &Client, port: u16) -> Option<LocalServer> {
    let origin = format!("http://127.0.0.1:{port}");
    let list = answer(client.get(format!("{origin}/v1/models"))).await?;
    let (owner, mut models) = listed(&list)?;
    let kind = ServerKind::of(owner.as_deref(), port);
    match kind {
        ServerKind::Ollama => ollama(client, &origin, &mut models).await,
        ServerKind::LmStudio => {
            if let Some(answer) = answer(client.get(format!("{origin}/api/v0/models"))).await {
                take_lm_studio(&answer, &mut models);
            }
        }
        ServerKind::LlamaCpp => {
            // Builds that do not tell it in the list.
            if let Some(model) = models.first_mut().filter(|model| model.context_window.is_none()) {
                let told = answer(client.get(format!("{origin}/props"))).await;
                model.context_window = told.as_ref().and_then(n_ctx);
            }
        }
        ServerKind::Vllm | ServerKind::Other => {}
    }
    (!models.is_empty()).then(|| LocalServer { kind, base_url: format!("{origin}/v1"), models })
}

/// A JSON document of bounded size, in time; anything else is nothing.
async fn answer(request: RequestBuilder) -> Option<Value> {
    let read = async {
        let mut response = request.send().await.ok().filter(|response| response.status().is_success())?;
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.ok()? {
            body.extend_from_slice(&bytes);
            if body.len() > LIST_MAX {
                return None;
            }
        }
        serde_json::from_slice(&body).ok()
    };
    tokio::time::timeout(ANSWER, read).await.ok().flatten()
}

/// The first owner and the models of a list in the form of `GET /v1/models`.
fn listed(list: &Value) -> Option<(Option<String>, Vec<LocalModel>)> {
    let data = list.get("data")?.as_array()?;
    let owner = data.iter().find_map(|model| model.get("owned_by")?.as_str()).map(str::to_owned);
    let models = data.iter().filter_map(|model| {
        let name = model.get("id")?.as_str().filter(|name| is_usable(name))?;
        // vLLM's place for it, and llama.cpp's.
        let window = model.get("max_model_len").or_else(|| model.pointer("/meta/n_ctx"));
        Some(LocalModel { name: name.to_owned(), context_window: window.and_then(Value::as_u64) })
    });
    Some((owner, models.take(MODELS_MAX).collect()))
}

/// Whether a name can be written down and is that of a model to talk with. Ollama runs models with these endings
/// elsewhere, which is not what a server on this machine promises.
fn is_usable(name: &str) -> bool {
    let plain = !name.is_empty() && name.len() <= NAME_MAX && name.bytes().all(|byte| byte.is_ascii_graphic());
    plain && !name.to_ascii_lowercase().contains("embed") && !name.ends_with(":cloud") && !name.ends_with("-cloud")
}

async fn ollama(client: &Client, origin: &str, models: &mut [LocalModel]) {
    if let Some(loaded) = answer(client.get(format!("{origin}/api/ps"))).await {
        take_ollama_loaded(&loaded, models);
    }
    let Some(first) = models.first_mut().filter(|model| model.context_window.is_none()) else { return };
    let show = client.post(format!("{origin}/api/show")).body(json!({"model": first.name}).to_string());
    first.context_window = answer(show).await.and_then(|shown| num_ctx(&shown));
}

/// What is in memory stands first, with the window that it was loaded with.
fn take_ollama_loaded(answer: &Value, models: &mut [LocalModel]) {
    let loaded = answer.get("models").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let window = |name: &str| {
        let of = |model: &&Value| model.get("name").and_then(Value::as_str) == Some(name);
        loaded.iter().find(of).map(|model| model.get("context_length").and_then(Value::as_u64))
    };
    for model in models.iter_mut() {
        model.context_window = window(&model.name).flatten();
    }
    models.sort_by_key(|model| window(&model.name).is_none());
}

/// The window that a model of Ollama's is made with. The `context_length` of its family is what it could have, not what
/// the server gives it, so it is not taken.
fn num_ctx(shown: &Value) -> Option<u64> {
    let parameters = shown.get("parameters")?.as_str()?;
    let value = |line: &str| line.trim().strip_prefix("num_ctx")?.trim().parse().ok();
    parameters.lines().find_map(value)
}

/// The window that `llama-server` gives a conversation.
fn n_ctx(props: &Value) -> Option<u64> {
    props.pointer("/default_generation_settings/n_ctx")?.as_u64()
}

/// What LM Studio says of its models: which are for talking, which are loaded and with what window.
fn take_lm_studio(answer: &Value, models: &mut Vec<LocalModel>) {
    let told = answer.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let of = |name: &str| told.iter().find(|model| model.get("id").and_then(Value::as_str) == Some(name));
    let text = |name: &str, key: &str| of(name).and_then(|model| model.get(key)).and_then(Value::as_str);
    models.retain(|model| text(&model.name, "type") != Some("embeddings"));
    for model in models.iter_mut() {
        let window = of(&model.name).and_then(|told| told.get("loaded_context_length")).and_then(Value::as_u64);
        model.context_window = window.or(model.context_window);
    }
    models.sort_by_key(|model| text(&model.name, "state") != Some("loaded"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str, context_window: Option<u64>) -> LocalModel {
        LocalModel { name: name.to_owned(), context_window }
    }

    #[test]
    fn a_list_gives_names_that_can_be_written_and_windows_where_it_tells() {
        let list = json!({"object": "list", "data": [
            {"id": "big", "owned_by": "vllm", "max_model_len": 40_960},
            {"id": "two words"}, {"id": "a\u{1b}[2J"}, {"id": ""}, {"id": 7}, {"id": "x".repeat(NAME_MAX + 1)},
            {"id": "nomic-Embed-text"}, {"id": "huge:cloud"},
            {"id": "small", "meta": {"n_ctx": 4_096, "n_ctx_train": 8_192}}, {"id": "untold"},
        ]});
        let expected = (
            Some("vllm".to_owned()),
            vec![model("big", Some(40_960)), model("small", Some(4_096)), model("untold", None)],
        );
        assert_eq!(listed(&list), Some(expected));
        for other in [json!("hello"), json!({"data": "x"}), json!([])] {
            assert_eq!(listed(&other), None, "{other}");
        }
    }

    #[test]
    fn the_owner_tells_the_program_and_else_the_port() {
        let kinds = [
            (Some("llamacpp"), 1, ServerKind::LlamaCpp),
            (Some("library"), 1, ServerKind::Ollama),
            (Some("organization_owner"), 1, ServerKind::LmStudio),
            (Some("vllm"), 8080, ServerKind::Vllm),
            (Some("me"), 11434, ServerKind::Ollama),
            (None, 1234, ServerKind::LmStudio),
            (None, 1, ServerKind::Other),
        ];
        for (owner, port, expected) in kinds {
            assert_eq!(ServerKind::of(owner, port), expected, "{owner:?} at {port}");
        }
    }

    #[test]
    fn what_is_in_memory_comes_first_with_the_window_that_it_runs_with() {
        let mut models = vec![model("a", None), model("b", None)];
        take_ollama_loaded(&json!({"models": [{"name": "b", "context_length": 8_192}]}), &mut models);
        assert_eq!(models, [model("b", Some(8_192)), model("a", None)]);

        let mut models = vec![model("a", None), model("e", None), model("b", None)];
        let told = json!({"data": [
            {"id": "a", "type": "llm", "state": "not-loaded", "max_context_length": 131_072},
            {"id": "e", "type": "embeddings"},
            {"id": "b", "type": "vlm", "state": "loaded", "loaded_context_length": 4_096},
        ]});
        take_lm_studio(&told, &mut models);
        assert_eq!(models, [model("b", Some(4_096)), model("a", None)]);
    }

    #[test]
    fn the_window_of_llama_cpp_is_that_of_one_conversation() {
        let props = json!({"default_generation_settings": {"n_ctx": 2_048, "params": {}}, "total_slots": 4});
        assert_eq!((n_ctx(&props), n_ctx(&json!({"n_ctx": 1}))), (Some(2_048), None));
    }

    #[test]
    fn the_window_of_an_ollama_model_is_the_one_it_is_made_with() {
        let shown = json!({
            "parameters": "stop           \"<|x|>\"\nnum_ctx        16384\n",
            "model_info": {"llama.context_length": 131_072},
        });
        assert_eq!(num_ctx(&shown), Some(16_384));
        assert_eq!(num_ctx(&json!({"model_info": {"llama.context_length": 131_072}})), None);
    }

    #[tokio::test]
    async fn what_is_no_model_server_is_not_found() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 5\r\n\r\n<html";
            stream.write_all(page.as_bytes()).await.unwrap();
            stream
        };
        let ports = [port];
        let (found, _stream) = tokio::join!(find(&ports), serve);
        assert_eq!(found, []);
        drop(listener);
        assert_eq!(find(&ports).await, []);
    }
}
