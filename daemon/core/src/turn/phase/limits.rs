//! Limits that the user set, and the same call over and over: the user is asked whether to go on, and where nobody is
//! there to be asked the turn ends.

use super::super::machine::Machine;
use super::super::state::Phase;
use crate::event::{Ask, AskChoice, AskOption, AskResolution, EventBody, TurnEnd};
use crate::id::CallId;
use crate::prompt;
use crate::tool::outcome::{Body, Outcome};
use crate::transcript::item::NoticeCause;

/// What a question that is about the turn itself names as its tool.
pub const TURN: &str = "turn";

/// From so many times in a row on the model is told that it repeats a call and gets the same.
const TOLD_SAME: u32 = 3;

/// So many times in a row, and the user is asked.
const ASKED_SAME: u32 = 10;

/// A limit that is reached.
struct Reached {
    /// What is so, as a sentence for people.
    what: String,
    end: TurnEnd,
}

impl Machine {
    /// Whether the turn may send its next request. Otherwise the user is asked, or the turn has ended.
    pub(super) fn may_go_on(&mut self) -> bool {
        let reached = self.reached();
        let Some(first) = reached.first() else { return true };
        let (end, what) = (first.end, reached.iter().map(|one| one.what.as_str()).collect::<Vec<_>>().join(" "));
        if self.attended {
            self.ask_to_go_on(what);
        } else {
            self.end_at_limit(end, format!("{what} The turn stopped; say `continue` to go on."));
        }
        false
    }

    /// Whether the user has to be asked before the next request.
    pub(super) fn is_at_limit(&self) -> bool {
        !self.reached().is_empty()
    }

    fn reached(&self) -> Vec<Reached> {
        let Some(turn) = &self.turn else { return Vec::new() };
        let mut reached = Vec::new();
        if turn.step.0 >= turn.steps_allowed {
            let what = format!("The turn reached its limit of {} steps (limits.max_steps_per_turn).", turn.step.0);
            reached.push(Reached { what, end: TurnEnd::MaxSteps });
        }
        if let (Some(cost), Some(allowed)) = (self.cost(), self.cost_allowed)
            && cost >= allowed
        {
            let what =
                format!("The session has cost ${cost:.2}, and its limit is ${allowed:.2} (limits.session_cost).");
            reached.push(Reached { what, end: TurnEnd::Limit });
        }
        if let Some((_, times)) = &turn.same
            && *times >= ASKED_SAME
        {
            let what = format!("The model made the same call {times} times in a row, with the same result.");
            reached.push(Reached { what, end: TurnEnd::Limit });
        }
        reached
    }

    /// What the session has cost so far, in US dollars, at the price of its present model; none when that is not known.
    fn cost(&self) -> Option<f64> {
        self.settings.model.price.as_ref().map(|price| price.cost(self.usage))
    }

    fn ask_to_go_on(&mut self, what: String) {
        let Some(turn) = &self.turn else { return };
        let turn = turn.no;
        self.counters.ask = self.counters.ask.next();
        let option = |kind, label: &str| AskOption { kind, label: label.to_owned(), rules: Vec::new() };
        let ask = Ask {
            id: self.counters.ask,
            call: self.counters.call,
            turn,
            at: self.now,
            tool: TURN.to_owned(),
            title: "go on with this turn".to_owned(),
            command: None,
            paths: Vec::new(),
            changes: Vec::new(),
            plan: None,
            reason: what,
            repeats: None,
            options: vec![
                option(AskChoice::AllowOnce, "Go on, for as much again"),
                option(AskChoice::Reject, "End the turn here"),
            ],
            resolution: None,
        };
        self.add_event(EventBody::PermissionAsked { ask: ask.id, call: ask.call });
        self.held.asks.push(ask.clone());
        if let Some(turn) = &mut self.turn {
            turn.phase = Phase::Asking(Box::new(ask));
        }
        self.expect_answer();
        self.commit();
    }

    /// The user says whether the turn goes on.
    pub(super) fn decided_to_go_on(&mut self, choice: AskChoice, advice: Option<String>) {
        let Some(turn) = &mut self.turn else { return };
        let Phase::Asking(ask) = std::mem::replace(&mut turn.phase, Phase::Calls(Vec::new())) else { return };
        self.resolve_ask(*ask, AskResolution::Answered { choice, advice });
        self.set_state(crate::transcript::batch::SessionState::Running);
        if choice == AskChoice::Reject {
            let first = self.reached().into_iter().next();
            let end = first.map_or(TurnEnd::Limit, |reached| reached.end);
            self.end_at_limit(end, "The turn was ended at a limit, as the user decided.".to_owned());
            return;
        }
        let (steps, cost) = (self.settings.max_steps, self.cost());
        if let (Some(cost), Some(allowed), Some(more)) = (cost, self.cost_allowed, self.settings.session_cost)
            && cost >= allowed
        {
            self.cost_allowed = Some(cost + more);
        }
        if let Some(turn) = &mut self.turn {
            if turn.step.0 >= turn.steps_allowed {
                turn.steps_allowed = turn.step.0.saturating_add(steps);
            }
            turn.same = None;
        }
        self.request();
    }

    fn end_at_limit(&mut self, end: TurnEnd, text: String) {
        self.add_notice(NoticeCause::Limit, text.clone());
        self.finish(end, Some(text));
    }

    /// Counts how often in a row the same call gave the same; gives what the model is told about it.
    pub(in crate::turn) fn count_same(&mut self, id: CallId, outcome: &Outcome) -> Option<String> {
        let slot = self.slot(id)?;
        let key = prompt::hash(&format!("{}\n{}\n{}", slot.tool, slot.arguments, essence(outcome)));
        let turn = self.turn.as_mut()?;
        let times = match turn.same.take() {
            Some((before, times)) if before == key => times + 1,
            Some(_) | None => 1,
        };
        turn.same = Some((key, times));
        (times >= TOLD_SAME).then(|| self.prompts().same_call(times))
    }
}

/// What of an outcome makes it another one: not how long it took, nor where its log is.
fn essence(outcome: &Outcome) -> String {
    let body = match &outcome.body {
        Body::Command(run) => format!("{:?} {:?} {:?}", run.exit, run.output, run.stderr),
        Body::Tests(tests) => format!("{:?} {:?} {:?}", tests.run.exit, tests.report, tests.void),
        Body::Task(task) => format!("{} {:?} {:?}", task.id, task.run.exit, task.run.output),
        Body::Image(image) => image.version.clone(),
        other => serde_json::to_string(other).unwrap_or_default(),
    };
    format!("{:?} {body}", outcome.status)
}
