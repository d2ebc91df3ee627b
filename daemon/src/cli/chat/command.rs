//! What a line of a chat means: a prompt, or a command of its own.

use std::ffi::OsString;

/// A command with its name, its argument and what it does, in the order of the help.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("/help", "", "this list"),
    ("/new", "", "begin another session"),
    ("/resume", "ID", "go on with another session"),
    ("/sessions", "", "list the sessions of this project"),
    ("/mode", "MODE", "set the permission mode: plan, ask, accept_edits, auto or full"),
    ("/attach", "PATH[:A-B]", "put a file beside the next prompt"),
    ("/undo", "", "take back what the last turn wrote into files"),
    ("/context", "", "what the model will see, layer by layer"),
    ("/exit", "", "leave; Ctrl-D does the same"),
];

/// What a line means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Nothing.
    Nothing,
    /// Something for the model.
    Prompt(String),
    /// The list of commands.
    Help,
    /// Another session.
    New,
    /// That session.
    Resume(String),
    /// The sessions.
    Sessions,
    /// Another mode.
    Mode(String),
    /// A file beside the next prompt.
    Attach(OsString),
    /// Undo the last turn's edits.
    Undo,
    /// Look at the next request.
    Context,
    /// The end.
    Exit,
    /// No command: why, and what to do.
    Wrong(String, &'static str),
}

impl Command {
    /// What a line means. Only a line that begins with a slash and a word is a command.
    pub fn of_line(line: &str) -> Self {
        let text = line.trim();
        if text.is_empty() {
            return Self::Nothing;
        }
        // A path is no command, and a blank before the slash says that none is meant.
        let first = text.split_whitespace().next().unwrap_or_default();
        if !line.starts_with('/') || first.get(1..).is_none_or(|name| name.is_empty() || name.contains('/')) {
            return Self::Prompt(text.to_owned());
        }
        let argument = text.get(first.len()..).unwrap_or_default().trim();
        match (first, argument) {
            ("/help", "") => Self::Help,
            ("/new", "") => Self::New,
            ("/sessions", "") => Self::Sessions,
            ("/undo", "") => Self::Undo,
            ("/context", "") => Self::Context,
            ("/exit" | "/quit", "") => Self::Exit,
            ("/resume", id) if !id.is_empty() => Self::Resume(id.to_owned()),
            ("/mode", mode) if !mode.is_empty() => Self::Mode(mode.to_owned()),
            ("/attach", path) if !path.is_empty() => Self::Attach(path.into()),
            _ => match COMMANDS.iter().find(|(name, ..)| *name == first) {
                Some((name, "", _)) => Self::Wrong(format!("{name} takes nothing more"), "/help lists the commands"),
                Some((name, wants, _)) => Self::Wrong(format!("{name} needs {wants}"), "/help lists the commands"),
                None => Self::Wrong(
                    format!("there is no command {first}"),
                    "/help lists the commands; begin the line with a blank to say it to the model",
                ),
            },
        }
    }
}

/// The list of commands.
pub fn help() -> String {
    let lines = COMMANDS.iter().map(|(name, wants, what)| {
        let usage = format!("{name} {wants}");
        format!("  {usage:<20} {what}\n")
    });
    lines.collect::<String>() + "A backslash at a line's end goes on in the next line."
}

/// The commands that begin like this.
pub fn completed(start: &str) -> Vec<String> {
    let begin = |(name, wants, _): &(&str, &str, &str)| {
        let end = if wants.is_empty() { "" } else { " " };
        name.starts_with(start).then(|| format!("{name}{end}"))
    };
    COMMANDS.iter().filter_map(begin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slash_and_a_word_make_a_command() {
        let prompt = |text: &str| Command::Prompt(text.to_owned());
        assert_eq!(Command::of_line(" \t"), Command::Nothing);
        assert_eq!(Command::of_line("  what is it? "), prompt("what is it?"));
        assert_eq!(Command::of_line("/usr/bin is what?"), prompt("/usr/bin is what?"));
        assert_eq!(Command::of_line(" /undo is a command"), prompt("/undo is a command"));
        assert_eq!(Command::of_line("/ is the root"), prompt("/ is the root"));
        assert_eq!(Command::of_line("/mode  plan "), Command::Mode("plan".to_owned()));
        assert_eq!(Command::of_line("/attach a b.rs:1-2"), Command::Attach("a b.rs:1-2".into()));
        assert_eq!(Command::of_line("/quit"), Command::Exit);
    }

    #[test]
    fn every_command_of_the_help_is_understood_and_a_wrong_one_is_told() {
        for (name, wants, _) in COMMANDS {
            assert!(!matches!(Command::of_line(&format!("{name} {wants}")), Command::Wrong(..) | Command::Prompt(_)));
            let other = if wants.is_empty() { format!("{name} x") } else { (*name).to_owned() };
            assert!(matches!(Command::of_line(&other), Command::Wrong(..)), "{other}");
            assert!(help().contains(name));
        }
        let Command::Wrong(message, hint) = Command::of_line("/sing") else { panic!("no command") };
        assert_eq!(message, "there is no command /sing");
        assert!(hint.contains("begin the line with a blank"));
    }

    #[test]
    fn commands_are_completed() {
        assert_eq!(completed("/m"), ["/mode "]);
        assert_eq!(completed("/e"), ["/exit"]);
        assert_eq!(completed("x"), [""; 0]);
    }
}
