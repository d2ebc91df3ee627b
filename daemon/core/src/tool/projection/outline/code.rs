//! A line without its comments and texts, so that words in them are not taken for definitions. No full lexer: what
//! begins inside a text in a text may be missed.

use super::language::Language;

/// Goes through a file line by line.
pub(super) struct Code {
    language: &'static Language,
    /// What ends the comment or text that an earlier line began.
    until: Option<&'static str>,
}

impl Code {
    pub(super) fn new(language: &'static Language) -> Self {
        Self { language, until: None }
    }

    /// The code of the next line: comments are gone, of texts only the quotes that begin them are left. And whether the
    /// line begins inside a comment or text.
    pub(super) fn line(&mut self, line: &str) -> (String, bool) {
        let inside = self.until.is_some();
        let mut code = String::with_capacity(line.len());
        let mut rest = line;
        loop {
            if let Some(end) = self.until {
                let Some(at) = find_end(rest, end) else { break };
                rest = rest.get(at + end.len()..).unwrap_or_default();
                self.until = None;
                continue;
            }
            let Some(next) = rest.chars().next() else { break };
            if self.comment_begins(line, rest, &code) {
                break;
            }
            let long = self.language.block_comments.iter().map(|pair| (pair, false));
            let long = long.chain(self.language.long_texts.iter().map(|pair| (pair, true)));
            if let Some(((begin, end), text)) = long.into_iter().find(|((begin, _), _)| rest.starts_with(begin)) {
                if text {
                    code.push('"');
                }
                self.until = Some(end);
                rest = rest.get(begin.len()..).unwrap_or_default();
            } else if self.language.quotes.contains(&next) {
                code.push(next);
                let inner = rest.get(next.len_utf8()..).unwrap_or_default();
                // One that does not end in its line is an apostrophe.
                let end = closing(inner, next);
                rest = end.and_then(|end| inner.get(end..)).unwrap_or(inner);
            } else if next == '\'' && is_char_literal(rest) {
                // A character of braces or quotes must not count.
                let least = if rest.starts_with("'\\") { 3 } else { 2 };
                let skip = rest.char_indices().skip(least).find(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 1);
                rest = rest.get(skip..).unwrap_or_default();
            } else {
                code.push(next);
                rest = rest.get(next.len_utf8()..).unwrap_or_default();
            }
        }
        (code, inside)
    }

    fn comment_begins(&self, line: &str, rest: &str, before: &str) -> bool {
        self.language.line_comments.iter().any(|mark| {
            rest.starts_with(mark)
                // `#` within a word, and a longer mark that begins a block, are none.
                && !self.language.block_comments.iter().any(|(begin, _)| begin.len() > mark.len() && rest.starts_with(begin))
                && (*mark != "#" || before.trim_end().len() < before.len() || rest.len() == line.len())
        })
    }
}

/// Where a text or comment ends that goes over lines. A backslash escapes a quote in texts of one quote.
fn find_end(rest: &str, end: &str) -> Option<usize> {
    if end != "\"" && end != "`" {
        return rest.find(end);
    }
    let mut escaped = false;
    rest.char_indices().find_map(|(at, c)| {
        let found = !escaped && rest.get(at..).is_some_and(|rest| rest.starts_with(end));
        escaped = c == '\\' && !escaped;
        found.then_some(at)
    })
}

/// The place after the quote that ends a text.
fn closing(inner: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    inner.char_indices().find_map(|(at, c)| {
        let found = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        found.then_some(at + c.len_utf8())
    })
}

/// `'x'` or `'\n'`, and not a lifetime.
fn is_char_literal(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::language;
    use super::*;

    fn check(path: &str, lines: &[(&str, Option<&str>)]) {
        let mut code = Code::new(language::of(path).unwrap());
        for (line, expected) in lines {
            let (found, inside) = code.line(line);
            assert_eq!((!inside).then_some(found.as_str()), *expected, "{line}");
        }
    }

    #[test]
    fn comments_and_texts_are_no_code() {
        check(
            "a.rs",
            &[
                ("let x = \"fn y() {\"; // fn z()", Some("let x = \"; ")),
                ("/* fn a() {", Some("")),
                ("fn b() {", None),
                ("*/ fn c<'a>(x: &'a str) {", None),
                ("let open = '{'; let s = r#\"", Some("let open = ; let s = \"")),
                ("fn in_text() {", None),
                ("\"#;", None),
                ("fn d() {}", Some("fn d() {}")),
            ],
        );
        check(
            "a.py",
            &[
                ("x = 'def y():'  # def z", Some("x = '  ")),
                ("\"\"\"Docs", Some("\"")),
                ("def inside():", None),
                ("\"\"\"", None),
                ("don't = it's", Some("don's")),
            ],
        );
        check("a.sh", &[("echo ${#x} # f() {", Some("echo ${#x} ")), ("# f() {", Some(""))]);
        check(
            "a.lua",
            &[("--[[ function a()", Some("")), ("function b()", None), ("]] -- c", None), ("x()", Some("x()"))],
        );
    }
}
