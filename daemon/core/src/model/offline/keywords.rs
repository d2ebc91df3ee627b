//! From a question to what is searched for: keywords without stop words, cut to their stems, with a few synonyms.

use super::words::{EXTENSIONS, GENERIC, STOP_WORDS, SYNONYMS};

/// Most keywords that are searched for.
const MOST: usize = 8;

/// Most characters of one keyword.
const LONGEST: usize = 60;

/// One thing that is looked for, in any of its forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyword {
    /// As the user wrote it.
    pub word: String,
    /// Lower-case forms; each alone counts as the keyword.
    forms: Vec<Form>,
    /// Whether it helps to rank only.
    pub generic: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// Anywhere.
    Stem(String),
    /// Only as a whole word or its plural, because it is short.
    Short(String),
    /// An identifier of several parts, however they are joined: `read_file`, `ReadFile`, `read-file`.
    Parts(Vec<String>),
}

impl Form {
    fn of_stem(stem: &str) -> Self {
        if stem.is_ascii() && stem.len() <= 3 { Self::Short(stem.to_owned()) } else { Self::Stem(stem.to_owned()) }
    }

    fn pattern(&self) -> String {
        match self {
            Self::Stem(stem) => quoted(stem),
            Self::Short(stem) => format!(r"(?:\b|_){}(?:s?\b|_)", quoted(stem)),
            Self::Parts(parts) => parts.iter().map(|part| quoted(part)).collect::<Vec<_>>().join("[_-]?"),
        }
    }

    fn is_in(&self, lower: &str) -> bool {
        match self {
            Self::Stem(stem) => lower.contains(stem.as_str()),
            Self::Short(stem) => lower.match_indices(stem.as_str()).any(|(at, _)| {
                let before = lower.get(..at).unwrap_or_default();
                let after = lower.get(at + stem.len()..).unwrap_or_default();
                let after = after.strip_prefix('s').unwrap_or(after);
                !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
            }),
            Self::Parts(parts) => {
                let joined: String = lower.chars().filter(|c| !matches!(c, '_' | '-')).collect();
                joined.contains(&parts.concat())
            }
        }
    }
}

impl Keyword {
    /// Whether a text in lower case has it.
    pub fn is_in(&self, lower: &str) -> bool {
        self.forms.iter().any(|form| form.is_in(lower))
    }

    /// Whether it is an identifier of several parts, which is worth a match by itself.
    pub fn is_identifier(&self) -> bool {
        self.forms.iter().any(|form| matches!(form, Form::Parts(_)))
    }

    fn pattern(&self) -> String {
        let forms: Vec<String> = self.forms.iter().map(Form::pattern).collect();
        format!("(?:{})", forms.join("|"))
    }
}

/// The keywords of a question, in its order, each once.
pub fn of(query: &str) -> Vec<Keyword> {
    let mut found: Vec<Keyword> = Vec::new();
    let words = query.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').flat_map(scripts);
    for word in words {
        let word = word.trim_matches(['-', '_']);
        let lower = word.to_lowercase();
        if lower.is_empty() || lower.chars().count() > LONGEST || STOP_WORDS.contains(&lower.as_str()) {
            continue;
        }
        for keyword in keywords_of_word(word, &lower) {
            if !found.iter().any(|known| known.forms == keyword.forms) {
                found.push(keyword);
            }
        }
    }
    if found.iter().all(|keyword| keyword.generic) {
        for keyword in &mut found {
            keyword.generic = false;
        }
    }
    found.truncate(MOST);
    found
}

/// Runs of one kind of script: what is written without blanks between words stands apart from what is not.
fn scripts(text: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, c) in text.char_indices() {
        let dense = is_dense(c);
        if before.is_some_and(|before| before != dense) {
            runs.extend(text.get(start..at));
            start = at;
        }
        before = Some(dense);
    }
    runs.extend(text.get(start..));
    runs
}

/// Scripts without blanks between words: Chinese, Japanese, Korean in part, Thai.
fn is_dense(c: char) -> bool {
    matches!(u32::from(c), 0x0E00..=0x0E7F | 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF)
}

fn keywords_of_word(word: &str, lower: &str) -> Vec<Keyword> {
    if lower.chars().all(is_dense) {
        // Nothing says where a word ends: pairs of characters find it wherever it is.
        let chars: Vec<char> = lower.chars().collect();
        let pairs = chars.windows(2).map(|pair| pair.iter().collect::<String>());
        return pairs
            .map(|pair| Keyword { word: pair.clone(), forms: vec![Form::Stem(pair)], generic: false })
            .collect();
    }
    let parts = parts(word);
    if parts.len() > 1 {
        let forms = vec![Form::Parts(parts)];
        return vec![Keyword { word: word.to_owned(), forms, generic: false }];
    }
    if EXTENSIONS.contains(&lower) || lower.chars().all(|c| c.is_ascii_digit()) || lower.len() < 2 {
        return Vec::new();
    }
    let stem = stem(lower);
    let family = SYNONYMS.iter().find(|family| family.contains(&stem));
    let forms = match family {
        Some(family) => family.iter().map(|stem| Form::of_stem(stem)).collect(),
        None => vec![Form::of_stem(stem)],
    };
    let generic = GENERIC.contains(&stem) || family.is_some_and(|family| family.iter().any(|s| GENERIC.contains(s)));
    vec![Keyword { word: word.to_owned(), forms, generic }]
}

/// The parts of an identifier, in lower case: `read_file`, `readFile` and `ReadFile` have two.
fn parts(word: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut after_lower = false;
    for c in word.chars() {
        if matches!(c, '_' | '-') || (after_lower && c.is_uppercase()) {
            parts.push(String::new());
        }
        after_lower = c.is_lowercase();
        if let Some(part) = parts.last_mut()
            && !matches!(c, '_' | '-')
        {
            part.extend(c.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// A word without the ending that its grammar gave it, so that `implemented` finds `implement` and `implements`.
fn stem(word: &str) -> &str {
    let without = |ending: &str, least: usize| {
        word.strip_suffix(ending).filter(|stem| stem.chars().count() >= least && !stem.ends_with('s'))
    };
    let stem = without("ation", 5)
        .or_else(|| without("ing", 4))
        .or_else(|| without("ed", 4))
        .or_else(|| without("es", 4))
        .or_else(|| without("s", 3))
        .unwrap_or(word);
    stem.strip_suffix('e').filter(|short| short.chars().count() >= 4).unwrap_or(stem)
}

/// The pattern of a first search: lines with an identifier, or with two different keywords; of the only keyword when
/// there is one.
pub fn narrow(keywords: &[Keyword]) -> String {
    let specific: Vec<&Keyword> = keywords.iter().filter(|keyword| !keyword.generic).collect();
    let mut choices: Vec<String> =
        specific.iter().filter(|keyword| keyword.is_identifier()).map(|keyword| keyword.pattern()).collect();
    let words: Vec<String> =
        specific.iter().filter(|keyword| !keyword.is_identifier()).map(|keyword| keyword.pattern()).collect();
    if let ([word], true) = (words.as_slice(), choices.is_empty()) {
        return word.clone();
    }
    for (at, word) in words.iter().enumerate() {
        let others: Vec<&str> =
            words.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, other)| other.as_str()).collect();
        if !others.is_empty() {
            choices.push(format!("{word}.*(?:{})", others.join("|")));
        }
    }
    choices.join("|")
}

/// The pattern of a second search: lines with any keyword.
pub fn wide(keywords: &[Keyword]) -> String {
    let specific = keywords.iter().filter(|keyword| !keyword.generic);
    specific.map(Keyword::pattern).collect::<Vec<_>>().join("|")
}

/// `text` as a regular expression that matches it. Keywords have letters, digits and marks of other scripts only.
fn quoted(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut quoted, c| {
        if !c.is_alphanumeric() {
            quoted.push('\\');
        }
        quoted.push(c);
        quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(query: &str) -> Vec<(String, bool)> {
        of(query).into_iter().map(|keyword| (keyword.word, keyword.generic)).collect()
    }

    #[test]
    fn questions_become_keywords() {
        for (query, expected) in [
            (
                "Where is the shell command tool implemented and what are its arguments?",
                vec![("shell", false), ("command", false), ("tool", false), ("implemented", true), ("arguments", true)],
            ),
            (
                "what does readFile do in src/shutdown.rs?",
                vec![("readFile", false), ("src", false), ("shutdown", false)],
            ),
            ("function arguments", vec![("function", false), ("arguments", false)]),
            ("shell, SHELL and terminals", vec![("shell", false)]),
            ("Hi! How are you?", vec![]),
            ("Wo wird die Konfiguration gelesen?", vec![("Konfiguration", false), ("gelesen", false)]),
            ("?! 42", vec![]),
            ("缓存compaction", vec![("缓存", false), ("compaction", false)]),
            ("シェルは", vec![("シェ", false), ("ェル", false), ("ルは", false)]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|(word, generic)| (word.to_owned(), generic)).collect();
            assert_eq!(words(query), expected, "{query}");
        }
    }

    #[test]
    fn grammar_is_cut_off_and_meaning_kept() {
        for (word, expected) in [
            ("implemented", "implement"),
            ("implementation", "implement"),
            ("arguments", "argument"),
            ("stores", "stor"),
            ("store", "stor"),
            ("caching", "cach"),
            ("class", "class"),
            ("classes", "class"),
            ("process", "process"),
            ("keys", "key"),
            ("bus", "bus"),
            ("bed", "bed"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn patterns_want_two_keywords_first_and_one_later() {
        let keywords = of("shell command");
        assert_eq!(
            narrow(&keywords),
            r"(?:shell|terminal|bash).*(?:(?:command|(?:\b|_)cmd(?:s?\b|_)))|(?:command|(?:\b|_)cmd(?:s?\b|_)).*(?:(?:shell|terminal|bash))"
        );
        assert_eq!(wide(&keywords), r"(?:shell|terminal|bash)|(?:command|(?:\b|_)cmd(?:s?\b|_))");
        assert_eq!(narrow(&of("compaction")), "(?:compaction)");
        assert_eq!(narrow(&of("readFile")), "(?:read[_-]?file)");
        assert_eq!(narrow(&of("readFile compaction")), "(?:read[_-]?file)");
    }

    #[test]
    fn keywords_are_found_in_every_spelling() {
        let in_text = |query: &str, text: &str| of(query).iter().any(|keyword| keyword.is_in(&text.to_lowercase()));
        assert!(in_text("readFile", "fn read_file("));
        assert!(in_text("read_file", "ReadFile::new"));
        assert!(in_text("shell", "run_terminal_cmd"));
        assert!(in_text("commands", "run_cmd"));
        assert!(!in_text("dir", "redirect"));
        assert!(in_text("dir", "list_dir"));
        assert!(in_text("key", "all keys"));
        assert!(!in_text("key", "keyword"));
    }
}
