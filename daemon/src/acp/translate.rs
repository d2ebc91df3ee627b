//! From what happens in a session to what an ACP client is told. It remembers what was sent, so that an item that was
//! streamed is not told twice, that a replay tells exactly what was live, and that every announced call ends.

use super::tool_call;
use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, ImageContent, MessageId, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus,
    SessionUpdate,
};
use plimsoll_core::event::Delta;
use plimsoll_core::id::{CallId, StepNo, TurnNo};
use plimsoll_core::media::Image;
use plimsoll_core::tool::outcome::{Exit, Todo, TodoStatus};
use plimsoll_core::transcript::item::{Item, ItemBody, UserMessage};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// How much of a running command's output is shown: its newest bytes. The whole comes with the result.
const SHOWN_OUTPUT: usize = 8 * 1024;

/// See the module's head. One per followed session.
#[derive(Debug, Default)]
pub struct Translator {
    /// The project's first root, for places.
    root: Option<PathBuf>,
    /// The step whose blocks are remembered.
    step: (TurnNo, StepNo),
    text: Stream,
    thought: Stream,
    /// Announced calls without an end.
    open: BTreeMap<CallId, Open>,
    /// Calls whose command goes on in the background.
    background: BTreeSet<CallId>,
}

/// Blocks of one kind in a step. The first block of a kind becomes the first item of that kind, and so on.
#[derive(Debug, Default)]
struct Stream {
    blocks: Vec<Block>,
    /// Items of this kind that came.
    items: usize,
}

#[derive(Debug, Default)]
struct Block {
    /// Its number in the step.
    no: u32,
    /// What was sent of it.
    sent: String,
    /// Its item came.
    done: bool,
    /// How often the model began it again: what was sent cannot be taken back, so the next try is another message.
    tries: u32,
    /// The next delta may repeat what was sent, because the session was followed anew.
    repeats: bool,
}

/// A call without an end: the title under which it was announced, and what of its output was shown.
#[derive(Debug)]
struct Open {
    title: String,
    output: Output,
}

#[derive(Debug, Default)]
struct Output {
    shown: String,
    next: u64,
}

impl Translator {
    /// A translator for a session of a project with this first root.
    pub fn new(root: Option<PathBuf>) -> Self {
        Self { root, ..Self::default() }
    }

    /// The session is followed anew: blocks that are being written come again from their beginning.
    pub fn followed_anew(&mut self) {
        for block in self.text.blocks.iter_mut().chain(&mut self.thought.blocks) {
            block.repeats = true;
        }
    }

    /// An item, live or replayed. `projection` is the text that the model sees of a result; `own` says that the client
    /// itself sent this user message and shows it already.
    pub fn item(&mut self, item: &Item, projection: Option<&str>, own: bool) -> Vec<SessionUpdate> {
        self.at(item.turn, item.step);
        let ItemBody::User(user) = &item.body else {
            return self.agents_item(item, projection).into_iter().collect();
        };
        if own && !user.steering { Vec::new() } else { user_message(user, &format!("u{}", item.no)) }
    }

    /// An item that is not the user's.
    fn agents_item(&mut self, item: &Item, projection: Option<&str>) -> Option<SessionUpdate> {
        match &item.body {
            ItemBody::Assistant(text) => {
                let (rest, id) = self.text.item(&text.text)?;
                Some(SessionUpdate::AgentMessageChunk(chunk(rest, self.message("m", &id))))
            }
            ItemBody::Reasoning(reasoning) => {
                let (rest, id) = self.thought.item(&reasoning.text)?;
                Some(SessionUpdate::AgentThoughtChunk(chunk(rest, self.message("r", &id))))
            }
            ItemBody::ToolCall(call) => {
                let announced = tool_call::announce(call, self.root.as_deref());
                let open = Open { title: announced.title.clone(), output: Output::default() };
                self.open.insert(call.call, open);
                Some(SessionUpdate::ToolCall(announced))
            }
            ItemBody::ToolResult(result) => {
                self.open.remove(&result.call);
                if tool_call::goes_on(result) {
                    self.background.insert(result.call);
                }
                Some(SessionUpdate::ToolCallUpdate(tool_call::finish(result, projection)))
            }
            ItemBody::User(_)
            | ItemBody::Meta(_)
            | ItemBody::Observation(_)
            | ItemBody::Notice(_)
            | ItemBody::Rewind(_) => None,
        }
    }

    /// More of something that is being written.
    pub fn delta(&mut self, delta: &Delta, offset: u64) -> Option<SessionUpdate> {
        match delta {
            Delta::Text { turn, step, block, text } => {
                self.at(*turn, *step);
                let (rest, id) = self.text.delta(*block, offset, text)?;
                Some(SessionUpdate::AgentMessageChunk(chunk(rest, self.message("m", &id))))
            }
            Delta::Reasoning { turn, step, block, text } => {
                self.at(*turn, *step);
                let (rest, id) = self.thought.delta(*block, offset, text)?;
                Some(SessionUpdate::AgentThoughtChunk(chunk(rest, self.message("r", &id))))
            }
            Delta::Output { call, text } => {
                let shown = self.open.get_mut(call)?.output.push(offset, text)?;
                Some(SessionUpdate::ToolCallUpdate(tool_call::progress(&call.to_string(), shown)))
            }
        }
    }

    /// The title under which a call without an end was announced.
    pub fn title(&self, call: CallId) -> Option<&str> {
        self.open.get(&call).map(|open| open.title.as_str())
    }

    /// A call began to run.
    pub fn started(&self, call: CallId) -> Option<SessionUpdate> {
        self.open.contains_key(&call).then(|| SessionUpdate::ToolCallUpdate(tool_call::begin(&call.to_string())))
    }

    /// A command in the background has ended.
    pub fn task_ended(&mut self, call: CallId, exit: Option<Exit>) -> Option<SessionUpdate> {
        let known = self.background.remove(&call);
        known.then(|| SessionUpdate::ToolCallUpdate(tool_call::task_ended(&call.to_string(), exit)))
    }

    /// What was replayed is past: whether a command in the background still runs is told by its end only.
    fn background_replayed(&mut self) -> Vec<SessionUpdate> {
        let ended = |call: &CallId| {
            SessionUpdate::ToolCallUpdate(tool_call::task_ended(&call.to_string(), Some(Exit::Code(0))))
        };
        self.background.iter().map(ended).collect()
    }

    /// Nothing runs any more: calls that still have no end get one.
    pub fn settle(&mut self) -> Vec<SessionUpdate> {
        std::mem::take(&mut self.open)
            .into_keys()
            .map(|call| SessionUpdate::ToolCallUpdate(tool_call::give_up(&call.to_string())))
            .collect()
    }

    fn at(&mut self, turn: TurnNo, step: StepNo) {
        if self.step != (turn, step) {
            self.step = (turn, step);
            self.text = Stream::default();
            self.thought = Stream::default();
        }
    }

    fn message(&self, kind: &str, id: &str) -> String {
        format!("{kind}{}.{}.{id}", self.step.0, self.step.1)
    }
}

impl Stream {
    /// What of an item is new, and which message it belongs to; `None` when all of it was sent. The item belongs to the
    /// first block without an item whose text it continues.
    fn item(&mut self, text: &str) -> Option<(String, String)> {
        let (place, blocks) = (self.items, self.blocks.len());
        self.items += 1;
        let streamed =
            self.blocks.iter_mut().enumerate().find(|(_, block)| !block.done && text.starts_with(&block.sent));
        let (rest, id) = match streamed {
            Some((place, block)) => {
                block.done = true;
                (text.strip_prefix(block.sent.as_str()).unwrap_or_default(), message(place, block.tries))
            }
            None if place < blocks => (text, format!("{place}-")),
            None => (text, message(place, 0)),
        };
        (!rest.is_empty()).then(|| (rest.to_owned(), id))
    }

    /// What of a delta is new, and which message it belongs to.
    fn delta(&mut self, no: u32, offset: u64, text: &str) -> Option<(String, String)> {
        let known = self.blocks.iter().position(|block| block.no == no);
        let place = known.unwrap_or(self.blocks.len());
        if known.is_none() {
            self.blocks.push(Block { no, ..Block::default() });
        }
        let block = self.blocks.get_mut(place)?;
        let repeats = std::mem::take(&mut block.repeats);
        if offset == 0 && !block.sent.is_empty() && !repeats {
            block.tries += 1;
            block.sent.clear();
        }
        // A gap is filled by the item.
        let known = block.sent.len().checked_sub(usize::try_from(offset).ok()?)?;
        let rest = text.get(known..).filter(|rest| !rest.is_empty())?;
        block.sent.push_str(rest);
        Some((rest.to_owned(), message(place, block.tries)))
    }
}

impl Output {
    /// The newest of the output; `None` when nothing is new.
    fn push(&mut self, offset: u64, text: &str) -> Option<&str> {
        let known = usize::try_from(self.next.saturating_sub(offset)).ok()?;
        let rest = text.get(known..).filter(|rest| !rest.is_empty())?;
        self.next = offset + text.len() as u64;
        self.shown.push_str(rest);
        let too_much = self.shown.len().saturating_sub(SHOWN_OUTPUT);
        if too_much > 0 {
            self.shown.drain(..self.shown.ceil_char_boundary(too_much));
        }
        Some(&self.shown)
    }
}

fn message(place: usize, tries: u32) -> String {
    if tries == 0 { place.to_string() } else { format!("{place}+{tries}") }
}

fn chunk(text: String, id: String) -> ContentChunk {
    ContentChunk::new(ContentBlock::from(text)).message_id(MessageId::new(id))
}

/// What the user said: its text, then its images.
fn user_message(user: &UserMessage, id: &str) -> Vec<SessionUpdate> {
    let text = Some(&user.text).filter(|text| !text.is_empty()).map(|text| ContentBlock::from(text.clone()));
    let blocks = text.into_iter().chain(user.images.iter().map(image));
    let chunk = |block| SessionUpdate::UserMessageChunk(ContentChunk::new(block).message_id(MessageId::new(id)));
    blocks.map(chunk).collect()
}

/// An image, or what is known of one that is too large to be kept.
pub fn image(image: &Image) -> ContentBlock {
    if image.data.is_empty() {
        return ContentBlock::from(format!("[{}: {}]", image.title(), image.facts()));
    }
    ContentBlock::Image(ImageContent::new(&*image.data, image.mime.clone()).uri(file_uri(&image.name)))
}

/// The address of a local file; none for another name.
fn file_uri(path: &str) -> Option<String> {
    let path = path.starts_with('/').then(|| crate::rpc::path_from_wire(path))?;
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(*byte)),
            _ => {
                // Writing to a String cannot fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    Some(uri)
}

/// The todo list. What was given up is left out: the protocol has no word for it.
pub fn plan(todos: &[Todo]) -> SessionUpdate {
    let entry = |todo: &Todo| {
        let status = match todo.status {
            TodoStatus::Pending => PlanEntryStatus::Pending,
            TodoStatus::InProgress => PlanEntryStatus::InProgress,
            TodoStatus::Completed => PlanEntryStatus::Completed,
            TodoStatus::Cancelled => return None,
        };
        Some(PlanEntry::new(todo.content.clone(), PlanEntryPriority::Medium, status))
    };
    SessionUpdate::Plan(Plan::new(todos.iter().filter_map(entry).collect()))
}

/// What a page of items tells, as it was live.
pub fn replay(translator: &mut Translator, items: &[Item], projections: &HashMap<CallId, &str>) -> Vec<SessionUpdate> {
    let mut told = Vec::new();
    for item in items {
        if item.turn != translator.step.0 {
            // A turn that ended with calls open ended them, too.
            told.extend(translator.settle());
        }
        let projection = match &item.body {
            ItemBody::ToolResult(result) => projections.get(&result.call).copied(),
            _ => None,
        };
        told.extend(translator.item(item, projection, false));
        told.extend(crate::rpc::to_wire::plan(Some(item)).map(plan));
    }
    told.extend(translator.background_replayed());
    told
}

#[cfg(test)]
#[path = "translate_tests.rs"]
mod tests;
