//! A change that the daemon's death has cut is made whole: all of its files are as before, or all as intended.
//!
//! The evidence decides, not a memory of how far it had come:
//!
//! - all files as intended: it was done, only its end was not recorded;
//! - all as before: it had not begun;
//! - some so, some so: what was written is put back, the last first. When a content before is missing or damaged, and all
//!   new ones are there, it is finished instead;
//! - a file that is neither was changed by somebody else. It is never touched. Files are written in order, so one that
//!   stands behind a file as before, with none as intended behind that, was not reached: what was written is put back, and
//!   their change stands on an untouched file. Where it may stand on a file that was written, everything stays as it is:
//!   to put back the others would leave a part of the change in theirs.
//!
//! A file with several names is written in place, not in one moment: one that begins like the new content and goes on like
//! the old one is the daemon's own unfinished write. It is kept as a pre-image before it is put back.
//!
//! Each write checks again what it replaces. A second crash is harmless: the next recovery finds a state of the same kinds.
//! What is done here is the end of the change that was cut, never a change of its own; the verdict is judged afterwards,
//! from what then stands on the disk.

use super::change::{Scratch, Step};
use super::journal::{Journal, has_more_names, whole};
use crate::file_io::observe::native;
use crate::file_io::pre_image::PreImages;
use crate::file_io::put::settle;
use crate::file_io::{PutError, observe};
use plimsoll_core::ledger::{Operation, OperationFile};
use plimsoll_core::workspace::FileVersion;
use std::fmt;
use std::path::{Path, PathBuf};

/// How often a change by somebody else in the middle of a recovery makes it begin again.
const MOST_LOOKS: usize = 4;

/// What was done about a change that was cut. Paths are in text form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovered {
    /// Nothing: it had not begun, it was done, or it is of a kind that is never done in part.
    Nothing,
    /// These files were put back.
    Back(Vec<String>),
    /// These files were written, since those before could not be put back.
    Forth(Vec<String>),
    /// Everything stays as it is, although a part of it is done; the text says why.
    Left(String),
}

impl fmt::Display for Recovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing was to be done"),
            Self::Back(files) => write!(f, "put back: {}", files.join(", ")),
            Self::Forth(files) => write!(f, "finished: {}", files.join(", ")),
            Self::Left(why) => write!(f, "left as it stands: {why}"),
        }
    }
}

/// How a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    Before,
    After,
    /// Written in place, and not to its end.
    Partly,
    /// Somebody else's, or it cannot be read.
    Foreign,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Done,
    NotBegun,
    Back,
    Leave,
}

/// See the module's head. Files that the change leaves as they are must not be among them.
pub(super) fn way(stands: &[Stand]) -> Way {
    let written = stands.iter().rposition(|stand| matches!(stand, Stand::After | Stand::Partly));
    let Some(written) = written else { return Way::NotBegun };
    if stands.iter().all(|stand| *stand == Stand::After) {
        return Way::Done;
    }
    let untouched = stands.iter().enumerate().position(|(at, stand)| at > written && *stand == Stand::Before);
    let reached = |at: usize| untouched.is_none_or(|untouched| at < untouched);
    if stands.iter().enumerate().any(|(at, stand)| *stand == Stand::Foreign && reached(at)) {
        return Way::Leave;
    }
    Way::Back
}

/// Makes the change of a cut operation whole; see the module's head. `session_dir` is its session's folder, `pre_images`
/// that of its project's pre-images. Done twice, it does nothing the second time. Waits for a write that still goes on.
/// Blocking.
pub fn recover(operation: &Operation, session_dir: &Path, pre_images: &Path) -> Recovered {
    let files: Vec<Cut<'_>> = operation.files.iter().filter(|file| file.before != file.after).map(Cut::new).collect();
    if files.is_empty() {
        return Recovered::Nothing;
    }
    let journal = Journal::open(session_dir, operation.call);
    let recovery =
        Recovery { files, images: PreImages::new(pre_images), scratch: Scratch::new(session_dir, operation.call) };
    recovery.settle_temporary();
    match journal {
        Ok(None) => Recovered::Nothing,
        Ok(Some(journal)) => {
            let recovered = recovery.run(&journal);
            journal.end();
            recovered
        }
        Err(error) => Recovered::Left(format!("its journal cannot be read: {error}")),
    }
}

/// One file of the change.
struct Cut<'a> {
    file: &'a OperationFile,
    path: PathBuf,
}

impl<'a> Cut<'a> {
    fn new(file: &'a OperationFile) -> Self {
        Self { path: native(&file.path), file }
    }
}

struct Recovery<'a> {
    files: Vec<Cut<'a>>,
    images: PreImages,
    scratch: Scratch,
}

impl Recovery<'_> {
    /// Removes the temporary files of the change, and of an earlier recovery.
    fn settle_temporary(&self) {
        for Cut { file, path } in &self.files {
            let (before, after) = (file.before.as_deref(), file.after.as_deref());
            let keep = |version: &str, content: &[u8]| {
                tracing::warn!(path = file.path, version, "an unfinished write left this; it is kept as a pre-image");
                self.images.keep(version, content)
            };
            let forth = settle(path, &self.scratch.forth(path), before, after, keep);
            let back = settle(path, &self.scratch.back(path), after, before, keep);
            for error in [forth.err(), back.err()].into_iter().flatten() {
                tracing::warn!(path = file.path, %error, "a temporary file of a cut write cannot be settled");
            }
        }
    }

    fn run(&self, journal: &Journal) -> Recovered {
        for _ in 0..MOST_LOOKS {
            let stands: Vec<Stand> = self.files.iter().map(|cut| self.stand(cut, journal)).collect();
            let done = match way(&stands) {
                Way::Done => return Recovered::Nothing,
                Way::NotBegun => {
                    journal.remove_folders();
                    return Recovered::Nothing;
                }
                Way::Leave => {
                    let foreign = self.files.iter().zip(&stands).find(|(_, stand)| **stand == Stand::Foreign);
                    let path = foreign.map_or("", |(cut, _)| cut.file.path.as_str());
                    return Recovered::Left(format!("{path} was changed by somebody else since"));
                }
                Way::Back => self.back_or_forth(&stands, journal),
            };
            match done {
                Ok(recovered) => return recovered,
                // Somebody changed a file since it was looked at.
                Err((_, PutError::Changed { .. })) => {}
                Err((path, error)) => return Recovered::Left(format!("{path} {error}")),
            }
        }
        Recovered::Left("somebody else goes on changing its files".to_owned())
    }

    fn stand(&self, cut: &Cut<'_>, journal: &Journal) -> Stand {
        let Cut { file, path } = cut;
        match observe(file).version {
            Ok(now) if now == file.after => Stand::After,
            Ok(now) if now == file.before => Stand::Before,
            Ok(Some(_)) if has_more_names(path) && self.is_partly(cut, journal).unwrap_or(false) => Stand::Partly,
            Ok(_) | Err(_) => Stand::Foreign,
        }
    }

    /// Whether the file holds a beginning of the new content, and behind it what stands there in the old one.
    fn is_partly(&self, cut: &Cut<'_>, journal: &Journal) -> std::io::Result<bool> {
        let (Some(before), Some(after)) = (&cut.file.before, &cut.file.after) else { return Ok(false) };
        let (before, after) = (whole(&self.images, before)?, journal.content(after)?);
        let now = std::fs::read(&cut.path)?;
        let written = now.iter().zip(&after).take_while(|(now, after)| now == after).count();
        let rest = |content: &[u8]| content.get(written..).unwrap_or_default().to_vec();
        Ok(now.len() == written.max(before.len()) && rest(&now) == rest(&before))
    }

    fn back_or_forth(&self, stands: &[Stand], journal: &Journal) -> Result<Recovered, (String, PutError)> {
        let written = |stand: &Stand| matches!(stand, Stand::After | Stand::Partly);
        let kept = self.files.iter().zip(stands).filter(|(_, stand)| written(stand)).all(|(cut, _)| {
            let before = cut.file.before.as_deref();
            before.is_none_or(|before| whole(&self.images, before).is_ok())
        });
        if kept {
            let mut done = Vec::new();
            for (cut, _) in self.files.iter().zip(stands).rev().filter(|(_, stand)| written(stand)) {
                self.back(cut, journal).map_err(|error| (cut.file.path.clone(), error))?;
                done.push(cut.file.path.clone());
            }
            journal.remove_folders();
            return Ok(Recovered::Back(done));
        }
        let rest = || self.files.iter().zip(stands).filter(|(_, stand)| **stand != Stand::After);
        let here = rest().all(|(cut, stand)| {
            let after = cut.file.after.as_deref();
            *stand != Stand::Foreign && after.is_none_or(|after| journal.content(after).is_ok())
        });
        if !here {
            return Ok(Recovered::Left("contents before and after it are missing or damaged".to_owned()));
        }
        let mut done = Vec::new();
        for (cut, _) in rest() {
            self.forth(cut, journal).map_err(|error| (cut.file.path.clone(), error))?;
            done.push(cut.file.path.clone());
        }
        Ok(Recovered::Forth(done))
    }

    fn back(&self, cut: &Cut<'_>, journal: &Journal) -> Result<(), PutError> {
        let Cut { file, path } = cut;
        let content = file.before.as_ref().map(|before| whole(&self.images, before)).transpose()?;
        let now = self.own(cut, journal)?;
        let step = Step { path, from: now.as_deref(), to: file.before.as_deref(), mode: file.mode, link: file.link };
        step.take(&[&content.unwrap_or_default()], &self.scratch.back(path))
    }

    fn forth(&self, cut: &Cut<'_>, journal: &Journal) -> Result<(), PutError> {
        let Cut { file, path } = cut;
        let content = file.after.as_ref().map(|after| journal.content(after)).transpose()?;
        let now = self.own(cut, journal)?;
        let step = Step { path, from: now.as_deref(), to: file.after.as_deref(), mode: None, link: false };
        step.take(&[&content.unwrap_or_default()], &self.scratch.forth(path))
    }

    /// The version of what is there, which must be the change's own. An unfinished write is kept.
    fn own(&self, cut: &Cut<'_>, journal: &Journal) -> Result<Option<String>, PutError> {
        let Cut { file, path } = cut;
        match self.stand(cut, journal) {
            Stand::Before => Ok(file.before.clone()),
            Stand::After => Ok(file.after.clone()),
            Stand::Partly => {
                let content = std::fs::read(path)?;
                let version = FileVersion::of(&content).to_string();
                self.images.keep(&version, &content)?;
                Ok(Some(version))
            }
            Stand::Foreign => Err(PutError::Changed { now: None }),
        }
    }
}

#[cfg(test)]
mod tests;
