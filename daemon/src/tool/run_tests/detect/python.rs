//! Python: pytest where the project's files speak of it, or have tests that only pytest finds; else `unittest`, which every
//! Python has. The interpreter is the project's own environment where there is one.

use super::{Target, files, is_file, text};
use plimsoll_core::permission::command::quote;
use plimsoll_core::tool::test_report::Runner;
use std::path::Path;

/// Folders that hold tests.
const FOLDERS: &[&str] = &["tests", "test"];

/// Test files that are looked into.
const LOOKED_INTO: usize = 50;

/// Which of the two, what says so, and whether that is a file of the project as such.
pub(super) fn sign(dir: &Path) -> Option<(Runner, String, bool)> {
    if let Some(file) = is_file(dir, "pytest.ini") {
        return Some((Runner::Pytest, file, true));
    }
    let speaks = |name: &str| text(&dir.join(name)).contains("pytest");
    let mut requirements: Vec<String> = files(dir);
    requirements.retain(|name| name.starts_with("requirements") && has_ending(name, "txt"));
    let named = ["pyproject.toml", "setup.cfg", "tox.ini", "setup.py"].map(str::to_owned);
    if let Some(name) = named.iter().chain(&requirements).find(|name| speaks(name)) {
        return Some((Runner::Pytest, format!("{name}, which names pytest"), true));
    }
    let (tests, place) = tests(dir);
    let project = ["pyproject.toml", "setup.cfg", "setup.py"].iter().find_map(|name| is_file(dir, name));
    let shared = is_file(dir, "conftest.py");
    if tests.is_empty() || shared.is_some() {
        let of_project = project.is_some();
        return project.or(shared).map(|file| (Runner::Pytest, file, of_project));
    }
    let texts: Vec<String> = tests.iter().take(LOOKED_INTO).map(|name| text(&dir.join(name))).collect();
    let of_pytest = |text: &str| {
        text.lines().any(|line| {
            ["import pytest", "from pytest", "def test_", "async def test_"].iter().any(|head| line.starts_with(head))
        })
    };
    if texts.iter().any(|text| of_pytest(text)) {
        return Some((Runner::Pytest, format!("tests for pytest in {place}"), project.is_some()));
    }
    Some((Runner::Unittest, format!("tests for unittest in {place}"), project.is_some()))
}

/// Paths of the test files right here or in a folder for tests, and where they are.
fn tests(dir: &Path) -> (Vec<String>, String) {
    let is_test = |name: &str| has_ending(name, "py") && (name.starts_with("test") || name.ends_with("_test.py"));
    let here: Vec<String> = files(dir).into_iter().filter(|name| is_test(name)).collect();
    if let Some(first) = here.first() {
        return (here.clone(), first.clone());
    }
    for folder in FOLDERS {
        let inside: Vec<String> = files(&dir.join(folder)).into_iter().filter(|name| has_ending(name, "py")).collect();
        if !inside.is_empty() {
            return (inside.iter().map(|name| format!("{folder}/{name}")).collect(), format!("{folder}/"));
        }
    }
    (Vec::new(), String::new())
}

fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == ending)
}

fn interpreter(dir: &Path) -> &'static str {
    [".venv/bin/python", "venv/bin/python"].into_iter().find(|path| dir.join(path).exists()).unwrap_or("python3")
}

/// `python3 -m pytest`.
pub(super) fn pytest(dir: &Path, target: &Target) -> Result<String, String> {
    let base = format!("{} -m pytest", interpreter(dir));
    Ok(match target {
        Target::All => base,
        Target::Path { inside, node: None, .. } if inside.is_empty() => base,
        Target::Path { inside, node, .. } => {
            let node = node.as_ref().map(|node| format!("::{node}")).unwrap_or_default();
            format!("{base} {}", quote(&format!("{inside}{node}")))
        }
        Target::Name(name) if name.contains("::") => {
            let path = name.split("::").next().unwrap_or_default();
            return Err(format!("There is no file `{path}`, which the target `{name}` names. Give an existing file."));
        }
        Target::Name(name) => format!("{base} -k {}", quote(name)),
    })
}

/// `python3 -m unittest`.
#[expect(clippy::unnecessary_wraps, reason = "one shape for all test runners")]
pub(super) fn unittest(dir: &Path, target: &Target) -> Result<String, String> {
    let base = format!("{} -m unittest", interpreter(dir));
    let discover = discover(dir);
    Ok(match target {
        Target::All => format!("{base} {discover}"),
        Target::Path { inside, node, .. } if inside.is_empty() && node.is_none() => format!("{base} {discover}"),
        Target::Path { inside, is_dir: true, .. } => format!("{base} discover -s {}", quote(inside)),
        Target::Path { inside, node: None, .. } => format!("{base} {}", quote(inside)),
        Target::Path { inside, node: Some(node), .. } => {
            let module = inside.strip_suffix(".py").unwrap_or(inside).replace('/', ".");
            format!("{base} {}", quote(&format!("{module}.{}", node.replace("::", "."))))
        }
        Target::Name(name) if name.contains('.') => format!("{base} {}", quote(name)),
        Target::Name(name) => format!("{base} {discover} -k {}", quote(name)),
    })
}

/// How all tests are found: what lies in a folder that is no package is not found from above it.
fn discover(dir: &Path) -> String {
    let (tests, place) = tests(dir);
    let folder = FOLDERS.iter().find(|folder| place == format!("{folder}/"));
    let start = match folder {
        Some(folder) if !dir.join(folder).join("__init__.py").exists() => format!(" -s {folder}"),
        Some(_) | None => String::new(),
    };
    let name = |path: &String| path.rsplit('/').next().is_some_and(|name| name.starts_with("test"));
    let pattern = if tests.iter().any(name) { "" } else { " -p '*_test.py'" };
    format!("discover{start}{pattern}")
}
