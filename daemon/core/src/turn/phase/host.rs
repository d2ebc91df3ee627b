//! Host tools: transitions of the machine itself, and continuations, which read what is already saved.

use super::super::effect::Effect;
use super::super::machine::Machine;
use crate::event::EventBody;
use crate::id::CallId;
use crate::tool::call::Call;
use crate::tool::outcome::{Body, Outcome, Status, Todo};

impl Machine {
    pub(in crate::turn) fn run_host(&mut self, call: &Call) {
        let outcome = match call.tool.as_str() {
            "todo_write" => self.write_todos(call),
            "enter_plan_mode" => self.enter_plan_mode(),
            super::plan::EXIT => return self.exit_plan_mode(call),
            other => Outcome::failed(format!("`{other}` cannot be called here.")),
        };
        self.settle(call.id, outcome);
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

    /// A cursor is `<call id>:<entry>` over the saved outcome of that call.
    pub(in crate::turn) fn load_cursor(&mut self, id: CallId, cursor: &str) {
        match parse_cursor(cursor) {
            Some((of, _)) => self.effects.push(Effect::LoadResult { call: id, of }),
            None => self.settle(
                id,
                Outcome::failed(format!(
                    "`{cursor}` is not a cursor. A cursor is copied from an earlier result, such as c7:200; \
                     without one the search begins anew."
                )),
            ),
        }
    }

    pub(in crate::turn) fn result_loaded(&mut self, id: CallId, result: Result<Box<Outcome>, String>) {
        let Some(slot) = self.slot(id) else { return };
        if !matches!(slot.state, super::super::state::SlotState::Loading) {
            return;
        }
        let cursor = slot
            .call
            .as_ref()
            .and_then(|call| call.args.get("cursor"))
            .and_then(serde_json::Value::as_str)
            .and_then(parse_cursor);
        match (result, cursor) {
            (Ok(outcome), Some((of, entry))) => self.settle_page(id, *outcome, of, entry),
            (Err(text), _) => self.settle(id, Outcome::failed(text)),
            (Ok(_), None) => self.settle(id, Outcome::failed("The cursor could not be read.")),
        }
        self.advance();
    }
}

fn parse_cursor(cursor: &str) -> Option<(CallId, u64)> {
    let (call, entry) = cursor.trim().split_once(':')?;
    Some((call.parse().ok()?, entry.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_names_a_call_and_an_entry() {
        assert_eq!(parse_cursor("c7:200"), Some((CallId(7), 200)));
        for bad in ["", "c7", "7:1", "c7:", "c7:-1", "c7:x"] {
            assert_eq!(parse_cursor(bad), None, "{bad}");
        }
    }
}
