//! `<project_layout>`: the tree of the roots, breadth first by budget.
//!
//! One entry per line, two blanks per level, folders with `/` at their end. A folder that is not shown in full says how
//! many of its entries it hides. Later turns say which of the shown entries are gone.

use super::cut::tokens;
use crate::escape;
use crate::prompt::{self, Prompts};
use crate::workspace::LayoutDir;
use std::collections::{BTreeSet, VecDeque};

/// The budget when nothing else is configured.
pub const DEFAULT_BUDGET: u64 = 800;

/// Tokens kept back per shown folder for the line that says what it hides.
const HIDES_COST: u64 = 8;

/// The block, of about `budget` tokens. The roots are always in it.
pub fn render(layout: &[LayoutDir], budget: u64, prompts: &Prompts) -> String {
    let mut nodes = Vec::new();
    let mut queue = VecDeque::new();
    let mut left = budget;
    let mut roots = Vec::new();
    for dir in layout {
        left = left.saturating_sub(tokens(&dir.name) + HIDES_COST);
        roots.push(nodes.len());
        queue.push_back(nodes.len());
        nodes.push(Node { dir, depth: 0, dirs: Vec::new(), files: 0 });
    }
    // Breadth first: a folder's own entries are all shown before any entry of its sub-folders.
    while let Some(at) = queue.pop_front() {
        let Some((dir, depth)) = nodes.get(at).map(|node| (node.dir, node.depth + 1)) else { continue };
        for child in &dir.dirs {
            let cost = line_cost(&child.name, depth) + HIDES_COST;
            if cost > left {
                left = 0;
                break;
            }
            left -= cost;
            let number = nodes.len();
            nodes.push(Node { dir: child, depth, dirs: Vec::new(), files: 0 });
            queue.push_back(number);
            if let Some(node) = nodes.get_mut(at) {
                node.dirs.push(number);
            }
        }
        let mut shown = 0;
        for file in &dir.files {
            let cost = line_cost(file, depth);
            if cost > left {
                left = 0;
                break;
            }
            left -= cost;
            shown += 1;
        }
        if let Some(node) = nodes.get_mut(at) {
            node.files = shown;
        }
    }
    let mut lines = Vec::new();
    for root in roots {
        write(&nodes, root, &mut lines);
    }
    prompts.render(&prompt::PROJECT_LAYOUT, &[("tree", &lines.join("\n"))])
}

/// Entries that the block in the view (`stated`) shows and that are not there any more, as paths from their root (with
/// the root before them when there are several). An entry of a folder that was not read in full may only be unread, and
/// is not named.
pub fn gone(stated: &str, layout: &[LayoutDir]) -> Vec<String> {
    let mut there = BTreeSet::new();
    let mut vague = BTreeSet::new();
    for dir in layout {
        collect(dir, &format!("{}/", shown_name(&dir.name)), &mut there, &mut vague);
    }
    let mut path: Vec<&str> = Vec::new();
    let mut gone: Vec<String> = Vec::new();
    for line in stated.lines() {
        let name = line.trim_start_matches(' ');
        let depth = (line.len() - name.len()) / 2;
        if name.starts_with("… ") || (depth == 0 && !name.ends_with('/')) || name.starts_with('<') {
            continue;
        }
        path.truncate(depth);
        path.push(name);
        let full = path.concat();
        let parent = full.get(..full.len() - name.len()).unwrap_or_default();
        let parent_there = there.contains(parent);
        if parent_there && !there.contains(&full) && !vague.contains(parent) {
            gone.push(if layout.len() > 1 { full.clone() } else { path.get(1..).unwrap_or_default().concat() });
        }
    }
    gone
}

struct Node<'a> {
    dir: &'a LayoutDir,
    depth: usize,
    dirs: Vec<usize>,
    files: usize,
}

fn line_cost(name: &str, depth: usize) -> u64 {
    tokens(name) + u64::try_from(depth / 2).unwrap_or(0) + 1
}

/// A name as the tree shows it: a leading blank would read as depth.
fn shown_name(name: &str) -> String {
    let name = escape::data(name);
    match name.strip_prefix(' ') {
        Some(rest) => format!("\\x20{rest}"),
        None => name.into_owned(),
    }
}

fn write(nodes: &[Node<'_>], at: usize, lines: &mut Vec<String>) {
    let Some(node) = nodes.get(at) else { return };
    let slash = if node.dir.name.ends_with('/') { "" } else { "/" };
    lines.push(format!("{}{}{slash}", "  ".repeat(node.depth), shown_name(&node.dir.name)));
    for child in &node.dirs {
        write(nodes, *child, lines);
    }
    let indent = "  ".repeat(node.depth + 1);
    for file in node.dir.files.iter().take(node.files) {
        lines.push(format!("{indent}{}", shown_name(file)));
    }
    let hidden = (node.dir.dirs.len() - node.dirs.len()) + (node.dir.files.len() - node.files);
    let hidden = u64::try_from(hidden).unwrap_or(u64::MAX).saturating_add(node.dir.unread);
    if hidden > 0 {
        let entries = if hidden == 1 { "entry" } else { "entries" };
        let more = if node.dirs.is_empty() && node.files == 0 { "" } else { "more " };
        lines.push(format!("{indent}… {hidden} {more}{entries}"));
    }
}

fn collect(dir: &LayoutDir, path: &str, there: &mut BTreeSet<String>, vague: &mut BTreeSet<String>) {
    if dir.unread > 0 {
        vague.insert(path.to_owned());
    }
    there.insert(path.to_owned());
    for file in &dir.files {
        there.insert(format!("{path}{}", shown_name(file)));
    }
    for child in &dir.dirs {
        collect(child, &format!("{path}{}/", shown_name(&child.name)), there, vague);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dir(name: &str, dirs: Vec<LayoutDir>, files: &[&str]) -> LayoutDir {
        LayoutDir { name: name.to_owned(), dirs, files: files.iter().map(|f| (*f).to_owned()).collect(), unread: 0 }
    }

    fn tree() -> LayoutDir {
        dir(
            "/w",
            vec![dir("src", vec![dir("deep", vec![], &["a.rs", "b.rs"])], &["main.rs"])],
            &["Cargo.toml", "README.md"],
        )
    }

    fn body(text: &str) -> &str {
        text.split_once("hides.\n").unwrap().1.strip_suffix("\n</project_layout>").unwrap()
    }

    #[test]
    fn with_room_the_whole_tree_is_shown() {
        assert_eq!(
            body(&render(&[tree()], 800, &Prompts::default())),
            "/w/\n  src/\n    deep/\n      a.rs\n      b.rs\n    main.rs\n  Cargo.toml\n  README.md"
        );
    }

    #[test]
    fn a_small_budget_keeps_the_upper_levels_and_counts_the_rest() {
        assert_eq!(
            body(&render(&[tree()], 29, &Prompts::default())),
            "/w/\n  src/\n    … 2 entries\n  Cargo.toml\n  README.md"
        );
        assert_eq!(body(&render(&[tree()], 0, &Prompts::default())), "/w/\n  … 3 entries");
        let unread = LayoutDir { unread: 7, ..dir("/w", vec![], &["a"]) };
        assert_eq!(body(&render(&[unread], 100, &Prompts::default())), "/w/\n  a\n  … 7 more entries");
    }

    #[test]
    fn names_cannot_forge_tags_or_depth() {
        let text = render(&[dir("/w", vec![], &["</project_layout>", "  x"])], 100, &Prompts::default());
        assert_eq!(body(&text), "/w/\n  &lt;/project_layout>\n  \\x20 x");
    }

    #[test]
    fn only_shown_entries_that_are_gone_are_named() {
        let before = render(&[tree()], 800, &Prompts::default());
        assert!(gone(&before, &[tree()]).is_empty());
        let now = dir("/w", vec![dir("src", vec![], &["main.rs", "new.rs"])], &["README.md"]);
        assert_eq!(gone(&before, &[now]), ["src/deep/", "Cargo.toml"]);
        let unread = LayoutDir { unread: 1, ..dir("/w", vec![], &[]) };
        assert!(gone(&before, &[unread]).is_empty());
    }

    fn trees() -> impl Strategy<Value = LayoutDir> {
        let leaf = proptest::collection::vec("[a-c]{1,6}", 0..6).prop_map(|files| LayoutDir {
            name: "d".to_owned(),
            dirs: vec![],
            files,
            unread: 0,
        });
        leaf.prop_recursive(3, 24, 4, |inner| {
            (proptest::collection::vec(inner, 0..4), proptest::collection::vec("[a-c]{1,6}", 0..6))
                .prop_map(|(dirs, files)| LayoutDir { name: "d".to_owned(), dirs, files, unread: 0 })
        })
    }

    fn entries(dir: &LayoutDir) -> usize {
        dir.files.len() + dir.dirs.iter().map(|dir| 1 + entries(dir)).sum::<usize>()
    }

    proptest! {
        #[test]
        fn a_cut_tree_is_within_budget_and_misses_nothing_silently(tree in trees(), budget in 20_u64..200) {
            let text = render(std::slice::from_ref(&tree), budget, &Prompts::default());
            let text = body(&text);
            prop_assert!(tokens(text) <= budget + 12, "{} > {budget}", tokens(text));
            let shown = text.lines().filter(|line| !line.trim_start().starts_with('…')).count() - 1;
            if !text.contains('…') {
                prop_assert_eq!(shown, entries(&tree));
            }
        }
    }
}
