//! An inspected request, as the wire has it: parts of one origin in one layer are told together.

use crate::session::inspect::{Inspection, LastSwitch, Of, Since};
use plimsoll_core::context::compare::Layer;
use plimsoll_core::context::explain::{Origin, Part};
use plimsoll_core::id::ItemNo;
use plimsoll_core::transcript::epoch::SwitchFacts;
use plimsoll_core::transcript::shape::Shape;
use plimsoll_protocol::context as wire;
use plimsoll_protocol::event::Event;

pub fn inspection(inspection: &Inspection) -> wire::Inspection {
    let (of, request) = match inspection.of {
        Of::Next => (wire::InspectedOf::Next, None),
        Of::Last(no) => (wire::InspectedOf::Last, Some(no.0)),
    };
    wire::Inspection {
        session: inspection.session.to_string(),
        of,
        request,
        model: inspection.model.clone(),
        refused: inspection.refused.clone(),
        opens: inspection.opens.map(|cause| word(&cause)),
        bytes: inspection.bytes,
        tokens: inspection.tokens,
        window: wire::Window {
            tokens: inspection.room.window,
            output_reserve: inspection.room.output_reserve,
            results_room: inspection.room.results,
            load: inspection.room.load(inspection.tokens),
            lines: inspection.lines.iter().map(|line| f64::from(*line) / 100.0).collect(),
        },
        layers: layers(inspection),
        shortened: shortened(&inspection.shape, inspection.last_switch.as_ref()),
        since: inspection.since.as_ref().map(since),
        cost: inspection.cost.as_ref().map(|(cost, _)| *cost),
        price_as_of: inspection.cost.as_ref().map(|(_, as_of)| as_of.clone()),
    }
}

fn shortened(shape: &Shape, last: Option<&LastSwitch>) -> Option<wire::Shortened> {
    if *shape == Shape::default() {
        return None;
    }
    let summary = shape.summary.as_ref().map(|summary| wire::Summary {
        bytes: summary.text.len() as u64,
        through_turn: summary.through.turn.0,
        through_step: summary.through.step.map(|step| step.0),
        last_item: summary.last_item.0,
    });
    let last = last.map(|LastSwitch { epoch, at, facts, given_up }| wire::LastCompaction {
        epoch: epoch.0,
        at: at.0,
        cause: word(&facts.cause),
        levels: facts.levels.iter().map(word).collect(),
        before: facts.before,
        after: facts.after,
        usable: facts.usable,
        given_up: *given_up,
        summary: facts.summary.as_ref().map(word),
        waited_ms: facts.waited_ms,
    });
    Some(wire::Shortened {
        results_cut: shape.snipped.len() as u64,
        turns_through: shape.pruned.map(|through| through.turn.0),
        summary,
        last,
    })
}

fn since(since: &Since) -> wire::Since {
    wire::Since { items: ranges(since.items.iter().copied()), tokens: since.tokens }
}

fn layers(inspection: &Inspection) -> Vec<wire::LayerInfo> {
    let mut layers: Vec<Layer> = inspection.parts.iter().map(|part| part.layer).collect();
    layers.sort_unstable();
    layers.dedup();
    layers.into_iter().map(|layer| layer_info(inspection, layer)).collect()
}

fn layer_info(inspection: &Inspection, layer: Layer) -> wire::LayerInfo {
    let own: Vec<&Part> = inspection.parts.iter().filter(|part| part.layer == layer).collect();
    let tokens = |from: usize, to: usize| -> u64 {
        let among = own.iter().filter(|part| part.segment.is_some_and(|at| (from..to).contains(&at)));
        among.map(|part| part.tokens).sum()
    };
    let mut parts: Vec<(&Origin, u64, u64, Vec<ItemNo>)> = Vec::new();
    for part in &own {
        match parts.iter_mut().find(|(origin, ..)| **origin == part.origin) {
            Some((_, bytes, tokens, items)) => {
                *bytes += part.bytes;
                *tokens += part.tokens;
                items.extend(&part.items);
            }
            None => parts.push((&part.origin, part.bytes, part.tokens, part.items.clone())),
        }
    }
    wire::LayerInfo {
        layer: layer.number(),
        name: layer.name().to_owned(),
        bytes: own.iter().map(|part| part.bytes).sum(),
        tokens: own.iter().map(|part| part.tokens).sum(),
        cache_read: tokens(0, inspection.read),
        cache_write: tokens(inspection.read, inspection.cached),
        parts: parts.into_iter().map(|(origin, bytes, tokens, items)| part(origin, bytes, tokens, items)).collect(),
    }
}

fn part(origin: &Origin, bytes: u64, tokens: u64, items: Vec<ItemNo>) -> wire::PartInfo {
    let (word, name, path) = match origin {
        Origin::Framing => ("framing", None, None),
        Origin::Params => ("params", None, None),
        Origin::CacheMark => ("cacheMark", None, None),
        Origin::Tool(name) => ("tool", Some(name.clone()), None),
        Origin::Static => ("static", None, None),
        Origin::Frame => ("frame", None, None),
        Origin::Block { tag, path } => ("block", Some(tag.clone()), path.clone()),
        Origin::Prompt => ("prompt", None, None),
        Origin::Steering => ("steering", None, None),
        Origin::Reminder(cause) => ("reminder", Some(self::word(cause)), None),
        Origin::Answer => ("answer", None, None),
        Origin::Reasoning => ("reasoning", None, None),
        Origin::Call(id) => ("call", Some(id.to_string()), None),
        Origin::Result(id) => ("result", Some(id.to_string()), None),
        Origin::Summary => ("summary", None, None),
        Origin::Shortened => ("shortened", None, None),
        Origin::Media => ("media", None, None),
        Origin::Message => ("message", None, None),
    };
    wire::PartInfo { origin: word.to_owned(), name, path, bytes, tokens, items: ranges(items) }
}

/// Items as ranges without gaps.
pub fn ranges(items: impl IntoIterator<Item = ItemNo>) -> Vec<wire::ItemRange> {
    let mut numbers: Vec<u64> = items.into_iter().map(|no| no.0).collect();
    numbers.sort_unstable();
    let mut ranges: Vec<wire::ItemRange> = Vec::new();
    for no in numbers {
        match ranges.last_mut() {
            Some(range) if no <= range.last + 1 => range.last = no,
            Some(_) | None => ranges.push(wire::ItemRange { first: no, last: no }),
        }
    }
    ranges
}

/// The end of a compaction.
pub fn compaction_finished(
    epoch: Option<u64>,
    facts: Option<&SwitchFacts>,
    given_up: Option<u64>,
    message: Option<String>,
) -> Event {
    Event::CompactionFinished {
        epoch,
        levels: facts.iter().flat_map(|facts| facts.levels.iter().map(word)).collect(),
        before: facts.map(|facts| facts.before),
        after: facts.map(|facts| facts.after),
        freed: facts.map(|facts| facts.before.saturating_sub(facts.after)),
        usable: facts.map(|facts| facts.usable),
        given_up,
        summary: facts.and_then(|facts| facts.summary.as_ref()).map(word),
        waited_ms: facts.map(|facts| facts.waited_ms),
        message,
    }
}

/// The stored word of a cause as the wire writes words: `model_changed` → `modelChanged`.
pub fn word(cause: &impl serde::Serialize) -> String {
    let stored = serde_json::to_value(cause).ok().and_then(|value| value.as_str().map(str::to_owned));
    let mut word = String::new();
    for (at, piece) in stored.unwrap_or_default().split('_').enumerate() {
        let mut letters = piece.chars();
        match letters.next() {
            Some(first) if at > 0 => word.push(first.to_ascii_uppercase()),
            Some(first) => word.push(first),
            None => {}
        }
        word.push_str(letters.as_str());
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::transcript::epoch::EpochCause;

    #[test]
    fn items_that_follow_each_other_are_one_range() {
        let found = ranges([3, 1, 2, 2, 7].map(ItemNo));
        let found: Vec<(u64, u64)> = found.into_iter().map(|range| (range.first, range.last)).collect();
        assert_eq!(found, [(1, 3), (7, 7)]);
    }

    #[test]
    fn causes_have_their_words() {
        assert_eq!(word(&EpochCause::ModelChanged), "modelChanged");
        assert_eq!(word(&EpochCause::Cold), "cold");
    }
}
