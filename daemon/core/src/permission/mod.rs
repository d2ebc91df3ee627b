//! Who may do what. Pure: facts in, a decision out.

pub mod policy;
