//! What the server takes, records and refuses.

use super::*;

#[tokio::test]
async fn requests_are_recorded_whole_and_in_order() {
    let server = ModelServer::start(Script::new([Step::say("1"), Step::say("2")])).await;
    ask(&server, CHAT, &chat()).await;
    ask(&server, MESSAGES, &messages()).await;
    let requests = server.wait_for(2).await;
    assert_eq!(
        requests.iter().map(|r| (r.api, r.path.as_str())).collect::<Vec<_>>(),
        [(Api::OpenaiChat, CHAT), (Api::AnthropicMessages, MESSAGES)]
    );
    assert_eq!(requests[0].body, Bytes::from(chat().to_string()));
    assert_eq!(requests[0].json, chat());
    assert_eq!(requests[0].header("x-test"), Some("1"));
    assert_eq!(requests[1].tools(), ["read_file"]);
    assert!(requests[0].at <= requests[1].at);
    server.assert_clean();
    assert_eq!(server.steps_left(), 0);
}

#[tokio::test]
async fn both_apis_are_read_alike() {
    let mut one = chat();
    one["messages"].as_array_mut().unwrap().extend([
        json!({"role": "assistant", "content": "t", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{\"a\":1}"}}]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "r"}),
        json!({"role": "user", "content": "v"}),
    ]);
    let mut other = messages();
    other["messages"].as_array_mut().unwrap().extend([
        json!({"role": "assistant", "content": [{"type": "text", "text": "t"},
            {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"a": 1}}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "r"},
            {"type": "text", "text": "v"}]}),
    ]);
    let server = ModelServer::start(Script::new([Step::say("1"), Step::say("2")])).await;
    ask(&server, CHAT, &one).await;
    ask(&server, MESSAGES, &other).await;
    server.assert_clean();
    let expected = [
        Seen::System("s".into()),
        Seen::User("u".into()),
        Seen::Assistant { text: "t".into(), calls: vec![("c1".into(), "read_file".into(), json!({"a": 1}))] },
        Seen::Result("c1".into(), "r".into()),
        Seen::User("v".into()),
    ];
    for request in server.requests() {
        assert_eq!(request.seen(), expected);
        assert_eq!(request.results(), [("c1".to_owned(), "r".to_owned())]);
        assert_eq!(request.last_user_text().as_deref(), Some("v"));
    }
}

#[tokio::test]
async fn a_rule_answers_before_the_script() {
    let script = Script::new([Step::say("main")])
        .on(|request| request.last_user_text().is_some_and(|text| text == "title?"), Step::say("a title"));
    let server = ModelServer::start(script).await;
    let mut side = chat();
    side["messages"][1]["content"] = json!("title?");
    assert!(ask(&server, CHAT, &side).await.body().contains("a title"));
    assert!(ask(&server, CHAT, &chat()).await.body().contains("main"));
    server.push(Step::say("pushed"));
    assert!(ask(&server, CHAT, &chat()).await.body().contains("pushed"));
    server.assert_clean();
}

#[tokio::test]
async fn a_request_without_a_step_is_refused_and_kept() {
    let server = ModelServer::start(Script::default()).await;
    assert_eq!(ask(&server, CHAT, &chat()).await.status, 400);
    assert_eq!(server.violations(), ["request 0: the script has no step left for this request"]);
}

#[tokio::test]
#[should_panic(expected = "the model server refused requests")]
async fn a_refused_request_fails_the_test() {
    let server = ModelServer::start(Script::default()).await;
    ask(&server, CHAT, &chat()).await;
    server.assert_clean();
}

#[tokio::test]
async fn refused_requests_take_no_step_unless_strictness_is_off() {
    let server = ModelServer::start(Script::new([Step::say("x")])).await;
    let mut bad = chat();
    bad["messages"][1]["content"] = json!("");
    let refused = ask(&server, CHAT, &bad).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.data(), Vec::<Value>::new(), "a refusal is no stream");
    assert_eq!(serde_json::from_str::<Value>(&refused.body()).unwrap()["error"]["message"], "messages[1]: empty text");
    assert_eq!(server.steps_left(), 1);
    server.set_strict(false);
    assert_eq!(ask(&server, CHAT, &bad).await.status, 200);
    let server = ModelServer::start(Script::default()).await;
    let answer = Raw::send_bytes(&server, MESSAGES, b"{").await.finish().await;
    assert_eq!(answer.status, 400);
    assert!(server.violations()[0].contains("not JSON"), "{:?}", server.violations());
}

/// The faults of `body` after `change`.
async fn faults(path: &str, change: impl FnOnce(&mut Value)) -> Vec<String> {
    let server = ModelServer::start(Script::new([Step::say("x")])).await;
    let mut body = if path == CHAT { chat() } else { messages() };
    change(&mut body);
    ask(&server, path, &body).await;
    server.violations().into_iter().map(|fault| fault.trim_start_matches("request 0: ").to_owned()).collect()
}

fn chat_call(id: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "read_file", "arguments": arguments}})
}

fn assistant(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn tool(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "r"})
}

#[tokio::test]
async fn chat_rules_are_enforced() {
    let user = || json!({"role": "user", "content": "u"});
    for (added, expected) in [
        (vec![assistant(&[chat_call("c1", "{}")]), tool("c1")], vec![]),
        (vec![assistant(&[chat_call("c1", "{}"), chat_call("c2", "{}")]), tool("c2"), tool("c1"), user()], vec![]),
        (
            vec![assistant(&[chat_call("c1", "{\"p")]), tool("c1")],
            vec!["messages[2].tool_calls[0]: the arguments \"{\\\"p\" are not the text of a JSON object"],
        ),
        (
            vec![assistant(&[chat_call("c1", "[1]")]), tool("c1")],
            vec!["messages[2].tool_calls[0]: the arguments \"[1]\" are not the text of a JSON object"],
        ),
        (
            vec![assistant(&[chat_call("c1", "{}"), chat_call("c1", "{}")]), tool("c1")],
            vec!["messages[2].tool_calls[1]: the call id \"c1\" is used twice"],
        ),
        (
            vec![assistant(&[chat_call("a.b", "{}")]), tool("a.b")],
            vec!["messages[2].tool_calls[0]: the call id \"a.b\" does not match ^[a-zA-Z0-9_-]+$"],
        ),
        (
            vec![assistant(&[chat_call("c1", "{}")]), user(), tool("c1")],
            vec![
                "messages[2]: call `c1` has 0 results directly after it, not one",
                "messages[4]: a tool message that follows no message with tool_calls",
            ],
        ),
        (
            vec![assistant(&[chat_call("c1", "{}")]), tool("c1"), tool("c1")],
            vec!["messages[2]: call `c1` has 2 results directly after it, not one"],
        ),
        (
            vec![assistant(&[chat_call("c1", "{}")]), tool("c9")],
            vec![
                "messages[2]: call `c1` has 0 results directly after it, not one",
                "messages[2]: result for `c9`, which the message before does not call",
            ],
        ),
        (
            vec![json!({"role": "assistant", "content": null})],
            vec!["messages[2]: an assistant message with neither content nor calls"],
        ),
        (vec![json!({"role": "assistant", "content": ""})], vec!["messages[2]: empty text"]),
        (vec![json!({"role": "narrator", "content": "x"})], vec!["messages[2]: role `narrator` does not exist"]),
        (vec![json!({"role": "user", "content": []})], vec!["messages[2].content is empty"]),
    ] {
        let found = faults(CHAT, |body| body["messages"].as_array_mut().unwrap().extend(added.clone())).await;
        assert_eq!(found, expected, "{added:?}");
    }
}

#[tokio::test]
async fn chat_parameters_are_checked() {
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 6] = [
        (|body| body["stream"] = json!(false), "this server streams only: `stream` must be true"),
        (|body| body["max_completion_tokens"] = json!(5), "max_tokens and max_completion_tokens together"),
        (|body| body["max_tokens"] = json!(0), "max_tokens is 0, not a positive integer"),
        (|body| body["thinking"] = json!({}), "the body: unknown field `thinking`"),
        (
            |body| body["tools"][0]["function"]["parameters"] = json!({"type": "array"}),
            "tools[0]: the schema is no object schema",
        ),
        (|body| body["tools"] = json!([]), "tools is empty"),
    ];
    for (change, expected) in changes {
        assert_eq!(faults(CHAT, change).await, [expected]);
    }
    assert_eq!(faults("/v1/other", |_| {}).await, ["there is no /v1/other here"]);
}

#[tokio::test]
async fn messages_rules_are_enforced() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read_file", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "r"});
    let user = |blocks: Vec<Value>| json!({"role": "user", "content": blocks});
    let assistant = |blocks: Vec<Value>| json!({"role": "assistant", "content": blocks});
    let text = |text: &str| json!({"type": "text", "text": text});
    for (added, expected) in [
        (vec![assistant(vec![text("t"), call("c1")]), user(vec![result("c1"), text("v")])], vec![]),
        (
            vec![assistant(vec![call("c1")]), user(vec![text("v"), result("c1")])],
            vec!["messages[2].content[1]: tool_result blocks come first in their message"],
        ),
        (
            vec![assistant(vec![call("c1")]), user(vec![text("v")])],
            vec!["messages[1]: call `c1` has 0 results directly after it, not one"],
        ),
        (vec![user(vec![result("c1")])], vec!["messages[1]: result for `c1`, which the message before does not call"]),
        (vec![user(vec![text(" \n")])], vec!["messages[1].content[0]: empty text"]),
        (
            vec![assistant(vec![text("t")])],
            vec!["the last message is not the user's: the model does not continue an assistant message"],
        ),
        (
            vec![json!({"role": "system", "content": "s"}), user(vec![text("v")])],
            vec!["messages[1]: role `system` does not exist"],
        ),
        (
            vec![assistant(vec![json!({"type": "thinking", "thinking": "hm"}), text("t")]), user(vec![text("v")])],
            vec!["messages[1].content[0]: signature: empty text"],
        ),
    ] {
        let found = faults(MESSAGES, |body| body["messages"].as_array_mut().unwrap().extend(added.clone())).await;
        assert_eq!(found, expected, "{added:?}");
    }
    let found = faults(MESSAGES, |body| body["messages"][0]["role"] = json!("assistant")).await;
    assert!(found.contains(&"messages[0]: the first message is not the user's".to_owned()), "{found:?}");
}

#[tokio::test]
async fn cache_marks_are_at_most_four_and_long_before_short() {
    let mark = |ttl: Option<&str>| match ttl {
        Some(ttl) => json!({"type": "ephemeral", "ttl": ttl}),
        None => json!({"type": "ephemeral"}),
    };
    let text = |ttl| json!({"type": "text", "text": "t", "cache_control": mark(ttl)});
    let found = faults(MESSAGES, |body| {
        body["system"] = json!([text(Some("1h")), text(None)]);
        body["messages"][0]["content"] = json!([text(None), text(None)]);
    });
    assert_eq!(found.await, Vec::<String>::new());
    let found = faults(MESSAGES, |body| {
        body["tools"][0]["cache_control"] = mark(None);
        body["system"] = json!([text(Some("1h")), text(None)]);
        body["messages"][0]["content"] = json!([text(None), text(Some("2h"))]);
    });
    assert_eq!(
        found.await,
        [
            "5 places carry cache_control, at most 4 may",
            "system[0]: a lifetime of 1h after one of 5m",
            "messages[0].content[1]: cache_control of type \"ephemeral\" and lifetime \"2h\" is not known",
        ]
    );
}
