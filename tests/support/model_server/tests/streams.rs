//! What the server writes.

use super::*;

fn chunk(delta: Value, finish: Option<&str>) -> Value {
    json!({"id": "chatcmpl-0000", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

#[tokio::test]
async fn chat_stream_has_text_calls_usage_and_end_mark() {
    let step = Step::empty()
        .reasoning("hm")
        .text_in(["a", "b"])
        .call(Call::new("read_file", json!({"x": 1})))
        .call(Call::raw("grep", "").without_id())
        .usage(Usage { input: 10, cached: 4, written: 0, output: 3 });
    let answer = answer_to(step, CHAT).await;
    let mut usage = chunk(json!({}), None);
    usage["choices"] = json!([]);
    usage["usage"] = json!({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": 4}});
    let call = |call: Value| chunk(json!({"tool_calls": [call]}), None);
    assert_eq!(
        answer.data(),
        [
            chunk(json!({"role": "assistant", "content": ""}), None),
            chunk(json!({"reasoning_content": "hm"}), None),
            chunk(json!({"content": "a"}), None),
            chunk(json!({"content": "b"}), None),
            call(
                json!({"index": 0, "id": "call_000000", "type": "function", "function": {"name": "read_file", "arguments": ""}})
            ),
            call(json!({"index": 0, "function": {"arguments": "{\"x\""}})),
            call(json!({"index": 0, "function": {"arguments": ":1}"}})),
            call(json!({"index": 1, "type": "function", "function": {"name": "grep", "arguments": ""}})),
            chunk(json!({}), Some("tool_calls")),
            usage,
            json!("[DONE]"),
        ]
    );
    assert!(answer.complete);
    assert!(answer.head.contains("content-type: text/event-stream"), "{}", answer.head);
}

#[tokio::test]
async fn messages_stream_has_blocks_usage_and_end_mark() {
    let step = Step::empty()
        .reasoning("hm")
        .text_in(["a", "b"])
        .call(Call::new("read_file", json!({"x": 1})).id("mine").fragments(1))
        .usage(Usage { input: 10, cached: 4, written: 1, output: 3 });
    let answer = answer_to(step, MESSAGES).await;
    let start = |at: u32, block: Value| json!({"type": "content_block_start", "index": at, "content_block": block});
    let delta = |at: u32, delta: Value| json!({"type": "content_block_delta", "index": at, "delta": delta});
    let stop = |at: u32| json!({"type": "content_block_stop", "index": at});
    assert_eq!(
        answer.data(),
        [
            json!({"type": "message_start", "message": {"id": "msg_0000", "type": "message", "role": "assistant",
                "model": "m", "content": [], "stop_reason": null, "stop_sequence": null,
                "usage": {"input_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1, "output_tokens": 1}}}),
            json!({"type": "ping"}),
            start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
            delta(0, json!({"type": "signature_delta", "signature": "c2lnbmVk"})),
            stop(0),
            start(1, json!({"type": "text", "text": ""})),
            delta(1, json!({"type": "text_delta", "text": "a"})),
            delta(1, json!({"type": "text_delta", "text": "b"})),
            stop(1),
            start(2, json!({"type": "tool_use", "id": "mine", "name": "read_file", "input": {}})),
            delta(2, json!({"type": "input_json_delta", "partial_json": "{\"x\":1}"})),
            stop(2),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
                "usage": {"output_tokens": 3}}),
            json!({"type": "message_stop"}),
        ]
    );
    let body = answer.body();
    let named: Vec<_> = body.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let types: Vec<_> = answer.data().iter().map(|data| data["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(named, types);
}

#[tokio::test]
async fn usage_stands_where_the_step_wants_it() {
    let with_usage = |answer: &Answer| -> Vec<usize> {
        let data = answer.data();
        data.iter().enumerate().filter(|(_, data)| data["usage"].is_object()).map(|(at, _)| at).collect()
    };
    for (place, expected) in [
        (UsagePlace::Standard, vec![3]),
        (UsagePlace::WithFinish, vec![2]),
        (UsagePlace::NullBefore, vec![3]),
        (UsagePlace::Absent, vec![]),
    ] {
        let answer = answer_to(Step::say("a").usage_at(place), CHAT).await;
        assert_eq!(with_usage(&answer), expected, "{place:?}");
    }
    let answer = answer_to(Step::say("a").usage_at(UsagePlace::NullBefore), CHAT).await;
    assert!(answer.data()[0].as_object().unwrap().contains_key("usage"));
    let usage = Usage { input: 9, cached: 2, written: 0, output: 5 };
    let answer = answer_to(Step::say("a").usage_at(UsagePlace::WithFinish).usage(usage), MESSAGES).await;
    let last = answer.data().into_iter().find(|data| data["type"] == "message_delta").unwrap();
    assert_eq!(last["usage"]["input_tokens"], 7);
}

#[tokio::test]
async fn raw_chunks_come_byte_for_byte() {
    let answer = answer_to(Step::raw([&b"data: {\"caf\xc3"[..], &b"\xa9\":1}\n\n"[..]]), CHAT).await;
    assert_eq!(answer.chunks, [&b"data: {\"caf\xc3"[..], &b"\xa9\":1}\n\n"[..]]);
}

#[tokio::test]
async fn errors_have_status_headers_and_body() {
    let step = Step::error(429, json!({"error": {"message": "slow"}})).header("retry-after", "3");
    let answer = answer_to(step, MESSAGES).await;
    assert_eq!((answer.status, answer.body()), (429, r#"{"error":{"message":"slow"}}"#.to_owned()));
    assert!(answer.head.contains("retry-after: 3"), "{}", answer.head);
}

#[tokio::test]
async fn spoiled_bytes_carry_the_same_events() {
    let step = || Step::say("gr\u{fc}n").call(Call::new("read_file", json!({"a": "b"})));
    for path in [CHAT, MESSAGES] {
        let plain = answer_to(step(), path).await;
        let split = answer_to(step().split_every(1).crlf().keep_alive(), path).await;
        assert!(split.chunks.iter().all(|chunk| chunk.len() == 1));
        assert_eq!(split.data(), plain.data());
        assert!(split.body().starts_with(": keep-alive\r\n\r\n"), "{}", split.body());
        let split = answer_to(step().split_at([3, 7, 7, 100_000]), path).await;
        assert_eq!(split.body(), plain.body());
        assert_eq!(split.chunks.iter().take(2).map(Vec::len).collect::<Vec<_>>(), [3, 4]);
        let unmarked = answer_to(step().without_end_mark(), path).await;
        assert_eq!(unmarked.data(), plain.data()[..plain.data().len() - 1]);
    }
}

#[tokio::test]
async fn calls_can_share_one_index() {
    let step = Step::calls([Call::new("a", json!({})), Call::new("b", json!({}))]).same_index();
    let data = answer_to(step, CHAT).await.data();
    let calls: Vec<_> = data.iter().filter_map(|data| data.pointer("/choices/0/delta/tool_calls/0/index")).collect();
    assert!(calls.len() >= 4 && calls.iter().all(|index| **index == 0), "{calls:?}");
}

#[tokio::test]
async fn a_cut_breaks_the_connection_and_an_early_end_does_not() {
    let step = || Step::calls([Call::new("write", json!({"path": "a.txt"}))]);
    let whole = answer_to(step(), CHAT).await.body();
    for (step, expected, complete) in [
        (step().cut(Cut::Bytes(10)), &whole[..10], false),
        (step().end_early(Cut::Bytes(10)), &whole[..10], true),
        (step().cut(Cut::Text("write".into())), &whole[..whole.find("write").unwrap() + 5], false),
    ] {
        let answer = answer_to(step, CHAT).await;
        assert_eq!((answer.body().as_str(), answer.complete), (expected, complete));
    }
}

#[tokio::test]
async fn an_answer_waits_at_its_gate_with_everything_before_it_sent() {
    let gate = Gate::new();
    let server = ModelServer::start(Script::new([Step::say("first").stall(&gate).text("second")])).await;
    let mut raw = Raw::send(&server, CHAT, &chat()).await;
    gate.reached().await;
    raw.read_until("first").await;
    assert!(!String::from_utf8_lossy(&raw.seen).contains("second"));
    assert_eq!(server.requests()[0].end, End::Open);
    gate.release();
    let answer = raw.finish().await;
    assert!(answer.body().contains("second") && answer.complete);
    server.wait_until("the end", |requests| requests[0].end == End::Delivered).await;
}

#[tokio::test]
async fn a_client_that_leaves_is_recorded() {
    let gate = Gate::new();
    for step in [Step::never(), Step::say("x").stall_before(&gate), Step::say("x").stall(&gate)] {
        let server = ModelServer::start(Script::new([step])).await;
        let raw = Raw::send(&server, CHAT, &chat()).await;
        server.wait_for(1).await;
        drop(raw);
        server.wait_until("the drop", |requests| requests[0].end == End::Dropped).await;
    }
}
