//! JavaScript: the script `test` of a package.json by the package manager whose lock file is there; without a script, tests for
//! node's own runner.

use super::{Target, files, text};
use plimsoll_core::permission::command::quote;
use std::path::Path;

/// What `npm init` writes: it stands for no tests.
const NONE_YET: &str = "no test specified";

/// Whether there is a script that runs tests.
pub(super) fn script(dir: &Path) -> bool {
    let package: serde_json::Value = serde_json::from_str(&text(&dir.join("package.json"))).unwrap_or_default();
    let script = package.pointer("/scripts/test").and_then(serde_json::Value::as_str);
    script.is_some_and(|script| !script.trim().is_empty() && !script.contains(NONE_YET))
}

/// What shows that there are tests for node's own runner.
pub(super) fn tests(dir: &Path) -> Option<String> {
    let is_test = |name: &String| {
        let stem = [".js", ".mjs", ".cjs"].iter().find_map(|ending| name.strip_suffix(ending));
        stem.is_some_and(|stem| stem.strip_suffix("test").is_some_and(|before| before.ends_with(['.', '_', '-'])))
    };
    let here = files(dir).into_iter().find(is_test);
    here.or_else(|| {
        let inside = files(&dir.join("test"));
        let is_module =
            |name: &&String| [".js", ".mjs", ".cjs"].iter().any(|ending| name.strip_suffix(ending).is_some());
        inside.iter().find(is_module).map(|name| format!("test/{name}"))
    })
}

/// The package manager's way to run the script.
#[expect(clippy::unnecessary_wraps, reason = "one shape for all test runners")]
pub(super) fn script_command(dir: &Path, target: &Target) -> Result<String, String> {
    let has = |name: &str| dir.ancestors().take(8).any(|dir| dir.join(name).is_file());
    let (base, between) = if has("pnpm-lock.yaml") {
        ("pnpm test", " ")
    } else if has("yarn.lock") {
        ("yarn test", " ")
    } else if has("bun.lock") || has("bun.lockb") {
        ("bun run test", " ")
    } else {
        ("npm test", " -- ")
    };
    Ok(match target {
        Target::All => base.to_owned(),
        Target::Path { inside, .. } if inside.is_empty() => base.to_owned(),
        Target::Path { inside, .. } => format!("{base}{between}{}", quote(inside)),
        Target::Name(name) => format!("{base}{between}{}", quote(name)),
    })
}

/// `node --test`.
#[expect(clippy::unnecessary_wraps, reason = "one shape for all test runners")]
pub(super) fn node_command(_dir: &Path, target: &Target) -> Result<String, String> {
    Ok(match target {
        Target::All => "node --test".to_owned(),
        Target::Path { inside, .. } if inside.is_empty() => "node --test".to_owned(),
        Target::Path { inside, node, .. } => {
            let name = node.as_ref().map(|node| format!(" --test-name-pattern={}", quote(node))).unwrap_or_default();
            format!("node --test{name} {}", quote(inside))
        }
        Target::Name(name) => format!("node --test --test-name-pattern={}", quote(name)),
    })
}
