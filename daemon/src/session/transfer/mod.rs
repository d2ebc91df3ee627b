//! Sessions as text that leaves this machine and comes to another: an export for Plimsoll itself, one JSON value per line, and
//! one for people. It is paged by bytes and made as it is read, so that a long session costs no more memory than a page.

mod import;
mod line;
mod markdown;
mod pages;

pub use pages::{Exports, Page};

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Everything, for `session/import`: a line of facts, then a line for each item.
    Jsonl,
    /// What was said, for people.
    Markdown,
}

#[cfg(test)]
mod tests;
