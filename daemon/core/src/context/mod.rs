//! To be filled.

pub mod tokens;
