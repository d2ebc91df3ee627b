//! Context: what the model sees, assembled from values. Pure.

pub mod attached_files;
pub mod changes;
pub mod compare;
mod cut;
pub mod description;
pub mod dynamic;
pub mod git_status;
pub mod head;
pub mod instructions;
pub mod marks;
pub mod open_files;
mod pictures;
pub mod project_layout;
mod size;
pub mod user_info;
pub mod view;

pub use changes::changes;
