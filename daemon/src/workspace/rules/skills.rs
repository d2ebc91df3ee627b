//! Skills: folders with a `SKILL.md` in the user's configuration, in a trusted project, and in configured places.

use super::Sources;
use super::files::{Files, names};
use super::front_matter;
use plimsoll_core::path::escape;
use plimsoll_core::workspace::Skill;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const FILE: &str = "SKILL.md";

/// Skills that are listed.
const MOST: usize = 300;

/// The skills that are there: the user's, the project's, those of configured places. Broken ones are left out and named in
/// the log. Blocks.
pub fn read(config_dir: &Path, roots: &[PathBuf], sources: &Sources, files: &mut Files) -> Vec<Skill> {
    let project =
        roots.iter().filter(|_| sources.trusted).map(|root| (root.join(".plimsoll/skills"), Some(root.as_path())));
    let configured = sources.skills.iter().map(|folder| (folder.clone(), None));
    let places = std::iter::once((config_dir.join("skills"), None)).chain(project).chain(configured);
    let mut skills = Vec::new();
    for (place, inside) in places {
        for name in names(&place) {
            let path = place.join(&name).join(FILE);
            let shown = escape(path.as_os_str().as_bytes());
            let Some(found) = files.read(&path, inside) else { continue };
            let problem = match front_matter::parse(&found.text) {
                Ok((head, _)) => match head.description {
                    Some(description) => {
                        let name = head.name.unwrap_or_else(|| escape(name.as_bytes()));
                        skills.push(Skill { name, description, path: shown });
                        continue;
                    }
                    None => "its head gives no `description`".to_owned(),
                },
                Err(problem) => problem,
            };
            if found.fresh {
                tracing::warn!(skill = shown, problem, "a skill is not listed");
            }
        }
    }
    skills.truncate(MOST);
    skills
}

/// Canonical folders of the skills that lie outside the project: what tools may always read. Blocks.
pub fn folders(config_dir: &Path, sources: &Sources) -> Vec<PathBuf> {
    let places = std::iter::once(config_dir.join("skills")).chain(sources.skills.iter().cloned());
    let skills = places.flat_map(|place| names(&place).into_iter().map(move |name| place.join(name)));
    let with_file = skills.filter(|folder| folder.join(FILE).is_file());
    with_file.filter_map(|folder| folder.canonicalize().ok()).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_projects_skills_count_when_it_is_trusted_and_broken_ones_never() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let skill = |folder: &str, head: &str| {
            let folder = base.join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(FILE), format!("---\n{head}\n---\nText.\n")).unwrap();
        };
        skill("config/skills/pdf", "name: PDF\ndescription: Forms");
        skill("config/skills/none", "name: none");
        skill("root/.plimsoll/skills/own", "description: Releases");
        skill("more/extra", "description: More");
        skill("outside/leak", "description: Elsewhere");
        symlink(base.join("outside/leak"), base.join("root/.plimsoll/skills/leak")).unwrap();
        let listed = |trusted: bool| {
            let sources = Sources { trusted, skills: vec![base.join("more")], ..Sources::default() };
            let found = read(&base.join("config"), &[base.join("root")], &sources, &mut Files::default());
            found.into_iter().map(|skill| skill.name).collect::<Vec<_>>()
        };
        assert_eq!(listed(true), ["PDF", "own", "extra"]);
        assert_eq!(listed(false), ["PDF", "extra"]);
        let sources = Sources { skills: vec![base.join("more")], ..Sources::default() };
        let folders = folders(&base.join("config"), &sources);
        let expected = ["config/skills/none", "config/skills/pdf", "more/extra"].map(|path| base.join(path));
        assert_eq!(folders, expected);
    }
}
