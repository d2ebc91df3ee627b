//! Golden requests: one scenario each, then what the model gets, as a readable list. A changed file is read line by line
//! before it is accepted (`UPDATE_EXPECT=1`).

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has nothing better to do than to fail"
)]

mod bundles;
mod compaction;
mod media;
mod plan;
mod rules;
mod session;
mod turns;
