//! Tokens of the view: what the provider counted last, and an estimate of what came since.

use crate::model::calibration::Calibration;
use crate::model::usage::Usage;
use crate::transcript::epoch::Segment;

/// An answer may have been reported larger than it is estimated by half and this many tokens. More is reasoning that is
/// not sent back.
const ANSWER_SLACK: u64 = 50;

/// See the module's head. Each block is counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Tokens that the provider has counted.
    reported: u64,
    /// Estimated tokens, uncalibrated, of what it has not.
    estimated: u64,
    /// What it counted for the answer, which is not in `reported`.
    answer: Option<u64>,
}

impl Size {
    /// Of segments that no provider has counted.
    pub(super) fn estimated<'a>(segments: impl IntoIterator<Item = &'a Segment>) -> Self {
        Self { estimated: segments.into_iter().map(|segment| segment.tokens).sum(), ..Self::default() }
    }

    /// Of a request and its answer that were counted so.
    pub(super) fn reported(usage: Usage) -> Self {
        Self { reported: usage.input, estimated: 0, answer: Some(usage.output) }
    }

    pub(super) fn tokens(self, calibration: Calibration) -> u64 {
        self.reported.saturating_add(calibration.of(self.estimated))
    }

    /// With what follows. When `tail` begins with the answer that was reported, that counts as it was reported, unless the
    /// report cannot be of what stands there: reasoning that is not sent back, or an answer that was cut.
    #[must_use]
    pub(super) fn with(self, tail: &[Segment], answered: bool, calibration: Calibration) -> Self {
        let mut next = Self { answer: None, ..self };
        let mut rest = tail;
        if answered && let (Some(reported), Some((first, others))) = (self.answer, tail.split_first()) {
            let estimate = calibration.of(first.tokens);
            if (estimate / 2..=estimate.saturating_add(estimate / 2 + ANSWER_SLACK)).contains(&reported) {
                next.reported = next.reported.saturating_add(reported);
                rest = others;
            }
        }
        next.estimated = next.estimated.saturating_add(rest.iter().map(|segment| segment.tokens).sum());
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(tokens: u64) -> Segment {
        Segment::counted("{}", tokens, 0)
    }

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input, output, ..Usage::default() }
    }

    fn after(reported: Usage, tail: &[u64], answered: bool) -> u64 {
        let tail: Vec<Segment> = tail.iter().map(|tokens| segment(*tokens)).collect();
        let calibration = Calibration::default();
        Size::reported(reported).with(&tail, answered, calibration).tokens(calibration)
    }

    #[test]
    fn what_was_reported_counts_and_what_follows_is_estimated() {
        assert_eq!(after(usage(1_000, 90), &[100, 30], true), 1_000 + 90 + 30);
        assert_eq!(after(usage(1_000, 90), &[100, 30], false), 1_000 + 100 + 30);
    }

    #[test]
    fn an_answer_whose_report_is_of_something_else_is_estimated() {
        // Reasoning that is not sent back.
        assert_eq!(after(usage(1_000, 9_000), &[100], true), 1_100);
        // An answer that was cut, of which only the beginning was counted.
        assert_eq!(after(usage(1_000, 1), &[100], true), 1_100);
        // No answer is in the view.
        assert_eq!(after(usage(1_000, 5), &[], false), 1_000);
    }

    #[test]
    fn only_the_estimated_part_is_calibrated() {
        let calibration = Calibration { factor: 1.5, reports: 1 };
        assert_eq!(Size::estimated(&[segment(100), segment(20)]).tokens(calibration), 180);
        let size = Size::reported(usage(1_000, 0)).with(&[segment(100)], false, calibration);
        assert_eq!(size.tokens(calibration), 1_150);
        assert_eq!(size.with(&[segment(10)], true, calibration).tokens(calibration), 1_165);
    }
}
