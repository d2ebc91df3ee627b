//! The calls of a step: which may begin, what is asked, what runs.

use super::super::effect::Effect;
use super::super::machine::Machine;
use super::super::state::{Given, Phase, Slot, SlotState};
use super::operations::{Repeat, asked_again};
use super::suspend::is_what_was_asked;
use crate::event::{Ask, AskChoice, AskOption, AskResolution, EventBody};
use crate::id::{AskId, CallId};
use crate::ledger::{OpState, Operation, OperationFile, ProcessMark, changed_files};
use crate::permission::leave::Leave;
use crate::permission::policy::{Decision, decide, grants};
use crate::permission::rule::Scope;
use crate::tool::call::{Call, FileChange, Prepared};
use crate::tool::outcome::{Body, Outcome, Status};
use crate::tool::projection::cursor;
use crate::tool::spec::{Class, Kind};
use crate::tool::{account, args, name};
use crate::transcript::batch::SessionState;

/// Calls of one step that may run at a time.
const MAX_PARALLEL: usize = 8;

impl Machine {
    /// Takes the calls of a finished answer. Their items are held until the first of them are prepared, so that items
    /// and operation records are one commit when nothing asks.
    pub(in crate::turn) fn start_calls(&mut self, slots: Vec<Slot>) {
        if let Some(turn) = &mut self.turn {
            turn.phase = Phase::Calls(slots);
        }
        self.add_ended();
        self.advance();
    }

    pub(super) fn slots(&mut self) -> Option<&mut Vec<Slot>> {
        match self.turn.as_mut().map(|turn| &mut turn.phase) {
            Some(Phase::Calls(slots)) => Some(slots),
            _ => None,
        }
    }

    pub(in crate::turn) fn slot(&mut self, id: CallId) -> Option<&mut Slot> {
        self.slots()?.iter_mut().find(|slot| slot.id == id)
    }

    /// Begins what may begin, then commits and runs what is ready, then ends the step when nothing is left.
    pub(in crate::turn) fn advance(&mut self) {
        while let Some(id) = self.next_to_begin() {
            self.begin_call(id);
        }
        let Some(slots) = self.slots() else { return };
        if slots.iter().any(|slot| matches!(slot.state, SlotState::Preparing | SlotState::Renewing(_))) {
            return;
        }
        if slots.iter().all(Slot::is_done) {
            self.step_over();
            return;
        }
        self.run_ready();
        // What was decided is committed although something still runs or is asked: nothing that happened waits for it.
        self.commit();
    }

    /// The first call that waits and may begin: one that only reads, when everything before it that does not is done;
    /// any other, when everything before it is done.
    fn next_to_begin(&mut self) -> Option<CallId> {
        let slots = self.slots()?;
        let active = slots.iter().filter(|slot| !matches!(slot.state, SlotState::Waiting | SlotState::Done)).count();
        let mut all_done = true;
        for slot in slots.iter() {
            if matches!(slot.state, SlotState::Waiting) && (all_done || slot.only_reads()) {
                return (active < MAX_PARALLEL).then_some(slot.id);
            }
            if !slot.is_done() {
                if !slot.only_reads() {
                    return None;
                }
                all_done = false;
            }
        }
        None
    }

    fn begin_call(&mut self, id: CallId) {
        let Some(slot) = self.slot(id) else { return };
        let Some(spec) = slot.spec else {
            let text = unknown_tool(&slot.tool);
            self.settle(id, Outcome::failed(text));
            return;
        };
        let args = match args::parse(&slot.arguments, spec.schema) {
            Ok(args) => args,
            Err(error) => {
                self.settle(id, Outcome::failed(format!("{} was not called: {error}", spec.name)));
                return;
            }
        };
        // The cursors of this tool are places in a transcript, not in a result.
        let cursor = cursor::of_args(&args).filter(|_| spec.name != account::TOOL);
        let call = Call { id, tool: spec.name.to_owned(), args };
        slot.call = Some(call.clone());
        if let Some(cursor) = cursor {
            slot.state = SlotState::Loading;
            self.load_cursor(&call, cursor);
        } else if spec.kind == Kind::Host {
            slot.state = SlotState::Running;
            self.run_host(&call);
        } else {
            slot.state = SlotState::Preparing;
            self.effects.push(Effect::Prepare(call));
        }
    }

    pub(in crate::turn) fn prepared(&mut self, id: CallId, result: Result<Prepared, String>) {
        let Some(slot) = self.slot(id) else { return };
        let asked = match &slot.state {
            SlotState::Preparing => None,
            SlotState::Renewing(ask) => Some(Ask::clone(ask)),
            _ => return,
        };
        let spec = slot.spec;
        let result = self.admitted(id, result);
        let (Some(spec), Ok(prepared)) = (spec, &result) else {
            let text = result.err().unwrap_or_default();
            // One that was asked about has a record, and has not begun.
            self.conclude(id, OpState::Cancelled);
            self.settle(id, Outcome::failed(text));
            self.advance();
            return;
        };
        let settings = &self.settings;
        let allowed = asked.is_some_and(|ask| is_what_was_asked(&ask, prepared));
        let decision = decide(settings.mode, &settings.policy, &self.own_rules(), spec, prepared);
        if !matches!(decision, Decision::Deny(_))
            && let Some(earlier) = self.repeats(spec, prepared)
        {
            self.repeated(id, prepared, decision, earlier);
            self.advance();
            return;
        }
        match decision {
            Decision::Ask { leave, .. } if allowed => {
                if let Some(slot) = self.slot(id) {
                    slot.state = SlotState::Ready(prepared.clone(), leave);
                }
            }
            Decision::Allow(leave) => {
                if let Some(slot) = self.slot(id) {
                    slot.state = SlotState::Ready(prepared.clone(), leave);
                }
            }
            Decision::Deny(reason) => {
                let words = self.words_behind(spec, prepared);
                self.refuse(id, prepared, format!("Not run: {reason}{words}. Take another way."));
            }
            Decision::Ask { reason, options, leave } => {
                self.ask_about(id, prepared, reason, None, options, leave);
            }
        }
        self.advance();
    }

    /// A call would do again what an operation did whose end was not seen: it is held back, or the user is asked.
    fn repeated(&mut self, id: CallId, prepared: &Prepared, decision: Decision, earlier: Operation) {
        match self.count_repeat(id, earlier) {
            Repeat::HeldBack(text) => self.refuse(id, prepared, text),
            Repeat::Insisted(earlier) => {
                let (reason, options, leave) = asked_again(decision, &earlier);
                self.ask_about(id, prepared, reason, Some(earlier.call), options, leave);
            }
        }
    }

    fn refuse(&mut self, id: CallId, prepared: &Prepared, text: String) {
        self.record(id, prepared, OpState::Denied);
        self.settle(id, Outcome { status: Status::Denied, body: Body::Text(text) });
    }

    fn ask_about(
        &mut self,
        id: CallId,
        prepared: &Prepared,
        reason: String,
        repeats: Option<CallId>,
        options: Vec<AskOption>,
        leave: Leave,
    ) {
        self.counters.ask = self.counters.ask.next();
        let ask = self.counters.ask;
        let turn = self.turn.as_ref().map(|turn| turn.no).unwrap_or_default();
        let at = self.now;
        let Some(slot) = self.slot(id) else { return };
        let question = Ask {
            id: ask,
            call: id,
            turn,
            at,
            tool: slot.tool.clone(),
            title: prepared.title.clone(),
            command: prepared.command.clone(),
            paths: prepared.targets.iter().map(|target| target.path.clone()).collect(),
            changes: prepared.changes.clone(),
            plan: None,
            reason,
            repeats,
            options,
            resolution: None,
        };
        slot.state = SlotState::Asking(Box::new(question.clone()), prepared.clone(), leave);
        self.held.asks.push(question);
        self.record(id, prepared, OpState::Proposed);
        self.add_event(EventBody::PermissionAsked { ask, call: id });
        self.expect_answer();
    }

    pub(in crate::turn) fn answered(&mut self, given: Given) {
        let before = self.effects.len();
        let about_turn =
            self.turn.as_ref().is_some_and(|turn| matches!(&turn.phase, Phase::Asking(ask) if ask.id == given.ask));
        if about_turn {
            self.decided_to_go_on(given.choice, given.advice);
            self.taken(given.ask, before, None);
            return;
        }
        let open = self.slots().and_then(|slots| {
            slots.iter().find_map(|slot| match &slot.state {
                SlotState::Asking(ask, prepared, leave) if ask.id == given.ask => {
                    Some((ask.clone(), Some((prepared.clone(), *leave))))
                }
                SlotState::Suspended(ask) if ask.id == given.ask => Some((ask.clone(), None)),
                _ => None,
            })
        });
        let Some((ask, facts)) = open else {
            self.effects.push(Effect::AnswerTaken { ask: given.ask, taken: false });
            return;
        };
        let id = ask.call;
        let asked = ask.clone();
        let mut lasting = Vec::new();
        let chosen = ask.options.iter().find(|option| option.kind == given.choice).cloned();
        self.resolve_ask(*ask, AskResolution::Answered { choice: given.choice, advice: given.advice.clone() });
        match given.choice {
            choice if asked.tool == super::plan::EXIT => {
                self.decided_about_plan(id, choice, given.advice.as_deref());
            }
            AskChoice::AllowOnce | AskChoice::AllowSession | AskChoice::AllowAlways => {
                let scope = match given.choice {
                    AskChoice::AllowSession => Some(Scope::Session),
                    AskChoice::AllowAlways => Some(Scope::Project),
                    AskChoice::AllowOnce | AskChoice::Reject => None,
                };
                let rules = scope.and_then(|scope| Some(grants(&chosen?, scope))).unwrap_or_default();
                if scope == Some(Scope::Project) {
                    lasting.clone_from(&rules);
                }
                self.grants.extend(rules);
                if let Some(earlier) = asked.repeats {
                    self.allowed_again(earlier, id);
                }
                match facts {
                    Some((prepared, leave)) => {
                        if let Some(slot) = self.slot(id) {
                            slot.state = SlotState::Ready(prepared, leave);
                        }
                    }
                    None => self.renew(id, asked),
                }
            }
            AskChoice::Reject => {
                self.conclude(id, OpState::Denied);
                let text = match given.advice.filter(|advice| !advice.trim().is_empty()) {
                    Some(advice) => format!("Not run: the user refused this call and says: {advice}"),
                    None => {
                        "Not run: the user refused this call. Do not repeat it; take another way or ask.".to_owned()
                    }
                };
                self.settle(id, Outcome { status: Status::Denied, body: Body::Text(text) });
            }
        }
        if self.is_asking() {
            self.expect_answer();
        } else {
            self.set_state(SessionState::Running);
        }
        self.advance();
        self.commit();
        let grant = (!lasting.is_empty()).then_some(Effect::Grant { call: id, rules: lasting });
        self.taken(given.ask, before, grant);
    }

    /// Puts behind the first commit of what was done since `before` that an answer counts.
    fn taken(&mut self, ask: AskId, before: usize, grant: Option<Effect>) {
        // The client hears that its answer counts once it is stored, and before the tool has run.
        let after = self.effects.iter().skip(before).position(|effect| matches!(effect, Effect::Commit(_)));
        let at = after.map_or(self.effects.len(), |at| before + at + 1);
        self.effects.insert(at, Effect::AnswerTaken { ask, taken: true });
        if let Some(grant) = grant {
            self.effects.insert(at, grant);
        }
    }

    /// Puts another question in the place of the one about the same call.
    #[cfg(test)]
    pub(in crate::turn) fn offer(&mut self, question: Ask) {
        if let Some(slot) = self.slot(question.call)
            && let SlotState::Asking(ask, ..) = &mut slot.state
        {
            **ask = question;
        }
    }

    /// Collects anew what a call will touch that was allowed after its session was taken up again.
    fn renew(&mut self, id: CallId, ask: Box<Ask>) {
        let Some(slot) = self.slot(id) else { return };
        slot.state = SlotState::Waiting;
        self.begin_call(id);
        if let Some(slot) = self.slot(id)
            && matches!(slot.state, SlotState::Preparing)
        {
            slot.state = SlotState::Renewing(ask);
        }
    }

    /// Settles the record of a call that does not run.
    pub(in crate::turn) fn conclude(&mut self, id: CallId, state: OpState) {
        let now = self.now;
        let Some(operation) = self.slot(id).and_then(|slot| slot.operation.as_mut()) else { return };
        operation.state = state;
        operation.at = now;
        let operation = operation.clone();
        self.hold_operation(operation);
    }

    pub(in crate::turn) fn resolve_ask(&mut self, mut ask: Ask, resolution: AskResolution) {
        let body = EventBody::PermissionResolved { ask: ask.id, call: ask.call };
        ask.resolution = Some(resolution);
        self.held.asks.push(ask);
        self.add_event(body);
    }

    /// Writes down where an operation stands; calls that only look have no record.
    pub(in crate::turn) fn record(&mut self, id: CallId, prepared: &Prepared, state: OpState) {
        let turn = self.turn.as_ref().map(|turn| turn.no).unwrap_or_default();
        let (now, revision) = (self.now, self.revision);
        let Some(slot) = self.slot(id) else { return };
        let Some(spec) = slot.spec else { return };
        if spec.class == Class::Read {
            return;
        }
        let operation = Operation {
            call: id,
            turn,
            tool: slot.tool.clone(),
            class: spec.class.word().to_owned(),
            target: prepared.targets.first().map(|target| target.path.clone()).unwrap_or_default(),
            command: prepared.command.clone(),
            state,
            at: now,
            revision,
            files: prepared.changes.iter().map(operation_file).collect(),
            process: None,
            background: false,
            finding: None,
            repeats: 0,
        };
        slot.operation = Some(operation.clone());
        self.hold_operation(operation);
    }

    /// The last state within one commit is the one that is written.
    pub(in crate::turn) fn hold_operation(&mut self, operation: Operation) {
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.no == operation.turn) {
            turn.changed.extend(changed_files(&operation).map(str::to_owned));
        }
        self.held.operations.retain(|held| held.call != operation.call);
        self.held.operations.push(operation);
    }

    pub(in crate::turn) fn process_known(&mut self, id: CallId, process: ProcessMark) {
        let now = self.now;
        let Some(slot) = self.slot(id) else { return };
        if !matches!(slot.state, SlotState::Running) {
            return;
        }
        let Some(operation) = &mut slot.operation else { return };
        operation.process = Some(process);
        operation.at = now;
        let operation = operation.clone();
        self.hold_operation(operation);
        self.commit();
    }

    /// Records, commits and starts everything that was allowed. No effect before its record.
    fn run_ready(&mut self) {
        let Some(slots) = self.slots() else { return };
        let mut starting = Vec::new();
        for slot in slots {
            if let SlotState::Ready(prepared, leave) = &slot.state
                && let Some(call) = &slot.call
            {
                starting.push((call.clone(), prepared.clone(), *leave));
                slot.state = SlotState::Running;
            }
        }
        if starting.is_empty() {
            return;
        }
        for (call, prepared, _) in &starting {
            self.record(call.id, prepared, OpState::Running);
            if !prepared.changes.is_empty() {
                self.reopen_task();
            }
            self.add_event(EventBody::ToolStarted { call: call.id, title: prepared.title.clone() });
        }
        self.commit();
        let run = |(call, prepared, leave)| Effect::Run { call, prepared, leave };
        self.effects.extend(starting.into_iter().map(run));
    }
}

fn operation_file(change: &FileChange) -> OperationFile {
    OperationFile {
        path: change.path.clone(),
        before: change.before.clone(),
        after: change.after.clone(),
        mode: change.mode,
        link: change.link,
    }
}

fn unknown_tool(tool: &str) -> String {
    if tool.trim().is_empty() {
        return "The call names no tool.".to_owned();
    }
    let near = name::close_names(tool);
    if near.is_empty() {
        format!("There is no tool `{tool}`.")
    } else {
        format!("There is no tool `{tool}`; near it: {}.", near.join(", "))
    }
}
