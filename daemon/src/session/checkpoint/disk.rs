//! The disk's side of undoing: what stands at a path now, and putting a version back. Blocking; no decisions.

use crate::file_io::encoding::Decoder;
use crate::file_io::observe::{self, Standing, native};
use crate::file_io::pre_image::PreImages;
use crate::file_io::version::HASH_LIMIT;
use crate::file_io::{PutError, open_file, put, put_link, remove};
use plimsoll_core::checkpoint::{Content, FilePlan, Now};
use plimsoll_core::edit::{deleted, whole};
use plimsoll_core::tool::call::Diff;
use plimsoll_core::workspace::FileVersion;
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;

/// What stands at a path.
pub(super) fn look(path: &str) -> Now {
    match observe::look(&native(path)) {
        Ok(Standing::Nothing) => Now::Is(Content::Absent, None),
        Ok(Standing::File(version, mode)) => Now::Is(Content::File(version), Some(mode)),
        Ok(Standing::Link(version)) => Now::Is(Content::Link(version), None),
        Ok(Standing::Special(what)) => Now::Unclear(format!("it {what}")),
        Err(why) => Now::Unclear(format!("it {why}")),
    }
}

/// Keeps what stands at the path of each file, so that the undo can be undone. An error says of which file it could not
/// be kept, and why.
pub(super) fn keep(images: &PreImages, files: &[FilePlan]) -> Result<(), String> {
    for file in files {
        let Some(version) = file.now.version() else { continue };
        let kept = read(file).and_then(|content| {
            images.keep(version, &content).map_err(|error| format!("what is there cannot be kept: {error}"))
        });
        kept.map_err(|why| format!("{}: {why}", file.path))?;
    }
    Ok(())
}

/// What stands there, when it is still what was planned for.
fn read(file: &FilePlan) -> Result<Vec<u8>, String> {
    let path = native(&file.path);
    let content = match &file.now {
        Content::Absent => return Ok(Vec::new()),
        Content::Link(_) => fs::read_link(&path).map(|target| target.into_os_string().into_vec()),
        Content::File(_) => {
            let (opened, metadata) = open_file(&path).map_err(|error| format!("it {error}"))?;
            if metadata.len() > HASH_LIMIT {
                return Err("it is too large to be kept".to_owned());
            }
            let mut content = Vec::new();
            opened.take(HASH_LIMIT + 1).read_to_end(&mut content).map(|_| content)
        }
    };
    let content = content.map_err(|error| format!("it cannot be read: {error}"))?;
    if Some(FileVersion::of(&content).to_string().as_str()) != file.now.version() {
        return Err("it changed a moment ago".to_owned());
    }
    Ok(content)
}

/// The content of a version, when it is still what it was.
fn image(images: &PreImages, version: &str) -> Result<Vec<u8>, String> {
    let content = images.read(version).map_err(|error| format!("its content before cannot be read: {error}"))?;
    if FileVersion::of(&content).to_string() == version {
        Ok(content)
    } else {
        Err("its content before is damaged".to_owned())
    }
}

/// Puts all of these files back, or none: when one cannot be, those before it get again what they had. With `skip` the
/// others are put back all the same. Gives for each file why it was not restored.
pub(super) fn restore(images: &PreImages, files: &[FilePlan], skip: bool) -> Vec<Option<String>> {
    let mut results: Vec<Option<String>> = Vec::with_capacity(files.len());
    for (at, file) in files.iter().enumerate() {
        let Err(why) = one(images, file) else {
            results.push(None);
            continue;
        };
        if skip {
            results.push(Some(why));
            continue;
        }
        for (done, result) in files.iter().zip(&mut results).rev() {
            // What cannot be taken back stays restored, and is recorded so.
            if one(images, &reversed(done)).is_ok() {
                *result = Some(format!("taken back: {} could not be restored", file.path));
            }
        }
        results.push(Some(why));
        let rest = files.len() - at - 1;
        results.extend(std::iter::repeat_n(Some(format!("{} could not be restored", file.path)), rest));
        break;
    }
    results
}

fn reversed(file: &FilePlan) -> FilePlan {
    let mode = file.now_mode.filter(|_| file.mode.is_some() || file.want == Content::Absent);
    FilePlan { now: file.want.clone(), want: file.now.clone(), mode, ..file.clone() }
}

fn one(images: &PreImages, file: &FilePlan) -> Result<(), String> {
    let path = native(&file.path);
    let told = |error: PutError| match (&error, file.now.version()) {
        (PutError::Partial(_), Some(kept)) => format!("it {error}; what was there is kept as version {kept}"),
        _ => format!("it {error}"),
    };
    match (&file.now, &file.want) {
        (Content::Absent, Content::Absent) => Ok(()),
        (Content::File(now) | Content::Link(now), Content::Absent) => remove(&path, now).map_err(told),
        (Content::File(now), Content::File(want)) => {
            put(&path, Some(now), &[&image(images, want)?], None).map_err(told)?;
            match file.mode {
                // Of the file itself: what a link leads to that took its name meanwhile is left alone.
                Some(mode) => open_file(&path)
                    .map_err(|error| error.to_string())
                    .and_then(|(file, _)| {
                        let bits = Permissions::from_mode(mode & 0o7777);
                        file.set_permissions(bits).map_err(|error| error.to_string())
                    })
                    .map_err(|why| format!("its permission bits cannot be set: {why}")),
                None => Ok(()),
            }
        }
        (Content::Absent, Content::File(want)) => put(&path, None, &[&image(images, want)?], file.mode).map_err(told),
        (Content::Absent, Content::Link(want)) => put_link(&path, &image(images, want)?).map_err(told),
        // A file and a link cannot take each other's place in one moment.
        (Content::File(now) | Content::Link(now), Content::File(_) | Content::Link(_)) => {
            let wanted = FilePlan { now: Content::Absent, ..file.clone() };
            image(images, wanted.want.version().unwrap_or_default())?;
            remove(&path, now).map_err(told)?;
            one(images, &wanted).inspect_err(|_| {
                let back =
                    FilePlan { now: Content::Absent, want: file.now.clone(), mode: file.now_mode, ..file.clone() };
                if let Err(error) = one(images, &back) {
                    tracing::error!(error, "what was replaced could not be put back; it is kept as a pre-image");
                }
            })
        }
    }
}

/// From what stands there to what would stand there. Of what is not text the difference is empty.
pub(super) fn difference(images: &PreImages, file: &FilePlan) -> Diff {
    let before = match &file.now {
        Content::Absent => None,
        Content::File(_) | Content::Link(_) => read(file).ok(),
    };
    let after = file.want.version().and_then(|version| image(images, version).ok());
    let shown = after.as_deref().or(before.as_deref()).and_then(Decoder::of);
    let text = |content: &Option<Vec<u8>>| content.as_deref().is_none_or(|content| Decoder::of(content).is_some());
    let Some(decoder) = shown.filter(|_| text(&before) && text(&after)) else { return Diff::default() };
    match (before, after) {
        (before, Some(after)) => whole(before.as_deref(), &after, &decoder).diff,
        (Some(before), None) if file.want == Content::Absent => deleted(&before, &decoder).diff,
        (Some(_) | None, None) => Diff::default(),
    }
}

#[cfg(test)]
mod tests;
