//! To be filled.

pub mod cut;
pub mod dynamic;
pub mod git_status;
pub mod instructions;
pub mod open_files;
pub mod project_layout;
pub mod user_info;
