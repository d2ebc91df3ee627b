//! `cargo test`.

use super::{Target, text};
use plimsoll_core::permission::command::quote;
use std::path::Path;

/// Of a workspace's root all members are tested, also where it is a package itself.
#[expect(clippy::unnecessary_wraps, reason = "one shape for all test runners")]
pub(super) fn command(dir: &Path, target: &Target) -> Result<String, String> {
    let is_workspace = text(&dir.join("Cargo.toml")).lines().any(|line| line.trim() == "[workspace]");
    let all = if is_workspace { "cargo test --workspace" } else { "cargo test" };
    Ok(match target {
        Target::All => all.to_owned(),
        Target::Name(name) => format!("{all} {}", quote(name)),
        Target::Path { inside, is_dir, node } => {
            let (part, module) = part(inside, *is_dir);
            let base = if inside.is_empty() { all } else { "cargo test" };
            // What is behind `::` lies in the module of the file.
            let name = match (module, node) {
                (Some(module), Some(node)) => Some(format!("{module}::{node}")),
                (None, Some(node)) => Some(node.clone()),
                (module, None) => module,
            };
            let name = name.map(|name| format!(" {}", quote(&name))).unwrap_or_default();
            format!("{base}{part}{name}")
        }
    })
}

/// The program of tests that a file belongs to, as options, and the module that it is.
fn part(inside: &str, is_dir: bool) -> (String, Option<String>) {
    let stem = inside.strip_suffix(".rs");
    let single = |folder: &str| {
        let rest = inside.strip_prefix(folder)?;
        // The first name is the program's, a file or a folder.
        let name = rest.split('/').next()?;
        Some(quote(name.strip_suffix(".rs").unwrap_or(name))).filter(|name| !name.is_empty())
    };
    if inside == "tests" {
        return (" --test '*'".to_owned(), None);
    }
    for (folder, option) in
        [("tests/", "--test"), ("src/bin/", "--bin"), ("examples/", "--example"), ("benches/", "--bench")]
    {
        if let Some(name) = single(folder) {
            return (format!(" {option} {name}"), None);
        }
    }
    match (inside, stem.or(is_dir.then_some(inside)).and_then(|stem| stem.strip_prefix("src/"))) {
        ("src/lib.rs", _) => (" --lib".to_owned(), None),
        ("src/main.rs", _) | (_, None) => (String::new(), None),
        (_, Some(module)) => {
            let module = module.strip_suffix("/mod").unwrap_or(module);
            (String::new(), Some(module.replace('/', "::")))
        }
    }
}
