//! A batch as rows. Made on the caller's side, so that the writer thread only writes; results over 1 MiB are put into
//! their files here, before the batch that names them is committed.

use super::pack::{Packed, pack};
use super::side::{self, SideRows};
use super::{StoreError, private};
use plimsoll_core::event::EventBody;
use plimsoll_core::id::ItemNo;
use plimsoll_core::permission::mode::Mode;
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::outcome::{Body, Outcome};
use plimsoll_core::transcript::batch::{Batch, SessionState};
use plimsoll_core::transcript::codec::{self, CodecError};
use plimsoll_core::transcript::epoch::{
    Epoch, EpochCause, Hash, Price, RequestRow, Segment, Stated, Switch, SwitchFacts, ToolFacts,
};
use plimsoll_core::transcript::item::{Item, ItemBody, ToolResult};
use plimsoll_core::transcript::shape::Shape;
use plimsoll_core::transcript::told::Told;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Results whose stored form is longer than this lie in a file of their own.
pub(super) const IN_DATABASE: usize = 1 << 20;

/// A batch whose texts are longer than this in all is made into rows away from the async threads.
const INLINE: usize = 64 * 1024;

pub(super) struct Encoded {
    pub(super) items: Vec<ItemRow>,
    pub(super) projections: Vec<ProjectionRow>,
    pub(super) operations: Vec<StateRow>,
    pub(super) asks: Vec<StateRow>,
    pub(super) epoch: Option<EpochRows>,
    pub(super) request: Option<RequestRows>,
    pub(super) request_end: Option<(u64, String)>,
    pub(super) side: Option<SideRows>,
    pub(super) side_end: Option<(u64, String)>,
    pub(super) events: Vec<(u64, i64, String)>,
    pub(super) state: Option<SessionState>,
    pub(super) prompt_key: Option<(String, u64)>,
    pub(super) title: Option<String>,
    pub(super) mode: Option<Mode>,
    /// Stored form of the task.
    pub(super) task: Option<String>,
    pub(super) revision: Option<u64>,
    /// The latest time in the batch.
    pub(super) at: i64,
    /// The highest turn, call and ask in it.
    pub(super) turn: u64,
    pub(super) call: u64,
    pub(super) ask: u64,
    /// The last item that holds a todo list.
    pub(super) todos_item: u64,
}

pub(super) struct ItemRow {
    pub(super) no: u64,
    pub(super) turn: u64,
    pub(super) step: u64,
    pub(super) at: i64,
    pub(super) kind: &'static str,
    pub(super) version: u8,
    pub(super) call: Option<u64>,
    pub(super) body: Packed,
    /// Stored form of what an attachment shows of files; none when it shows nothing.
    pub(super) shown: Option<String>,
    /// Where the whole lies, as the stored form of a [`FileRef`].
    pub(super) file: Option<String>,
    /// Size of that file.
    pub(super) file_size: u64,
}

pub(super) struct ProjectionRow {
    pub(super) call: u64,
    pub(super) is_error: bool,
    pub(super) tokens: u64,
    pub(super) partial: bool,
    pub(super) whole: u64,
    pub(super) saved: u64,
    /// Stored form of what it shows of files.
    pub(super) shown: String,
    pub(super) body: Packed,
}

/// Something that changes: an operation or an ask in its new state.
pub(super) struct StateRow {
    pub(super) no: u64,
    /// Whether it is over: settled, or answered.
    pub(super) over: bool,
    pub(super) body: String,
}

/// A text by its hash. New segments come packed; texts that are most likely stored already do not.
pub(super) struct Text {
    pub(super) hash: Hash,
    pub(super) content: Arc<str>,
    pub(super) tokens: u64,
    pub(super) images: u32,
    pub(super) packed: Option<Packed>,
}

pub(super) struct EpochRows {
    pub(super) no: u64,
    pub(super) at: i64,
    pub(super) first_item: u64,
    pub(super) body: EpochBody,
    /// Tools, system text, the head's messages, and those that a compaction left behind it.
    pub(super) layers: [Vec<Text>; 4],
    pub(super) stated: Vec<(String, Text)>,
}

pub(super) struct RequestRows {
    pub(super) no: u64,
    pub(super) epoch: u64,
    pub(super) turn: u64,
    pub(super) step: u64,
    pub(super) at: i64,
    pub(super) last_item: u64,
    pub(super) hash: Hash,
    pub(super) bytes: u64,
    pub(super) body: RequestBody,
    pub(super) tail: Vec<Text>,
    pub(super) stated: Vec<(String, Text)>,
}

/// The stored form of an epoch's own facts.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct EpochBody {
    pub(super) cause: EpochCause,
    pub(super) api: plimsoll_core::model::request::Api,
    pub(super) model: String,
    #[serde(default)]
    pub(super) prompts: plimsoll_core::prompt::Prompts,
    /// Blob number of each stated block.
    pub(super) stated: BTreeMap<String, i64>,
    /// The item that said it last, where that was not the head.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) said_in: BTreeMap<String, ItemNo>,
    #[serde(default)]
    pub(super) told: Told,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) params: Option<plimsoll_core::model::request::Params>,
    #[serde(default)]
    pub(super) tool_facts: ToolFacts,
    #[serde(default)]
    pub(super) price: Price,
    /// The request that it goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) base: Option<plimsoll_core::id::RequestNo>,
    /// What of the history it shows in short.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub(super) shape: Shape,
    /// The compaction that opened it; its messages are the epoch's fourth layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) switch: Option<SwitchBody>,
}

/// The stored form of what a compaction did.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SwitchBody {
    pub(super) last_item: ItemNo,
    pub(super) facts: SwitchFacts,
}

fn is_plain(shape: &Shape) -> bool {
    *shape == Shape::default()
}

/// The stored form of a request's own facts.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RequestBody {
    pub(super) params: plimsoll_core::model::request::Params,
    pub(super) marks: Vec<u32>,
    /// Version of the code that wrote its segments; those of the first releases do not say theirs.
    #[serde(default = "first_codec")]
    pub(super) codec: u32,
    /// Blob number of each stated block.
    pub(super) stated: BTreeMap<String, i64>,
    /// The item that said it last, where that was not the head.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) said_in: BTreeMap<String, ItemNo>,
    #[serde(default)]
    pub(super) told: Told,
}

fn first_codec() -> u32 {
    1
}

/// Where the whole of a large result lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRef {
    /// Path below the session's folder.
    pub(super) path: String,
    /// Size of the file.
    pub(super) size: u64,
    /// BLAKE3 of the file, in hexadecimal digits.
    pub(super) hash: String,
    /// Bytes of the stored form once unpacked.
    pub(super) len: u64,
}

/// Makes rows of a batch. `folder` is the session's own. The error names `database`.
pub(super) async fn encode(batch: Batch, folder: &Path, database: &Path) -> Result<Encoded, StoreError> {
    if weight(&batch) <= INLINE {
        return encode_now(batch, folder, database);
    }
    let (folder, path) = (folder.to_owned(), database.to_owned());
    let task = tokio::task::spawn_blocking(move || encode_now(batch, &folder, &path));
    task.await.unwrap_or_else(|_| Err(StoreError::closed(database)))
}

/// About how many bytes of text a batch has.
fn weight(batch: &Batch) -> usize {
    let item = |item: &Item| match &item.body {
        ItemBody::User(message) => {
            let images: usize = message.images.iter().map(|image| image.data.len()).sum();
            message.text.len() + message.additional_data.len() + images
        }
        ItemBody::Observation(observation) => observation.text.len(),
        ItemBody::Meta(message) => message.text.len(),
        ItemBody::Assistant(text) => text.text.len(),
        ItemBody::Reasoning(reasoning) => reasoning.text.len(),
        ItemBody::ToolCall(call) => call.arguments.len(),
        ItemBody::ToolResult(result) => result.outcome.body.weight(),
        ItemBody::Notice(notice) => notice.text.len(),
        ItemBody::Rewind(_) => 0,
    };
    let switched = batch.epoch.iter().filter_map(|epoch| epoch.switch.as_ref()).flat_map(|switch| &switch.messages);
    let tail = batch.request.iter().flat_map(|request| &request.tail).map(|segment| segment.text.len());
    batch
        .items
        .iter()
        .map(item)
        .chain(batch.projections.iter().map(|projection| projection.text.len()))
        .chain(tail)
        .chain(switched.map(|segment| segment.text.len()))
        .chain(batch.side.iter().map(side::weight))
        .sum()
}

/// The same, at once. Blocks where a result is large.
pub(super) fn encode_now(batch: Batch, folder: &Path, database: &Path) -> Result<Encoded, StoreError> {
    let codec = |source: CodecError| StoreError::Codec { path: database.to_owned(), source };
    let mut out = Encoded {
        items: Vec::with_capacity(batch.items.len()),
        projections: Vec::new(),
        operations: Vec::new(),
        asks: Vec::new(),
        epoch: None,
        request: None,
        request_end: None,
        side: None,
        side_end: None,
        events: Vec::with_capacity(batch.events.len()),
        state: batch.state,
        prompt_key: batch.prompt_key.map(|(key, turn)| (key, turn.0)),
        title: batch.title,
        mode: batch.mode,
        task: batch.task.as_ref().map(|task| codec::encode_record("task", task)).transpose().map_err(codec)?,
        revision: batch.revision.map(|revision| revision.0),
        at: i64::MIN,
        turn: 0,
        call: 0,
        ask: 0,
        todos_item: 0,
    };
    out.turn = out.prompt_key.as_ref().map_or(0, |(_, turn)| *turn);
    for item in &batch.items {
        let row = item_row(item, folder, database)?;
        out.seen(item.at, item.turn.0);
        out.call = out.call.max(row.call.unwrap_or(0));
        if let ItemBody::ToolResult(ToolResult { outcome: Outcome { body: Body::Todos(_), .. }, .. }) = &item.body {
            out.todos_item = item.no.0;
        }
        out.items.push(row);
    }
    for projection in &batch.projections {
        out.projections.push(ProjectionRow {
            call: projection.call.0,
            is_error: projection.is_error,
            tokens: projection.tokens,
            partial: projection.partial,
            whole: projection.whole,
            saved: projection.saved,
            shown: serde_json::to_string(&projection.shown).unwrap_or_else(|_| "[]".to_owned()),
            body: pack(&projection.text),
        });
    }
    for operation in &batch.operations {
        out.seen(operation.at, operation.turn.0);
        out.call = out.call.max(operation.call.0);
        let body = codec::encode_record("operation", operation).map_err(codec)?;
        out.operations.push(StateRow { no: operation.call.0, over: operation.is_settled(), body });
    }
    for ask in &batch.asks {
        out.seen(ask.at, ask.turn.0);
        out.ask = out.ask.max(ask.id.0);
        let body = codec::encode_record("ask", ask).map_err(codec)?;
        out.asks.push(StateRow { no: ask.id.0, over: ask.resolution.is_some(), body });
    }
    if let Some(epoch) = batch.epoch {
        out.seen(epoch.at, 0);
        out.epoch = Some(epoch_rows(epoch));
    }
    if let Some(request) = batch.request {
        out.seen(request.at, request.turn.0);
        out.request = Some(request_rows(request));
    }
    if let Some(end) = &batch.request_end {
        out.seen(end.at, 0);
        out.request_end = Some((end.no.0, codec::encode_record("request_end", end).map_err(codec)?));
    }
    if let Some(row) = batch.side {
        out.seen(row.at, 0);
        out.side = Some(side::rows(row).map_err(codec)?);
    }
    if let Some(end) = &batch.side_end {
        out.seen(end.at, 0);
        out.side_end = Some((end.no.0, codec::encode_record("side_end", end).map_err(codec)?));
    }
    for event in &batch.events {
        let turn = match &event.body {
            EventBody::TurnStarted { turn } | EventBody::TurnQueued { turn } => turn.0,
            _ => 0,
        };
        out.seen(event.at, turn);
        let body = codec::encode_record("event", &event.body).map_err(codec)?;
        out.events.push((event.seq.0, event.at.0, body));
    }
    Ok(out)
}

impl Encoded {
    fn seen(&mut self, at: Timestamp, turn: u64) {
        self.at = self.at.max(at.0);
        self.turn = self.turn.max(turn);
    }
}

fn item_row(item: &Item, folder: &Path, database: &Path) -> Result<ItemRow, StoreError> {
    let codec = |source: CodecError| StoreError::Codec { path: database.to_owned(), source };
    let mut stored = codec::encode(&item.body).map_err(codec)?;
    let call = match &item.body {
        ItemBody::ToolCall(call) => Some(call.call.0),
        ItemBody::ToolResult(result) => Some(result.call.0),
        ItemBody::User(_)
        | ItemBody::Meta(_)
        | ItemBody::Assistant(_)
        | ItemBody::Reasoning(_)
        | ItemBody::Observation(_)
        | ItemBody::Notice(_)
        | ItemBody::Rewind(_) => None,
    };
    let mut file = None;
    let mut file_size = 0;
    if let ItemBody::ToolResult(result) = &item.body
        && stored.json.len() > IN_DATABASE
    {
        let place = put_aside(result, &stored.json, folder)?;
        let stand_in = Outcome {
            status: result.outcome.status,
            body: Body::Text(format!(
                "The whole result ({} bytes) was saved as {} and is no longer there as it was saved.",
                place.len,
                folder.join(&place.path).display()
            )),
        };
        let stand_in = ToolResult { outcome: stand_in, ..result.clone() };
        stored = codec::encode(&ItemBody::ToolResult(stand_in)).map_err(codec)?;
        file_size = place.size;
        file = Some(codec::encode_record("file", &place).map_err(codec)?);
    }
    Ok(ItemRow {
        no: item.no.0,
        turn: item.turn.0,
        step: item.step.0,
        at: item.at.0,
        kind: stored.kind,
        version: stored.version,
        call,
        body: pack(&stored.json),
        shown: match &item.body {
            ItemBody::User(message) if !message.shown.is_empty() => serde_json::to_string(&message.shown).ok(),
            _ => None,
        },
        file,
        file_size,
    })
}

/// Writes a large result to its file, on disk when this returns.
fn put_aside(result: &ToolResult, json: &str, folder: &Path) -> Result<FileRef, StoreError> {
    let artifacts = folder.join("artifacts");
    private::folder(&artifacts)?;
    let name = format!("artifacts/{}.outcome.zst", result.call);
    let path = folder.join(&name);
    let bytes = zstd::bulk::compress(json.as_bytes(), 3)
        .map_err(|source| StoreError::io("cannot compress the result for", &path, source))?;
    private::replace(&path, &bytes, true)?;
    Ok(FileRef {
        path: name,
        size: bytes.len() as u64,
        hash: blake3::hash(&bytes).to_hex().to_string(),
        len: json.len() as u64,
    })
}

fn epoch_rows(epoch: Epoch) -> EpochRows {
    let layer = |segments: Vec<Segment>| segments.into_iter().map(|segment| text(segment, false)).collect();
    let (messages, switch) = match epoch.switch {
        Some(Switch { messages, last_item, facts }) => (messages, Some(SwitchBody { last_item, facts })),
        None => (Vec::new(), None),
    };
    EpochRows {
        no: epoch.no.0,
        at: epoch.at.0,
        first_item: epoch.first_item.0,
        body: EpochBody {
            cause: epoch.cause,
            api: epoch.api,
            model: epoch.model,
            prompts: epoch.prompts,
            stated: BTreeMap::new(),
            said_in: epoch.stated.said_in.clone(),
            told: epoch.stated.told,
            params: epoch.params,
            tool_facts: epoch.tool_facts,
            price: epoch.price,
            base: epoch.base,
            shape: epoch.shape,
            switch,
        },
        layers: [layer(epoch.tools), layer(epoch.system), layer(epoch.preamble), layer(messages)],
        stated: stated(epoch.stated),
    }
}

fn request_rows(request: RequestRow) -> RequestRows {
    RequestRows {
        no: request.no.0,
        epoch: request.epoch.0,
        turn: request.turn.0,
        step: request.step.0,
        at: request.at.0,
        last_item: request.last_item.0,
        hash: request.hash,
        bytes: request.bytes,
        body: RequestBody {
            params: request.params,
            marks: request.marks,
            stated: BTreeMap::new(),
            told: request.stated.told,
            codec: request.codec,
            said_in: request.stated.said_in.clone(),
        },
        tail: request.tail.into_iter().map(|segment| text(segment, true)).collect(),
        stated: stated(request.stated),
    }
}

fn stated(stated: Stated) -> Vec<(String, Text)> {
    stated.blocks.into_iter().map(|(name, block)| (name, text(Segment::counted(block, 0, 0), false))).collect()
}

pub(super) fn text(segment: Segment, new: bool) -> Text {
    let packed = new.then(|| pack(&segment.text));
    Text { hash: segment.hash, content: segment.text, tokens: segment.tokens, images: segment.images, packed }
}
