//! Files that nothing builds: a test that is in no binary, a module that no `mod` names.

use super::assert_none;
use super::rust;
use super::tree::{self, File};

/// Folders whose files are modules of one crate, with its root.
const CRATES: &[(&str, &[&str])] = &[
    ("daemon/src/", &["daemon/src/lib.rs", "daemon/src/main.rs"]),
    ("daemon/core/src/", &["daemon/core/src/lib.rs"]),
    ("protocol/src/", &["protocol/src/lib.rs"]),
    ("tests/support/", &["tests/support/lib.rs"]),
    ("tests/e2e/", &["tests/e2e/main.rs"]),
    ("tests/kills/", &["tests/kills/main.rs"]),
    ("tests/tidy/", &["tests/tidy/main.rs"]),
];

/// Folders in which cargo finds a target by itself, with their manifest.
const TARGETS: &[(&str, &str)] = &[
    ("daemon/tests/", "daemon/Cargo.toml"),
    ("daemon/core/tests/", "daemon/core/Cargo.toml"),
    ("protocol/tests/", "protocol/Cargo.toml"),
];

/// The files of which one must declare the module of `path`, and the module's name.
fn parents(path: &str, folder: &str, roots: &[&str]) -> (Vec<String>, String) {
    let inside = path.trim_end_matches(".rs");
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    let (above, name) = inside.rsplit_once('/').unwrap_or(("", inside));
    let above_crate = format!("{above}/") == folder;
    let parents = if above_crate {
        roots.iter().map(|root| (*root).to_owned()).collect()
    } else {
        vec![format!("{above}.rs"), format!("{above}/mod.rs")]
    };
    (parents, name.to_owned())
}

/// Whether a file beside it declares it by `#[path]`.
fn named_by_path(files: &[File], path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else { return false };
    let attribute = format!("#[path = \"{name}\"]");
    files
        .iter()
        .filter(|file| file.path.rsplit_once('/').is_some_and(|(beside, _)| beside == folder))
        .any(|file| rust::without_comments(&file.text).contains(&attribute))
}

fn check(files: &[File]) -> Vec<String> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| rust::without_comments(&file.text));
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.has_ending(".rs")) {
        for (folder, roots) in CRATES {
            if !file.path.starts_with(folder) || roots.contains(&file.path.as_str()) {
                continue;
            }
            let (parents, name) = parents(&file.path, folder, roots);
            let declared = parents.iter().filter_map(|parent| text(parent)).any(|code| {
                rust::after_word(&code, &format!("mod {name}")).any(|after| after.trim_start().starts_with(';'))
            });
            if !(declared || named_by_path(files, &file.path)) {
                findings.push(format!("{}: no `mod {name};` in {}", file.path, parents.join(" or ")));
            }
        }
        for (folder, manifest) in TARGETS {
            let Some(inside) = file.path.strip_prefix(folder) else { continue };
            let manual = text(manifest).is_some_and(|text| text.contains("autotests = false"));
            let named = text(manifest).is_some_and(|text| text.contains(&format!("tests/{inside}")));
            if !inside.contains('/') && manual && !named {
                findings.push(format!("{}: it is no target of {manifest}", file.path));
            }
        }
    }
    findings
}

#[test]
fn every_source_is_built() {
    assert_none("files that nothing builds", &check(&tree::files()));
}

#[test]
fn a_forgotten_file_is_found() {
    let files = [
        File::sample("tests/e2e/main.rs", "mod turn;\n// mod forgotten;"),
        File::sample("tests/e2e/turn.rs", ""),
        File::sample("tests/e2e/forgotten.rs", ""),
        File::sample("daemon/src/lib.rs", "pub mod store;"),
        File::sample("daemon/src/store/mod.rs", "mod batch;\nmod rows { }"),
        File::sample("daemon/src/store/batch.rs", "#[cfg(test)]\nmod tests;\n#[path = \"odd_tests.rs\"]\nmod odd;"),
        File::sample("daemon/src/store/odd_tests.rs", ""),
        File::sample("daemon/src/store/batch/tests.rs", ""),
        File::sample("daemon/src/store/rows.rs", ""),
        File::sample("daemon/Cargo.toml", "autotests = false\npath = \"tests/named.rs\""),
        File::sample("daemon/tests/named.rs", ""),
        File::sample("daemon/tests/unnamed.rs", ""),
    ];
    assert_eq!(
        check(&files),
        [
            "tests/e2e/forgotten.rs: no `mod forgotten;` in tests/e2e/main.rs",
            "daemon/src/store/rows.rs: no `mod rows;` in daemon/src/store.rs or daemon/src/store/mod.rs",
            "daemon/tests/unnamed.rs: it is no target of daemon/Cargo.toml",
        ]
    );
}
