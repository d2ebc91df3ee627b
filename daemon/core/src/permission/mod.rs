//! Who may do what. Pure: facts in, a decision out.

pub mod leave;
pub mod mode;
pub mod policy;
pub mod rule;
