//! To be filled.

pub mod git;
