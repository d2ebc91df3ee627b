//! What a command is held to, as values: made by the tool that runs it, handed to the helper, enforced there by
//! [`sandbox`](super::sandbox). Which limits a call gets was decided before.

use plimsoll_core::permission::leave::{Files, Leave};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// See the module's head. Paths are canonical; those that do not exist are passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// What the decision allows.
    pub leave: Leave,
    /// Folders in which it may write, those for temporary files among them. Of no meaning with [`Files::All`].
    #[serde(with = "text")]
    pub writable: Vec<PathBuf>,
    /// Folders and files that are out of its reach, also where they lie in a folder that is not.
    #[serde(with = "text")]
    pub hidden: Vec<PathBuf>,
    /// Folders below `hidden` that it may read all the same.
    #[serde(with = "text")]
    pub readable: Vec<PathBuf>,
}

impl Limits {
    /// None but those that every command has: group, lifeline, resources.
    pub const FREE: Self = Self { leave: Leave::FREE, writable: Vec::new(), hidden: Vec::new(), readable: Vec::new() };

    /// Whether files or network are limited.
    pub fn bind(&self) -> bool {
        self.leave != Leave::FREE
    }

    /// The limits in a few words, for the result of a command that failed under them; none when there are none.
    pub fn words(&self) -> Option<String> {
        let files = match self.leave.files {
            Files::Nothing => Some("writes only in folders for temporary files"),
            Files::Roots => Some("writes only in the project and in folders for temporary files"),
            Files::All => None,
        };
        let hidden =
            (files.is_some() && !self.hidden.is_empty()).then_some("no access to keys and Plimsoll's own files");
        let network = (!self.leave.network).then_some("no network");
        let words: Vec<&str> = files.into_iter().chain(hidden).chain(network).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// Paths as their text form, because not every path is UTF-8.
mod text {
    use plimsoll_core::path::{escape, unescape};
    use serde::{Deserialize, Deserializer, Serializer};
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::PathBuf;

    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| escape(path.as_os_str().as_bytes())))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        Ok(texts.iter().map(|text| PathBuf::from(OsString::from_vec(unescape(text)))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn limits_come_back_as_they_were_handed_over() {
        let odd = PathBuf::from(OsStr::from_bytes(b"/a\xFF\n\\b \xC3\xA4"));
        let leave = Leave { files: Files::Nothing, network: false };
        let limits = Limits { leave, writable: vec![odd.clone()], hidden: vec!["/h".into(), odd], readable: vec![] };
        let text = serde_json::to_string(&limits).unwrap();
        assert_eq!(serde_json::from_str::<Limits>(&text).unwrap(), limits);
    }

    #[test]
    fn the_words_name_what_is_limited_and_nothing_else() {
        let words = |files, network| {
            Limits { leave: Leave { files, network }, hidden: vec!["/h".into()], ..Limits::FREE }.words()
        };
        assert_eq!(words(Files::All, true), None);
        assert_eq!(words(Files::All, false).as_deref(), Some("no network"));
        assert_eq!(
            words(Files::Roots, false).as_deref(),
            Some(
                "writes only in the project and in folders for temporary files, no access to keys and Plimsoll's own \
                 files, no network"
            )
        );
        assert_eq!(
            words(Files::Nothing, true).as_deref(),
            Some("writes only in folders for temporary files, no access to keys and Plimsoll's own files")
        );
    }
}
