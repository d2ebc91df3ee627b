//! A simple reader of Rust: enough to tell code from comments, texts and tests. It is not a parser; where it errs it errs
//! towards seeing code.

/// Source without comments, with line ends kept. Texts stay.
pub fn without_comments(source: &str) -> String {
    blank(source, false)
}

/// Source without comments and without what stands in texts.
pub fn code(source: &str) -> String {
    blank(source, true)
}

/// Code up to the first `#[cfg(test)]` that is followed by a module: tests stand at a file's end.
pub fn without_tests(code: &str) -> &str {
    for (at, mark) in code.match_indices("#[cfg(test)]") {
        let next = code[at + mark.len()..].trim_start();
        if next.starts_with("mod ") {
            let body = next.find(['{', ';']).map(|end| next.as_bytes()[end]);
            if body == Some(b'{') {
                return &code[..at];
            }
        }
    }
    code
}

/// The texts in a source, in order, without their quotes, escapes as written.
pub fn texts(source: &str) -> Vec<String> {
    let source = without_comments(source);
    let mut texts = Vec::new();
    let mut rest = source.as_str();
    while let Some(start) = rest.find('"') {
        let Some(len) = text_len(&rest[start..]) else { break };
        texts.push(rest[start + 1..start + len - 1].to_owned());
        rest = &rest[start + len..];
    }
    texts
}

/// Length of the text that begins with the quote at the start of `source`, quotes included.
fn text_len(source: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in source.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn blank(source: &str, texts_too: bool) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let (len, hidden) = token(rest, out.chars().next_back());
        let token = &rest[..len];
        if hidden == Hidden::Comment || (hidden == Hidden::Text && texts_too) {
            // A text stays a text: its first and last character are kept.
            let text = hidden == Hidden::Text;
            let last = token.char_indices().next_back().map_or(0, |(at, _)| at);
            for (at, c) in token.char_indices() {
                out.push(if c == '\n' || (text && (at == 0 || at == last)) { c } else { ' ' });
            }
        } else {
            out.push_str(token);
        }
        rest = &rest[len.max(c.len_utf8())..];
    }
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hidden {
    No,
    Comment,
    Text,
}

/// The next token: its length and what it is. Code comes one character at a time.
fn token(rest: &str, before: Option<char>) -> (usize, Hidden) {
    let first = rest.chars().next().map_or(0, char::len_utf8);
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), Hidden::Comment);
    }
    if rest.starts_with("/*") {
        return (block_comment(rest), Hidden::Comment);
    }
    if rest.starts_with('"') {
        return (text_len(rest).unwrap_or(rest.len()), Hidden::Text);
    }
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if !in_word && let Some(len) = raw_text(rest) {
        return (len, Hidden::Text);
    }
    if rest.starts_with('\'')
        && let Some(len) = character(rest)
    {
        return (len, Hidden::Text);
    }
    (first, Hidden::No)
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#`, `br"…"`.
fn raw_text(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = body.find(&close)? + close.len();
    Some(rest.len() - body.len() + end)
}

/// A character in quotes, which a lifetime is not.
fn character(rest: &str) -> Option<usize> {
    let body = &rest[1..];
    if let Some(escape) = body.strip_prefix('\\') {
        let end = escape.char_indices().skip(1).find(|(_, c)| *c == '\'')?.0;
        return Some(2 + end + 1);
    }
    let c = body.chars().next()?;
    body[c.len_utf8()..].starts_with('\'').then_some(2 + c.len_utf8())
}

/// Whether `word` stands in `code` as a whole word; gives what follows each time.
pub fn after_word<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).filter_map(move |(at, _)| {
        let before = code[..at].chars().next_back();
        let after = &code[at + word.len()..];
        (!before.is_some_and(part) && !after.starts_with(part)).then_some(after)
    })
}

#[test]
fn comments_texts_and_characters_are_told_from_code() {
    let source = "let a = \"// no \\\" comment\"; // yes\n/* a /* b */ c */ let b = '\"'; let c: &'static str = r#\"x\"y\"#; let d = '\\'';";
    assert_eq!(
        code(source),
        "let a = \"                \";       \n                  let b = ' '; let c: &'static str = r      #; let d = '  ';"
    );
    assert_eq!(without_comments("a \"//\" // b").trim_end(), "a \"//\"");
    assert_eq!(texts("f(\"a\", \"b\\\"c\") // \"d\""), ["a", "b\\\"c"]);
}

#[test]
fn tests_end_the_code() {
    assert_eq!(without_tests("fn a() {}\n#[cfg(test)]\nmod tests { x }"), "fn a() {}\n");
    let declared = "#[cfg(test)]\nmod tests;\nfn a() {}";
    assert_eq!(without_tests(declared), declared);
}

#[test]
fn words_are_whole() {
    assert_eq!(after_word("git2::x, my_git2::y, git2b", "git2").collect::<Vec<_>>(), ["::x, my_git2::y, git2b"]);
}
