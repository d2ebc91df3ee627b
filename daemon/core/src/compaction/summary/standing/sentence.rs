//! A text as sentences, each a slice of it.

/// Longest sentence in bytes. What goes on without an end is no sentence that a person wrote, such as a pasted log.
const LONGEST: usize = 1_500;

/// From this length on, in characters, a line may have been ended by an editor that wraps.
const WRAPPED: usize = 60;

/// The sentences of a text without blanks around them; none is empty. All that is no blank is in one of them.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let rest = text.get(end..).unwrap_or_default();
        let ends = match c {
            '。' | '！' | '？' | '；' => true,
            '.' | '!' | '?' | '…' => ends_here(rest),
            '\n' => ends_line(text.get(..at).unwrap_or_default(), rest),
            _ => false,
        };
        if ends {
            // Quotes and brackets that close belong to what they close.
            let mut end = end;
            while let Some((_, closing)) = chars.next_if(|(_, c)| is_closing(*c)) {
                end += closing.len_utf8();
            }
            push(&mut found, text.get(start..end).unwrap_or_default());
            start = end;
        }
    }
    push(&mut found, text.get(start..).unwrap_or_default());
    found
}

fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '*' | '_' | '`' | '”' | '’' | '」' | '』' | '）' | '»')
}

/// Whether a full stop before `rest` ends a sentence: a blank or nothing follows, as after no `v1.2` or `a.rs`.
fn ends_here(rest: &str) -> bool {
    let after = rest.trim_start_matches(is_closing);
    after.chars().next().is_none_or(|c| c.is_whitespace() || !c.is_ascii())
}

/// Whether a line feed ends a sentence: not within a paragraph that was wrapped.
fn ends_line(before: &str, rest: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let next = rest.split('\n').next().unwrap_or_default().trim_start();
    let mut first = next.chars();
    match (first.next(), first.next()) {
        // An entry of a list, a heading, or nothing more.
        (Some('-' | '*' | '+' | '#' | '>' | '|' | '`') | None, _) => true,
        (Some(digit), Some('.' | ')')) if digit.is_ascii_digit() => true,
        (Some(c), _) => !(c.is_lowercase() || line.chars().count() >= WRAPPED),
    }
}

fn push<'a>(found: &mut Vec<&'a str>, sentence: &'a str) {
    let mut rest = sentence.trim();
    while rest.len() > LONGEST {
        let mut upto = LONGEST;
        while !rest.is_char_boundary(upto) {
            upto -= 1;
        }
        let head = rest.get(..upto).unwrap_or_default();
        // Between lines, else between words, else anywhere.
        let cut = head.rfind('\n').or_else(|| head.rfind(char::is_whitespace)).filter(|at| *at > 0).unwrap_or(upto);
        let (part, more) = rest.split_at(cut);
        if !part.trim().is_empty() {
            found.push(part.trim());
        }
        rest = more.trim_start();
    }
    if !rest.is_empty() {
        found.push(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stops_end_sentences_and_dots_in_names_do_not() {
        assert_eq!(
            sentences("Use v1.2 of a.rs. Then (go!) \"Stop.\" 好。行"),
            ["Use v1.2 of a.rs.", "Then (go!)", "\"Stop.\"", "好。", "行"]
        );
        assert_eq!(sentences("a\nb\nC\n- d\n1. e"), ["a\nb", "C", "- d", "1.", "e"]);
        let long = "x".repeat(70);
        assert_eq!(sentences(&format!("{long}\nYes\nNo")), [format!("{long}\nYes").as_str(), "No"]);
    }

    proptest! {
        #[test]
        fn nothing_but_blanks_is_lost(text in "(\\PC|\n|\\.|!|。|a|\"| ){0,80}") {
            let without = |text: &str| text.split_whitespace().collect::<String>();
            let all: String = sentences(&text).into_iter().map(without).collect();
            prop_assert_eq!(all, without(&text));
        }
    }
}
