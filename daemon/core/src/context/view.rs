//! The view of one session: the epoch's head, every message that was sent, and what is to be sent next.

use super::head::Head;
use super::marks::marks;
use super::pictures;
use super::size::Size;
use crate::id::{CallId, EpochNo, ItemNo, RequestNo, StepNo, TurnNo};
use crate::model::calibration::Calibration;
use crate::model::catalog::ModelProfile;
use crate::model::codec;
use crate::model::request::Params;
use crate::model::usage::Usage;
use crate::prompt::Prompts;
use crate::time::Timestamp;
use crate::transcript::batch::StoredProjection;
use crate::transcript::epoch::{Epoch, EpochCause, Hash, RequestRow, Segment, Stated, request_hash};
use crate::transcript::item::{Item, ItemBody};
use crate::transcript::told::Told;
use crate::transcript::view::{messages, unobserved};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A view as it is read from the store.
#[derive(Debug, Clone, Default)]
pub struct StoredView {
    /// The newest epoch.
    pub epoch: Option<Epoch>,
    /// Every message that was sent in that epoch after its preamble, in order.
    pub sent: Vec<Segment>,
    /// The newest request of that epoch.
    pub last_request: Option<RequestRow>,
    /// What its answer was reported to have used.
    pub last_usage: Option<Usage>,
    /// Items after the last one of that request's view; all of the session's when there is no epoch.
    pub unsent: Vec<Item>,
    /// Items of the view that were sent; read only when the model or its wire changed.
    pub rerender: Vec<Item>,
    /// Projections of the results in `unsent` and `rerender`.
    pub projections: BTreeMap<CallId, StoredProjection>,
}

/// See the module's head. Inside an epoch it only grows at its end.
#[derive(Debug)]
pub struct View {
    epoch: Option<Epoch>,
    /// The preamble, then everything that was sent in this epoch.
    messages: Vec<Segment>,
    /// The last item among them.
    last_item: ItemNo,
    /// Items since the last request.
    unsent: Vec<Item>,
    /// All items of the view, kept only until an epoch on another wire has been opened from them.
    rerender: Vec<Item>,
    projections: BTreeMap<CallId, StoredProjection>,
    /// Position of the message that the last request marked.
    last_mark: Option<u32>,
    marks: Vec<u32>,
    stated: Stated,
    size: Size,
    /// What estimates are multiplied by.
    calibration: Calibration,
}

impl View {
    /// The view as it was when it was last stored.
    pub fn load(loaded: StoredView) -> Self {
        let mut messages = loaded.epoch.iter().flat_map(|epoch| epoch.preamble.clone()).collect::<Vec<_>>();
        messages.extend(loaded.sent);
        let last_item = loaded.last_request.as_ref().map(|row| row.last_item).unwrap_or_default();
        let (last_mark, stated) = match &loaded.last_request {
            Some(row) => (row.marks.last().copied(), row.stated.clone()),
            None => (None, loaded.epoch.as_ref().map(|epoch| epoch.stated.clone()).unwrap_or_default()),
        };
        let mut view = Self {
            epoch: loaded.epoch,
            messages,
            last_item,
            unsent: loaded.unsent,
            rerender: loaded.rerender,
            projections: loaded.projections,
            last_mark,
            marks: last_mark.into_iter().collect(),
            stated,
            size: Size::default(),
            calibration: Calibration::default(),
        };
        match loaded.last_usage {
            Some(usage) => view.anchor(usage),
            None => view.size = Size::estimated(view.everything_sent()),
        }
        view
    }

    /// Why a new epoch must open before the next request; none while the present one goes on.
    pub fn epoch_due(&self, model: &ModelProfile) -> Option<EpochCause> {
        match &self.epoch {
            None => Some(EpochCause::SessionStart),
            Some(epoch) if epoch.api != model.api || epoch.model != model.name => Some(EpochCause::ModelChanged),
            Some(_) => None,
        }
    }

    /// Opens an epoch with this head. Everything that the view holds is rendered anew behind it.
    pub fn open_epoch(
        &mut self,
        no: EpochNo,
        cause: EpochCause,
        at: Timestamp,
        model: &ModelProfile,
        head: Head,
    ) -> Epoch {
        let api = model.api;
        let segments = |texts: Vec<String>| texts.into_iter().map(Segment::new).collect::<Vec<_>>();
        let epoch = Epoch {
            no,
            cause,
            at,
            api,
            model: model.name.clone(),
            tools: head.tools.iter().map(|tool| Segment::new(codec::encode_tool(api, tool))).collect(),
            system: segments(codec::encode_system(api, &head.system)),
            preamble: segments(head.preamble.iter().flat_map(|message| codec::encode_message(api, message)).collect()),
            prompts: head.prompts,
            stated: head.stated.clone(),
            first_item: ItemNo(1),
        };
        let mut items = std::mem::take(&mut self.rerender);
        items.append(&mut self.unsent);
        self.unsent = items;
        self.messages.clone_from(&epoch.preamble);
        self.last_mark = None;
        self.marks.clear();
        self.stated = head.stated;
        self.epoch = Some(epoch.clone());
        self.size = Size::estimated(self.everything_sent());
        epoch
    }

    /// The texts that the present epoch uses.
    pub fn prompts(&self) -> Option<&Prompts> {
        self.epoch.as_ref().map(|epoch| &epoch.prompts)
    }

    /// What the view has said so far.
    pub fn stated(&self) -> &Stated {
        &self.stated
    }

    /// How long ago the harness told what it tells again, up to the newest item.
    pub fn told(&self) -> Told {
        let mut told = self.stated.told;
        told.take_in(&self.unsent);
        told
    }

    /// Takes over what the next request will have said.
    pub fn state(&mut self, stated: Stated) {
        self.stated = stated;
    }

    /// An item was appended to the transcript.
    pub fn add(&mut self, item: Item) {
        self.unsent.push(item);
    }

    /// Calls since the last request whose results hold images that are not gathered yet.
    pub fn unobserved(&self) -> Vec<CallId> {
        unobserved(&self.unsent)
    }

    /// A result's projection was decided.
    pub fn show(&mut self, projection: StoredProjection) {
        self.projections.insert(projection.call, projection);
    }

    /// What estimates are multiplied by from now on.
    pub fn calibrate(&mut self, calibration: Calibration) {
        self.calibration = calibration;
    }

    /// The provider counted so in the last request and its answer.
    pub fn anchor(&mut self, usage: Usage) {
        self.size = Size::reported(usage);
    }

    /// Tokens of the request that was assembled last.
    pub fn tokens(&self) -> u64 {
        self.size.tokens(self.calibration)
    }

    /// Estimated tokens of everything that was sent, uncalibrated.
    pub fn estimate(&self) -> u64 {
        self.everything_sent().map(|segment| segment.tokens).sum()
    }

    /// Tokens that the next request would have now.
    pub fn next_tokens(&self, model: &ModelProfile) -> u64 {
        self.next_size(&self.tail(model)).tokens(self.calibration)
    }

    fn everything_sent(&self) -> impl Iterator<Item = &Segment> {
        self.epoch.iter().flat_map(|epoch| epoch.tools.iter().chain(&epoch.system)).chain(&self.messages)
    }

    /// The size with this tail, which begins with the last answer when that is what follows.
    fn next_size(&self, tail: &[Segment]) -> Size {
        let answered =
            self.unsent.iter().find_map(|item| shows(&item.body)).is_some_and(|first| first == Shown::Answer);
        self.size.with(tail, answered, self.calibration)
    }

    /// What the transcript has gained since the last request, as it goes onto the wire.
    fn tail(&self, model: &ModelProfile) -> Vec<Segment> {
        pictures::segments(messages(&self.unsent, &self.projections), model, &self.messages)
    }

    /// The next request: everything sent before, byte for byte, and what the transcript has gained since.
    pub fn assemble(
        &mut self,
        no: RequestNo,
        turn: TurnNo,
        step: StepNo,
        at: Timestamp,
        model: &ModelProfile,
    ) -> (RequestRow, Vec<u8>) {
        self.last_item = self.unsent.last().map_or(self.last_item, |item| item.no);
        let tail = self.tail(model);
        self.size = self.next_size(&tail);
        self.stated.told = self.told();
        self.unsent.clear();
        self.projections.clear();
        self.messages.extend(tail.iter().cloned());
        self.marks = marks(self.last_mark, self.messages.len());
        self.last_mark = self.marks.last().copied();
        let body = self.body(model);
        let row = RequestRow {
            no,
            epoch: self.epoch.as_ref().map(|epoch| epoch.no).unwrap_or_default(),
            turn,
            step,
            at,
            last_item: self.last_item,
            params: params(model),
            tail,
            marks: self.marks.clone(),
            hash: self.hash(&params(model)),
            bytes: body.len() as u64,
            stated: self.stated.clone(),
        };
        (row, body)
    }

    /// The body of the request that was assembled last.
    pub fn body(&self, model: &ModelProfile) -> Vec<u8> {
        let texts = |segments: &[Segment]| segments.iter().map(|segment| Arc::clone(&segment.text)).collect::<Vec<_>>();
        let Some(epoch) = &self.epoch else { return Vec::new() };
        codec::body(
            epoch.api,
            &params(model),
            &texts(&epoch.tools),
            &texts(&epoch.system),
            &texts(&self.messages),
            &self.marks,
        )
    }

    fn hash(&self, params: &Params) -> Hash {
        request_hash(params, self.everything_sent())
    }
}

/// What an item begins, in the view.
#[derive(PartialEq, Eq)]
enum Shown {
    Answer,
    Message,
}

fn shows(body: &ItemBody) -> Option<Shown> {
    match body {
        ItemBody::Assistant(_) | ItemBody::Reasoning(_) | ItemBody::ToolCall(_) => Some(Shown::Answer),
        ItemBody::User(message) => (!message.refused).then_some(Shown::Message),
        ItemBody::Meta(_) | ItemBody::Observation(_) => Some(Shown::Message),
        ItemBody::ToolResult(_) | ItemBody::Notice(_) => None,
    }
}

fn params(model: &ModelProfile) -> Params {
    Params { model: model.name.clone(), max_output: model.max_output, temperature: model.temperature }
}
