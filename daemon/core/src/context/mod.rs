//! Context: what the model sees, assembled from values. Pure.

pub mod changes;
pub mod head;
pub mod marks;
pub mod view;

pub use changes::changes;
