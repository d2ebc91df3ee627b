use super::*;

fn conversation() -> Conversation {
    Conversation::new("b".to_owned())
}

fn text(frame: &[u8]) -> Value {
    serde_json::from_slice(frame).unwrap()
}

/// The editor says this; what the daemon gets.
fn up(conversation: &mut Conversation, message: &Value) -> Option<Value> {
    conversation.editor_says(line(message)).map(|frame| text(&frame))
}

/// The daemon says this; what the editor gets.
fn down(conversation: &mut Conversation, message: &Value) -> Option<Value> {
    let frame = line(message);
    let told = conversation.daemon_says(&frame)?;
    Some(text(&told))
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn answer(id: u64, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn mark(seq: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": TOLD, "params": {"sessionId": "s1", "seq": seq}})
}

/// Initialized, with session `s1` of which everything up to event 7 is told.
fn open() -> Conversation {
    let mut conversation = conversation();
    up(&mut conversation, &request(1, "initialize", &json!({"protocolVersion": 1})));
    down(&mut conversation, &answer(1, &json!({"protocolVersion": 1})));
    up(&mut conversation, &request(2, "session/new", &json!({"cwd": "/w", "mcpServers": []})));
    down(&mut conversation, &answer(2, &json!({"sessionId": "s1"})));
    assert_eq!(down(&mut conversation, &mark(7)), None);
    conversation
}

#[test]
fn the_next_daemon_is_told_what_there_was() {
    let mut conversation = open();
    let prompt = request(3, "session/prompt", &json!({"sessionId": "s1", "prompt": []}));
    let sent = up(&mut conversation, &prompt).unwrap();
    assert_eq!(sent[KEY_MEMBER], "b-2");
    down(&mut conversation, &mark(9));
    assert_eq!(conversation.lost(), Vec::<Vec<u8>>::new());
    let expected = Resume {
        initialize: Some(json!({"protocolVersion": 1})),
        last_request: 0,
        sessions: vec![ResumedSession {
            session: "s1".to_owned(),
            seq: Some(9),
            params: Some(json!({"cwd": "/w", "mcpServers": []})),
            prompts: vec![ResumedPrompt { key: "b-2".to_owned(), after: 7 }],
        }],
    };
    assert_eq!(conversation.resume(), expected);
    let repeated: Vec<Value> = conversation.repeat().iter().map(|frame| text(frame)).collect();
    assert_eq!(repeated, [sent]);
}

#[test]
fn what_was_answered_is_not_asked_again_and_a_cancel_is() {
    let mut conversation = open();
    up(&mut conversation, &request(3, "session/prompt", &json!({"sessionId": "s1", "prompt": []})));
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}});
    up(&mut conversation, &cancel);
    conversation.lost();
    let methods = |conversation: &Conversation| -> Vec<String> {
        conversation.repeat().iter().map(|frame| text(frame)["method"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(methods(&conversation), ["session/prompt", "session/cancel"]);
    let end = answer(3, &json!({"stopReason": "cancelled"}));
    assert_eq!(down(&mut conversation, &end), Some(end));
    assert_eq!((methods(&conversation).len(), conversation.waits()), (0, false));
}

#[test]
fn dialogs_of_a_dead_daemon_are_withdrawn_and_their_answers_reach_nobody() {
    let mut conversation = open();
    let ask = request(5, "session/request_permission", &json!({"sessionId": "s1"}));
    assert_eq!(down(&mut conversation, &ask), Some(ask));
    let told: Vec<Value> = conversation.lost().iter().map(|frame| text(frame)).collect();
    assert_eq!(told, [json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 5}})]);
    assert_eq!(up(&mut conversation, &answer(5, &json!({"outcome": {"outcome": "cancelled"}}))), None);
    assert_eq!(conversation.resume().last_request, 5);
    let again = request(6, "session/request_permission", &json!({"sessionId": "s1"}));
    down(&mut conversation, &again);
    let said = answer(6, &json!({}));
    assert_eq!(up(&mut conversation, &said), Some(said));
}

#[test]
fn what_nobody_knows_is_answered_with_an_error_once_and_what_a_leaving_daemon_refuses_is_asked_again() {
    let mut conversation = open();
    up(&mut conversation, &request(3, "_their/own", &json!({})));
    up(&mut conversation, &request(4, "session/list", &json!({})));
    let leaving = json!({"code": -32603, "message": "m", "data": {"kind": "shuttingDown"}});
    assert_eq!(down(&mut conversation, &json!({"jsonrpc": "2.0", "id": 4, "error": leaving})), None);
    let told: Vec<Value> = conversation.lost().iter().map(|frame| text(frame)).collect();
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["id"], &told[0]["error"]["code"]), (&json!(3), &json!(-32603)));
    assert_eq!(text(&conversation.repeat()[0])["method"], "session/list");
    let told: Vec<Value> = conversation.give_up("no").iter().map(|frame| text(frame)).collect();
    assert_eq!((told.len(), &told[0]["id"], &told[0]["error"]["message"]), (1, &json!(4), &json!("no")));
}

#[test]
fn sessions_are_forgotten_when_they_are_closed_deleted_or_could_not_be_loaded() {
    let mut conversation = open();
    let ids = |conversation: &Conversation| -> Vec<String> {
        conversation.resume().sessions.into_iter().map(|session| session.session).collect()
    };
    let of = |id: &str| json!({"sessionId": id, "cwd": "/w", "mcpServers": []});
    let update = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s2", "update": {"sessionUpdate": "plan"}}});
    up(&mut conversation, &request(3, "session/load", &of("s2")));
    down(&mut conversation, &update);
    assert_eq!(ids(&conversation), ["s1"], "it is loaded again");
    down(&mut conversation, &answer(3, &json!({})));
    assert_eq!(ids(&conversation), ["s1", "s2"]);
    up(&mut conversation, &request(4, "session/close", &of("s1")));
    down(&mut conversation, &answer(4, &json!({})));
    assert_eq!(ids(&conversation), ["s2"]);
    up(&mut conversation, &request(5, "session/load", &of("s3")));
    down(&mut conversation, &json!({"jsonrpc": "2.0", "id": 5, "error": {"code": -32002, "message": "m"}}));
    up(&mut conversation, &request(6, "session/load", &of("s2")));
    down(&mut conversation, &json!({"jsonrpc": "2.0", "id": 6, "error": {"code": -32603, "message": "m"}}));
    assert_eq!(ids(&conversation), ["s2"]);
}

#[test]
fn an_update_that_is_told_again_does_not_reach_the_editor_twice() {
    let mut conversation = open();
    let update = |text: &str| {
        let update = json!({"sessionUpdate": "agent_message_chunk", "messageId": "m1.1.0", "content": {"type": "text", "text": text}});
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}})
    };
    assert_eq!(down(&mut conversation, &update("half ")), Some(update("half ")));
    conversation.lost();
    assert_eq!(down(&mut conversation, &update("half whole")), Some(update("whole")));
    let other = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s9", "update": {}}});
    assert_eq!(down(&mut conversation, &other), Some(other));
}

#[test]
fn what_is_no_call_goes_through_as_it_is() {
    let mut conversation = conversation();
    for odd in ["[]\n", "{bad\n", "\n", "{\"jsonrpc\":\"2.0\"}\n"] {
        assert_eq!(conversation.editor_says(odd.into()), Some(odd.into()));
        assert_eq!(conversation.daemon_says(odd.as_bytes()).as_deref(), Some(odd.as_bytes()));
    }
    let spaced = b" { \"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/new\",\"params\":{}}\n";
    let sent = conversation.editor_says(spaced.to_vec()).unwrap();
    assert!(sent.starts_with(b"{\"plimsollKey\":\"b-1\","), "{}", String::from_utf8_lossy(&sent));
    assert_eq!(text(&sent)["method"], "session/new");
}
