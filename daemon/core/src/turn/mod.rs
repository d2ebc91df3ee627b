//! A turn, as a pure machine: what happened goes in, what to do comes out. Nothing here waits or looks anything up.

mod compacting;
pub mod effect;
pub mod fork;
pub mod input;
pub mod load;
pub mod machine;
mod phase;
pub mod preview;
pub mod recover;
pub mod rewind;
mod state;
#[cfg(test)]
mod tests;
