//! Into plan mode and out of it by the model's calls. Going in narrows what may be done and needs nobody; the way out is
//! a question to the user, who alone makes a mode freer.

use super::super::effect::Effect;
use super::super::machine::Machine;
use super::super::state::SlotState;
use crate::event::{Ask, AskChoice, AskOption, EventBody};
use crate::id::CallId;
use crate::permission::leave::Leave;
use crate::permission::mode::Mode;
use crate::tool::call::{Call, Prepared};
use crate::tool::outcome::{Body, Outcome, Status};

/// The tool that hands a plan in.
pub const EXIT: &str = "exit_plan_mode";

/// What a person reads above a plan.
const TITLE: &str = "leave plan mode and carry out this plan";

impl Machine {
    pub(super) fn enter_plan_mode(&mut self) -> Outcome {
        if self.settings.mode == Mode::Plan {
            return done("Plan mode is on already; what it asks of you was told.".to_owned());
        }
        if self.settings.policy.modes.hold(Mode::Plan) != Mode::Plan {
            let text = format!("The administrator has fixed the mode `{}`; go on in it.", self.settings.mode);
            return Outcome::failed(text);
        }
        self.change_mode(Mode::Plan);
        done("Plan mode is on.".to_owned())
    }

    /// Hands a plan in: the text of the call, else the plan file once it is read.
    pub(super) fn exit_plan_mode(&mut self, call: &Call) {
        if self.settings.mode != Mode::Plan {
            let text = format!(
                "The session is in mode `{}`, not in plan mode, so there is nothing to approve: go on with the work.",
                self.settings.mode
            );
            self.settle(call.id, Outcome::failed(text));
            return;
        }
        let given = call.args.get("plan").and_then(serde_json::Value::as_str).filter(|plan| !plan.trim().is_empty());
        if let Some(plan) = given {
            self.ask_about_plan(call.id, plan.to_owned());
            return;
        }
        if let Some(slot) = self.slot(call.id) {
            slot.state = SlotState::Loading;
        }
        self.effects.push(Effect::ReadPlan { call: call.id });
    }

    pub(in crate::turn) fn plan_read(&mut self, id: CallId, result: Result<Option<String>, String>) {
        if !self.slot(id).is_some_and(|slot| matches!(slot.state, SlotState::Loading)) {
            return;
        }
        match result {
            Ok(Some(plan)) if !plan.trim().is_empty() => self.ask_about_plan(id, plan),
            Ok(_) => {
                let file = &self.settings.plan_file;
                let text = format!("There is no plan yet: write it to {file}, then call {EXIT} again.");
                self.settle(id, Outcome::failed(text));
            }
            Err(problem) => self.settle(id, Outcome::failed(problem)),
        }
        self.advance();
    }

    fn ask_about_plan(&mut self, id: CallId, plan: String) {
        self.counters.ask = self.counters.ask.next();
        let (ask, after) = (self.counters.ask, self.mode_after_plan());
        let option = |kind, label: String| AskOption { kind, label, rules: Vec::new() };
        let mut options = vec![option(AskChoice::AllowOnce, format!("Approve, and go on in mode `{after}`"))];
        if after < Mode::AcceptEdits && self.settings.policy.modes.hold(Mode::AcceptEdits) == Mode::AcceptEdits {
            let label = format!("Approve, and go on in mode `{}`", Mode::AcceptEdits);
            options.push(option(AskChoice::AllowSession, label));
        }
        options.push(option(AskChoice::Reject, "Keep planning".to_owned()));
        let question = Ask {
            id: ask,
            call: id,
            turn: self.turn.as_ref().map(|turn| turn.no).unwrap_or_default(),
            at: self.now,
            tool: EXIT.to_owned(),
            title: TITLE.to_owned(),
            command: None,
            paths: vec![self.settings.plan_file.clone()],
            changes: Vec::new(),
            plan: Some(plan),
            reason: "it hands in its plan".to_owned(),
            repeats: None,
            options,
            resolution: None,
        };
        self.held.asks.push(question.clone());
        let Some(slot) = self.slot(id) else { return };
        slot.state = SlotState::Asking(Box::new(question), Prepared::default(), Leave::default());
        self.add_event(EventBody::PermissionAsked { ask, call: id });
        self.expect_answer();
    }

    /// The user has read the plan. It counts as it was shown, so that nothing has to be looked up again.
    pub(super) fn decided_about_plan(&mut self, id: CallId, choice: AskChoice, advice: Option<&str>) {
        let advice = advice.map(str::trim).filter(|advice| !advice.is_empty());
        let outcome = match (choice, advice) {
            (AskChoice::Reject, Some(advice)) => kept(format!(
                "The user wants another plan and says: {advice}\nPlan mode stays on. Change the plan file, then call \
                 {EXIT} again."
            )),
            (AskChoice::Reject, None) => kept(
                "The user did not approve the plan. Plan mode stays on. Ask what should be different, or end your turn; \
                 do not hand in the same plan again."
                    .to_owned(),
            ),
            (AskChoice::AllowOnce | AskChoice::AllowSession | AskChoice::AllowAlways, _) => {
                // A mode that the user has chosen since is newer than this answer.
                if self.settings.mode == Mode::Plan {
                    let after = self.mode_after_plan();
                    let freer = self.settings.policy.modes.hold(Mode::AcceptEdits);
                    self.change_mode(if choice == AskChoice::AllowSession { after.max(freer) } else { after });
                }
                done(format!("The user approved the plan. Carry it out; the mode is `{}` now.", self.settings.mode))
            }
        };
        self.settle(id, outcome);
    }
}

fn done(text: String) -> Outcome {
    Outcome { status: Status::Ok, body: Body::Text(text) }
}

fn kept(text: String) -> Outcome {
    Outcome { status: Status::Denied, body: Body::Text(text) }
}
