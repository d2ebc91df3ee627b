//! One answer while it streams in: its blocks, its usage, its end. Both decoders fill it; the rules about what counts as
//! complete are here, so that they are the same for every vendor.

use crate::model::codec::is_object;
use crate::model::error::{ErrorClass, ModelError};
use crate::model::event::{BlockContent, ModelEvent, StopReason};
use crate::model::request::{Api, Reasoning};
use crate::model::usage::Usage;

/// Most bytes of one answer. Models answer with at most some hundred thousand tokens; a server that sends more than this
/// is broken.
const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// What a block costs beyond its text, so that many empty ones are bounded too.
const BLOCK_COST: usize = 256;

/// A block, by what its deltas append to.
#[derive(Debug)]
pub(super) enum Block {
    Text(String),
    Reasoning(Reasoning),
    Call(Call),
    /// It was given, or dropped.
    Closed,
}

/// A tool call so far.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) provider_id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: String,
    /// Arguments that came with the block's start; they count when no others follow.
    pub(super) preset: String,
}

/// Token counts as the vendor gives them; a later value replaces an earlier one, field by field.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) input: Option<u64>,
    pub(super) cache_read: Option<u64>,
    pub(super) cache_write: Option<u64>,
    pub(super) output: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Answer {
    /// By number.
    blocks: Vec<Block>,
    counts: Counts,
    shown: Option<Usage>,
    /// Why it ended; the vendor has said so.
    stop: Option<StopReason>,
    finished: bool,
    size: usize,
}

impl Answer {
    pub(super) fn new() -> Self {
        Self { blocks: Vec::new(), counts: Counts::default(), shown: None, stop: None, finished: false, size: 0 }
    }

    /// `Finished` was given; nothing that follows counts.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// The vendor gave a reason for the end: the answer is complete even if nothing follows.
    pub(super) fn has_reason(&self) -> bool {
        self.stop.is_some()
    }

    pub(super) fn set_reason(&mut self, reason: StopReason) {
        self.stop = Some(reason);
    }

    /// A new block; its number.
    pub(super) fn open(&mut self, block: Block, out: &mut Vec<ModelEvent>) -> Result<u32, ModelError> {
        self.grow(BLOCK_COST)?;
        let number = self.blocks.len() as u32;
        if let Block::Call(call) = &block {
            out.push(ModelEvent::CallStarted { block: number, name: call.name.clone() });
        }
        self.blocks.push(block);
        Ok(number)
    }

    pub(super) fn block(&self, number: u32) -> Option<&Block> {
        self.blocks.get(number as usize)
    }

    pub(super) fn call(&mut self, number: u32) -> Option<&mut Call> {
        match self.blocks.get_mut(number as usize) {
            Some(Block::Call(call)) => Some(call),
            Some(Block::Text(_) | Block::Reasoning(_) | Block::Closed) | None => None,
        }
    }

    pub(super) fn reasoning(&mut self, number: u32) -> Option<&mut Reasoning> {
        match self.blocks.get_mut(number as usize) {
            Some(Block::Reasoning(reasoning)) => Some(reasoning),
            Some(Block::Text(_) | Block::Call(_) | Block::Closed) | None => None,
        }
    }

    /// Appends to the block: text to text and reasoning, arguments to a call.
    pub(super) fn append(&mut self, number: u32, more: String, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if more.is_empty() {
            return Ok(());
        }
        self.grow(more.len())?;
        match self.blocks.get_mut(number as usize) {
            Some(Block::Text(text)) => {
                text.push_str(&more);
                out.push(ModelEvent::TextDelta { block: number, text: more });
            }
            Some(Block::Reasoning(reasoning)) => {
                reasoning.text.push_str(&more);
                out.push(ModelEvent::ReasoningDelta { block: number, text: more });
            }
            Some(Block::Call(call)) => call.arguments.push_str(&more),
            Some(Block::Closed) | None => {}
        }
        Ok(())
    }

    fn grow(&mut self, by: usize) -> Result<(), ModelError> {
        self.size = self.size.saturating_add(by);
        if self.size > MAX_ANSWER {
            let message = format!("the answer is larger than {MAX_ANSWER} bytes");
            return Err(ModelError::new(ErrorClass::Protocol, message));
        }
        Ok(())
    }

    /// Gives a complete text or reasoning, unless it is empty. Calls stay open until the end of the answer, because only
    /// that says whether they count.
    pub(super) fn close(&mut self, number: u32, out: &mut Vec<ModelEvent>) {
        let Some(block) = self.blocks.get_mut(number as usize) else { return };
        if matches!(block, Block::Call(_)) {
            return;
        }
        let content = match std::mem::replace(block, Block::Closed) {
            Block::Text(text) if !text.is_empty() => BlockContent::Text(text),
            Block::Reasoning(reasoning)
                if !reasoning.text.is_empty() || reasoning.signature.is_some() || reasoning.redacted.is_some() =>
            {
                BlockContent::Reasoning(reasoning)
            }
            Block::Text(_) | Block::Reasoning(_) | Block::Call(_) | Block::Closed => return,
        };
        out.push(ModelEvent::BlockDone { block: number, content });
    }

    /// Takes over the counts that are there, and shows the usage when it is another than before. `api` says what the
    /// vendor means by input.
    pub(super) fn count(&mut self, api: Api, new: Counts, out: &mut Vec<ModelEvent>) {
        let old = self.counts;
        self.counts = Counts {
            input: new.input.or(old.input),
            cache_read: new.cache_read.or(old.cache_read),
            cache_write: new.cache_write.or(old.cache_write),
            output: new.output.or(old.output),
        };
        let Counts { input, cache_read, cache_write, output } = self.counts;
        let (cache_read, cache_write) = (cache_read.unwrap_or(0), cache_write.unwrap_or(0));
        let input = match api {
            Api::AnthropicMessages => input.unwrap_or(0).saturating_add(cache_read).saturating_add(cache_write),
            Api::OpenaiChat | Api::Offline => input.unwrap_or(0).max(cache_read.saturating_add(cache_write)),
        };
        let usage = Usage { input, cache_read, cache_write, output: output.unwrap_or(0) };
        if self.shown != Some(usage) && usage != Usage::default() {
            self.shown = Some(usage);
            out.push(ModelEvent::Usage(usage));
        }
    }

    /// The answer is over: gives what is still open, then `Finished`.
    ///
    /// A call counts when the answer came to its own end. When that end was a limit, or only an end mark without a
    /// reason, the last call may be a part, and counts only if its arguments are a whole object. After a refusal no call
    /// counts.
    pub(super) fn end(&mut self, out: &mut Vec<ModelEvent>) {
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        let reason = self.stop.take();
        let refused = reason == Some(StopReason::Refusal);
        let cut = matches!(reason, None | Some(StopReason::MaxTokens));
        let last = self.blocks.iter().rposition(|block| matches!(block, Block::Call(_)));
        let mut calls = false;
        for at in 0..self.blocks.len() {
            let number = at as u32;
            self.close(number, out);
            let Some(call) = self.call(number).map(std::mem::take) else { continue };
            if let Some(block) = self.blocks.get_mut(at) {
                *block = Block::Closed;
            }
            let arguments =
                if call.arguments.trim().is_empty() && !call.preset.is_empty() { call.preset } else { call.arguments };
            if refused || (cut && last == Some(at) && !is_object(&arguments)) {
                continue;
            }
            calls = true;
            let content = BlockContent::Call { provider_id: call.provider_id, name: call.name, arguments };
            out.push(ModelEvent::BlockDone { block: number, content });
        }
        let reason = match reason {
            _ if calls => StopReason::ToolCalls,
            None | Some(StopReason::ToolCalls) => StopReason::EndTurn,
            Some(reason) => reason,
        };
        out.push(ModelEvent::Finished(reason));
    }
}
