//! Files that instruct the model or keep what it must not lose: read under the general limit only, since a gap in them
//! would be a rule unread.

/// Names of such files, in any folder.
const NAMES: &[&str] = &["AGENTS.md", "CLAUDE.md", "SKILL.md"];

/// Whether the file with this path, as shown, is one of them: by its name, or as a rule, a memory or a plan by its folder.
pub(super) fn is_whole(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if NAMES.contains(&name) {
        return true;
    }
    let Some(stem) = name.strip_suffix(".md") else { return false };
    let rules = folder == ".plimsoll/rules" || folder.ends_with("plimsoll/rules");
    let parent = folder.rsplit('/').next().unwrap_or_default();
    let memory = parent == "memories" && stem.strip_prefix(['m', 'u']).is_some_and(is_number);
    rules || memory || (parent == "plans" && folder.contains("/projects/"))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_memories_and_plans_are_whole() {
        for path in [
            "AGENTS.md",
            "a/SKILL.md",
            ".plimsoll/rules/rust.md",
            "/w/.plimsoll/rules/rust.md",
            "/data/projects/k-app/memories/m12.md",
            "/data/memories/u3.md",
            "/data/projects/k-app/plans/s1.md",
        ] {
            assert!(is_whole(path), "{path}");
        }
        for path in ["README.md", "rules/a.md", "memories/notes.md", "memories/m.md", "docs/plans/a.md", "a/b.rs"] {
            assert!(!is_whole(path), "{path}");
        }
    }
}
