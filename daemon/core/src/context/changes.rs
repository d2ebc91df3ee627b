//! What a turn says about its surroundings: everything at first, later only what differs from what was said.

use super::cut::one_line;
use super::head::instructions_budget;
use super::lists::{self, List};
use super::{edit_history, git_status, instructions, memories, open_files, project_layout, rules, skills, user_info};
use crate::id::ItemNo;
use crate::prompt::{self, Prompts};
use crate::transcript::epoch::Stated;
use crate::workspace::{Environment, InstructionSource};
use std::collections::{BTreeMap, BTreeSet};

const USER_INFO: &str = "user_info";
const LAYOUT: &str = "project_layout";
/// What was said of entries of the layout since, one per line: `- ` before one that is gone, `+ ` before one that is back.
const LAYOUT_TOLD: &str = "project_layout:told";
const GIT_STATUS: &str = "git_status:";
const OPEN_FILES: &str = "open_files";
const INSTRUCTIONS: &str = "instructions:";
/// Files that people were told are not shown in full, one per line. No block of the view.
const CUT: &str = "cut";

/// See the module's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// Content of `<additional_data>`; empty when there is nothing new.
    pub additional_data: String,
    /// The blocks that it states, by name.
    pub said: Vec<String>,
    /// Messages for the tail, with their tags, each with the block that it states: instruction files and rules that changed.
    pub reminders: Vec<(String, String)>,
    /// A message for the tail with its tags, and the blocks that it states: lines of lists that the head gave and that changed.
    pub lists: Option<(Vec<String>, String)>,
    /// What has been said once these are sent, but for where.
    pub stated: Stated,
    /// What people are told: which files are longer than their share of the window, each once.
    pub notice: Option<String>,
}

/// What the head of an epoch says.
pub(super) fn stated_by_head(environment: &Environment, layout: String) -> Stated {
    let mut stated = Stated::default();
    stated.blocks.insert(USER_INFO.to_owned(), user_info::facts(&environment.user_info));
    stated.blocks.insert(LAYOUT.to_owned(), layout);
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
    let (before, now) = (stated.blocks.get(key).cloned().unwrap_or_default(), list.stated());
    if before != now {
        stated.blocks.insert(key.to_owned(), now);
    }
    before
}

fn list_changes(
    environment: &Environment,
    stated: &mut Stated,
    window: u64,
    prompts: &Prompts,
) -> Option<(Vec<String>, String)> {
    let (mut names, mut told) = (Vec::new(), Vec::new());
    for (name, key, list, budget) in lists(environment, window) {
        let before = state_list(stated, key, &list);
        if let Some(lines) = lists::changed(name, &before, &list, budget) {
            names.push(key.to_owned());
            told.push(lines);
        }
    }
    let text = || prompt::reminder(&prompts.render(&prompt::LISTS_CHANGED, &[("lists", &told.join("\n\n"))]));
    (!told.is_empty()).then(|| (names, text()))
}

/// What a view says that begins with a head saying `head`, and keeps from the one before (`old`) the items from `first` on.
/// The history stands behind the head: what it says counts, until it is said anew. So [`changes`] says whatever the
/// history has last said otherwise than it is now. A repository's state is said whole once in each epoch.
pub(super) fn carried(head: Stated, old: &Stated, first: ItemNo) -> Stated {
    let mut stated = head;
    for (name, item) in old.said_in.iter().filter(|(name, item)| **item >= first && !name.starts_with(GIT_STATUS)) {
        if let Some(text) = old.blocks.get(name) {
            stated.blocks.insert(name.clone(), text.clone());
            stated.said_in.insert(name.clone(), *item);
        }
    }
    if let Some(cut) = old.blocks.get(CUT) {
        stated.blocks.insert(CUT.to_owned(), cut.clone());
    }
    stated
}

/// What differs between `environment` and what was said, for a model with this window.
pub fn changes(environment: &Environment, said: &Stated, window: u64, prompts: &Prompts) -> Changes {
    let mut tale = Tale { stated: said.clone(), said: Vec::new(), blocks: Vec::new() };
    let info = user_info::facts(&environment.user_info);
    let known = tale.known(USER_INFO).to_owned();
    tale.changed(USER_INFO, USER_INFO, user_info::changes(&known, &info), info);
    layout(environment, &mut tale);
    git(environment, &mut tale, prompts);
    let open = open_files::render(&environment.editor, prompts);
    let hash = open.as_deref().map(prompt::hash).unwrap_or_default();
    if tale.known(OPEN_FILES) != hash {
        tale.say(OPEN_FILES, hash, open.unwrap_or_else(|| prompts.render(&prompt::OPEN_FILES, &[("files", "none")])));
    }
    edits(environment, &mut tale, prompts);
    let budget = instructions_budget(window);
    let mut reminders = instruction_changes(environment, &mut tale.stated, budget, prompts);
    reminders.extend(rules::changed(&environment.rules, &mut tale.stated, budget, prompts));
    let lists = list_changes(environment, &mut tale.stated, window, prompts);
    let notice = cut(environment, &mut tale.stated, budget);
    Changes {
        additional_data: tale.blocks.join("\n\n"),
        said: tale.said,
        reminders,
        lists,
        stated: tale.stated,
        notice,
    }
}

/// What is said, as it comes together.
struct Tale {
    stated: Stated,
    said: Vec<String>,
    blocks: Vec<String>,
}

impl Tale {
    /// What was said last of a block.
    fn known(&self, name: &str) -> &str {
        self.stated.blocks.get(name).map_or("", String::as_str)
    }

    fn say(&mut self, name: &str, now: String, block: String) {
        self.stated.blocks.insert(name.to_owned(), now);
        self.said.push(name.to_owned());
        self.blocks.push(block);
    }

    /// Says these lines, if there are any.
    fn changed(&mut self, name: &str, tag: &str, lines: Vec<String>, now: String) {
        if !lines.is_empty() {
            self.say(name, now, format!("<{tag} changed=\"true\">\n{}\n</{tag}>", lines.join("\n")));
        }
    }
}

/// Shown entries that are gone, and those of them that are there again. What was told of an entry is kept: later heads need
/// not show it.
fn layout(environment: &Environment, tale: &mut Tale) {
    let standing = project_layout::Standing::of(&environment.layout);
    let shown = project_layout::shown(tale.known(LAYOUT), environment.layout.len() > 1);
    let before = tale.known(LAYOUT_TOLD).to_owned();
    let told: BTreeMap<&str, bool> = before.lines().filter_map(told_entry).collect();
    let mut now = told.clone();
    let mut lines = Vec::new();
    // In the order of the tree; then what only an earlier head showed.
    let others = told.keys().copied().filter(|entry| !shown.iter().any(|shown| shown == entry));
    for entry in shown.iter().map(String::as_str).chain(others) {
        let believed = told.get(entry).copied().unwrap_or(true);
        match standing.has(entry) {
            Some(there) if there != believed => {
                lines.push(format!("{}: {entry}", if there { "there again" } else { "gone" }));
                now.insert(entry, there);
            }
            Some(_) | None => {}
        }
    }
    let now: Vec<String> =
        now.iter().map(|(entry, there)| format!("{} {entry}", if *there { '+' } else { '-' })).collect();
    tale.changed(LAYOUT_TOLD, LAYOUT, lines, now.join("\n"));
}

fn told_entry(line: &str) -> Option<(&str, bool)> {
    match line.split_at_checked(2)? {
        ("+ ", entry) => Some((entry, true)),
        ("- ", entry) => Some((entry, false)),
        _ => None,
    }
}

fn git(environment: &Environment, tale: &mut Tale, prompts: &Prompts) {
    for (at, git) in environment.git.iter().enumerate() {
        let root = environment.user_info.roots.get(at).filter(|_| environment.git.len() > 1);
        let now = git_status::render(git, root.map(String::as_str), git_status::DEFAULT_BUDGET, prompts);
        let name = format!("{GIT_STATUS}{at}");
        match tale.stated.blocks.get(&name) {
            None => tale.say(&name, now.clone(), now),
            Some(before) => {
                let mut lines = git_status::changes(before, &now);
                if let (false, Some(root)) = (lines.is_empty(), root) {
                    lines.insert(0, format!("Root: {}", one_line(root)));
                }
                tale.changed(&name, "git_status", lines, now);
            }
        }
    }
}

/// Files that somebody else changed, each new version once.
fn edits(environment: &Environment, tale: &mut Tale, prompts: &Prompts) {
    let version = edit_history::version;
    let new: Vec<_> = environment
        .user_edits
        .iter()
        .filter(|edit| tale.known(&edit_history::block_name(edit)) != version(edit))
        .collect();
    let Some(block) = edit_history::render(&new, edit_history::DEFAULT_BUDGET, prompts) else { return };
    for edit in &new {
        tale.stated.blocks.insert(edit_history::block_name(edit), version(edit));
        tale.said.push(edit_history::block_name(edit));
    }
    tale.blocks.push(block);
}

/// Files whose text is longer than all of them may be.
fn cut(environment: &Environment, stated: &mut Stated, budget: u64) -> Option<String> {
    let cut = instructions::cut(&environment.instructions, budget);
    let before = stated.blocks.remove(CUT).unwrap_or_default();
    if !cut.is_empty() {
        stated.blocks.insert(CUT.to_owned(), cut.join("\n"));
    }
    let new: Vec<&str> = cut.into_iter().filter(|path| !before.lines().any(|known| known == *path)).collect();
    (!new.is_empty()).then(|| {
        format!(
            "Instruction files may have about {budget} tokens in all with this model. Not shown in full: {}. The model is \
             told how to read the rest.",
            new.join(", ")
        )
    })
}

fn instruction_changes(
    environment: &Environment,
    stated: &mut Stated,
    budget: u64,
    prompts: &Prompts,
) -> Vec<(String, String)> {
    let mut reminders = Vec::new();
    let mut present = BTreeSet::new();
    for source in &environment.instructions {
        let name = instructions::block_name(source);
        if news(stated, source) {
            reminders.push((name.clone(), instructions::superseded(source, budget, prompts)));
        }
        present.insert(name);
    }
    let is_gone = |(name, hash): &(&String, &mut String)| {
        name.starts_with(INSTRUCTIONS) && !present.contains(*name) && !hash.is_empty()
    };
    for (name, hash) in stated.blocks.iter_mut().filter(is_gone) {
        // That it was said to be gone is kept: the view goes on to say so.
        hash.clear();
        let path = name.strip_prefix(INSTRUCTIONS).unwrap_or(name);
        reminders.push((name.clone(), instructions::removed(path, prompts)));
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
        let first = changes(&before, &stated_by_head(&before, String::new()), 10_000, &Prompts::default());
        assert_eq!(first.additional_data, git_status::render(&before.git[0], None, 1_000, &Prompts::default()));
        assert_eq!(first.reminders, vec![]);
        let second = changes(&before, &first.stated, 10_000, &Prompts::default());
        assert_eq!((second.additional_data.as_str(), second.reminders.len()), ("", 0));
    }

    #[test]
    fn people_are_told_once_of_files_that_are_not_shown_in_full() {
        let mut before = environment();
        let head = stated_by_head(&before, String::new());
        assert_eq!(changes(&before, &head, 10_000, &Prompts::default()).notice, None);
        before.instructions[0].text = "A rule.\n".repeat(1_000);
        let told = changes(&before, &head, 10_000, &Prompts::default());
        assert_eq!(
            told.notice.as_deref(),
            Some(
                "Instruction files may have about 500 tokens in all with this model. Not shown in full: AGENTS.md. The \
                 model is told how to read the rest."
            )
        );
        before.instructions[0].text.push_str("Another.\n");
        assert_eq!(changes(&before, &told.stated, 10_000, &Prompts::default()).notice, None);
        let carried = carried(head, &told.stated, ItemNo(9));
        assert_eq!(changes(&before, &carried, 10_000, &Prompts::default()).notice, None);
    }

    #[test]
    fn each_change_is_told_once() {
        let before = environment();
        let first = changes(&before, &stated_by_head(&before, String::new()), 10_000, &Prompts::default());
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
        let name = "instructions:AGENTS.md".to_owned();
        let superseded = instructions::superseded(&after.instructions[0], 500, &Prompts::default());
        assert_eq!(told.reminders, vec![(name.clone(), superseded)]);
        assert_eq!(changes(&after, &told.stated, 10_000, &Prompts::default()).additional_data, "");
        let gone = changes(
            &Environment { instructions: vec![], editor: EditorState::default(), ..after },
            &told.stated,
            10_000,
            &Prompts::default(),
        );
        assert_eq!(gone.reminders, vec![(name, instructions::removed("AGENTS.md", &Prompts::default()))]);
        assert!(gone.additional_data.contains("none"), "{}", gone.additional_data);
    }
}
