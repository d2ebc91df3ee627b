//! Writes the user's configuration file: one writer at a time, as a whole, never over what somebody else has written
//! meanwhile, and never by something that is no configuration. Order and comments stay.

use super::error::{ConfigError, Place};
use super::raw::{RawConfig, read_text};
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// How often a change is made anew because somebody else has written the file in its middle. An editor does so once.
const ATTEMPTS: u32 = 3;

/// The file cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// What is written there, or would be, is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Nobody may write it.
    #[error("{} is read-only; make it writable, or change it where it comes from", .0.display())]
    ReadOnly(PathBuf),
    /// Somebody else goes on writing it.
    #[error("{} is being changed by somebody else; nothing was written, try again", .0.display())]
    Changed(PathBuf),
    /// The system refuses.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Replaces the file's text by what `change` makes of it; says whether it differs. A missing file is made, with its folder.
/// Afterwards only its owner can read it. A link stays one: people keep their configuration elsewhere. When somebody else
/// writes the file meanwhile, `change` is asked again with the new text. Blocks for as long as another writer needs.
pub(super) fn change(file: &Path, change: impl Fn(&str) -> Result<String, ConfigError>) -> Result<bool, WriteError> {
    let failed = |source| WriteError::Write { path: file.to_owned(), source };
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = target.parent().unwrap_or_else(|| Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    // Held until the end: writers of Plimsoll's own wait for each other.
    let turn = File::open(folder).map_err(failed)?;
    rustix::fs::flock(&turn, rustix::fs::FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
    for _ in 0..ATTEMPTS {
        let before = read_text(file)?.map(|content| content.text);
        let text = before.as_deref().unwrap_or_default();
        // Read as everybody reads it first: what is wrong there is told in the usual words.
        RawConfig::parse(file, text)?;
        let changed = change(text)?;
        if changed == text {
            return Ok(false);
        }
        RawConfig::parse(file, &changed)?;
        if std::fs::metadata(&target).is_ok_and(|metadata| metadata.permissions().readonly()) {
            return Err(WriteError::ReadOnly(file.to_owned()));
        }
        let mut fresh = tempfile::Builder::new().prefix(".config.toml.").tempfile_in(folder).map_err(failed)?;
        fresh.write_all(changed.as_bytes()).and_then(|()| fresh.as_file().sync_all()).map_err(failed)?;
        if read_text(file)?.map(|content| content.text) == before {
            fresh.persist(&target).map_err(|error| failed(error.error))?;
            return Ok(true);
        }
    }
    Err(WriteError::Changed(file.to_owned()))
}

/// The text as something that can be changed without touching the rest.
pub(super) fn document(file: &Path, text: &str) -> Result<DocumentMut, ConfigError> {
    text.parse().map_err(|error| ConfigError {
        place: Place::WholeFile(file.to_owned()),
        problem: format!("cannot be changed: {error}"),
        fix: "Write the change into it yourself".to_owned(),
    })
}

/// The table of this name, made when it is missing. An `implicit` one gets no head of its own.
pub(super) fn below<'a>(table: &'a mut dyn TableLike, name: &str, implicit: bool) -> Option<&'a mut dyn TableLike> {
    let made = || {
        let mut made = Table::new();
        made.set_implicit(implicit);
        Item::Table(made)
    };
    table.entry(name).or_insert_with(made).as_table_like_mut()
}

/// A value of the document itself. In a file of nothing but comments these stay above it.
pub(super) fn set_first(document: &mut DocumentMut, name: &str, item: Item) {
    let head = document.trailing().as_str().unwrap_or_default().to_owned();
    let only_comments = document.is_empty() && !head.is_empty();
    document.insert(name, item);
    if only_comments {
        document.set_trailing("");
        if let Some(mut key) = document.key_mut(name) {
            let head = if head.ends_with('\n') { head } else { format!("{head}\n") };
            key.leaf_decor_mut().set_prefix(head);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    fn file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        (folder, file)
    }

    fn language(text: &str) -> String {
        format!("language = \"de\"\n{text}")
    }

    #[test]
    fn what_somebody_else_writes_meanwhile_is_kept() {
        let (_folder, file) = file();
        fs::write(&file, "# one\n").unwrap();
        let calls = Cell::new(0);
        let written = change(&file, |text| {
            calls.set(calls.get() + 1);
            if calls.get() == 1 {
                fs::write(&file, "# two\n").unwrap();
            }
            Ok(language(text))
        });
        assert!(written.unwrap());
        assert_eq!((fs::read_to_string(&file).unwrap(), calls.get()), (language("# two\n"), 2));
    }

    #[test]
    fn a_file_that_somebody_goes_on_writing_is_left_to_them() {
        let (_folder, file) = file();
        let calls = Cell::new(0);
        let written = change(&file, |text| {
            calls.set(calls.get() + 1);
            fs::write(&file, format!("# {}\n", calls.get())).unwrap();
            Ok(language(text))
        });
        let expected = format!("{} is being changed by somebody else; nothing was written, try again", file.display());
        assert_eq!(written.unwrap_err().to_string(), expected);
        assert_eq!(fs::read_to_string(&file).unwrap(), "# 3\n");
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_is_read_only_or_no_configuration_afterwards_is_left_as_it_is() {
        let (_folder, file) = file();
        fs::write(&file, "").unwrap();
        assert!(!change(&file, |text| Ok(text.to_owned())).unwrap());
        let error = change(&file, |_| Ok("language = 3".to_owned())).unwrap_err();
        assert!(error.to_string().ends_with("config.toml:1: `language`: is a whole number. Write a text in quotes"));
        fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
        let error = change(&file, |text| Ok(language(text))).unwrap_err();
        let expected = format!("{} is read-only; make it writable, or change it where it comes from", file.display());
        assert_eq!((error.to_string(), fs::read_to_string(&file).unwrap()), (expected, String::new()));
    }

    #[test]
    fn writers_wait_for_each_other() {
        let (_folder, file) = file();
        fs::write(&file, "").unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let file = &file;
                scope.spawn(move || {
                    for line in 0..5 {
                        assert!(change(file, |text| Ok(format!("{text}# {writer}.{line}\n"))).unwrap());
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 20);
    }
}
