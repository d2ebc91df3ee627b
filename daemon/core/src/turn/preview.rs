//! What a prompt would send, found out on a copy of the machine that is thrown away: the very steps that a turn begins
//! with, and nothing of them is performed.

use super::compacting::Compacting;
use super::effect::Effect;
use super::input::{Input, InputBody, Prompt};
use super::machine::Machine;
use crate::id::TurnNo;
use crate::time::Timestamp;
use crate::tool::outcome::TaskEnd;
use crate::transcript::batch::Batch;
use crate::transcript::epoch::{Epoch, EpochCause, RequestRow, Segment};
use crate::transcript::item::{Item, ItemBody};
use crate::workspace::{Environment, Wanted};

/// A copy of an idle machine that has been given a prompt.
#[derive(Debug)]
pub struct Dry {
    machine: Machine,
    turn: TurnNo,
    wanted: Wanted,
}

/// What a prompt would do.
#[derive(Debug, Clone, PartialEq)]
pub enum Preview {
    /// Send this.
    Sends(Box<Sends>),
    /// Send nothing, for this reason, for people.
    Refused(String),
}

/// A request that would be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Sends {
    /// What would be recorded of it.
    pub request: RequestRow,
    /// The epoch that it belongs to.
    pub epoch: Epoch,
    /// Why that would begin with it; none when it goes on.
    pub opens: Option<EpochCause>,
    /// All its messages, the head's included.
    pub messages: Vec<Segment>,
    /// Items that would be added before it, in order: what is told, and the prompt.
    pub items: Vec<Item>,
    /// Its tokens, as the load counts them.
    pub tokens: u64,
    /// The exact bytes.
    pub body: Vec<u8>,
}

impl Machine {
    /// What this prompt would send. None while a turn runs: a prompt would wait. `ended` are commands in the background
    /// whose end the machine has not been told.
    pub fn dry(&self, at: Timestamp, prompt: Prompt, ended: Vec<TaskEnd>) -> Option<Dry> {
        if !self.is_idle() {
            return None;
        }
        let mut machine = self.clone();
        // What would be shortened first is not known without the history.
        machine.compacting = Compacting { off: true, ..Compacting::default() };
        for end in ended {
            machine.step(Input { at, body: InputBody::TaskEnded(end) });
        }
        let effects = machine.step(Input { at, body: InputBody::Prompt(prompt) });
        effects
            .into_iter()
            .find_map(|effect| match effect {
                Effect::Collect { turn, wanted } => Some((turn, *wanted)),
                _ => None,
            })
            .map(|(turn, wanted)| Dry { machine, turn, wanted })
    }
}

impl Dry {
    /// What is to be collected for [`send`](Self::send).
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// What would be sent in these surroundings.
    pub fn send(mut self, at: Timestamp, environment: Environment) -> Preview {
        let (turn, environment) = (self.turn, Box::new(environment));
        let effects = self.machine.step(Input { at, body: InputBody::Environment { turn, environment } });
        let mut batch = Batch::default();
        let mut body = None;
        for effect in effects {
            match effect {
                Effect::Commit(more) => add(&mut batch, *more),
                Effect::CallModel(call) => body = Some(call.body),
                _ => {}
            }
        }
        let (Some(body), Some(request), Some((epoch, messages))) =
            (body, batch.request.take(), self.machine.view.sent())
        else {
            return Preview::Refused(why(&batch));
        };
        Preview::Sends(Box::new(Sends {
            request,
            epoch: epoch.clone(),
            opens: batch.epoch.map(|epoch| epoch.cause),
            messages: messages.to_vec(),
            items: batch.items,
            tokens: self.machine.view.tokens(),
            body,
        }))
    }
}

fn add(all: &mut Batch, more: Batch) {
    all.items.extend(more.items);
    all.asks.extend(more.asks);
    all.epoch = more.epoch.or(all.epoch.take());
    all.request = more.request.or(all.request.take());
}

/// What the user would be told instead, or asked first.
fn why(batch: &Batch) -> String {
    let told = batch.items.iter().filter_map(|item| match &item.body {
        ItemBody::Notice(notice) => Some(notice.text.clone()),
        _ => None,
    });
    let asked = batch.asks.iter().map(|ask| ask.reason.clone());
    let reasons: Vec<String> = told.chain(asked).collect();
    if reasons.is_empty() { "The turn would end without a request.".to_owned() } else { reasons.join(" ") }
}
