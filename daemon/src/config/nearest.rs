//! The known word that someone probably meant.

/// The word of `known` that is nearest to `word`, when it is near enough to be a slip of the fingers: at most two
/// letters changed, added or lost, and never more than half of the word.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let letters = word.chars().count();
    let limit = (letters / 2).min(2);
    known
        .iter()
        .map(|candidate| (distance(word, candidate), *candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many letters must be changed, added or removed to make one of the other; the difference of case counts nothing.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.to_lowercase().chars().enumerate() {
        let mut left = line + 1;
        let mut next = Vec::with_capacity(row.len());
        next.push(left);
        for (pair, candidate) in row.windows(2).zip(&other) {
            let &[diagonal, above] = pair else { continue };
            left = (diagonal + usize::from(letter != *candidate)).min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["base_url", "api", "api_key", "headers"];
        assert_eq!(nearest("base_ulr", &known), Some("base_url"));
        assert_eq!(nearest("Headers", &known), Some("headers"));
        assert_eq!(nearest("apikey", &known), Some("api_key"));
        assert_eq!(nearest("colour", &known), None);
        assert_eq!(nearest("x", &known), None);
        assert_eq!(nearest("", &known), None);
    }
}
