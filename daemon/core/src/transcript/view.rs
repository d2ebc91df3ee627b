//! The fold from items to the messages that a model sees.
//!
//! It is used both when a request is assembled and when a session is taken up again, so both give the same bytes.

use super::batch::StoredProjection;
use super::item::{Item, ItemBody, Observation, ToolResult, UserMessage};
use crate::id::{CallId, StepNo, TurnNo};
use crate::media::Image;
use crate::model::request::{AssistantBlock, Message, ResultBlock};
use crate::tool::outcome::{Body, Outcome};
use std::collections::{BTreeMap, BTreeSet};

/// What the model is told of a call whose result is not in the transcript.
pub const LOST_RESULT: &str =
    "The outcome of this call is unknown: it may or may not have taken effect. Check before repeating it.";

/// The messages of consecutive items. Each assistant message is followed at once by the results of all its calls, in
/// call order, wherever among the items they stand, and by the images of these; a call without a result gets one that
/// says so. Notices are not shown.
pub fn messages(items: &[Item], projections: &BTreeMap<CallId, StoredProjection>) -> Vec<Message> {
    whole(&items.iter().collect::<Vec<_>>(), projections)
}

/// The same of items that need not follow each other directly.
pub fn whole(items: &[&Item], projections: &BTreeMap<CallId, StoredProjection>) -> Vec<Message> {
    let gathered = Gathered::of(items);
    let mut out = Vec::new();
    let mut open: Option<((TurnNo, StepNo), Vec<AssistantBlock>)> = None;
    for item in items {
        let block = match &item.body {
            ItemBody::Assistant(text) => AssistantBlock::Text(text.text.clone()),
            ItemBody::Reasoning(reasoning) => AssistantBlock::Reasoning(reasoning.clone()),
            ItemBody::ToolCall(call) => AssistantBlock::Call {
                id: call.call,
                name: wire_name(&call.tool),
                arguments: wire_arguments(&call.arguments),
            },
            ItemBody::User(message) if message.refused => continue,
            ItemBody::User(message) => {
                close(&mut out, open.take(), &gathered, projections);
                let (text, images) = (user_text(message), message.images.clone());
                out.push(if images.is_empty() { Message::User(text) } else { Message::Pictures { text, images } });
                continue;
            }
            ItemBody::Meta(meta) => {
                close(&mut out, open.take(), &gathered, projections);
                out.push(Message::User(meta.text.clone()));
                continue;
            }
            ItemBody::ToolResult(_) | ItemBody::Observation(_) | ItemBody::Notice(_) | ItemBody::Rewind(_) => continue,
        };
        let place = (item.turn, item.step);
        match &mut open {
            Some((at, blocks)) if *at == place => blocks.push(block),
            _ => {
                close(&mut out, open.take(), &gathered, projections);
                open = Some((place, vec![block]));
            }
        }
    }
    close(&mut out, open, &gathered, projections);
    out
}

fn close(
    out: &mut Vec<Message>,
    open: Option<((TurnNo, StepNo), Vec<AssistantBlock>)>,
    gathered: &Gathered<'_>,
    projections: &BTreeMap<CallId, StoredProjection>,
) {
    let Some((place, blocks)) = open else { return };
    let answers: Vec<ResultBlock> = blocks
        .iter()
        .filter_map(|block| match block {
            AssistantBlock::Call { id, .. } => Some(*id),
            AssistantBlock::Text(_) | AssistantBlock::Reasoning(_) => None,
        })
        .map(|id| match projections.get(&id) {
            Some(projection) if gathered.results.contains(&id) => {
                ResultBlock { id, text: projection.text.clone(), is_error: projection.is_error }
            }
            _ => ResultBlock { id, text: LOST_RESULT.to_owned(), is_error: true },
        })
        .collect();
    out.push(Message::Assistant(blocks));
    if !answers.is_empty() {
        out.push(Message::Results(answers));
        out.extend(gathered.observed.get(&place).map(|observed| observation(observed, gathered.items)));
    }
}

/// What belongs to an answer and may stand anywhere among the items.
struct Gathered<'a> {
    items: &'a [&'a Item],
    /// Calls that have a result.
    results: BTreeSet<CallId>,
    /// Observations by their step.
    observed: BTreeMap<(TurnNo, StepNo), &'a Observation>,
}

impl<'a> Gathered<'a> {
    fn of(items: &'a [&'a Item]) -> Self {
        let mut gathered = Self { items, results: BTreeSet::new(), observed: BTreeMap::new() };
        for item in items {
            match &item.body {
                ItemBody::ToolResult(result) => drop(gathered.results.insert(result.call)),
                ItemBody::Observation(observed) => drop(gathered.observed.insert((item.turn, item.step), observed)),
                ItemBody::User(_)
                | ItemBody::Meta(_)
                | ItemBody::Assistant(_)
                | ItemBody::Reasoning(_)
                | ItemBody::ToolCall(_)
                | ItemBody::Notice(_)
                | ItemBody::Rewind(_) => {}
            }
        }
        gathered
    }
}

/// The images of a step's results, directly behind these.
fn observation(observed: &Observation, items: &[&Item]) -> Message {
    let images = observed.calls.iter().filter_map(|call| {
        let image = items.iter().find_map(|item| image(item).filter(|(of, _)| of == call))?.1;
        Some(Image { name: format!("{call} {}", image.title()), ..image.clone() })
    });
    Message::Pictures { text: observed.text.clone(), images: images.collect() }
}

/// Calls among these items whose results hold images that no observation has gathered, in call order.
pub fn unobserved(items: &[Item]) -> Vec<CallId> {
    let observed: BTreeSet<CallId> = items
        .iter()
        .filter_map(|item| match &item.body {
            ItemBody::Observation(observed) => Some(observed.calls.iter().copied()),
            _ => None,
        })
        .flatten()
        .collect();
    let calls: BTreeSet<CallId> = items.iter().filter_map(|item| Some(image(item)?.0)).collect();
    calls.difference(&observed).copied().collect()
}

fn image(item: &Item) -> Option<(CallId, &Image)> {
    match &item.body {
        ItemBody::ToolResult(ToolResult { call, outcome: Outcome { body: Body::Image(image), .. }, .. }) => {
            Some((*call, image))
        }
        _ => None,
    }
}

/// The message that a user item becomes: collected state first, then the user's own words.
pub fn user_text(message: &UserMessage) -> String {
    if message.additional_data.is_empty() {
        format!("<user_query>\n{}\n</user_query>", message.text)
    } else {
        format!(
            "<additional_data>\n{}\n</additional_data>\n\n<user_query>\n{}\n</user_query>",
            message.additional_data, message.text
        )
    }
}

/// A tool name that every provider takes: at most 64 of letters, digits, `_` and `-`.
fn wire_name(name: &str) -> String {
    let name: String = name
        .trim()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .take(64)
        .collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// Arguments that every provider takes: a JSON object, in the model's own bytes where they are one.
fn wire_arguments(arguments: &str) -> String {
    match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments) {
        Ok(_) => arguments.trim().to_owned(),
        Err(_) => "{}".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ItemNo, Revision};
    use crate::time::Timestamp;
    use crate::tool::outcome::Outcome;
    use crate::transcript::item::{AssistantText, MetaCause, MetaMessage, ToolCall, ToolResult};

    fn item(no: u64, step: u64, body: ItemBody) -> Item {
        Item { no: ItemNo(no), turn: TurnNo(1), step: StepNo(step), at: Timestamp(0), body }
    }

    fn call(id: u64, arguments: &str) -> ItemBody {
        ItemBody::ToolCall(ToolCall {
            call: CallId(id),
            tool: "read_file".to_owned(),
            arguments: arguments.to_owned(),
            provider_id: None,
        })
    }

    fn result(id: u64) -> ItemBody {
        ItemBody::ToolResult(ToolResult {
            call: CallId(id),
            tool: "read_file".to_owned(),
            outcome: Outcome::failed("x"),
            revision: Revision(1),
            approximate: true,
        })
    }

    fn shown(id: u64, text: &str) -> (CallId, StoredProjection) {
        let projection = StoredProjection {
            call: CallId(id),
            text: text.to_owned(),
            is_error: false,
            tokens: 1,
            partial: false,
            whole: 0,
            saved: 0,
            shown: Vec::new(),
        };
        (CallId(id), projection)
    }

    #[test]
    fn results_follow_their_calls_in_call_order_wherever_they_stand() {
        let items = [
            item(
                1,
                0,
                ItemBody::User(UserMessage {
                    text: "go".into(),
                    additional_data: String::new(),
                    ..UserMessage::default()
                }),
            ),
            item(2, 1, ItemBody::Assistant(AssistantText { text: "reading".into(), cut: false })),
            item(3, 1, call(1, r#"{"target_file":"a"}"#)),
            item(4, 1, call(2, "{broken")),
            item(5, 1, result(2)),
            item(6, 1, ItemBody::Meta(MetaMessage { cause: MetaCause::Interrupted, text: "<m>".into() })),
            item(7, 1, result(1)),
            item(8, 2, call(3, "[1]")),
        ];
        let projections = BTreeMap::from([shown(1, "one"), shown(2, "two")]);
        let answer = |id, text: &str, is_error| ResultBlock { id: CallId(id), text: text.to_owned(), is_error };
        let asked = |id, arguments: &str| AssistantBlock::Call {
            id: CallId(id),
            name: "read_file".to_owned(),
            arguments: arguments.to_owned(),
        };
        assert_eq!(
            messages(&items, &projections),
            vec![
                Message::User("<user_query>\ngo\n</user_query>".to_owned()),
                Message::Assistant(vec![
                    AssistantBlock::Text("reading".to_owned()),
                    asked(1, r#"{"target_file":"a"}"#),
                    asked(2, "{}")
                ]),
                Message::Results(vec![answer(1, "one", false), answer(2, "two", false)]),
                Message::User("<m>".to_owned()),
                Message::Assistant(vec![asked(3, "{}")]),
                Message::Results(vec![answer(3, LOST_RESULT, true)]),
            ]
        );
    }

    #[test]
    fn names_and_arguments_are_made_safe_for_the_wire() {
        assert_eq!(wire_name(" Read File!"), "Read_File_");
        assert_eq!(wire_name(""), "unnamed");
        assert_eq!(wire_arguments("\"x\""), "{}");
        assert_eq!(wire_arguments(" {\"a\": 1} "), "{\"a\": 1}");
    }
}
