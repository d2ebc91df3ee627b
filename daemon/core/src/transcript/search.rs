//! Words in texts: whether all of them stand in one, in any case and order, and a piece of it that shows them.

use std::ops::Range;

/// Bytes of a text that a hit shows before its word, about.
const BEFORE: usize = 80;

/// Bytes of a text that a hit shows in all, about.
const SHOWN: usize = 240;

/// What somebody looks for: words between blanks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(Vec<Word>);

/// A word, each letter in its simple lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    letters: Vec<char>,
    /// The same as bytes when it is plain ASCII, which is found faster.
    ascii: Option<Vec<u8>>,
}

/// A piece of a text with words in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The piece, as it stands in the text.
    pub text: String,
    /// Where words stand in it, in bytes; ascending, none touches another.
    pub ranges: Vec<Range<usize>>,
}

impl Words {
    /// The words of a query; none of a blank one.
    pub fn new(query: &str) -> Self {
        let word = |word: &str| {
            let letters: Vec<char> = word.chars().map(fold).collect();
            let ascii = word.is_ascii().then(|| word.to_ascii_lowercase().into_bytes());
            Word { letters, ascii }
        };
        Self(query.split_whitespace().map(word).collect())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether all stand in the text. Without words: always.
    pub fn are_in(&self, text: &str) -> bool {
        self.0.iter().all(|word| word.find(text, 0).is_some())
    }

    /// Whether a text can hold all words whose JSON form this is: `false` is certain. Words that JSON may write in another
    /// way are not looked for.
    pub fn may_be_in(&self, json: &str) -> bool {
        let as_it_is = |word: &&Word| word.letters.iter().all(|letter| letter.is_alphanumeric());
        self.0.iter().filter(as_it_is).all(|word| word.find(json, 0).is_some())
    }

    /// A piece of the text around its first longest word, when all stand in it.
    pub fn find(&self, text: &str) -> Option<Found> {
        if !self.are_in(text) {
            return None;
        }
        let longest = self.0.iter().max_by_key(|word| word.letters.len())?;
        let first = longest.find(text, 0)?;
        let start = boundary(text, first.start.saturating_sub(BEFORE));
        let end = boundary(text, (start + SHOWN).max(first.end).min(text.len()));
        let piece = text.get(start..end)?;
        let mut ranges: Vec<Range<usize>> = self.0.iter().flat_map(|word| word.all(piece)).collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                Some(_) | None => joined.push(range),
            }
        }
        Some(Found { text: piece.to_owned(), ranges: joined })
    }
}

impl Word {
    /// Where it stands first at or after byte `from`, which begins a letter.
    fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let rest = text.get(from..)?;
        let found = match &self.ascii {
            Some(word) => find_ascii(rest.as_bytes(), word),
            None => self.find_letters(rest),
        };
        found.map(|found| found.start + from..found.end + from)
    }

    fn find_letters(&self, text: &str) -> Option<Range<usize>> {
        let first = self.letters.first()?;
        text.char_indices().filter(|(_, letter)| fold(*letter) == *first).find_map(|(start, _)| {
            let mut rest = text.get(start..)?.char_indices();
            let all = self.letters.iter().all(|wanted| rest.next().is_some_and(|(_, letter)| fold(letter) == *wanted));
            all.then(|| start..start + rest.next().map_or(text.len() - start, |(end, _)| end))
        })
    }

    fn all(&self, text: &str) -> Vec<Range<usize>> {
        let mut all: Vec<Range<usize>> = Vec::new();
        while let Some(next) = self.find(text, all.last().map_or(0, |last| last.end)) {
            all.push(next);
        }
        all
    }
}

/// A letter as it is compared: its lower case, where that is one letter too. ASCII is equal to ASCII only.
fn fold(letter: char) -> char {
    if letter.is_ascii() {
        return letter.to_ascii_lowercase();
    }
    let mut lower = letter.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) if !lower.is_ascii() => lower,
        _ => letter,
    }
}

/// A word in lower case among bytes. In UTF-8 it begins and ends between letters wherever it stands.
fn find_ascii(text: &[u8], word: &[u8]) -> Option<Range<usize>> {
    let first = *word.first()?;
    let starts = memchr::memchr2_iter(first, first.to_ascii_uppercase(), text);
    starts
        .map(|start| start..start + word.len())
        .find(|place| text.get(place.clone()).is_some_and(|there| there.eq_ignore_ascii_case(word)))
}

/// The beginning of the letter that this byte belongs to.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(query: &str, text: &str) -> Option<String> {
        let found = Words::new(query).find(text)?;
        let mut out = String::new();
        let mut at = 0;
        for range in &found.ranges {
            out.push_str(&found.text[at..range.start]);
            out.push('[');
            out.push_str(&found.text[range.clone()]);
            out.push(']');
            at = range.end;
        }
        Some(out + &found.text[at..])
    }

    #[test]
    fn all_words_must_be_there_in_any_case_and_order() {
        let text = "The Parser reads CONFIG files";
        assert_eq!(shown("config parser", text).unwrap(), "The [Parser] reads [CONFIG] files");
        assert_eq!(shown("config writer", text), None);
        assert_eq!(shown("  ", text), None);
        assert!(Words::new(" ").are_in("x"));
        assert_eq!(shown("aa a", "xaaay").unwrap(), "x[aaa]y");
    }

    #[test]
    fn letters_beyond_ascii_are_compared_in_lower_case() {
        assert_eq!(shown("größe", "Die GRÖßE, die Größe").unwrap(), "Die [GRÖßE], die [Größe]");
        assert_eq!(shown("ПРИВЕТ", "— привет").unwrap(), "— [привет]");
        // Neither the Kelvin sign nor a letter whose lower case is two letters is taken for ASCII.
        assert_eq!(shown("k", "\u{212a}"), None);
        assert_eq!(shown("i", "\u{130}"), None);
    }

    #[test]
    fn a_long_text_is_shown_around_the_word_between_whole_letters() {
        let text = format!("{}needle{}", "ä".repeat(5_000), "€".repeat(5_000));
        let found = Words::new("NEEDLE").find(&text).unwrap();
        assert!(found.text.len() <= SHOWN && found.text.len() > SHOWN - 4, "{}", found.text.len());
        assert_eq!(found.ranges.iter().map(|range| &found.text[range.clone()]).collect::<Vec<_>>(), ["needle"]);
        let word = "x".repeat(1_000);
        let ranges = Words::new(&word).find(&format!("a {word}")).unwrap().ranges;
        assert_eq!(ranges, std::iter::once(2..1_002).collect::<Vec<_>>());
    }

    #[test]
    fn a_json_form_rules_out_only_what_cannot_be_there() {
        let json = r#"{"text":"say \"hi\"\tto C:\\dir"}"#;
        assert!(Words::new("SAY hi").may_be_in(json));
        assert!(Words::new("\"hi\" c:\\dir").may_be_in(json));
        assert!(!Words::new("say bye").may_be_in(json));
    }
}
