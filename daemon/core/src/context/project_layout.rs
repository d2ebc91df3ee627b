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

/// The entries that the block in the view (`stated`) shows, as paths from their root, with the root before them when
/// there are `roots`; a folder ends in `/`.
pub fn shown(stated: &str, roots: bool) -> Vec<String> {
    let mut path: Vec<&str> = Vec::new();
    let mut entries = Vec::new();
    for line in stated.lines() {
        let name = line.trim_start_matches(' ');
        let depth = (line.len() - name.len()) / 2;
        if name.starts_with("… ") || (depth == 0 && !name.ends_with('/')) || name.starts_with('<') {
            continue;
        }
        path.truncate(depth);
        path.push(name);
        if depth > 0 {
            entries.push(path.get(usize::from(!roots)..).unwrap_or_default().concat());
        }
    }
    entries
}

/// What is known of a tree as it is now.
#[derive(Debug)]
pub struct Standing {
    there: BTreeSet<String>,
    /// Folders that were not read in full.
    vague: BTreeSet<String>,
    /// What stands before a path that is given without its root.
    root: String,
}

impl Standing {
    /// Of these roots.
    pub fn of(layout: &[LayoutDir]) -> Self {
        let root = if let [root] = layout { with_slash(&root.name) } else { String::new() };
        let mut standing = Self { there: BTreeSet::new(), vague: BTreeSet::new(), root };
        for dir in layout {
            collect(dir, &with_slash(&dir.name), &mut standing.there, &mut standing.vague);
        }
        standing
    }

    /// Whether an entry, as [`shown`] gives it, is there; none when that is not known, or its folder is gone as well. An
    /// entry of a folder that was not read in full may only be unread.
    pub fn has(&self, entry: &str) -> Option<bool> {
        let full = format!("{}{entry}", self.root);
        if self.there.contains(&full) {
            return Some(true);
        }
        let parent = full.trim_end_matches('/').rfind('/').and_then(|at| full.get(..=at)).unwrap_or_default();
        (self.there.contains(parent) && !self.vague.contains(parent)).then_some(false)
    }
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

/// A name as the tree shows it: a leading blank would read as depth, and what begins a tag at the end of a name would go
/// on in the next line. Both are written as paths write such characters.
fn shown_name(name: &str) -> String {
    let mut name = escape::data(name).into_owned();
    if let Some(opener) = name.trim_end().len().checked_sub(1).filter(|at| name.get(*at..*at + 1) == Some("<")) {
        name.replace_range(opener..=opener, "\\x3C");
    }
    match name.strip_prefix(' ') {
        Some(rest) => format!("\\x20{rest}"),
        None => name,
    }
}

/// A folder's name as the tree shows it.
fn with_slash(name: &str) -> String {
    let slash = if name.ends_with('/') { "" } else { "/" };
    format!("{}{slash}", shown_name(name))
}

fn write(nodes: &[Node<'_>], at: usize, lines: &mut Vec<String>) {
    let Some(node) = nodes.get(at) else { return };
    lines.push(format!("{}{}", "  ".repeat(node.depth), with_slash(&node.dir.name)));
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
        collect(child, &format!("{path}{}", with_slash(&child.name)), there, vague);
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

    /// Shown entries that are gone.
    fn gone(stated: &str, layout: &[LayoutDir]) -> Vec<String> {
        let standing = Standing::of(layout);
        shown(stated, layout.len() > 1).into_iter().filter(|entry| standing.has(entry) == Some(false)).collect()
    }

    #[test]
    fn a_tag_cannot_begin_in_one_name_and_end_in_the_next() {
        let tree =
            dir("/w", vec![dir("<", vec![], &["project_layout>x"]), dir("a <  ", vec![], &["user_query>"])], &[]);
        let before = render(std::slice::from_ref(&tree), 100, &Prompts::default());
        assert_eq!(body(&before), "/w/\n  \\x3C/\n    project_layout>x\n  a \\x3C  /\n    user_query>");
        assert_eq!(crate::path::unescape("a \\x3C"), b"a <");
        assert!(gone(&before, &[tree]).is_empty());
    }

    #[test]
    fn only_shown_entries_that_are_gone_are_named() {
        let before = render(&[tree()], 800, &Prompts::default());
        assert!(gone(&before, &[tree()]).is_empty());
        let now = dir("/w", vec![dir("src", vec![], &["main.rs", "new.rs"])], &["README.md"]);
        assert_eq!(gone(&before, &[now]), ["src/deep/", "Cargo.toml"]);
        let unread = LayoutDir { unread: 1, ..dir("/w", vec![], &[]) };
        assert!(gone(&before, &[unread]).is_empty());
        assert!(gone(&before, &[]).is_empty(), "what was not looked at is not gone");
    }

    #[test]
    fn with_several_roots_each_entry_has_its_own() {
        let roots = [dir("/w", vec![], &["a"]), dir("/", vec![], &["a"])];
        let before = render(&roots, 800, &Prompts::default());
        assert_eq!(gone(&before, &[dir("/w", vec![], &[]), roots[1].clone()]), ["/w/a"]);
        assert_eq!(gone(&before, &[roots[0].clone(), dir("/", vec![], &["b"])]), ["/a"]);
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
