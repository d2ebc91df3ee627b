//! Are the folders there, ours alone, and on a disk that keeps databases whole? Nothing is made or tightened.

use super::finding::{Finding, Level};
use crate::config::{Folders, env};
use crate::store::inspect;
use rustix::fs::{Access, access};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Looks at the three of them.
pub fn check(folders: &Folders) -> Vec<Finding> {
    let socket = folders.socket();
    let runtime = socket.parent().unwrap_or(&folders.runtime);
    let mut findings = vec![
        folder("folders.config", "configuration", &folders.config, env::CONFIG_DIR, 0o022),
        folder("folders.data", "data", &folders.data, env::DATA_DIR, 0o077),
        folder("folders.runtime", "socket", runtime, env::RUNTIME_DIR, 0o077),
    ];
    if let Err(error) = inspect::file_system(existing(&folders.data)) {
        let otherwise = format!("choose a folder on a local disk with {}", env::DATA_DIR);
        findings.push(Finding::of_message("folders.file_system", Level::Error, &error.to_string(), &otherwise));
    }
    findings
}

/// The path, or the nearest folder above it that exists.
pub fn existing(path: &Path) -> &Path {
    path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"))
}

/// One folder. `closed`: bits of its mode that must not be set.
fn folder(id: &'static str, name: &str, path: &Path, variable: &str, closed: u32) -> Finding {
    let shown = path.display();
    let elsewhere = format!("or choose another folder with {variable}");
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let above = existing(path);
            if access(above, Access::WRITE_OK | Access::EXEC_OK).is_ok() {
                return Finding::ok(id, format!("{name}: {shown} does not exist yet and is made when it is needed"));
            }
            let what = format!("{name}: {shown} does not exist, and {} is not writable", above.display());
            return Finding::error(
                id,
                what,
                format!("run `mkdir -p -m 700 '{shown}'` as who may do that, {elsewhere}"),
            );
        }
        Err(error) => {
            let what = format!("{name}: {shown} cannot be looked at: {error}");
            return Finding::error(id, what, format!("make the folders above it readable, {elsewhere}"));
        }
    };
    if !meta.is_dir() {
        return Finding::error(id, format!("{name}: {shown} is no folder"), format!("move it away, {elsewhere}"));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        let what = format!("{name}: {shown} belongs to user {}, not to you", meta.uid());
        return Finding::error(id, what, format!("run `sudo chown -R \"$(id -un)\" '{shown}'`, {elsewhere}"));
    }
    if access(path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_err() {
        let what = format!("{name}: {shown} is not readable and writable for you");
        return Finding::error(id, what, format!("run `chmod u+rwx '{shown}'`, {elsewhere}"));
    }
    let mode = meta.permissions().mode() & 0o777;
    if mode & closed != 0 {
        let who = if mode & closed & 0o022 == 0 { "read" } else { "write" };
        let what = format!("{name}: others can {who} {shown} (mode {mode:03o})");
        return Finding::warn(id, what, format!("run `chmod {:03o} '{shown}'`", mode & !closed));
    }
    Finding::ok(id, format!("{name}: {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::folders;

    fn with_mode(path: &Path, mode: u32) {
        fs::create_dir_all(path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn folders_that_are_missing_or_ours_alone_are_well_and_nothing_is_made() {
        let (_root, folders) = folders();
        let levels: Vec<Level> = check(&folders).iter().map(|finding| finding.level).collect();
        assert_eq!(levels, [Level::Ok; 3]);
        assert_eq!([folders.config.exists(), folders.runtime.exists()], [false, false]);
    }

    #[test]
    fn folders_that_others_reach_are_named_with_the_command_that_closes_them() {
        let (_root, folders) = folders();
        with_mode(&folders.data, 0o755);
        with_mode(&folders.config, 0o775);
        fs::write(&folders.runtime, "").unwrap();
        let findings = check(&folders);
        let [config, data, runtime] = findings.as_slice() else { panic!("{findings:?}") };
        assert_eq!(config.fix.as_deref(), Some(format!("run `chmod 755 '{}'`", folders.config.display()).as_str()));
        assert!(config.what.contains("others can write"), "{config:?}");
        assert_eq!(data.fix.as_deref(), Some(format!("run `chmod 700 '{}'`", folders.data.display()).as_str()));
        assert!(data.level == Level::Warn && data.what.contains("others can read"), "{data:?}");
        assert!(runtime.level == Level::Error && runtime.what.ends_with("is no folder"), "{runtime:?}");
        assert_eq!(fs::metadata(&folders.data).unwrap().permissions().mode() & 0o777, 0o755, "nothing is changed");
    }
}
