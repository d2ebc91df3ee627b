//! What the user, the administrator and the project tell the model beforehand: instruction files, rules, skills. Looked at
//! every turn, read only where something changed.
//!
//! Rules of a project are text like its `AGENTS.md`, whether it is trusted or not; its skills are listed only when it is.

pub mod files;
mod front_matter;
pub mod nested;
pub mod skills;

use super::instructions;
use files::{Files, Found, names};
use plimsoll_core::path::escape;
use plimsoll_core::workspace::{InstructionSource, Rule, Skill};
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Rules that are offered; what comes behind is named in the log.
const MOST: usize = 300;

/// Where texts lie beside the user's configuration folder and the roots, and what counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources {
    /// The administrator's folder.
    pub managed: Option<PathBuf>,
    /// Files and folders of other agents that are read, relative to each root.
    pub foreign: Vec<String>,
    /// Folders with further skills.
    pub skills: Vec<PathBuf>,
    /// Whether the user trusts the project.
    pub trusted: bool,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Texts {
    /// What is always in force: managed, the user's, then the project's by root.
    pub instructions: Vec<InstructionSource>,
    /// The other rules, in the same order.
    pub rules: Vec<Rule>,
    /// Skills.
    pub skills: Vec<Skill>,
}

/// Reads everything that changed. Blocks. Roots are canonical.
pub fn read(config_dir: &Path, roots: &[PathBuf], sources: &Sources, files: &mut Files) -> Texts {
    let mut reader = Reader { files, seen: HashSet::new(), texts: Texts::default() };
    if let Some(managed) = &sources.managed {
        reader.instructions(&managed.join(instructions::NAME), None);
    }
    reader.instructions(&config_dir.join(instructions::NAME), None);
    reader.folder(&config_dir.join("rules"), None);
    for (no, root) in (0_u16..).zip(roots) {
        let inside = Some((no, root.as_path()));
        reader.instructions(&root.join(instructions::NAME), inside);
        reader.folder(&root.join(".plimsoll/rules"), inside);
        for foreign in &sources.foreign {
            reader.foreign(&root.join(foreign), inside);
        }
    }
    let mut texts = reader.texts;
    texts.skills = skills::read(config_dir, roots, sources, files);
    if texts.rules.len() > MOST {
        tracing::warn!(rules = texts.rules.len(), "there are too many rules; the last ones are not offered");
        texts.rules.truncate(MOST);
    }
    texts
}

/// A root by its number.
type Inside<'a> = Option<(u16, &'a Path)>;

struct Reader<'a> {
    files: &'a mut Files,
    /// Canonical paths: a file that others link to counts once.
    seen: HashSet<PathBuf>,
    texts: Texts,
}

impl Reader<'_> {
    fn found(&mut self, path: &Path, inside: Inside<'_>) -> Option<Found> {
        let found = self.files.read(path, inside.map(|(_, root)| root))?;
        self.seen.insert(found.real.clone()).then_some(found)
    }

    fn instructions(&mut self, path: &Path, inside: Inside<'_>) {
        if let Some(found) = self.found(path, inside) {
            self.always(path, &found.text);
        }
    }

    fn always(&mut self, path: &Path, text: &str) {
        let path = escape(path.as_os_str().as_bytes());
        self.texts.instructions.push(InstructionSource { path, text: text.to_owned() });
    }

    fn folder(&mut self, folder: &Path, inside: Inside<'_>) {
        for name in names(folder) {
            let path = folder.join(name);
            if path.extension().is_some_and(|ending| ending == "md" || ending == "mdc") {
                self.rule(&path, inside);
            }
        }
    }

    /// Another agent's folder of rules, or its one file, which is always in force.
    fn foreign(&mut self, path: &Path, inside: Inside<'_>) {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => self.folder(path, inside),
            Ok(_) => self.instructions(path, inside),
            Err(_) => {}
        }
    }

    fn rule(&mut self, path: &Path, inside: Inside<'_>) {
        let Some(found) = self.found(path, inside) else { return };
        let shown = escape(path.as_os_str().as_bytes());
        let (head, text) = front_matter::parse(&found.text).unwrap_or_else(|problem| {
            if found.fresh {
                tracing::warn!(rule = shown, problem, "the head of a rule cannot be read; it is given on request only");
            }
            (front_matter::FrontMatter::default(), &*found.text)
        });
        if text.trim().is_empty() {
            return;
        }
        if head.always {
            self.always(path, text);
            return;
        }
        let name = path.file_stem().map(|stem| escape(stem.as_bytes())).unwrap_or_default();
        self.texts.rules.push(Rule {
            name: free_name(&self.texts.rules, name),
            path: shown,
            root: inside.map(|(no, _)| no),
            description: head.description,
            globs: head.globs,
            text: text.to_owned(),
        });
    }
}

/// The name, with a number behind it when another rule has it.
fn free_name(rules: &[Rule], name: String) -> String {
    let taken = |name: &str| rules.iter().any(|rule| rule.name == name);
    if !taken(&name) {
        return name;
    }
    (2..=MOST + 2).map(|no| format!("{name}-{no}")).find(|name| !taken(name)).unwrap_or(name)
}

#[cfg(test)]
mod tests;
