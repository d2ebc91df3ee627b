//! What the attached clients of one session are told: durable events, and the text that is being written right now.
//!
//! Nobody waits for a client. The hub holds the newest events and the text of open blocks; each subscription remembers how
//! far it has come and takes what is there when it has time. So a slow client gets the same text in fewer pieces, and one
//! that does not read at all costs nothing.

use super::api::{CloseReason, ResolvedEvent, StreamKey, Update};
use plimsoll_core::event::{Delta, Event, EventBody};
use plimsoll_core::id::{CallId, ItemNo, Seq};
use plimsoll_core::transcript::batch::Batch;
use plimsoll_core::transcript::item::ItemBody;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Events kept in memory, so that clients that keep up cost no read of the store.
const RECENT_EVENTS: usize = 256;
/// Bytes of item text that the kept events may hold together; older ones are read from the store when needed.
const RECENT_BYTES: usize = 4 << 20;
/// The same of a session that was deleted.
const DELETED_BYTES: usize = 16 << 10;
/// Bytes of a running command's output that are kept for clients; the log has everything.
const OUTPUT_BYTES: usize = 64 << 10;

/// See the module's head. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// The newest durable event.
    head: Seq,
    recent: VecDeque<(ResolvedEvent, usize)>,
    recent_bytes: usize,
    live: BTreeMap<StreamKey, Live>,
    texts: u64,
    /// How often the subscriptions were ended, and why last.
    closed: (u64, Option<(CloseReason, String)>),
}

impl State {
    /// Forgets the oldest events, until those that are left hold no more than so many bytes; never the newest.
    fn keep(&mut self, bytes: usize) {
        while self.recent.len() > RECENT_EVENTS || (self.recent_bytes > bytes && self.recent.len() > 1) {
            if let Some((_, bytes)) = self.recent.pop_front() {
                self.recent_bytes -= bytes;
            }
        }
    }

    /// Why the subscriptions were ended.
    fn end(&self) -> Next {
        let ended = || (CloseReason::SessionEnded, CloseReason::SessionEnded.message().to_owned());
        let (reason, message) = self.closed.1.clone().unwrap_or_else(ended);
        Next::Closed(reason, message)
    }

    /// Whether what is told no more was the session's, which is deleted.
    fn is_deleted(&self) -> bool {
        matches!(self.closed.1, Some((CloseReason::SessionDeleted, _)))
    }
}

/// A text that grows until its item comes.
struct Live {
    /// Tells this text from an earlier one under the same key.
    id: u64,
    kind: LiveKind,
    /// Bytes that were dropped at the start.
    dropped: usize,
    text: String,
}

#[derive(Clone, Copy)]
enum LiveKind {
    Text,
    Reasoning,
    Output,
}

/// How far one client has come.
#[derive(Debug, Clone, Default)]
pub struct Position {
    /// The last durable event that it was given.
    pub seq: Seq,
    /// Which text was given under each key, and how many bytes of it.
    offsets: BTreeMap<StreamKey, (u64, usize)>,
    /// Which subscriptions it belongs to.
    generation: u64,
}

/// What a batch tells, taken from it before it goes to the store.
pub struct Publication {
    events: Vec<ResolvedEvent>,
}

impl Publication {
    /// The events of this batch, with what they refer to.
    pub fn of(batch: &Batch) -> Self {
        Self { events: batch.events.iter().map(|event| resolve(event, batch)).collect() }
    }
}

/// What a client gets next.
pub enum Next {
    /// These, in order.
    Updates(Vec<Update>),
    /// Events after this one must be read from the store first.
    Read(Seq),
    /// Nothing yet.
    Nothing,
    /// The session is gone, or must be attached anew.
    Closed(CloseReason, String),
}

impl Hub {
    /// A hub for a session whose newest event is `head`.
    pub fn new(head: Seq) -> Self {
        let state = State { head, ..State::default() };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), changed: watch::Sender::new(0) }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held left at worst a text that is not complete; clients read the item later.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handle that resolves when something changed.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.shared.changed.subscribe()
    }

    /// How many subscriptions there are.
    pub fn followers(&self) -> usize {
        self.shared.changed.receiver_count()
    }

    /// Tells the waiting clients that there is something; once per burst.
    pub fn wake(&self) {
        self.shared.changed.send_modify(|version| *version = version.wrapping_add(1));
    }

    /// The newest durable event.
    pub fn head(&self) -> Seq {
        self.state().head
    }

    /// Publishes what a batch tells, once it is committed. Texts whose items it holds are no longer open.
    pub fn publish(&self, publication: Publication) {
        let mut state = self.state();
        for resolved in publication.events {
            let bytes = weight(&resolved);
            state.head = resolved.event.seq;
            match &resolved.event.body {
                EventBody::StepCompleted { turn, step, .. } => {
                    let (turn, step) = (*turn, *step);
                    state
                        .live
                        .retain(|key, _| !matches!(key, StreamKey::Block(of, at, _) if *of == turn && *at == step));
                }
                EventBody::TurnCompleted { .. } => state.live.clear(),
                _ => {}
            }
            if let Some(ItemBody::ToolResult(result)) = resolved.item.as_ref().map(|item| &item.body) {
                state.live.remove(&StreamKey::Output(result.call));
            }
            state.recent.push_back((resolved, bytes));
            state.recent_bytes += bytes;
        }
        state.keep(RECENT_BYTES);
        drop(state);
        self.wake();
    }

    /// Appends to an open text. The caller wakes once its burst is over.
    pub fn append(&self, delta: &Delta) {
        let (key, kind, text) = match delta {
            Delta::Text { turn, step, block, text } => (StreamKey::Block(*turn, *step, *block), LiveKind::Text, text),
            Delta::Reasoning { turn, step, block, text } => {
                (StreamKey::Block(*turn, *step, *block), LiveKind::Reasoning, text)
            }
            Delta::Output { call, text } => (StreamKey::Output(*call), LiveKind::Output, text),
        };
        let mut state = self.state();
        state.texts += 1;
        let id = state.texts;
        let live = state.live.entry(key).or_insert_with(|| Live { id, kind, dropped: 0, text: String::new() });
        live.text.push_str(text);
        if matches!(kind, LiveKind::Output) && live.text.len() > 2 * OUTPUT_BYTES {
            let mut cut = live.text.len() - OUTPUT_BYTES;
            while !live.text.is_char_boundary(cut) {
                cut += 1;
            }
            live.text.drain(..cut);
            live.dropped += cut;
        }
    }

    /// Drops what was shown of an answer that will not come: it is asked for anew.
    pub fn forget_blocks(&self) {
        self.state().live.retain(|key, _| matches!(key, StreamKey::Output(_)));
    }

    /// Ends all present subscriptions with a reason; later ones begin anew. Of a session that is deleted only the end is still
    /// told: a client that does not read must not keep it in memory.
    pub fn close(&self, reason: CloseReason, message: &str) {
        let mut state = self.state();
        if reason == CloseReason::SessionDeleted {
            state.live.clear();
            state.keep(DELETED_BYTES);
        }
        state.closed = (state.closed.0 + 1, Some((reason, message.to_owned())));
        drop(state);
        self.wake();
    }

    /// The place of a client that has everything up to this event.
    pub fn position(&self, seq: Seq) -> Position {
        Position { seq, offsets: BTreeMap::new(), generation: self.state().closed.0 }
    }

    /// What the client at `position` gets next; the position moves with it.
    pub fn next(&self, position: &mut Position) -> Next {
        let state = self.state();
        let (generation, _) = state.closed;
        let mut updates = Vec::new();
        if position.seq < state.head {
            let first = state.recent.front().map(|(event, _)| event.event.seq);
            let is_kept = first.is_some_and(|first| first <= position.seq.next());
            if !is_kept {
                // What a client has missed of a session that is gone can be had nowhere: it is told so, with no gap before it.
                return if state.is_deleted() { state.end() } else { Next::Read(position.seq) };
            }
            let missed = state.recent.iter().filter(|(event, _)| event.event.seq > position.seq);
            updates.extend(missed.map(|(event, _)| Update::Event(Box::new(event.clone()))));
            position.seq = state.head;
        }
        position.offsets.retain(|key, _| state.live.contains_key(key));
        for (key, live) in &state.live {
            let given = position.offsets.entry(*key).or_insert((live.id, 0));
            if given.0 != live.id {
                *given = (live.id, 0);
            }
            let from = given.1.max(live.dropped);
            let Some(text) = live.text.get(from - live.dropped..).filter(|text| !text.is_empty()) else { continue };
            given.1 = from + text.len();
            updates.push(Update::Delta { delta: delta(*key, live.kind, text), offset: from as u64 });
        }
        // What waits is given first: a client that leaves with its daemon has then missed nothing.
        if !updates.is_empty() {
            Next::Updates(updates)
        } else if position.generation == generation {
            Next::Nothing
        } else {
            state.end()
        }
    }
}

fn delta(key: StreamKey, kind: LiveKind, text: &str) -> Delta {
    let text = text.to_owned();
    match (key, kind) {
        (StreamKey::Block(turn, step, block), LiveKind::Reasoning) => Delta::Reasoning { turn, step, block, text },
        (StreamKey::Block(turn, step, block), LiveKind::Text | LiveKind::Output) => {
            Delta::Text { turn, step, block, text }
        }
        (StreamKey::Output(call), _) => Delta::Output { call, text },
    }
}

/// The event with what it refers to, all of which stands in the same batch.
fn resolve(event: &Event, batch: &Batch) -> ResolvedEvent {
    let item = |no: ItemNo| batch.items.iter().find(|item| item.no == no).cloned();
    let result = |call: CallId| {
        let is = |body: &ItemBody| matches!(body, ItemBody::ToolResult(result) if result.call == call);
        batch.items.iter().find(|item| is(&item.body)).cloned()
    };
    let (item, ask) = match &event.body {
        EventBody::ItemAdded { item: no } => (item(*no), None),
        EventBody::PlanChanged { call } => (result(*call), None),
        EventBody::PermissionAsked { ask, .. } | EventBody::PermissionResolved { ask, .. } => {
            (None, batch.asks.iter().rfind(|known| known.id == *ask).cloned())
        }
        EventBody::TurnStarted { .. }
        | EventBody::TurnQueued { .. }
        | EventBody::CompactionStarted { .. }
        | EventBody::CompactionFinished { .. }
        | EventBody::ToolStarted { .. }
        | EventBody::TaskEnded { .. }
        | EventBody::StepStarted { .. }
        | EventBody::StepCompleted { .. }
        | EventBody::TurnCompleted { .. }
        | EventBody::OperationChanged { .. }
        | EventBody::TaskChanged
        | EventBody::SessionChanged => (None, None),
    };
    let projection = match item.as_ref().map(|item| &item.body) {
        Some(ItemBody::ToolResult(result)) => {
            batch.projections.iter().find(|shown| shown.call == result.call).map(|shown| shown.text.clone())
        }
        _ => None,
    };
    let given_up = match &event.body {
        EventBody::CompactionFinished { epoch: Some(no), .. } => {
            batch.epoch.as_ref().filter(|epoch| epoch.no == *no).map(|epoch| epoch.price.given_up)
        }
        _ => None,
    };
    ResolvedEvent { event: event.clone(), item, projection, ask, given_up }
}

/// About how many bytes a kept event holds.
fn weight(event: &ResolvedEvent) -> usize {
    let body = event.item.as_ref().map_or(0, |item| match &item.body {
        ItemBody::User(message) => {
            let images: usize = message.images.iter().map(|image| image.data.len()).sum();
            message.text.len() + message.additional_data.len() + images
        }
        ItemBody::Observation(observation) => observation.text.len(),
        ItemBody::Meta(meta) => meta.text.len(),
        ItemBody::Assistant(text) => text.text.len(),
        ItemBody::Reasoning(reasoning) => reasoning.text.len(),
        ItemBody::ToolCall(call) => call.arguments.len(),
        ItemBody::ToolResult(result) => result.outcome.body.weight(),
        ItemBody::Notice(notice) => notice.text.len(),
        ItemBody::Rewind(_) => 0,
    });
    body + event.projection.as_ref().map_or(0, String::len) + 256
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::id::{StepNo, TurnNo};
    use plimsoll_core::time::Timestamp;
    use plimsoll_core::transcript::item::{AssistantText, Item};

    fn text(text: &str) -> Delta {
        Delta::Text { turn: TurnNo(1), step: StepNo(1), block: 0, text: text.into() }
    }

    fn batch(seq: u64, body: EventBody) -> Publication {
        let events = vec![Event { seq: Seq(seq), at: Timestamp(0), body }];
        Publication::of(&Batch { events, ..Batch::default() })
    }

    fn given(next: Next) -> Vec<String> {
        let Next::Updates(updates) = next else { return Vec::new() };
        updates
            .into_iter()
            .map(|update| match update {
                Update::Delta { delta: Delta::Text { text, .. } | Delta::Output { text, .. }, offset } => {
                    format!("{offset}:{text}")
                }
                Update::Event(event) => format!("#{}", event.event.seq),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn a_slow_client_gets_the_same_text_in_fewer_pieces() {
        let hub = Hub::new(Seq(0));
        let (mut fast, mut slow) = (Position::default(), Position::default());
        hub.append(&text("a"));
        assert_eq!(given(hub.next(&mut fast)), ["0:a"]);
        hub.append(&text("b"));
        assert_eq!(given(hub.next(&mut fast)), ["1:b"]);
        assert_eq!(given(hub.next(&mut slow)), ["0:ab"]);
        assert!(matches!(hub.next(&mut slow), Next::Nothing));
    }

    #[test]
    fn a_finished_block_is_no_longer_open() {
        let hub = Hub::new(Seq(0));
        hub.append(&text("a"));
        hub.publish(batch(1, EventBody::StepCompleted { turn: TurnNo(1), step: StepNo(1), usage: None }));
        assert_eq!(given(hub.next(&mut Position::default())), ["#1"]);
    }

    /// A client has the text of the first try; whoever comes later has none of it.
    #[test]
    fn a_text_that_is_asked_for_anew_is_told_from_its_beginning() {
        let hub = Hub::new(Seq(0));
        let (mut early, mut between) = (Position::default(), Position::default());
        hub.append(&text("First"));
        assert_eq!(given(hub.next(&mut early)), ["0:First"]);
        hub.forget_blocks();
        assert!(matches!(hub.next(&mut between), Next::Nothing));
        hub.append(&text("Se"));
        hub.append(&text("cond"));
        for position in [&mut early, &mut between, &mut Position::default()] {
            assert_eq!(given(hub.next(position)), ["0:Second"]);
        }
    }

    #[test]
    fn events_that_are_no_longer_kept_are_read_from_the_store() {
        let hub = Hub::new(Seq(0));
        for seq in 1..=RECENT_EVENTS as u64 + 5 {
            hub.publish(batch(seq, EventBody::SessionChanged));
        }
        assert!(matches!(hub.next(&mut Position::default()), Next::Read(Seq(0))));
        let mut near = Position { seq: Seq(5), ..Position::default() };
        assert_eq!(given(hub.next(&mut near)).len(), RECENT_EVENTS);
        assert!(matches!(Hub::new(Seq(7)).next(&mut Position::default()), Next::Read(Seq(0))));
    }

    #[test]
    fn what_waits_is_given_before_the_end() {
        let hub = Hub::new(Seq(0));
        let mut position = hub.position(Seq(0));
        hub.publish(batch(1, EventBody::SessionChanged));
        hub.close(CloseReason::DaemonEnds, "it ends");
        assert_eq!(given(hub.next(&mut position)), ["#1"]);
        assert!(
            matches!(hub.next(&mut position), Next::Closed(CloseReason::DaemonEnds, message) if message == "it ends")
        );
    }

    #[test]
    fn a_deleted_session_is_not_kept_for_a_client_that_does_not_read() {
        let hub = Hub::new(Seq(0));
        let (mut behind, mut near) = (hub.position(Seq(0)), hub.position(Seq(1)));
        let item = Item {
            no: ItemNo(1),
            turn: TurnNo(1),
            step: StepNo(1),
            at: Timestamp(0),
            body: ItemBody::Assistant(AssistantText { text: "x".repeat(1 << 20), cut: false }),
        };
        let event = Event { seq: Seq(1), at: Timestamp(0), body: EventBody::ItemAdded { item: ItemNo(1) } };
        hub.publish(Publication::of(&Batch { items: vec![item], events: vec![event], ..Batch::default() }));
        hub.append(&text("more"));
        hub.publish(batch(2, EventBody::SessionChanged));
        hub.close(CloseReason::SessionDeleted, "the session was deleted");
        assert!(hub.state().recent_bytes < DELETED_BYTES);
        assert_eq!(given(hub.next(&mut near)), ["#2"]);
        for position in [&mut near, &mut behind] {
            assert!(
                matches!(hub.next(position), Next::Closed(CloseReason::SessionDeleted, _)),
                "no gap before the end"
            );
        }
    }

    #[test]
    fn output_is_bounded_and_says_where_it_begins() {
        let hub = Hub::new(Seq(0));
        for _ in 0..4 {
            hub.append(&Delta::Output { call: CallId(1), text: "\u{4f60}".repeat(OUTPUT_BYTES / 4) });
        }
        let pieces = given(hub.next(&mut Position::default()));
        assert_eq!(pieces.len(), 1);
        assert!(pieces[0].len() <= 2 * OUTPUT_BYTES + 20 && !pieces[0].starts_with("0:"), "{}", pieces[0].len());
    }
}
