//! The tasks that work for a session. Each does one effect and sends what came of it to the session's mailbox.

use super::actor::Msg;
use super::hub::Hub;
use super::plan;
use super::setup::TurnSetup;
use crate::provider::Http;
use crate::store::ProjectStore;
use crate::tool::{Moment, Observation, Tool, ToolEnv, ToolEvent, ToolRun};
use crate::workspace::Workspace;
use plimsoll_core::event::Delta;
use plimsoll_core::id::{CallId, RequestNo, SessionId, TurnNo};
use plimsoll_core::model::event::ModelEvent;
use plimsoll_core::path;
use plimsoll_core::permission::leave::Leave;
use plimsoll_core::tool::call::{Call, Prepared};
use plimsoll_core::tool::outcome::Outcome;
use plimsoll_core::tool::spec::{self, Class};
use plimsoll_core::turn::effect::ModelCall;
use plimsoll_core::turn::input::{InputBody, TimerId};
use plimsoll_core::workspace::{EditorState, Wanted};
use std::hash::{BuildHasher, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Events of a running tool that may wait for its session.
const TOOL_EVENTS: usize = 64;

/// How long a tool that must know what the files are like waits for that: a very large tree on a busy machine is looked through
/// by then.
const OBSERVE: Duration = Duration::from_secs(20);

/// Where a task sends what it found, with the machine that it works for: numbers of calls and requests that were never
/// stored are given out again by the next machine.
#[derive(Clone)]
pub(super) struct Mailbox {
    pub(super) sender: mpsc::Sender<Msg>,
    pub(super) generation: u64,
}

impl Mailbox {
    pub(super) async fn send(&self, inputs: Vec<InputBody>) {
        // A closed mailbox means that the session is gone, and with it whoever would want this.
        let _ = self.sender.send(Msg::Inputs { generation: self.generation, inputs }).await;
    }
}

pub(super) async fn tell(mailbox: Mailbox, input: InputBody) {
    mailbox.send(vec![input]).await;
}

async fn send(mailbox: &Mailbox, input: InputBody) {
    mailbox.send(vec![input]).await;
}

pub(super) async fn collect(no: TurnNo, turn: TurnSetup, editor: EditorState, wanted: Wanted, mailbox: Mailbox) {
    let environment = Box::new(turn.collect(editor, wanted).await);
    send(&mailbox, InputBody::Environment { turn: no, environment }).await;
}

pub(super) async fn call_model(
    http: Arc<Http>,
    turn: TurnSetup,
    call: ModelCall,
    cancel: CancellationToken,
    mailbox: Mailbox,
) {
    let ModelCall { no, body, .. } = call;
    let mut waiting: Vec<ModelEvent> = Vec::new();
    let sink = |events: Vec<ModelEvent>| {
        waiting.extend(events);
        forward(&mut waiting, no, &mailbox);
    };
    let result = http.call(&turn.endpoint, turn.key.as_ref(), body, cancel.clone(), sink).await;
    let mut inputs: Vec<InputBody> = waiting.into_iter().map(|event| InputBody::Model { request: no, event }).collect();
    match result {
        Ok(()) => {}
        // Whoever cancelled does not wait for an answer.
        Err(_) if cancel.is_cancelled() => return,
        Err(error) => inputs.push(InputBody::ModelFailed { request: no, error }),
    }
    if !inputs.is_empty() {
        mailbox.send(inputs).await;
    }
}

/// Hands over what was read, unless the mailbox is full: then it goes with the next piece, or at the end.
fn forward(waiting: &mut Vec<ModelEvent>, no: RequestNo, mailbox: &Mailbox) {
    if let Ok(slot) = mailbox.sender.try_reserve() {
        let inputs = waiting.drain(..).map(|event| InputBody::Model { request: no, event }).collect();
        slot.send(Msg::Inputs { generation: mailbox.generation, inputs });
    }
}

pub(super) async fn prepare(tool: Option<Arc<dyn Tool>>, call: Call, turn: TurnSetup, mailbox: Mailbox) {
    let id = call.id;
    let (env, workspace) = (turn.tool_env, turn.workspace);
    turn.transcripts.settle(&call.args).await;
    let mut result = match tool {
        Some(tool) => {
            let prepared = tokio::spawn(async move { tool.prepare(&call, &env).await });
            prepared.await.unwrap_or_else(|_| Err("The call could not be prepared: an internal fault.".to_owned()))
        }
        None => Err(format!("{} cannot be run by this daemon.", call.tool)),
    };
    if let Ok(prepared) = &mut result {
        prepared.nested = workspace.nested(&prepared.targets).await;
    }
    send(&mailbox, InputBody::Prepared { call: id, result }).await;
}

/// One run of a tool.
pub(super) struct Run {
    pub(super) tool: Option<Arc<dyn Tool>>,
    pub(super) call: Call,
    pub(super) prepared: Prepared,
    pub(super) leave: Leave,
    pub(super) session: SessionId,
    pub(super) hub: Hub,
    pub(super) cancel: CancellationToken,
}

pub(super) async fn run_tool(run: Run, turn: TurnSetup, mailbox: Mailbox) {
    let Run { tool, call, prepared, leave, session, hub, cancel } = run;
    let (env, workspace, memories) = (turn.tool_env, turn.workspace, turn.memories);
    let id = call.id;
    // Other calls of the same answer may have ended since it was prepared.
    turn.transcripts.settle(&call.args).await;
    let mut goes_on = None;
    let class = spec::find(&call.tool).map(|spec| spec.class);
    let changes_files = class.is_some_and(|class| class != Class::Read);
    let writes = if class == Some(Class::Write) { prepared.targets.clone() } else { Vec::new() };
    // Said before and after it: whoever looks meanwhile must not take what it writes for another's.
    workspace.wrote(&writes);
    let outcome = match tool {
        Some(tool) => {
            let (events, mut incoming) = mpsc::channel(TOOL_EVENTS);
            // A task of its own, so that a panic of the tool is an outcome. Dropping the guard ends it with this task.
            let mut work = tokio::task::JoinSet::new();
            work.spawn(async move {
                tool.run(ToolRun { call: &call, prepared: &prepared, leave, env: &env, events, cancel }).await
            });
            while let Some(event) = incoming.recv().await {
                match event {
                    ToolEvent::Process(process) => send(&mailbox, InputBody::ToolProcess { call: id, process }).await,
                    ToolEvent::Memory(change, reply) => {
                        // A tool that has given up waiting is told nothing; the change counts all the same.
                        let _ = reply.send(memories.change(change, &session, id).await);
                    }
                    ToolEvent::Observe { since, reply } => {
                        // One that has given up waiting is told nothing.
                        let _ = reply.send(observe(&workspace, since).await);
                    }
                    ToolEvent::Background(task) => goes_on = Some(task),
                    ToolEvent::Output(text) => {
                        hub.append(&Delta::Output { call: id, text });
                        hub.wake();
                    }
                }
            }
            match work.join_next().await {
                Some(Ok(outcome)) => outcome,
                Some(Err(error)) => {
                    tracing::error!(call = %id, %error, "a tool panicked");
                    Outcome::failed("The tool failed by an internal fault; what it did until then may be incomplete.")
                }
                None => Outcome::failed("The tool gave no outcome."),
            }
        }
        None => Outcome::failed(format!("{} cannot be run by this daemon.", call.tool)),
    };
    workspace.wrote(&writes);
    let before = workspace.revision();
    let revision = if changes_files { workspace.observe(before).await.revision } else { before };
    send(&mailbox, InputBody::ToolFinished { call: id, outcome, revision }).await;
    if let Some(task) = goes_on {
        // The session knows by now that it goes on. Its end is for whichever machine the session has then.
        let end = task.ended().await;
        let _ = mailbox.sender.send(Msg::TaskEnded(end)).await;
    }
}

/// What the files are like now, beside an earlier moment.
async fn observe(workspace: &Workspace, since: Option<Moment>) -> Option<Observation> {
    let from = since.map_or_else(|| workspace.revision(), |moment| moment.revision);
    let seen = workspace.observe_within(from, OBSERVE).await?;
    let (writes, by_calls) = workspace.writes(since.map_or(u64::MAX, |moment| moment.writes));
    let moment = Moment { revision: seen.revision, writes };
    Some(Observation { moment, changed: seen.changed, added: seen.added, by_calls, complete: seen.complete })
}

pub(super) async fn load_result(store: ProjectStore, session: SessionId, call: CallId, of: CallId, mailbox: Mailbox) {
    let result = match store.outcome(&session, of).await {
        Ok(Some(outcome)) => Ok(Box::new(outcome)),
        Ok(None) => Err(format!("there is no result of {of} in this session")),
        Err(error) => Err(format!("the saved result of {of} could not be read: {error}")),
    };
    send(&mailbox, InputBody::ResultLoaded { call, result }).await;
}

pub(super) async fn save_text(store: ProjectStore, session: SessionId, call: CallId, text: String, mailbox: Mailbox) {
    let result = match store.save_text(&session, call, text).await {
        Ok(path) => Ok(path::escape(path.as_os_str().as_bytes())),
        Err(error) => {
            tracing::warn!(session = %session, %call, %error, "the text of a result could not be saved");
            Err(error.to_string())
        }
    };
    send(&mailbox, InputBody::TextSaved { call, result }).await;
}

pub(super) async fn read_plan(env: Arc<ToolEnv>, call: CallId, mailbox: Mailbox) {
    let read = tokio::task::spawn_blocking(move || plan::read(&env.plan_file)).await;
    let result = read.unwrap_or_else(|_| Err("The plan file could not be read: an internal fault.".to_owned()));
    send(&mailbox, InputBody::PlanRead { call, result }).await;
}

pub(super) async fn timer(id: TimerId, delay_ms: u64, mailbox: Mailbox) {
    // Many daemons that were refused at once must not come back at once: up to a tenth is added, never taken away.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    let jitter = random % (delay_ms / 10 + 1);
    tokio::time::sleep(Duration::from_millis(delay_ms.saturating_add(jitter))).await;
    send(&mailbox, InputBody::Timer(id)).await;
}
