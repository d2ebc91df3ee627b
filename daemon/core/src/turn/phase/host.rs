//! Host tools: transitions of the machine itself, and continuations, which read what is already saved.

use super::super::effect::Effect;
use super::super::input::Consulted;
use super::super::machine::Machine;
use super::operations::Looked;
use crate::event::EventBody;
use crate::id::CallId;
use crate::tool::account;
use crate::tool::call::Call;
use crate::tool::outcome::{Body, Outcome, Status, Todo};
use crate::tool::projection::cursor::{self, Cursor, NotACursor};

impl Machine {
    pub(in crate::turn) fn run_host(&mut self, call: &Call) {
        let outcome = match call.tool.as_str() {
            "todo_write" => self.write_todos(call),
            "fetch_rules" => match self.fetch_rules(call) {
                Some(outcome) => outcome,
                // It waits for the surroundings.
                None => return,
            },
            "enter_plan_mode" => self.enter_plan_mode(),
            "update_task" => return self.update_task(call),
            super::plan::EXIT => return self.exit_plan_mode(call),
            "inspect_operation" => match self.inspect_operation(call) {
                Some(outcome) => outcome,
                None => return,
            },
            account::TOOL => match self.read_session(call) {
                Some(outcome) => outcome,
                None => return,
            },
            other => Outcome::failed(format!("`{other}` cannot be called here.")),
        };
        self.settle(call.id, outcome);
    }

    /// What a host tool asked for has come.
    pub(in crate::turn) fn consulted(&mut self, id: CallId, result: Result<Consulted, String>) {
        let Some(slot) = self.slot(id) else { return };
        if !matches!(slot.state, super::super::state::SlotState::Running) {
            return;
        }
        let outcome = match result {
            Ok(Consulted::Citations(found)) => self.cited(id, found),
            Ok(Consulted::Session(found)) => self.session_read(id, &found),
            Ok(Consulted::Operation { operation, seen, target, lines, revision }) => {
                let operation = operation.map(|operation| *operation);
                self.inspected(id, Looked { operation, seen, target, lines, revision })
            }
            Err(why) => Outcome::failed(why),
        };
        self.settle(id, outcome);
        self.advance();
        self.commit();
    }

    fn write_todos(&mut self, call: &Call) -> Outcome {
        let merge = call.args.get("merge").and_then(serde_json::Value::as_bool).unwrap_or_default();
        let given = call.args.get("todos").cloned().unwrap_or_default();
        let given: Vec<Todo> = match serde_json::from_value(given) {
            Ok(given) => given,
            Err(error) => return Outcome::failed(format!("todos could not be read: {error}")),
        };
        if !merge {
            self.todos.clear();
        }
        for todo in given {
            match self.todos.iter_mut().find(|known| known.id == todo.id) {
                Some(known) => *known = todo,
                None => self.todos.push(todo),
            }
        }
        self.add_event(EventBody::PlanChanged { call: call.id });
        Outcome { status: Status::Ok, body: Body::Todos(self.todos.clone()) }
    }

    /// Has the saved outcome loaded that a cursor names.
    pub(in crate::turn) fn load_cursor(&mut self, call: &Call, cursor: Result<Cursor, NotACursor>) {
        match cursor {
            Ok(cursor) => self.effects.push(Effect::LoadResult { call: call.id, of: cursor.call }),
            Err(error) => self.settle(call.id, dead(call, &error.to_string())),
        }
    }

    /// Shows the page that a cursor asks for. No tool runs.
    pub(in crate::turn) fn result_loaded(&mut self, id: CallId, result: Result<Box<Outcome>, String>) {
        let Some(slot) = self.slot(id) else { return };
        if !matches!(slot.state, super::super::state::SlotState::Loading) {
            return;
        }
        let Some(call) = slot.call.clone() else { return };
        let Some(Ok(at)) = cursor::of_args(&call.args) else { return };
        match result.and_then(|outcome| cursor::check(&call.tool, at, &outcome).map(|()| outcome)) {
            Ok(outcome) => self.settle_page(id, *outcome, at),
            Err(why) => self.settle(id, dead(&call, &why)),
        }
        self.advance();
    }
}

/// The result of a cursor that leads nowhere.
fn dead(call: &Call, why: &str) -> Outcome {
    Outcome::failed(cursor::dead(&call.tool, &call.args, why))
}
