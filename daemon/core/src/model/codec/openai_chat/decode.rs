//! Answers over Chat Completions, with the ways in which servers depart from it.

use crate::model::codec::answer::{Answer, Block, Call, Counts};
use crate::model::codec::failure;
use crate::model::codec::is_object;
use crate::model::codec::lenient::{self, Count, Text};
use crate::model::error::{ErrorClass, ModelError};
use crate::model::event::{ModelEvent, StopReason};
use crate::model::request::{Api, Reasoning};
use crate::model::sse::SseEvent;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug)]
pub(in crate::model::codec) struct Decode {
    pub(in crate::model::codec) answer: Answer,
    /// The text or reasoning that is being written.
    flow: Option<u32>,
    calls: Vec<OpenCall>,
    refused: bool,
}

/// How later deltas find their call.
#[derive(Debug)]
struct OpenCall {
    block: u32,
    index: Option<u64>,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<RawUsage>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: Option<Count>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    /// In an answer that is not streamed.
    #[serde(borrow)]
    message: Option<Delta<'a>>,
    finish_reason: Option<Text>,
    /// Moonshot's place for it.
    usage: Option<RawUsage>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    content: Option<Text>,
    reasoning_content: Option<Text>,
    reasoning: Option<Text>,
    refusal: Option<Text>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    index: Option<Count>,
    id: Option<Text>,
    #[serde(borrow)]
    function: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    name: Option<Text>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawUsage {
    prompt_tokens: Count,
    completion_tokens: Count,
    prompt_tokens_details: Option<PromptDetails>,
    /// DeepSeek.
    prompt_cache_hit_tokens: Count,
    /// Moonshot.
    cached_tokens: Count,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
}

impl RawUsage {
    fn counts(&self) -> Counts {
        let details = self.prompt_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens.0);
        Counts {
            input: self.prompt_tokens.0,
            cache_read: cached.or(self.prompt_cache_hit_tokens.0).or(self.cached_tokens.0),
            cache_write: details.and_then(|details| details.cache_write_tokens.0),
            output: self.completion_tokens.0,
        }
    }
}

/// The parts of a call's delta, as owned as they need to be.
struct Piece {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
}

impl Piece {
    fn of(delta: CallDelta<'_>) -> Self {
        let (name, arguments) = delta.function.map_or_else(Default::default, |function| {
            let arguments = function.arguments.map(|raw| lenient::arguments(raw).into_owned());
            (function.name.unwrap_or_default().0, arguments.unwrap_or_default())
        });
        Self {
            index: delta.index.and_then(|index| index.0),
            id: delta.id.map(|id| id.0).filter(|id| !id.is_empty()),
            name,
            arguments,
        }
    }
}

impl Decode {
    pub(in crate::model::codec) fn new() -> Self {
        Self { answer: Answer::new(), flow: None, calls: Vec::new(), refused: false }
    }

    pub(in crate::model::codec) fn event(
        &mut self,
        event: &SseEvent,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let data = event.data.trim();
        if self.answer.is_finished() || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            self.answer.end(out);
            return Ok(());
        }
        if event.event.as_deref() == Some("error") {
            return Err(failure::in_stream(data));
        }
        self.chunk(data, out)
    }

    /// An answer in one document has the chunk's shape, with `message` in place of `delta`.
    pub(in crate::model::codec) fn whole(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.chunk(body, out)?;
        if self.answer.has_reason() || self.answer.block(0).is_some() {
            return Ok(());
        }
        Err(failure::not_the_protocol(body))
    }

    fn chunk(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(data) {
            return self.apply(chunk, data, out);
        }
        let fixed = lenient::without_lone_surrogates(data);
        match fixed.as_deref().map(serde_json::from_str::<Chunk<'_>>) {
            Some(Ok(chunk)) => self.apply(chunk, data, out),
            Some(Err(_)) | None => Err(failure::not_the_protocol(data)),
        }
    }

    fn apply(&mut self, chunk: Chunk<'_>, data: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if chunk.error.is_some() || (chunk.choices.is_none() && chunk.usage.is_none() && failure::is_failure(data)) {
            return Err(failure::in_stream(data));
        }
        for choice in chunk.choices.into_iter().flatten() {
            if choice.index.and_then(|index| index.0).is_some_and(|index| index != 0) {
                continue;
            }
            if let Some(delta) = choice.delta {
                self.delta(delta, false, out)?;
            }
            if let Some(message) = choice.message {
                self.delta(message, true, out)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.0.is_empty()) {
                self.reason(reason.0)?;
            }
            if let Some(usage) = choice.usage {
                self.answer.count(Api::OpenaiChat, usage.counts(), out);
            }
        }
        if let Some(usage) = chunk.usage {
            self.answer.count(Api::OpenaiChat, usage.counts(), out);
        }
        Ok(())
    }

    fn reason(&mut self, word: String) -> Result<(), ModelError> {
        let reason = match word.as_str() {
            _ if self.refused => StopReason::Refusal,
            "stop" | "eos" | "stop_sequence" | "end_turn" => StopReason::EndTurn,
            "tool_calls" | "function_call" => StopReason::ToolCalls,
            "length" | "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
            "content_filter" | "refusal" => StopReason::Refusal,
            // OpenRouter's and DeepSeek's words for an answer that the server gave up.
            "error" | "insufficient_system_resource" => {
                let message = format!("the provider gave up the answer ({word})");
                return Err(ModelError::new(ErrorClass::Unavailable, message));
            }
            _ => StopReason::Other(word),
        };
        self.answer.set_reason(reason);
        Ok(())
    }

    fn delta(&mut self, delta: Delta<'_>, whole: bool, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let reasoning =
            [delta.reasoning_content, delta.reasoning].into_iter().flatten().find(|text| !text.0.is_empty());
        if let Some(Text(text)) = reasoning {
            let number = match self.flow.filter(|&number| self.answer.reasoning(number).is_some()) {
                Some(number) => number,
                None => self.begin(Block::Reasoning(empty_reasoning()), out)?,
            };
            self.answer.append(number, text, out)?;
        }
        let refusal = delta.refusal.filter(|text| !text.0.is_empty());
        self.refused |= refusal.is_some();
        for Text(text) in [delta.content, refusal].into_iter().flatten().filter(|text| !text.0.is_empty()) {
            let open = self.flow.filter(|&number| matches!(self.answer.block(number), Some(Block::Text(_))));
            let number = match open {
                Some(number) => number,
                None => self.begin(Block::Text(String::new()), out)?,
            };
            self.answer.append(number, text, out)?;
        }
        for delta in delta.tool_calls.into_iter().flatten() {
            self.call(Piece::of(delta), whole, out)?;
        }
        Ok(())
    }

    /// Ends the text or reasoning before and begins another block.
    fn begin(&mut self, block: Block, out: &mut Vec<ModelEvent>) -> Result<u32, ModelError> {
        if let Some(number) = self.flow.take() {
            self.answer.close(number, out);
        }
        let flows = !matches!(block, Block::Call(_));
        let number = self.answer.open(block, out)?;
        self.flow = flows.then_some(number);
        Ok(number)
    }

    fn call(&mut self, piece: Piece, whole: bool, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let known = if whole { None } else { self.find(&piece) };
        if let Some(block) = known {
            if let Some(call) = self.answer.call(block) {
                if call.provider_id.is_none() {
                    call.provider_id = piece.id;
                }
                extend_name(call, piece.name);
            }
            return self.answer.append(block, piece.arguments, out);
        }
        let call = Call { provider_id: piece.id, name: piece.name, ..Call::default() };
        let block = self.begin(Block::Call(call), out)?;
        self.calls.push(OpenCall { block, index: piece.index });
        self.answer.append(block, piece.arguments, out)
    }

    /// The call that a delta goes on with; none when it begins one. Servers leave out the index or the id, give all calls
    /// one index, or repeat an id, so the id counts before the index, and a delta that can only be a beginning is one.
    fn find(&mut self, piece: &Piece) -> Option<u32> {
        let answer = &mut self.answer;
        let mut newest = self.calls.iter().rev();
        let found = match (piece.index, &piece.id) {
            (Some(index), Some(id)) => {
                let same_index = newest.filter(|call| call.index == Some(index)).map(|call| call.block);
                let mut without_id = None;
                let mut same_id = None;
                for (at, block) in same_index.enumerate() {
                    match answer.call(block).map(|call| call.provider_id.as_deref()) {
                        Some(Some(known)) if known == id => {
                            same_id = Some(block);
                            break;
                        }
                        // An id that comes late belongs to the newest call of its index only.
                        Some(None) if at == 0 => without_id = Some(block),
                        Some(_) | None => {}
                    }
                }
                same_id.or(without_id)
            }
            (Some(index), None) => newest.find(|call| call.index == Some(index)).map(|call| call.block),
            (None, Some(id)) => newest
                .map(|call| call.block)
                .find(|&block| answer.call(block).is_some_and(|call| call.provider_id.as_deref() == Some(id.as_str()))),
            (None, None) => newest.next().map(|call| call.block),
        };
        found.filter(|&block| answer.call(block).is_some_and(|call| !begins_anew(call, piece)))
    }
}

/// Whether `piece` can't continue `call`: it names a function again after complete arguments, or another function after
/// any.
fn begins_anew(call: &Call, piece: &Piece) -> bool {
    if piece.name.is_empty() || call.name.is_empty() || call.arguments.is_empty() {
        return false;
    }
    let unnamed = piece.index.is_none() && piece.id.is_none();
    (unnamed && piece.name != call.name)
        || (piece.arguments.trim_start().starts_with('{')
            && call.arguments.trim_end().ends_with('}')
            && is_object(&call.arguments))
}

/// Names come at once, in pieces, or whole in every delta.
fn extend_name(call: &mut Call, name: String) {
    if name.starts_with(call.name.as_str()) {
        call.name = name;
    } else if call.arguments.is_empty() {
        call.name.push_str(&name);
    }
}

fn empty_reasoning() -> Reasoning {
    Reasoning { text: String::new(), signature: None, redacted: None, api: Api::OpenaiChat }
}
