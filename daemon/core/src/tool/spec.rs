//! The table of tools: name, kind, effect class, idempotence. Texts and schemas are files under `prompts/tools/`.

use crate::prompt::{self, Bundle, Prompts, Text};

/// What a call may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Looks, changes nothing.
    Read,
    /// Changes files.
    Write,
    /// Runs a program.
    Execute,
    /// Talks to another machine.
    Network,
    /// Changes the session's own state or talks to the user.
    Interact,
}

impl Class {
    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
            Self::Network => "network",
            Self::Interact => "interact",
        }
    }
}

/// Who performs a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The shell's executor: files, search, commands.
    World,
    /// The turn machine itself: a transition plus store effects.
    Host,
}

/// What may be said of a call whose end was not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idempotence {
    /// Running it again does no harm.
    Repeatable,
    /// Whether it took effect can be found out.
    Checkable,
    /// Neither.
    Unknowable,
}

/// One tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Name on the wire.
    pub name: &'static str,
    /// Who performs it.
    pub kind: Kind,
    /// What it may do.
    pub class: Class,
    /// What a lost end means.
    pub idempotence: Idempotence,
    /// JSON Schema of the arguments, as sent: one line of JSON.
    pub schema: &'static str,
    /// The description under the `lean` bundle; an empty one says that the full one serves.
    pub lean: Text,
    /// The description under the `full` bundle.
    pub full: Text,
}

impl Spec {
    /// The text of its description in these texts' bundle, with its placeholders still in it. Never empty: where the lean
    /// one is, it is the full one.
    pub fn description<'a>(&'a self, prompts: &'a Prompts) -> &'a Text {
        match prompts.bundle {
            Bundle::Lean if !prompts.text(&self.lean).trim().is_empty() => &self.lean,
            Bundle::Lean | Bundle::Full => &self.full,
        }
    }
}

/// A row of the table: name, kind, class, idempotence, and the placeholders of both descriptions, when they have any.
macro_rules! spec {
    ($name:literal, $kind:ident, $class:ident, $idempotence:ident) => {
        spec!($name, $kind, $class, $idempotence, [])
    };
    ($name:literal, $kind:ident, $class:ident, $idempotence:ident, [$($placeholder:literal),*]) => {
        Spec {
            name: $name,
            kind: Kind::$kind,
            class: Class::$class,
            idempotence: Idempotence::$idempotence,
            schema: include_str!(concat!("../../prompts/tools/", $name, "/schema.json")),
            lean: Text::new(
                concat!("tools/", $name, "/lean.md"),
                include_str!(concat!("../../prompts/tools/", $name, "/lean.md")),
                &[$($placeholder),*],
            ),
            full: Text::new(
                concat!("tools/", $name, "/full.md"),
                include_str!(concat!("../../prompts/tools/", $name, "/full.md")),
                &[$($placeholder),*],
            ),
        }
    };
}

/// Every tool of this build, in the order in which they are sent.
pub static SPECS: &[Spec] = &[
    spec!("read_file", World, Read, Repeatable),
    spec!("list_dir", World, Read, Repeatable),
    spec!("glob_file_search", World, Read, Repeatable),
    spec!("grep", World, Read, Repeatable),
    spec!("string_replace", World, Write, Checkable),
    spec!("MultiEdit", World, Write, Checkable),
    spec!("write", World, Write, Checkable),
    spec!("delete_file", World, Write, Checkable),
    spec!("apply_patch", World, Write, Checkable),
    spec!("run_terminal_cmd", World, Execute, Unknowable, ["shell", "sandbox", "dedicated"]),
    spec!("run_tests", World, Execute, Unknowable),
    spec!("inspect_operation", Host, Read, Repeatable),
    spec!("task_output", World, Read, Repeatable),
    spec!("stop_task", World, Interact, Repeatable),
    spec!("todo_write", Host, Interact, Repeatable),
    spec!("update_task", Host, Interact, Repeatable),
    spec!("fetch_rules", Host, Read, Repeatable, ["rules"]),
    spec!("read_session", Host, Read, Repeatable),
    spec!("update_memory", World, Interact, Checkable),
    spec!("enter_plan_mode", Host, Interact, Repeatable),
    spec!("exit_plan_mode", Host, Interact, Repeatable),
];

/// The tool that keeps texts for later sessions. It touches no file of the workspace, and is decided like one that does:
/// what it keeps is read by sessions that know nothing of this one.
pub const MEMORY: &str = "update_memory";

/// The text at this path below `prompts/`: a description of a tool, or one of [`prompt::ALL`].
pub fn text(path: &str) -> Option<&'static Text> {
    texts().find(|text| text.path == path)
}

/// Every text that a model reads, in no particular order.
pub fn texts() -> impl Iterator<Item = &'static Text> {
    prompt::ALL.iter().copied().chain(SPECS.iter().flat_map(|spec| [&spec.lean, &spec.full]))
}

/// The tool with exactly this name.
pub fn find(name: &str) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn lean_and_full(lean: &'static str) -> Spec {
        let lean = Text::new("tools/t/lean.md", lean, &[]);
        let full = Text::new("tools/t/full.md", "All of it.\n", &[]);
        Spec { lean, full, ..SPECS[0] }
    }

    #[test]
    fn a_tool_without_a_lean_description_has_the_full_one() {
        let (lean, full) = (Prompts::default(), Prompts { bundle: Bundle::Full, ..Prompts::default() });
        for (text, prompts, expected) in [
            ("Short.\n", &lean, "Short."),
            ("Short.\n", &full, "All of it."),
            ("", &lean, "All of it."),
            (" \n", &lean, "All of it."),
            ("", &full, "All of it."),
        ] {
            assert_eq!(prompts.text(lean_and_full(text).description(prompts)), expected, "{text:?}");
        }
        let overrides = BTreeMap::from([("tools/t/lean.md".to_owned(), "Mine.\n".to_owned())]);
        let own = Prompts { overrides: Arc::new(overrides), ..Prompts::default() };
        assert_eq!(own.text(lean_and_full("").description(&own)), "Mine.");
    }

    #[test]
    fn every_tool_has_a_full_description_and_every_built_in_text_its_placeholders() {
        for spec in SPECS {
            assert!(!spec.full.raw().trim().is_empty(), "{}", spec.name);
        }
        for text in texts().filter(|text| !text.raw().is_empty()) {
            assert_eq!(text.flaw(text.raw(), 100_000), None, "{}", text.path);
            assert_eq!(self::text(text.path), Some(text));
        }
        assert_eq!(text("tools/grep/schema.json"), None);
    }
}
