//! What `inspect_operation` is answered with: the operation as it is stored, its files, and what is known of a command.

use crate::process::table;
use crate::session::checkpoint;
use crate::session::driver::now;
use crate::store::ProjectStore;
use crate::tool::ToolEnv;
use crate::tool::blocking::Stop;
use crate::tool::scope::{self, Resolved};
use crate::tool::walk::{Walk, Walked};
use plimsoll_core::checkpoint::{Content, Now};
use plimsoll_core::id::{CallId, SessionId};
use plimsoll_core::ingest;
use plimsoll_core::ledger::{OpState, Operation, ProcessMark, SeenFile};
use plimsoll_core::path::escape;
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::call::Zone;
use plimsoll_core::turn::input::Consulted;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// Bytes and lines of a log's end that are shown.
const LOG_BYTES: u64 = 4_000;
const LOG_LINES: usize = 20;

/// Changed files that are named; of more only the number is told.
const CHANGED: usize = 20;

/// Finds out what is known of an operation. An error is text for the model.
pub(in crate::session) async fn consult(
    store: ProjectStore,
    id: SessionId,
    of: CallId,
    target: Option<String>,
    env: Arc<ToolEnv>,
    workspace: crate::workspace::Workspace,
) -> Result<Consulted, String> {
    let before = workspace.revision();
    let revision = workspace.observe(before).await.revision;
    let unread = |error: crate::store::StoreError| format!("The operations could not be read: {error}");
    let all = store.operations(&id, false).await.map_err(unread)?;
    let Some(operation) = all.into_iter().find(|operation| operation.call == of) else {
        return Ok(Consulted::Operation {
            operation: None,
            seen: Vec::new(),
            target: None,
            lines: Vec::new(),
            revision,
        });
    };
    let target = match target {
        Some(target) => Some(look_at(&env, target).await?),
        None => None,
    };
    let seen = super::look(std::slice::from_ref(&operation)).await.map_err(|error| error.to_string())?;
    let lines = if operation.command.is_some() {
        let began = store.called_at(&id, of).await.map_err(unread)?;
        let about = operation.clone();
        let lines = tokio::task::spawn_blocking(move || command(&about, began, &env)).await;
        lines.unwrap_or_else(|error| {
            tracing::error!(%error, "what is known of a command could not be found out");
            Vec::new()
        })
    } else {
        Vec::new()
    };
    Ok(Consulted::Operation { operation: Some(Box::new(operation)), seen, target, lines, revision })
}

/// A file that the call named.
async fn look_at(env: &Arc<ToolEnv>, target: String) -> Result<SeenFile, String> {
    let env = Arc::clone(env);
    let resolved = crate::tool::blocking::look(move || scope::resolve(&env, &target)).await?;
    if matches!(resolved.zone, Zone::Protected | Zone::Outside) {
        return Err(format!("{} lies outside the workspace, where nothing is looked at.", resolved.shown));
    }
    let path = escape(resolved.path.as_os_str().as_bytes());
    let stands = checkpoint::look(BTreeSet::from([path.clone()])).await.map_err(|error| error.to_string())?;
    let version = match stands.into_values().next() {
        Some(Now::Is(Content::Absent, _)) => Ok(None),
        Some(Now::Is(Content::File(version), _)) => Ok(Some(version)),
        Some(Now::Is(Content::Link(_), _)) => Err("it is a symbolic link".to_owned()),
        Some(Now::Unclear(why)) => Err(why),
        None => Err("it was not looked at".to_owned()),
    };
    Ok(SeenFile { path, version })
}

/// What is known of a command. Blocking.
fn command(operation: &Operation, began: Option<Timestamp>, env: &ToolEnv) -> Vec<String> {
    let mut lines = Vec::new();
    let log_file = env.session_dir.join("artifacts").join(format!("{}.log", operation.call));
    if operation.state == OpState::Unknown {
        let printed = std::fs::metadata(&log_file).is_ok_and(|metadata| metadata.len() > 0);
        lines.push(process(operation.process.as_ref(), printed));
    }
    lines.extend(log(&log_file));
    if let Some(began) = began.filter(|_| operation.state == OpState::Unknown) {
        lines.extend(changed(began, env));
    }
    lines
}

fn process(mark: Option<&ProcessMark>, printed: bool) -> String {
    match mark {
        // The daemon died before it could note the process.
        None if printed => "No process of it is known; it has begun, for it has printed something.".to_owned(),
        None => "No process of it is known: it may not have begun.".to_owned(),
        Some(mark) if table::find(mark).is_some() => format!("Its process {} still runs.", mark.pid),
        Some(mark) if mark.boot_id != table::boot_id() => {
            format!("Its process {} is gone: the machine was started anew since.", mark.pid)
        }
        Some(mark) => format!("Its process {} does not run any more.", mark.pid),
    }
}

/// The end of what it printed.
fn log(path: &Path) -> Vec<String> {
    let Ok(mut file) = File::open(path) else {
        return vec!["It has no log: nothing is known to have been printed.".to_owned()];
    };
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let mut end = Vec::new();
    let read = file
        .seek(SeekFrom::Start(size.saturating_sub(LOG_BYTES)))
        .and_then(|_| file.take(LOG_BYTES).read_to_end(&mut end));
    let shown = escape(path.as_os_str().as_bytes());
    if let Err(error) = read {
        return vec![format!("Its log {shown} cannot be read: {error}.")];
    }
    let text = ingest::text(ingest::Source::Command, &end);
    let all: Vec<&str> = text.lines().collect();
    let last = all.get(all.len().saturating_sub(LOG_LINES)..).unwrap_or_default();
    if last.is_empty() {
        return vec![format!("Its log {shown} is empty.")];
    }
    let whole = size <= LOG_BYTES && last.len() == all.len();
    let head = if whole { format!("Its log {shown}:") } else { format!("The end of its log {shown} ({size} bytes):") };
    std::iter::once(head).chain(last.iter().map(|line| format!("  {line}"))).collect()
}

/// Files in the roots that were written since, by their times; what ignore files leave out is not looked at.
fn changed(began: Timestamp, env: &ToolEnv) -> Vec<String> {
    let since = |entry: &ignore::DirEntry| {
        let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let age = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let at = i64::try_from(age.as_millis()).ok()?;
        (at >= began.0).then(|| (at, scope::show(env, entry.path())))
    };
    let stop = Stop::never();
    let mut found: Vec<(i64, String)> = Vec::new();
    for root in env.roots.iter() {
        let Ok(base) = scope::resolve(env, &escape(root.as_os_str().as_bytes())) else { continue };
        let base: Resolved = base;
        found.extend(Walked::of(env, &Walk::new(env, &base, false), &stop, &since).found);
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    let seconds = now().0.saturating_sub(began.0) / 1_000;
    if found.is_empty() {
        return vec![format!(
            "No file of the workspace was written since it began, {seconds} s ago (ignored files not counted)."
        )];
    }
    let more = found.len().saturating_sub(CHANGED);
    let mut lines =
        vec![format!("Files written since it began, {seconds} s ago, by it or by others (ignored files not counted):")];
    lines.extend(found.into_iter().take(CHANGED).map(|(_, path)| format!("  {path}")));
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines
}
