//! How large the parts of a summary may be. All in tokens.

/// Per cent of the window that a summary may fill, whenever what is never cut leaves room.
const TOTAL: u64 = 25;
/// Per cent for what the user said.
const SAID: u64 = 15;
/// Per cent for what the model writes, and the most in any window.
const MODEL: u64 = 8;
const MODEL_MOST: u64 = 6_000;
/// Per cent for the host's lists (todos, causes, files), and the least of it when they are crowded out.
const LISTS: u64 = 3;

/// See the module's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The whole.
    pub total: u64,
    /// Section 6. What is never cut may exceed it.
    pub said: u64,
    /// The host's lists.
    pub lists: u64,
    /// What the model writes, all sections together.
    pub model: u64,
}

impl Budget {
    /// In a window of that many tokens, when nothing else wants room.
    pub fn of(window: u64) -> Self {
        let share = |percent: u64| window / 100 * percent + window % 100 * percent / 100;
        Self { total: share(TOTAL), said: share(SAID), lists: share(LISTS), model: share(MODEL).min(MODEL_MOST) }
    }

    /// The same beside parts that are never cut: `fixed` of the host's, and `said` of the user's words. What is left goes to
    /// the model first, then to the user's other words; it is never left with less than a third of its share.
    #[must_use]
    pub fn beside(self, fixed: u64, said: u64) -> Self {
        let least = self.model / 3;
        let left = self.total.saturating_sub(fixed).saturating_sub(said);
        let lists = self.lists.min(left.saturating_sub(least));
        let model = left.saturating_sub(lists).clamp(least, self.model.max(least));
        let spare = left.saturating_sub(lists).saturating_sub(model);
        Self { lists, model, said: said.saturating_add(spare).min(self.said).max(said), ..self }
    }

    /// Words that a model is asked for, so that what it writes fits although words differ.
    pub fn words(&self) -> u64 {
        (self.model * 3 / 5).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_follow_the_window() {
        assert_eq!(Budget::of(8_000), Budget { total: 2_000, said: 1_200, lists: 240, model: 640 });
        assert_eq!(Budget::of(200_000), Budget { total: 50_000, said: 30_000, lists: 6_000, model: 6_000 });
        assert_eq!(Budget::of(8_000).beside(400, 100), Budget { total: 2_000, said: 720, lists: 240, model: 640 });
        assert_eq!(Budget::of(8_000).beside(400, 3_000), Budget { total: 2_000, said: 3_000, lists: 0, model: 213 });
    }

    proptest! {
        #[test]
        fn the_whole_fits_whenever_what_is_never_cut_leaves_room(
            window in 0_u64..2_000_000, fixed in 0_u64..100_000, said in 0_u64..100_000,
        ) {
            let budget = Budget::of(window).beside(fixed, said);
            let sum = fixed + budget.lists + budget.model + budget.said;
            prop_assert!(sum <= budget.total.max(fixed + said + Budget::of(window).model / 3));
            prop_assert!(budget.said >= said);
        }
    }
}
