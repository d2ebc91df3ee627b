//! Tools as the core sees them: what they are, what was called, what came out, and what of it the view shows.

pub mod account;
pub mod args;
pub mod call;
pub mod name;
pub mod outcome;
pub mod projection;
pub mod spec;
pub mod test_report;
