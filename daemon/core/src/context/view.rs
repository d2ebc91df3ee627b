//! The view of one session: the epoch's head, every message that was sent, and what is to be sent next.

pub mod side;
pub mod switch;

use super::changes;
use super::compare::{Wire, compare};
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
use crate::transcript::epoch::{Epoch, EpochCause, Hash, Price, RequestRow, Segment, Stated, ToolFacts, request_hash};
use crate::transcript::item::{Item, ItemBody, MetaCause};
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
    /// When it has no request yet: what it keeps of the epochs before.
    pub carried: Vec<Segment>,
    /// The last item among them, where a compaction made them; else that of `last_request`.
    pub carried_through: Option<ItemNo>,
    /// The newest request of that epoch; when it has none, of the one whose messages it keeps.
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
#[derive(Debug, Clone)]
pub struct View {
    epoch: Option<Epoch>,
    /// The preamble, then everything that was sent in this epoch.
    messages: Vec<Segment>,
    /// How many of them, from the preamble on, are kept from the epoch before and go out with the next request.
    carried: usize,
    /// The last item among them.
    last_item: ItemNo,
    /// Time and parameters of the last request.
    last: Option<(Timestamp, Params)>,
    /// Items since the last request.
    unsent: Vec<Item>,
    /// All items of the view, kept only until an epoch on another wire has been opened from them.
    rerender: Vec<Item>,
    projections: BTreeMap<CallId, StoredProjection>,
    /// Position of the message that the last request marked.
    last_mark: Option<u32>,
    marks: Vec<u32>,
    /// What was said with the last request.
    stated: Stated,
    /// What will have been said with the next.
    stating: Option<Stated>,
    size: Size,
    /// What estimates are multiplied by.
    calibration: Calibration,
}

/// Which epoch begins, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// Its number.
    pub no: EpochNo,
    /// Why.
    pub cause: EpochCause,
    /// When.
    pub at: Timestamp,
}

impl View {
    /// The view as it was when it was last stored.
    pub fn load(loaded: StoredView) -> Self {
        let mut messages = loaded.epoch.iter().flat_map(|epoch| epoch.preamble.clone()).collect::<Vec<_>>();
        let carried = loaded.carried.len();
        messages.extend(loaded.carried);
        messages.extend(loaded.sent);
        let sent_last = loaded.last_request.as_ref().map(|row| row.last_item).unwrap_or_default();
        let last_item = loaded.carried_through.unwrap_or_default().max(sent_last);
        let last = loaded.last_request.as_ref().map(|row| (row.at, row.params.clone()));
        let number = loaded.epoch.as_ref().map(|epoch| epoch.no);
        // An epoch that goes on with a request has that one's head, and what it has said stands in its own record.
        let base = loaded.epoch.as_ref().and_then(|epoch| epoch.base);
        let based = loaded.last_request.as_ref().filter(|row| Some(row.no) == base);
        let base_mark = based.and_then(|row| row.marks.last().copied());
        let last_usage = loaded
            .last_usage
            .filter(|_| based.is_some() || loaded.last_request.as_ref().is_some_and(|row| Some(row.epoch) == number));
        let own = loaded.last_request.filter(|row| Some(row.epoch) == number);
        let said_by_head = loaded.epoch.as_ref().map(|epoch| epoch.stated.clone()).unwrap_or_default();
        let (last_mark, stated) = match own {
            Some(row) => (row.marks.last().copied(), with_places(row.stated, &said_by_head, row.last_item)),
            None => (base_mark, said_by_head),
        };
        let mut view = Self {
            epoch: loaded.epoch,
            messages,
            carried,
            last_item,
            last,
            unsent: loaded.unsent,
            rerender: loaded.rerender,
            projections: loaded.projections,
            last_mark,
            marks: last_mark.into_iter().collect(),
            stated,
            stating: None,
            size: Size::default(),
            calibration: Calibration::default(),
        };
        match last_usage {
            Some(usage) => view.anchor(usage),
            None => view.size = Size::estimated(view.everything_sent()),
        }
        view
    }

    /// Why a new epoch must open before the next request; none while the present one may go on.
    pub fn epoch_due(&self, model: &ModelProfile) -> Option<EpochCause> {
        match &self.epoch {
            None => Some(EpochCause::SessionStart),
            Some(epoch) if !epoch.is_for(model.api, &model.name) || self.params(model) != params(model) => {
                Some(EpochCause::ModelChanged)
            }
            Some(_) => None,
        }
    }

    /// Whether the tool definitions of the epoch were made for other facts than these.
    pub fn tools_differ(&self, facts: &ToolFacts) -> bool {
        self.epoch.as_ref().is_some_and(|epoch| epoch.tool_facts.differ(facts))
    }

    /// Whether the provider has forgotten by now what was sent: nothing is lost by sending something else.
    pub fn is_cold(&self, now: Timestamp, model: &ModelProfile) -> bool {
        let lifetime = i64::try_from(model.cache_lifetime_s.saturating_mul(1_000)).unwrap_or(i64::MAX);
        self.last.as_ref().is_some_and(|(at, _)| now.0.saturating_sub(at.0) > lifetime)
    }

    /// Whether the epoch begins with other bytes than this head would give.
    pub fn head_differs(&self, head: &Head, model: &ModelProfile) -> bool {
        let (tools, system, preamble) = encoded(head, model);
        self.epoch
            .as_ref()
            .is_none_or(|epoch| (&epoch.tools, &epoch.system, &epoch.preamble) != (&tools, &system, &preamble))
    }

    /// Opens an epoch with this head. What the view holds stays as it was sent when the wire is the same; else it is
    /// rendered anew behind the head.
    pub fn open_epoch(&mut self, opening: Opening, model: &ModelProfile, head: Head, facts: ToolFacts) -> Epoch {
        let (tools, system, preamble) = encoded(&head, model);
        let old = self.epoch.take();
        let first_item = old.as_ref().map_or(ItemNo(1), |old| old.first_item);
        let cold = self.is_cold(opening.at, model);
        let before = std::mem::take(&mut self.messages);
        self.messages.clone_from(&preamble);
        // What is rendered anew is told by its items.
        let mut kept = Told::default();
        match &old {
            Some(old) if old.is_for(model.api, &model.name) => {
                self.messages.extend(before.iter().skip(old.preamble.len()).cloned());
                self.rerender.clear();
                kept = self.stated.told;
            }
            Some(_) | None => {
                let mut items = std::mem::take(&mut self.rerender);
                items.append(&mut self.unsent);
                self.unsent = items;
            }
        }
        self.carried = self.messages.len() - preamble.len();
        let mut epoch = Epoch {
            no: opening.no,
            cause: opening.cause,
            at: opening.at,
            api: model.api,
            model: model.name.clone(),
            tools,
            system,
            preamble,
            prompts: head.prompts,
            stated: Stated { told: kept, ..changes::carried(head.stated, &self.stated, first_item) },
            first_item,
            params: Some(params(model)),
            tool_facts: facts,
            price: Price::default(),
            base: None,
            shape: old.as_ref().map(|old| old.shape.clone()).unwrap_or_default(),
            switch: None,
        };
        if let (Some(old), Some((_, sent))) = (&old, &self.last) {
            epoch.price = price(&wire(old, sent, &before), &wire(&epoch, &params(model), &self.messages), cold);
        }
        self.last_mark = None;
        self.marks.clear();
        self.stated = epoch.stated.clone();
        self.stating = None;
        self.epoch = Some(epoch.clone());
        self.size = Size::estimated(self.everything_sent());
        epoch
    }

    /// The present epoch, with every message of it that was sent, the head's included.
    pub fn sent(&self) -> Option<(&Epoch, &[Segment])> {
        self.epoch.as_ref().map(|epoch| (epoch, self.messages.as_slice()))
    }

    /// The texts that the present epoch uses.
    pub fn prompts(&self) -> Option<&Prompts> {
        self.epoch.as_ref().map(|epoch| &epoch.prompts)
    }

    /// What the view has said so far, with what it will have said once the next request is sent.
    pub fn stated(&self) -> &Stated {
        self.stating.as_ref().unwrap_or(&self.stated)
    }

    /// What was to be said with a request that was never sent was not said.
    pub fn take_back(&mut self) {
        self.stating = None;
    }

    /// How long ago the harness told what it tells again, up to the newest item.
    pub fn told(&self) -> Told {
        let mut told = self.stated.told;
        told.take_in(&self.unsent);
        told
    }

    /// Whether this was told since the last prompt, in what is not sent yet.
    pub fn told_since_prompt(&self, cause: MetaCause) -> bool {
        let begins = |item: &&Item| matches!(&item.body, ItemBody::User(message) if !message.steering);
        let since = self.unsent.iter().rev().take_while(|item| !begins(item));
        since.into_iter().any(|item| matches!(&item.body, ItemBody::Meta(meta) if meta.cause == cause))
    }

    /// Takes over what the next request will have said. Without a next request nothing was said, as for a session that is
    /// taken up again then.
    pub fn state(&mut self, stated: Stated) {
        self.stating = Some(stated);
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

    /// Estimated tokens of a result that has come and was not sent yet.
    pub fn shown_tokens(&self, call: CallId) -> Option<u64> {
        self.projections.get(&call).map(|shown| shown.tokens)
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
        let new = self.tail(model);
        self.size = self.next_size(&new);
        let told = self.told();
        self.unsent.clear();
        self.projections.clear();
        let from = self.messages.len() - std::mem::take(&mut self.carried);
        self.messages.extend(new);
        let tail = self.messages.get(from..).unwrap_or_default().to_vec();
        if let Some(stated) = self.stating.take() {
            self.stated = stated;
        }
        self.stated.told = told;
        let params = self.params(model);
        self.last = Some((at, params.clone()));
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
            hash: self.hash(&params),
            params,
            tail,
            marks: self.marks.clone(),
            bytes: body.len() as u64,
            stated: self.stated.clone(),
            codec: codec::VERSION,
        };
        (row, body)
    }

    /// The body of the request that was assembled last.
    pub fn body(&self, model: &ModelProfile) -> Vec<u8> {
        let texts = |segments: &[Segment]| segments.iter().map(|segment| Arc::clone(&segment.text)).collect::<Vec<_>>();
        let Some(epoch) = &self.epoch else { return Vec::new() };
        codec::body(
            epoch.api,
            &self.params(model),
            &texts(&epoch.tools),
            &texts(&epoch.system),
            &texts(&self.messages),
            &self.marks,
        )
    }

    /// The parameters of the epoch's requests.
    fn params(&self, model: &ModelProfile) -> Params {
        let of_epoch = self.epoch.as_ref().and_then(|epoch| epoch.params.clone());
        let sent = || self.last.as_ref().map(|(_, params)| params.clone());
        of_epoch.or_else(sent).unwrap_or_else(|| params(model))
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
        ItemBody::ToolResult(_) | ItemBody::Notice(_) | ItemBody::Rewind(_) => None,
    }
}

/// A head as it goes onto the wire: tools, system text, messages.
fn encoded(head: &Head, model: &ModelProfile) -> (Vec<Segment>, Vec<Segment>, Vec<Segment>) {
    let api = model.api;
    let segments = |texts: Vec<String>| texts.into_iter().map(Segment::new).collect::<Vec<_>>();
    (
        head.tools.iter().map(|tool| Segment::new(codec::encode_tool(api, tool))).collect(),
        segments(codec::encode_system(api, &head.system)),
        segments(head.preamble.iter().flat_map(|message| codec::encode_message(api, message)).collect()),
    )
}

fn wire<'a>(epoch: &'a Epoch, params: &'a Params, messages: &'a [Segment]) -> Wire<'a> {
    Wire { params, tools: &epoch.tools, system: &epoch.system, preamble: epoch.preamble.len(), messages }
}

/// What an opening keeps and gives up of the request before it. What the provider has forgotten is not given up.
fn price(before: &Wire<'_>, after: &Wire<'_>, cold: bool) -> Price {
    let compared = compare(before, after);
    if cold { Price::default() } else { Price { kept: compared.common_tokens, given_up: compared.lost_tokens } }
}

/// Requests of earlier builds do not say where a block was said: what differs from the head was said behind it.
pub(super) fn with_places(mut stated: Stated, head: &Stated, item: ItemNo) -> Stated {
    if stated.said_in.is_empty() {
        let differs = |(name, text): &(&String, &String)| head.blocks.get(*name) != Some(*text);
        let names: Vec<String> = stated.blocks.iter().filter(differs).map(|(name, _)| name.clone()).collect();
        stated.say(&names, item);
    }
    stated
}

fn params(model: &ModelProfile) -> Params {
    Params { model: model.name.clone(), max_output: model.max_output, temperature: model.temperature }
}
