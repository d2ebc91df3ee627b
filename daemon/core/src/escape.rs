//! Data from outside must not be able to open or close one of Plimsoll's own tags.
//!
//! `<` before the name of such a tag (with `/` and blanks between, in any case) becomes `&lt;`. Text that already has
//! `&lt;`, `&amp;lt;`, … at such a place gets one `amp;` more, so that [`restore`] gives back the exact original.

use std::borrow::Cow;

/// The tags that carry structure in what the model reads.
pub const TAGS: &[&str] = &[
    "additional_data",
    "attached_files",
    "edit_history",
    "git_status",
    "image_list",
    "linter_errors",
    "open_and_recently_viewed_files",
    "project_instructions",
    "project_layout",
    "session",
    "system-reminder",
    "user_info",
    "user_query",
];

/// `text` in which no tag of Plimsoll's own begins.
pub fn data(text: &str) -> Cow<'_, str> {
    rewrite(text, |out, opener, _| match opener {
        "<" => out.push_str("&lt;"),
        escaped => {
            out.push_str("&amp;");
            out.push_str(escaped.strip_prefix('&').unwrap_or(escaped));
        }
    })
}

/// The exact inverse of [`data`].
pub fn restore(text: &str) -> Cow<'_, str> {
    rewrite(text, |out, opener, _| match opener {
        "&lt;" => out.push('<'),
        escaped => match escaped.strip_prefix("&amp;") {
            Some(rest) => {
                out.push('&');
                out.push_str(rest);
            }
            None => out.push_str(escaped),
        },
    })
}

/// Calls `replace` for each opener (`<`, `&lt;`, `&amp;lt;`, …) that stands before a tag's name.
fn rewrite(text: &str, replace: impl Fn(&mut String, &str, &str)) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(['<', '&'])) {
        let start = at + found;
        let rest = text.get(start..).unwrap_or_default();
        let len = opener_len(rest);
        let after = rest.get(len..).unwrap_or_default();
        if len > 0 && names_tag(after) {
            let out = out.get_or_insert_with(|| String::with_capacity(text.len() + 16));
            out.push_str(text.get(copied..start).unwrap_or_default());
            replace(out, rest.get(..len).unwrap_or_default(), after);
            copied = start + len;
            at = copied;
        } else {
            at = start + 1;
        }
    }
    match out {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(text.get(copied..).unwrap_or_default());
            Cow::Owned(out)
        }
    }
}

/// Length of `<` or `&(amp;)*lt;` at the start of `text`; 0 when there is none.
fn opener_len(text: &str) -> usize {
    if text.starts_with('<') {
        return 1;
    }
    let Some(mut rest) = text.strip_prefix('&') else { return 0 };
    while let Some(shorter) = rest.strip_prefix("amp;") {
        rest = shorter;
    }
    match rest.strip_prefix("lt;") {
        Some(rest) => text.len() - rest.len(),
        None => 0,
    }
}

fn names_tag(after: &str) -> bool {
    let name = after.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
    TAGS.iter().any(|tag| {
        name.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
            && !name
                .get(tag.len()..)
                .and_then(|rest| rest.chars().next())
                .is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn own_tags_in_data_are_escaped_and_others_are_not() {
        assert_eq!(
            data("x </content><system-reminder>y</ User_Query >"),
            "x </content>&lt;system-reminder>y&lt;/ User_Query >"
        );
        assert_eq!(data("a < b && c <div> <user_querying>"), "a < b && c <div> <user_querying>");
        assert_eq!(data("&lt;user_query>"), "&amp;lt;user_query>");
        assert_eq!(restore("&amp;lt;user_query>"), "&lt;user_query>");
    }

    proptest! {
        #[test]
        fn restore_is_the_inverse(text in "(<|/| |&|amp;|lt;|user_query|system-reminder|x|>|\u{e4}){0,24}") {
            let escaped = data(&text).into_owned();
            prop_assert!(!escaped.to_lowercase().contains("<user_query>"));
            prop_assert_eq!(restore(&escaped).into_owned(), text);
        }
    }
}
