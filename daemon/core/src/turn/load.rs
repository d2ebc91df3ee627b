//! A session as it is read from the store, to be gone on with.

use super::state::Counters;
use crate::context::view::StoredView;
use crate::event::Ask;
use crate::id::{CallId, Revision, StepNo, TurnNo};
use crate::ledger::{OpState, Operation};
use crate::model::usage::Usage;
use crate::permission::mode::Mode;
use crate::permission::rule::Rule;
use crate::task::Task;
use crate::tool::outcome::Todo;
use crate::tool::projection::Shown;
use crate::transcript::batch::SessionState;
use crate::verification::Verification;

/// See the module's head.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// Numbers given out last.
    pub counters: Counters,
    /// What the session was doing when it was last written.
    pub state: Option<SessionState>,
    /// What was sent, and what was not yet.
    pub view: StoredView,
    /// Whether the end of the view's last request is recorded.
    pub last_request_ended: bool,
    /// Operations that are not settled.
    pub operations: Vec<Operation>,
    /// Questions that are open.
    pub asks: Vec<Ask>,
    /// Grants of this session, from its answered questions.
    pub grants: Vec<Rule>,
    /// What the model was shown of files, oldest first.
    pub shown: Vec<Shown>,
    /// The task; none where there is none yet.
    pub task: Option<Task>,
    /// Files that the calls of `running_turn` are known to have changed, as canonical absolute paths in text form.
    pub turn_files: Vec<String>,
    /// The last test run.
    pub verification: Option<Verification>,
    /// The todo list.
    pub todos: Vec<Todo>,
    /// Calls of the last turn that have no result: id, tool, step.
    pub open_calls: Vec<(CallId, String, StepNo)>,
    /// The turn that ran when the session was last written.
    pub running_turn: Option<TurnNo>,
    /// Turns that waited then, in order.
    pub waiting_turns: Vec<TurnNo>,
    /// Tokens of all requests of the session.
    pub usage: Usage,
    /// Tokens of the requests of `running_turn`.
    pub turn_usage: Usage,
    /// The project's revision.
    pub revision: Revision,
    /// The mode in which the session was before it came into plan mode last; none when it never was in another.
    pub before_plan: Option<Mode>,
    /// Commands that go on in the background and whose calls are out of the view: the model is not told of their end.
    pub untold: Vec<CallId>,
    /// Whether the session has a title.
    pub titled: bool,
}

impl Loaded {
    /// Whether a turn waits for answers and for nothing else, so that it can be taken up where it stands.
    pub fn is_suspended(&self) -> bool {
        let runs = |operation: &Operation| operation.state == OpState::Running && !operation.background;
        self.state == Some(SessionState::Waiting)
            && self.running_turn.is_some()
            && self.last_request_ended
            && !self.asks.is_empty()
            && self.asks.iter().all(|ask| Some(ask.turn) == self.running_turn)
            && !self.operations.iter().any(runs)
    }
}
