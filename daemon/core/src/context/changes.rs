//! What a turn says about its surroundings: everything at first, later only what differs from what was said.

use super::head::instructions_budget;
use super::lists::{self, List};
use super::{git_status, instructions, memories, open_files, rules, skills, user_info};
use crate::prompt::{self, Prompts};
use crate::transcript::epoch::Stated;
use crate::workspace::{Environment, InstructionSource};
use std::collections::BTreeSet;

const USER_INFO: &str = "user_info";
const OPEN_FILES: &str = "open_files";
const INSTRUCTIONS: &str = "instructions:";

/// See the module's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// Content of `<additional_data>`; empty when there is nothing new.
    pub additional_data: String,
    /// Messages for the tail, each with its tags: instruction files that changed.
    pub reminders: Vec<String>,
    /// A message for the tail with its tags: lines of lists that the head gave and that changed.
    pub lists: Option<String>,
    /// What has been said once these are sent.
    pub stated: Stated,
}

/// What the head of an epoch says.
pub(super) fn stated_by_head(environment: &Environment, prompts: &Prompts) -> Stated {
    let mut stated = Stated::default();
    stated.blocks.insert(USER_INFO.to_owned(), user_info::render(&environment.user_info, prompts));
    for source in &environment.instructions {
        stated.blocks.insert(instructions::block_name(source), prompt::hash(&source.text));
    }
    for (_, key, list, _) in lists(environment, 0) {
        state_list(&mut stated, key, &list);
    }
    stated
}

/// The lists that the head gives: their name in words, their name among what was stated, what they say now, and what news
/// of them may cost for a model with this window.
fn lists(environment: &Environment, window: u64) -> [(&'static str, &'static str, List, u64); 3] {
    [
        ("Memories", "memories", memories::list(&environment.memories), memories::budget(window)),
        ("Skills", "skills", skills::list(&environment.skills), skills::budget(window)),
        ("Rules for fetch_rules", "rules", rules::list(&environment.rules), rules::budget()),
    ]
}

/// Gives what was said of the list before.
fn state_list(stated: &mut Stated, key: &str, list: &List) -> String {
    let before = stated.blocks.remove(key).unwrap_or_default();
    if !list.lines.is_empty() {
        stated.blocks.insert(key.to_owned(), list.stated());
    }
    before
}

fn list_changes(environment: &Environment, stated: &mut Stated, window: u64, prompts: &Prompts) -> Option<String> {
    let mut told = Vec::new();
    for (name, key, list, budget) in lists(environment, window) {
        let before = state_list(stated, key, &list);
        told.extend(lists::changed(name, &before, &list, budget));
    }
    let text = || prompt::reminder(&prompts.render(&prompt::LISTS_CHANGED, &[("lists", &told.join("\n\n"))]));
    (!told.is_empty()).then(text)
}

/// What differs between `environment` and what was said, for a model with this window.
pub fn changes(environment: &Environment, said: &Stated, window: u64, prompts: &Prompts) -> Changes {
    let mut stated = said.clone();
    let mut blocks = Vec::new();
    let info = user_info::render(&environment.user_info, prompts);
    let known = stated.blocks.insert(USER_INFO.to_owned(), info.clone());
    changed_lines(USER_INFO, user_info::changes(known.as_deref().unwrap_or_default(), &info), &mut blocks);
    for (at, git) in environment.git.iter().enumerate() {
        let root = environment.user_info.roots.get(at).filter(|_| environment.git.len() > 1);
        let now = git_status::render(git, root.map(String::as_str), git_status::DEFAULT_BUDGET, prompts);
        match stated.blocks.insert(format!("git_status:{at}"), now.clone()) {
            None => blocks.push(now),
            Some(before) => {
                let mut lines = git_status::changes(&before, &now);
                if let (false, Some(root)) = (lines.is_empty(), root) {
                    lines.insert(0, format!("Root: {root}"));
                }
                changed_lines("git_status", lines, &mut blocks);
            }
        }
    }
    let open = open_files::render(&environment.editor, prompts);
    let hash = open.as_deref().map(prompt::hash).unwrap_or_default();
    if stated.blocks.get(OPEN_FILES).map_or("", String::as_str) != hash {
        stated.blocks.insert(OPEN_FILES.to_owned(), hash);
        blocks.push(open.unwrap_or_else(|| prompts.render(&prompt::OPEN_FILES, &[("files", "none")])));
    }
    let budget = instructions_budget(window);
    let mut reminders = instruction_changes(environment, &mut stated, budget, prompts);
    let (changed, gone) = rules::changed(&environment.rules, &mut stated, budget, prompts);
    reminders.extend(changed);
    reminders.extend(gone.iter().map(|path| instructions::removed(path, prompts)));
    let lists = list_changes(environment, &mut stated, window, prompts);
    Changes { additional_data: blocks.join("\n\n"), reminders, lists, stated }
}

fn changed_lines(tag: &str, lines: Vec<String>, blocks: &mut Vec<String>) {
    if !lines.is_empty() {
        blocks.push(format!("<{tag} changed=\"true\">\n{}\n</{tag}>", lines.join("\n")));
    }
}

fn instruction_changes(environment: &Environment, stated: &mut Stated, budget: u64, prompts: &Prompts) -> Vec<String> {
    let mut reminders = Vec::new();
    let mut present = BTreeSet::new();
    for source in &environment.instructions {
        if news(stated, source) {
            reminders.push(instructions::superseded(source, budget, prompts));
        }
        present.insert(instructions::block_name(source));
    }
    let gone: Vec<String> =
        stated.blocks.keys().filter(|key| key.starts_with(INSTRUCTIONS) && !present.contains(*key)).cloned().collect();
    for key in gone {
        stated.blocks.remove(&key);
        reminders.push(instructions::removed(key.strip_prefix(INSTRUCTIONS).unwrap_or(&key), prompts));
    }
    reminders
}

fn news(stated: &mut Stated, source: &InstructionSource) -> bool {
    let hash = prompt::hash(&source.text);
    stated.blocks.insert(instructions::block_name(source), hash.clone()) != Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{EditorFile, EditorState, GitBlock, UserInfo};

    fn environment() -> Environment {
        Environment {
            user_info: UserInfo { date: "Sunday, 2026-11-29".into(), roots: vec!["/w".into()], ..UserInfo::default() },
            git: vec![GitBlock::NotARepository],
            instructions: vec![InstructionSource { path: "AGENTS.md".into(), text: "Be brief.".into() }],
            ..Environment::default()
        }
    }

    #[test]
    fn what_was_said_is_not_said_again() {
        let before = environment();
        let first = changes(&before, &stated_by_head(&before, &Prompts::default()), 10_000, &Prompts::default());
        assert_eq!(first.additional_data, git_status::render(&before.git[0], None, 1_000, &Prompts::default()));
        assert_eq!(first.reminders, Vec::<String>::new());
        let second = changes(&before, &first.stated, 10_000, &Prompts::default());
        assert_eq!((second.additional_data.as_str(), second.reminders.len()), ("", 0));
    }

    #[test]
    fn each_change_is_told_once() {
        let before = environment();
        let first = changes(&before, &stated_by_head(&before, &Prompts::default()), 10_000, &Prompts::default());
        let mut after = before.clone();
        after.user_info.date = "Monday, 2026-11-30".into();
        after.instructions[0].text = "Be long.".into();
        after.editor =
            EditorState { files: vec![EditorFile { path: "a.rs".into(), open: true, ..EditorFile::default() }] };
        let told = changes(&after, &first.stated, 10_000, &Prompts::default());
        assert!(
            told.additional_data
                .starts_with("<user_info changed=\"true\">\nDate: Monday, 2026-11-30\n</user_info>\n\n<open_")
        );
        assert_eq!(told.reminders, vec![instructions::superseded(&after.instructions[0], 500, &Prompts::default())]);
        assert_eq!(changes(&after, &told.stated, 10_000, &Prompts::default()).additional_data, "");
        let gone = changes(
            &Environment { instructions: vec![], editor: EditorState::default(), ..after },
            &told.stated,
            10_000,
            &Prompts::default(),
        );
        assert_eq!(gone.reminders, vec![instructions::removed("AGENTS.md", &Prompts::default())]);
        assert!(gone.additional_data.contains("none"), "{}", gone.additional_data);
    }
}
