//! Patterns over paths: `*` and `?` stay within one part, `**` crosses parts, `[a-z]` is one of these, `\` takes the meaning
//! of the next character.

use std::collections::HashSet;

/// Whether a pattern covers a path, both in text form.
pub fn covers(pattern: &str, path: &str) -> bool {
    let folder = pattern.strip_suffix('/').map(|folder| format!("{folder}/**"));
    let pattern: Vec<char> = folder.as_deref().unwrap_or(pattern).chars().collect();
    let path: Vec<char> = path.chars().collect();
    // Every state is tried once, so that no pattern takes longer than its length times that of the path.
    let mut seen = HashSet::new();
    let mut open = vec![(0, 0)];
    while let Some((at, to)) = open.pop() {
        if !seen.insert((at, to)) {
            continue;
        }
        let next = path.get(to).copied();
        let rest = pattern.get(at..).unwrap_or_default();
        match rest {
            [] if next.is_none() => return true,
            [] => {}
            ['*', '*', '/', ..] => {
                // `**/` is no folder or any number of them.
                if to == 0 || path.get(to - 1) == Some(&'/') {
                    open.push((at + 3, to));
                }
                if next.is_some() {
                    open.push((at, to + 1));
                }
            }
            ['*', '*', ..] => {
                open.push((at + 2, to));
                if next.is_some() {
                    open.push((at, to + 1));
                }
            }
            ['*', ..] => {
                open.push((at + 1, to));
                if next.is_some_and(|c| c != '/') {
                    open.push((at, to + 1));
                }
            }
            ['?', ..] => {
                if next.is_some_and(|c| c != '/') {
                    open.push((at + 1, to + 1));
                }
            }
            ['[', inside @ ..] => {
                if let (Some(c), Some((fits, length))) = (next, class(inside, next))
                    && fits
                    && c != '/'
                {
                    open.push((at + 1 + length, to + 1));
                }
            }
            ['\\', c, ..] if next == Some(*c) => open.push((at + 2, to + 1)),
            ['\\', ..] => {}
            [c, ..] if next == Some(*c) => open.push((at + 1, to + 1)),
            _ => {}
        }
    }
    false
}

/// Whether a character is in the class that begins after its `[`, and how long the class is with its `]`.
fn class(inside: &[char], c: Option<char>) -> Option<(bool, usize)> {
    let end = inside.iter().skip(1).position(|c| *c == ']')? + 1;
    let c = c?;
    let body = inside.get(..end)?;
    let (negated, body) = match body {
        ['!' | '^', rest @ ..] if !rest.is_empty() => (true, rest),
        _ => (false, body),
    };
    let mut fits = false;
    let mut rest = body;
    while let [first, tail @ ..] = rest {
        if let ['-', last, after @ ..] = tail {
            fits |= (*first..=*last).contains(&c);
            rest = after;
        } else {
            fits |= *first == c;
            rest = tail;
        }
    }
    Some((fits != negated, end + 1))
}

/// The pattern that covers exactly this path.
pub fn exactly(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        if "*?[\\".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// What is wrong with a pattern.
pub fn problem(pattern: &str) -> Option<String> {
    if pattern.is_empty() {
        return Some("it covers no path; write a path, or leave the brackets out to cover all".to_owned());
    }
    if pattern.starts_with('~') {
        return Some("`~` has no meaning here; write the absolute path".to_owned());
    }
    if pattern.starts_with("./") || pattern.split('/').any(|part| part == "..") {
        return Some("paths are compared as they are; write it without `./` and `..`".to_owned());
    }
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c == '\\' && chars.next().is_none() {
            return Some("its last `\\` stands alone; write `\\\\`".to_owned());
        }
        if c == '[' && !chars.as_str().contains(']') {
            return Some("its `[` is not closed; write `\\[` for the character".to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(pattern: &str, path: &str, expected: bool) {
        assert_eq!(covers(pattern, path), expected, "{pattern} {path}");
    }

    #[test]
    fn patterns_stay_within_parts_but_for_two_stars() {
        check("src/*.rs", "src/a.rs", true);
        check("src/*.rs", "src/b/a.rs", false);
        check("src/**", "src/b/a.rs", true);
        check("src/", "src/b/a.rs", true);
        check("src/**/a.rs", "src/a.rs", true);
        check("src/**/a.rs", "src/b/c/a.rs", true);
        check("src/**/a.rs", "src/ba.rs", false);
        check("**/*.md", "a.md", true);
        check("**/*.md", "b/a.md", true);
        check("a?c", "abc", true);
        check("a?c", "a/c", false);
        check("[a-c]x", "bx", true);
        check("[!a-c]x", "bx", false);
        check("[!a-c]x", "dx", true);
        check("/p/ws", "/p/ws-secret", false);
        check("/p/ws/**", "/p/ws-secret/a", false);
        check("src", "src/a", false);
    }

    #[test]
    fn a_long_row_of_stars_takes_no_time() {
        check(&"*a".repeat(200), &"a".repeat(1000), true);
        check(&"*a".repeat(200), &format!("{}b", "a".repeat(1000)), false);
    }

    proptest! {
        #[test]
        fn an_exact_pattern_covers_its_path_and_no_other(path in r"[a-z*?\[\]\\/!-]{1,12}", other in r"[a-z*?\[\]\\/!-]{1,12}") {
            prop_assume!(!path.ends_with('/'));
            prop_assert!(covers(&exactly(&path), &path));
            prop_assert_eq!(covers(&exactly(&path), &other), path == other);
        }

        #[test]
        fn any_pattern_is_read(pattern in ".{0,30}", path in ".{0,30}") {
            covers(&pattern, &path);
            let _ = problem(&pattern);
        }
    }
}
