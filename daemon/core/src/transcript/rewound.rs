//! Which items are out of the view, because the conversation went back to before them.

use super::item::{Item, ItemBody};
use crate::id::ItemNo;

/// Items that left the view, with the rewinds themselves. Their numbers are ranges: each ends at a rewind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutOfView {
    /// First and last, ascending, apart.
    ranges: Vec<(ItemNo, ItemNo)>,
}

impl OutOfView {
    /// Of a session's rewinds in their order: each one's own number, and the first item that left with it.
    pub fn of(rewinds: impl IntoIterator<Item = (ItemNo, ItemNo)>) -> Self {
        let mut ranges: Vec<(ItemNo, ItemNo)> = Vec::new();
        for (at, from) in rewinds {
            while ranges.last().is_some_and(|(first, _)| *first >= from) {
                ranges.pop();
            }
            match ranges.last_mut() {
                Some((_, last)) if *last >= from => *last = at,
                Some(_) | None => ranges.push((from, at)),
            }
        }
        Self { ranges }
    }

    /// Of these items, which are a session's first ones or all.
    pub fn of_items(items: &[Item]) -> Self {
        Self::of(items.iter().filter_map(|item| match &item.body {
            ItemBody::Rewind(rewind) => Some((item.no, rewind.from)),
            _ => None,
        }))
    }

    /// Whether the item is out of the view.
    pub fn contains(&self, no: ItemNo) -> bool {
        self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&no))
    }

    /// Whether every item is in the view.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ranges, first and last item, ascending.
    pub fn ranges(&self) -> &[(ItemNo, ItemNo)] {
        &self.ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rewinds: &[(u64, u64)], expected: &[(u64, u64)]) {
        let out = OutOfView::of(rewinds.iter().map(|(at, from)| (ItemNo(*at), ItemNo(*from))));
        let found: Vec<(u64, u64)> = out.ranges().iter().map(|(first, last)| (first.0, last.0)).collect();
        assert_eq!(found, expected);
        for no in 1..40 {
            let within = expected.iter().any(|(first, last)| (*first..=*last).contains(&no));
            assert_eq!(out.contains(ItemNo(no)), within, "item {no}");
        }
    }

    #[test]
    fn a_rewind_takes_out_what_stands_between() {
        check(&[], &[]);
        check(&[(9, 5)], &[(5, 9)]);
        check(&[(9, 5), (20, 12)], &[(5, 9), (12, 20)]);
        // To before an earlier rewind: what that took out is out still.
        check(&[(9, 5), (20, 3)], &[(3, 20)]);
        // Directly behind an earlier one, and to where that went.
        check(&[(9, 5), (12, 10)], &[(5, 9), (10, 12)]);
        check(&[(9, 5), (10, 4), (30, 11)], &[(4, 10), (11, 30)]);
    }
}
