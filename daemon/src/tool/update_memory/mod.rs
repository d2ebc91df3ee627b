//! `update_memory`: keeps a text for later sessions, changes it, or forgets it. The session writes it.

use super::{Tool, ToolEnv, ToolEvent, ToolRun, arguments};
use futures_util::future::BoxFuture;
use plimsoll_core::tool::call::{Call, Prepared};
use plimsoll_core::tool::outcome::{Body, Outcome, Status};
use plimsoll_core::tool::spec::MEMORY;
use plimsoll_core::workspace::memory::{Asked, Change, Scope};
use tokio::sync::oneshot;

/// The tool.
#[derive(Debug, Clone, Copy)]
pub struct UpdateMemory;

fn change(call: &Call) -> Result<Change, String> {
    arguments::<Asked>(call)?.check()
}

/// One line for people, who may have to decide about it.
fn title(change: &Change) -> String {
    match change {
        Change::Create { scope: Scope::Project, title, .. } => format!("remember for this project: {title}"),
        Change::Create { scope: Scope::User, title, .. } => format!("remember for all projects: {title}"),
        Change::Update { id, title: Some(title), .. } => format!("change the memory {id}: {title}"),
        Change::Update { id, title: None, .. } => format!("change the memory {id}"),
        Change::Delete { id } => format!("forget the memory {id}"),
    }
}

impl Tool for UpdateMemory {
    fn name(&self) -> &'static str {
        MEMORY
    }

    fn prepare<'a>(&'a self, call: &'a Call, _env: &'a ToolEnv) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(async move { Ok(Prepared { title: title(&change(call)?), ..Prepared::default() }) })
    }

    /// An interrupt does not stop it: what was handed over is written, and what came of it is told.
    fn run<'a>(&'a self, run: ToolRun<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let change = match change(run.call) {
                Ok(change) => change,
                Err(problem) => return Outcome::failed(problem),
            };
            let (reply, written) = oneshot::channel();
            if run.events.send(ToolEvent::Memory(change, reply)).await.is_err() {
                return Outcome::failed("The session ended; nothing was remembered or forgotten.");
            }
            match written.await {
                Ok(Ok(told)) => Outcome { status: Status::Ok, body: Body::Text(told) },
                Ok(Err(problem)) => Outcome::failed(problem),
                Err(_) => Outcome::failed("It is not known whether it was written; look at the index of memories."),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::testing::Place;
    use plimsoll_core::id::CallId;
    use serde_json::json;

    #[tokio::test]
    async fn what_will_be_kept_is_named_and_what_cannot_be_is_refused() {
        let place = Place::new();
        let prepare = async |args: serde_json::Value| {
            let call = Call { id: CallId(1), tool: MEMORY.to_owned(), args };
            UpdateMemory.prepare(&call, &place.env).await.map(|prepared| prepared.title)
        };
        let created = prepare(json!({"action": "create", "title": "Use pnpm", "content": "Not npm."})).await;
        assert_eq!(created.as_deref(), Ok("remember for this project: Use pnpm"));
        let user = prepare(json!({"action": "create", "title": "Brief", "scope": "user"})).await;
        assert_eq!(user.as_deref(), Ok("remember for all projects: Brief"));
        assert_eq!(prepare(json!({"action": "delete", "id": "u7"})).await.as_deref(), Ok("forget the memory u7"));
        assert!(prepare(json!({"action": "delete", "id": "7"})).await.unwrap_err().contains("not the id"));
    }
}
