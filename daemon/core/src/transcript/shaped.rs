//! The fold of items into messages where a compaction has shortened some of them.

use super::batch::StoredProjection;
use super::hidden::without_pictures;
use super::item::{Item, ItemBody};
use super::shape::Shape;
use super::short::{snipped, turn_line};
use super::view::whole;
use crate::id::{CallId, TurnNo};
use crate::model::request::Message;
use crate::tokens::tokens;
use std::collections::BTreeMap;

/// The messages of a view that begins with these items: those behind what the shape's summary stands for, which comes first.
/// Of a turn that is parted by the summary, what the user said must be among them. `transcript` is the path of the mirror,
/// for the calls that show what was cut.
pub fn shaped(
    items: &[Item],
    projections: &BTreeMap<CallId, StoredProjection>,
    shape: &Shape,
    transcript: &str,
) -> Vec<Message> {
    let items = without_pictures(items, shape);
    let cut = cut_results(&items, projections, shape, transcript);
    let mut out = Vec::new();
    for chunk in chunks(&items, &cut, shape) {
        match chunk {
            Chunk::Summary(text) => out.push(Message::User(text.to_owned())),
            Chunk::Whole(items) => out.extend(whole(&items, &cut)),
            Chunk::Line(text, _) => out.push(Message::User(text)),
        }
    }
    out
}

/// A part of a view, in order.
#[derive(Debug)]
pub enum Chunk<'a> {
    /// What stands for the beginning.
    Summary(&'a str),
    /// Items as they are, but for results that are cut.
    Whole(Vec<&'a Item>),
    /// The line of a turn, or of its first steps, with what it stands for.
    Line(String, Vec<&'a Item>),
}

/// The parts of a view with this shape. `cut` are the projections with what was cut of them, see [`cut_results`].
pub fn chunks<'a>(items: &'a [Item], cut: &BTreeMap<CallId, StoredProjection>, shape: &'a Shape) -> Vec<Chunk<'a>> {
    let summary = shape.summary.as_ref().map(|summary| Chunk::Summary(&summary.text));
    let mut fold = Fold { projections: cut, out: summary.into_iter().collect(), run: Vec::new(), pruned: None };
    for item in items.iter().filter(|item| is_shown(item, shape)) {
        if shape.pruned.is_some_and(|through| through.holds(item.turn, item.step)) {
            fold.shorten(item);
        } else {
            fold.end_pruned();
            fold.run.push(item);
        }
    }
    fold.end_pruned();
    fold.end_run();
    fold.out
}

/// Whether anything of an item stands in the view beside the summary.
pub fn is_shown(item: &Item, shape: &Shape) -> bool {
    if shape.replaced.contains(&item.no) {
        return false;
    }
    let Some(summary) = &shape.summary else { return true };
    !summary.through.holds(item.turn, item.step)
        || matches!(item.body, ItemBody::User(_)) && !summary.through.holds_turn(item.turn)
}

/// Whether an item is shown as it is: neither left out nor part of a line.
pub fn is_whole(item: &Item, shape: &Shape) -> bool {
    let pruned = shape.pruned.is_some_and(|through| through.holds(item.turn, item.step));
    is_shown(item, shape) && (!pruned || matches!(item.body, ItemBody::User(_)))
}

/// The projections, where the shape cuts results with what is left of them.
pub fn cut_results(
    items: &[Item],
    projections: &BTreeMap<CallId, StoredProjection>,
    shape: &Shape,
    transcript: &str,
) -> BTreeMap<CallId, StoredProjection> {
    let mut shown = projections.clone();
    for item in items {
        let ItemBody::ToolResult(result) = &item.body else { continue };
        if let (Some(snip), Some(shown)) = (shape.snipped.get(&result.call), shown.get_mut(&result.call))
            && let Some(text) = snipped(&shown.text, *snip, item.no, transcript)
        {
            shown.tokens = tokens(&text);
            shown.text = text;
            shown.partial = true;
        }
    }
    shown
}

struct Fold<'a, 'p> {
    projections: &'p BTreeMap<CallId, StoredProjection>,
    out: Vec<Chunk<'a>>,
    /// Items that are shown whole and are not folded yet.
    run: Vec<&'a Item>,
    /// The turn that is being shortened, with what its line stands for.
    pruned: Option<(TurnNo, Vec<&'a Item>)>,
}

impl<'a> Fold<'a, '_> {
    fn shorten(&mut self, item: &'a Item) {
        if self.pruned.as_ref().is_none_or(|(turn, _)| *turn != item.turn) {
            self.end_pruned();
            self.pruned = Some((item.turn, Vec::new()));
        }
        match &item.body {
            ItemBody::User(_) => self.run.push(item),
            ItemBody::Assistant(_) | ItemBody::Reasoning(_) | ItemBody::ToolCall(_) | ItemBody::ToolResult(_) => {
                if let Some((_, items)) = &mut self.pruned {
                    items.push(item);
                }
            }
            // What of these is still in force is said again behind the compaction.
            ItemBody::Meta(_) | ItemBody::Observation(_) | ItemBody::Notice(_) | ItemBody::Rewind(_) => {}
        }
    }

    fn end_pruned(&mut self) {
        let Some((turn, items)) = self.pruned.take() else { return };
        self.end_run();
        if !items.is_empty() {
            self.out.push(Chunk::Line(turn_line(turn, &items, self.projections), items));
        }
    }

    fn end_run(&mut self) {
        if !self.run.is_empty() {
            self.out.push(Chunk::Whole(std::mem::take(&mut self.run)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ItemNo, Revision, StepNo};
    use crate::time::Timestamp;
    use crate::tool::outcome::Outcome;
    use crate::transcript::item::{AssistantText, MetaCause, MetaMessage, ToolCall, ToolResult, UserMessage};
    use crate::transcript::shape::{Snip, Summary, Through};
    use crate::transcript::view::messages;

    /// Three turns; in each a prompt, a reminder, two steps with a call, an answer.
    fn history() -> (Vec<Item>, BTreeMap<CallId, StoredProjection>) {
        let (mut items, mut shown, mut call) = (Vec::new(), BTreeMap::new(), 0);
        let mut add = |turn, step, body| {
            let no = ItemNo(items.len() as u64 + 1);
            items.push(Item { no, turn: TurnNo(turn), step: StepNo(step), at: Timestamp(0), body });
        };
        for turn in 1..=3 {
            add(turn, 0, ItemBody::Meta(MetaMessage { cause: MetaCause::RuleApplies, text: format!("rule {turn}") }));
            add(turn, 0, ItemBody::User(UserMessage { text: format!("prompt {turn}"), ..UserMessage::default() }));
            for step in 1..=2 {
                call += 1;
                let id = CallId(call);
                let made = ToolCall { call: id, tool: "list_dir".into(), arguments: "{}".into(), provider_id: None };
                add(turn, step, ItemBody::ToolCall(made));
                let result = ToolResult {
                    call: id,
                    tool: "list_dir".into(),
                    outcome: Outcome::failed("x"),
                    revision: Revision(1),
                    approximate: true,
                };
                add(turn, step, ItemBody::ToolResult(result));
                let text = format!("[list_dir ok]\n{}", "a row of the result\n".repeat(200));
                shown.insert(
                    id,
                    StoredProjection {
                        call: id,
                        text,
                        is_error: false,
                        tokens: 1,
                        partial: false,
                        whole: 0,
                        saved: 0,
                        shown: vec![],
                    },
                );
            }
            add(turn, 3, ItemBody::Assistant(AssistantText { text: format!("done {turn}"), cut: false }));
        }
        (items, shown)
    }

    fn texts(messages: &[Message]) -> Vec<String> {
        messages
            .iter()
            .map(|message| match message {
                Message::User(text) => text.clone(),
                Message::Assistant(blocks) => format!("answer of {}", blocks.len()),
                Message::Results(results) => format!("result of {}", results[0].text.lines().count()),
                Message::Pictures { .. } => "pictures".to_owned(),
            })
            .collect()
    }

    #[test]
    fn without_a_shape_it_is_the_plain_fold() {
        let (items, shown) = history();
        assert_eq!(shaped(&items, &shown, &Shape::default(), "/t"), messages(&items, &shown));
    }

    #[test]
    fn pruned_turns_keep_what_the_user_said_and_a_line() {
        let (items, shown) = history();
        let shape = Shape { pruned: Some(Through { turn: TurnNo(2), step: Some(StepNo(1)) }), ..Shape::default() };
        let made = texts(&shaped(&items, &shown, &shape, "/t"));
        let query = |turn| format!("<user_query>\nprompt {turn}\n</user_query>");
        assert_eq!(made[0], query(1));
        assert!(made[1].starts_with("[Shortened: turn 1, items #3 to #7: called c1 list_dir; c2 list_dir. answered"));
        assert_eq!(made[2], query(2));
        assert!(made[3].starts_with("[Shortened: turn 2, items #10 to #11: called c3 list_dir"), "{}", made[3]);
        assert_eq!(made[4..], texts(&messages(&items[11..], &shown)));
    }

    #[test]
    fn a_summary_comes_first_and_a_parted_turn_keeps_its_prompt() {
        let (items, shown) = history();
        let through = Through { turn: TurnNo(2), step: Some(StepNo(2)) };
        let summary = Summary { text: "[summary]".into(), through, last_item: ItemNo(13) };
        let shape =
            Shape { summary: Some(summary), snipped: BTreeMap::from([(CallId(5), Snip::Small)]), ..Shape::default() };
        let made = texts(&shaped(&items, &shown, &shape, "/t"));
        let expected = ["[summary]", "<user_query>\nprompt 2\n</user_query>", "answer of 1", "rule 3"];
        assert_eq!(made[..4], expected);
        assert!(made.iter().any(|text| text == "result of 201"), "the other result is whole: {made:?}");
        assert!(made.iter().any(|text| text.starts_with("result of") && text != "result of 201"), "{made:?}");
    }
}
