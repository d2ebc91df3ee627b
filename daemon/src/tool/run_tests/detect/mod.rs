//! Which command runs the tests, and why: what the configuration names, else what the project's files say. Looks at a few
//! files, runs nothing, changes nothing. Blocking calls.

mod cargo;
mod javascript;
mod others;
mod python;

#[cfg(test)]
mod tests;

use crate::tool::scope::{self, Resolved};
use crate::tool::{TestsEnv, ToolEnv};
use plimsoll_core::path::escape;
use plimsoll_core::permission::command::quote;
use plimsoll_core::tool::call::Zone;
use plimsoll_core::tool::test_report::Runner;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Of a file that says how tests are run so many bytes are read.
const READ_MAX: u64 = 1024 * 1024;

/// Entries of a folder that are looked through for tests.
const ENTRIES_MAX: usize = 2_000;

/// What stands in a configured command for the target.
const PLACEHOLDER: &str = "{target}";

/// A command that runs tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// What it is.
    pub(super) runner: Runner,
    /// The text for the shell.
    pub(super) command: String,
    /// The folder in which it runs.
    pub(super) cwd: Resolved,
    /// Why this one, as a clause.
    pub(super) why: String,
}

/// What the run is limited to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// Nothing: all tests.
    All,
    /// A file or folder, relative to the folder in which the command runs (empty: that folder), with what stands behind
    /// `::` in it.
    Path { inside: String, is_dir: bool, node: Option<String> },
    /// A test's name.
    Name(String),
}

/// A way to run the tests of one folder.
struct Way {
    runner: Runner,
    /// The file that says so, by name.
    sign: String,
    /// The command with a target; the error says why there is none.
    command: fn(&Path, &Target) -> Result<String, String>,
}

/// The ways that a folder shows, in the order in which they are taken.
fn ways(dir: &Path) -> Vec<Way> {
    let way = |runner, sign: Option<String>, command| sign.map(|sign| Way { runner, sign, command });
    let python = python::sign(dir);
    let script = javascript::script(dir);
    [
        way(Runner::Cargo, is_file(dir, "Cargo.toml"), cargo::command as fn(&Path, &Target) -> Result<String, String>),
        match python {
            Some((Runner::Pytest, sign)) => way(Runner::Pytest, Some(sign), python::pytest),
            Some((runner, sign)) => way(runner, Some(sign), python::unittest),
            None => None,
        },
        way(Runner::Npm, script.then(|| "the script `test` in package.json".to_owned()), javascript::script_command),
        way(Runner::Node, javascript::tests(dir).filter(|_| !script), javascript::node_command),
        way(Runner::Go, is_file(dir, "go.mod"), others::go),
        way(Runner::Maven, is_file(dir, "pom.xml"), others::maven),
        way(
            Runner::Make,
            others::make_target(dir).map(|(file, target)| format!("the target `{target}` in {file}")),
            others::make,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The command for this target. The error is text for the model.
pub(super) fn choose(env: &ToolEnv, target: Option<&str>) -> Result<Choice, String> {
    let target = target.map(str::trim).filter(|target| !target.is_empty() && *target != ".");
    if let Some(text) = target {
        if text.starts_with('-') {
            return Err(format!(
                "`target` `{text}` begins with a dash, so it would be an option of the runner. Name a file, a folder or a test; \
                 a command with options is for run_terminal_cmd."
            ));
        }
        if text.chars().any(char::is_control) {
            return Err("`target` holds a control character. Name one file, folder or test.".to_owned());
        }
    }
    if let Some(choice) = configured(env, &env.tests, target)? {
        return Ok(choice);
    }
    let place = target.and_then(|text| place_of(env, text));
    let (at, node) = match place {
        Some((place, node)) => {
            if !matches!(place.zone, Zone::Root(_)) {
                return Err(format!("{} lies outside the project; its tests are not this project's.", place.shown));
            }
            (Some(place.path), node)
        }
        None => (None, None),
    };
    let Some((dir, found)) = folder_with_tests(env, at.as_deref()) else { return Err(nothing(env, at.as_deref())) };
    let limited = match (&at, target) {
        (Some(path), _) => Target::Path {
            inside: path.strip_prefix(&dir).map(|inside| escape(inside.as_os_str().as_bytes())).unwrap_or_default(),
            is_dir: path.is_dir(),
            node,
        },
        (None, Some(name)) => Target::Name(name.to_owned()),
        (None, None) => Target::All,
    };
    if let Target::Path { inside, .. } = &limited
        && inside.starts_with('-')
    {
        return Err(format!("`target` `{inside}` begins with a dash. Write `./{inside}`'s folder instead."));
    }
    let shown = scope::show(env, &dir);
    let mut found = found.into_iter();
    let Some(way) = found.next() else { return Err(nothing(env, at.as_deref())) };
    let others: Vec<String> = found.map(|other| other.sign).collect();
    let nearest = if at.is_some() { ", the nearest to the target" } else { "" };
    let also = if others.is_empty() { String::new() } else { format!("; also there: {}", others.join(", ")) };
    let place = if shown == "." { String::new() } else { format!(" in {shown}") };
    let command = (way.command)(&dir, &limited)?;
    let cwd = scope::resolve_existing(env, &scope::shown_absolute(&dir))?;
    Ok(Choice { runner: way.runner, command, cwd, why: format!("by {}{place}{nearest}{also}", way.sign) })
}

/// What the configuration names.
fn configured(env: &ToolEnv, tests: &TestsEnv, target: Option<&str>) -> Result<Option<Choice>, String> {
    let Some((command, place)) = &tests.command else { return Ok(None) };
    let command = match target {
        Some(target) if command.contains(PLACEHOLDER) => command.replace(PLACEHOLDER, &quote(target)),
        Some(_) => {
            return Err(format!(
                "The configured command `{command}` takes no target. Leave `target` out to run all tests, or ask the user to write \
                 {PLACEHOLDER} where it belongs in tests.command ({place})."
            ));
        }
        None => command.replace(PLACEHOLDER, "").trim().to_owned(),
    };
    let cwd = scope::resolve_existing(env, ".")?;
    Ok(Some(Choice { runner: Runner::Configured, command, cwd, why: format!("tests.command in {place}") }))
}

/// The file or folder that a target names, and what stands behind `::` in it.
fn place_of(env: &ToolEnv, text: &str) -> Option<(Resolved, Option<String>)> {
    let (path, node) = text.split_once("::").map_or((text, None), |(path, node)| (path, Some(node.to_owned())));
    let found = scope::resolve(env, path).ok().filter(|found| found.exists)?;
    Some((found, node))
}

/// The nearest folder, from `at` up to its root, that shows how its tests are run; without `at` the first root that does.
fn folder_with_tests(env: &ToolEnv, at: Option<&Path>) -> Option<(PathBuf, Vec<Way>)> {
    let with_ways = |dir: &Path| Some((dir.to_owned(), ways(dir))).filter(|(_, found)| !found.is_empty());
    let Some(at) = at else { return env.roots.iter().find_map(|root| with_ways(root)) };
    let root = env.roots.iter().filter(|root| at.starts_with(root)).max_by_key(|root| root.components().count())?;
    at.ancestors().take_while(|dir| dir.starts_with(root)).filter(|dir| dir.is_dir()).find_map(with_ways)
}

fn nothing(env: &ToolEnv, at: Option<&Path>) -> String {
    let place = at.or(env.roots.first().map(PathBuf::as_path)).map(|path| scope::show(env, path)).unwrap_or_default();
    let place =
        if place == "." { "the project's root".to_owned() } else { format!("{place} and the folders above it") };
    format!(
        "Nothing says how the tests are run: in {place} there is no Cargo.toml, no Python tests, no package.json with a script \
         `test`, no go.mod, no pom.xml, no Makefile with a target `test` or `check`. Give a folder of the project as `target`, or \
         ask the user to write the command into .plimsoll/config.toml: `[tests]`, `command = \"…\"`."
    )
}

/// The name, when the folder has a file of it.
fn is_file(dir: &Path, name: &str) -> Option<String> {
    dir.join(name).is_file().then(|| name.to_owned())
}

/// The text of a file; empty when there is none, or when it is no regular file.
fn text(path: &Path) -> String {
    let mut bytes = Vec::new();
    // A pipe in its place must not be waited for.
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
        && let Ok(file) = std::fs::File::open(path)
    {
        let _ = file.take(READ_MAX).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Names of the files in a folder, sorted.
fn files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().take(ENTRIES_MAX);
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
