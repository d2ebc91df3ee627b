//! How full a request makes the window of its model, and from where on something is done about it.

use crate::model::catalog::ModelProfile;

/// Per cent of load from which on old results are cut, old turns are shortened, and the history is summarised.
pub const LINES: [u8; 3] = [65, 82, 95];

/// Most tokens that are kept free for the results of one step.
const ROOM_MAX: u64 = 16_000;

/// Per cent of the window that they get where that is less.
const ROOM_SHARE: u64 = 15;

/// A model's window, divided. All in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// All of it.
    pub window: u64,
    /// Kept for the answer.
    pub output_reserve: u64,
    /// Kept for the results of the next step.
    pub results: u64,
}

impl Room {
    /// The room of this model.
    pub fn of(model: &ModelProfile) -> Self {
        let window = model.context_window;
        let output_reserve = window - model.usable_window();
        Self { window, output_reserve, results: ROOM_MAX.min(window * ROOM_SHARE / 100) }
    }

    /// What a request may have at a load of 1.
    pub fn usable(&self) -> u64 {
        self.window.saturating_sub(self.output_reserve).saturating_sub(self.results)
    }

    /// The load of a request with so many tokens.
    pub fn load(&self, tokens: u64) -> f64 {
        tokens as f64 / self.usable().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::request::Api;

    #[test]
    fn the_room_for_results_is_a_share_of_small_windows_and_bounded_in_large_ones() {
        let room = |context_window, max_output| {
            let room = Room::of(&ModelProfile {
                provider: "p".into(),
                name: "m".into(),
                api: Api::Offline,
                context_window,
                max_output,
                temperature: None,
                cache_lifetime_s: 300,
                price: None,
                images: false,
            });
            (room.output_reserve, room.results, room.usable())
        };
        assert_eq!(room(200_000, 8_000), (8_000, 16_000, 176_000));
        assert_eq!(room(10_000, 1_000), (1_000, 1_500, 7_500));
        assert_eq!(room(10_000, 100_000), (5_000, 1_500, 3_500));
    }

    #[test]
    fn the_load_is_a_share_of_what_is_usable() {
        let room = Room { window: 100, output_reserve: 20, results: 30 };
        assert!((room.load(25) - 0.5).abs() < 1e-9);
        assert!(Room { window: 1, output_reserve: 1, results: 1 }.load(3) > 1.0);
    }
}
