use super::*;

/// A request body with these messages.
fn body(messages: &[Value]) -> Vec<u8> {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    let body = json!({
        "model": "retrieval", "stream": true, "tools": [tool("read_file"), tool("grep")], "messages": messages,
    });
    serde_json::to_vec(&body).unwrap()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": format!("<additional_data>\nshell\n</additional_data>\n\n<user_query>\n{text}\n</user_query>")})
}

fn calls(calls: &[(&str, &str, Value)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, name, arguments)| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
        })
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

fn called(events: &[ModelEvent]) -> Vec<(String, Value)> {
    events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::BlockDone { content: BlockContent::Call { name, arguments, .. }, .. } => {
                Some((name.clone(), serde_json::from_str(arguments).unwrap()))
            }
            _ => None,
        })
        .collect()
}

fn said(events: &[ModelEvent]) -> String {
    let texts: Vec<&String> = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::BlockDone { content: BlockContent::Text(text), .. } => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(texts.len(), 1, "{events:?}");
    texts[0].clone()
}

const QUESTION: &str = "Where is the shell command tool implemented and what are its arguments?";

fn search(pattern: &str) -> Value {
    json!({"pattern": pattern, "output_mode": "count", "case_insensitive": true, "head_limit": 400})
}

#[test]
fn a_question_becomes_one_search() {
    let events = respond(&body(&[user("how does compaction work?")]));
    assert_eq!(events[0], ModelEvent::CallStarted { block: 0, name: "grep".into() });
    assert_eq!(called(&events), [("grep".to_owned(), search("(?:compaction)"))]);
    assert_eq!(events.len(), 4);
    assert!(matches!(events[2], ModelEvent::Usage(Usage { input: 50.., output: 10.., .. })), "{events:?}");
    assert_eq!(events[3], ModelEvent::Finished(StopReason::ToolCalls));
}

#[test]
fn the_two_best_files_are_read_in_parallel() {
    let found = "[grep ok \u{b7} x \u{b7} 21 matches in 4 files \u{b7} e/c1@r1]\nCHANGELOG.md\t9\n\
                 daemon/core/prompts/tools/run_terminal_cmd/schema.json\t1\ndaemon/src/process/mod.rs\t7\n\
                 daemon/src/tool/run_terminal_cmd/mod.rs\t4";
    let events = respond(&body(&[user(QUESTION), calls(&[("c1", "grep", search("x"))]), result("c1", found)]));
    let read = |path: &str| ("read_file".to_owned(), json!({"target_file": path, "offset": 1, "limit": 1_000}));
    assert_eq!(
        called(&events),
        [
            read("daemon/core/prompts/tools/run_terminal_cmd/schema.json"),
            read("daemon/src/tool/run_terminal_cmd/mod.rs"),
        ]
    );
}

#[test]
fn the_answer_quotes_with_places_and_says_that_no_model_spoke() {
    let found = "[grep ok]\nsrc/shell.rs\t3\nsrc/gone.rs\t2\nsrc/other.rs\t1";
    let path = |path: &str| json!({"target_file": path});
    let events = respond(&body(&[
        user(QUESTION),
        calls(&[("c1", "grep", search("x"))]),
        result("c1", found),
        calls(&[("c2", "read_file", path("src/shell.rs")), ("c3", "read_file", path("src/gone.rs"))]),
        result(
            "c2",
            "[read_file ok \u{b7} src/shell.rs \u{b7} lines 1-3 of 3]\n1|\n2|/// Runs a shell command.\n3|fn run() {}",
        ),
        result("c3", "[read_file failed \u{b7} e/c3@r1]\nThere is no file src/gone.rs."),
    ]));
    let text = said(&events);
    assert_eq!(
        text,
        format!(
            "{} I searched for `shell`, `command`, `tool`, `implemented`, `arguments`.\n\n`src/shell.rs:2-3`\n\n```rs\n\
         /// Runs a shell command.\nfn run() {{}}\n```\n\n`src/gone.rs` could not be quoted: [read_file failed \u{b7} e/c3@r1] \
         There is no file src/gone.rs.\n\nMatching lines are also in `src/other.rs` (1).\n\n{}",
            "No language model is configured; this is a retrieval answer: passages found by keywords, not understood.",
            "For real answers set `model = \"<provider>/<model>\"` in Plimsoll's `config.toml`; the README shows how."
        )
    );
    let deltas: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::TextDelta { block: 0, text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(deltas.len() > 3, "{deltas:?}");
    assert_eq!(deltas.concat(), text);
    assert_eq!(events.last(), Some(&ModelEvent::Finished(StopReason::EndTurn)));
}

#[test]
fn a_search_without_a_match_is_widened_once() {
    let nothing = "[grep ok \u{b7} 0 matches in 0 files \u{b7} e/c1@r1]\nNo matches.";
    let mut messages =
        vec![user("frobnicate the widgets"), calls(&[("c1", "grep", search("x"))]), result("c1", nothing)];
    let events = respond(&body(&messages));
    assert_eq!(called(&events), [("grep".to_owned(), search("(?:frobnicat)|(?:widget)"))]);
    messages.extend([calls(&[("c2", "grep", search("y"))]), result("c2", nothing)]);
    let text = said(&respond(&body(&messages)));
    assert!(text.contains("`frobnicate`, `widgets` and found nothing"), "{text}");
    assert!(text.contains("No matches."), "{text}");
}

#[test]
fn a_denied_or_failed_search_is_told() {
    for failure in ["[grep denied \u{b7} e/c1@r1]\nThe user said no.", "[grep failed]\nregex parse error", ""] {
        let events =
            respond(&body(&[user("compaction"), calls(&[("c1", "grep", search("x"))]), result("c1", failure)]));
        let text = said(&events);
        assert!(text.contains(failure), "{text}");
        assert!(text.contains("found nothing"), "{text}");
    }
}

#[test]
fn only_the_newest_query_counts() {
    let events = respond(&body(&[
        user("compaction"),
        calls(&[("c1", "grep", search("x"))]),
        result("c1", "[grep ok]\na.rs\t3"),
        json!({"role": "assistant", "content": "quoted"}),
        user("permission"),
        json!({"role": "user", "content": "<system-reminder>x</system-reminder>"}),
    ]));
    assert_eq!(called(&events), [("grep".to_owned(), search("(?:permission)"))]);
}

#[test]
fn small_talk_and_bad_bodies_get_an_answer() {
    assert!(said(&respond(&body(&[user("Hello!")]))).contains("search this project by keywords"));
    assert!(said(&respond(&body(&[]))).contains("search this project by keywords"));
    assert!(said(&respond(b"{")).contains("could not read the request"));
    assert!(said(&respond(b"{}")).contains("no `messages`"));
    let without_tools = json!({"messages": [user("compaction")]}).to_string();
    assert!(said(&respond(without_tools.as_bytes())).contains("may not search"));
}

#[test]
fn content_in_parts_is_read_and_the_answer_is_the_same_each_time() {
    let parts =
        json!({"role": "user", "content": [{"type": "text", "text": "<user_query>\u{7f13}\u{5b58}</user_query>"}]});
    let body = body(&[parts]);
    assert_eq!(called(&respond(&body)), [("grep".to_owned(), search("(?:\u{7f13}\u{5b58})"))]);
    assert_eq!(respond(&body), respond(&body));
}
