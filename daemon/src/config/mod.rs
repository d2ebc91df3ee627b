//! Where Plimsoll's files are and what the user configured. Files and environment in, plain values out; nothing here
//! starts a program or speaks to a server. Used by `cli`, and by the session service at the start of sessions and turns.

mod catalogue;
mod change;
pub mod check;
pub mod consent;
pub mod env;
mod error;
mod folders;
mod key;
mod nearest;
mod permissions;
mod places;
mod prompts;
mod raw;
mod resolve;
pub mod schema;
mod settings;
mod sources;
mod tests_choice;
mod write;

pub use change::{Change, typed};
pub use error::{ConfigError, Place};
pub use folders::{FolderError, Folders, private_append, private_file, user_folders};
pub use permissions::{Permissions, parse_rule};
pub use plimsoll_core::permission::policy::{Mode as PermissionMode, UnknownMode};
pub use prompts::{OwnTexts, PromptChoice, TextFiles};
pub use resolve::{Config, FoundKey, OFFLINE_MODEL, Overrides, parse_mode};
pub use settings::{Layer, Setting, Source, known_key};
pub use tests_choice::TestsChoice;
pub use write::WriteError;
