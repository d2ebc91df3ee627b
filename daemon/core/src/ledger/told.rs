//! What is told of operations whose end was not seen: to the model, and to people in notices.

use super::{FileFinding, Finding, FoundBy, Operation, Stands, Verdict};
use std::fmt::Write as _;

/// Files that are named in one line; of more only the number is told.
const NAMED: usize = 8;

/// Characters of a command that are told in one line.
const COMMAND: usize = 400;

impl Operation {
    /// Its tool with what it acted on, such as `write /w/a.txt` or `run_terminal_cmd make`.
    pub fn what(&self) -> String {
        let what = match &self.command {
            Some(command) if command.chars().count() > COMMAND => {
                format!("{}…", command.chars().take(COMMAND).collect::<String>())
            }
            Some(command) => command.clone(),
            None if self.files.len() > 1 => files(self.files.iter().map(|file| file.path.as_str())),
            None => self.target.clone(),
        };
        format!("{} {what}", self.tool)
    }

    /// One line: its call, what it was, and how it stands, such as `c7 write /w/a.txt: not applied: …`.
    pub fn line(&self) -> String {
        format!("{} {}: {}", self.call, self.what(), self.standing())
    }

    /// What is known of one whose end was not seen, with the evidence.
    pub fn standing(&self) -> String {
        match &self.finding {
            Some(finding) => standing(self, finding),
            None => "cannot tell whether, or how far, it took effect".to_owned(),
        }
    }
}

fn standing(operation: &Operation, finding: &Finding) -> String {
    let of = |stands: Stands| finding.files.iter().filter(move |file| file.stands == stands).collect::<Vec<_>>();
    let paths = |stands: Stands| files(of(stands).into_iter().map(|file| file.path.as_str()));
    let words = finding.verdict.words();
    let mut text = match finding.verdict {
        _ if finding.by == FoundBy::User => match finding.verdict {
            Verdict::Applied | Verdict::NotApplied => format!("{words}, as the user says"),
            Verdict::PartlyApplied | Verdict::Changed | Verdict::CannotTell => {
                "the user has taken it as it is".to_owned()
            }
        },
        Verdict::Applied => format!("{words}: {}. Do not do it again", evidence(&finding.files)),
        Verdict::NotApplied => format!("{words}: {}", evidence(&finding.files)),
        Verdict::PartlyApplied => {
            format!("{words}: as intended {}; as before {}", paths(Stands::After), paths(Stands::Before))
        }
        Verdict::Changed => {
            format!("{words}: neither as before nor as intended {}", paths(Stands::Other))
        }
        Verdict::CannotTell if operation.files.is_empty() => {
            format!("{words} whether, or how far, it took effect")
        }
        Verdict::CannotTell => format!("{words}: not readable {}", paths(Stands::Unreadable)),
    };
    if let Some(note) = &finding.note {
        // Writing to a String cannot fail.
        let _ = write!(text, " ({note})");
    }
    text
}

/// What the files say that all stand alike.
fn evidence(files: &[FileFinding]) -> String {
    match files {
        [file] => standing_of(file),
        several => format!("each of its {} files {}", several.len(), several.first().map_or("", is)),
    }
}

/// One file of an operation, as it stands: a sentence without its path.
fn standing_of(file: &FileFinding) -> String {
    match &file.version {
        Some(version) => format!("the file {} (version {version})", is(file)),
        None => match file.stands {
            Stands::After | Stands::Before | Stands::Other => format!("the file {} (nothing is there)", is(file)),
            Stands::Unreadable => format!("the file {}", is(file)),
        },
    }
}

fn is(file: &FileFinding) -> &'static str {
    match file.stands {
        Stands::After => "is as it was intended",
        Stands::Before => "is as it was before",
        Stands::Other => "is neither as before nor as intended",
        Stands::Unreadable => "cannot be read",
    }
}

/// One line for each file: its path, and how it stands.
pub fn file_lines(files: &[FileFinding]) -> Vec<String> {
    let line = |file: &FileFinding| {
        let version = match (&file.version, file.stands) {
            (Some(version), _) => format!(" (version {version})"),
            (None, Stands::Unreadable) => String::new(),
            (None, Stands::After | Stands::Before | Stands::Other) => " (nothing is there)".to_owned(),
        };
        format!("{} {}{version}", file.path, is(file))
    };
    files.iter().map(line).collect()
}

fn files<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    let paths: Vec<&str> = paths.collect();
    let mut text = paths.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if paths.len() > NAMED {
        // Writing to a String cannot fail.
        let _ = write!(text, " and {} more", paths.len() - NAMED);
    }
    text
}
