//! One word of a command, read by bash's rules of quoting.

use super::Unparsed;
use std::fmt;

/// A word as it was written, and what is known of what it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// As written.
    pub source: String,
    /// What is known.
    pub value: Value,
}

/// What is known of a word before the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Exactly this one argument.
    Literal(String),
    /// Names of files that match; each begins with the lead.
    Glob {
        /// Text before the first sign of the pattern.
        lead: String,
    },
    /// Something that only the running shell knows; it begins with the lead.
    Dynamic {
        /// Text before the first part that is not known.
        lead: String,
        /// Whether it may become several arguments, or none.
        splits: bool,
    },
}

/// With what the name of a process substitution begins, when a word is nothing else.
pub const PIPE: &str = "/dev/fd/";

impl Word {
    /// A word that stands for exactly this text.
    pub fn of(text: &str) -> Self {
        Self { source: quote(text), value: Value::Literal(text.to_owned()) }
    }

    /// A word of which nothing is known; the source is for people.
    pub fn unknown(source: &str) -> Self {
        Self { source: source.to_owned(), value: Value::Dynamic { lead: String::new(), splits: true } }
    }

    /// Its text, when that is known.
    pub fn literal(&self) -> Option<&str> {
        match &self.value {
            Value::Literal(text) => Some(text),
            Value::Glob { .. } | Value::Dynamic { .. } => None,
        }
    }

    /// The part of its text that is known.
    pub fn lead(&self) -> &str {
        match &self.value {
            Value::Literal(text) | Value::Glob { lead: text } | Value::Dynamic { lead: text, .. } => text,
        }
    }

    /// Whether it may become an option that is not seen here.
    pub fn may_hide_option(&self) -> bool {
        match &self.value {
            Value::Literal(_) => false,
            Value::Glob { lead } | Value::Dynamic { lead, splits: false } => lead.is_empty() || lead.starts_with('-'),
            Value::Dynamic { splits: true, .. } => true,
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// A text as one shell word: itself when no character in it has a meaning, else in single quotes.
pub fn quote(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:,@%+=^".contains(c);
    let tilde = text.split(['=', ':']).any(|part| part.starts_with('~'));
    if !text.is_empty() && !text.starts_with('=') && !tilde && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Told about every substitution that a word holds, at its first byte in the whole text; gives the byte after its end.
pub type Substitution<'a> = dyn FnMut(usize) -> Result<usize, Unparsed> + 'a;

/// Reads `text[from..to]`, which must be exactly one word.
pub fn read(text: &str, from: usize, to: usize, inner: &mut Substitution<'_>) -> Result<Word, Unparsed> {
    let mut reader = Reader { text, at: from, to, out: Building::default(), inner };
    reader.word()?;
    let source = text.get(from..to).unwrap_or_default().to_owned();
    Ok(Word { value: reader.out.value(), source })
}

/// Reads the word that begins at `from`, and gives the byte after it.
pub fn read_next(text: &str, from: usize, to: usize, inner: &mut Substitution<'_>) -> Result<(Word, usize), Unparsed> {
    let mut reader = Reader { text, at: from, to, out: Building::default(), inner };
    reader.until_blank()?;
    let end = reader.at;
    let value = reader.out.value();
    Ok((Word { source: text.get(from..end).unwrap_or_default().to_owned(), value }, end))
}

/// Reads the inside of a here-document whose delimiter is not quoted: only substitutions count.
pub fn read_body(text: &str, from: usize, to: usize, inner: &mut Substitution<'_>) -> Result<(), Unparsed> {
    let mut reader = Reader { text, at: from, to, out: Building::default(), inner };
    while let Some(c) = reader.peek() {
        reader.quoted(c, false)?;
    }
    Ok(())
}

/// Words of a text that holds nothing but plain words: no substitution, redirection or operator.
pub fn split(text: &str) -> Result<Vec<Word>, Unparsed> {
    let mut words = Vec::new();
    let mut at = 0;
    let mut none = |_: usize| Err(Unparsed("it holds a substitution".to_owned()));
    loop {
        let rest = text.get(at..).unwrap_or_default();
        at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if at >= text.len() {
            return Ok(words);
        }
        let mut reader = Reader { text, at, to: text.len(), out: Building::default(), inner: &mut none };
        reader.until_blank()?;
        let end = reader.at;
        let value = reader.out.value();
        words.push(Word { source: text.get(at..end).unwrap_or_default().to_owned(), value });
        at = end;
    }
}

#[derive(Default)]
struct Building {
    literal: String,
    /// The lead, once something before the end was not literal.
    lead: Option<String>,
    glob: bool,
    dynamic: bool,
    splits: bool,
    /// An open `{` of a possible brace expansion, with whether it has had a `,` or `..`.
    brace: Option<bool>,
}

impl Building {
    fn push(&mut self, c: char) {
        self.literal.push(c);
    }

    fn open(&mut self) {
        if self.lead.is_none() {
            self.lead = Some(self.literal.clone());
        }
    }

    fn dynamic(&mut self, splits: bool) {
        self.open();
        self.dynamic = true;
        self.splits |= splits;
    }

    fn value(&mut self) -> Value {
        let lead = self.lead.take();
        match (self.dynamic, self.glob) {
            (true, glob) => Value::Dynamic { lead: lead.unwrap_or_default(), splits: self.splits || glob },
            (false, true) => Value::Glob { lead: lead.unwrap_or_default() },
            (false, false) => Value::Literal(std::mem::take(&mut self.literal)),
        }
    }
}

struct Reader<'a, 'b> {
    text: &'a str,
    at: usize,
    to: usize,
    out: Building,
    inner: &'a mut Substitution<'b>,
}

impl Reader<'_, '_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..self.to).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, c: char) {
        self.at += c.len_utf8();
    }

    fn word(&mut self) -> Result<(), Unparsed> {
        self.until_blank()?;
        if self.at < self.to { Err(Unparsed("its words are not clear".to_owned())) } else { Ok(()) }
    }

    fn until_blank(&mut self) -> Result<(), Unparsed> {
        let begin = self.at;
        let mut before = None;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => break,
                '#' if self.at == begin => {
                    return Err(Unparsed("a comment stands where a word was expected".to_owned()));
                }
                '\n' | ';' | '&' | '|' | '(' | ')' => return Err(unclear(c)),
                '<' | '>' if self.rest().get(1..2) == Some("(") => {
                    let first = self.at == begin;
                    self.at = (self.inner)(self.at)?;
                    if first && self.ends_after(0) {
                        self.out.lead = Some(PIPE.to_owned());
                    }
                    self.out.dynamic(false);
                }
                '<' | '>' => return Err(unclear(c)),
                '\\' => self.backslash()?,
                '\'' => self.single()?,
                '"' => self.double()?,
                '$' => self.dollar(false)?,
                '`' => {
                    self.at = (self.inner)(self.at)?;
                    self.out.dynamic(true);
                }
                '~' if self.at == begin || matches!(before, Some('=' | ':')) => {
                    self.take(c);
                    self.out.dynamic(false);
                }
                '*' | '?' | '[' => {
                    let test = self.at == begin && self.ends_after(1)
                        || self.rest().starts_with("[[") && self.ends_after(2)
                        || self.text.get(begin..self.at) == Some("[") && self.ends_after(1);
                    if c != '[' || !test {
                        self.out.open();
                        self.out.glob = true;
                    }
                    self.out.push(c);
                    self.take(c);
                }
                _ => {
                    self.brace(c);
                    self.out.push(c);
                    self.take(c);
                }
            }
            before = Some(c);
        }
        let source = self.text.get(begin..self.at).unwrap_or_default();
        if matches!(source, "{" | "}") {
            return Err(Unparsed("a brace stands where a word was expected".to_owned()));
        }
        Ok(())
    }

    fn ends_after(&self, bytes: usize) -> bool {
        matches!(self.rest().as_bytes().get(bytes), None | Some(b' ' | b'\t'))
    }

    /// `{a,b}` and `{1..3}` become several words; other braces are themselves.
    fn brace(&mut self, c: char) {
        match (c, self.out.brace) {
            ('{', None) => {
                self.out.brace = Some(false);
                // The lead ends here should this turn out to be an expansion.
                let rest = self.rest();
                let end = rest.find([' ', '\t', '\n']).unwrap_or(rest.len());
                let inside = rest.get(..end).unwrap_or_default();
                if inside.contains('}') && (inside.contains(',') || inside.contains("..")) {
                    self.out.dynamic(true);
                }
            }
            // Quotes between the braces may hide the blank that ended the look ahead.
            ('}', Some(_)) if self.out.literal.contains([',', ' ']) || self.out.literal.contains("..") => {
                self.out.lead.get_or_insert_default();
                self.out.dynamic(true);
            }
            _ => {}
        }
    }

    fn backslash(&mut self) -> Result<(), Unparsed> {
        self.take('\\');
        let Some(next) = self.peek() else {
            return Err(Unparsed("it ends in a backslash".to_owned()));
        };
        self.take(next);
        if next != '\n' {
            self.out.push(next);
        }
        Ok(())
    }

    fn single(&mut self) -> Result<(), Unparsed> {
        self.take('\'');
        loop {
            match self.peek() {
                None => return Err(Unparsed("a quote is not closed".to_owned())),
                Some('\'') => {
                    self.take('\'');
                    return Ok(());
                }
                Some(c) => {
                    self.out.push(c);
                    self.take(c);
                }
            }
        }
    }

    fn double(&mut self) -> Result<(), Unparsed> {
        self.take('"');
        loop {
            match self.peek() {
                None => return Err(Unparsed("a quote is not closed".to_owned())),
                Some('"') => {
                    self.take('"');
                    return Ok(());
                }
                Some(c) => self.quoted(c, true)?,
            }
        }
    }

    /// One character inside double quotes, or inside a here-document, where `\"` is no escape.
    fn quoted(&mut self, c: char, quotes: bool) -> Result<(), Unparsed> {
        match c {
            '\\' => {
                self.take(c);
                match self.peek() {
                    Some(next @ ('$' | '`' | '\\')) => {
                        self.out.push(next);
                        self.take(next);
                    }
                    Some('"') if quotes => {
                        self.out.push('"');
                        self.take('"');
                    }
                    Some('\n') => self.take('\n'),
                    _ => self.out.push('\\'),
                }
            }
            '$' => self.dollar(true)?,
            '`' => {
                self.at = (self.inner)(self.at)?;
                self.out.dynamic(false);
            }
            _ => {
                self.out.push(c);
                self.take(c);
            }
        }
        Ok(())
    }

    fn dollar(&mut self, quoted: bool) -> Result<(), Unparsed> {
        let mut following = self.rest().chars();
        following.next();
        match following.next() {
            Some('(') => {
                self.at = (self.inner)(self.at)?;
                self.out.dynamic(!quoted);
            }
            Some('{') => {
                let end = self.rest().find('}').map(|end| self.at + end);
                let end = end.ok_or_else(|| Unparsed("a brace is not closed".to_owned()))?;
                let many = parameter(self.text.get(self.at + 2..end).unwrap_or_default())?;
                self.at = end + 1;
                self.out.dynamic(!quoted || many);
            }
            Some('\'') if !quoted => self.ansi()?,
            Some('"') if !quoted => {
                self.take('$');
                self.out.dynamic(false);
                self.double()?;
            }
            Some('[') => return Err(Unparsed("it holds arithmetic".to_owned())),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                self.take('$');
                let name = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                self.at += name.unwrap_or(self.rest().len());
                self.out.dynamic(!quoted);
            }
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                self.at += 1 + c.len_utf8();
                self.out.dynamic(!quoted || c == '@');
            }
            _ => {
                self.out.push('$');
                self.take('$');
            }
        }
        Ok(())
    }

    /// `$'…'`: only its plain escapes are read.
    fn ansi(&mut self) -> Result<(), Unparsed> {
        self.at += 2;
        loop {
            match self.peek() {
                None => return Err(Unparsed("a quote is not closed".to_owned())),
                Some('\'') => {
                    self.take('\'');
                    return Ok(());
                }
                Some('\\') => {
                    self.take('\\');
                    let Some(next) = self.peek() else { continue };
                    self.take(next);
                    match next {
                        'n' => self.out.push('\n'),
                        't' => self.out.push('\t'),
                        '\\' | '\'' | '"' | '?' => self.out.push(next),
                        _ => self.out.dynamic(false),
                    }
                }
                Some(c) => {
                    self.out.push(c);
                    self.take(c);
                }
            }
        }
    }
}

/// What stands in `${…}`: a plain variable with at most a plain operator. Others run arithmetic or code that a value holds,
/// or assign. Gives whether it may become several words even in quotes.
fn parameter(text: &str) -> Result<bool, Unparsed> {
    let strange = || Unparsed(format!("`${{{text}}}` may do more than give a value"));
    let body = text.strip_prefix('#').filter(|rest| !rest.is_empty()).unwrap_or(text);
    let name = body.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(body.len());
    let (name, rest) = match (name, body.chars().next()) {
        (0, Some(c @ ('@' | '*' | '?' | '$' | '#'))) => body.split_at(c.len_utf8()),
        (0, _) => return Err(strange()),
        (name, _) => body.split_at(name),
    };
    let (many, rest) = match rest.strip_prefix('[') {
        Some(subscript) => {
            let (inside, rest) = subscript.split_once(']').ok_or_else(strange)?;
            if !matches!(inside, "@" | "*") && !inside.bytes().all(|b| b.is_ascii_digit()) {
                return Err(strange());
            }
            (inside == "@", rest)
        }
        None => (name == "@", rest),
    };
    let operator = [":-", ":+", ":?", "-", "+", "##", "#", "%%", "%", "//", "/", "^^", "^", ",,", ","];
    let plain = |c: char| c.is_ascii_alphanumeric() || "_ ./:,@*?+-=%".contains(c);
    let fine = rest.is_empty()
        || operator.iter().any(|sign| rest.strip_prefix(sign).is_some_and(|rest| rest.chars().all(plain)));
    if fine { Ok(many) } else { Err(strange()) }
}

fn unclear(c: char) -> Unparsed {
    Unparsed(format!("a `{}` stands where a word was expected", c.escape_default()))
}
