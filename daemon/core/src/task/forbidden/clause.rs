//! A text as sentences of clauses of words.

use super::words::BREAKS;

/// One word, without quotes and punctuation around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// In lower case.
    pub word: String,
    /// As it was written.
    pub source: String,
    /// Whether it stood in quotes or backticks.
    pub quoted: bool,
}

/// Words up to a comma or the sentence's end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Clause {
    /// Its words.
    pub tokens: Vec<Token>,
    /// Its words in lower case, joined by blanks.
    pub text: String,
}

/// What stands behind a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Nothing,
    Comma,
    Stop,
}

/// The sentences of a text. What turns it around ("but", "instead") begins a new one, too.
pub fn sentences(text: &str) -> Vec<Vec<Clause>> {
    let mut all: Vec<Vec<Clause>> = Vec::new();
    let mut sentence: Vec<Clause> = Vec::new();
    let mut clause: Vec<Token> = Vec::new();
    let close = |sentence: &mut Vec<Clause>, clause: &mut Vec<Token>| {
        let tokens = std::mem::take(clause);
        if !tokens.is_empty() {
            let words: Vec<&str> = tokens.iter().map(|token| token.word.as_str()).collect();
            let text = words.join(" ");
            sentence.push(Clause { tokens, text });
        }
    };
    for piece in spread(text).split(char::is_whitespace).filter(|piece| !piece.is_empty()) {
        let (token, mark) = token(piece);
        if let Some(token) = token {
            let last = clause.last().map_or("", |last| last.word.as_str());
            let whole = (last, token.word.as_str()) == ("read", "only") || last.is_empty() && token.word == "nur";
            let turns = BREAKS.contains(&token.word.as_str()) && !is_no(last) && !whole;
            if turns {
                close(&mut sentence, &mut clause);
                all.push(std::mem::take(&mut sentence));
            } else {
                clause.push(token);
            }
        }
        if mark != Mark::Nothing {
            close(&mut sentence, &mut clause);
        }
        if mark == Mark::Stop {
            all.push(std::mem::take(&mut sentence));
        }
    }
    close(&mut sentence, &mut clause);
    all.push(sentence);
    all.retain(|sentence| !sentence.is_empty());
    all
}

fn is_no(word: &str) -> bool {
    super::words::NEGATIONS.contains(&word) || super::words::GERMAN_NEGATIONS.contains(&word) || word == "not"
}

/// The text with blanks where marks end a word without one, and with stops where lines end a list's entry.
fn spread(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        for c in line.chars() {
            match c {
                '\u{2018}' | '\u{2019}' => out.push('\''),
                '，' | '、' => out.push_str(", "),
                '。' | '！' | '？' | '；' | '：' | '—' | '–' => out.push_str(" ; "),
                '“' | '”' | '„' | '「' | '」' | '《' | '》' => out.push('"'),
                c => out.push(c),
            }
        }
        let next = lines.peek().map_or("", |next| next.trim_start());
        let entry = next.is_empty() || next.starts_with(['-', '*', '+', '#', '\u{2022}']) || numbered(next);
        out.push_str(if entry { " ; " } else { " " });
    }
    out
}

fn numbered(line: &str) -> bool {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    digits > 0 && line.get(digits..).is_some_and(|rest| rest.starts_with(['.', ')']))
}

fn token(piece: &str) -> (Option<Token>, Mark) {
    const AROUND: &[char] = &['"', '\'', '`', '(', ')', '[', ']', '*', '<', '>'];
    const MARKS: &[char] = &['.', ',', ';', ':', '!', '?'];
    let end = piece.trim_end_matches(AROUND);
    let bare = end.trim_end_matches(|c| MARKS.contains(&c) || AROUND.contains(&c));
    let tail: String = piece.get(bare.len()..).unwrap_or_default().to_owned();
    let mark = if tail.contains(['.', ';', ':', '!', '?']) {
        Mark::Stop
    } else if tail.contains(',') {
        Mark::Comma
    } else {
        Mark::Nothing
    };
    // A glob keeps its stars.
    let star = if bare.contains('/') || bare.ends_with(['.', '_', '-']) {
        tail.chars().take_while(|c| *c == '*').count()
    } else {
        0
    };
    let source = piece.get(..bare.len() + star).unwrap_or(bare);
    let begin =
        if source.starts_with("**/") || source.starts_with("*.") { source } else { source.trim_start_matches(AROUND) };
    let quoted = piece.starts_with(['"', '\'', '`']);
    if !begin.chars().any(char::is_alphanumeric) {
        return (None, if piece == "-" || piece == "--" { Mark::Stop } else { mark });
    }
    (Some(Token { word: begin.to_lowercase(), source: begin.to_owned(), quoted }), mark)
}
