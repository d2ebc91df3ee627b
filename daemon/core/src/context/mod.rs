//! Context: what the model sees, assembled from values. Pure.

pub mod attached_files;
pub mod attached_sessions;
pub mod cache;
pub mod changes;
pub mod compare;
mod cut;
pub mod description;
pub mod dynamic;
pub mod edit_history;
pub mod explain;
pub mod git_status;
pub mod head;
pub mod instructions;
mod lists;
pub mod load;
pub mod marks;
mod memories;
pub mod open_files;
mod pictures;
pub mod project_layout;
pub mod reopen;
pub mod rules;
mod size;
mod skills;
pub mod tool_facts;
pub mod user_info;
pub mod view;

pub use changes::changes;
