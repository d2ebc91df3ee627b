//! A session that begins with what another one has said: which of its events are shared, and the epoch that goes on with
//! what was sent there. Pure.

use crate::context::reopen::{begun_anew, reopened};
use crate::event::{Event, EventBody, TurnEnd, TurnFacts};
use crate::id::{EpochNo, ItemNo, Seq, TurnNo};
use crate::ledger::Operation;
use crate::model::usage::Usage;
use crate::permission::mode::Mode;
use crate::prompt::Prompts;
use crate::time::Timestamp;
use crate::transcript::epoch::{Epoch, EpochCause, RequestRow};
use crate::transcript::item::{MetaCause, MetaMessage};
use std::collections::BTreeSet;

/// The epoch of a fork: it begins with `base`, the newest request that is shared, byte for byte. A fork has a plan file of its
/// own: in plan mode the model is told of that.
pub fn epoch(before: &Epoch, base: &RequestRow, mode: Mode, no: EpochNo, at: Timestamp, tokens: u64) -> Epoch {
    let mut epoch = reopened(before, base, EpochCause::Fork, no, at, tokens);
    if mode == Mode::Plan {
        epoch.stated.told.plan = None;
    }
    epoch
}

/// The epoch of a fork that shares requests of which nothing is in the view any more.
pub fn empty_epoch(first: &Epoch, no: EpochNo, at: Timestamp) -> Epoch {
    begun_anew(first, EpochCause::Fork, no, at)
}

/// What of a session's events a fork has that shares the items up to `last`: those of the shared turns, numbered anew, with an
/// end of the turn that was parted. Questions and what waits are the other session's own. `of` is the turn of `last`.
pub fn events(events: impl IntoIterator<Item = Event>, last: ItemNo, of: TurnNo) -> Vec<Event> {
    let mut shared: Vec<Event> = Vec::new();
    let mut begun: BTreeSet<TurnNo> = BTreeSet::new();
    let mut behind = last == ItemNo(0);
    for event in events {
        let keep = match &event.body {
            EventBody::ItemAdded { item } if *item > last => break,
            EventBody::ItemAdded { item } => {
                behind = *item == last;
                true
            }
            EventBody::TurnStarted { .. } if behind => break,
            EventBody::TurnStarted { turn } => begun.insert(*turn),
            // What waited and never began is told as ended too.
            EventBody::TurnCompleted { turn, .. } => begun.remove(turn),
            EventBody::StepCompleted { turn, .. } => !behind || *turn == of,
            EventBody::PlanChanged { .. } => true,
            EventBody::StepStarted { .. } | EventBody::ToolStarted { .. } | EventBody::TaskEnded { .. } => !behind,
            EventBody::TurnQueued { .. }
            | EventBody::PermissionAsked { .. }
            | EventBody::PermissionResolved { .. }
            | EventBody::OperationChanged { .. }
            | EventBody::CompactionStarted { .. }
            | EventBody::CompactionFinished { .. }
            | EventBody::TaskChanged
            | EventBody::SessionChanged => false,
        };
        if keep {
            shared.push(event);
        }
    }
    let at = shared.last().map(|event| event.at).unwrap_or_default();
    for turn in begun {
        let body = EventBody::TurnCompleted {
            turn,
            reason: TurnEnd::Cancelled,
            usage: Usage::default(),
            cost: None,
            unsettled: Vec::new(),
            message: Some("The session was forked in the middle of this turn.".to_owned()),
            facts: TurnFacts::default(),
        };
        shared.push(Event { seq: Seq(0), at, body });
    }
    for (event, no) in shared.iter_mut().zip(1..) {
        event.seq = Seq(no);
    }
    shared
}

/// What the model is told of commands that the shared calls left in the background; none when there are none.
pub fn left_behind(operations: &[Operation], prompts: &Prompts) -> Option<MetaMessage> {
    let line = |operation: &Operation| {
        format!("{} {}", operation.call, operation.command.as_deref().unwrap_or(&operation.target))
    };
    let lines: Vec<String> = operations.iter().map(line).collect();
    let text = (!lines.is_empty()).then(|| prompts.reminder_tasks_left(&lines))?;
    Some(MetaMessage { cause: MetaCause::TaskEnded, text })
}
