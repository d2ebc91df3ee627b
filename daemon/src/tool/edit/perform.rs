//! A plan takes effect: made anew and compared with what was decided, its pre-images kept, then file by file.
//!
//! All files of a plan are checked before the first is written. When a later one fails all the same, those before it
//! are put back from their pre-images. Where the daemon ends between two files, [`recover`](super::recover) finds the
//! [journal](super::journal) that was on the disk before the first of them.

use super::change::{Scratch, Step};
use super::journal::{self, Journal};
use super::{FilePlan, Plan, Planner};
use crate::file_io::pre_image::PreImages;
use crate::file_io::version::Version;
use crate::file_io::{PutError, open_file};
use crate::tool::ToolEnv;
use crate::tool::blocking::Stop;
use plimsoll_core::path::unescape;
use plimsoll_core::tool::call::{Call, FileChange, Prepared};
use plimsoll_core::workspace::FileVersion;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The plan of a call that was decided, from what is on the disk now. It must still be what was decided about.
pub(super) fn again(call: &Call, env: &ToolEnv, prepared: &Prepared, planner: Planner) -> Result<Plan, String> {
    let plan = match planner(call, env) {
        Ok(plan) => plan,
        // What does not fit any more mostly does not because the file has changed.
        Err(problem) => {
            return Err(prepared.changes.iter().find_map(|change| stale(change, now(change))).unwrap_or(problem));
        }
    };
    if !plan.files.iter().map(|file| file.place.target()).eq(prepared.targets.iter().cloned()) {
        return Err(
            "A path leads elsewhere than when the call was decided; nothing was written. Call again.".to_owned()
        );
    }
    for (file, decided) in plan.files.iter().zip(&prepared.changes) {
        if let Some(problem) = stale(decided, file.change.before.clone()) {
            return Err(problem);
        }
        if file.change.after != decided.after || file.change.link != decided.link {
            return Err(format!(
                "The change of `{}` is not the one that was decided; nothing was written. Call again.",
                decided.shown
            ));
        }
    }
    Ok(plan)
}

/// What to tell when a file is not what it was when the call was decided.
fn stale(decided: &FileChange, now: Option<String>) -> Option<String> {
    let shown = &decided.shown;
    let changed = match (&decided.before, now) {
        (before, now) if *before == now => return None,
        (Some(before), Some(now)) => format!("has changed since this call was decided (version {before}, now {now})"),
        (Some(_), None) => "has been deleted since this call was decided".to_owned(),
        (None, now) => {
            let version = now.map_or(String::new(), |now| format!(" (version {now})"));
            format!("did not exist when this call was decided, and does now{version}")
        }
    };
    Some(format!("`{shown}` {changed}; nothing was written. Read it again."))
}

/// The version of what is there now.
fn now(change: &FileChange) -> Option<String> {
    let path = unescape(&change.path);
    let path = Path::new(OsStr::from_bytes(&path));
    if let Ok(target) = std::fs::read_link(path) {
        return Some(FileVersion::of(target.as_os_str().as_bytes()).to_string());
    }
    let (file, metadata) = open_file(path).ok()?;
    Version::of(&file, &metadata).ok().map(|version| version.to_string())
}

/// Does it; false when it was cancelled before its first effect.
pub(super) fn perform(call: &Call, plan: &Plan, env: &ToolEnv, stop: &Stop) -> Result<bool, String> {
    let Some(begun) = begin(call, plan, env, stop)? else { return Ok(false) };
    for (no, file) in plan.files.iter().enumerate() {
        if let Err(error) = begun.write(file) {
            return Err(begun.failed(file, &error, plan.files.get(..no).unwrap_or_default()));
        }
    }
    begun.end();
    Ok(true)
}

/// A change for which everything is on the disk that is needed to take it back.
pub(super) struct Begun {
    scratch: Scratch,
    journal: Option<Journal>,
}

/// Keeps what will be gone, and makes the journal; none when it was cancelled meanwhile.
pub(super) fn begin(call: &Call, plan: &Plan, env: &ToolEnv, stop: &Stop) -> Result<Option<Begun>, String> {
    let images = PreImages::new(&env.pre_images);
    for file in &plan.files {
        if stop.is_set() {
            return Ok(None);
        }
        if let Some(before) = &file.before {
            images.keep(&before.version, &before.bytes).map_err(|error| {
                format!(
                    "The content of `{}` could not be kept before the change ({error}); nothing was written.",
                    file.place.shown
                )
            })?;
        }
    }
    let journal = if journal::needed(&plan.files) {
        let begun = Journal::begin(&env.session_dir, call.id, &plan.files);
        Some(
            begun
                .map_err(|error| format!("The change could not be noted beforehand ({error}); nothing was written."))?,
        )
    } else {
        None
    };
    let begun = Begun { scratch: Scratch::new(&env.session_dir, call.id), journal };
    if stop.is_set() {
        begun.end();
        return Ok(None);
    }
    Ok(Some(begun))
}

impl Begun {
    /// Writes one file.
    pub(super) fn write(&self, file: &FilePlan) -> Result<(), PutError> {
        let path = file.place.path.as_path();
        let (from, to) = (file.change.before.as_deref(), file.change.after.as_deref());
        let step = Step { path, from, to, mode: None, link: false };
        step.take(&file.pieces().unwrap_or_default(), &self.scratch.forth(path))
    }

    /// Nothing is to be taken back any more.
    pub(super) fn end(self) {
        if let Some(journal) = self.journal {
            journal.end();
        }
    }

    /// Puts back what was done, and tells the model how it stands.
    fn failed(self, file: &FilePlan, error: &PutError, done: &[FilePlan]) -> String {
        let partial = matches!(error, PutError::Partial(_));
        let broken = partial.then_some((file, true));
        let stay: Vec<String> = broken
            .into_iter()
            .chain(done.iter().rev().map(|file| (file, false)))
            .filter_map(|(file, partial)| {
                let problem = self.take_back(file, partial).err()?;
                Some(format!("`{}` ({problem})", file.place.shown))
            })
            .collect();
        if stay.is_empty()
            && let Some(journal) = &self.journal
        {
            journal.remove_folders();
        }
        self.end();
        let why = match error {
            PutError::Changed { now: Some(now) } => format!("changed while it was written (it has version {now} now)"),
            PutError::Changed { now: None } => "was deleted while it was written".to_owned(),
            other => other.to_string(),
        };
        let state = if !stay.is_empty() {
            format!("these stay changed, since they could not be put back: {}", stay.join(", "))
        } else if done.is_empty() && !partial {
            "nothing was written".to_owned()
        } else {
            "everything is as it was before".to_owned()
        };
        format!("`{}` {why}; {state}.", file.place.shown)
    }

    /// Makes it what it was. A file that was written `partial`ly has a version that only a look at it tells.
    fn take_back(&self, file: &FilePlan, partial: bool) -> Result<(), PutError> {
        let path = file.place.path.as_path();
        let after = if partial { now(&file.change) } else { file.change.after.clone() };
        let before = file.before.as_ref();
        let step = Step {
            path,
            from: after.as_deref(),
            to: before.map(|before| before.version.as_str()),
            mode: before.and_then(|before| before.mode),
            link: file.change.link,
        };
        let bytes = before.map(|before| before.bytes.as_slice()).unwrap_or_default();
        step.take(&[bytes], &self.scratch.back(path))
    }
}
