//! The functional core of Plimsoll: it decides, and does nothing.
//!
//! No I/O, no async, no clock, no randomness, no threads. What the shell must do comes out as values, what happened
//! goes in as values, and the same values in give the same values out.

pub mod checkpoint;
pub mod compaction;
pub mod context;
pub mod edit;
pub mod escape;
pub mod event;
pub mod id;
pub mod ingest;
pub mod ledger;
pub mod media;
pub mod model;
pub mod path;
pub mod permission;
pub mod prompt;
pub mod task;
pub mod time;
pub mod tokens;
pub mod tool;
pub mod transcript;
pub mod turn;
pub mod verification;
pub mod workspace;
