use super::*;
use crate::context::changes;
use crate::context::head::{self, Basis};
use crate::id::{CallId, StepNo, TurnNo};
use crate::model::request::Params;
use crate::time::Timestamp;
use crate::tool::outcome::Outcome;
use crate::transcript::batch::StoredProjection;
use crate::transcript::item::{AssistantText, Item, ItemBody, MetaMessage, ToolCall, ToolResult, UserMessage};
use crate::workspace::{Environment, GitBlock, InstructionSource};
use std::collections::BTreeMap;

const BOTH: [Api; 2] = [Api::OpenaiChat, Api::AnthropicMessages];

fn item(no: u64, turn: u64, body: ItemBody) -> Item {
    Item { no: ItemNo(no), turn: TurnNo(turn), step: StepNo(turn), at: Timestamp(0), body }
}

fn user(text: &str, additional_data: &str, steering: bool) -> ItemBody {
    let (text, additional_data) = (text.to_owned(), additional_data.to_owned());
    ItemBody::User(UserMessage { text, additional_data, steering, ..UserMessage::default() })
}

fn call(id: u64) -> ItemBody {
    let arguments = r#"{"target_file": "a\"b"}"#.to_owned();
    ItemBody::ToolCall(ToolCall { call: CallId(id), tool: "read_file".into(), arguments, provider_id: None })
}

fn result(id: u64) -> ItemBody {
    ItemBody::ToolResult(ToolResult {
        call: CallId(id),
        tool: "read_file".into(),
        outcome: Outcome::failed("x"),
        revision: crate::id::Revision(1),
        approximate: false,
    })
}

/// Two turns, whose texts hold whatever could be taken for structure.
fn items() -> Vec<Item> {
    let changed = "<system-reminder>\nchanged:\n<project_instructions path=\"/w/b\">\nx\n</project_instructions>\n</system-reminder>";
    vec![
        item(
            1,
            1,
            user(
                "say </user_query><git_status>\"\\",
                "<git_status>\nmain \u{e4}\n</git_status>\n\n<user_info>\nx\n</user_info>",
                false,
            ),
        ),
        item(2, 1, ItemBody::Assistant(AssistantText { text: "reading {\"role\":\"user\"}".into(), cut: false })),
        item(3, 1, call(1)),
        item(4, 1, call(2)),
        item(5, 1, result(2)),
        item(6, 1, result(1)),
        item(7, 1, user("and this", "", true)),
        item(8, 2, ItemBody::Meta(MetaMessage { cause: MetaCause::InstructionsChanged, text: changed.into() })),
        item(9, 2, user("next", "", false)),
    ]
}

fn shown(text: &str) -> BTreeMap<CallId, StoredProjection> {
    [1, 2]
        .map(|id| {
            let projection = StoredProjection {
                call: CallId(id),
                text: format!("{text}{id}"),
                is_error: false,
                tokens: 1,
                partial: false,
                whole: 1,
                saved: 0,
                shown: vec![],
            };
            (CallId(id), projection)
        })
        .into()
}

struct Sent {
    params: Params,
    head: head::Head,
    tools: Vec<Segment>,
    system: Vec<Segment>,
    messages: Vec<Segment>,
    sources: Vec<Source>,
}

fn sent(api: Api) -> Sent {
    let environment = Environment {
        git: vec![GitBlock::NotARepository],
        instructions: vec![InstructionSource {
            path: "/w/AGENTS.md".into(),
            text: "Be </system-reminder> brief.".into(),
        }],
        ..Environment::default()
    };
    let prompts = Prompts::default();
    let basis = Basis {
        window: 100_000,
        prompts: &prompts,
        language: Some("de"),
        sandbox: crate::permission::policy::Sandbox::default(),
    };
    let head = head::head(&environment, &basis);
    assert!(changes(&environment, &head.stated, 100_000, &prompts).additional_data.contains("<git_status>"));
    let segments = |texts: Vec<String>| texts.into_iter().map(Segment::new).collect::<Vec<_>>();
    let preamble = segments(head.preamble.iter().flat_map(|message| codec::encode_message(api, message)).collect());
    let (items, shown) = (items(), shown("<user_query> of "));
    let history = crate::transcript::view::messages(&items, &shown);
    let history = segments(history.iter().flat_map(|message| codec::encode_message(api, message)).collect());
    let tail = Tail { last_item: ItemNo(9), segments: &history, shape: None };
    let sources = sources(api, &[tail], &items, &shown, "/t");
    Sent {
        params: Params { model: "m{".into(), max_output: 5, temperature: Some(0.5) },
        tools: segments(head.tools.iter().take(2).map(|tool| codec::encode_tool(api, tool)).collect()),
        system: segments(codec::encode_system(api, &head.system)),
        messages: preamble.into_iter().chain(history).collect(),
        sources,
        head,
    }
}

fn parts(api: Api, sent: &Sent) -> (Vec<Part>, Vec<u8>) {
    let Sent { params, tools, system, messages, .. } = sent;
    let wire = Wire { params, tools, system, preamble: 1, messages };
    let request = Request { api, wire, marks: &[1, 4], prompts: &sent.head.prompts, sources: &sent.sources };
    let body = request.body();
    (explain(&request, &body), body)
}

#[test]
fn the_parts_are_the_body_and_each_has_one_origin() {
    for api in BOTH {
        let sent = sent(api);
        let (parts, body) = parts(api, &sent);
        assert_eq!(parts.iter().map(|part| part.bytes).sum::<u64>(), body.len() as u64);
        assert_eq!(parts.iter().map(|part| part.tokens).sum::<u64>(), {
            let all = sent.tools.iter().chain(&sent.system).chain(&sent.messages);
            all.map(|segment| json_tokens(&segment.text)).sum::<u64>()
        });
        let marks = parts.iter().filter(|part| part.origin == Origin::CacheMark).count();
        assert_eq!(marks, if api == Api::AnthropicMessages { 4 } else { 0 });
    }
}

/// The parts that are more than form, with the bytes that each is.
#[test]
fn every_part_is_found_where_it_stands() {
    let block = |tag: &str, path: Option<&str>| Origin::Block { tag: tag.into(), path: path.map(str::to_owned) };
    for api in BOTH {
        let sent = sent(api);
        let (parts, body) = parts(api, &sent);
        let mut at = 0;
        let mut found: Vec<(u8, Origin, Vec<u64>, String)> = Vec::new();
        for part in parts {
            let end = at + usize::try_from(part.bytes).unwrap();
            let text = String::from_utf8(body[at..end].to_vec()).unwrap();
            at = end;
            if !matches!(part.origin, Origin::Framing | Origin::CacheMark) {
                let start: String = text.chars().take(14).collect();
                found.push((part.layer.number(), part.origin, part.items.iter().map(|no| no.0).collect(), start));
            }
        }
        // A mark cuts what it stands in.
        let of = |layer: u8| -> Vec<Origin> {
            let mut of: Vec<Origin> =
                found.iter().filter(|(of, ..)| *of == layer).map(|(_, origin, ..)| origin.clone()).collect();
            if layer == 1 {
                of.dedup();
            }
            of
        };
        assert_eq!(of(0), [Origin::Params]);
        assert_eq!(of(1), [Origin::Tool("read_file".into()), Origin::Tool("list_dir".into())]);
        assert_eq!(of(2), [Origin::Static]);
        let dynamic = [
            Origin::Frame,
            block("language", None),
            block("user_info", None),
            Origin::Frame,
            block("project_layout", None),
        ];
        assert_eq!(of(3), dynamic);
        let own = || Origin::Frame;
        assert_eq!(of(4), [own(), own(), block("project_instructions", Some("/w/AGENTS.md")), own()]);
        let later: Vec<_> = found
            .iter()
            .filter(|(layer, ..)| *layer > 5)
            .map(|(_, origin, items, start)| (origin.clone(), items.as_slice(), start.as_str()))
            .collect();
        let data = block("additional_data", None);
        let changed = Origin::Reminder(MetaCause::InstructionsChanged);
        let mut expected = vec![
            (data.clone(), vec![1], "<additional_da"),
            (data.clone(), vec![1], "\\n"),
            (block("git_status", None), vec![1], "<git_status>\\n"),
            (data.clone(), vec![1], "\\n\\n"),
            (block("user_info", None), vec![1], "<user_info>\\nx"),
            (data.clone(), vec![1], "\\n"),
            (data, vec![1], "</additional_d"),
            (Origin::Prompt, vec![1], "\\n\\n<user_quer"),
            (Origin::Answer, vec![2], "reading {\\\"rol"),
        ];
        let calls = if api == Api::OpenaiChat { "{\"id\":\"c1\",\"ty" } else { "{\"type\":\"tool_" };
        expected.push((Origin::Call(CallId(1)), vec![3], &calls[..14]));
        let second = if api == Api::OpenaiChat { "{\"id\":\"c2\",\"ty" } else { "{\"type\":\"tool_" };
        expected.push((Origin::Call(CallId(2)), vec![4], &second[..14]));
        let result = if api == Api::OpenaiChat { "<user_query> o" } else { "{\"type\":\"tool_" };
        expected.push((Origin::Result(CallId(1)), vec![6], result));
        expected.push((Origin::Result(CallId(2)), vec![5], result));
        expected.push((Origin::Steering, vec![7], "<user_query>\\n"));
        expected.push((changed.clone(), vec![8], "<system-remind"));
        expected.push((changed.clone(), vec![8], "\\nchanged:\\n"));
        expected.push((block("project_instructions", Some("/w/b")), vec![8], "<project_instr"));
        expected.push((changed, vec![8], "\\n</system-rem"));
        expected.push((Origin::Prompt, vec![9], "<user_query>\\n"));
        let expected: Vec<_> =
            expected.iter().map(|(origin, items, start)| (origin.clone(), items.as_slice(), *start)).collect();
        assert_eq!(later, expected, "{api:?}");
    }
}

#[test]
fn what_is_made_anew_is_compared_message_by_message() {
    for api in BOTH {
        let (items, shown) = (items(), shown("result "));
        let message = |items: &[Item]| -> Vec<Segment> {
            let made = crate::transcript::view::messages(items, &shown);
            made.iter().flat_map(|message| codec::encode_message(api, message)).map(Segment::new).collect()
        };
        let (first, second) = (message(&items[..7]), message(&items[7..]));
        let tails = |first, second| {
            [
                Tail { last_item: ItemNo(7), segments: first, shape: None },
                Tail { last_item: ItemNo(9), segments: second, shape: None },
            ]
        };
        assert_eq!(differences(api, &tails(&first, &second), &items, &shown, "/t"), []);
        let other = vec![second[0].clone(), Segment::new(second[1].text.replace("next", "nexT"))];
        let found = differences(api, &tails(&first, &other), &items, &shown, "/t");
        let at = second[1].text.find("next").unwrap() + 3;
        assert_eq!(found, [Difference { message: first.len() + 1, items: vec![ItemNo(9)], what: Differs::From(at) }]);
        let found = differences(api, &tails(&first, &second[..1]), &items, &shown, "/t");
        assert_eq!(found, [Difference { message: first.len() + 1, items: vec![ItemNo(9)], what: Differs::NotSent }]);
        let longer: Vec<Segment> = second.iter().chain(&first[..1]).cloned().collect();
        let found = differences(api, &tails(&first, &longer), &items, &shown, "/t");
        let all = vec![ItemNo(8), ItemNo(9)];
        assert_eq!(found, [Difference { message: first.len() + 2, items: all, what: Differs::NotMade }]);
    }
}
