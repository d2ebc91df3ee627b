//! The few calls that most tests begin with, in the words of the native API.

use crate::client::Client;
use crate::gone::Watched;
use crate::workspace::Workspace;
use serde_json::{Value, json};

/// A command line that never ends by itself and says which two processes it runs in.
pub const TWO_PROCESSES: &str = "sleep 300 & echo processes $$ $! .; wait";

impl Client {
    /// Waits until a [`TWO_PROCESSES`] command runs and watches its processes.
    pub async fn running_processes(&self) -> [Watched; 2] {
        let printed = |events: &[Value]| -> String {
            let pieces = events.iter().filter(|event| event["type"] == "toolOutput");
            pieces.map(|event| event["text"].as_str().unwrap_or_default()).collect()
        };
        let events = self.wait_events("the command's output", |events| printed(events).ends_with(".\n")).await;
        let text = printed(&events);
        let mut numbers = text.split(' ').filter_map(|word| word.parse().ok());
        let mut next = || Watched::new(numbers.next().expect("two process numbers"));
        [next(), next()]
    }

    /// Opens the workspace as a project, makes a session in it and follows it from the start; gives the session's id.
    pub async fn session(&self, workspace: &Workspace) -> String {
        let project = self.ok("project/open", json!({"roots": [workspace.text()]})).await;
        let session = self.ok("session/create", json!({"project": project["key"]})).await;
        let id = session["id"].as_str().expect("a session has an id").to_owned();
        self.attach(&id, 0).await;
        id
    }

    /// Follows a session after this event.
    pub async fn attach(&self, session: &str, after: u64) -> Value {
        self.ok("session/attach", json!({"session": session, "after": after})).await
    }

    /// Starts a turn; it runs when this returns.
    pub async fn start(&self, session: &str, text: &str) -> u64 {
        let turn = self.ok("turn/start", json!({"session": session, "text": text})).await;
        turn["turn"].as_u64().expect("an accepted turn has a number")
    }

    /// Runs a turn to its end; gives the event that says how it ended.
    pub async fn turn(&self, session: &str, text: &str) -> Value {
        let turn = self.start(session, text).await;
        self.completed(session, turn).await
    }

    /// Waits for a turn's end.
    pub async fn completed(&self, session: &str, turn: u64) -> Value {
        let is_end =
            |event: &Value| event["session"] == session && event["type"] == "turnCompleted" && event["turn"] == turn;
        let events = self.wait_events("the turn's end", |events| events.iter().any(is_end)).await;
        events.into_iter().find(is_end).expect("waited for it")
    }

    /// Waits for an open question and gives it.
    pub async fn asked(&self, session: &str) -> Value {
        let open = |events: &[Value]| -> Option<Value> {
            let of = |kind: &str| -> Vec<Value> {
                let of = events.iter().filter(|event| event["session"] == session && event["type"] == kind);
                of.map(|event| event["ask"].clone()).collect()
            };
            let resolved = of("permissionResolved");
            of("permissionAsked").into_iter().find(|ask| !resolved.iter().any(|known| known["id"] == ask["id"]))
        };
        let events = self.wait_events("a question", |events| open(events).is_some()).await;
        open(&events).expect("waited for it")
    }
}
