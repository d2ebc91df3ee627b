//! Who may do what. Pure: facts in, a decision out.

mod ask;
pub mod command;
mod commands;
mod coverage;
pub mod glob;
pub mod leave;
pub mod mode;
mod paths;
pub mod policy;
pub mod rule;
mod written;

#[cfg(test)]
mod tests;
