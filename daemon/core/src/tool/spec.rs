//! The table of tools: name, kind, effect class, idempotence. Texts and schemas are files under `prompts/tools/`.

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
    /// The description under the `lean` bundle.
    pub lean: &'static str,
}

macro_rules! spec {
    ($name:literal, $kind:ident, $class:ident, $idempotence:ident) => {
        Spec {
            name: $name,
            kind: Kind::$kind,
            class: Class::$class,
            idempotence: Idempotence::$idempotence,
            schema: include_str!(concat!("../../prompts/tools/", $name, "/schema.json")),
            lean: include_str!(concat!("../../prompts/tools/", $name, "/lean.md")),
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
    spec!("run_terminal_cmd", World, Execute, Unknowable),
    spec!("task_output", World, Read, Repeatable),
    spec!("stop_task", World, Interact, Repeatable),
    spec!("todo_write", Host, Interact, Repeatable),
    spec!("fetch_rules", Host, Read, Repeatable),
    spec!("update_memory", World, Interact, Checkable),
];

/// The tool that keeps texts for later sessions. It touches no file of the workspace, and is decided like one that does:
/// what it keeps is read by sessions that know nothing of this one.
pub const MEMORY: &str = "update_memory";

/// The tool with exactly this name.
pub fn find(name: &str) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.name == name)
}
