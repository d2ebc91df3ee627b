//! Chat Completions chunks.

use super::{Out, Part, Recorded, Step, Usage, call_id, fragments, model};
use crate::model_server::misbehave::UsagePlace;
use serde_json::{Value, json};

pub(super) fn encode(step: &Step, parts: &[Part], usage: Usage, request: &Recorded, index: usize) -> Vec<Out> {
    let place = step.misbehave.usage;
    let asked = request.json["stream_options"]["include_usage"] == json!(true);
    let chunk = |choices: Value, usage: Option<Value>| {
        let mut chunk = json!({
            "id": format!("chatcmpl-{index:04}"), "object": "chat.completion.chunk", "created": 1_700_000_000,
            "model": model(request), "choices": choices,
        });
        match usage {
            Some(usage) => chunk["usage"] = usage,
            None if place == UsagePlace::NullBefore => chunk["usage"] = Value::Null,
            None => {}
        }
        Out::Event(format!("data: {chunk}\n\n"))
    };
    let delta = |delta: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), None);

    let mut outs = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for part in parts {
        match part {
            Part::Text(deltas) => outs.extend(deltas.iter().map(|text| delta(json!({"content": text})))),
            Part::Reasoning(deltas) => {
                outs.extend(deltas.iter().map(|text| delta(json!({"reasoning_content": text}))));
            }
            Part::Call(call) => {
                let at = if step.misbehave.same_index { 0 } else { calls };
                let mut start =
                    json!({"index": at, "type": "function", "function": {"name": call.name, "arguments": ""}});
                if let Some(id) = call_id(call, "call", index, calls) {
                    start["id"] = id.into();
                }
                outs.push(delta(json!({"tool_calls": [start]})));
                outs.extend(
                    fragments(call)
                        .into_iter()
                        .map(|piece| delta(json!({"tool_calls": [{"index": at, "function": {"arguments": piece}}]}))),
                );
                calls += 1;
            }
            Part::Gate(gate) => outs.push(Out::Gate(gate.clone())),
        }
    }
    let usage = json!({
        "prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    });
    let reason = step.finish.as_deref().unwrap_or(if calls > 0 { "tool_calls" } else { "stop" });
    let last = json!([{"index": 0, "delta": {}, "finish_reason": reason}]);
    match place {
        UsagePlace::WithFinish => outs.push(chunk(last, Some(usage))),
        UsagePlace::Standard | UsagePlace::NullBefore => {
            outs.push(chunk(last, None));
            if asked {
                outs.push(chunk(json!([]), Some(usage)));
            }
        }
        UsagePlace::Absent => outs.push(chunk(last, None)),
    }
    if !step.misbehave.no_end_mark {
        outs.push(Out::Event("data: [DONE]\n\n".to_owned()));
    }
    outs
}
