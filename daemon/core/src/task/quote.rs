//! Whether the user said so: a quote is an exact part of one of their messages, every character and blank the same.

use crate::id::ItemNo;

/// The message that holds a quote. `said` are the user's messages, oldest first; with `item` it is that one or none, else
/// the newest that holds it. Blank quotes are held by none.
pub fn find(said: &[(ItemNo, String)], quote: &str, item: Option<ItemNo>) -> Option<ItemNo> {
    if quote.trim().is_empty() {
        return None;
    }
    let mut holding =
        said.iter().rev().filter(|(no, text)| item.is_none_or(|item| item == *no) && text.contains(quote));
    holding.next().map(|(no, _)| *no)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_an_exact_part_of_a_message() {
        let said = [(1, "Fix it. Do not commit!\n  Never push."), (4, "Do not commit!"), (9, "thanks")];
        let said: Vec<(ItemNo, String)> = said.map(|(no, text)| (ItemNo(no), text.to_owned())).into();
        let check = |quote: &str, item: Option<u64>, expected: Option<u64>| {
            assert_eq!(find(&said, quote, item.map(ItemNo)), expected.map(ItemNo), "{quote:?} {item:?}");
        };
        check("Do not commit", None, Some(4));
        check("Do not commit", Some(1), Some(1));
        check("Do not commit", Some(9), None);
        check("!\n  Never", None, Some(1));
        check("!\n Never", None, None);
        check("do not commit", None, None);
        check("Do not  commit", None, None);
        check("", None, None);
        check(" ", None, None);
    }
}
