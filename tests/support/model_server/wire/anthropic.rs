//! Anthropic Messages events.

use super::{Out, Part, Recorded, Step, Usage, call_id, fragments, model};
use crate::model_server::misbehave::UsagePlace;
use serde_json::{Value, json};

/// Kinds of blocks that go on when the next part is of the same kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Text,
    Reasoning,
}

struct Encoder {
    outs: Vec<Out>,
    /// Index of the next block.
    next: usize,
    open: Option<Open>,
}

impl Encoder {
    fn event(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap_or_default();
        self.outs.push(Out::Event(format!("event: {kind}\ndata: {event}\n\n")));
    }

    fn start(&mut self, block: &Value) {
        self.event(&json!({"type": "content_block_start", "index": self.next, "content_block": block}));
        self.next += 1;
    }

    fn delta(&mut self, delta: &Value) {
        self.event(&json!({"type": "content_block_delta", "index": self.next - 1, "delta": delta}));
    }

    fn stop(&mut self) {
        self.event(&json!({"type": "content_block_stop", "index": self.next - 1}));
    }

    fn close(&mut self) {
        match self.open.take() {
            Some(Open::Reasoning) => {
                self.delta(&json!({"type": "signature_delta", "signature": "c2lnbmVk"}));
                self.stop();
            }
            Some(Open::Text) => self.stop(),
            None => {}
        }
    }

    fn open(&mut self, kind: Open) {
        if self.open == Some(kind) {
            return;
        }
        self.close();
        match kind {
            Open::Text => self.start(&json!({"type": "text", "text": ""})),
            Open::Reasoning => self.start(&json!({"type": "thinking", "thinking": "", "signature": ""})),
        }
        self.open = Some(kind);
    }
}

pub(super) fn encode(step: &Step, parts: &[Part], usage: Usage, request: &Recorded, index: usize) -> Vec<Out> {
    let input = usage.input.saturating_sub(usage.cached).saturating_sub(usage.written);
    let fields = json!({
        "input_tokens": input, "cache_read_input_tokens": usage.cached, "cache_creation_input_tokens": usage.written,
    });
    let mut at_start = json!({"input_tokens": 0, "output_tokens": 0});
    let mut at_end = json!({"output_tokens": usage.output});
    match step.misbehave.usage {
        UsagePlace::Standard | UsagePlace::NullBefore => {
            at_start = fields;
            at_start["output_tokens"] = 1.into();
        }
        UsagePlace::WithFinish => {
            at_end = fields;
            at_end["output_tokens"] = usage.output.into();
        }
        UsagePlace::Absent => at_end = json!({"output_tokens": 0}),
    }

    let mut encoder = Encoder { outs: Vec::new(), next: 0, open: None };
    encoder.event(&json!({"type": "message_start", "message": {
        "id": format!("msg_{index:04}"), "type": "message", "role": "assistant", "model": model(request),
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": at_start,
    }}));
    encoder.event(&json!({"type": "ping"}));
    let mut calls = 0;
    for part in parts {
        match part {
            Part::Text(deltas) => {
                encoder.open(Open::Text);
                for text in deltas {
                    encoder.delta(&json!({"type": "text_delta", "text": text}));
                }
            }
            Part::Reasoning(deltas) => {
                encoder.open(Open::Reasoning);
                for text in deltas {
                    encoder.delta(&json!({"type": "thinking_delta", "thinking": text}));
                }
            }
            Part::Call(call) => {
                encoder.close();
                let mut block = json!({"type": "tool_use", "name": call.name, "input": {}});
                if let Some(id) = call_id(call, "toolu", index, calls) {
                    block["id"] = id.into();
                }
                encoder.start(&block);
                for piece in fragments(call) {
                    encoder.delta(&json!({"type": "input_json_delta", "partial_json": piece}));
                }
                encoder.stop();
                calls += 1;
            }
            Part::Gate(gate) => encoder.outs.push(Out::Gate(gate.clone())),
        }
    }
    encoder.close();
    let reason = step.finish.as_deref().unwrap_or(if calls > 0 { "tool_use" } else { "end_turn" });
    encoder.event(&json!({
        "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": at_end,
    }));
    if !step.misbehave.no_end_mark {
        encoder.event(&json!({"type": "message_stop"}));
    }
    encoder.outs
}
