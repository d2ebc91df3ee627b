//! When the history is shortened, and what the turn does meanwhile.
//!
//! Everything is decided before a request. What is there is committed, the history is read, a plan is made, and the switch is
//! one commit; then the request goes out. A summary is written beside the conversation, which waits for it only when it
//! cannot go on without.

use super::super::compacting::{Asked, Reads, Waits};
use super::super::effect::Effect;
use super::super::machine::Machine;
use super::super::state::Phase;
use crate::compaction::history::History;
use crate::compaction::plan::{Aim, Basis, Draft, Plan, plan};
use crate::context::load::Room;
use crate::context::view::Opening;
use crate::context::view::switch::Stock;
use crate::event::EventBody;
use crate::id::{ItemNo, StepNo, TurnNo};
use crate::transcript::epoch::{CompactionCause, EpochCause, SummarySource, SwitchFacts};
use crate::transcript::item::NoticeCause;
use crate::transcript::shape::Shape;

/// Per cent of load from which on a summary that will be needed is prepared.
const PREPARE: u64 = 90;

/// Where nothing helped it is looked at again when the conversation has grown by so many per cent of the window.
const AGAIN_PERCENT: u64 = 3;

impl Machine {
    /// A client asks for it. A running turn does it before its next request.
    pub(in crate::turn) fn compact(&mut self, focus: Option<String>) {
        let nothing = self.view.sent().is_none();
        if nothing {
            let why = "there is nothing to shorten yet: the session has sent no request".to_owned();
            self.effects.push(Effect::CompactionTaken(Err(why)));
            return;
        }
        if self.compacting.waits.is_some() {
            self.effects.push(Effect::CompactionTaken(Err("the conversation is being shortened already".to_owned())));
            return;
        }
        self.effects.push(Effect::CompactionTaken(Ok(())));
        if self.turn.is_some() {
            self.compacting.asked = Some(Asked { focus });
        } else {
            self.wait_for_compaction(CompactionCause::Manual, Aim::Summary, focus);
        }
    }

    /// Whether no turn runs and a compaction holds the session.
    pub(in crate::turn) fn is_compacting_alone(&self) -> bool {
        self.turn.is_none() && self.compacting.waits.is_some()
    }

    /// The step whose request is next.
    fn next_step(&self) -> (TurnNo, StepNo) {
        self.turn.as_ref().map_or((self.counters.turn.next(), StepNo(1)), |turn| (turn.no, turn.step.next()))
    }

    fn percent(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(100) / Room::of(&self.settings.model).usable().max(1)
    }

    /// Why the history must be looked at before the next request, if it must.
    fn compaction_due(&self) -> Option<(CompactionCause, Aim)> {
        let (settings, state) = (&self.settings.compaction, &self.compacting);
        let next = self.next_step();
        if state.off || state.done_for == Some(next) {
            return None;
        }
        if state.asked.is_some() {
            return Some((CompactionCause::Manual, Aim::Summary));
        }
        if !settings.auto {
            return None;
        }
        let first = next.1 == StepNo(1);
        let summarised = self.view.shape().summary.map(|summary| summary.through.turn.0 + settings.tail_guard_turns);
        let since = next.0.0.saturating_sub(summarised.unwrap_or(1));
        // One that is being written is taken at the beginning of the turn after.
        let written = state.writing.is_some() && state.candidate.is_none();
        if first && !written && settings.every_turns.is_some_and(|turns| turns > 0 && since >= turns) {
            return Some((CompactionCause::Turns, Aim::Summary));
        }
        let tokens = self.view.next_tokens(&self.settings.model);
        let load = self.percent(tokens);
        let [snip, prune, summarize] = settings.lines.map(u64::from);
        if first && load >= snip && self.view.is_cold(self.now, &self.settings.model) {
            return Some((CompactionCause::Cold, Aim::Cold));
        }
        if load < snip {
            return None;
        }
        if load < summarize && load >= prune && state.candidate.is_none() && state.writing.is_some() {
            // It goes on while the summary is being written.
            return None;
        }
        if tokens < state.rests_below && state.candidate.is_none() {
            return None;
        }
        let changed = self.view.sent().is_some_and(|(epoch, _)| epoch.cause == EpochCause::ModelChanged) && first;
        Some((if changed { CompactionCause::ModelChanged } else { CompactionCause::Load }, Aim::Load))
    }

    /// Looks at the history before the next request when that is due; whether the request has to wait.
    pub(in crate::turn) fn compact_first(&mut self) -> bool {
        let Some((cause, aim)) = self.compaction_due() else { return false };
        let focus = self.compacting.asked.take().and_then(|asked| asked.focus);
        self.wait_for_compaction(cause, aim, focus);
        true
    }

    /// Does what was asked for while a turn ran, which has ended meanwhile.
    pub(in crate::turn) fn compact_alone(&mut self) {
        if let Some(asked) = self.compacting.asked.take() {
            self.wait_for_compaction(CompactionCause::Manual, Aim::Summary, asked.focus);
        }
    }

    /// The provider refused the request as too long and says this; whether something is done about it. Nothing is for the
    /// request that follows on that.
    pub(in crate::turn) fn compact_refused(&mut self, message: &str) -> bool {
        let Some(turn) = &self.turn else { return false };
        let again = matches!(&self.compacting.refused, Some((no, step, _)) if (*no, *step) == (turn.no, turn.step));
        if !self.settings.compaction.auto || again {
            return false;
        }
        let (turn, step) = self.next_step();
        self.compacting.refused = Some((turn, step, message.to_owned()));
        self.wait_for_compaction(CompactionCause::TooLong, Aim::TooLong, None);
        true
    }

    /// Tokens of the model's window; while a request is made smaller that was refused as too long, at most that request's.
    pub(super) fn window(&self) -> u64 {
        let window = self.settings.model.context_window;
        let refused = self.compacting.waits.as_ref().is_some_and(|waits| waits.cause == CompactionCause::TooLong);
        if refused { window.min(self.view.tokens()) } else { window }
    }

    fn tell_compaction(&mut self, cause: CompactionCause) {
        if let Some(waits) = self.compacting.waits.as_mut().filter(|waits| !waits.told) {
            waits.told = true;
            self.add_event(EventBody::CompactionStarted { cause });
        }
    }

    fn wait_for_compaction(&mut self, cause: CompactionCause, aim: Aim, focus: Option<String>) {
        if let Some(turn) = &mut self.turn {
            turn.phase = Phase::Compacting;
        }
        self.compacting.waits =
            Some(Waits { cause, aim, since: self.now, focus, without: None, failed: None, told: false });
        if cause == CompactionCause::Manual {
            self.tell_compaction(cause);
        }
        self.read_history(Reads::Plan);
    }

    /// Everything that is held is stored before it is read.
    pub(super) fn read_history(&mut self, reads: Reads) {
        self.compacting.reads = Some(reads);
        self.commit();
        let from = self.view.shape().summary.map_or(ItemNo(1), |summary| summary.last_item.next());
        self.effects.push(Effect::LoadHistory { from });
    }

    pub(in crate::turn) fn history_loaded(&mut self, history: Result<History, String>) {
        let Some(reads) = self.compacting.reads.take() else { return };
        let history = match history {
            Ok(history) => history,
            Err(why) => {
                self.compaction_over(None, Some(format!("the history cannot be read: {why}")));
                return;
            }
        };
        match reads {
            Reads::Plan => self.plan_compaction(&history),
            Reads::Finish(through) => self.finish_summary(&history, through),
        }
    }

    /// What the machine measures a shape with.
    fn stock(history: &History) -> Stock<'_> {
        Stock { items: &history.items, projections: &history.projections, transcript: &history.transcript }
    }

    fn plan_compaction(&mut self, history: &History) {
        let Some(waits) = self.compacting.waits.clone() else { return };
        self.renew_candidate(history);
        let shape = self.view.shape();
        let candidate = self.compacting.candidate.as_ref().map(|candidate| candidate.summary.clone());
        let prepares = self.settings.compaction.prepare;
        let made = plan(&self.basis(history, &shape), waits.aim, candidate.as_ref());
        match made {
            Plan::Nothing => self.nothing_helps(history, &waits),
            Plan::Shorten(draft) => self.switch(history, draft),
            Plan::Summarize { through, without } => {
                let used = without.as_ref().filter(|draft| draft.shape.summary != shape.summary);
                if let Some(draft) = used.cloned() {
                    self.switch(history, draft);
                    return;
                }
                let load = self.percent(self.view.next_tokens(&self.settings.model));
                let line = u64::from(self.settings.compaction.lines[2]);
                let may_go_on = match waits.cause {
                    // Where none could be had beside the work it is waited for, so that there is one in the end.
                    CompactionCause::Turns => self.compacting.failed_in.is_none(),
                    _ => waits.aim == Aim::Load && load < line,
                };
                if prepares && may_go_on && self.compacting.writing.is_none() {
                    // The work goes on meanwhile.
                    if self.may_prepare() {
                        self.write_summary(history, &shape, through, None);
                    }
                    self.compaction_over(None, None);
                    return;
                }
                if let Some(waits) = &mut self.compacting.waits {
                    waits.without = without;
                }
                self.tell_compaction(waits.cause);
                if self.compacting.writing.is_none() {
                    self.write_summary(history, &shape, through, waits.focus);
                }
                self.commit();
            }
        }
    }

    pub(super) fn basis<'a>(&'a self, history: &'a History, shape: &'a Shape) -> Basis<'a> {
        Basis {
            history,
            shape,
            settings: &self.settings.compaction,
            room: Room::of(&self.settings.model),
            window: self.calibration().estimated(self.window()),
            calibration: self.calibration(),
            now: self.view.next_tokens(&self.settings.model),
            turn: self.turn.as_ref().map_or(self.counters.turn, |turn| turn.no),
        }
    }

    /// Whether a summary may be written beside the work. One that failed in a turn is not tried for again in it.
    pub(super) fn may_prepare(&self) -> bool {
        let settings = &self.settings.compaction;
        settings.auto
            && settings.prepare
            && self.compacting.failed_in.is_none_or(|turn| self.turn.as_ref().is_some_and(|now| now.no > turn))
    }

    /// Nothing can be shortened, or not enough.
    fn nothing_helps(&mut self, history: &History, waits: &Waits) {
        let model = &self.settings.model;
        let tokens = self.view.next_tokens(model);
        let room = Room::of(model);
        let line = self.settings.compaction.lines.iter().map(|line| room.usable() * u64::from(*line) / 100);
        let next_line = line.filter(|line| *line > tokens).min().unwrap_or(u64::MAX);
        self.compacting.rests_below = next_line.min(tokens.saturating_add(room.window * AGAIN_PERCENT / 100));
        let load = self.percent(tokens);
        if waits.aim == Aim::Load && load >= PREPARE {
            self.prepare(history);
        }
        let message = match waits.cause {
            CompactionCause::Manual => Some(format!(
                "all of the conversation is in its last {} turns, which stay as they are",
                self.settings.compaction.tail_guard_turns
            )),
            CompactionCause::Load
            | CompactionCause::Turns
            | CompactionCause::TooLong
            | CompactionCause::ModelChanged
            | CompactionCause::Cold => None,
        };
        self.compaction_over(None, message);
    }

    /// Opens the epoch that shows the conversation in this shape. One commit, with what is said about it.
    pub(super) fn switch(&mut self, history: &History, draft: Draft) {
        let Some(waits) = self.compacting.waits.clone() else { return };
        self.tell_compaction(waits.cause);
        let before = self.view.next_tokens(&self.settings.model);
        let source = self.compacting.candidate.as_ref().map(|candidate| candidate.source);
        let takes = draft.shape.summary != self.view.shape().summary;
        let known: Vec<String> = self.view.stated().blocks.keys().cloned().collect();
        // What a summary should tell of is written on the prefix that the provider still has.
        self.counters.epoch = self.counters.epoch.next();
        let opening = Opening { no: self.counters.epoch, cause: EpochCause::Compaction, at: self.now };
        let facts = SwitchFacts {
            cause: waits.cause,
            levels: draft.levels,
            before,
            after: draft.after,
            usable: Room::of(&self.settings.model).usable(),
            first_changed: 0,
            summary: source.filter(|_| takes),
            waited_ms: u64::try_from(self.now.0.saturating_sub(waits.since.0)).unwrap_or_default(),
        };
        let ready = if takes { self.compacting.candidate.take() } else { None };
        self.prepare_for(history, &draft.shape);
        let model = self.settings.model.clone();
        let Some(mut epoch) = self.view.switch(opening, &model, Self::stock(history), draft.shape, facts) else {
            self.compacting.candidate = ready;
            self.compaction_over(None, None);
            return;
        };
        self.compacting.rests_below = 0;
        self.restate(history, &known);
        if let Some(switch) = &mut epoch.switch {
            switch.facts.after = self.view.next_tokens(&self.settings.model);
        }
        self.held.epoch = Some(epoch);
        self.compaction_over(Some(history), None);
    }

    /// The view has been switched, or stays as it is: what waited goes on.
    pub(super) fn compaction_over(&mut self, switched: Option<&History>, message: Option<String>) {
        let Some(waits) = self.compacting.waits.take() else { return };
        let epoch = self.held.epoch.as_ref().filter(|_| switched.is_some());
        let facts = epoch.and_then(|epoch| epoch.switch.as_ref()).map(|switch| switch.facts.clone());
        let no = epoch.map(|epoch| epoch.no);
        let given_up = epoch.map(|epoch| epoch.price.given_up).unwrap_or_default();
        if let Some(facts) = &facts {
            self.add_notice(NoticeCause::Compaction, told(facts, given_up));
        }
        if waits.told {
            let message = message.filter(|_| facts.is_none());
            self.add_event(EventBody::CompactionFinished { epoch: no, facts, message });
        }
        if self.turn.is_none() {
            self.commit();
            self.begin_next();
            return;
        }
        let again = self.next_step();
        self.compacting.done_for = Some(again);
        match &self.compacting.refused {
            // The same request would be refused again.
            Some((turn, step, said)) if (*turn, *step) == again && no.is_none() => {
                let said = said.clone();
                self.refused_as_too_long(&said);
            }
            _ => self.request(),
        }
    }
}

/// A compaction in one sentence for people.
fn told(facts: &SwitchFacts, given_up: u64) -> String {
    use crate::transcript::epoch::Level;
    let done: Vec<&str> = facts
        .levels
        .iter()
        .map(|level| match level {
            Level::Snip => "old results and images were cut",
            Level::Prune => "old turns are shown as a line each",
            Level::Summarize => match facts.summary {
                Some(SummarySource::Host) => "the beginning is summarised from the record alone",
                Some(SummarySource::Fork | SummarySource::Independent) | None => "the beginning is summarised",
            },
        })
        .collect();
    let cost = if given_up > 0 {
        format!(" About {given_up} tokens of the provider's cache are of no use any more.")
    } else {
        String::new()
    };
    format!(
        "The conversation was shortened for the model from about {} to about {} tokens: {}.{cost} The transcript has all of it.",
        facts.before,
        facts.after,
        done.join(", ")
    )
}
