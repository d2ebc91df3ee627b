//! Every text of Plimsoll's own that a model reads, compiled in from `prompts/`, with strict placeholders.
//!
//! Descriptions and schemas of tools are named in [`tool::spec`](crate::tool::spec). Called by
//! [`context`](crate::context) and the turn machine.
//!
//! A placeholder is `{{name}}`. What stands in for it is put in as it is and never looked at again, so a value that
//! contains braces stays what it is. Values from outside must have passed [`escape::data`](crate::escape::data); the
//! `reminder_*` methods of [`Prompts`] do that themselves.

mod resolved;
mod system;

use crate::tokens::tokens;
use std::collections::BTreeSet;

pub use resolved::{Bundle, Prompts, reminder};

/// An own text may fill one part in this many of the model's window.
pub const OVERRIDE_SHARE: u64 = 10;

/// One text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    /// Its path below `prompts/`.
    pub path: &'static str,
    /// Its content, without the last line feed.
    content: &'static str,
    /// The placeholders that it has, each at least once.
    pub placeholders: &'static [&'static str],
}

impl Text {
    /// A text that stands in another module's table.
    pub const fn new(path: &'static str, content: &'static str, placeholders: &'static [&'static str]) -> Self {
        Self { path, content, placeholders }
    }

    /// Its content with the placeholders still in it, without the last line feed.
    pub fn raw(&self) -> &'static str {
        self.content.strip_suffix('\n').unwrap_or(self.content)
    }
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident = $path:literal [$($placeholder:literal),*];)*) => {
        $(
            $(#[$doc])*
            pub static $name: Text = Text {
                path: $path,
                content: include_str!(concat!("../prompts/", $path)),
                placeholders: &[$($placeholder),*],
            };
        )*

        /// Every text, in the order of this file: for the check that no file is orphaned.
        pub static ALL: &[&Text] = &[$(&$name),*];
    };
}

texts! {
    /// The identity sentence when the session has no base prompt of its own.
    LEAN_IDENTITY = "lean/identity.md" [];
    /// Static system text of the `lean` bundle.
    LEAN_SYSTEM = "lean/system.md" ["identity"];
    /// The identity sentence of the `full` bundle, when the session has no base prompt of its own.
    FULL_IDENTITY = "full/identity.md" [];
    /// Identity, safety, URLs.
    FULL_INTRO = "full/intro.md" ["identity"];
    /// How the harness works.
    FULL_SYSTEM = "full/system.md" [];
    /// How to work.
    FULL_DOING_TASKS = "full/doing_tasks.md" [];
    /// What to ask about first.
    FULL_CARE = "full/care.md" [];
    /// How to use the tools that there are.
    FULL_USING_TOOLS = "full/using_tools.md" ["subjects"];
    /// Dedicated tools before the shell.
    FULL_DEDICATED = "full/using_tools/dedicated.md" [];
    /// The todo list.
    FULL_TASKS = "full/using_tools/tasks.md" [];
    /// Calls side by side.
    FULL_PARALLEL = "full/using_tools/parallel.md" [];
    /// How to talk to the user.
    FULL_TONE = "full/tone.md" [];
    /// What is for the shell: in the description of the shell command.
    COMMAND_DEDICATED = "tools/run_terminal_cmd/dedicated.md" ["list"];
    /// What is not: a line for each kind of work, `<work> with <tools, separated by commas>`.
    COMMAND_INSTEAD = "tools/run_terminal_cmd/instead.md" [];
    /// What commands are held to where the machine can do all of it.
    COMMAND_HELD = "tools/run_terminal_cmd/held.md" [];
    /// The same where it cannot keep them from the network.
    COMMAND_HELD_FILES = "tools/run_terminal_cmd/held_files.md" [];
    /// The same where it cannot limit what they write.
    COMMAND_HELD_NETWORK = "tools/run_terminal_cmd/held_network.md" [];
    /// The same where it can do neither.
    COMMAND_HELD_NOTHING = "tools/run_terminal_cmd/held_nothing.md" [];
    /// First lines of the dynamic system text.
    FRAME = "dynamic/frame.md" [];
    /// The language to answer in.
    LANGUAGE = "dynamic/language.md" ["language"];
    /// `<user_info>`.
    USER_INFO = "dynamic/user_info.md" ["os", "date", "shell", "roots"];
    /// `<project_layout>`.
    PROJECT_LAYOUT = "dynamic/project_layout.md" ["tree"];
    /// `<git_status>`.
    GIT_STATUS = "dynamic/git_status.md" ["facts"];
    /// `<open_and_recently_viewed_files>`.
    OPEN_FILES = "dynamic/open_files.md" ["files"];
    /// What stands before the images of results.
    OBSERVATION = "dynamic/observation.md" [];
    /// `<edit_history>`.
    EDIT_HISTORY = "dynamic/edit_history.md" ["files"];
    /// The message that holds the instruction files.
    INSTRUCTIONS = "dynamic/instructions.md" ["files"];
    /// The answer was cut by the connection.
    CONTINUE_CUT = "reminders/continue_cut.md" [];
    /// The answer was cut by the output limit.
    OUTPUT_LIMIT = "reminders/output_limit.md" [];
    /// The user interrupted the turn before.
    INTERRUPTED = "reminders/interrupted.md" ["done"];
    /// The daemon died in the turn before.
    CRASHED = "reminders/crashed.md" ["what", "done"];
    /// Calls whose end was not seen.
    UNKNOWN_OPERATIONS = "reminders/unknown_operations.md" ["list"];
    /// Calls whose end was not seen and of which that is still not known.
    STILL_UNKNOWN = "reminders/still_unknown.md" ["list"];
    /// The user asks to go on with the turn before.
    GO_ON = "reminders/go_on.md" ["what"];
    /// Commands in the background have ended.
    TASK_ENDED = "reminders/task_ended.md" ["list"];
    /// Commands in the background belong to the session that this one was forked from.
    TASKS_LEFT = "reminders/tasks_left.md" ["list"];
    /// The same call gave the same result again.
    SAME_CALL = "reminders/same_call.md" ["times"];
    /// The user undid what calls wrote.
    UNDONE = "reminders/undone.md" ["what", "list"];
    /// An instruction file is new or changed.
    INSTRUCTIONS_CHANGED = "reminders/instructions_changed.md" ["file"];
    /// An instruction file is gone.
    INSTRUCTIONS_REMOVED = "reminders/instructions_removed.md" ["path"];
    /// The index of memories.
    MEMORIES = "dynamic/memories.md" ["list"];
    /// The list of skills.
    SKILLS = "dynamic/skills.md" ["list"];
    /// Rules are about files that were touched.
    RULE_APPLIES = "reminders/rule_applies.md" ["files"];
    /// The index of memories, or the list of skills or rules, is another one.
    LISTS_CHANGED = "reminders/lists_changed.md" ["lists"];
    /// Plan mode is on: what it asks for, in full.
    PLAN_MODE = "reminders/plan_mode.md" ["plan_file"];
    /// What is added to it when there is a plan file from earlier.
    PLAN_AGAIN = "reminders/plan_again.md" ["plan_file"];
    /// Plan mode is still on, in short.
    PLAN_STILL = "reminders/plan_still.md" ["plan_file"];
    /// Plan mode is over.
    PLAN_LEFT = "reminders/plan_left.md" ["mode", "plan_file"];
    /// The history was shortened.
    COMPACTED = "reminders/compacted.md" ["transcript", "state"];
    /// The todo list was not written for long.
    TODOS_STALE = "reminders/todos_stale.md" ["turns", "list"];
    /// What a summary is, behind its first line.
    SUMMARY_FRAME = "summary/frame.md" ["turns", "items"];
    /// Where all that a summary stands for can be read.
    SUMMARY_LOOK = "summary/look.md" ["transcript"];
    /// How to find an item there.
    SUMMARY_LOOK_GREP = "summary/look_grep.md" ["tool"];
    /// How to read it there.
    SUMMARY_LOOK_READ = "summary/look_read.md" ["tool"];
    /// How to read turns without it.
    SUMMARY_LOOK_SESSION = "summary/look_session.md" ["tool"];
    /// What comes first when the end of operations was not seen.
    SUMMARY_VERIFY = "summary/verify.md" ["calls"];
    /// What stands in a section that a model should have written.
    SUMMARY_UNWRITTEN = "summary/unwritten.md" [];
    /// What a model is asked that writes a summary.
    SUMMARY_INSTRUCTION = "summary/instruction.md" ["sections", "words"];
    /// What it must not call done.
    SUMMARY_UNSETTLED = "summary/unsettled.md" ["list"];
    /// That there is a summary already.
    SUMMARY_EARLIER = "summary/earlier.md" [];
    /// What the user wants a summary to care about.
    SUMMARY_FOCUS = "summary/focus.md" ["focus"];
    /// Turns that the conversation shows in short.
    SUMMARY_ORIGINALS = "summary/originals.md" ["originals"];
    /// What was wrong with a summary.
    SUMMARY_REPAIR = "summary/repair.md" ["problems"];
    /// System text where a summary is written by a call that stands alone.
    SUMMARY_SYSTEM = "summary/system.md" [];
    /// What such a call works on.
    SUMMARY_PIECE = "summary/piece.md" ["part", "parts", "records"];
    /// What it goes on from.
    SUMMARY_SO_FAR = "summary/so_far.md" ["summary"];
}

/// Why a text cannot stand in the place of a built-in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// What is wrong, as the end of a sentence that begins with its name.
    pub problem: String,
    /// What to do.
    pub fix: String,
}

impl Text {
    /// What keeps `content` from standing in this text's place for a model with this window, in tokens: it says nothing, its
    /// placeholders are not this text's, or it would fill too much of the window.
    pub fn flaw(&self, content: &str, window: u64) -> Option<Flaw> {
        let flaw = |problem: String, fix: String| Some(Flaw { problem, fix });
        if content.trim().is_empty() {
            return flaw("is empty".to_owned(), "write the text, or remove the file".to_owned());
        }
        let found = placeholders(content);
        if let Some(unknown) = found.iter().find(|name| !self.placeholders.contains(name)) {
            let known: Vec<String> = self.placeholders.iter().map(|name| format!("{{{{{name}}}}}")).collect();
            let fix = match known.as_slice() {
                [] => "this text has none".to_owned(),
                known => format!("this text has {}", known.join(", ")),
            };
            return flaw(format!("has the placeholder {{{{{unknown}}}}}, which is not known here"), fix);
        }
        if let Some(missing) = self.placeholders.iter().find(|name| !found.contains(*name)) {
            let fix = "put it where its value belongs".to_owned();
            return flaw(format!("has no placeholder {{{{{missing}}}}}"), fix);
        }
        let (size, room) = (tokens(content), window / OVERRIDE_SHARE);
        if size > room {
            let fix = "shorten it, or use a model with a larger window".to_owned();
            return flaw(
                format!("has {} bytes, about {size} tokens, and {room} fit the model's window", content.len()),
                fix,
            );
        }
        None
    }
}

/// Names of the placeholders in a text.
fn placeholders(text: &str) -> BTreeSet<&str> {
    let name = |piece| match piece {
        Piece::Placeholder(name) => Some(name),
        Piece::Literal(_) => None,
    };
    pieces(text).filter_map(name).collect()
}

/// `content` with its placeholders replaced; see [`Prompts::render`].
fn fill(content: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(content.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>());
    for piece in pieces(content) {
        match piece {
            Piece::Literal(literal) => out.push_str(literal),
            Piece::Placeholder(name) => {
                let value = values.iter().find(|(known, _)| *known == name);
                out.push_str(value.map_or("", |(_, value)| value));
            }
        }
    }
    out
}

/// Whether `values` names each placeholder of the text and no other.
fn fits(text: &Text, values: &[(&str, &str)]) -> bool {
    values.len() == text.placeholders.len() && values.iter().all(|(name, _)| text.placeholders.contains(name))
}

/// Content hash of a text (BLAKE3), 64 hexadecimal digits: what an epoch records of the texts it was made from.
pub fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

enum Piece<'a> {
    Literal(&'a str),
    Placeholder(&'a str),
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    let mut pending = None;
    std::iter::from_fn(move || {
        if let Some(name) = pending.take() {
            return Some(Piece::Placeholder(name));
        }
        if rest.is_empty() {
            return None;
        }
        let found = rest.split_once("{{").and_then(|(before, after)| {
            let (name, after) = after.split_once("}}")?;
            Some((before, name, after))
        });
        let Some((before, name, after)) = found else {
            return Some(Piece::Literal(std::mem::take(&mut rest)));
        };
        rest = after;
        pending = Some(name);
        Some(Piece::Literal(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_exactly_the_placeholders_of_its_row() {
        for text in ALL {
            assert_eq!(placeholders(text.raw()), text.placeholders.iter().copied().collect(), "{}", text.path);
            assert!(!text.raw().trim().is_empty(), "{}", text.path);
        }
    }

    #[test]
    fn every_text_has_its_own_file() {
        let paths: BTreeSet<_> = ALL.iter().map(|text| text.path).collect();
        assert_eq!(paths.len(), ALL.len());
    }

    #[test]
    fn unknown_and_missing_placeholders_do_not_fit() {
        assert!(fits(&LANGUAGE, &[("language", "de")]));
        assert!(!fits(&LANGUAGE, &[("tongue", "de")]));
        assert!(!fits(&LANGUAGE, &[]));
    }

    #[test]
    fn an_own_text_must_say_something_have_the_placeholders_and_fit() {
        let problem = |text: &Text, content: &str| text.flaw(content, 1_000).map(|flaw| flaw.problem);
        assert_eq!(problem(&LANGUAGE, "Speak {{language}}, {always}.\n"), None);
        assert_eq!(problem(&LANGUAGE, " \n").as_deref(), Some("is empty"));
        let unknown = LANGUAGE.flaw("{{language}} {{tongue}}", 1_000).map(|flaw| (flaw.problem, flaw.fix));
        let expected = ("has the placeholder {{tongue}}, which is not known here", "this text has {{language}}");
        assert_eq!(unknown.as_ref().map(|(problem, fix)| (problem.as_str(), fix.as_str())), Some(expected));
        assert_eq!(problem(&LANGUAGE, "Speak well.").as_deref(), Some("has no placeholder {{language}}"));
        assert_eq!(FULL_TONE.flaw("{{x}}", 1_000).map(|flaw| flaw.fix).as_deref(), Some("this text has none"));
        let large = problem(&FULL_TONE, &"word ".repeat(300)).unwrap_or_default();
        assert!(
            large.starts_with("has 1500 bytes, about ") && large.ends_with(" tokens, and 100 fit the model's window"),
            "{large}"
        );
    }

    #[test]
    fn the_hash_follows_the_content() {
        assert_eq!(hash("a").len(), 64);
        assert_ne!(hash("a"), hash("b"));
    }
}
