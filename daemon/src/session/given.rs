//! What clients give, made into valid values, or refused with what is wrong.

use super::api::{ApiError, ApiErrorKind};
use crate::workspace::root_of;
use plimsoll_core::path;
use plimsoll_core::workspace::{Attachment, EditorState};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Longest title, in characters.
const TITLE_CHARS: usize = 200;

/// The state with paths as the model is shown them: below the first root relative to it, else absolute, in text form.
pub(super) fn shown_state(roots: &[PathBuf], mut state: EditorState) -> EditorState {
    for file in &mut state.files {
        let path = PathBuf::from(OsString::from_vec(path::unescape(&file.path)));
        let inside = roots.first().and_then(|root| path.strip_prefix(root).ok());
        file.path = path::escape(inside.unwrap_or(&path).as_os_str().as_bytes());
    }
    state
}

/// The canonical folder of the project that this root belongs to.
pub(super) async fn existing_folder(root: PathBuf) -> Result<PathBuf, ApiError> {
    let shown = root.display().to_string();
    if !root.is_absolute() {
        return Err(ApiError::new(ApiErrorKind::InvalidParams, format!("`{shown}` is not an absolute path")));
    }
    let found = tokio::fs::canonicalize(&root).await;
    match found {
        // A folder inside a work tree belongs to the project of that work tree.
        Ok(path) if path.is_dir() => tokio::task::spawn_blocking(move || root_of(&path))
            .await
            .map_err(|error| ApiError::new(ApiErrorKind::Internal, error.to_string())),
        Ok(_) => Err(ApiError::new(ApiErrorKind::InvalidParams, format!("`{shown}` is not a folder"))),
        Err(error) => {
            Err(ApiError::new(ApiErrorKind::WorkspaceMissing, format!("workspace missing: {shown} ({error})")))
        }
    }
}

/// A title on one line.
pub(super) fn clean_title(title: &str) -> Result<String, ApiError> {
    let title: String = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() {
        return Err(ApiError::new(ApiErrorKind::InvalidParams, "a title must have a visible character"));
    }
    Ok(title.chars().filter(|c| !c.is_control()).take(TITLE_CHARS).collect())
}

/// What the user said, through the seam for all text from outside.
pub(super) fn clean_prompt(text: String) -> Result<String, ApiError> {
    clean_prompt_with(text, &[])
}

/// The same beside attachments, which may say all that there is to say.
pub(super) fn clean_prompt_with(text: String, attachments: &[Attachment]) -> Result<String, ApiError> {
    let text = plimsoll_core::ingest::string(plimsoll_core::ingest::Source::User, text);
    if text.trim().is_empty() && attachments.is_empty() {
        return Err(ApiError::new(ApiErrorKind::InvalidParams, "the prompt is empty"));
    }
    Ok(text)
}
