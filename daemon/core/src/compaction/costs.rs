//! What a conversation costs in a given shape, without rendering it: each item, each cut result and each turn's line is counted
//! once, however many shapes are tried.

use super::history::History;
use crate::id::{CallId, StepNo, TurnNo};
use crate::tokens::tokens;
use crate::transcript::hidden::{image_of, pictures};
use crate::transcript::item::{Item, ItemBody};
use crate::transcript::shape::{PicturePlace, Shape, Snip, Through};
use crate::transcript::shaped::{is_shown, is_whole};
use crate::transcript::short::{snipped, turn_line};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Tokens of an image's name and facts, about.
const NAME: u64 = 30;

/// Tokens of a message's own wire form, about.
const FRAME: u64 = 12;

/// See the module's head.
#[derive(Debug)]
pub struct Costs<'a> {
    history: &'a History,
    /// Of each item, in the order of the history.
    whole: Vec<u64>,
    cut: RefCell<BTreeMap<(CallId, Snip), u64>>,
    lines: RefCell<BTreeMap<(TurnNo, StepNo, usize), u64>>,
    /// Of each image what it costs more than its name.
    pictures: Vec<(PicturePlace, u64)>,
}

impl<'a> Costs<'a> {
    /// Of this conversation.
    pub fn of(history: &'a History) -> Self {
        let whole = history.items.iter().map(|item| item_tokens(item, history)).collect();
        let pictures = pictures(&history.items).map(|(place, image)| (place, image.tokens().saturating_sub(NAME)));
        let pictures = pictures.collect();
        Self { history, whole, cut: RefCell::default(), lines: RefCell::default(), pictures }
    }

    /// Estimated tokens of its messages in this shape, uncalibrated.
    pub fn measure(&self, shape: &Shape) -> u64 {
        self.sum(shape, |_| true)
    }

    /// The same of what stands up to a place.
    pub fn measure_through(&self, shape: &Shape, through: Through) -> u64 {
        self.sum(shape, |item| through.holds(item.turn, item.step))
    }

    fn sum(&self, shape: &Shape, counts: impl Fn(&Item) -> bool) -> u64 {
        let summary = shape.summary.as_ref().map_or(0, |summary| tokens(&summary.text) + FRAME);
        let mut sum = summary;
        let mut shortened: Vec<&Item> = Vec::new();
        for (item, cost) in self.history.items.iter().zip(&self.whole) {
            if !counts(item) || !is_shown(item, shape) {
                continue;
            }
            if is_whole(item, shape) {
                sum += match &item.body {
                    ItemBody::ToolResult(result) => match shape.snipped.get(&result.call) {
                        Some(snip) => self.cut_tokens(item, result.call, *snip, *cost),
                        None => *cost,
                    },
                    _ => cost.saturating_sub(self.hidden_tokens(item, shape)),
                };
                continue;
            }
            let in_line = matches!(
                item.body,
                ItemBody::Assistant(_) | ItemBody::Reasoning(_) | ItemBody::ToolCall(_) | ItemBody::ToolResult(_)
            );
            if !in_line {
                continue;
            }
            if shortened.first().is_some_and(|first| first.turn != item.turn) {
                sum += self.line_tokens(&std::mem::take(&mut shortened));
            }
            shortened.push(item);
        }
        sum + self.line_tokens(&shortened)
    }

    /// What an item costs less without the images that the shape leaves out.
    fn hidden_tokens(&self, item: &Item, shape: &Shape) -> u64 {
        let Some(before) = shape.pictures else { return 0 };
        let hidden = self.pictures.iter().filter(|(place, _)| place.item == item.no && *place < before);
        hidden.map(|(_, tokens)| tokens).sum()
    }

    fn cut_tokens(&self, item: &Item, call: CallId, snip: Snip, whole: u64) -> u64 {
        *self.cut.borrow_mut().entry((call, snip)).or_insert_with(|| {
            let shown = self.history.projections.get(&call);
            let text = shown.and_then(|shown| snipped(&shown.text, snip, item.no, &self.history.transcript));
            text.map_or(whole, |text| tokens(&text) + FRAME)
        })
    }

    fn line_tokens(&self, items: &[&Item]) -> u64 {
        let (Some(first), Some(last)) = (items.first(), items.last()) else { return 0 };
        *self
            .lines
            .borrow_mut()
            .entry((first.turn, last.step, items.len()))
            .or_insert_with(|| tokens(&turn_line(first.turn, items, &self.history.projections)) + FRAME)
    }
}

/// Estimated tokens of an item in the view, when it is shown as it is.
pub(super) fn item_tokens(item: &Item, history: &History) -> u64 {
    let own = match &item.body {
        ItemBody::User(message) if message.refused => return 0,
        ItemBody::User(message) => {
            let images: u64 = message.images.iter().map(crate::media::Image::tokens).sum();
            tokens(&message.text) + tokens(&message.additional_data) + images
        }
        ItemBody::Meta(meta) => tokens(&meta.text),
        ItemBody::Assistant(text) => tokens(&text.text),
        ItemBody::Reasoning(reasoning) => tokens(&reasoning.text),
        ItemBody::ToolCall(call) => tokens(&call.arguments) + FRAME,
        ItemBody::ToolResult(result) => history.projections.get(&result.call).map_or(0, |shown| shown.tokens),
        ItemBody::Observation(observed) => {
            let images = observed.calls.iter().filter_map(|call| image_of(&history.items, *call));
            tokens(&observed.text) + images.map(crate::media::Image::tokens).sum::<u64>()
        }
        ItemBody::Notice(_) | ItemBody::Rewind(_) => return 0,
    };
    own + FRAME
}
