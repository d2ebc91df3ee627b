//! From histories to a plan, and from a plan to what is done of it.

use super::history::{By, History, Node, Step, began};
use super::{Content, FilePlan, Now, Plan, Scope, Verdict};
use crate::id::CallId;
use crate::ledger::Operation;
use std::collections::{BTreeMap, BTreeSet};

/// What to do where a file cannot simply be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct How {
    /// Leave it and restore the others.
    pub skip: bool,
    /// Restore it all the same; what is there is kept first.
    pub force: bool,
}

/// Why nothing is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Files that cannot simply be restored, so many.
    Blocked(usize),
    /// Everything stands as it stood before.
    Nothing,
}

impl Scope {
    /// Whether the operation is one of those to undo.
    pub fn holds(self, operation: &Operation) -> bool {
        match self {
            Self::Call(call) => operation.call == call,
            Self::Turn(turn) => operation.turn == turn && !super::is_undo(operation),
            Self::From(turn) => operation.turn >= turn && !super::is_undo(operation),
        }
    }
}

/// The files that a scope may have changed, each once: whoever plans must know what stands there now.
pub fn paths(operations: &[Operation], scope: Scope) -> BTreeSet<String> {
    let held = operations.iter().filter(|operation| began(operation.state) && scope.holds(operation));
    held.flat_map(|operation| &operation.files).map(|file| file.path.clone()).collect()
}

/// What undoing would do. `operations` are all of the session in the order of their calls; `now` says what stands at each
/// of [`paths`]; `kept` whether the content of a version can be read.
pub fn plan(operations: &[Operation], scope: Scope, now: &BTreeMap<String, Now>, kept: &dyn Fn(&str) -> bool) -> Plan {
    let files = paths(operations, scope);
    let ran = |operation: &&Operation| began(operation.state) && scope.holds(operation);
    let command = |operation: &Operation| Some((operation.call, operation.command.clone()?));
    Plan {
        files: files.into_iter().map(|path| file_plan(operations, scope, path, now, kept)).collect(),
        commands: operations.iter().filter(ran).filter_map(command).collect(),
    }
}

fn file_plan(
    operations: &[Operation],
    scope: Scope,
    path: String,
    now: &BTreeMap<String, Now>,
    kept: &dyn Fn(&str) -> bool,
) -> FilePlan {
    let nothing = |path: String, why: String| FilePlan {
        path,
        calls: Vec::new(),
        now: Content::Absent,
        now_mode: None,
        want: Content::Absent,
        mode: None,
        verdict: Verdict::Unclear(why),
    };
    let (content, now_mode) = match now.get(&path) {
        Some(Now::Is(content, mode)) => (content.clone(), *mode),
        Some(Now::Unclear(why)) => return nothing(path, why.clone()),
        None => return nothing(path, "it was not looked at".to_owned()),
    };
    let steps = Step::all(operations, &path);
    let history = History::of(&steps, &content);
    let chosen: BTreeSet<CallId> =
        operations.iter().filter(|operation| scope.holds(operation)).map(|operation| operation.call).collect();
    let found = match scope {
        Scope::Call(call) if history.undos.contains_key(&call) => redo(&history, &steps, call),
        Scope::Call(_) | Scope::Turn(_) | Scope::From(_) => undo(&history, &chosen),
    };
    let Found { calls, want, mut verdict } = found;
    let was_away = was_away(&history, want);
    let want = history.nodes.get(want).cloned().unwrap_or(Node {
        parent: None,
        by: By::Start,
        content: content.clone(),
        mode: None,
    });
    if want.content == content {
        verdict = match history.unclear.iter().find(|call| chosen.contains(call)) {
            Some(call) if calls.is_empty() => {
                Verdict::Unclear(format!("it is not known whether {call} changed it, and it has changed since"))
            }
            Some(_) | None => Verdict::AlreadySo,
        };
    } else if want.content.version().is_some_and(|version| !kept(version)) {
        verdict = Verdict::Lost;
    }
    FilePlan {
        path,
        calls,
        now: content,
        now_mode,
        mode: want.mode.filter(|_| was_away && matches!(want.content, Content::File(_))),
        want: want.content,
        verdict,
    }
}

/// Whether there was a time between now and the version `want` at which no file was there. What is only edited in place
/// keeps the permission bits that it has now.
fn was_away(history: &History, want: usize) -> bool {
    let above: BTreeSet<usize> = history.up(want).map(|(at, _)| at).collect();
    let reached: BTreeSet<usize> = history.up(history.current).map(|(at, _)| at).collect();
    let meeting = above.intersection(&reached).max().copied();
    let mut between = above.symmetric_difference(&reached).copied().chain(meeting);
    between.any(|at| history.nodes.get(at).is_some_and(|node| !matches!(node.content, Content::File(_))))
}

/// What undoing comes to in one file: `want` is the version to go back to.
struct Found {
    calls: Vec<CallId>,
    want: usize,
    verdict: Verdict,
}

/// Back to before the first of the chosen calls that is in effect.
fn undo(history: &History, chosen: &BTreeSet<CallId>) -> Found {
    let is_chosen = |by: By| matches!(by, By::Call(call) if chosen.contains(&call));
    let line: Vec<(usize, &Node)> = history.up(history.current).collect();
    let Some(first) = line.iter().rposition(|(_, node)| is_chosen(node.by)) else {
        return Found { calls: Vec::new(), want: history.current, verdict: Verdict::AlreadySo };
    };
    let (taken, want) = (line.get(..=first).unwrap_or_default(), line.get(first + 1).map_or(0, |(at, _)| *at));
    let mut calls = Vec::new();
    let mut later = Vec::new();
    for (_, node) in taken.iter().rev() {
        match node.by {
            By::Call(call) if chosen.contains(&call) => calls.push(call),
            By::Call(call) => later.push(call),
            By::Someone | By::Start => {}
        }
    }
    Found { calls, want, verdict: verdict(taken, later) }
}

/// Back to before an undo. What it left must stand there still.
fn redo(history: &History, steps: &[Step<'_>], call: CallId) -> Found {
    let (from, to) = history.undos.get(&call).copied().unwrap_or_default();
    let below: BTreeSet<usize> = history.up(to).map(|(at, _)| at).collect();
    let since: Vec<(usize, &Node)> = history.up(history.current).take_while(|(at, _)| !below.contains(at)).collect();
    let mut later: Vec<CallId> = since
        .iter()
        .rev()
        .filter_map(|(_, node)| match node.by {
            By::Call(call) => Some(call),
            By::Someone | By::Start => None,
        })
        .collect();
    if since.is_empty() && history.current != to {
        later.extend(steps.iter().filter(|step| step.undo && step.call > call).map(|step| step.call));
    }
    Found { calls: vec![call], want: from, verdict: verdict(&since, later) }
}

/// Somebody else's change among what would be taken back weighs most: it is the one that nobody could do again.
fn verdict(taken: &[(usize, &Node)], later: Vec<CallId>) -> Verdict {
    let loses: Vec<String> = taken
        .iter()
        .filter(|(_, node)| node.by == By::Someone)
        .map(|(_, node)| node.content.version().unwrap_or("nothing").to_owned())
        .collect();
    if !loses.is_empty() {
        Verdict::Changed { loses }
    } else if later.is_empty() {
        Verdict::Restore
    } else {
        Verdict::Later(later)
    }
}

impl FilePlan {
    /// Whether it is restored when undoing in this way; `None` when there is nothing to do.
    pub fn done(&self, how: How) -> Option<bool> {
        match self.verdict {
            Verdict::AlreadySo => None,
            Verdict::Restore => Some(true),
            Verdict::Later(_) | Verdict::Changed { .. } => Some(how.force),
            Verdict::Unclear(_) | Verdict::Lost => Some(false),
        }
    }
}

impl Plan {
    /// The files that are to be restored; all or none, unless those that cannot be are to be left out.
    pub fn choose(&self, how: How) -> Result<Vec<&FilePlan>, Refusal> {
        let blocked = self.files.iter().filter(|file| file.done(how) == Some(false)).count();
        let chosen: Vec<&FilePlan> = self.files.iter().filter(|file| file.done(how) == Some(true)).collect();
        if blocked > 0 && (!how.skip || chosen.is_empty()) {
            Err(Refusal::Blocked(blocked))
        } else if chosen.is_empty() {
            Err(Refusal::Nothing)
        } else {
            Ok(chosen)
        }
    }
}
