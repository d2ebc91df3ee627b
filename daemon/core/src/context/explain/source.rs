//! Which items each message of a request was made from, and whether today's code still makes the same bytes of them.

use crate::context::pictures;
use crate::id::{CallId, ItemNo};
use crate::media::Image;
use crate::model::codec;
use crate::model::request::{Api, AssistantBlock, Message};
use crate::tokens::tokens;
use crate::transcript::batch::StoredProjection;
use crate::transcript::epoch::{Epoch, RequestRow, Segment};
use crate::transcript::hidden::without_pictures;
use crate::transcript::item::{Item, ItemBody, MetaCause};
use crate::transcript::shape::Shape;
use crate::transcript::shaped::{Chunk, chunks, cut_results};
use crate::transcript::view::whole;
use std::collections::BTreeMap;

/// What a message was made from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Source {
    /// What kind of message it is; none when that is not known.
    pub kind: Option<SourceKind>,
    /// Its items, each with the call that it makes or answers.
    pub items: Vec<(ItemNo, Option<CallId>)>,
}

/// Kinds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// What the user said, with what was collected.
    Prompt,
    /// What the user said while a turn ran.
    Steering,
    /// What the harness says.
    Meta(MetaCause),
    /// What the model said.
    Answer,
    /// Results of calls.
    Results,
    /// What stands for the beginning since a compaction.
    Summary,
    /// The line of a turn that is shown in short.
    Shortened,
}

/// Messages that entered the view together: those of one request's tail.
#[derive(Debug, Clone, Copy)]
pub struct Tail<'a> {
    /// The last item among them.
    pub last_item: ItemNo,
    /// The segments as they were sent.
    pub segments: &'a [Segment],
    /// What of its items a compaction shows in short.
    pub shape: Option<&'a Shape>,
}

impl<'a> Tail<'a> {
    /// Those of the first requests of an epoch, in order. What a compaction shows in short goes out with the first.
    pub fn of(epoch: &'a Epoch, rows: &[&'a RequestRow]) -> Vec<Self> {
        let shape = Some(&epoch.shape).filter(|shape| **shape != Shape::default());
        let tail = |(at, row): (usize, &&'a RequestRow)| Self {
            last_item: row.last_item,
            segments: &row.tail,
            shape: shape.filter(|_| at == 0),
        };
        rows.iter().enumerate().map(tail).collect()
    }
}

/// A message that is not made again as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its place among the messages after the head's.
    pub message: usize,
    /// Its items; of one that is not made any more, all of its request's tail.
    pub items: Vec<ItemNo>,
    /// What is different.
    pub what: Differs,
}

/// How a message differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Differs {
    /// From this byte on.
    From(usize),
    /// It was sent and would not be.
    NotMade,
    /// It would be sent and was not.
    NotSent,
}

/// The source of every message of these tails, in order. `items` are those of the view, ascending; `transcript` is the path of
/// the session's mirror. Where today's code
/// makes another number of messages, it is the whole range of the tail's items, of no kind.
pub fn sources(
    api: Api,
    tails: &[Tail<'_>],
    items: &[Item],
    projections: &BTreeMap<CallId, StoredProjection>,
    transcript: &str,
) -> Vec<Source> {
    let mut out = Vec::new();
    for (tail, items) in split(tails, items) {
        let made = made(api, tail, items, projections, transcript);
        if made.len() == tail.segments.len() {
            out.extend(made.into_iter().map(|(_, source)| source));
        } else {
            let all: Vec<_> = items.iter().map(|item| (item.no, None)).collect();
            out.extend(tail.segments.iter().map(|_| Source { kind: None, items: all.clone() }));
        }
    }
    out
}

/// Makes the messages of these tails anew from their items, and says which are not as they were sent. Means something only
/// for what was sent by the present version of the codec, see [`codec::VERSION`].
pub fn differences(
    api: Api,
    tails: &[Tail<'_>],
    items: &[Item],
    projections: &BTreeMap<CallId, StoredProjection>,
    transcript: &str,
) -> Vec<Difference> {
    let mut out = Vec::new();
    let mut message = 0;
    for (tail, items) in split(tails, items) {
        let made = made(api, tail, items, projections, transcript);
        let all = || items.iter().map(|item| item.no).collect::<Vec<_>>();
        for at in 0..made.len().max(tail.segments.len()) {
            let what = match (tail.segments.get(at), made.get(at)) {
                (Some(sent), Some((made, _))) if *sent.text == **made => None,
                (Some(sent), Some((made, _))) => {
                    let same = sent.text.bytes().zip(made.bytes()).take_while(|(sent, made)| sent == made).count();
                    Some(Differs::From(same))
                }
                (Some(_), None) => Some(Differs::NotMade),
                (None, _) => Some(Differs::NotSent),
            };
            if let Some(what) = what {
                let of = made.get(at).map(|(_, source)| source.items.iter().map(|(no, _)| *no).collect());
                out.push(Difference { message: message + at, items: of.unwrap_or_else(all), what });
            }
        }
        message += tail.segments.len();
    }
    out
}

/// Estimated tokens that these items will have in the view, those of calls still without a result without it.
pub fn gathered(items: &[Item], projections: &BTreeMap<CallId, StoredProjection>) -> u64 {
    let of = |item: &Item| match &item.body {
        ItemBody::User(message) if message.refused => 0,
        ItemBody::User(message) => {
            let images: u64 = message.images.iter().map(Image::tokens).sum();
            tokens(&message.text) + tokens(&message.additional_data) + images
        }
        ItemBody::Meta(meta) => tokens(&meta.text),
        ItemBody::Assistant(text) => tokens(&text.text),
        ItemBody::Reasoning(reasoning) => tokens(&reasoning.text),
        ItemBody::ToolCall(call) => tokens(&call.tool) + tokens(&call.arguments),
        ItemBody::ToolResult(result) => projections.get(&result.call).map_or(0, |shown| shown.tokens),
        ItemBody::Observation(observed) => tokens(&observed.text),
        ItemBody::Notice(_) | ItemBody::Rewind(_) => 0,
    };
    items.iter().map(of).sum()
}

/// Each tail with its own items.
fn split<'a>(tails: &'a [Tail<'a>], items: &'a [Item]) -> impl Iterator<Item = (&'a Tail<'a>, &'a [Item])> {
    let mut from = 0;
    tails.iter().map(move |tail| {
        let end = items.partition_point(|item| item.no <= tail.last_item).max(from);
        let own = items.get(from..end).unwrap_or_default();
        from = end;
        (tail, own)
    })
}

/// The wire messages of a tail, each with its source.
fn made(
    api: Api,
    tail: &Tail<'_>,
    items: &[Item],
    projections: &BTreeMap<CallId, StoredProjection>,
    transcript: &str,
) -> Vec<(String, Source)> {
    let Some(shape) = tail.shape else {
        return render(api, tail, &items.iter().collect::<Vec<_>>(), projections);
    };
    let items = without_pictures(items, shape);
    let cut = cut_results(&items, projections, shape, transcript);
    let mut out = Vec::new();
    for chunk in chunks(&items, &cut, shape) {
        let (text, kind, items) = match chunk {
            Chunk::Whole(items) => {
                out.extend(render(api, tail, &items, &cut));
                continue;
            }
            Chunk::Summary(text) => (text.to_owned(), SourceKind::Summary, Vec::new()),
            Chunk::Line(text, items) => (text, SourceKind::Shortened, items),
        };
        let source = Source { kind: Some(kind), items: items.iter().map(|item| (item.no, None)).collect() };
        let texts = codec::encode_message(api, &Message::User(text));
        out.extend(texts.into_iter().map(|text| (text, source.clone())));
    }
    out
}

/// The wire messages of these items, each with its source.
fn render(
    api: Api,
    tail: &Tail<'_>,
    items: &[&Item],
    projections: &BTreeMap<CallId, StoredProjection>,
) -> Vec<(String, Source)> {
    // Whether the model takes images shows in what it was sent.
    let takes_images = tail.segments.iter().any(|segment| segment.images > 0);
    let mut observed = items.iter().filter(|item| matches!(item.body, ItemBody::Observation(_))).peekable();
    let answers: BTreeMap<CallId, ItemNo> = items
        .iter()
        .filter_map(|item| match &item.body {
            ItemBody::ToolResult(result) => Some((result.call, item.no)),
            _ => None,
        })
        .collect();
    let mut shown = items.iter().filter_map(|item| Some((item.no, kind(&item.body)?)));
    let mut out = Vec::new();
    for message in whole(items, projections) {
        match &message {
            Message::User(_) => {
                let source = match shown.next() {
                    Some((no, kind)) => Source { kind: Some(kind), items: vec![(no, None)] },
                    None => Source::default(),
                };
                out.extend(codec::encode_message(api, &message).into_iter().map(|text| (text, source.clone())));
            }
            Message::Pictures { text, images } => {
                let gathers = |item: &&&Item| matches!(&item.body, ItemBody::Observation(own) if own.text == *text);
                let source = match observed.next_if(gathers) {
                    Some(item) => Source { kind: Some(SourceKind::Results), items: vec![(item.no, None)] },
                    None => match shown.next() {
                        Some((no, kind)) => Source { kind: Some(kind), items: vec![(no, None)] },
                        None => Source::default(),
                    },
                };
                let texts = pictures::texts(api, text, images.clone(), takes_images);
                out.extend(texts.into_iter().map(|text| (text, source.clone())));
            }
            Message::Assistant(blocks) => {
                let items = blocks.iter().filter_map(|block| Some((shown.next()?.0, call_of(block)))).collect();
                let source = Source { kind: Some(SourceKind::Answer), items };
                out.extend(codec::encode_message(api, &message).into_iter().map(|text| (text, source.clone())));
            }
            Message::Results(results) => {
                let of = |id: &CallId| answers.get(id).map(|no| (*no, Some(*id)));
                let all: Vec<_> = results.iter().filter_map(|result| of(&result.id)).collect();
                let texts = codec::encode_message(api, &message);
                let single = texts.len() == results.len() && results.len() > 1;
                for (at, text) in texts.into_iter().enumerate() {
                    let own = results.get(at).filter(|_| single).map(|result| of(&result.id).into_iter().collect());
                    let source = Source { kind: Some(SourceKind::Results), items: own.unwrap_or_else(|| all.clone()) };
                    out.push((text, source));
                }
            }
        }
    }
    out
}

/// What an item shows in the place where it stands. Results stand where their calls are.
fn kind(body: &ItemBody) -> Option<SourceKind> {
    match body {
        ItemBody::User(message) if message.refused => None,
        ItemBody::User(message) if message.steering => Some(SourceKind::Steering),
        ItemBody::User(_) => Some(SourceKind::Prompt),
        ItemBody::Meta(meta) => Some(SourceKind::Meta(meta.cause)),
        ItemBody::Assistant(_) | ItemBody::Reasoning(_) | ItemBody::ToolCall(_) => Some(SourceKind::Answer),
        ItemBody::ToolResult(_) | ItemBody::Observation(_) | ItemBody::Notice(_) | ItemBody::Rewind(_) => None,
    }
}

fn call_of(block: &AssistantBlock) -> Option<CallId> {
    match block {
        AssistantBlock::Call { id, .. } => Some(*id),
        AssistantBlock::Text(_) | AssistantBlock::Reasoning(_) => None,
    }
}
