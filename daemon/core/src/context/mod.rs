//! Context: what the model sees, assembled from values. Pure.

pub mod changes;
pub mod compare;
mod cut;
pub mod description;
pub mod dynamic;
pub mod git_status;
pub mod head;
pub mod instructions;
mod lists;
pub mod marks;
mod memories;
pub mod open_files;
pub mod project_layout;
pub mod rules;
mod skills;
pub mod user_info;
pub mod view;

pub use changes::changes;
