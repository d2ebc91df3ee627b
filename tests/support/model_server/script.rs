//! What the server answers: steps taken in order by the requests, and rules for requests that are told apart by a look.

use super::gate::Gate;
use super::misbehave::{Cut, Misbehave, UsagePlace};
use super::record::Recorded;
use serde_json::Value;
use std::collections::VecDeque;

/// Rules first, then steps in order.
#[derive(Default)]
pub struct Script {
    rules: Vec<Rule>,
    steps: VecDeque<Step>,
}

struct Rule {
    matches: Box<dyn Fn(&Recorded) -> bool + Send>,
    step: Step,
}

impl Script {
    /// These steps, each for one request.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { rules: Vec::new(), steps: steps.into_iter().collect() }
    }

    /// Every request that `matches` gets `step` and takes none of the steps in order.
    pub fn on(mut self, matches: impl Fn(&Recorded) -> bool + Send + 'static, step: Step) -> Self {
        self.rules.push(Rule { matches: Box::new(matches), step });
        self
    }

    pub(super) fn push(&mut self, step: Step) {
        self.steps.push_back(step);
    }

    pub(super) fn rewrite(&mut self, steps: impl IntoIterator<Item = Step>) {
        self.steps = steps.into_iter().collect();
    }

    pub(super) fn left(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn take(&mut self, request: &Recorded) -> Option<Step> {
        match self.rules.iter().find(|rule| (rule.matches)(request)) {
            Some(rule) => Some(rule.step.clone()),
            None => self.steps.pop_front(),
        }
    }
}

/// Tokens that an answer claims, in the one meaning that Plimsoll uses: `input` is everything that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// All tokens of the request.
    pub input: u64,
    /// Of these, read from the cache.
    pub cached: u64,
    /// Of these, written to the cache (Anthropic only).
    pub written: u64,
    /// Tokens of the answer.
    pub output: u64,
}

/// A tool call that the model makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) id: CallIdSent,
    pub(super) fragments: usize,
}

/// The id that the provider sends with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallIdSent {
    /// One that is unique in the server's life.
    Fresh,
    /// This one.
    Given(String),
    /// None at all.
    Missing,
}

impl Call {
    /// A call of `name` with these arguments, under an id of its own, in two fragments.
    pub fn new(name: &str, arguments: Value) -> Self {
        Self::raw(name, &arguments.to_string())
    }

    /// A call whose arguments are this text, which may be anything.
    pub fn raw(name: &str, arguments: &str) -> Self {
        Self { name: name.to_owned(), arguments: arguments.to_owned(), id: CallIdSent::Fresh, fragments: 2 }
    }

    /// Under this id.
    pub fn id(mut self, id: &str) -> Self {
        self.id = CallIdSent::Given(id.to_owned());
        self
    }

    /// Under no id.
    pub fn without_id(mut self) -> Self {
        self.id = CallIdSent::Missing;
        self
    }

    /// The arguments come in this many fragments; 0: not at all.
    pub fn fragments(mut self, fragments: usize) -> Self {
        self.fragments = fragments;
        self
    }
}

/// A part of a streamed answer.
#[derive(Clone)]
pub(super) enum Part {
    /// One block of text, in these deltas.
    Text(Vec<String>),
    /// One block of reasoning, in these deltas.
    Reasoning(Vec<String>),
    /// A call.
    Call(Call),
    /// Waits here.
    Gate(Gate),
}

/// What a request gets.
#[derive(Clone)]
pub(super) enum Reply {
    /// A stream in the form of the API that was asked.
    Stream(Vec<Part>),
    /// These chunks as the body of a stream, byte for byte.
    Raw(Vec<Vec<u8>>),
    /// An answer that is no stream.
    Plain { status: u16, body: String },
    /// The request is taken and nothing is ever said, not even a status line.
    Never,
}

/// One answer.
#[derive(Clone)]
pub struct Step {
    pub(super) reply: Reply,
    pub(super) headers: Vec<(String, String)>,
    pub(super) usage: Option<Usage>,
    pub(super) finish: Option<String>,
    pub(super) misbehave: Misbehave,
    pub(super) before: Option<Gate>,
}

impl Step {
    fn with(reply: Reply) -> Self {
        Self { reply, headers: Vec::new(), usage: None, finish: None, misbehave: Misbehave::default(), before: None }
    }

    /// A stream with nothing in it yet; as it is, it is an empty answer.
    pub fn empty() -> Self {
        Self::with(Reply::Stream(Vec::new()))
    }

    /// Text in one delta.
    pub fn say(text: &str) -> Self {
        Self::empty().text(text)
    }

    /// Tool calls, and nothing else.
    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        calls.into_iter().fold(Self::empty(), Self::call)
    }

    /// A stream of exactly these bytes, each chunk written by itself.
    pub fn raw<C: Into<Vec<u8>>>(chunks: impl IntoIterator<Item = C>) -> Self {
        Self::with(Reply::Raw(chunks.into_iter().map(Into::into).collect()))
    }

    /// An answer with this status and JSON body.
    pub fn error(status: u16, body: Value) -> Self {
        Self::plain(status, &body.to_string())
    }

    /// An answer with this status and body, whatever it is.
    pub fn plain(status: u16, body: &str) -> Self {
        Self::with(Reply::Plain { status, body: body.to_owned() })
    }

    /// No answer at all.
    pub fn never() -> Self {
        Self::with(Reply::Never)
    }

    fn part(mut self, part: Part) -> Self {
        match &mut self.reply {
            Reply::Stream(parts) => parts.push(part),
            Reply::Raw(_) | Reply::Plain { .. } | Reply::Never => panic!("only a stream has parts"),
        }
        self
    }

    /// Then text, in one delta.
    pub fn text(self, text: &str) -> Self {
        self.text_in([text])
    }

    /// Then one block of text in these deltas.
    pub fn text_in<T: Into<String>>(self, deltas: impl IntoIterator<Item = T>) -> Self {
        self.part(Part::Text(deltas.into_iter().map(Into::into).collect()))
    }

    /// Then a block of reasoning, in one delta.
    pub fn reasoning(self, text: &str) -> Self {
        self.part(Part::Reasoning(vec![text.to_owned()]))
    }

    /// Then a call.
    pub fn call(self, call: Call) -> Self {
        self.part(Part::Call(call))
    }

    /// Then waits at the gate. Between two texts it stands inside one block.
    pub fn stall(self, gate: &Gate) -> Self {
        self.part(Part::Gate(gate.clone()))
    }

    /// Waits at the gate before the status line.
    pub fn stall_before(mut self, gate: &Gate) -> Self {
        self.before = Some(gate.clone());
        self
    }

    /// A further header of the answer.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The usage that is told; without it, bytes / 4.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// The finish reason in the vendor's own word, whatever the parts are.
    pub fn finish(mut self, reason: &str) -> Self {
        self.finish = Some(reason.to_owned());
        self
    }

    /// The connection breaks here.
    pub fn cut(mut self, cut: Cut) -> Self {
        self.misbehave.cut = Some((cut, false));
        self
    }

    /// The body ends here, in good order.
    pub fn end_early(mut self, cut: Cut) -> Self {
        self.misbehave.cut = Some((cut, true));
        self
    }

    /// Each write is broken after these offsets.
    pub fn split_at(mut self, offsets: impl IntoIterator<Item = usize>) -> Self {
        self.misbehave.split_at = offsets.into_iter().collect();
        self
    }

    /// Each write is broken into pieces of this size.
    pub fn split_every(mut self, size: usize) -> Self {
        self.misbehave.split_every = Some(size);
        self
    }

    /// Lines end with CRLF.
    pub fn crlf(mut self) -> Self {
        self.misbehave.crlf = true;
        self
    }

    /// A comment line before each event.
    pub fn keep_alive(mut self) -> Self {
        self.misbehave.keep_alive = true;
        self
    }

    /// No `[DONE]`, no `message_stop`.
    pub fn without_end_mark(mut self) -> Self {
        self.misbehave.no_end_mark = true;
        self
    }

    /// Where usage is told.
    pub fn usage_at(mut self, place: UsagePlace) -> Self {
        self.misbehave.usage = place;
        self
    }

    /// All calls have index 0 (Chat Completions only).
    pub fn same_index(mut self) -> Self {
        self.misbehave.same_index = true;
        self
    }
}
