//! One tiny call to a provider, as a turn would make it: with its key, its URL, one of its models.

use super::configuration::of_error;
use super::finding::Finding;
use crate::config::Config;
use crate::process::key_command;
use crate::provider::{Http, resolve_key};
use plimsoll_core::model::catalog::ModelProfile;
use plimsoll_core::model::codec;
use plimsoll_core::model::error::{ErrorClass, ModelError};
use plimsoll_core::model::event::{BlockContent, ModelEvent};
use plimsoll_core::model::request::{Message, Params};
use plimsoll_core::model::usage::Usage;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Most tokens of the answer: room for a model that thinks before it says a word.
const ANSWER_TOKENS: u32 = 256;
/// How long the whole may take; a server on this machine may first have to load the model.
const WITHIN: Duration = Duration::from_mins(2);
const PROMPT: &str = "Say the word \"ok\" and nothing else.";
const ID: &str = "provider.call";

/// Calls `asked`, a provider or `provider/model`, and says what came of it.
pub async fn check(config: &Config, asked: &str, env: &BTreeMap<String, String>) -> Finding {
    let id = match asked.split_once('/') {
        Some(_) => asked.to_owned(),
        None => match config.provider(asked).map(|_| config.model_of(asked)) {
            Ok(Some(model)) => format!("{asked}/{model}"),
            Ok(None) => {
                let what = format!("{asked}: no model of it is named");
                return Finding::error(ID, what, format!("name one: plimsoll doctor --provider {asked}/<model>"));
            }
            Err(error) => return of_error(ID, &error),
        },
    };
    let (profile, endpoint) = match config.model(Some(&id)) {
        Ok(found) => found,
        Err(error) => return of_error(ID, &error),
    };
    // This is the client and nobody else: a daemon's environment is not asked.
    let key = match resolve_key(&endpoint, env, |_| None, key_command::standard_output).await {
        Ok(key) => key,
        Err(error) => return failed(&id, &error),
    };
    let body = body(&profile);
    let begun = Instant::now();
    let mut heard = Heard::default();
    let sink = |events: Vec<ModelEvent>| heard.take(events, begun);
    let http = Http::new();
    let called = timeout(WITHIN, http.call(&endpoint, key.as_ref(), body, CancellationToken::new(), sink)).await;
    match called {
        Ok(Ok(())) => Finding::ok(ID, heard.told(&id, begun.elapsed())),
        Ok(Err(error)) => failed(&id, &error),
        Err(_) => {
            let what = format!("{id}: no whole answer within {} seconds", WITHIN.as_secs());
            Finding::error(ID, what, "see whether the server is busy, or try a smaller model")
        }
    }
}

fn body(profile: &ModelProfile) -> Vec<u8> {
    let api = profile.api;
    let params = Params {
        model: profile.name.clone(),
        max_output: ANSWER_TOKENS.min(profile.max_output),
        temperature: profile.temperature,
    };
    let message = codec::encode_message(api, &Message::User(PROMPT.to_owned()));
    let messages: Vec<_> = message.into_iter().map(Into::into).collect();
    codec::body(api, &params, &[], &[], &messages, &[])
}

/// What came of the answer.
#[derive(Debug, Default)]
struct Heard {
    first: Option<Duration>,
    text: String,
    usage: Option<Usage>,
}

impl Heard {
    fn take(&mut self, events: Vec<ModelEvent>, begun: Instant) {
        self.first.get_or_insert_with(|| begun.elapsed());
        for event in events {
            match event {
                ModelEvent::BlockDone { content: BlockContent::Text(text), .. } => self.text.push_str(&text),
                ModelEvent::Usage(usage) => self.usage = Some(usage),
                ModelEvent::BlockDone { .. }
                | ModelEvent::TextDelta { .. }
                | ModelEvent::ReasoningDelta { .. }
                | ModelEvent::CallStarted { .. }
                | ModelEvent::Finished(_) => {}
            }
        }
    }

    fn told(&self, id: &str, whole: Duration) -> String {
        let first = self.first.unwrap_or(whole).as_millis();
        let usage = self.usage.map_or_else(
            || "no usage told".to_owned(),
            |usage| format!("{} tokens in, {} out", usage.input, usage.output),
        );
        let text: String = self.text.trim().chars().take(40).collect();
        format!("{id} answered \"{text}\": first word after {first} ms, whole after {} ms, {usage}", whole.as_millis())
    }
}

fn failed(id: &str, error: &ModelError) -> Finding {
    let fix = match error.class {
        ErrorClass::Auth => "see that the key is the right one, is set where this runs, and may use this model",
        ErrorClass::Quota => "see the account's balance and limits at the provider",
        ErrorClass::RateLimited | ErrorClass::Unavailable => "try again later; nothing is wrong on this side",
        ErrorClass::Connection => "start the server, or correct base_url; behind a proxy set HTTPS_PROXY",
        ErrorClass::ContextTooLong => "start the server with a larger window",
        ErrorClass::BadRequest if error.status == Some(404) => {
            "see that the model's name is the provider's own, and that base_url ends before the API's own path"
        }
        ErrorClass::BadRequest => "see that the model's name is the provider's own, and that `api` is what it speaks",
        ErrorClass::Protocol => "see that base_url is the API's and that `api` is what it speaks",
    };
    Finding::error(ID, format!("{id}: {}", error.message), fix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::model::request::Api;

    #[test]
    fn the_body_is_small_and_asks_for_little() {
        let profile = |api| ModelProfile {
            provider: "p".to_owned(),
            name: "m".to_owned(),
            api,
            context_window: 8_192,
            max_output: 100,
            temperature: None,
            cache_lifetime_s: 300,
            price: None,
            images: false,
        };
        for api in [Api::OpenaiChat, Api::AnthropicMessages] {
            let body = body(&profile(api));
            let json: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!((&json["model"], &json["stream"]), (&"m".into(), &true.into()), "{json}");
            assert!(json.to_string().contains("100") && body.len() < 500, "{json}");
        }
    }

    #[test]
    fn an_answer_is_told_with_its_times_and_usage() {
        let mut heard = Heard::default();
        let begun = Instant::now();
        let text = ModelEvent::BlockDone { block: 0, content: BlockContent::Text(" ok\n".to_owned()) };
        let usage = Usage { input: 12, output: 3, ..Usage::default() };
        heard.take(vec![text, ModelEvent::Usage(usage)], begun);
        heard.first = Some(Duration::from_millis(20));
        let told = heard.told("p/m", Duration::from_millis(35));
        assert_eq!(told, "p/m answered \"ok\": first word after 20 ms, whole after 35 ms, 12 tokens in, 3 out");
    }
}
