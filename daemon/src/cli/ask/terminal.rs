//! The person at the terminal, who is asked for permission. Not standard input, which may be a pipe: the terminal itself.

use super::super::out::{self, Style};
use super::diff;
use super::line::Line;
use plimsoll_protocol::permission::{Ask, AskOption, Choice, OfferedChoice};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// Longest command or list of paths that is shown.
const SHOWN_MAX: usize = 4_000;
/// Longest plan that is shown: what is approved has been read.
const PLAN_MAX: usize = 64_000;

/// A terminal. It is read only while a question stands on it.
#[derive(Debug)]
pub struct Terminal {
    file: File,
    asked: Option<Line>,
    style: Style,
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Yes, this time.
    Once,
    /// Yes, in this session.
    Session,
    /// Yes, in this project from now on.
    Always,
    /// No, possibly with advice for the model.
    Refuse(Option<String>),
    /// Nothing that is an answer.
    Unclear,
    /// Nobody is there any more.
    Gone,
}

impl Reply {
    /// What a line means. Only what is clearly a yes allows.
    pub fn of_line(line: &str) -> Self {
        let line = line.trim();
        match line.to_lowercase().as_str() {
            "" => Self::Unclear,
            "y" | "yes" => Self::Once,
            "s" | "session" => Self::Session,
            "a" | "always" => Self::Always,
            "n" | "no" => Self::Refuse(None),
            _ => Self::Refuse(Some(line.to_owned())),
        }
    }
}

impl Terminal {
    /// The terminal of this process, when it has one and standard error shows on it.
    pub fn open() -> Option<Self> {
        if !out::stderr_is_terminal() {
            return None;
        }
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        Some(Self { file, asked: None, style: Style::of_stderr() })
    }

    /// Puts a question on the terminal. What was typed before it is no answer to it.
    pub fn ask(&mut self, ask: &Ask) -> io::Result<()> {
        self.asked = Some(Line::of(&self.file)?);
        self.file.write_all(question(ask, self.style).as_bytes())?;
        self.file.flush()
    }

    /// The question needs no answer any more.
    pub fn withdraw(&mut self) {
        self.asked = None;
    }

    async fn reply(&mut self) -> Reply {
        match &mut self.asked {
            None => std::future::pending().await,
            Some(asked) => asked.next().await.map_or(Reply::Gone, |line| Reply::of_line(&line)),
        }
    }
}

/// What a person answers; never, without a terminal or a question. Cancel safe.
pub async fn reply(terminal: Option<&mut Terminal>) -> Reply {
    match terminal {
        None => std::future::pending().await,
        Some(terminal) => terminal.reply().await,
    }
}

/// Whether this is among the answers that are offered.
pub fn offers(ask: &Ask, choice: Choice) -> bool {
    option(ask, choice).is_some()
}

fn option(ask: &Ask, choice: Choice) -> Option<&AskOption> {
    ask.options.iter().find(|option| option.kind == OfferedChoice::Known(choice))
}

/// The question as a person reads it. What an agent wrote cannot disguise itself: control characters are visible.
fn question(ask: &Ask, style: Style) -> String {
    if let Some(plan) = &ask.plan {
        return about_plan(ask, plan);
    }
    let subject: String = if ask.changes.is_empty() {
        ask.command.iter().chain(&ask.paths).map(|text| indented(text, SHOWN_MAX)).collect()
    } else {
        diff::shown(&ask.changes, style)
    };
    let mut text = format!("\nMay it? {}\n{subject}  {}\n", out::short(&ask.title, 300), out::short(&ask.reason, 300));
    let mut answers = "y = once".to_owned();
    let lasting = [
        ("s", "in this session", option(ask, Choice::AllowSession)),
        ("a", "in this project from now on", option(ask, Choice::AllowAlways)),
    ];
    for (key, scope, option) in lasting {
        let Some(option) = option else { continue };
        let _ = write!(answers, ", {key} = {scope}");
        if option.rules.is_empty() {
            let _ = writeln!(text, "  {key} stores: {}", out::short(&option.label, 300));
        }
        for rule in &option.rules {
            let _ = writeln!(text, "  {key} stores: {}", out::harmless(rule, false));
        }
    }
    format!("{text}{answers}, n = no, or say what to do instead: ")
}

/// A plan with what each answer does.
fn about_plan(ask: &Ask, plan: &str) -> String {
    let mut text = format!("\nMay it? {}\n{}", out::short(&ask.title, 300), indented(plan, PLAN_MAX));
    for (key, choice) in [("y", Choice::AllowOnce), ("s", Choice::AllowSession), ("n", Choice::Reject)] {
        if let Some(option) = option(ask, choice) {
            let _ = writeln!(text, "  {key} = {}", out::short(&option.label, 300));
        }
    }
    text.push_str("Your answer, or what is to be different: ");
    text
}

fn indented(text: &str, most: usize) -> String {
    let shown: String = text.chars().take(most).collect();
    let mut indented = String::new();
    for line in out::harmless(&shown, true).lines() {
        indented.extend(["    ", line, "\n"]);
    }
    if shown.len() < text.len() {
        indented.push_str("    … (longer than is shown here)\n");
    }
    indented
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_allows() {
        let replies = ["y", " YES ", "s", "A", "n", "no", "", "yes please", "use rm -i"].map(Reply::of_line);
        let expected = [
            Reply::Once,
            Reply::Once,
            Reply::Session,
            Reply::Always,
            Reply::Refuse(None),
            Reply::Refuse(None),
            Reply::Unclear,
            Reply::Refuse(Some("yes please".to_owned())),
            Reply::Refuse(Some("use rm -i".to_owned())),
        ];
        assert_eq!(replies, expected);
    }

    #[test]
    fn a_question_shows_the_whole_command_and_what_lasting_answers_store() {
        let option = |kind, label: &str, rules: &[&str]| AskOption {
            kind: OfferedChoice::Known(kind),
            label: label.to_owned(),
            rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
        };
        let ask = Ask {
            id: "a1".to_owned(),
            call: "c1".to_owned(),
            turn: 1,
            at: 0,
            tool: "run_terminal_cmd".to_owned(),
            title: "Run a command".to_owned(),
            command: Some("make\nrm -rf x\x1b[8m".to_owned()),
            paths: vec!["/w".to_owned()],
            changes: Vec::new(),
            plan: None,
            reason: "commands ask".to_owned(),
            options: vec![
                option(Choice::AllowOnce, "Once", &[]),
                option(Choice::AllowSession, "In this session", &["run_terminal_cmd(make)"]),
                option(Choice::AllowAlways, "Always", &["run_terminal_cmd(make)", "run_terminal_cmd(rm *)"]),
            ],
            resolution: None,
        };
        let expected = "\nMay it? Run a command\n    make\n    rm -rf x\u{fffd}[8m\n    /w\n  commands ask\n  \
            s stores: run_terminal_cmd(make)\n  a stores: run_terminal_cmd(make)\n  a stores: run_terminal_cmd(rm *)\n\
            y = once, s = in this session, a = in this project from now on, n = no, or say what to do instead: ";
        assert_eq!(question(&ask, Style::PLAIN), expected);
        let once = Ask { options: vec![option(Choice::AllowOnce, "Once", &[])], ..ask.clone() };
        assert_eq!([&ask, &once].map(|ask| offers(ask, Choice::AllowSession)), [true, false]);
        assert!(question(&once, Style::PLAIN).ends_with("\ny = once, n = no, or say what to do instead: "));
    }

    #[test]
    fn a_plan_is_shown_with_what_each_answer_does() {
        let option = |kind, label: &str| AskOption {
            kind: OfferedChoice::Known(kind),
            label: label.to_owned(),
            rules: Vec::new(),
        };
        let ask = Ask {
            id: "a1".to_owned(),
            call: "c1".to_owned(),
            turn: 1,
            at: 0,
            tool: "exit_plan_mode".to_owned(),
            title: "leave plan mode and carry out this plan".to_owned(),
            command: None,
            paths: vec!["/d/plans/s.md".to_owned()],
            changes: Vec::new(),
            plan: Some("# Plan\n\n1. Look\x1b[2J".to_owned()),
            reason: "it hands in its plan".to_owned(),
            options: vec![
                option(Choice::AllowOnce, "Approve, and go on in mode `ask`"),
                option(Choice::AllowSession, "Approve, and go on in mode `accept_edits`"),
                option(Choice::Reject, "Keep planning"),
            ],
            resolution: None,
        };
        let expected = "\nMay it? leave plan mode and carry out this plan\n    # Plan\n    \n    1. Look\u{fffd}[2J\n  \
            y = Approve, and go on in mode `ask`\n  s = Approve, and go on in mode `accept_edits`\n  n = Keep planning\n\
            Your answer, or what is to be different: ";
        assert_eq!(question(&ask, Style::PLAIN), expected);
    }

    #[test]
    fn a_command_that_is_not_shown_to_its_end_says_so() {
        assert!(indented(&"x".repeat(SHOWN_MAX + 1), SHOWN_MAX).ends_with("    … (longer than is shown here)\n"));
    }
}
