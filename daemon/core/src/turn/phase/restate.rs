//! What is said again behind a compaction: whatever is in force must not depend on messages that have left the view.

use super::super::machine::Machine;
use super::super::state::Surroundings;
use crate::compaction::history::History;
use crate::context::{self, rules};
use crate::ledger::Operation;
use crate::prompt;
use crate::tool::outcome::TodoStatus;
use crate::transcript::item::MetaCause;
use std::fmt::Write as _;

/// Files whose versions are told; those that the model saw last.
const FILES: usize = 40;

impl Machine {
    /// One message at the tail. `known` are the blocks that the view stated before. Plan mode, and the rules of what this turn
    /// touched, are told before the next request as ever: the view knows that it does not say them any more.
    pub(super) fn restate(&mut self, history: &History, known: &[String]) {
        let mut parts = vec![self.state_of_work()];
        let mut said: Vec<String> = Vec::new();
        let mut stated = self.view.stated().clone();
        let surroundings = self
            .turn
            .as_ref()
            .filter(|turn| turn.surroundings == Surroundings::Known && !turn.environment.user_info.roots.is_empty())
            .map(|turn| turn.environment.clone());
        if let Some(environment) = surroundings {
            let window = self.settings.model.context_window;
            let gone: Vec<String> = known.iter().filter(|name| !stated.blocks.contains_key(*name)).cloned().collect();
            let changes = context::changes(&environment, &stated, window, self.prompts());
            stated = changes.stated;
            said.extend(changes.said);
            if !changes.additional_data.is_empty() {
                parts.push(format!("<additional_data>\n{}\n</additional_data>", changes.additional_data));
            }
            for (name, text) in changes.reminders {
                said.push(name);
                parts.push(bare(&text));
            }
            if let Some((names, text)) = changes.lists {
                said.extend(names);
                parts.push(bare(&text));
            }
            let budget = context::head::instructions_budget(window);
            if let Some((names, text)) = rules::again(&environment.rules, &gone, &mut stated, budget, self.prompts()) {
                said.extend(names);
                parts.push(bare(&text));
            }
        }
        parts.retain(|part| !part.is_empty());
        let text = self.prompts().reminder_compacted(&history.transcript, &parts.join("\n\n"));
        let item = self.remind(MetaCause::Compacted, text);
        stated.say(&said, item);
        self.view.state(stated);
    }

    /// The task, what is not settled, the list, the files, the tests.
    fn state_of_work(&self) -> String {
        let mut out = Vec::new();
        if let Some(task) = &self.task {
            if !task.goal.is_empty() {
                out.push(format!("Goal: {}", task.goal));
            }
            for constraint in &task.constraints {
                out.push(format!("Constraint {}, in the user's words: {}", constraint.id, constraint.quote));
            }
            out.push(format!("Phase of the work: {}", task.phase.word()));
            if !task.next.is_empty() {
                out.push(format!("Next: {}", task.next));
            }
        }
        let unsettled: Vec<String> = self.unsettled.iter().map(Operation::line).collect();
        if !unsettled.is_empty() {
            out.push(format!(
                "Not known whether these took effect; `inspect_operation` before repeating or relying on them:\n{}",
                unsettled.join("\n")
            ));
        }
        let todos: Vec<String> = self.todos.iter().map(todo_line).collect();
        if !todos.is_empty() {
            out.push(format!("Todo list:\n{}", todos.join("\n")));
        }
        let files = self.seen.known(FILES);
        if !files.is_empty() {
            let mut text = "Files as you last saw them (read again what you need of them):".to_owned();
            for (path, version) in files {
                let _ = write!(text, "\n{path} v {}", short_version(&version.to_string()));
            }
            out.push(text);
        }
        if let Some(known) = &self.verification {
            let beside = known.beside(self.revision);
            let (passed, current) = (
                if beside.passed { "passed" } else { "did not pass" },
                if beside.current { "the present revision" } else { "not the present revision" },
            );
            out.push(format!("Last tests: {} {passed} on {} ({current}).", known.call, beside.revision));
        }
        crate::escape::data(&out.join("\n")).into_owned()
    }
}

fn todo_line(todo: &crate::tool::outcome::Todo) -> String {
    let state = match todo.status {
        TodoStatus::Pending => "pending",
        TodoStatus::InProgress => "in progress",
        TodoStatus::Completed => "completed",
        TodoStatus::Cancelled => "cancelled",
    };
    format!("- {} ({state})", todo.content)
}

fn short_version(version: &str) -> &str {
    version.get(..12).unwrap_or(version)
}

/// A reminder without its own tags, to stand inside another.
fn bare(text: &str) -> String {
    let empty = prompt::reminder("\n");
    let (open, close) = empty.split_once("\n\n").unwrap_or(("", ""));
    let inner = text.trim().strip_prefix(open.trim()).unwrap_or(text);
    inner.strip_suffix(close.trim()).unwrap_or(inner).trim().to_owned()
}
