//! How a model's own token counts compare with the estimate: learned from reported usage, one for each model.

use serde::{Deserialize, Serialize};

/// The factor never leaves these bounds: a report beyond them says something about the server, not about its tokens.
const BOUNDS: (f64, f64) = (0.5, 2.0);

/// Smaller requests are mostly what the server's own template adds.
const LEAST_ESTIMATE: u64 = 200;

/// A report never moves the factor by less than this share of the way: models behind a name change.
const LEAST_WEIGHT: f64 = 0.125;

/// What estimates of one model are multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Reported tokens for one estimated.
    pub factor: f64,
    /// Reports that it was learned from.
    pub reports: u32,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { factor: 1.0, reports: 0 }
    }
}

impl Calibration {
    /// The calibrated form of an estimate.
    pub fn of(self, estimate: u64) -> u64 {
        (estimate as f64 * self.factor).round() as u64
    }

    /// The estimate whose calibrated form this is.
    pub fn estimated(self, tokens: u64) -> u64 {
        (tokens as f64 / self.factor).round() as u64
    }

    /// What is known after a whole request that was estimated so, uncalibrated, had this many tokens by its provider's
    /// count. The mean of the first reports, later ones weigh an eighth each.
    #[must_use]
    pub fn learned(self, estimate: u64, reported: u64) -> Self {
        if estimate < LEAST_ESTIMATE || reported == 0 {
            return self;
        }
        let ratio = (reported as f64 / estimate as f64).clamp(BOUNDS.0, BOUNDS.1);
        let weight = (1.0 / (f64::from(self.reports) + 1.0)).max(LEAST_WEIGHT);
        let factor = (self.factor + (ratio - self.factor) * weight).clamp(BOUNDS.0, BOUNDS.1);
        Self { factor, reports: self.reports.saturating_add(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_report_counts_whole_and_later_ones_less() {
        let first = Calibration::default().learned(1_000, 1_300);
        assert_eq!(first, Calibration { factor: 1.3, reports: 1 });
        assert_eq!((first.of(1_000), first.estimated(1_300)), (1_300, 1_000));
        assert!((first.learned(1_000, 1_100).factor - 1.2).abs() < 1e-9);
        let settled = Calibration { factor: 1.2, reports: 100 };
        assert!((settled.learned(1_000, 2_000).factor - 1.3).abs() < 1e-9);
    }

    #[test]
    fn what_says_nothing_teaches_nothing() {
        let before = Calibration { factor: 1.2, reports: 3 };
        assert_eq!(before.learned(100, 900), before);
        assert_eq!(before.learned(10_000, 0), before);
    }

    proptest! {
        #[test]
        fn the_factor_stays_in_its_bounds(reports in prop::collection::vec((0_u64..1_000_000, any::<u32>()), 0..40)) {
            let learned = reports.iter().fold(Calibration::default(), |known, (estimate, reported)| {
                known.learned(*estimate, u64::from(*reported))
            });
            prop_assert!((BOUNDS.0..=BOUNDS.1).contains(&learned.factor), "{}", learned.factor);
        }
    }
}
