//! How long ago the harness told what it tells again after some turns: plan mode, and a todo list that nobody writes.
//!
//! A fold over the items of the view. Each request keeps what it has come to, so that a session that is taken up again
//! counts on from there; an epoch whose history is rendered anew counts anew, and what left the view is told again.

use super::item::{Item, ItemBody, MetaCause};
use crate::tool::outcome::{Body, Status};
use serde::{Deserialize, Serialize};

/// See the module's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Told {
    /// Plan mode, while the last word about it was that it is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanTold>,
    /// Turns that the user began since the todo list was written, or the model was reminded of it.
    #[serde(default)]
    pub todo_turns: u64,
}

/// What was said of plan mode since it was said in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanTold {
    /// Turns that the user began since the last reminder.
    pub turns: u64,
    /// Short reminders since the last full one.
    pub short: u64,
}

impl Told {
    /// Goes on over items that follow.
    pub fn take_in(&mut self, items: &[Item]) {
        for item in items {
            match &item.body {
                ItemBody::User(message) if !message.steering && !message.refused => {
                    self.todo_turns += 1;
                    if let Some(plan) = &mut self.plan {
                        plan.turns += 1;
                    }
                }
                ItemBody::Meta(meta) => self.reminded(meta.cause),
                ItemBody::ToolResult(result) => {
                    if let (Status::Ok, Body::Todos(_)) = (result.outcome.status, &result.outcome.body) {
                        self.todo_turns = 0;
                    }
                }
                ItemBody::User(_)
                | ItemBody::Assistant(_)
                | ItemBody::Reasoning(_)
                | ItemBody::ToolCall(_)
                | ItemBody::Observation(_)
                | ItemBody::Notice(_)
                | ItemBody::Rewind(_) => {}
            }
        }
    }

    fn reminded(&mut self, cause: MetaCause) {
        match cause {
            MetaCause::PlanMode => self.plan = Some(PlanTold::default()),
            // Without the full text before it, it refers to nothing.
            MetaCause::PlanModeStill => {
                self.plan = self.plan.map(|plan| PlanTold { turns: 0, short: plan.short + 1 });
            }
            MetaCause::PlanModeLeft => self.plan = None,
            MetaCause::TodosStale => self.todo_turns = 0,
            _ => {}
        }
    }
}
