//! From our values to the wire's: total functions, except where the store could not give what an event speaks of.

pub mod checkpoint;
mod configuration;
pub mod context;
pub mod operation;
mod page;
pub mod request;
pub mod search;
pub mod task;
mod tests_run;

pub use page::page;

pub use configuration::{configuration, model, provider_key};

use super::changes;
use crate::session::api::{
    CloseReason, Grant, MemoryInfo, ProjectInfo, ResolvedEvent, SessionInfo, SessionOrigin, Update,
};
use plimsoll_core::event::{Ask, AskChoice, AskResolution, Delta, EventBody, TurnEnd, Verified};
use plimsoll_core::media::Image;
use plimsoll_core::model::usage::Usage;
use plimsoll_core::tool::outcome::{Body, Exit, Todo, TodoStatus};
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_core::transcript::item::{Item, ItemBody, MetaCause, NoticeCause};
use plimsoll_protocol::{event, history, memory, permission, project, session, transcript};
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A path in text form.
pub fn path(path: &Path) -> String {
    plimsoll_core::path::escape(path.as_os_str().as_bytes())
}

pub fn project(info: &ProjectInfo) -> project::Project {
    project::Project {
        key: info.key.to_string(),
        roots: info.roots.iter().map(|root| path(root)).collect(),
        created_at: info.created_at.0,
        trusted: info.trusted,
    }
}

pub fn session(info: &SessionInfo) -> session::SessionInfo {
    session::SessionInfo {
        id: info.id.to_string(),
        project: info.project.to_string(),
        roots: info.roots.iter().map(|root| path(root)).collect(),
        title: info.title.clone(),
        created_at: info.created_at.0,
        updated_at: info.updated_at.0,
        state: match info.state {
            SessionState::Idle => session::SessionState::Idle,
            SessionState::Running => session::SessionState::Running,
            SessionState::Waiting => session::SessionState::Waiting,
            SessionState::Interrupted => session::SessionState::Interrupted,
        },
        items: info.items,
        last_seq: info.last_seq.0,
        mode: info.mode.clone(),
        model: info.model.clone(),
        open_asks: info.open_asks.iter().map(ask).collect(),
        forked_from: info.origin.as_ref().filter(|origin| !origin.imported).map(origin),
        imported_from: info.origin.as_ref().filter(|origin| origin.imported).map(origin),
        archived: info.archived,
        workspace_missing: info.workspace_missing,
    }
}

fn origin(origin: &SessionOrigin) -> history::Origin {
    history::Origin { session: origin.session.clone(), item: origin.item.0 }
}

pub fn grant(grant: &Grant) -> permission::Grant {
    permission::Grant {
        no: grant.no,
        rule: grant.rule.clone(),
        at: grant.at.0,
        session: grant.session.to_string(),
        call: grant.call.to_string(),
    }
}

pub fn memory(info: &MemoryInfo) -> memory::Memory {
    let memory = &info.memory;
    memory::Memory {
        id: memory.id.to_string(),
        title: memory.title.clone(),
        path: path(&info.path),
        created_at: memory.created_at.0,
        updated_at: memory.updated_at.0,
        session: memory.origin.session().map(ToString::to_string),
        item: memory.origin.session().map(|_| memory.origin.item.0),
    }
}

fn choice(choice: AskChoice) -> permission::OfferedChoice {
    permission::OfferedChoice::Known(match choice {
        AskChoice::AllowOnce => permission::Choice::AllowOnce,
        AskChoice::AllowSession => permission::Choice::AllowSession,
        AskChoice::AllowAlways => permission::Choice::AllowAlways,
        AskChoice::Reject => permission::Choice::Reject,
    })
}

pub fn ask(ask: &Ask) -> permission::Ask {
    permission::Ask {
        id: ask.id.to_string(),
        call: ask.call.to_string(),
        turn: ask.turn.0,
        at: ask.at.0,
        tool: ask.tool.clone(),
        title: ask.title.clone(),
        command: ask.command.clone(),
        paths: ask.paths.clone(),
        changes: changes::wire(&ask.changes),
        plan: ask.plan.clone(),
        reason: ask.reason.clone(),
        options: ask
            .options
            .iter()
            .map(|option| permission::AskOption {
                kind: choice(option.kind),
                label: option.label.clone(),
                rules: option.rules.clone(),
            })
            .collect(),
        resolution: ask.resolution.as_ref().map(|resolution| match resolution {
            AskResolution::Answered { choice: chosen, advice } => {
                permission::Resolution::Answered { choice: choice(*chosen), advice: advice.clone() }
            }
            AskResolution::Void => permission::Resolution::Void,
        }),
    }
}

/// An item; `projection` is the text that the model sees of a result.
pub fn item(item: &Item, projection: Option<&str>) -> transcript::Item {
    transcript::Item {
        no: item.no.0,
        turn: item.turn.0,
        step: item.step.0,
        at: item.at.0,
        out_of_view: false,
        body: body(&item.body, projection),
    }
}

fn body(body: &ItemBody, projection: Option<&str>) -> transcript::ItemBody {
    match body {
        ItemBody::User(user) => transcript::ItemBody::User {
            text: user.text.clone(),
            additional_data: user.additional_data.clone(),
            steering: user.steering,
            images: user.images.iter().map(image).collect(),
        },
        ItemBody::Observation(observation) => transcript::ItemBody::Observation {
            text: observation.text.clone(),
            calls: observation.calls.iter().map(ToString::to_string).collect(),
        },
        ItemBody::Meta(meta) => {
            let cause = match meta.cause {
                MetaCause::ContinueCut => "continueCut",
                MetaCause::OutputLimit => "outputLimit",
                MetaCause::Interrupted => "interrupted",
                MetaCause::UnknownOperations => "unknownOperations",
                MetaCause::InstructionsChanged => "instructionsChanged",
                MetaCause::EnvironmentChanged => "environmentChanged",
                MetaCause::Undone => "undone",
                MetaCause::TaskEnded => "taskEnded",
                MetaCause::RuleApplies => "ruleApplies",
                MetaCause::ListsChanged => "listsChanged",
                MetaCause::PlanMode => "planMode",
                MetaCause::PlanModeStill => "planModeStill",
                MetaCause::PlanModeLeft => "planModeLeft",
                MetaCause::TodosStale => "todosStale",
                MetaCause::Compacted => "compacted",
                MetaCause::GoesOn => "goesOn",
            };
            transcript::ItemBody::Meta { cause: cause.to_owned(), text: meta.text.clone() }
        }
        ItemBody::Assistant(text) => transcript::ItemBody::Assistant { text: text.text.clone(), cut: text.cut },
        ItemBody::Reasoning(reasoning) => transcript::ItemBody::Reasoning { text: reasoning.text.clone() },
        ItemBody::ToolCall(call) => transcript::ItemBody::ToolCall {
            call: call.call.to_string(),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
        },
        ItemBody::ToolResult(result) => transcript::ItemBody::ToolResult {
            call: result.call.to_string(),
            tool: result.tool.clone(),
            status: task::call_status(result.outcome.status),
            text: projection.map(str::to_owned),
            data: Some(result_data(&result.outcome.body)),
            revision: result.revision.to_string(),
            approximate: result.approximate,
        },
        ItemBody::Notice(notice) => {
            let cause = match notice.cause {
                NoticeCause::ModelError => "modelError",
                NoticeCause::Retry => "retry",
                NoticeCause::Interrupted => "interrupted",
                NoticeCause::Crash => "crash",
                NoticeCause::StoreError => "storeError",
                NoticeCause::Limit => "limit",
                NoticeCause::ModelChanged => "modelChanged",
                NoticeCause::Undone => "undone",
                NoticeCause::Compaction => "compaction",
                NoticeCause::Info => "info",
            };
            transcript::ItemBody::Notice { cause: cause.to_owned(), text: notice.text.clone() }
        }
        ItemBody::Rewind(rewind) => transcript::ItemBody::Rewind { before: rewind.turn.0, from: rewind.from.0 },
    }
}

/// An image as clients hear of it: its content would be megabytes.
fn image(image: &Image) -> transcript::Image {
    transcript::Image {
        name: image.name.clone(),
        mime_type: image.mime.clone(),
        width: image.width,
        height: image.height,
        bytes: image.bytes,
        hash: image.version.clone(),
    }
}

/// What a client can use of a result beside its text. The shapes are listed in the reference.
pub fn result_data(body: &Body) -> Value {
    match body {
        Body::Text(text) => json!({ "kind": "text", "text": text }),
        Body::File(file) => json!({
            "kind": "file",
            "path": file.path,
            "version": file.version,
            "totalLines": file.total_lines,
            "totalBytes": file.total_bytes,
            "firstLine": file.first_line,
            "lines": file.lines.len(),
            "encoding": file.encoding,
            "eol": file.eol,
            "lossy": file.lossy,
        }),
        Body::Image(image) => json!({
            "kind": "image",
            "name": image.name,
            "mimeType": image.mime,
            "width": image.width,
            "height": image.height,
            "bytes": image.bytes,
            "hash": image.version,
        }),
        Body::Entries(entries) => json!({
            "kind": "entries",
            "base": entries.base,
            "pattern": entries.pattern,
            "count": entries.entries.len(),
            "ignored": entries.ignored,
        }),
        Body::Matches(matches) => json!({
            "kind": "matches",
            "total": matches.total,
            "more": matches.more,
            "files": matches
                .files
                .iter()
                .map(|file| json!({ "path": file.path, "count": file.count }))
                .collect::<Vec<_>>(),
        }),
        Body::Command(run) => json!({
            "kind": "command",
            "command": run.command,
            "cwd": run.cwd,
            "exit": exit(run.exit),
            "durationMs": run.duration_ms,
            "output": {
                "head": run.output.head,
                "omitted": run.output.omitted,
                "tail": run.output.tail,
                "totalBytes": run.output.total_bytes,
            },
            "log": run.log,
            "leftRunning": run.left_running,
        }),
        Body::Todos(list) => json!({ "kind": "todos", "todos": todos(list) }),
        Body::Edit(edited) => json!({
            "kind": "edit",
            "files": changes::wire(edited.files.iter().map(|file| &file.change)),
            "notes": edited.notes,
        }),
        Body::Task(task) => json!({
            "kind": "task",
            "id": task.id.to_string(),
            "from": task.from,
            "gap": task.gap.map(|(start, end)| json!({ "start": start, "end": end })),
            "run": result_data(&Body::Command(task.run.clone())),
        }),
        Body::Tests(tests) => tests_run::wire(tests, result_data(&Body::Command(tests.run.clone()))),
    }
}

/// How a command ended.
fn exit(exit: Exit) -> Value {
    match exit {
        Exit::Code(code) => json!({ "type": "code", "code": code }),
        Exit::Signal(signal) => json!({ "type": "signal", "signal": signal }),
        Exit::TimedOut => json!({ "type": "timedOut" }),
        Exit::Cancelled => json!({ "type": "cancelled" }),
        Exit::NotStarted => json!({ "type": "notStarted" }),
        Exit::Running => json!({ "type": "running" }),
    }
}

/// A todo list.
pub fn todos(list: &[Todo]) -> Vec<event::Todo> {
    list.iter()
        .map(|todo| event::Todo {
            id: todo.id.clone(),
            content: todo.content.clone(),
            status: match todo.status {
                TodoStatus::Pending => event::TodoStatus::Pending,
                TodoStatus::InProgress => event::TodoStatus::InProgress,
                TodoStatus::Completed => event::TodoStatus::Completed,
                TodoStatus::Cancelled => event::TodoStatus::Cancelled,
            },
        })
        .collect()
}

fn usage(usage: Usage) -> event::Usage {
    event::Usage {
        input: usage.input,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        output: usage.output,
    }
}

fn stop_reason(end: TurnEnd) -> event::StopReason {
    match end {
        TurnEnd::EndTurn => event::StopReason::EndTurn,
        TurnEnd::MaxTokens => event::StopReason::MaxTokens,
        TurnEnd::MaxSteps => event::StopReason::MaxSteps,
        TurnEnd::Limit => event::StopReason::Limit,
        TurnEnd::Refusal => event::StopReason::Refusal,
        TurnEnd::Cancelled => event::StopReason::Cancelled,
        TurnEnd::ModelError => event::StopReason::ModelError,
        TurnEnd::StoreError => event::StopReason::StoreError,
        TurnEnd::Crashed => event::StopReason::Crashed,
        TurnEnd::Internal => event::StopReason::Internal,
    }
}

fn close_reason(reason: CloseReason) -> event::CloseReason {
    match reason {
        CloseReason::DaemonStopped => event::CloseReason::DaemonStopped,
        CloseReason::DaemonEnds => event::CloseReason::DaemonEnds,
        CloseReason::SessionDeleted => event::CloseReason::SessionDeleted,
        CloseReason::SessionEnded => event::CloseReason::SessionEnded,
        CloseReason::StoreFailed => event::CloseReason::StoreFailed,
    }
}

/// What an event speaks of was not there. The text names it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} could not be read")]
pub struct Missing(String);

/// An update as a client gets it. `info` is the session as it is now, for `SessionChanged`.
pub fn update(session_id: &str, update: &Update, info: Option<&SessionInfo>) -> Result<event::SessionEvent, Missing> {
    let transient = |event| event::SessionEvent { session: session_id.to_owned(), seq: None, at: None, event };
    Ok(match update {
        Update::Closed { reason, message } => {
            transient(event::Event::Closed { reason: close_reason(*reason), message: message.clone() })
        }
        Update::Delta { delta, offset } => transient(delta_event(delta, *offset)),
        Update::Event(resolved) => event::SessionEvent {
            session: session_id.to_owned(),
            seq: Some(resolved.event.seq.0),
            at: Some(resolved.event.at.0),
            event: durable(resolved, info)?,
        },
    })
}

fn delta_event(delta: &Delta, offset: u64) -> event::Event {
    match delta {
        Delta::Text { turn, step, block, text } => {
            event::Event::TextDelta { turn: turn.0, step: step.0, block: *block, offset, text: text.clone() }
        }
        Delta::Reasoning { turn, step, block, text } => {
            event::Event::ReasoningDelta { turn: turn.0, step: step.0, block: *block, offset, text: text.clone() }
        }
        Delta::Output { call, text } => event::Event::ToolOutput { call: call.to_string(), offset, text: text.clone() },
    }
}

fn durable(resolved: &ResolvedEvent, info: Option<&SessionInfo>) -> Result<event::Event, Missing> {
    Ok(match &resolved.event.body {
        EventBody::TurnStarted { turn } => event::Event::TurnStarted { turn: turn.0 },
        EventBody::TurnQueued { turn } => event::Event::TurnQueued { turn: turn.0 },
        EventBody::ItemAdded { item: no } => {
            let found = resolved.item.as_ref().ok_or_else(|| Missing(format!("item {no}")))?;
            event::Event::ItemAdded { item: Box::new(item(found, resolved.projection.as_deref())) }
        }
        EventBody::PermissionAsked { ask: id, .. } => {
            let found = resolved.ask.as_ref().ok_or_else(|| Missing(format!("question {id}")))?;
            event::Event::PermissionAsked { ask: ask(found) }
        }
        EventBody::PermissionResolved { ask: id, .. } => {
            let found = resolved.ask.as_ref().ok_or_else(|| Missing(format!("question {id}")))?;
            event::Event::PermissionResolved { ask: ask(found) }
        }
        EventBody::ToolStarted { call, title } => {
            event::Event::ToolStarted { call: call.to_string(), title: title.clone() }
        }
        EventBody::TaskEnded { call, exit: how, duration_ms } => {
            event::Event::TaskEnded { call: call.to_string(), exit: how.map(exit), duration_ms: *duration_ms }
        }
        EventBody::PlanChanged { call } => {
            let list = plan(resolved.item.as_ref()).ok_or_else(|| Missing(format!("the todo list of {call}")))?;
            event::Event::PlanChanged { call: call.to_string(), todos: todos(list) }
        }
        EventBody::StepStarted { turn, step, tokens, window } => event::Event::StepStarted {
            turn: turn.0,
            step: step.0,
            tokens: *tokens,
            window: *window,
            load: if *window == 0 { 0.0 } else { *tokens as f64 / *window as f64 },
        },
        EventBody::StepCompleted { turn, step, usage: used } => {
            event::Event::StepCompleted { turn: turn.0, step: step.0, usage: used.map(usage) }
        }
        EventBody::TurnCompleted { turn, reason, usage: used, cost, unsettled, message, facts } => {
            event::Event::TurnCompleted {
                turn: turn.0,
                stop_reason: stop_reason(*reason),
                usage: usage(*used),
                cost: *cost,
                unsettled: unsettled.iter().map(ToString::to_string).collect(),
                message: message.clone(),
                files: facts.files.clone(),
                verification: facts.verification.map(verified),
            }
        }
        EventBody::OperationChanged { call } => event::Event::OperationChanged { call: call.to_string() },
        EventBody::TaskChanged => event::Event::TaskChanged {},
        EventBody::CompactionStarted { cause } => event::Event::CompactionStarted { cause: context::word(cause) },
        EventBody::CompactionFinished { epoch, facts, message } => {
            let epoch = epoch.map(|epoch| epoch.0);
            context::compaction_finished(epoch, facts.as_ref(), resolved.given_up, message.clone())
        }
        EventBody::SessionChanged => event::Event::SessionChanged { info: info.map(|info| Box::new(session(info))) },
    })
}

/// The todo list that stands in a result.
pub fn plan(item: Option<&Item>) -> Option<&[Todo]> {
    match &item?.body {
        ItemBody::ToolResult(result) => match &result.outcome.body {
            Body::Todos(list) => Some(list),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
#[path = "to_wire_tests.rs"]
mod tests;

fn verified(verified: Verified) -> event::Verified {
    let Verified { call, passed, revision, current, partial } = verified;
    event::Verified { call: call.to_string(), passed, revision: revision.to_string(), current, partial }
}
