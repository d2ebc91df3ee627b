//! Long runs: what shows only after many turns, and what shows only when everything happens at once. Short ones belong to
//! every test run, the long ones are ignored tests: `cargo test --release --workspace --test soak -- --ignored`.
//!
//! Each run prints its seed; `PLIMSOLL_SOAK_SEED` repeats it, as far as the machine does.

mod crowd;
mod model;
mod turns;
