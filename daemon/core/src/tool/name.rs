//! Names of tools as models write them: small differences are forgiven, other names get the nearest ones as advice.
//!
//! It decides nothing about a call. Called by the turn machine for a proposed call, and by path lookups for
//! [`distance`].

use super::spec::{SPECS, Spec};

/// Words by which models call what a tool does, under other names than its own.
const WORDS: &[(&str, &[&str])] = &[
    ("read_file", &["read", "file", "cat", "open", "view", "show"]),
    ("list_dir", &["list", "ls", "dir", "directory", "folder", "tree", "files"]),
    ("glob_file_search", &["glob", "find", "file", "files", "search", "locate"]),
    ("grep", &["grep", "search", "rg", "ripgrep", "regex", "code", "codebase", "content", "text"]),
    ("string_replace", &["edit", "replace", "str", "string", "substitute", "sed", "update", "modify", "change"]),
    ("MultiEdit", &["multi", "edit", "edits", "replace", "changes"]),
    ("write", &["write", "create", "save", "put", "overwrite", "new"]),
    ("delete_file", &["delete", "remove", "rm", "unlink"]),
    ("apply_patch", &["patch", "apply", "diff"]),
    ("run_terminal_cmd", &["run", "bash", "sh", "shell", "exec", "execute", "command", "cmd", "terminal"]),
    ("run_tests", &["test", "tests", "pytest", "verify"]),
    ("inspect_operation", &["inspect", "operation", "outcome"]),
    ("task_output", &["output", "poll", "background", "job", "log"]),
    ("stop_task", &["stop", "kill", "end", "background", "job"]),
    ("todo_write", &["todo", "todos", "plan", "task", "tasks"]),
    ("update_task", &["goal", "constraint", "constraints", "hypothesis"]),
    ("fetch_rules", &["rule", "rules", "guidelines", "conventions"]),
    ("read_session", &["session", "history", "transcript", "conversation"]),
    ("update_memory", &["memory", "memories", "remember", "forget"]),
    ("enter_plan_mode", &["enter", "plan", "planning", "mode"]),
    ("exit_plan_mode", &["exit", "leave", "plan", "planning", "mode"]),
];

/// Most names given as advice: a list of all tools at every retry would cost more than it helps.
const MOST_NAMES: usize = 3;

/// The tool that `name` names when case, blanks, `-` and `_` are not told apart: `Read_File ` is `read_file`.
pub fn normalise(name: &str) -> Option<&'static Spec> {
    let wanted = letters(name);
    if wanted.is_empty() {
        return None;
    }
    SPECS.iter().find(|spec| letters(spec.name) == wanted)
}

/// Names of up to three tools that `name` may have meant, best first; none for a blank name or one like no other.
pub fn close_names(name: &str) -> Vec<&'static str> {
    let wanted = letters(name);
    if wanted.is_empty() || wanted.len() > 200 {
        return Vec::new();
    }
    let words = words(name);
    let mut scored: Vec<(usize, &'static str)> = SPECS
        .iter()
        .map(|spec| {
            let own = letters(spec.name);
            let spelling = if distance(&own, &wanted) * 3 <= own.len().max(wanted.len()) { 3 } else { 0 };
            let known = WORDS.iter().find(|(tool, _)| *tool == spec.name).map_or(&[][..], |(_, words)| words);
            (spelling + words.iter().filter(|word| known.contains(&word.as_str())).count(), spec.name)
        })
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().take(MOST_NAMES).map(|(_, name)| name).collect()
}

/// Least number of characters to insert, delete or replace to make `b` of `a`.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = Vec::with_capacity(row.len());
        next.push(left);
        for (y, above) in b.iter().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(x != *y)).min(left + 1).min(above + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The words of a name written with `_`, `-`, blanks or inner capitals.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && after_small) {
            words.push(String::new());
        }
        after_small = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_blanks_do_not_hide_a_tool() {
        for name in ["read_file", "Read_File ", "ReadFile", " read-file", "READ FILE"] {
            assert_eq!(normalise(name).map(|spec| spec.name), Some("read_file"), "{name:?}");
        }
        for name in ["", "  ", "read", "read_files"] {
            assert_eq!(normalise(name).map(|spec| spec.name), None, "{name:?}");
        }
    }

    #[test]
    fn unknown_names_get_the_nearest_ones() {
        assert_eq!(close_names("search_files"), ["glob_file_search", "list_dir", "grep"]);
        assert_eq!(close_names("read_files"), ["read_file", "list_dir", "glob_file_search"]);
        assert_eq!(close_names("bash"), ["run_terminal_cmd"]);
        assert_eq!(close_names("grpe"), Vec::<&str>::new());
        assert_eq!(close_names("gerp_"), Vec::<&str>::new());
        assert_eq!(close_names("greep"), ["grep"]);
        assert_eq!(close_names(" "), Vec::<&str>::new());
        assert_eq!(close_names("frobnicate"), Vec::<&str>::new());
    }

    #[test]
    fn every_tool_has_words_and_every_word_list_a_tool() {
        let specs: Vec<&str> = SPECS.iter().map(|spec| spec.name).collect();
        let listed: Vec<&str> = WORDS.iter().map(|(tool, _)| *tool).collect();
        assert_eq!(specs, listed);
    }

    #[test]
    fn distance_counts_single_edits() {
        for (a, b, expected) in [("", "", 0), ("abc", "", 3), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }
}
