//! What the tree must keep and no compiler checks: who uses whom, sizes, orphans, words.
//!
//! Each check is a function over files in memory, so that its own test can show it a sample that fails.

mod crates;
mod forgotten;
mod layers;
mod prompts;
mod rust;
mod style;
mod tree;

/// Fails with all findings at once.
#[track_caller]
fn assert_none(what: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{what}:\n  {}", findings.join("\n  "));
}
