//! What a call that runs may do. Decided here, enforced by whoever starts it.

use serde::{Deserialize, Serialize};

/// What a running command can reach. Plimsoll's own folders are out of reach but for the readable ones, in every mode but
/// `full`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Leave {
    /// What it may write.
    pub files: Files,
    /// Whether it reaches the network.
    pub network: bool,
}

/// Where a command may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Files {
    /// Nowhere but in folders for temporary files.
    #[default]
    Nothing,
    /// In the roots, in folders for temporary files, in declared folders.
    Roots,
    /// Wherever the user may.
    All,
}

impl Leave {
    /// No limits on files and network.
    pub const FREE: Self = Self { files: Files::All, network: true };
}
