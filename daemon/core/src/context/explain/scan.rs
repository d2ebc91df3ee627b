//! Where the values of a JSON text stand in it. No values are made of them: only their bytes are counted. The texts are
//! Plimsoll's own segments; of anything that is not JSON nothing is found.

use std::ops::Range;

/// Where a value stands.
pub(super) type Span = Range<usize>;

/// The members of the object at `span`: each name, and where its value stands.
pub(super) fn members(text: &str, span: Span) -> Vec<(&str, Span)> {
    let mut found = Vec::new();
    let Some(mut at) = open(text, &span, b'{') else { return found };
    while let Some(end) = string_end(text, at) {
        let name = text.get(at + 1..end - 1).unwrap_or_default();
        let Some(value) = after(text, end, b':') else { break };
        let Some(value_end) = value_end(text, value) else { break };
        found.push((name, value..value_end));
        match after(text, value_end, b',') {
            Some(next) => at = next,
            None => break,
        }
    }
    found
}

/// The elements of the array at `span`.
pub(super) fn elements(text: &str, span: Span) -> Vec<Span> {
    let mut found = Vec::new();
    let Some(mut at) = open(text, &span, b'[') else { return found };
    while let Some(end) = value_end(text, at).filter(|end| *end > at) {
        found.push(at..end);
        match after(text, end, b',') {
            Some(next) => at = next,
            None => break,
        }
    }
    found
}

/// The inside of the string at `span`, without its quotes; none when it is no string.
pub(super) fn inside(text: &str, span: &Span) -> Option<Span> {
    let is_string = text.get(span.clone())?.starts_with('"') && span.len() >= 2;
    is_string.then(|| span.start + 1..span.end - 1)
}

fn byte(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}

/// The first place from `at` on that is not blank.
fn filled(text: &str, mut at: usize) -> usize {
    while byte(text, at).is_some_and(|byte| byte.is_ascii_whitespace()) {
        at += 1;
    }
    at
}

/// Where the first thing inside a bracket stands.
fn open(text: &str, span: &Span, bracket: u8) -> Option<usize> {
    (byte(text, span.start) == Some(bracket)).then(|| filled(text, span.start + 1))
}

/// Where the next thing stands when `sign` comes first.
fn after(text: &str, at: usize, sign: u8) -> Option<usize> {
    let at = filled(text, at);
    (byte(text, at) == Some(sign)).then(|| filled(text, at + 1))
}

fn string_end(text: &str, at: usize) -> Option<usize> {
    if byte(text, at) != Some(b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        match byte(text, at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn value_end(text: &str, at: usize) -> Option<usize> {
    match byte(text, at)? {
        b'"' => string_end(text, at),
        b'{' | b'[' => {
            let mut depth = 0_usize;
            let mut at = at;
            loop {
                match byte(text, at)? {
                    b'"' => at = string_end(text, at)?,
                    b'{' | b'[' => {
                        depth += 1;
                        at += 1;
                    }
                    b'}' | b']' => {
                        depth -= 1;
                        at += 1;
                        if depth == 0 {
                            return Some(at);
                        }
                    }
                    _ => at += 1,
                }
            }
        }
        _ => {
            let rest = text.get(at..)?;
            let end = rest.find(|c: char| matches!(c, ',' | '}' | ']') || c.is_ascii_whitespace());
            Some(at + end.unwrap_or(rest.len()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_are_found_where_they_stand() {
        let text = r#"{"a":"x\"}","b": [ 1, {"c":[2]} ,"]"],"d":null}"#;
        let found: Vec<(&str, &str)> =
            members(text, 0..text.len()).into_iter().map(|(name, span)| (name, &text[span])).collect();
        assert_eq!(found, [("a", r#""x\"}""#), ("b", r#"[ 1, {"c":[2]} ,"]"]"#), ("d", "null")]);
        let (_, list) = members(text, 0..text.len()).swap_remove(1);
        let found: Vec<&str> = elements(text, list).into_iter().map(|span| &text[span]).collect();
        assert_eq!(found, ["1", r#"{"c":[2]}"#, "\"]\""]);
        let (_, first) = members(text, 0..text.len()).swap_remove(0);
        assert_eq!(inside(text, &first).map(|span| &text[span]), Some(r#"x\"}"#));
    }

    #[test]
    fn what_is_no_json_has_no_parts() {
        for text in ["", "x", "{", "{\"a", "{\"a\":", "[", "[]", "{}", "[\"a", "{\"a\\"] {
            assert!(members(text, 0..text.len()).is_empty(), "{text}");
            assert!(elements(text, 0..text.len()).is_empty(), "{text}");
        }
    }
}
