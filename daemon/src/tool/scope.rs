//! Paths as the model writes them → canonical paths with the zone in which they lie, and back to the text that is shown.
//!
//! Everything that decides about a path decides about the canonical one: `..` and symbolic links are resolved first,
//! also links whose target is absent. Blocking calls; tools use it off the runtime's threads.

use super::ToolEnv;
use plimsoll_core::escape::restore;
use plimsoll_core::path::{WorkspacePath, escape, unescape};
use plimsoll_core::tool::call::{Target, Zone};
use plimsoll_core::tool::name::distance;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Symbolic links followed for one path; the kernel's own limit.
const MOST_LINKS: usize = 40;

/// Entries of a folder that are compared for the nearest name.
const MOST_NAMES: usize = 5_000;

/// What in the home folder holds keys: folders, and single files of folders that hold other things too.
const KEY_PLACES: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube/config",
    ".docker/config.json",
    ".config/gcloud",
    ".config/gh/hosts.yml",
    ".config/git/credentials",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".password-store",
    ".local/share/keyrings",
];

/// Names under which ssh keeps private keys. Outside the roots such a file is one; what a project has committed is not.
const KEY_NAMES: &[&str] = &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk"];

/// A path that the model named, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The canonical path; of an absent file, the canonical part that exists with the rest behind it.
    pub path: PathBuf,
    /// As results show it.
    pub shown: String,
    /// Where it lies.
    pub zone: Zone,
    /// Whether anything is there.
    pub exists: bool,
}

impl Resolved {
    /// As a call's prepared target.
    pub fn target(&self) -> Target {
        Target { path: escape(self.path.as_os_str().as_bytes()), zone: self.zone.clone() }
    }
}

/// Resolves a path: absolute, or relative to the first root (to another one when it exists only there). The error is
/// text for the model.
pub fn resolve(env: &ToolEnv, text: &str) -> Result<Resolved, String> {
    resolve_as(env, text, true)
}

/// [`resolve`] for an entry of a folder as such: a symbolic link stands for itself, and lies where it lies.
pub fn resolve_entry(env: &ToolEnv, text: &str) -> Result<Resolved, String> {
    resolve_as(env, text, false)
}

fn resolve_as(env: &ToolEnv, text: &str, follow: bool) -> Result<Resolved, String> {
    if text.is_empty() {
        return Err("The path is empty. Use `.` for the first workspace root.".to_owned());
    }
    if text.contains('\0') {
        return Err("The path holds a NUL character, which no path can.".to_owned());
    }
    let mut best: Option<Resolved> = None;
    for bytes in spellings(text) {
        let path = Path::new(OsStr::from_bytes(&bytes));
        let bases: Vec<&Path> =
            if path.is_absolute() { vec![Path::new("/")] } else { env.roots.iter().map(PathBuf::as_path).collect() };
        if !path.is_absolute()
            && let Some(first) = bases.first()
        {
            present(first)?;
        }
        for (no, base) in bases.iter().enumerate() {
            let (canonical, exists) = canonical(base, path, follow).map_err(|problem| format!("`{text}` {problem}"))?;
            let resolved = locate(env, canonical, exists);
            if exists {
                return Ok(resolved);
            }
            // Of an absent file the last spelling counts, which is the one that the text form stands for.
            if no == 0 {
                best = Some(resolved);
            }
        }
    }
    let resolved = best.ok_or_else(|| "There is no workspace root.".to_owned())?;
    // A path into a root that is gone is not just an absent file.
    if let Zone::Root(inside) = &resolved.zone
        && let Some(root) = env.roots.get(usize::from(inside.root))
    {
        present(root)?;
    }
    Ok(resolved)
}

/// [`resolve`] for something that must be there: else the error names the nearest names.
pub fn resolve_existing(env: &ToolEnv, text: &str) -> Result<Resolved, String> {
    existing(env, resolve(env, text)?)
}

/// [`resolve_entry`] for something that must be there: else the error names the nearest names.
pub fn resolve_existing_entry(env: &ToolEnv, text: &str) -> Result<Resolved, String> {
    existing(env, resolve_entry(env, text)?)
}

fn existing(env: &ToolEnv, resolved: Resolved) -> Result<Resolved, String> {
    if resolved.exists {
        return Ok(resolved);
    }
    // Beside a file outside the roots nothing is listed that was not allowed.
    let inside = matches!(resolved.zone, Zone::Root(_) | Zone::Readable | Zone::Plan);
    let near = if inside { nearest(env, &resolved.path) } else { Vec::new() };
    let advice = if near.is_empty() { String::new() } else { format!(" Nearest: {}.", near.join(", ")) };
    Err(format!("`{}` does not exist.{advice}", resolved.shown))
}

/// [`resolve_existing`] again, just before the call runs: the path must still be what the decision was about.
pub fn recheck(env: &ToolEnv, text: &str, prepared: Option<&Target>) -> Result<Resolved, String> {
    let resolved = resolve_existing(env, text)?;
    if prepared == Some(&resolved.target()) {
        Ok(resolved)
    } else {
        Err(format!("`{text}` leads elsewhere than when the call was decided; it was not done. Call again."))
    }
}

/// The root must be there.
pub fn present(root: &Path) -> Result<(), String> {
    if root.is_dir() {
        Ok(())
    } else {
        Err(format!("workspace missing: {}. Its folder was moved or deleted.", escape(root.as_os_str().as_bytes())))
    }
}

/// A path as results show it: relative to the first root when inside it, else absolute.
pub fn show(env: &ToolEnv, path: &Path) -> String {
    match env.roots.first().and_then(|root| path.strip_prefix(root).ok()) {
        Some(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Some(inside) => escape(inside.as_os_str().as_bytes()),
        None => escape(path.as_os_str().as_bytes()),
    }
}

/// A path as [`resolve`] takes it back, whatever the roots are.
pub fn shown_absolute(path: &Path) -> String {
    escape(path.as_os_str().as_bytes())
}

/// The bytes that a text may stand for, likeliest first: itself, the text form, the form escaped against tags.
fn spellings(text: &str) -> Vec<Vec<u8>> {
    let mut all = vec![text.as_bytes().to_vec()];
    let restored = restore(text);
    for more in [unescape(text), restored.as_bytes().to_vec(), unescape(&restored)] {
        if !all.contains(&more) && !more.contains(&0) {
            all.push(more);
        }
    }
    all
}

/// `path`, seen from `base`, without `.`, `..` and links; and whether it exists. Without `follow` its last part may be a
/// link.
fn canonical(base: &Path, path: &Path, follow: bool) -> Result<(PathBuf, bool), String> {
    let mut todo: VecDeque<OsString> = VecDeque::new();
    push_parts(&mut todo, path);
    let mut at = base.to_path_buf();
    let mut links = 0;
    // Parts below something absent.
    let mut absent = 0_usize;
    while let Some(part) = todo.pop_front() {
        if part == ".." {
            at.pop();
            absent = absent.saturating_sub(1);
            continue;
        }
        at.push(&part);
        if absent > 0 {
            absent += 1;
            continue;
        }
        match std::fs::symlink_metadata(&at) {
            Ok(metadata) if metadata.is_symlink() && (follow || !todo.is_empty()) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err("leads through too many symbolic links".to_owned());
                }
                let target = std::fs::read_link(&at).map_err(|error| format!("cannot be resolved: {error}"))?;
                at.pop();
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                let behind = std::mem::take(&mut todo);
                push_parts(&mut todo, &target);
                todo.extend(behind);
            }
            Ok(_) => {}
            Err(error) => match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => absent = 1,
                std::io::ErrorKind::PermissionDenied => return Err("cannot be reached: permission denied".to_owned()),
                _ => return Err(format!("cannot be resolved: {error}")),
            },
        }
    }
    Ok((at, absent == 0))
}

fn push_parts(todo: &mut VecDeque<OsString>, path: &Path) {
    for part in path.components() {
        match part {
            Component::Normal(name) => todo.push_back(name.to_os_string()),
            Component::ParentDir => todo.push_back(OsString::from("..")),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
}

fn locate(env: &ToolEnv, path: PathBuf, exists: bool) -> Resolved {
    Resolved { shown: show(env, &path), zone: zone(env, &path), path, exists }
}

/// Where a canonical path lies. What is protected stays so inside a root; what is readable, inside what is protected; and
/// pre-images, which hold what may since have been taken out of reach, inside what is readable.
pub fn zone(env: &ToolEnv, path: &Path) -> Zone {
    zone_beside(env, &key_places(env), path)
}

/// The same for many paths: whether each is protected.
pub fn protected(env: &ToolEnv) -> impl Fn(&Path) -> bool {
    let keys = key_places(env);
    move |path| zone_beside(env, &keys, path) == Zone::Protected
}

fn zone_beside(env: &ToolEnv, keys: &[PathBuf], path: &Path) -> Zone {
    let below = |folders: &[PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
    if path == env.plan_file {
        return Zone::Plan;
    }
    if path.starts_with(&env.pre_images) {
        return Zone::Protected;
    }
    if below(&env.readable) || path.starts_with(&env.session_dir) {
        return Zone::Readable;
    }
    if below(&env.protected) || below(keys) {
        return Zone::Protected;
    }
    let root = env
        .roots
        .iter()
        .enumerate()
        .filter(|(_, root)| path.starts_with(root))
        .max_by_key(|(_, root)| root.components().count());
    let inside = root.and_then(|(no, root)| Some((u16::try_from(no).ok()?, path.strip_prefix(root).ok()?)));
    let relative = inside.map_or(path, |(_, inside)| inside);
    if relative.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
        return Zone::Protected;
    }
    match inside {
        Some((root, inside)) => Zone::Root(WorkspacePath::new(root, escape(inside.as_os_str().as_bytes()))),
        None if path.file_name().is_some_and(|name| KEY_NAMES.iter().any(|key| name == *key)) => Zone::Protected,
        None => Zone::Outside,
    }
}

/// What no search enters by itself: Plimsoll's own folders and places with keys.
pub fn forbidden(env: &ToolEnv) -> Vec<PathBuf> {
    env.protected.iter().cloned().chain(key_places(env)).collect()
}

fn key_places(env: &ToolEnv) -> Vec<PathBuf> {
    let Some(home) = env.client_env.get("HOME").filter(|home| !home.is_empty()) else { return Vec::new() };
    let canonical = |path: PathBuf| std::fs::canonicalize(&path).unwrap_or(path);
    let home = canonical(PathBuf::from(home));
    KEY_PLACES.iter().map(|name| canonical(home.join(name))).collect()
}

/// Up to three paths that are spelled like an absent one: entries of its folder, or of the deepest folder above it that
/// exists.
pub fn nearest(env: &ToolEnv, path: &Path) -> Vec<String> {
    let mut wanted = path;
    let mut parent = path.parent();
    while let Some(folder) = parent {
        if folder.is_dir() {
            break;
        }
        wanted = folder;
        parent = folder.parent();
    }
    let (Some(folder), Some(name)) = (parent, wanted.file_name()) else { return Vec::new() };
    let name = escape(name.as_bytes()).to_lowercase();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_NAMES);
    let mut near: Vec<(usize, OsString)> = entries
        .filter_map(|entry| {
            let other = entry.file_name();
            let text = escape(other.as_bytes()).to_lowercase();
            // Names of very different length are not alike, and comparing them costs most.
            let most = (name.chars().count() / 3).max(2);
            let alike = text.len().abs_diff(name.len()) <= most.max(4) && text.len() <= 255;
            let apart = if alike { distance(&name, &text) } else { usize::MAX };
            let same_stem = stem(&text) == stem(&name);
            (apart <= most || same_stem).then_some((apart, other))
        })
        .collect();
    near.sort();
    near.into_iter().take(3).map(|(_, name)| show(env, &folder.join(name))).collect()
}

fn stem(name: &str) -> &str {
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests;
