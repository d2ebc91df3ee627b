//! The permission mode inside a turn: who changes it, and what the model is told of it.
//!
//! What is told is decided when a request is assembled, from what was told last and the mode now. So a mode that was
//! entered and left in between is not told at all, and the request's head is the same in every mode.

use super::super::machine::Machine;
use crate::event::EventBody;
use crate::permission::mode::Mode;
use crate::tool::outcome::TodoStatus;
use crate::transcript::item::MetaCause;

/// Turns of the user from one reminder of plan mode to the next.
const PLAN_EVERY: u64 = 5;

/// Short reminders between two full ones: of those that come again every fifth is full.
const PLAN_SHORT: u64 = 4;

/// Turns of the user without a `todo_write` after which the model is reminded of open entries.
const TODOS_AFTER: u64 = 10;

impl Machine {
    /// The permission mode from the next decision on.
    pub fn set_mode(&mut self, mode: Mode) {
        if mode == Mode::Plan && self.settings.mode != Mode::Plan {
            self.before_plan = Some(self.settings.mode);
        }
        self.settings.mode = mode;
        // What the user decides comes after what is still to be stored.
        if let Some(held) = &mut self.held.mode {
            *held = mode;
        }
    }

    /// Changes the mode from inside: stored with the next commit, and told to clients.
    pub(super) fn change_mode(&mut self, mode: Mode) {
        self.set_mode(mode);
        self.held.mode = Some(mode);
        self.add_event(EventBody::SessionChanged);
    }

    /// The mode in which the session goes on after plan mode: the one that the user had chosen before.
    pub(super) fn mode_after_plan(&self) -> Mode {
        let before = self.before_plan.filter(|mode| *mode != Mode::Plan).unwrap_or_default();
        self.settings.policy.modes.hold(before)
    }

    /// What is to be said about the mode before the next request; it comes last. Telling it twice tells nothing the
    /// second time.
    pub(in crate::turn) fn tell_mode(&mut self) {
        let file = self.settings.plan_file.clone();
        let (cause, text) = match (self.view.told().plan, self.settings.mode) {
            (None, Mode::Plan) => {
                let again = self.has_plan_file();
                (MetaCause::PlanMode, self.prompts().reminder_plan_mode(&file, again))
            }
            (Some(told), Mode::Plan) if told.turns < PLAN_EVERY => return,
            (Some(told), Mode::Plan) if told.short < PLAN_SHORT => {
                (MetaCause::PlanModeStill, self.prompts().reminder_plan_still(&file))
            }
            (Some(_), Mode::Plan) => (MetaCause::PlanMode, self.prompts().reminder_plan_mode(&file, false)),
            (Some(_), mode @ (Mode::Ask | Mode::AcceptEdits | Mode::Auto | Mode::Full)) => {
                (MetaCause::PlanModeLeft, self.prompts().reminder_plan_left(mode.word(), &file))
            }
            (None, Mode::Ask | Mode::AcceptEdits | Mode::Auto | Mode::Full) => return,
        };
        self.remind(cause, text);
    }

    /// Whether there is a plan of this session already: as it was found when the turn began, or known from a result.
    fn has_plan_file(&self) -> bool {
        let found = self.turn.as_ref().is_some_and(|turn| turn.environment.plan_file_exists);
        found || self.seen.knows(&self.settings.plan_file)
    }

    /// Reminds of a todo list that was not written for long, when a turn begins.
    pub(in crate::turn) fn tell_stale_todos(&mut self) {
        let turns = self.view.told().todo_turns;
        if turns < TODOS_AFTER {
            return;
        }
        let open: Vec<String> = self
            .todos
            .iter()
            .filter_map(|todo| match todo.status {
                TodoStatus::Pending => Some(todo.content.clone()),
                TodoStatus::InProgress => Some(format!("{} (in progress)", todo.content)),
                TodoStatus::Completed | TodoStatus::Cancelled => None,
            })
            .collect();
        if !open.is_empty() {
            let text = self.prompts().reminder_todos_stale(turns, &open);
            self.remind(MetaCause::TodosStale, text);
        }
    }
}
