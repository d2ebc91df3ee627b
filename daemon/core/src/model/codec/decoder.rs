//! Bytes of an answer in, events out, for every wire. The framing is `sse`'s, the meaning is the codecs'.

use super::{anthropic, openai_chat};
use crate::model::error::{ErrorClass, ModelError};
use crate::model::event::ModelEvent;
use crate::model::request::Api;
use crate::model::sse::{SseError, SseEvent, SseParser};

/// Reads one streamed answer. How the bytes are cut into pieces makes no difference.
///
/// Text and reasoning are given block by block; calls are given at the end, together with `Finished`, so that a stream
/// that is cut never gives one.
#[derive(Debug)]
pub struct Decoder {
    sse: SseParser,
    wire: Wire,
}

#[derive(Debug)]
enum Wire {
    OpenaiChat(openai_chat::decode::Decode),
    Anthropic(anthropic::decode::Decode),
}

impl Wire {
    fn new(api: Api) -> Self {
        match api {
            Api::OpenaiChat | Api::Offline => Self::OpenaiChat(openai_chat::decode::Decode::new()),
            Api::AnthropicMessages => Self::Anthropic(anthropic::decode::Decode::new()),
        }
    }

    fn event(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match self {
            Self::OpenaiChat(decode) => decode.event(event, out),
            Self::Anthropic(decode) => decode.event(event, out),
        }
    }

    fn whole(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match self {
            Self::OpenaiChat(decode) => decode.whole(body, out),
            Self::Anthropic(decode) => decode.whole(body, out),
        }
    }

    fn is_finished(&self) -> bool {
        match self {
            Self::OpenaiChat(decode) => decode.answer.is_finished(),
            Self::Anthropic(decode) => decode.answer.is_finished(),
        }
    }

    fn has_reason(&self) -> bool {
        match self {
            Self::OpenaiChat(decode) => decode.answer.has_reason(),
            Self::Anthropic(decode) => decode.answer.has_reason(),
        }
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) {
        match self {
            Self::OpenaiChat(decode) => decode.answer.end(out),
            Self::Anthropic(decode) => decode.answer.end(out),
        }
    }
}

impl Decoder {
    /// For the answer to a request over `api`.
    pub fn new(api: Api) -> Self {
        Self { sse: SseParser::new(), wire: Wire::new(api) }
    }

    /// Takes the next bytes and appends the events that they complete to `out`. Those stand also when the result is an
    /// error; after one the answer is over. After `Finished` everything is ignored.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if self.wire.is_finished() {
            return Ok(());
        }
        let mut events = Vec::new();
        let framing = self.sse.push(bytes, &mut events);
        for event in &events {
            self.wire.event(event, out)?;
        }
        if self.wire.is_finished() { Ok(()) } else { framing.map_err(framing_error) }
    }

    /// Whether `Finished` was given.
    pub fn is_finished(&self) -> bool {
        self.wire.is_finished()
    }

    /// Whether the answer would count as complete if nothing more came.
    pub fn may_end(&self) -> bool {
        self.wire.is_finished() || self.wire.has_reason()
    }

    /// The stream is over: appends what is missing, ending with `Finished` unless that was given. Without a reason for the
    /// end the stream was cut, which is an error of class `Connection`.
    pub fn finish(mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if self.wire.is_finished() {
            return Ok(());
        }
        let mut events = Vec::new();
        let whole = std::mem::take(&mut self.sse).finish(&mut events).map_err(framing_error)?;
        for event in &events {
            match self.wire.event(event, out) {
                // A line without its end may be half a line.
                Err(error) if error.class == ErrorClass::Protocol && !whole => {}
                result => result?,
            }
        }
        if !self.may_end() {
            return Err(ModelError::new(ErrorClass::Connection, "the answer was cut off before its end"));
        }
        self.wire.end(out);
        Ok(())
    }
}

fn framing_error(error: SseError) -> ModelError {
    ModelError::new(ErrorClass::Protocol, error.to_string())
}

/// The events of an answer that came as one JSON document, which some servers send although a stream was asked for. Ends
/// with `Finished`.
pub fn decode_whole(api: Api, body: &[u8]) -> Result<Vec<ModelEvent>, ModelError> {
    let mut wire = Wire::new(api);
    let mut out = Vec::new();
    wire.whole(&String::from_utf8_lossy(body), &mut out)?;
    wire.end(&mut out);
    Ok(out)
}
