//! Go, Maven, make.

use super::{Target, text};
use plimsoll_core::permission::command::quote;
use std::path::Path;

/// `go test`.
#[expect(clippy::unnecessary_wraps, reason = "one shape for all test runners")]
pub(super) fn go(_dir: &Path, target: &Target) -> Result<String, String> {
    Ok(match target {
        Target::All => "go test ./...".to_owned(),
        Target::Name(name) => format!("go test ./... -run {}", quote(name)),
        Target::Path { inside, is_dir, node } => {
            let folder =
                if *is_dir { inside.as_str() } else { inside.rsplit_once('/').map_or("", |(folder, _)| folder) };
            let package = match (folder, is_dir) {
                ("", true) => "./...".to_owned(),
                ("", false) => ".".to_owned(),
                (folder, true) => quote(&format!("./{folder}/...")),
                (folder, false) => quote(&format!("./{folder}")),
            };
            let run = node.as_ref().map(|node| format!(" -run {}", quote(node))).unwrap_or_default();
            format!("go test {package}{run}")
        }
    })
}

/// Maven's `test` phase, without colours and questions. Not quiet: then it would not say how many tests passed.
pub(super) fn maven(dir: &Path, target: &Target) -> Result<String, String> {
    let base = if dir.join("mvnw").is_file() { "./mvnw -B test" } else { "mvn -B test" };
    let class =
        |path: &str| path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(stem, _)| stem.to_owned());
    Ok(match target {
        Target::All => base.to_owned(),
        Target::Path { inside, .. } if inside.is_empty() => base.to_owned(),
        Target::Name(name) => format!("{base} -Dtest={}", quote(&name.replace("::", "#"))),
        Target::Path { inside, is_dir: false, node } => {
            let Some(class) = class(inside) else { return Err(no_class(inside)) };
            let method = node.as_ref().map(|node| format!("#{node}")).unwrap_or_default();
            format!("{base} -Dtest={}", quote(&format!("{class}{method}")))
        }
        Target::Path { inside, is_dir: true, .. } => return Err(no_class(inside)),
    })
}

fn no_class(inside: &str) -> String {
    format!("Maven runs tests by class: `{inside}` is none. Name a test class, its file, or the folder of a module.")
}

/// The makefile's target for tests, with the file's name.
pub(super) fn make_target(dir: &Path) -> Option<(&'static str, &'static str)> {
    let file = ["GNUmakefile", "makefile", "Makefile"].into_iter().find(|name| dir.join(name).is_file())?;
    let text = text(&dir.join(file));
    let has = |target: &str| {
        text.lines().any(|line| {
            let names = line.split_once(':').filter(|(_, rest)| !rest.starts_with('='));
            !line.starts_with(['\t', '#', ' '])
                && names.is_some_and(|(names, _)| names.split_whitespace().any(|name| name == target))
        })
    };
    ["test", "check"].into_iter().find(|target| has(target)).map(|target| (file, target))
}

/// `make test`.
pub(super) fn make(dir: &Path, target: &Target) -> Result<String, String> {
    let name = make_target(dir).map_or("test", |(_, name)| name);
    match target {
        Target::All => Ok(format!("make {name}")),
        Target::Path { inside, node: None, .. } if inside.is_empty() => Ok(format!("make {name}")),
        Target::Path { .. } | Target::Name(_) => Err(format!(
            "`make {name}` runs all tests and takes no target. Leave `target` out; a part of them is for run_terminal_cmd."
        )),
    }
}
