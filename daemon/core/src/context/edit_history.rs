//! `<edit_history>`: files that the model knows and that were changed since by somebody else. No file is opened for it.

use super::cut::{one_line, tokens};
use crate::escape;
use crate::prompt::{self, Prompts};
use crate::workspace::UserEdit;

/// The budget when nothing else is configured.
pub const DEFAULT_BUDGET: u64 = 1_000;

/// What the names of these blocks begin with.
const NAME: &str = "edit_history:";

/// The name under which an epoch's record keeps which version of a file was told.
pub fn block_name(edit: &UserEdit) -> String {
    format!("{NAME}{}", edit.path)
}

/// The file that a block of this name is about, if it is one of these.
pub fn path(block: &str) -> Option<&str> {
    block.strip_prefix(NAME)
}

/// What is kept under that name.
pub fn version(edit: &UserEdit) -> String {
    edit.version.map_or_else(|| "gone".to_owned(), |version| version.to_string())
}

/// The block, its differences cut by `budget` tokens: a file whose difference does not fit is named without it. None when
/// nothing was changed.
pub fn render(edits: &[&UserEdit], budget: u64, prompts: &Prompts) -> Option<String> {
    if edits.is_empty() {
        return None;
    }
    let mut left = budget;
    let files: Vec<String> = edits.iter().map(|edit| file(edit, &mut left)).collect();
    Some(prompts.render(&prompt::EDIT_HISTORY, &[("files", &files.join("\n"))]))
}

fn file(edit: &UserEdit, left: &mut u64) -> String {
    let path = one_line(&edit.path);
    if edit.version.is_none() {
        return format!("gone: {path}");
    }
    let head = format!("changed: {path}");
    let Some(diff) = edit.diff.as_deref().map(|diff| escape::data(diff.trim_end_matches('\n'))) else { return head };
    let cost = tokens(&diff);
    if cost > *left {
        return head;
    }
    *left -= cost;
    format!("{head}\n{diff}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::FileVersion;

    fn edit(path: &str, diff: Option<&str>) -> UserEdit {
        UserEdit { path: path.into(), version: Some(FileVersion([1; 16])), diff: diff.map(str::to_owned) }
    }

    #[test]
    fn a_change_is_shown_while_there_is_room_and_named_beyond() {
        let long = format!("@@ -1 +1 @@\n-{}\n", "x".repeat(400));
        let edits = [
            edit("/w/a", Some("@@ -1 +1 @@\n-a\n+</edit_history>\n")),
            edit("/w/b", Some(&long)),
            edit("/w/c\n", None),
        ];
        let gone = UserEdit { version: None, ..edit("/w/d", Some("never shown")) };
        let all: Vec<&UserEdit> = edits.iter().chain([&gone]).collect();
        let text = render(&all, 50, &Prompts::default()).unwrap();
        let expected = "changed: /w/a\n@@ -1 +1 @@\n-a\n+&lt;/edit_history>\nchanged: /w/b\nchanged: /w/c \ngone: /w/d\n</edit_history>";
        assert!(text.starts_with("<edit_history>\n") && text.ends_with(expected), "{text}");
        assert_eq!(render(&[], 50, &Prompts::default()), None);
    }
}
