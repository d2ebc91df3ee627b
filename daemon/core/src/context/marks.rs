//! Where cache marks stand among the messages.
//!
//! A provider that caches up to a mark finds an earlier entry only within a lookback of some 20 blocks before it
//! (Anthropic's prompt caching documentation), so each request marks its newest message and also the one that the
//! request before it marked: however many blocks a step added, the earlier entry is named exactly. With the marks on the
//! tools and on the static text these are the four that Anthropic allows.

/// Positions of the marked messages, ascending: the one marked before, and the newest.
pub fn marks(previous_newest: Option<u32>, messages: usize) -> Vec<u32> {
    let Some(newest) = messages.checked_sub(1).and_then(|at| u32::try_from(at).ok()) else { return Vec::new() };
    match previous_newest {
        Some(previous) if previous < newest => vec![previous, newest],
        Some(_) | None => vec![newest],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_message_and_the_one_marked_before_carry_marks() {
        assert_eq!(marks(None, 0), Vec::<u32>::new());
        assert_eq!(marks(None, 2), vec![1]);
        assert_eq!(marks(Some(1), 9), vec![1, 8]);
        assert_eq!(marks(Some(8), 9), vec![8]);
    }

    #[test]
    fn however_much_a_step_adds_the_entry_before_it_is_named() {
        let mut last = None;
        let mut messages = 1;
        for added in [1, 60, 2, 121, 1, 200] {
            messages += added;
            let now = marks(last, messages);
            assert!(now.len() <= 2 && last.is_none_or(|last| now.contains(&last)), "{now:?}");
            last = now.last().copied();
            assert_eq!(last, u32::try_from(messages - 1).ok());
        }
    }
}
