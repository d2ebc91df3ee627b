//! Answers over Anthropic Messages, from Anthropic and from servers that imitate it.

use crate::model::codec::answer::{Answer, Block, Call, Counts};
use crate::model::codec::failure;
use crate::model::codec::lenient::{self, Count, Text};
use crate::model::error::ModelError;
use crate::model::event::{ModelEvent, StopReason};
use crate::model::request::{Api, Reasoning};
use crate::model::sse::SseEvent;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Debug)]
pub(in crate::model::codec) struct Decode {
    pub(in crate::model::codec) answer: Answer,
    /// Blocks that have begun and not stopped: the vendor's index, and our number unless the block is of a kind that we
    /// have no use for.
    open: Vec<(Option<u64>, Option<u32>)>,
}

/// Every kind of event at once; which fields are there depends on `kind`.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    index: Option<Count>,
    message: Option<MessageStart>,
    #[serde(borrow)]
    content_block: Option<ContentBlock<'a>>,
    delta: Option<Delta>,
    usage: Option<RawUsage>,
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct MessageStart {
    usage: Option<RawUsage>,
}

#[derive(Deserialize)]
struct ContentBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    text: Option<Text>,
    thinking: Option<Text>,
    signature: Option<Text>,
    data: Option<Text>,
    id: Option<Text>,
    name: Option<Text>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(rename = "type")]
    kind: Option<Text>,
    text: Option<Text>,
    thinking: Option<Text>,
    signature: Option<Text>,
    partial_json: Option<Text>,
    stop_reason: Option<Text>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawUsage {
    #[serde(rename = "input_tokens")]
    input: Count,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Count,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Count,
    #[serde(rename = "output_tokens")]
    output: Count,
}

/// An answer that is not streamed.
#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow)]
    content: Vec<ContentBlock<'a>>,
    stop_reason: Option<Text>,
    usage: Option<RawUsage>,
}

impl Decode {
    pub(in crate::model::codec) fn new() -> Self {
        Self { answer: Answer::new(), open: Vec::new() }
    }

    pub(in crate::model::codec) fn event(
        &mut self,
        event: &SseEvent,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let data = event.data.trim();
        // Some gateways end this wire with the mark of the other one; the end has been said before it.
        if self.answer.is_finished() || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if event.event.as_deref() == Some("error") {
            return Err(failure::in_stream(data));
        }
        if let Ok(event) = serde_json::from_str::<Event<'_>>(data) {
            return self.apply(event, data, out);
        }
        let fixed = lenient::without_lone_surrogates(data);
        if let Some(Ok(event)) = fixed.as_deref().map(serde_json::from_str::<Event<'_>>) {
            return self.apply(event, data, out);
        }
        match serde_json::from_str::<Kind<'_>>(data) {
            // A kind that we don't know may have fields of other types.
            Ok(Kind { kind }) if !KINDS.contains(&kind.as_ref()) => Ok(()),
            Err(_) if failure::is_failure(data) => Err(failure::in_stream(data)),
            Ok(_) | Err(_) => Err(failure::not_the_protocol(data)),
        }
    }

    pub(in crate::model::codec) fn whole(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if failure::is_failure(body) {
            return Err(failure::in_stream(body));
        }
        let Ok(whole) = serde_json::from_str::<Whole<'_>>(body) else {
            return Err(failure::not_the_protocol(body));
        };
        for block in whole.content {
            if let Some(number) = self.begin(block, out)? {
                self.answer.close(number, out);
            }
        }
        if let Some(usage) = whole.usage {
            self.count(&usage, out);
        }
        if let Some(reason) = whole.stop_reason {
            self.reason(reason.0);
        }
        Ok(())
    }

    fn apply(&mut self, event: Event<'_>, data: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let index = event.index.and_then(|index| index.0);
        match event.kind.as_ref() {
            "message_start" => {
                if let Some(usage) = event.message.and_then(|message| message.usage) {
                    self.count(&usage, out);
                }
            }
            "content_block_start" => {
                // An index that begins again ends what it stood for.
                self.stop(index, out);
                if let Some(block) = event.content_block {
                    let number = self.begin(block, out)?;
                    self.open.push((index, number));
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.delta(index, delta, out)?;
                }
            }
            "content_block_stop" => {
                // Without an index the newest block is meant.
                let index = index.or_else(|| self.open.last().and_then(|(index, _)| *index));
                self.stop(index, out);
            }
            "message_delta" => {
                if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                    self.reason(reason.0);
                }
                if let Some(usage) = event.usage {
                    self.count(&usage, out);
                }
            }
            "message_stop" => self.answer.end(out),
            "error" => return Err(failure::in_stream(data)),
            _ => {}
        }
        Ok(())
    }

    /// Opens a block with the content that its start already has; none for a kind that we have no use for.
    fn begin(&mut self, block: ContentBlock<'_>, out: &mut Vec<ModelEvent>) -> Result<Option<u32>, ModelError> {
        let text = |text: Option<Text>| text.unwrap_or_default().0;
        let some = |text: Option<Text>| text.map(|text| text.0).filter(|text| !text.is_empty());
        let (kind, content) = match block.kind.as_ref() {
            "text" => (Block::Text(String::new()), text(block.text)),
            "thinking" => (Block::Reasoning(reasoning(some(block.signature), None)), text(block.thinking)),
            "redacted_thinking" => (Block::Reasoning(reasoning(None, Some(text(block.data)))), String::new()),
            "tool_use" => {
                let preset = block.input.map(|input| lenient::arguments(input).into_owned()).unwrap_or_default();
                let call = Call {
                    provider_id: some(block.id),
                    name: text(block.name),
                    // The empty object stands in every start and says nothing.
                    preset: if preset.split_whitespace().collect::<String>() == "{}" { String::new() } else { preset },
                    arguments: String::new(),
                };
                (Block::Call(call), String::new())
            }
            _ => return Ok(None),
        };
        let number = self.answer.open(kind, out)?;
        self.answer.append(number, content, out)?;
        Ok(Some(number))
    }

    fn stop(&mut self, index: Option<u64>, out: &mut Vec<ModelEvent>) {
        if let Some(at) = self.open.iter().rposition(|(known, _)| *known == index) {
            let (_, number) = self.open.remove(at);
            if let Some(number) = number {
                self.answer.close(number, out);
            }
        }
    }

    fn delta(&mut self, index: Option<u64>, delta: Delta, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let open = match index {
            Some(_) => self.open.iter().rev().find(|(known, _)| *known == index),
            None => self.open.last(),
        };
        let Some(number) = open.and_then(|(_, number)| *number) else { return Ok(()) };
        let more = match (self.answer.block(number), delta.kind.unwrap_or_default().0.as_str()) {
            (Some(Block::Text(_)), "text_delta") => delta.text,
            (Some(Block::Reasoning(_)), "thinking_delta") => delta.thinking,
            (Some(Block::Call(_)), "input_json_delta") => delta.partial_json,
            (Some(Block::Reasoning(_)), "signature_delta") => {
                if let (Some(reasoning), Some(Text(signature))) = (self.answer.reasoning(number), delta.signature) {
                    reasoning.signature = Some(signature).filter(|signature| !signature.is_empty());
                }
                None
            }
            _ => None,
        };
        match more {
            Some(Text(more)) => self.answer.append(number, more, out),
            None => Ok(()),
        }
    }

    fn reason(&mut self, word: String) {
        let reason = match word.as_str() {
            "" => return,
            "end_turn" | "stop_sequence" => StopReason::EndTurn,
            "tool_use" => StopReason::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
            "refusal" => StopReason::Refusal,
            _ => StopReason::Other(word),
        };
        self.answer.set_reason(reason);
    }

    fn count(&mut self, usage: &RawUsage, out: &mut Vec<ModelEvent>) {
        let counts = Counts {
            input: usage.input.0,
            cache_read: usage.cache_read.0,
            cache_write: usage.cache_write.0,
            output: usage.output.0,
        };
        self.answer.count(Api::AnthropicMessages, counts, out);
    }
}

/// The kinds of events whose shape we rely on.
const KINDS: &[&str] = &[
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
];

fn reasoning(signature: Option<String>, redacted: Option<String>) -> Reasoning {
    Reasoning { text: String::new(), signature, redacted, api: Api::AnthropicMessages }
}
