//! The real daemon is killed at every boundary of its work: before a record and after it, in the middle of a write,
//! after a rename, before an operation is settled, while an answer streams. Afterwards nothing may have happened twice,
//! nothing be called done that is not or failed that is not, nothing be lost that a client has seen, and the work goes on
//! to its end, with requests that a strict provider takes.
//!
//! One run per boundary belongs to every test run; hundreds over mixed work are an ignored test:
//! `cargo test --release --workspace --test kills -- --ignored`. They print their seed; `PLIMSOLL_SOAK_SEED` repeats it.

mod boundaries;
mod compacting;
mod every;
mod job;
mod known;
mod mixed;
mod run;
