//! The head of a rule or a skill: a few lines of YAML between two lines `---`. Only what such files use is understood;
//! keys that nobody asks for are passed over.

/// What a file says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FrontMatter {
    /// `name`.
    pub name: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// `always`, or `alwaysApply`.
    pub always: bool,
    /// `globs`: a list, or a text with commas.
    pub globs: Vec<String>,
}

/// The head, and the text behind it. A file without a head is all text. The error says which line is wrong and why.
pub fn parse(file: &str) -> Result<(FrontMatter, &str), String> {
    let Some(inside) = file.strip_prefix("---").and_then(after_line_end) else {
        return Ok((FrontMatter::default(), file));
    };
    let mut head = FrontMatter::default();
    let mut open: Option<(String, String)> = None;
    let mut at = 0;
    for (no, line) in (2..).zip(inside.split_inclusive('\n')) {
        at += line.len();
        let line = line.trim_end();
        if line == "---" || line == "..." {
            if let Some((key, value)) = open.take() {
                head.set(&key, &value).map_err(|problem| format!("in the head before line {no}: {problem}"))?;
            }
            return Ok((head, inside.get(at..).unwrap_or_default()));
        }
        let text = line.trim_start();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let belongs = line.len() > text.len() || text.starts_with("- ") || text == "-";
        match (&mut open, belongs) {
            (Some((_, value)), true) => {
                value.push('\n');
                value.push_str(text);
            }
            (None, true) => return Err(format!("line {no}: it belongs to no key")),
            (_, false) => {
                if let Some((key, value)) = open.take() {
                    head.set(&key, &value).map_err(|problem| format!("in the head before line {no}: {problem}"))?;
                }
                let (key, value) =
                    text.split_once(':').ok_or_else(|| format!("line {no}: there is no `key: value`"))?;
                open = Some((key.trim().to_owned(), value.trim().to_owned()));
            }
        }
    }
    Err("its head has no end: a line `---` is missing".to_owned())
}

fn after_line_end(rest: &str) -> Option<&str> {
    rest.trim_start_matches([' ', '\t']).strip_prefix('\n').or_else(|| rest.strip_prefix("\r\n"))
}

impl FrontMatter {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "name" => self.name = text(value),
            "description" => self.description = text(value),
            "globs" => self.globs = list(value),
            "always" | "alwaysApply" => {
                self.always = match scalar(value).to_lowercase().as_str() {
                    "true" | "yes" | "on" => true,
                    "false" | "no" | "off" | "" => false,
                    other => return Err(format!("`{key}` is `{other}`, not true or false")),
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// A text of one or several lines; the marks for folded and literal ones mean the same here.
fn text(value: &str) -> Option<String> {
    let mut lines = value.lines();
    let first = lines.next().unwrap_or_default();
    let first = if matches!(first.trim_end_matches(['-', '+']), ">" | "|") { "" } else { first };
    let whole = std::iter::once(first).chain(lines).map(str::trim).filter(|line| !line.is_empty());
    let whole = whole.collect::<Vec<_>>().join(" ");
    let whole = scalar(&whole).to_owned();
    (!whole.is_empty() && whole != "null" && whole != "~").then_some(whole)
}

fn list(value: &str) -> Vec<String> {
    let mut items = Vec::new();
    for line in value.lines() {
        let line = line.trim();
        let inner = line.strip_prefix("- ").unwrap_or(line).trim();
        let inner = inner.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(inner);
        items.extend(commas(scalar(inner)).map(|item| scalar(item.trim()).to_owned()));
    }
    items.retain(|item| !item.is_empty() && item != "-" && item != "null");
    items
}

/// The pieces between commas that stand in no braces.
fn commas(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

/// A value without its quotes, or without a comment behind it.
fn scalar(value: &str) -> &str {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            // Two quoted items are a list, not one quoted text.
            if !inner.contains(quote) {
                return inner;
            }
        }
    }
    if value.starts_with(['"', '\'']) {
        return value;
    }
    value.split_once(" #").map_or(value, |(before, _)| before.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn globs(head: &str) -> Vec<String> {
        parse(&format!("---\n{head}\n---\n")).unwrap().0.globs
    }

    #[test]
    fn the_head_is_read_and_the_text_follows() {
        let file = "---\r\nname: pdf\r\ndescription: \"Fill in: forms\"\r\nalwaysApply: true # yes\r\nother: {a: 1}\r\n---\r\nText.\n";
        let (head, text) = parse(file).unwrap();
        assert_eq!(text, "Text.\n");
        assert_eq!(
            head,
            FrontMatter {
                name: Some("pdf".into()),
                description: Some("Fill in: forms".into()),
                always: true,
                globs: vec![]
            }
        );
        assert_eq!(parse("No head.\n---\n").unwrap(), (FrontMatter::default(), "No head.\n---\n"));
        let folded = "---\ndescription: >-\n  One\n  two\n---\n";
        assert_eq!(parse(folded).unwrap().0.description.as_deref(), Some("One two"));
    }

    #[test]
    fn globs_are_a_list_or_a_text_with_commas() {
        for head in [
            "globs: *.rs, src/*.{ts,tsx}",
            "globs: \"*.rs,src/*.{ts,tsx}\"",
            "globs: [\"*.rs\", 'src/*.{ts,tsx}']",
            "globs:\n  - \"*.rs\"\n  - src/*.{ts,tsx}",
            "globs:\n- *.rs\n- src/*.{ts,tsx}",
        ] {
            assert_eq!(globs(head), ["*.rs", "src/*.{ts,tsx}"], "{head}");
        }
        assert_eq!(globs("globs:"), Vec::<String>::new());
    }

    #[test]
    fn what_is_broken_is_named() {
        for (file, part) in [
            ("---\nalways: true\n", "no end"),
            ("---\nalways: perhaps\n---\n", "`always` is `perhaps`"),
            ("---\nalways true\n---\n", "line 2: there is no `key: value`"),
            ("---\n  - a\n---\n", "line 2: it belongs to no key"),
        ] {
            let problem = parse(file).unwrap_err();
            assert!(problem.contains(part), "{file}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(file in "(---\n)?(always|globs|: |\\[|\\]|\"|,|- |\n|---|x|\u{e4}){0,20}") {
            let _ = parse(&file);
        }
    }
}
