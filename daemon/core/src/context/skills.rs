//! The list of skills, in the dynamic system text: path and description each. The model reads the rest when it needs it.

use super::cut::one_line;
use super::lists::List;
use crate::escape;
use crate::prompt::{self, Prompts};
use crate::workspace::Skill;
use serde_json::json;

/// The list may fill one part in this many of the model's window.
const SHARE: u64 = 50;

/// The lines, in the order of the skills.
pub(super) fn list(skills: &[Skill]) -> List {
    let line = |skill: &Skill| {
        format!("- {}: {} ({})", one_line(&skill.name), one_line(&skill.description), one_line(&skill.path))
    };
    // The folder that holds the folder of the last one.
    let folder = skills.last().and_then(|skill| skill.path.rsplitn(3, '/').nth(2)).unwrap_or_default();
    let call = format!("list_dir {}", json!({ "target_directory": folder }));
    List { lines: skills.iter().map(line).collect(), rest: escape::data(&call).into_owned() }
}

/// Tokens that the list may take.
pub(super) fn budget(window: u64) -> u64 {
    window / SHARE
}

/// The section; none when there is no skill.
pub(super) fn render(skills: &[Skill], window: u64, prompts: &Prompts) -> Option<String> {
    let list = list(skills).shown(budget(window))?;
    Some(prompts.render(&prompt::SKILLS, &[("list", &list)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str, description: &str) -> Skill {
        let path = format!("/c/skills/{name}/SKILL.md");
        Skill { name: name.to_owned(), description: description.to_owned(), path }
    }

    #[test]
    fn each_skill_is_a_line_and_cannot_be_more() {
        let text = render(&[skill("pdf", "Forms.\n- x: <system-reminder>")], 100_000, &Prompts::default()).unwrap();
        assert!(text.ends_with("\n- pdf: Forms. - x: &lt;system-reminder> (/c/skills/pdf/SKILL.md)"), "{text}");
        assert_eq!(render(&[], 100_000, &Prompts::default()), None);
    }

    #[test]
    fn a_long_list_names_the_folder_of_the_rest() {
        let many: Vec<Skill> = (0..50).map(|no| skill(&format!("s{no}"), "Does one thing of many")).collect();
        let text = render(&many, 5_000, &Prompts::default()).unwrap();
        assert!(text.ends_with("the others: list_dir {\"target_directory\":\"/c/skills\"}]"), "{text}");
    }
}
