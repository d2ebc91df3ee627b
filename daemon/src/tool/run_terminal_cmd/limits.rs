//! What a command of this session is held to: what the decision allows, with this session's folders.

use crate::process::limits::Limits;
use crate::tool::{ToolEnv, scope};
use plimsoll_core::permission::leave::{Files, Leave};
use std::path::{Path, PathBuf};

/// Folders for temporary files; the client's own comes to them.
const TEMPORARY: &[&str] = &["/tmp", "/var/tmp"];

/// The limits that a command gets with this leave.
pub(super) fn limits(env: &ToolEnv, leave: Leave) -> Limits {
    if leave == Leave::FREE {
        return Limits::FREE;
    }
    let mut writable = temporary(env);
    if leave.files == Files::Roots {
        writable.extend(env.roots.iter().chain(env.writable.iter()).cloned());
    }
    let readable = env.readable.iter().chain([&env.session_dir]).cloned().collect();
    Limits { leave, writable, hidden: scope::forbidden(env), readable }
}

/// Folders for temporary files, in which every command may write.
pub(in crate::tool) fn temporary(env: &ToolEnv) -> Vec<PathBuf> {
    let home = env.client_env.get("HOME").map(Path::new);
    let own = env.client_env.get("TMPDIR").map(String::as_str);
    let canonical = |path: &str| Path::new(path).is_absolute().then(|| std::fs::canonicalize(path).ok()).flatten();
    let mut folders: Vec<PathBuf> = TEMPORARY.iter().copied().chain(own).filter_map(canonical).collect();
    // A folder with the user's home in it is none for temporary files, whatever the variable says.
    folders.retain(|folder| !home.is_some_and(|home| home.starts_with(folder)));
    folders.dedup();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::testing::Place;
    use std::sync::Arc;

    #[test]
    fn the_decision_says_which_folders_may_be_written() {
        let mut place = Place::new();
        let declared = place.env.roots[0].join("declared");
        place.env.writable = [declared.clone()].into();
        let mut client = (*place.env.client_env).clone();
        client.insert("HOME".into(), "/home/u".into());
        client.insert("TMPDIR".into(), "/".into());
        place.env.client_env = Arc::new(client);
        let env = &place.env;
        let writable = |files| limits(env, Leave { files, network: false }).writable;
        let temporary: Vec<PathBuf> = TEMPORARY.iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect();
        assert_eq!(writable(Files::Nothing), temporary);
        let expected: Vec<PathBuf> = temporary.iter().chain(env.roots.iter()).chain([&declared]).cloned().collect();
        assert_eq!(writable(Files::Roots), expected);
        assert_eq!(limits(env, Leave::FREE), Limits::FREE);
        let hidden = limits(env, Leave { files: Files::Roots, network: true }).hidden;
        assert!(hidden.contains(&PathBuf::from("/home/u/.ssh")), "{hidden:?}");
        assert!(env.protected.iter().all(|folder| hidden.contains(folder)));
    }
}
