//! Tests of what an ACP client is told.

use super::*;
use plimsoll_core::id::{ItemNo, Revision};
use plimsoll_core::model::request::{Api, Reasoning};
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::outcome::{Body, Outcome};
use plimsoll_core::transcript::item::{AssistantText, ToolCall, ToolResult, UserMessage};
use proptest::prelude::*;
use serde_json::{Value, json};

fn item(no: u64, step: u64, body: ItemBody) -> Item {
    Item { no: ItemNo(no), turn: TurnNo(1), step: StepNo(step), at: Timestamp(0), body }
}

fn user(text: &str) -> ItemBody {
    ItemBody::User(UserMessage { text: text.into(), ..UserMessage::default() })
}

fn assistant(text: &str) -> ItemBody {
    ItemBody::Assistant(AssistantText { text: text.into(), cut: false })
}

fn reasoning(text: &str) -> ItemBody {
    ItemBody::Reasoning(Reasoning { text: text.into(), signature: None, redacted: None, api: Api::OpenaiChat })
}

fn call(id: u64) -> ItemBody {
    ItemBody::ToolCall(ToolCall {
        call: CallId(id),
        tool: "grep".into(),
        arguments: r#"{"pattern":"x"}"#.into(),
        provider_id: None,
    })
}

fn result(id: u64, body: Body) -> ItemBody {
    let outcome = Outcome { status: plimsoll_core::tool::outcome::Status::Ok, body };
    ItemBody::ToolResult(ToolResult {
        call: CallId(id),
        tool: "grep".into(),
        outcome,
        revision: Revision(1),
        approximate: false,
    })
}

fn text(block: u32, text: &str) -> Delta {
    Delta::Text { turn: TurnNo(1), step: StepNo(1), block, text: text.into() }
}

/// Kind, message id and text of a chunk; the whole of anything else.
fn shown(updates: impl IntoIterator<Item = SessionUpdate>) -> Value {
    let mut updates = updates.into_iter();
    let Some(update) = updates.next() else { return Value::Null };
    assert_eq!(updates.next(), None, "one at a time");
    let value = serde_json::to_value(update).unwrap();
    match value["content"]["text"].as_str() {
        Some(text) => json!([value["sessionUpdate"], value["messageId"], text]),
        None => value,
    }
}

#[test]
fn a_streamed_item_is_told_once_and_its_rest_is_added() {
    let mut translator = Translator::default();
    assert_eq!(shown(translator.delta(&text(0, "Hel"), 0)), json!(["agent_message_chunk", "m1.1.0", "Hel"]));
    assert_eq!(shown(translator.delta(&text(0, "lo"), 3)), json!(["agent_message_chunk", "m1.1.0", "lo"]));
    assert_eq!(shown(translator.delta(&text(2, "B"), 0)), json!(["agent_message_chunk", "m1.1.1", "B"]));
    assert_eq!(shown(translator.item(&item(1, 1, assistant("Hello")), None, false)), Value::Null);
    assert_eq!(
        shown(translator.item(&item(2, 1, assistant("Bye")), None, false)),
        json!(["agent_message_chunk", "m1.1.1", "ye"])
    );
    assert_eq!(
        shown(translator.item(&item(3, 2, assistant("Next")), None, false)),
        json!(["agent_message_chunk", "m1.2.0", "Next"])
    );
}

#[test]
fn what_was_missed_comes_with_the_item_and_what_comes_again_is_not_told_again() {
    let mut translator = Translator::default();
    translator.delta(&text(0, "ab"), 0);
    assert_eq!(shown(translator.delta(&text(0, "ef"), 4)), Value::Null);
    translator.followed_anew();
    assert_eq!(shown(translator.delta(&text(0, "abcd"), 0)), json!(["agent_message_chunk", "m1.1.0", "cd"]));
    assert_eq!(
        shown(translator.item(&item(1, 1, assistant("abcdef")), None, false)),
        json!(["agent_message_chunk", "m1.1.0", "ef"])
    );
}

#[test]
fn a_second_try_of_the_model_is_another_message() {
    let mut translator = Translator::default();
    translator.delta(&text(0, "The ans"), 0);
    assert_eq!(shown(translator.delta(&text(0, "An"), 0)), json!(["agent_message_chunk", "m1.1.0+1", "An"]));
    assert_eq!(
        shown(translator.item(&item(1, 1, assistant("Answer")), None, false)),
        json!(["agent_message_chunk", "m1.1.0+1", "swer"])
    );
}

#[test]
fn a_prompt_with_images_is_one_message_of_text_and_images() {
    let image = |name: &str, data: &str| Image {
        name: name.into(),
        mime: "image/png".into(),
        width: 2,
        height: 1,
        bytes: 3,
        version: "v".into(),
        data: data.into(),
    };
    let images = vec![image("/w/a b.png", "AAAA"), image("shot", "BBBB"), image("", "")];
    let told = |text: &str, images: &[Image]| {
        let user = UserMessage { text: text.into(), images: images.to_vec(), ..UserMessage::default() };
        let told = Translator::default().item(&item(4, 0, ItemBody::User(user)), None, false);
        serde_json::to_value(told).unwrap()
    };
    let chunk = |content: Value| json!({"sessionUpdate": "user_message_chunk", "messageId": "u4", "content": content});
    let png = |data: &str| json!({"type": "image", "data": data, "mimeType": "image/png"});
    let mut named = png("AAAA");
    named["uri"] = "file:///w/a%20b.png".into();
    assert_eq!(
        told("look", &images),
        json!([
            chunk(json!({"type": "text", "text": "look"})),
            chunk(named),
            chunk(png("BBBB")),
            chunk(json!({"type": "text", "text": "[image: image/png, 2x1, 3 bytes]"})),
        ])
    );
    assert_eq!(told("", &images[1..2]), json!([chunk(png("BBBB"))]));
}

#[test]
fn own_prompts_are_not_echoed_and_those_of_others_are() {
    let mut translator = Translator::default();
    let prompt = item(4, 0, user("hi"));
    assert_eq!(shown(translator.item(&prompt, None, true)), Value::Null);
    assert_eq!(shown(translator.item(&prompt, None, false)), json!(["user_message_chunk", "u4", "hi"]));
}

#[test]
fn every_announced_call_ends() {
    let mut translator = Translator::default();
    for id in [1, 2, 3] {
        let announced = shown(translator.item(&item(id, 1, call(id)), None, false));
        assert_eq!((&announced["sessionUpdate"], &announced["kind"]), (&json!("tool_call"), &json!("search")));
    }
    let running = shown(translator.started(CallId(1)));
    assert_eq!(running, json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress"}));
    assert_eq!(shown(translator.started(CallId(9))), Value::Null);
    let ended = shown(translator.item(&item(4, 1, result(2, Body::Text("t".into()))), Some("t"), false));
    assert_eq!((&ended["toolCallId"], &ended["status"]), (&json!("c2"), &json!("completed")));
    let failed = |call: &str| json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "failed"});
    let settled: Vec<Value> = translator.settle().into_iter().map(|update| shown(Some(update))).collect();
    assert_eq!(settled, [failed("c1"), failed("c3")]);
    assert_eq!(translator.settle(), []);
}

#[test]
fn output_of_a_running_call_shows_its_newest_part() {
    let mut translator = Translator::default();
    translator.item(&item(1, 1, call(1)), None, false);
    let mut output = |offset: u64, text: &str| {
        let update = translator.delta(&Delta::Output { call: CallId(1), text: text.into() }, offset);
        shown(update)["content"][0]["content"]["text"].as_str().map(str::to_owned)
    };
    assert_eq!(output(0, "a\n").unwrap(), "```\na\n```");
    assert_eq!(output(0, "a\nb\n").unwrap(), "```\na\nb\n```");
    assert_eq!(output(0, "a\n"), None);
    let long = "\u{e9}".repeat(SHOWN_OUTPUT);
    assert!(output(4, &long).unwrap().len() < SHOWN_OUTPUT + 16);
}

#[test]
fn a_list_is_a_plan_without_what_was_given_up() {
    let todo = |content: &str, status| Todo { id: content.into(), content: content.into(), status };
    let list = [
        todo("a", TodoStatus::Completed),
        todo("b", TodoStatus::Cancelled),
        todo("c", TodoStatus::InProgress),
        todo("d", TodoStatus::Pending),
    ];
    let entry = |content: &str, status: &str| json!({"content": content, "priority": "medium", "status": status});
    assert_eq!(
        serde_json::to_value(plan(&list)).unwrap(),
        json!({"sessionUpdate": "plan", "entries": [entry("a", "completed"), entry("c", "in_progress"), entry("d", "pending")]})
    );
}

#[test]
fn a_replay_ends_the_calls_of_a_turn_before_the_next_one() {
    let mut next = item(2, 0, user("again"));
    next.turn = TurnNo(2);
    let told = replay(&mut Translator::default(), &[item(1, 1, call(1)), next], &HashMap::new());
    let kinds: Vec<Value> = told.into_iter().map(|update| shown(Some(update))).collect();
    assert_eq!(kinds[1], json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "failed"}));
    assert_eq!(kinds[2], json!(["user_message_chunk", "u2", "again"]));
}

/// What a client shows: chunks of one message joined, calls in their last state.
fn picture(updates: impl IntoIterator<Item = SessionUpdate>) -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> = Vec::new();
    for update in updates {
        let value = serde_json::to_value(update).unwrap();
        let key = [&value["messageId"], &value["toolCallId"]]
            .iter()
            .find_map(|id| id.as_str().map(str::to_owned))
            .unwrap_or_else(|| "plan".to_owned());
        let new = value["content"]["text"].as_str().map(str::to_owned);
        match all.iter_mut().find(|(known, _)| *known == key) {
            None => all.push((key, new.map_or(value, Value::String))),
            Some((_, Value::String(text))) => text.push_str(&new.unwrap_or_default()),
            Some((_, Value::Object(fields))) => {
                for (name, field) in value.as_object().unwrap() {
                    if name != "sessionUpdate" {
                        fields.insert(name.clone(), field.clone());
                    }
                }
            }
            Some(_) => {}
        }
    }
    all
}

proptest! {
    /// However the deltas were cut, lost or repeated: the replay shows what was live.
    #[test]
    fn a_replay_shows_what_was_live(
        texts in proptest::collection::vec(("[a-z \u{e9}]{1,12}", 0_usize..4, any::<bool>()), 1..4),
        with_call: bool,
    ) {
        let mut live = Translator::default();
        let mut told = Vec::new();
        let mut items = vec![item(1, 0, user("go"))];
        told.extend(live.item(&items[0], None, false));
        for (no, (whole, pieces, thought)) in texts.iter().enumerate() {
            let chars: Vec<char> = whole.chars().collect();
            let mut offset = 0;
            for piece in chars.chunks(chars.len().div_ceil(pieces + 1)).take(*pieces) {
                let piece: String = piece.iter().collect();
                let block = u32::try_from(no).unwrap();
                let delta = if *thought {
                    Delta::Reasoning { turn: TurnNo(1), step: StepNo(1), block, text: piece.clone() }
                } else {
                    Delta::Text { turn: TurnNo(1), step: StepNo(1), block, text: piece.clone() }
                };
                told.extend(live.delta(&delta, offset));
                offset += piece.len() as u64;
            }
        }
        for (whole, _, thought) in &texts {
            let body = if *thought { reasoning(whole) } else { assistant(whole) };
            items.push(item(items.len() as u64 + 1, 1, body));
        }
        if with_call {
            items.push(item(items.len() as u64 + 1, 1, call(1)));
            let todo = Todo { id: "1".into(), content: "x".into(), status: TodoStatus::Pending };
            items.push(item(items.len() as u64 + 1, 1, result(1, Body::Todos(vec![todo]))));
        }
        for item in &items[1..] {
            told.extend(live.item(item, Some("shown"), false));
            if matches!(item.body, ItemBody::ToolCall(_)) {
                told.extend(live.started(CallId(1)));
            }
            told.extend(crate::rpc::to_wire::plan(Some(item)).map(plan));
        }
        // A block that began before an earlier one had its first delta keeps its own place.
        let streamed: Vec<bool> = texts.iter().map(|(_, pieces, _)| *pieces > 0).collect();
        prop_assume!(streamed.iter().all(|streamed| *streamed) || streamed.iter().all(|streamed| !*streamed));
        let mut again = Translator::default();
        let projections = HashMap::from([(CallId(1), "shown")]);
        let mut shown: Vec<_> = picture(replay(&mut again, &items, &projections));
        let mut seen = picture(told);
        shown.sort_by(|a, b| a.0.cmp(&b.0));
        seen.sort_by(|a, b| a.0.cmp(&b.0));
        prop_assert_eq!(seen, shown);
    }
}

#[test]
fn a_command_in_the_background_is_in_progress_until_it_has_ended() {
    use plimsoll_core::tool::outcome::{CommandRun, Exit, Output, TaskState};
    let run = CommandRun {
        command: "serve".into(),
        cwd: ".".into(),
        exit: Exit::Running,
        duration_ms: 300,
        output: Output::default(),
        stderr: Output::default(),
        log: None,
        left_running: vec![],
        limits: None,
    };
    let goes_on = Body::Task(TaskState { id: CallId(1), run, from: 0, gap: None });
    let items = [item(1, 1, call(1)), item(2, 1, result(1, goes_on))];
    for (exit, status) in [(Some(Exit::Code(0)), "completed"), (Some(Exit::Code(1)), "failed"), (None, "failed")] {
        let mut translator = Translator::new(None);
        let told: Vec<Value> = items.iter().map(|item| shown(translator.item(item, None, false))).collect();
        assert_eq!(told[1]["status"], "in_progress");
        assert_eq!(translator.settle(), [], "the end of the turn is not its end");
        assert_eq!(shown(translator.task_ended(CallId(1), exit))["status"], status);
        assert_eq!(shown(translator.task_ended(CallId(1), exit)), Value::Null);
    }
    let replayed = replay(&mut Translator::new(None), &items, &HashMap::new());
    assert_eq!(shown(replayed.into_iter().last())["status"], "completed", "what is past does not spin for ever");
}
