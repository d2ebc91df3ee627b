//! What a result shows of a file, kept beside the result's text. What it permits is [`edit::seen`](crate::edit::seen)'s.

use super::super::outcome::FileRead;
use serde::{Deserialize, Serialize};

/// Lines of one version of a file that the model was shown, or wrote itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shown {
    /// The file's canonical absolute path in text form; as it stands in the projection of a file, the path that the
    /// result shows.
    pub path: String,
    /// Its version, in full.
    pub version: String,
    /// Stretches of lines, in order: number of the first, and how many.
    pub lines: Vec<(u64, u64)>,
    /// Lines among them of which only a part was shown.
    #[serde(default)]
    pub cut: Vec<u64>,
    /// Lines of the file.
    pub total: u64,
}

impl Shown {
    /// These lines of a file that was read, as first and last of each stretch.
    pub(super) fn of(file: &FileRead, ranges: &[(u64, u64)], cut: Vec<u64>) -> Self {
        Self {
            path: file.path.clone(),
            version: file.version.clone(),
            lines: ranges.iter().map(|(first, last)| (*first, (last + 1).saturating_sub(*first))).collect(),
            cut,
            total: file.total_lines,
        }
    }
}
