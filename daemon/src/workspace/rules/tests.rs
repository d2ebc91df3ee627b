//! What is found where, in which order, and what it counts as.

use super::*;

struct Place {
    _dir: tempfile::TempDir,
    base: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for folder in ["managed", "config", "root"] {
            std::fs::create_dir(base.join(folder)).unwrap();
        }
        Self { base, _dir: dir }
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.base.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn read(&self, foreign: &[&str]) -> Texts {
        let sources = Sources {
            managed: Some(self.base.join("managed")),
            foreign: foreign.iter().map(|path| (*path).to_owned()).collect(),
            ..Sources::default()
        };
        read(&self.base.join("config"), &[self.base.join("root")], &sources, &mut Files::default())
    }
}

fn always(texts: &Texts) -> Vec<&str> {
    texts.instructions.iter().map(|source| source.text.as_str()).collect()
}

#[test]
fn what_is_always_in_force_comes_managed_first_then_the_users_then_the_projects() {
    let place = Place::new();
    place
        .file("root/AGENTS.md", "project")
        .file("root/.plimsoll/rules/b.md", "---\nalways: true\n---\nproject rule b")
        .file("root/.plimsoll/rules/a.md", "---\nalways: true\n---\nproject rule a")
        .file("config/AGENTS.md", "user")
        .file("config/rules/all.md", "---\nalways: true\n---\nuser rule")
        .file("managed/AGENTS.md", "managed");
    let texts = place.read(&[]);
    assert_eq!(always(&texts), ["managed", "user", "user rule", "project", "project rule a", "project rule b"]);
    assert_eq!(texts.rules, []);
}

#[test]
fn other_rules_are_offered_with_what_they_are_about() {
    let place = Place::new();
    place
        .file("config/rules/rust.md", "No head.\n")
        .file("root/.plimsoll/rules/rust.md", "---\nglobs: *.rs\ndescription: Rust\n---\nUse it.\n")
        .file("root/.plimsoll/rules/broken.md", "---\nalways: true\nText.\n")
        .file("root/.plimsoll/rules/empty.md", "---\nalways: true\n---\n\n")
        .file("root/.plimsoll/rules/notes.txt", "Not a rule.");
    let texts = place.read(&[]);
    assert_eq!(always(&texts), Vec::<&str>::new());
    let rule = |name: &str, path: &str, root, description: Option<&str>, globs: &[&str], text: &str| Rule {
        name: name.to_owned(),
        path: place.base.join(path).to_string_lossy().into_owned(),
        root,
        description: description.map(str::to_owned),
        globs: globs.iter().map(|glob| (*glob).to_owned()).collect(),
        text: text.to_owned(),
    };
    assert_eq!(
        texts.rules,
        [
            rule("rust", "config/rules/rust.md", None, None, &[], "No head.\n"),
            rule("broken", "root/.plimsoll/rules/broken.md", Some(0), None, &[], "---\nalways: true\nText.\n"),
            rule("rust-2", "root/.plimsoll/rules/rust.md", Some(0), Some("Rust"), &["*.rs"], "Use it.\n"),
        ]
    );
}

#[test]
fn files_of_other_agents_are_read_when_they_are_named_and_once() {
    let place = Place::new();
    place
        .file("root/CLAUDE.md", "claude")
        .file("root/.cursor/rules/a.mdc", "---\nalwaysApply: true\n---\ncursor")
        .file("root/.cursor/rules/b.mdc", "---\nglobs: *.ts\n---\nts");
    std::os::unix::fs::symlink("CLAUDE.md", place.base.join("root/AGENTS.md")).unwrap();
    assert_eq!(always(&place.read(&[])), ["claude"]);
    let texts = place.read(&["CLAUDE.md", ".cursor/rules", ".github/copilot-instructions.md"]);
    assert_eq!(always(&texts), ["claude", "cursor"]);
    assert_eq!(texts.rules.len(), 1);
}

#[test]
fn a_rule_outside_its_root_is_not_read() {
    let place = Place::new();
    place.file("outside/secret.md", "---\nalways: true\n---\nTOPSECRET").file("root/.plimsoll/rules/x.txt", "");
    std::os::unix::fs::symlink(place.base.join("outside/secret.md"), place.base.join("root/.plimsoll/rules/a.md"))
        .unwrap();
    let texts = place.read(&["../outside/secret.md"]);
    assert_eq!((always(&texts), texts.rules.len()), (vec![], 0));
}
