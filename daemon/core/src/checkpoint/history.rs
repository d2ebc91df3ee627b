//! The versions that one file has had, as a tree: each call and each change by others makes a branch grow, an undo goes
//! back to a version that was there before. What stands in the file now is one of them.

use super::Content;
use crate::id::CallId;
use crate::ledger::{OpState, Operation, OperationFile};
use std::collections::BTreeMap;

/// What one operation did to the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) call: CallId,
    pub(super) undo: bool,
    state: OpState,
    file: &'a OperationFile,
}

impl<'a> Step<'a> {
    /// The steps of a file, oldest first. Of operations that never began there are none.
    pub(super) fn all(operations: &'a [Operation], path: &str) -> Vec<Self> {
        operations
            .iter()
            .filter(|operation| began(operation.state))
            .filter_map(|operation| {
                let file = operation.files.iter().find(|file| file.path == path)?;
                Some(Self { call: operation.call, undo: super::is_undo(operation), state: operation.state, file })
            })
            .collect()
    }
}

/// Whether an operation in this state may have changed something.
pub(super) fn began(state: OpState) -> bool {
    match state {
        OpState::Running | OpState::Succeeded | OpState::Failed | OpState::Cancelled | OpState::Unknown => true,
        OpState::Proposed | OpState::Denied | OpState::Approved => false,
    }
}

/// Who made a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// It was there when the agent first touched the file.
    Start,
    /// A call of the session.
    Call(CallId),
    /// Somebody else.
    Someone,
}

/// One version of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) parent: Option<usize>,
    pub(super) by: By,
    pub(super) content: Content,
    pub(super) mode: Option<u32>,
}

/// See the module's head. Nodes are named by their place in `nodes`; a parent stands before its children.
#[derive(Debug)]
pub(super) struct History {
    pub(super) nodes: Vec<Node>,
    /// Nodes in the order in which they stood on the disk.
    trail: Vec<usize>,
    /// What stands there now.
    pub(super) current: usize,
    /// Undos: from which version to which.
    pub(super) undos: BTreeMap<CallId, (usize, usize)>,
    /// Calls of which it cannot be told whether they took effect.
    pub(super) unclear: Vec<CallId>,
}

impl History {
    /// The history of a file with these steps, in whose place `now` stands.
    pub(super) fn of(steps: &[Step<'_>], now: &Content) -> Self {
        let start = steps.first().map_or(now.clone(), |step| Content::before(step.file));
        let mut history = Self {
            nodes: vec![Node { parent: None, by: By::Start, content: start, mode: None }],
            trail: vec![0],
            current: 0,
            undos: BTreeMap::new(),
            unclear: Vec::new(),
        };
        for (at, step) in steps.iter().enumerate() {
            let next = steps.get(at + 1).map_or(now.clone(), |next| Content::before(next.file));
            let before = Content::before(step.file);
            if step.state != OpState::Succeeded && next.version() != step.file.after.as_deref() {
                if next != before {
                    history.unclear.push(step.call);
                }
                continue;
            }
            history.see(&before);
            history.keep_mode(step.file.mode);
            history.take(step);
        }
        history.see(now);
        history
    }

    /// This stands on the disk: a version that was there before, or one by somebody else.
    fn see(&mut self, content: &Content) {
        if self.nodes.get(self.current).is_some_and(|node| node.content == *content) {
            return;
        }
        let known = self.latest(|known| known == content);
        let node = known.unwrap_or_else(|| self.grow(By::Someone, content.clone()));
        self.go(node);
    }

    fn take(&mut self, step: &Step<'_>) {
        let after = step.file.after.as_deref();
        let from = self.current;
        let known = if step.undo { self.latest(|content| content.version() == after) } else { None };
        let node =
            known.unwrap_or_else(|| self.grow(By::Call(step.call), Content::of(step.file.after.as_ref(), false)));
        if step.undo {
            self.undos.insert(step.call, (from, node));
        }
        self.go(node);
    }

    fn latest(&self, is: impl Fn(&Content) -> bool) -> Option<usize> {
        let is = |node: &&usize| self.nodes.get(**node).is_some_and(|node| is(&node.content));
        self.trail.iter().rev().find(is).copied()
    }

    fn grow(&mut self, by: By, content: Content) -> usize {
        self.nodes.push(Node { parent: Some(self.current), by, content, mode: None });
        self.nodes.len() - 1
    }

    fn go(&mut self, node: usize) {
        self.current = node;
        self.trail.push(node);
    }

    fn keep_mode(&mut self, mode: Option<u32>) {
        if let Some(node) = self.nodes.get_mut(self.current)
            && mode.is_some()
        {
            node.mode = mode;
        }
    }

    /// From a node up to the first version, the node itself first.
    pub(super) fn up(&self, from: usize) -> impl Iterator<Item = (usize, &Node)> {
        let mut next = Some(from);
        std::iter::from_fn(move || {
            let at = next?;
            let node = self.nodes.get(at)?;
            next = node.parent;
            Some((at, node))
        })
    }
}
