//! Checkpoints and undos, as the wire has them.

use crate::session::checkpoint::{
    CallCheckpoint, ChangedFile, FileAction, FileState, Restorable, RestoredFile, TurnCheckpoint, TurnPage, UndoState,
    Undone,
};
use plimsoll_protocol::checkpoint as wire;

pub fn page(page: &TurnPage) -> wire::ListResult {
    wire::ListResult { turns: page.turns.iter().map(turn).collect(), next_before: page.next_before.map(|turn| turn.0) }
}

fn turn(turn: &TurnCheckpoint) -> wire::CheckpointTurn {
    wire::CheckpointTurn {
        turn: turn.turn.0,
        at: turn.at.0,
        prompt: turn.prompt.clone(),
        restorable: restorable(&turn.restorable),
        calls: turn.calls.iter().map(call).collect(),
    }
}

fn call(call: &CallCheckpoint) -> wire::CheckpointCall {
    wire::CheckpointCall {
        call: call.call.to_string(),
        tool: call.tool.clone(),
        at: call.at.0,
        restorable: restorable(&call.restorable),
        files: call.files.iter().map(changed).collect(),
    }
}

fn changed(file: &ChangedFile) -> wire::CheckpointFile {
    wire::CheckpointFile {
        path: file.path.clone(),
        before: file.before.clone(),
        after: file.after.clone(),
        added: file.lines.map(|(added, _)| added),
        removed: file.lines.map(|(_, removed)| removed),
    }
}

fn restorable(restorable: &Restorable) -> wire::Restorable {
    let (state, reason) = match restorable {
        Restorable::Ready => (wire::RestorableState::Ready, None),
        Restorable::AlreadySo => (wire::RestorableState::AlreadySo, None),
        Restorable::Blocked(why) => (wire::RestorableState::Blocked, Some(why.clone())),
    };
    wire::Restorable { state, reason }
}

pub fn diff(undone: &Undone) -> wire::DiffResult {
    let file = |file: &RestoredFile| wire::RestoredFile { diff: Some(file.diff.text.clone()), ..restored(file) };
    wire::DiffResult { files: undone.files.iter().map(file).collect(), commands: commands(undone) }
}

pub fn undone(undone: &Undone) -> wire::RestoreResult {
    wire::RestoreResult {
        state: match undone.state {
            UndoState::Done => wire::RestoreState::Done,
            UndoState::Planned => wire::RestoreState::Planned,
            UndoState::Refused => wire::RestoreState::Refused,
            UndoState::Nothing => wire::RestoreState::Nothing,
        },
        call: undone.call.map(|call| call.to_string()),
        files: undone.files.iter().map(restored).collect(),
        commands: commands(undone),
    }
}

fn commands(undone: &Undone) -> Vec<wire::RanCommand> {
    let ran = |(call, command): &(plimsoll_core::id::CallId, String)| wire::RanCommand {
        call: call.to_string(),
        command: command.clone(),
    };
    undone.commands.iter().map(ran).collect()
}

fn restored(file: &RestoredFile) -> wire::RestoredFile {
    wire::RestoredFile {
        path: file.path.clone(),
        action: match file.action {
            FileAction::Write => wire::RestoreAction::Write,
            FileAction::Create => wire::RestoreAction::Create,
            FileAction::Link => wire::RestoreAction::Link,
            FileAction::Delete => wire::RestoreAction::Delete,
            FileAction::None => wire::RestoreAction::None,
        },
        verdict: match file.state {
            FileState::Ready => wire::FileVerdict::Ready,
            FileState::AlreadySo => wire::FileVerdict::AlreadySo,
            FileState::Later => wire::FileVerdict::Later,
            FileState::Changed => wire::FileVerdict::Changed,
            FileState::Unclear => wire::FileVerdict::Unclear,
            FileState::Lost => wire::FileVerdict::Lost,
            FileState::Failed => wire::FileVerdict::Failed,
        },
        reason: file.reason.clone(),
        done: file.done,
        calls: file.calls.iter().map(ToString::to_string).collect(),
        added: file.diff.added,
        removed: file.diff.removed,
        keeps: file.keeps.clone(),
        diff: None,
        cut: file.diff.cut,
    }
}
