//! The deterministic token estimate: by character class, the same on every machine, additive but for rounding.
//!
//! It is no tokenizer: budgets and loads are counted with it, and a model's own reports calibrate it. Called wherever
//! text gets a size before a provider has counted it.

/// Cost of one character in hundredths of a token. On source text the sum is near one token for four bytes; prose is a
/// little cheaper, digits and punctuation are denser, scripts without blanks cost about one token a character.
mod cost {
    /// Words of ASCII letters: four to five letters a token.
    pub const LETTER: u64 = 23;
    /// Digits come in groups of up to three.
    pub const DIGIT: u64 = 42;
    /// A blank mostly belongs to the word after it; indentation is packed.
    pub const BLANK: u64 = 8;
    /// Line ends are often packed with what stands beside them.
    pub const NEWLINE: u64 = 50;
    /// Operators, brackets, quotes.
    pub const PUNCTUATION: u64 = 55;
    /// Terminal and other control characters are split into bytes.
    pub const CONTROL: u64 = 100;
    /// Alphabets of two-byte characters: accented Latin, Greek, Cyrillic, Hebrew, Arabic.
    pub const ALPHABET: u64 = 50;
    /// Everything else in the basic plane, ideographs and syllables above all.
    pub const IDEOGRAPH: u64 = 100;
    /// Characters outside the basic plane, split into bytes.
    pub const SUPPLEMENTARY: u64 = 250;
}

/// Estimated tokens of `text`, rounded up; 0 for the empty text only.
///
/// `tokens(a + b)` is never more than `tokens(a) + tokens(b)`, and never less than either.
pub fn tokens(text: &str) -> u64 {
    text.chars().map(char_cost).sum::<u64>().div_ceil(100)
}

/// Estimated tokens of the texts in a JSON value, as [`tokens`] would count them: an escaped character costs what it
/// stands for. Braces, keys and the like cost what their characters cost.
pub fn json_tokens(json: &str) -> u64 {
    let mut chars = json.chars();
    let mut sum = 0_u64;
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).unwrap_or('\u{fffd}')
                }
                Some('r' | 'b' | 'f') => '\r',
                Some(other) => other,
                None => break,
            },
            c => c,
        };
        sum += char_cost(c);
    }
    sum.div_ceil(100)
}

/// The longest start of `text`, in bytes at a character's border, that costs at most `limit` tokens.
pub fn prefix_within(text: &str, limit: u64) -> usize {
    let limit = limit.saturating_mul(100);
    let mut spent = 0_u64;
    for (at, c) in text.char_indices() {
        spent = spent.saturating_add(char_cost(c));
        if spent > limit {
            return at;
        }
    }
    text.len()
}

/// The longest end of `text` that costs at most `limit` tokens, as the place in bytes where it begins.
pub fn suffix_within(text: &str, limit: u64) -> usize {
    let limit = limit.saturating_mul(100);
    let mut spent = 0_u64;
    let mut from = text.len();
    for (at, c) in text.char_indices().rev() {
        spent = spent.saturating_add(char_cost(c));
        if spent > limit {
            break;
        }
        from = at;
    }
    from
}

fn char_cost(c: char) -> u64 {
    match c {
        'a'..='z' | 'A'..='Z' => cost::LETTER,
        '0'..='9' => cost::DIGIT,
        ' ' | '\t' => cost::BLANK,
        '\n' => cost::NEWLINE,
        '!'..='~' => cost::PUNCTUATION,
        c if c.is_ascii() => cost::CONTROL,
        '\u{80}'..='\u{7ff}' => cost::ALPHABET,
        '\u{800}'..='\u{ffff}' => cost::IDEOGRAPH,
        _ => cost::SUPPLEMENTARY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn source_text_costs_about_a_token_for_four_bytes() {
        let text = include_str!("tokens.rs");
        let ratio = text.len() as f64 / tokens(text) as f64;
        assert!((3.5..5.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn classes_have_their_prices() {
        assert_eq!(tokens(""), 0);
        assert_eq!(tokens("a"), 1);
        assert_eq!(tokens("hello world"), 3);
        assert_eq!(tokens("\u{4f60}\u{597d}\u{4e16}\u{754c}"), 4);
        assert_eq!(tokens("1234567890"), 5);
    }

    #[test]
    fn an_escaped_character_costs_what_it_stands_for() {
        for text in ["a\tb\n\"c\" \\ \u{1} \u{4f60}", "", "plain"] {
            let json = serde_json::to_string(text).unwrap();
            let quotes = 2 * cost::PUNCTUATION;
            let exact: u64 = text.chars().map(char_cost).sum();
            assert_eq!(json_tokens(&json), (exact + quotes).div_ceil(100), "{json}");
        }
    }

    proptest! {
        #[test]
        fn the_estimate_is_additive_but_for_rounding(a in ".{0,40}", b in ".{0,40}") {
            let (ta, tb, both) = (tokens(&a), tokens(&b), tokens(&format!("{a}{b}")));
            prop_assert!(both <= ta + tb && both + 1 >= ta + tb);
        }

        #[test]
        fn a_prefix_or_suffix_within_a_limit_is_the_longest(text in ".{0,40}", limit in 0_u64..30) {
            let end = prefix_within(&text, limit);
            prop_assert!(tokens(&text[..end]) <= limit);
            if let Some(next) = text[end..].chars().next() {
                prop_assert!(tokens(&text[..end + next.len_utf8()]) > limit);
            }
            let start = suffix_within(&text, limit);
            prop_assert!(tokens(&text[start..]) <= limit);
            if let Some(before) = text[..start].chars().next_back() {
                prop_assert!(tokens(&text[start - before.len_utf8()..]) > limit);
            }
        }
    }
}
