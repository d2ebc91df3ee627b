//! What `plimsoll doctor` says: one finding after the other, as text for people and as JSON for programs.

use super::super::out::{self, Style};
use serde::Serialize;

/// Findings of one kind that are all well and shown one by one; people with a hundred projects want to see the others.
const ALIKE_MAX: usize = 20;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Works, but not as well as it could.
    Warn,
    /// Does not work.
    Error,
}

/// One finding. Programs read it: fields are added, never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Group and name, such as `data.room`.
    pub id: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What was found, in one line.
    pub what: String,
    /// What to do about it, in one or more lines.
    pub fix: Option<String>,
}

impl Finding {
    /// All is well.
    pub fn ok(id: &'static str, what: impl Into<String>) -> Self {
        Self { id, level: Level::Ok, what: what.into(), fix: None }
    }

    /// It could be better.
    pub fn warn(id: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { id, level: Level::Warn, what: what.into(), fix: Some(fix.into()) }
    }

    /// It does not work.
    pub fn error(id: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { id, level: Level::Error, what: what.into(), fix: Some(fix.into()) }
    }

    /// From a message in the form of Plimsoll's errors: what is wrong, a semicolon, what to do.
    pub fn of_message(id: &'static str, level: Level, message: &str, otherwise: &str) -> Self {
        let (what, fix) = message.split_once("; ").unwrap_or((message, otherwise));
        Self { id, level, what: what.to_owned(), fix: Some(fix.to_owned()) }
    }

    /// The same with something that can be done although all is well.
    pub fn with_fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    fn group(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }
}

/// Everything that was found.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Of this build.
    pub version: &'static str,
    /// Findings that are errors.
    pub errors: usize,
    /// Findings that are warnings.
    pub warnings: usize,
    /// In the order in which they are shown; those of a group stand together.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Counts them.
    pub fn new(version: &'static str, findings: Vec<Finding>) -> Self {
        let count = |level| findings.iter().filter(|finding| finding.level == level).count();
        Self { version, errors: count(Level::Error), warnings: count(Level::Warn), findings }
    }

    /// For people: a line for each finding below the name of its group, and what to do below what is not well.
    pub fn text(&self, style: Style) -> String {
        let mut text = format!("Plimsoll {}\n", self.version);
        let mut group = "";
        let mut alike = ("", 0);
        for finding in &self.findings {
            if finding.group() != group {
                group = finding.group();
                text.extend(["\n", &style.bold(title(group)), "\n"]);
            }
            alike = if alike.0 == finding.id { (alike.0, alike.1 + 1) } else { (finding.id, 1) };
            if finding.level == Level::Ok && finding.fix.is_none() && alike.1 > ALIKE_MAX {
                continue;
            }
            text.push_str(&line(finding, style));
        }
        let folded = self.folded();
        if folded > 0 {
            text.extend(["\n", &folded.to_string(), " more are well and not shown; --json has them all.\n"]);
        }
        text.extend(["\n", &self.summary(), "\n"]);
        text
    }

    /// How many findings the text leaves out.
    fn folded(&self) -> usize {
        let quiet = self.findings.iter().enumerate().filter(|(at, finding)| {
            let before = self.findings.iter().take(*at).rev().take_while(|other| other.id == finding.id).count();
            finding.level == Level::Ok && finding.fix.is_none() && before >= ALIKE_MAX
        });
        quiet.count()
    }

    fn summary(&self) -> String {
        let count = |number: usize, word: &str| match number {
            0 => format!("no {word}s"),
            1 => format!("1 {word}"),
            more => format!("{more} {word}s"),
        };
        format!("{}, {}", count(self.errors, "error"), count(self.warnings, "warning"))
    }
}

fn line(finding: &Finding, style: Style) -> String {
    let what = out::harmless(&finding.what, false);
    let mut text = match finding.level {
        Level::Ok => format!("  ok     {what}\n"),
        Level::Warn => format!("  {}   {what}\n", style.bold("warn")),
        Level::Error => format!("  {}  {what}\n", style.bold("error")),
    };
    let fix = finding.fix.as_deref().map(|fix| out::harmless(fix.trim_end(), true)).unwrap_or_default();
    for (at, line) in fix.lines().enumerate() {
        let line = format!("         {}{line}", if at == 0 { "fix: " } else { "     " });
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn title(group: &str) -> &str {
    match group {
        "folders" => "Folders",
        "config" => "Configuration",
        "texts" => "Texts for the model",
        "daemon" => "Daemon",
        "data" => "Data",
        "system" => "System",
        "sandbox" => "Limits on commands",
        "keys" => "Keys",
        "servers" => "Model servers on this machine",
        "provider" => "Call",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_grouped_with_a_fix_below_what_needs_one() {
        let report = Report::new(
            "1.2.3",
            vec![
                Finding::ok("system.git", "git version 2\u{1b}[2J"),
                Finding::of_message("system.shell", Level::Warn, "only sh is there; install bash", "?"),
                Finding::error("data.room", "no room", "free some"),
                Finding::ok("servers.found", "one").with_fix("write:\n\n  model = \"x\"\n"),
            ],
        );
        let expected = "Plimsoll 1.2.3\n\nSystem\n  ok     git version 2\u{fffd}[2J\n  warn   only sh is there\n         \
            fix: install bash\n\nData\n  error  no room\n         fix: free some\n\nModel servers on this machine\n  ok     \
            one\n         fix: write:\n\n                model = \"x\"\n\n1 error, 1 warning\n";
        assert_eq!(report.text(Style::PLAIN), expected);
    }

    #[test]
    fn the_json_is_what_the_help_promises() {
        let report = Report::new("1.2.3", vec![Finding::ok("a.b", "c"), Finding::warn("a.d", "e", "f")]);
        let expected = r#"{"version":"1.2.3","errors":0,"warnings":1,"findings":[{"id":"a.b","level":"ok","what":"c","fix":null},{"id":"a.d","level":"warn","what":"e","fix":"f"}]}"#;
        assert_eq!(serde_json::to_string(&report).unwrap(), expected);
    }

    #[test]
    fn of_many_that_are_well_some_are_shown_and_all_that_are_not() {
        let mut findings: Vec<Finding> =
            (0..30).map(|number| Finding::ok("data.project", number.to_string())).collect();
        findings.push(Finding::error("data.project", "broken", "mend it"));
        let text = Report::new("1", findings).text(Style::PLAIN);
        assert!(text.contains("  ok     19\n  error  broken\n") && !text.contains("ok     20"), "{text}");
        assert!(text.contains("\n10 more are well and not shown; --json has them all.\n"), "{text}");
    }
}
