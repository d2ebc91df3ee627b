use super::*;
use crate::id::CallId;
use crate::model::codec::anthropic::encode::MARK;
use crate::model::request::{AssistantBlock, Reasoning, ResultBlock};
use proptest::prelude::*;
use serde_json::{Value, json};

const APIS: [Api; 3] = [Api::OpenaiChat, Api::AnthropicMessages, Api::Offline];

fn params(model: &str) -> Params {
    Params { model: model.to_owned(), max_output: 4096, temperature: None }
}

fn read_file() -> ToolDef {
    ToolDef {
        name: "read_file".to_owned(),
        description: "Reads a \"file\".".to_owned(),
        schema: "{\"type\":\"object\",\"properties\":{}}\n".to_owned(),
    }
}

fn text(text: &str) -> AssistantBlock {
    AssistantBlock::Text(text.to_owned())
}

fn call(id: u64, arguments: &str) -> AssistantBlock {
    AssistantBlock::Call { id: CallId(id), name: "read_file".to_owned(), arguments: arguments.to_owned() }
}

fn thought(text: &str, signature: Option<&str>, redacted: Option<&str>, api: Api) -> AssistantBlock {
    AssistantBlock::Reasoning(Reasoning {
        text: text.to_owned(),
        signature: signature.map(str::to_owned),
        redacted: redacted.map(str::to_owned),
        api,
    })
}

fn result(id: u64, text: &str, is_error: bool) -> ResultBlock {
    ResultBlock { id: CallId(id), text: text.to_owned(), is_error }
}

fn segments(texts: Vec<String>) -> Vec<Arc<str>> {
    texts.into_iter().map(Arc::from).collect()
}

fn check(api: Api, message: &Message, expected: &[&str]) {
    assert_eq!(encode_message(api, message), expected);
}

#[test]
fn chat_messages_have_one_string_as_content() {
    let api = Api::OpenaiChat;
    check(api, &Message::User("a\n\"b\"".to_owned()), &[r#"{"role":"user","content":"a\n\"b\""}"#]);
    check(
        api,
        &Message::Assistant(vec![
            thought("hm", None, None, Api::OpenaiChat),
            text("I "),
            text("look."),
            call(7, r#"{"target_file": "a"}"#),
            call(8, "{}"),
        ]),
        &[concat!(
            r#"{"role":"assistant","content":"I look.","tool_calls":["#,
            r#"{"id":"c7","type":"function","function":{"name":"read_file","arguments":"{\"target_file\": \"a\"}"}},"#,
            r#"{"id":"c8","type":"function","function":{"name":"read_file","arguments":"{}"}}]}"#
        )],
    );
    check(
        api,
        &Message::Results(vec![result(7, "one", false), result(8, "two", true)]),
        &[
            r#"{"role":"tool","tool_call_id":"c7","content":"one"}"#,
            r#"{"role":"tool","tool_call_id":"c8","content":"two"}"#,
        ],
    );
}

#[test]
fn anthropic_messages_have_blocks_as_content() {
    let api = Api::AnthropicMessages;
    check(api, &Message::User("a".to_owned()), &[r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#]);
    check(
        api,
        &Message::Assistant(vec![
            thought("hm", Some("sig=="), None, api),
            thought("", None, Some("enc=="), api),
            text("I look."),
            call(7, r#"{"target_file": "a"}"#),
        ]),
        &[concat!(
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig=="},"#,
            r#"{"type":"redacted_thinking","data":"enc=="},{"type":"text","text":"I look."},"#,
            r#"{"type":"tool_use","id":"c7","name":"read_file","input":{"target_file": "a"}}]}"#
        )],
    );
    check(
        api,
        &Message::Results(vec![result(7, "one", false), result(8, "two", true)]),
        &[concat!(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c7","#,
            r#""content":[{"type":"text","text":"one"}]},{"type":"tool_result","tool_use_id":"c8","is_error":true,"#,
            r#""content":[{"type":"text","text":"two"}]}]}"#
        )],
    );
}

#[test]
fn what_a_provider_would_refuse_is_not_sent() {
    for api in APIS {
        check(api, &Message::User(" \n".to_owned()), &[]);
        check(api, &Message::Assistant(vec![]), &[]);
        check(api, &Message::Assistant(vec![text(""), text("\n\n")]), &[]);
        check(api, &Message::Results(vec![]), &[]);
        check(api, &Message::Assistant(vec![thought("only this", Some("s"), None, api)]), &[]);
    }
    // Reasoning of another wire, without a signature, or with nothing after it.
    check(
        Api::AnthropicMessages,
        &Message::Assistant(vec![
            thought("other wire", Some("s"), None, Api::OpenaiChat),
            thought("unsigned", None, None, Api::AnthropicMessages),
            text("said"),
            thought("trailing", Some("s"), None, Api::AnthropicMessages),
        ]),
        &[r#"{"role":"assistant","content":[{"type":"text","text":"said"}]}"#],
    );
    check(
        Api::OpenaiChat,
        &Message::Assistant(vec![text("\n"), call(1, "{}")]),
        &[concat!(
            r#"{"role":"assistant","content":null,"tool_calls":["#,
            r#"{"id":"c1","type":"function","function":{"name":"read_file","arguments":"{}"}}]}"#
        )],
    );
}

#[test]
fn arguments_that_are_no_object_are_sent_as_the_empty_one() {
    for bad in ["", "[1]", "\"x\"", "{\"command\": \"touch P", "{} {}", "null"] {
        let message = Message::Assistant(vec![call(1, bad)]);
        let chat: Value = serde_json::from_str(&encode_message(Api::OpenaiChat, &message)[0]).unwrap();
        assert_eq!(chat["tool_calls"][0]["function"]["arguments"], json!("{}"), "{bad}");
        let blocks: Value = serde_json::from_str(&encode_message(Api::AnthropicMessages, &message)[0]).unwrap();
        assert_eq!(blocks["content"][0]["input"], json!({}), "{bad}");
    }
}

#[test]
fn an_empty_result_still_answers_its_call() {
    let message = Message::Results(vec![result(3, " \n", false)]);
    check(Api::OpenaiChat, &message, &[r#"{"role":"tool","tool_call_id":"c3","content":"(no output)"}"#]);
    check(
        Api::AnthropicMessages,
        &message,
        &[concat!(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","#,
            r#""content":[{"type":"text","text":"(no output)"}]}]}"#
        )],
    );
}

#[test]
fn tools_and_system_blocks_have_their_vendors_form() {
    let blocks = ["You are.".to_owned(), " ".to_owned(), "Now is.".to_owned()];
    assert_eq!(
        encode_system(Api::OpenaiChat, &blocks),
        [r#"{"role":"system","content":"You are.\n\nNow is."}"#.to_owned()]
    );
    assert_eq!(
        encode_system(Api::AnthropicMessages, &blocks),
        [r#"{"type":"text","text":"You are."}"#.to_owned(), r#"{"type":"text","text":"Now is."}"#.to_owned()]
    );
    assert_eq!(encode_system(Api::OpenaiChat, &[]), Vec::<String>::new());
    assert_eq!(
        encode_tool(Api::OpenaiChat, &read_file()),
        concat!(
            r#"{"type":"function","function":{"name":"read_file","description":"Reads a \"file\".","#,
            r#""parameters":{"type":"object","properties":{}}}}"#
        )
    );
    assert_eq!(
        encode_tool(Api::AnthropicMessages, &read_file()),
        r#"{"name":"read_file","description":"Reads a \"file\".","input_schema":{"type":"object","properties":{}}}"#
    );
}

#[test]
fn parameters_come_in_a_fixed_order_and_in_the_models_dialect() {
    let usage = r#""stream":true,"stream_options":{"include_usage":true}"#;
    for (model, limit) in [
        ("small", r#""max_tokens":4096"#),
        ("gpt-4o", r#""max_tokens":4096"#),
        ("gpt-oss-120b", r#""max_tokens":4096"#),
        ("openai/gpt-6-sol", r#""max_tokens":4096"#),
        ("omni", r#""max_tokens":4096"#),
        ("deepseek-r1:7b", r#""max_tokens":4096"#),
        ("deepseek-v4-pro", r#""max_tokens":4096,"thinking":{"type":"disabled"}"#),
        ("gpt-5", r#""max_completion_tokens":4096"#),
        ("o3-mini", r#""max_completion_tokens":4096"#),
        ("gpt-6.1-sol", r#""max_completion_tokens":4096"#),
        ("gpt-5.6-sol", r#""max_completion_tokens":4096,"reasoning_effort":"none""#),
        ("gpt-6-sol", r#""max_completion_tokens":4096,"reasoning_effort":"none""#),
    ] {
        let expected = format!("\"model\":\"{model}\",{limit},{usage}");
        assert_eq!(params_text(Api::OpenaiChat, &params(model)), expected);
    }
    let warm = Params { temperature: Some(0.7), ..params("m") };
    assert_eq!(
        params_text(Api::OpenaiChat, &warm),
        format!("\"model\":\"m\",\"max_tokens\":4096,\"temperature\":0.7,{usage}")
    );
    assert_eq!(
        params_text(Api::AnthropicMessages, &warm),
        r#""model":"m","max_tokens":4096,"temperature":0.7,"stream":true"#
    );
    let odd = Params { temperature: Some(f32::NAN), ..params("m") };
    assert_eq!(params_text(Api::AnthropicMessages, &odd), r#""model":"m","max_tokens":4096,"stream":true"#);
}

#[test]
fn a_chat_body_is_the_concatenation_of_its_segments() {
    let api = Api::OpenaiChat;
    let system = segments(encode_system(api, &["S".to_owned()]));
    let messages = segments(encode_message(api, &Message::User("hi".to_owned())));
    let body = String::from_utf8(body(api, &params("m"), &[], &system, &messages, &[0])).unwrap();
    assert_eq!(
        body,
        concat!(
            r#"{"model":"m","max_tokens":4096,"stream":true,"stream_options":{"include_usage":true},"#,
            r#""messages":[{"role":"system","content":"S"},{"role":"user","content":"hi"}]}"#
        )
    );
}

#[test]
fn anthropic_marks_stand_on_tools_static_text_and_two_messages() {
    let api = Api::AnthropicMessages;
    let tools = segments(vec![encode_tool(api, &read_file()); 2]);
    let system = segments(encode_system(api, &["static".to_owned(), "dynamic".to_owned()]));
    let mut messages = Vec::new();
    for message in [
        Message::User("hi".to_owned()),
        Message::Assistant(vec![text("I look."), call(1, "{}")]),
        Message::Results(vec![result(1, "one", false)]),
        Message::User("and?".to_owned()),
    ] {
        messages.extend(segments(encode_message(api, &message)));
    }
    let bare = format!(
        "{{{},\"tools\":[{}],\"system\":[{}],\"messages\":[{}]}}",
        params_text(api, &params("m")),
        tools.join(","),
        system.join(","),
        messages.join(",")
    );
    let places = |marks: &[u32]| {
        let body = String::from_utf8(body(api, &params("m"), &tools, &system, &messages, marks)).unwrap();
        assert_eq!(body.replace(MARK, ""), bare, "without marks it is the concatenation");
        let body: Value = serde_json::from_str(&body).unwrap();
        let mut places = Vec::new();
        for part in ["tools", "system"] {
            for (at, block) in body[part].as_array().unwrap().iter().enumerate() {
                if block.get("cache_control").is_some() {
                    places.push(format!("{part} {at}"));
                }
            }
        }
        for (at, message) in body["messages"].as_array().unwrap().iter().enumerate() {
            for block in message["content"].as_array().unwrap() {
                if block.get("cache_control") == Some(&json!({"type": "ephemeral"})) {
                    places.push(format!("message {at} {}", block["type"].as_str().unwrap()));
                }
            }
        }
        places
    };
    assert_eq!(places(&[]), ["tools 1", "system 0"]);
    assert_eq!(places(&[2, 1]), ["tools 1", "system 0", "message 1 tool_use", "message 2 tool_result"]);
    assert_eq!(places(&[0, 3, 3, 1, 99]), ["tools 1", "system 0", "message 1 tool_use", "message 3 text"]);
}

#[test]
fn a_body_without_tools_or_system_has_no_such_field() {
    for api in APIS {
        let messages = segments(encode_message(api, &Message::User("hi".to_owned())));
        let body: Value = serde_json::from_slice(&body(api, &params("m"), &[], &[], &messages, &[0])).unwrap();
        assert_eq!((body.get("tools"), body.get("system")), (None, None));
        assert_eq!(body["messages"].as_array().map(Vec::len), Some(1));
    }
}

fn block() -> impl Strategy<Value = AssistantBlock> {
    prop_oneof![
        "\\PC{0,8}".prop_map(AssistantBlock::Text),
        ("\\PC{0,4}", any::<Option<bool>>(), any::<bool>()).prop_map(|(text, sealed, chat)| {
            let api = if chat { Api::OpenaiChat } else { Api::AnthropicMessages };
            thought(
                &text,
                sealed.filter(|signed| *signed).map(|_| "sig"),
                sealed.filter(|signed| !*signed).map(|_| "enc"),
                api,
            )
        }),
        (0..9_u64, "(\\{\"a\":\"\\PC{0,3}|\\}|\"\\}|\\{\\}){0,2}").prop_map(|(id, arguments)| call(id, &arguments)),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        "\\PC{0,8}".prop_map(Message::User),
        proptest::collection::vec(block(), 0..4).prop_map(Message::Assistant),
        proptest::collection::vec(("\\PC{0,6}", any::<bool>()), 0..3).prop_map(|results| {
            Message::Results(results.iter().zip(1..).map(|((text, error), id)| result(id, text, *error)).collect())
        }),
    ]
}

proptest! {
    #[test]
    fn each_body_parses_and_its_messages_are_a_prefix_of_the_next(
        all in proptest::collection::vec(message(), 1..8),
        marks in proptest::collection::vec(0..8_u32, 0..4),
    ) {
        for api in APIS {
            let tools = segments(vec![encode_tool(api, &read_file())]);
            let system = segments(encode_system(api, &["static".to_owned(), "dynamic".to_owned()]));
            let mut messages: Vec<Arc<str>> = Vec::new();
            let mut before: Option<String> = None;
            for message in &all {
                messages.extend(segments(encode_message(api, message)));
                let marked = String::from_utf8(body(api, &params("m"), &tools, &system, &messages, &marks)).unwrap();
                let parsed: Value = serde_json::from_str(&marked).unwrap();
                let leading = usize::from(api != Api::AnthropicMessages);
                prop_assert_eq!(parsed["messages"].as_array().unwrap().len(), messages.len() + leading);
                let bare = marked.replace(MARK, "");
                if let Some(before) = &before {
                    prop_assert!(bare.starts_with(before.as_str()));
                }
                before = bare.strip_suffix("]}").map(str::to_owned);
            }
        }
    }
}

#[test]
fn each_vendors_input_is_everything_that_was_sent() {
    // As recorded: Anthropic leaves cached tokens out of its input, and so does llama.cpp on that wire; the others count
    // them in, under names of their own.
    let messages = [
        (
            r#"{"input_tokens":6,"cache_creation_input_tokens":3337,"cache_read_input_tokens":6289,"output_tokens":9}"#,
            [9_632, 6_289, 3_337, 9],
        ),
        (r#"{"input_tokens":40,"cache_read_input_tokens":1200,"output_tokens":9}"#, [1_240, 1_200, 0, 9]),
        (r#"{"input_tokens":40,"cache_read_input_tokens":null,"output_tokens":9}"#, [40, 0, 0, 9]),
    ];
    let chat = [
        (
            r#"{"prompt_tokens":2006,"completion_tokens":300,"prompt_tokens_details":{"cached_tokens":1920},"completion_tokens_details":{"reasoning_tokens":256}}"#,
            [2_006, 1_920, 0, 300],
        ),
        (
            r#"{"prompt_tokens":2006,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":900,"cache_write_tokens":1000}}"#,
            [2_006, 900, 1_000, 3],
        ),
        (
            r#"{"prompt_tokens":339,"completion_tokens":83,"prompt_cache_hit_tokens":320,"prompt_cache_miss_tokens":19}"#,
            [339, 320, 0, 83],
        ),
        (r#"{"prompt_tokens":50,"completion_tokens":5,"cached_tokens":32}"#, [50, 32, 0, 5]),
    ];
    let check = |api, body: String, [input, cache_read, cache_write, output]: [u64; 4]| {
        let events = crate::model::codec::decode_whole(api, body.as_bytes()).unwrap();
        let usage = events.iter().find_map(|event| match event {
            crate::model::event::ModelEvent::Usage(usage) => Some(*usage),
            _ => None,
        });
        assert_eq!(usage, Some(crate::model::usage::Usage { input, cache_read, cache_write, output }), "{body}");
    };
    for (usage, expected) in messages {
        let answer =
            r#""type":"message","role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn""#;
        check(Api::AnthropicMessages, format!("{{{answer},\"usage\":{usage}}}"), expected);
    }
    for (usage, expected) in chat {
        let answer = r#""choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]"#;
        check(Api::OpenaiChat, format!("{{{answer},\"usage\":{usage}}}"), expected);
    }
}
