//! Whole streams through the decoder: each file of `tests/fixtures/sse` against the listing beside it, however the bytes
//! are cut, and streams made at random.

use super::*;
use crate::model::error::{ErrorClass, ModelError};
use crate::model::event::{BlockContent, ModelEvent, StopReason};
use crate::model::usage::Usage;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

type Decoded = (Vec<ModelEvent>, Result<(), ModelError>);

fn decode(api: Api, pieces: &[&[u8]]) -> Decoded {
    let mut decoder = Decoder::new(api);
    let mut out = Vec::new();
    for piece in pieces {
        if let Err(error) = decoder.push(piece, &mut out) {
            return (out, Err(error));
        }
    }
    let result = decoder.finish(&mut out);
    (out, result)
}

/// Adjacent deltas of one block as one.
fn merged(events: Vec<ModelEvent>) -> Vec<ModelEvent> {
    let mut out: Vec<ModelEvent> = Vec::new();
    for event in events {
        match (out.last_mut(), event) {
            (Some(ModelEvent::TextDelta { block: last, text }), ModelEvent::TextDelta { block, text: more })
                if *last == block =>
            {
                text.push_str(&more);
            }
            (
                Some(ModelEvent::ReasoningDelta { block: last, text }),
                ModelEvent::ReasoningDelta { block, text: more },
            ) if *last == block => text.push_str(&more),
            (_, event) => out.push(event),
        }
    }
    out
}

/// What holds for every answer, however broken its stream is.
fn check_contract((events, result): &Decoded) {
    let mut written: BTreeMap<u32, String> = BTreeMap::new();
    let mut done = Vec::new();
    let finished = events.iter().filter(|event| matches!(event, ModelEvent::Finished(_))).count();
    assert_eq!(finished, usize::from(result.is_ok()), "one end, or an error");
    if result.is_ok() {
        assert!(matches!(events.last(), Some(ModelEvent::Finished(_))), "the end is last");
    }
    for event in events {
        match event {
            ModelEvent::TextDelta { block, text } | ModelEvent::ReasoningDelta { block, text } => {
                assert!(!text.is_empty() && !done.contains(block));
                written.entry(*block).or_default().push_str(text);
            }
            ModelEvent::BlockDone { block, content } => {
                assert!(!done.contains(block), "a block is done once");
                done.push(*block);
                match content {
                    BlockContent::Text(text) => assert_eq!(written.get(block), Some(text)),
                    BlockContent::Reasoning(reasoning) => {
                        assert_eq!(written.get(block).map_or("", String::as_str), reasoning.text);
                    }
                    BlockContent::Call { .. } => assert!(result.is_ok(), "a stream that is cut gives no call"),
                }
            }
            ModelEvent::CallStarted { .. } | ModelEvent::Usage(_) | ModelEvent::Finished(_) => {}
        }
    }
    if result.is_ok() {
        assert!(written.keys().all(|block| done.contains(block)), "what was written is done");
    }
}

fn listing((events, result): &Decoded) -> String {
    let mut out = String::new();
    for event in merged(events.clone()) {
        match event {
            ModelEvent::TextDelta { block, text } => writeln!(out, "{block} text + {text:?}"),
            ModelEvent::ReasoningDelta { block, text } => writeln!(out, "{block} reasoning + {text:?}"),
            ModelEvent::CallStarted { block, name } => writeln!(out, "{block} call begins: {name}"),
            ModelEvent::BlockDone { block, content: BlockContent::Text(text) } => {
                writeln!(out, "{block} text {text:?}")
            }
            ModelEvent::BlockDone { block, content: BlockContent::Reasoning(reasoning) } => writeln!(
                out,
                "{block} reasoning {:?} signature {:?} redacted {:?}",
                reasoning.text, reasoning.signature, reasoning.redacted
            ),
            ModelEvent::BlockDone { block, content: BlockContent::Call { provider_id, name, arguments } } => {
                writeln!(out, "{block} call {provider_id:?} {name} {arguments}")
            }
            ModelEvent::Usage(Usage { input, cache_read, cache_write, output }) => {
                writeln!(out, "usage: input {input}, of it read {cache_read}, written {cache_write}; output {output}")
            }
            ModelEvent::Finished(reason) => writeln!(out, "finished: {reason:?}"),
        }
        .unwrap();
    }
    if let Err(error) = result {
        writeln!(out, "{:?}: {error}", error.class).unwrap();
    }
    out
}

fn check_fixtures(api: Api, folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/sse").join(folder);
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "sse") {
            continue;
        }
        count += 1;
        let name = path.file_stem().unwrap().to_str().unwrap();
        let stream = std::fs::read(&path).unwrap();
        let whole = decode(api, &[&stream]);
        check_contract(&whole);
        expect_test::expect_file![path.with_extension("events")].assert_eq(&listing(&whole));
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(decode(api, &bytes), whole, "{name} byte by byte");
        for at in 0..=stream.len() {
            assert_eq!(decode(api, &[&stream[..at], &stream[at..]]), whole, "{name} cut at {at}");
        }
    }
    assert!(count > 15, "only {count} streams in {}", folder.display());
}

#[test]
fn chat_streams_decode_to_their_listings_at_every_cut() {
    check_fixtures(Api::OpenaiChat, "openai-chat");
}

#[test]
fn anthropic_streams_decode_to_their_listings_at_every_cut() {
    check_fixtures(Api::AnthropicMessages, "anthropic-messages");
}

#[test]
fn a_stream_that_ends_at_any_byte_gives_no_call_before_its_reason() {
    let arguments = r#"{\"path\":\"a\"}"#;
    let stream = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"x\",\"function\":{{\"name\":\"write\",\
         \"arguments\":\"{arguments}\"}}}}]}}}}]}}\n\ndata: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"tool_calls\"}}]}}\n\n"
    );
    let reason = stream.find("\"finish_reason\"").unwrap();
    for at in 0..=stream.len() {
        let decoded = decode(Api::OpenaiChat, &[&stream.as_bytes()[..at]]);
        check_contract(&decoded);
        let (events, result) = decoded;
        let calls = events.iter().filter(|event| matches!(event, ModelEvent::BlockDone { .. })).count();
        match result {
            Ok(()) => assert_eq!((calls, at > reason), (1, true), "{at}"),
            Err(error) => assert_eq!((calls, error.class), (0, ErrorClass::Connection), "{at}"),
        }
    }
}

#[test]
fn an_answer_in_one_document_gives_the_same_events() {
    let chat = br#"{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi",
        "reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"grep","arguments":"{\"p\":1}"}},
        {"id":"a","type":"function","function":{"name":"grep","arguments":"{}"}}]},"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}"#;
    let events = decode_whole(Api::OpenaiChat, chat).unwrap();
    assert_eq!(
        listing(&(events, Ok(()))),
        "0 reasoning + \"hm\"\n0 reasoning \"hm\" signature None redacted None\n1 text + \"Hi\"\n1 text \"Hi\"\n\
         2 call begins: grep\n3 call begins: grep\nusage: input 9, of it read 4, written 0; output 2\n\
         2 call Some(\"a\") grep {\"p\":1}\n3 call Some(\"a\") grep {}\nfinished: ToolCalls\n"
    );
    let messages = br#"{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},
        {"type":"text","text":"Hi"},{"type":"tool_use","id":"t","name":"grep","input":{"p": 1}}],"stop_reason":"tool_use",
        "usage":{"input_tokens":5,"cache_read_input_tokens":4,"output_tokens":2}}"#;
    let events = decode_whole(Api::AnthropicMessages, messages).unwrap();
    assert_eq!(
        listing(&(events, Ok(()))),
        "0 reasoning + \"hm\"\n0 reasoning \"hm\" signature Some(\"s\") redacted None\n1 text + \"Hi\"\n1 text \"Hi\"\n\
         2 call begins: grep\nusage: input 9, of it read 4, written 0; output 2\n\
         2 call Some(\"t\") grep {\"p\": 1}\nfinished: ToolCalls\n"
    );
}

#[test]
fn a_document_that_is_no_answer_is_an_error() {
    for (api, body, class) in [
        (Api::OpenaiChat, "{}", ErrorClass::Protocol),
        (Api::OpenaiChat, "<html>", ErrorClass::Protocol),
        (Api::OpenaiChat, r#"{"error":{"message":"no","code":"insufficient_quota"}}"#, ErrorClass::Quota),
        (Api::AnthropicMessages, r#"{"choices":[]}"#, ErrorClass::Protocol),
        (Api::AnthropicMessages, r#"{"type":"error","error":{"type":"overloaded_error"}}"#, ErrorClass::Unavailable),
    ] {
        assert_eq!(decode_whole(api, body.as_bytes()).map_err(|error| error.class), Err(class), "{body}");
    }
}

#[test]
fn an_answer_larger_than_its_bound_is_an_error() {
    let piece = "x".repeat(4 * 1024 * 1024);
    let chunk = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{piece}\"}}}}]}}\n\n");
    let mut decoder = Decoder::new(Api::OpenaiChat);
    let mut out = Vec::new();
    let results: Vec<bool> = (0..9).map(|_| decoder.push(chunk.as_bytes(), &mut out).is_ok()).collect();
    assert_eq!(results.iter().filter(|ok| **ok).count(), 7, "{results:?}");
}

#[test]
fn what_came_before_an_error_is_given() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: rubbish\n\n";
    let (events, result) = decode(Api::OpenaiChat, &[stream.as_bytes()]);
    assert_eq!(events, [ModelEvent::TextDelta { block: 0, text: "a".to_owned() }]);
    assert_eq!(result.map_err(|error| error.class), Err(ErrorClass::Protocol));
}

#[test]
fn the_decoder_says_when_the_end_may_come() {
    let mut decoder = Decoder::new(Api::OpenaiChat);
    let mut out = Vec::new();
    assert_eq!((decoder.may_end(), decoder.is_finished()), (false, false));
    decoder.push(b"data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n", &mut out).unwrap();
    assert_eq!((decoder.may_end(), decoder.is_finished()), (true, false));
    decoder.push(b"data: [DONE]\n\n", &mut out).unwrap();
    assert_eq!((decoder.may_end(), decoder.is_finished()), (true, true));
    assert_eq!(out, [ModelEvent::Finished(StopReason::EndTurn)]);
}

/// One event's data of a stream, sensible or not.
fn chunk() -> impl Strategy<Value = String> {
    let part = || {
        prop_oneof![
            Just("null".to_owned()),
            Just("\"\"".to_owned()),
            "[a-z\u{e9}{}:]{1,4}".prop_map(|text| quoted(&text))
        ]
    };
    let index = || prop_oneof![Just(String::new()), (0..3_u8).prop_map(|index| format!("\"index\":{index},"))];
    prop_oneof![
        (part(), part()).prop_map(|(text, thought)| format!(
            "{{\"choices\":[{{\"delta\":{{\"content\":{text},\"reasoning_content\":{thought}}}}}]}}"
        )),
        (index(), part(), part(), part()).prop_map(|(index, id, name, arguments)| format!(
            "{{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{{index}\"id\":{id},\"function\":{{\"name\":{name},\"arguments\":{arguments}}}}}]}}}}]}}"
        )),
        prop_oneof![Just("stop"), Just("length"), Just("tool_calls"), Just("content_filter")]
            .prop_map(|reason| format!("{{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}")),
        (index(), prop_oneof![Just("text"), Just("thinking"), Just("tool_use"), Just("other")], part()).prop_map(
            |(index, kind, text)| format!(
                "{{\"type\":\"content_block_start\",{index}\"content_block\":{{\"type\":\"{kind}\",\"text\":{text},\"name\":{text}}}}}"
            )
        ),
        (index(), prop_oneof![Just("text"), Just("thinking"), Just("input_json"), Just("signature")], part()).prop_map(
            |(index, kind, text)| format!(
                "{{\"type\":\"content_block_delta\",{index}\"delta\":{{\"type\":\"{kind}_delta\",\"text\":{text},\"thinking\":{text},\"partial_json\":{text},\"signature\":{text}}}}}"
            )
        ),
        index().prop_map(|index| format!("{{{index}\"type\":\"content_block_stop\"}}")),
        Just("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"output_tokens\":3}}".to_owned()),
        Just("{\"type\":\"message_stop\"}".to_owned()),
        Just("[DONE]".to_owned()),
        Just("{\"choices\":[],\"usage\":{\"prompt_tokens\":3}}".to_owned()),
    ]
}

proptest! {
    #[test]
    fn any_stream_in_any_pieces_keeps_the_contract(
        chunks in proptest::collection::vec(chunk(), 0..12),
        line_end in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..5),
        lost in any::<prop::sample::Index>(),
    ) {
        let stream = chunks.iter().fold(String::new(), |all, chunk| all + "data: " + chunk + line_end + line_end);
        let stream = &stream.as_bytes()[..stream.len() - lost.index(stream.len() + 1) / 4];
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        for api in [Api::OpenaiChat, Api::AnthropicMessages] {
            let whole = decode(api, &[stream]);
            check_contract(&whole);
            prop_assert_eq!(decode(api, &pieces), whole);
        }
    }

    #[test]
    fn any_bytes_keep_the_contract(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let stream = [b"data: ", &bytes[..], b"\n\n"].concat();
        for api in [Api::OpenaiChat, Api::AnthropicMessages] {
            check_contract(&decode(api, &[&stream]));
        }
    }
}
