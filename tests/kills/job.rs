//! Things to do, each of which shows in the world whether it was done: not at all, once, or only in part.

use plimsoll_tests::model_server::Call;
use plimsoll_tests::workspace::Workspace;
use serde_json::json;
use std::fs;

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One line of a file that all such jobs share, by `string_replace`.
    Replace,
    /// Two places of a file, by `MultiEdit`.
    Multi,
    /// A new file, too large for one small write, by `write`.
    Make,
    /// Another content for a whole file, by `write`.
    Over,
    /// A place of a file with two names, which is written in place, by `string_replace`.
    Linked,
    /// A file goes, by `delete_file`.
    Delete,
    /// One file is changed, one made, one deleted, by `apply_patch`.
    Patch,
    /// A line at the end of a file, by `run_terminal_cmd`.
    Command,
    /// An entry of the plan, by `todo_write`.
    Todo,
    /// Nothing, by `read_file`.
    Read,
}

/// All of them.
pub const KINDS: &[Kind] = &[
    Kind::Replace,
    Kind::Multi,
    Kind::Make,
    Kind::Over,
    Kind::Linked,
    Kind::Delete,
    Kind::Patch,
    Kind::Command,
    Kind::Todo,
    Kind::Read,
];

/// How a part of the world stands beside what a job is to make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stand {
    /// As the job leaves it.
    Done,
    /// As it was before.
    Undone,
    /// Neither.
    Torn,
}

/// One thing to do; its number is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    pub no: usize,
    pub kind: Kind,
}

/// The file of all [`Kind::Replace`].
const SHARED: &str = "shared.txt";
/// The file of all [`Kind::Command`].
pub const COUNTER: &str = "counter";

/// A file of a job: its name, its content before and after.
pub struct Part {
    pub file: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// So many bytes that they are written at once and stopped at.
fn filler() -> String {
    let lines: Vec<String> = (0..150).map(|no| format!("line {no:03} of what nobody is to touch\n")).collect();
    lines.concat()
}

impl Job {
    /// What stands in the world when it was done, and in its arguments.
    pub fn mark(self) -> String {
        format!("mark-{:03}-done", self.no)
    }

    /// What stood in its place: as long, and in both halves another text.
    fn slot(self) -> String {
        format!("slot-{:03}-free", self.no)
    }

    fn looked_at(self) -> String {
        format!("{}.txt", self.mark())
    }

    fn file(self, what: &str) -> String {
        format!("{what}-{:03}.txt", self.no)
    }

    /// The files that are its own.
    pub fn files(self) -> Vec<Part> {
        let (mark, slot, filler) = (self.mark(), self.slot(), filler());
        let part =
            |file: &str, before: Option<String>, after: Option<String>| Part { file: self.file(file), before, after };
        match self.kind {
            Kind::Replace | Kind::Command | Kind::Todo | Kind::Read => Vec::new(),
            Kind::Multi => vec![part(
                "multi",
                Some(format!("{slot}-a\n{filler}{slot}-b\n")),
                Some(format!("{mark}-a\n{filler}{mark}-b\n")),
            )],
            Kind::Make => vec![part("made", None, Some(format!("{filler}{mark}\n")))],
            Kind::Over => {
                vec![part("over", Some(format!("{slot}\n{filler}")), Some(format!("{mark}\n{filler}")))]
            }
            Kind::Linked => {
                vec![part("linked", Some(format!("{filler}{slot}\n")), Some(format!("{filler}{mark}\n")))]
            }
            Kind::Delete => vec![part("deleted", Some(format!("{mark} is to go\n")), None)],
            Kind::Patch => vec![
                part("patched", Some(format!("one\n{slot}\nthree\n")), Some(format!("one\n{mark}\nthree\n"))),
                part("patched-new", None, Some(format!("{mark}\n"))),
                part("patched-old", Some(format!("{mark} is to go\n")), None),
            ],
        }
    }

    /// Puts what it works on into the workspace.
    pub fn prepare(self, workspace: &Workspace) {
        if self.kind == Kind::Replace {
            let before = workspace.read(SHARED).unwrap_or_default();
            workspace.write(SHARED, format!("{before}{}\n", self.slot()));
        }
        if self.kind == Kind::Read {
            workspace.write(&self.looked_at(), "looked at\n");
        }
        for part in self.files() {
            if let Some(content) = part.before {
                workspace.write(&part.file, content);
            }
            if self.kind == Kind::Linked {
                let path = workspace.path();
                fs::hard_link(path.join(&part.file), path.join(self.file("alias"))).expect("a second name");
            }
        }
    }

    /// The files that must have been shown before it is called.
    pub fn reads(self) -> Vec<String> {
        match self.kind {
            Kind::Replace => vec![SHARED.to_owned()],
            Kind::Make | Kind::Delete | Kind::Command | Kind::Todo | Kind::Read => Vec::new(),
            Kind::Multi | Kind::Over | Kind::Linked | Kind::Patch => {
                self.files().into_iter().filter(|part| part.before.is_some()).map(|part| part.file).collect()
            }
        }
    }

    /// The call that does it.
    pub fn call(self) -> Call {
        let (mark, slot) = (self.mark(), self.slot());
        let replace = |file: &str| {
            let arguments = json!({"file_path": file, "old_string": slot, "new_string": mark});
            Call::new("string_replace", arguments)
        };
        match self.kind {
            Kind::Replace => replace(SHARED),
            Kind::Linked => replace(&self.file("linked")),
            Kind::Multi => {
                let edits: Vec<_> = ["a", "b"]
                    .iter()
                    .map(|at| json!({"old_string": format!("{slot}-{at}"), "new_string": format!("{mark}-{at}")}))
                    .collect();
                Call::new("MultiEdit", json!({"file_path": self.file("multi"), "edits": edits}))
            }
            Kind::Make | Kind::Over => {
                let part = self.files().remove(0);
                Call::new("write", json!({"file_path": part.file, "contents": part.after}))
            }
            Kind::Delete => Call::new("delete_file", json!({"target_file": self.file("deleted"), "explanation": mark})),
            Kind::Patch => {
                let (changed, made, deleted) =
                    (self.file("patched"), self.file("patched-new"), self.file("patched-old"));
                let patch = format!(
                    "--- a/{changed}\n+++ b/{changed}\n@@ -1,3 +1,3 @@\n one\n-{slot}\n+{mark}\n three\n\
                     --- /dev/null\n+++ b/{made}\n@@ -0,0 +1 @@\n+{mark}\n\
                     --- a/{deleted}\n+++ /dev/null\n@@ -1 +0,0 @@\n-{mark} is to go\n"
                );
                Call::new("apply_patch", json!({"patch": patch, "purpose": mark}))
            }
            Kind::Command => Call::new("run_terminal_cmd", json!({"command": self.line()})),
            Kind::Todo => {
                let todo = json!({"id": mark, "content": mark, "status": "pending"});
                Call::new("todo_write", json!({"merge": true, "todos": [todo]}))
            }
            Kind::Read => Call::new("read_file", json!({"target_file": self.looked_at()})),
        }
    }

    /// Whether it has an effect in the world, which the ledger keeps.
    pub fn is_operation(self) -> bool {
        !matches!(self.kind, Kind::Todo | Kind::Read)
    }

    /// The command line.
    pub fn line(self) -> String {
        format!("echo {} >> {COUNTER}", self.mark())
    }

    /// How the world stands beside it, part by part; nothing for what does not show there. Fails the test when something
    /// was done twice.
    pub fn stands(self, workspace: &Workspace) -> Vec<Stand> {
        let lines = |file: &str, line: &str| {
            let text = workspace.read(file).unwrap_or_default();
            text.lines().filter(|there| *there == line).count()
        };
        match self.kind {
            Kind::Todo | Kind::Read => Vec::new(),
            Kind::Command => {
                let count = lines(COUNTER, &self.mark());
                assert!(count <= 1, "{} was done {count} times", self.mark());
                vec![if count == 1 { Stand::Done } else { Stand::Undone }]
            }
            Kind::Replace => vec![match (lines(SHARED, &self.mark()), lines(SHARED, &self.slot())) {
                (1, 0) => Stand::Done,
                (0, 1) => Stand::Undone,
                _ => Stand::Torn,
            }],
            Kind::Multi | Kind::Make | Kind::Over | Kind::Linked | Kind::Delete | Kind::Patch => {
                let stand = |part: Part| match workspace.read(&part.file) {
                    now if now == part.after => Stand::Done,
                    now if now == part.before => Stand::Undone,
                    _ => Stand::Torn,
                };
                self.files().into_iter().map(stand).collect()
            }
        }
    }

    /// Whether it was done, as far as the world shows it.
    pub fn is_done(self, workspace: &Workspace) -> bool {
        self.stands(workspace).iter().all(|stand| *stand == Stand::Done)
    }
}
