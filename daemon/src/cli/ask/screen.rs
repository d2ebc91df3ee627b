//! What a turn looks like on a terminal: text of the answer, and lines about everything else. It is told events and says
//! what to write; it writes nothing.

use super::super::compact;
use super::super::out::{self, Style};
use super::super::show::status_word;
use plimsoll_protocol::event::{Event, Todo, TodoStatus, Usage, Verified};
use plimsoll_protocol::transcript::{CallStatus, ItemBody};

/// Width of the lines about tools.
const NOTE_WIDTH: usize = 120;

/// What an event adds: first the lines for standard error, then text for standard output.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Lines.
    pub notes: Vec<String>,
    /// More of the answer.
    pub text: String,
}

/// The state of the terminal.
#[derive(Debug)]
pub struct Screen {
    turn: u64,
    style: Style,
    /// Blocks of text that have begun, in order.
    blocks: Vec<Block>,
    /// The last letters that were printed: how many line ends they are. Nothing printed counts as two.
    line_ends: usize,
    anything: bool,
    summary: Option<String>,
}

/// A block of text of the answer.
#[derive(Debug)]
struct Block {
    step: u64,
    index: Option<u32>,
    /// What of it is printed.
    text: String,
    /// It began anew, and this far it says again what is printed.
    anew: Option<String>,
    /// Its item has come: it grows no more.
    settled: bool,
}

/// What of a block is to be printed.
#[derive(Debug, PartialEq, Eq)]
enum More {
    /// It goes on with this.
    Rest(String),
    /// It is another text than the one that is printed: all of it, by itself.
    Other(String),
}

impl Block {
    /// Takes a delta in. What is printed stays on the terminal, so that a block that begins anew, at offset 0, is printed from
    /// where it differs on, or, where it does not go on with what is printed, as a paragraph of its own. Nothing for a delta
    /// that leaves a gap: the item brings everything.
    fn grow(&mut self, offset: u64, text: &str) -> Option<More> {
        if offset == 0 && !self.text.is_empty() {
            self.anew = Some(String::new());
        }
        let known = self.anew.as_ref().unwrap_or(&self.text).len();
        let new = text.get(known.checked_sub(usize::try_from(offset).ok()?)?..)?;
        let Some(anew) = &mut self.anew else {
            self.text.push_str(new);
            return Some(More::Rest(new.to_owned()));
        };
        anew.push_str(new);
        if self.text.starts_with(anew.as_str()) {
            return None;
        }
        let whole = self.anew.take()?;
        self.become_whole(whole)
    }

    /// Its whole text so far is this.
    fn become_whole(&mut self, whole: String) -> Option<More> {
        let more = match whole.strip_prefix(self.text.as_str()) {
            Some("") => None,
            Some(rest) => Some(More::Rest(rest.to_owned())),
            None => Some(More::Other(whole.clone())),
        };
        self.text = whole;
        more
    }
}

impl Screen {
    /// An empty one, for this turn.
    pub fn new(turn: u64, style: Style) -> Self {
        Self { turn, style, blocks: Vec::new(), line_ends: 2, anything: false, summary: None }
    }

    /// Whether the next text would begin a line.
    pub fn at_line_start(&self) -> bool {
        self.line_ends > 0
    }

    /// What an event adds.
    pub fn event(&mut self, event: &Event) -> Shown {
        let mut shown = Shown::default();
        match event {
            Event::TextDelta { turn, step, block, offset, text } if *turn == self.turn => {
                shown.text = self.delta(*step, *block, *offset, text);
            }
            Event::ItemAdded { item } if item.turn == self.turn => match &item.body {
                ItemBody::Assistant { text, cut } => {
                    shown.text = self.settle(item.step, text);
                    if *cut {
                        shown.notes.push(self.dim("the answer was cut off here; it goes on below"));
                    }
                }
                ItemBody::ToolResult { tool, status, text, .. } => {
                    shown.notes.push(self.result(tool, status, text.as_deref()));
                }
                ItemBody::Notice { text, .. } => shown.notes.push(self.dim(&out::short(text, 400))),
                ItemBody::User { .. }
                | ItemBody::Meta { .. }
                | ItemBody::Observation { .. }
                | ItemBody::Reasoning { .. }
                | ItemBody::ToolCall { .. }
                | ItemBody::Rewind { .. }
                | ItemBody::Unknown => {}
            },
            Event::ToolStarted { title, .. } => {
                shown.notes.push(self.dim(&format!("• {}", out::short(title, NOTE_WIDTH))));
            }
            Event::TaskEnded { call, .. } => {
                shown.notes.push(self.dim(&format!("• {} has ended in the background", out::short(call, NOTE_WIDTH))));
            }
            Event::CompactionStarted { cause } => {
                shown.notes.push(self.dim(&format!("• shortening the history ({})", out::short(cause, 30))));
            }
            Event::CompactionFinished { .. } => {
                shown.notes.push(self.dim(&format!("  {}", out::short(&compact::told(event), NOTE_WIDTH))));
            }
            Event::PlanChanged { todos, .. } => shown.notes.push(self.dim(&plan(todos))),
            Event::TurnStarted { .. }
            | Event::TurnQueued { .. }
            | Event::ItemAdded { .. }
            | Event::TextDelta { .. }
            | Event::ReasoningDelta { .. }
            | Event::ToolOutput { .. }
            | Event::PermissionAsked { .. }
            | Event::PermissionResolved { .. }
            | Event::StepStarted { .. }
            | Event::StepCompleted { .. }
            | Event::TurnCompleted { .. }
            | Event::OperationChanged { .. }
            | Event::TaskChanged {}
            | Event::SessionChanged { .. }
            | Event::RestartPending { .. }
            | Event::Closed { .. }
            | Event::Unknown => {}
        }
        if !shown.notes.is_empty() && self.line_ends == 0 {
            // A note begins its own line also where the answer's line is not finished.
            shown.notes.insert(0, String::new());
        }
        shown
    }

    /// The turn is over.
    pub fn completed(&mut self, usage: Usage, cost: Option<f64>) {
        let cached = if usage.cache_read > 0 { format!(" ({} cached)", usage.cache_read) } else { String::new() };
        let cost = cost.map(|cost| format!(" · ${cost:.4}")).unwrap_or_default();
        if usage.input > 0 {
            self.summary = Some(format!("{} tokens in{cached}, {} out{cost}", usage.input, usage.output));
        }
    }

    /// What the host knows of the work when the turn is over: one line, where the turn changed files.
    pub fn facts(&self, files: &[String], verification: Option<&Verified>) -> Shown {
        if files.is_empty() {
            return Shown::default();
        }
        let changed = match files.len() {
            1 => "1 file changed".to_owned(),
            count => format!("{count} files changed"),
        };
        let tests = match verification {
            None => "no tests were run".to_owned(),
            Some(tests) => {
                let passed = if tests.passed { "passed" } else { "did not pass" };
                let current = if tests.current { "nothing has changed since" } else { "files have changed since" };
                let which = if tests.partial { "some tests" } else { "tests" };
                format!("{which} {passed} at {}, {current}", tests.revision)
            }
        };
        let mut notes = vec![self.dim(&format!("{changed} · {tests}"))];
        if self.line_ends == 0 {
            notes.insert(0, String::new());
        }
        Shown { notes, text: String::new() }
    }

    /// The last line: what it took, and how to go on with the session where nothing else says that.
    pub fn end(&self, session: Option<&str>) -> Option<String> {
        let go_on = session.map(|session| format!("session {session} · go on: plimsoll ask --session {session} \"…\""));
        let parts: Vec<&str> = self.summary.as_deref().into_iter().chain(go_on.as_deref()).collect();
        (!parts.is_empty()).then(|| self.dim(&parts.join(" · ")))
    }

    fn dim(&self, text: &str) -> String {
        self.style.dim(text)
    }

    /// Prints what of a delta is new.
    fn delta(&mut self, step: u64, block: u32, offset: u64, text: &str) -> String {
        let known = self.blocks.iter_mut().find(|known| known.step == step && known.index == Some(block));
        let more = match known {
            Some(known) if known.settled => None,
            Some(known) => known.grow(offset, text),
            None if offset > 0 || text.is_empty() => None,
            None => {
                self.blocks.push(Block { step, index: Some(block), text: text.to_owned(), anew: None, settled: false });
                Some(More::Other(text.to_owned()))
            }
        };
        self.more(more)
    }

    /// Prints what of a finished block was not printed yet.
    fn settle(&mut self, step: u64, text: &str) -> String {
        let Some(known) = self.blocks.iter_mut().find(|known| known.step == step && !known.settled) else {
            self.blocks.push(Block { step, index: None, text: text.to_owned(), anew: None, settled: true });
            return self.begin(text);
        };
        known.settled = true;
        let more = known.become_whole(text.to_owned());
        self.more(more)
    }

    fn more(&mut self, more: Option<More>) -> String {
        match more {
            Some(More::Rest(rest)) => self.print(&rest),
            Some(More::Other(whole)) => self.begin(&whole),
            None => String::new(),
        }
    }

    /// A new block, a blank line after what came before.
    fn begin(&mut self, text: &str) -> String {
        let separator = if self.anything { "\n".repeat(2_usize.saturating_sub(self.line_ends)) } else { String::new() };
        let text = self.print(text);
        separator + &text
    }

    fn print(&mut self, text: &str) -> String {
        let text = out::harmless(text, true);
        if !text.is_empty() {
            let ends = text.chars().rev().take_while(|letter| *letter == '\n').count();
            self.line_ends = if ends == text.len() { self.line_ends + ends } else { ends };
            self.anything = true;
        }
        text
    }

    fn result(&self, tool: &str, status: &CallStatus, text: Option<&str>) -> String {
        let said = text.and_then(|text| text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('<')));
        let said = said.map(|line| format!(": {}", out::short(line, NOTE_WIDTH - 30))).unwrap_or_default();
        let line = match status {
            CallStatus::Ok => format!("  ok{said}"),
            other => format!("  {} {}{said}", out::short(tool, 30), status_word(other)),
        };
        self.dim(&line)
    }
}

/// A plan on one line: how far, and what is being done.
fn plan(todos: &[Todo]) -> String {
    let done = todos.iter().filter(|todo| matches!(todo.status, TodoStatus::Completed | TodoStatus::Cancelled)).count();
    let now = todos.iter().find(|todo| todo.status == TodoStatus::InProgress);
    let now = now.map(|todo| format!(": {}", out::short(&todo.content, NOTE_WIDTH - 30))).unwrap_or_default();
    format!("• plan {done}/{}{now}", todos.len())
}

#[cfg(test)]
mod tests;
