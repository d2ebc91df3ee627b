//! What of the machine Plimsoll needs: a shell, git, watches on files, and a kernel that can hold commands to limits.

use super::finding::Finding;
use crate::process::Helper;
use crate::process::exec::shell_found;
use crate::process::git::{Git, GitError};
use crate::process::sandbox::probe::{Found, Probe};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long `git --version` may take.
const GIT_WITHIN: Duration = Duration::from_secs(10);
/// Folders of a large repository; fewer watches are used up by it alone.
const WATCHES_LOW: u64 = 65_536;
/// Programs that watch at the same time; editors take several each.
const INSTANCES_LOW: u64 = 128;

/// Shell, git and watches.
pub fn check() -> Vec<Finding> {
    let mut findings = vec![shell(shell_found()), git(Path::new("/"))];
    let limit = |name: &str| number(&format!("/proc/sys/fs/inotify/{name}"));
    findings.extend(watches("max_user_watches", limit("max_user_watches"), WATCHES_LOW, 524_288));
    findings.extend(watches("max_user_instances", limit("max_user_instances"), INSTANCES_LOW, 512));
    findings
}

fn number(file: &str) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn shell(found: Option<PathBuf>) -> Finding {
    let id = "system.shell";
    match found {
        Some(path) if path.ends_with("bash") => Finding::ok(id, format!("commands run in {}", path.display())),
        Some(path) => {
            let what =
                format!("commands run in {}: without bash only their exact texts can be granted", path.display());
            Finding::warn(id, what, "install bash, such as with `apt install bash`")
        }
        None => Finding::error(id, "there is neither bash nor sh: no command can run", "install bash"),
    }
}

fn git(folder: &Path) -> Finding {
    let id = "system.git";
    match (Git { dir: folder, filters: &[], timeout: GIT_WITHIN }).run(&["--version"]) {
        Ok(version) => Finding::ok(id, String::from_utf8_lossy(&version).trim()),
        Err(GitError::NotInstalled) => {
            let what = "the git command is not there: some repositories' status cannot be told";
            Finding::warn(id, what, "install git, such as with `apt install git`")
        }
        Err(error) => Finding::warn(id, error.to_string(), "see that `git --version` works in this environment"),
    }
}

fn watches(name: &str, found: Option<u64>, low: u64, better: u64) -> Option<Finding> {
    let found = found.filter(|found| *found < low)?;
    let what = format!("fs.inotify.{name} is {found}: large projects cannot be watched beside other programs");
    let fix = format!(
        "run `sudo sysctl fs.inotify.{name}={better}`, and write `fs.inotify.{name} = {better}` into \
         /etc/sysctl.d/90-inotify.conf to keep it"
    );
    Some(Finding::warn("system.watches", what, fix))
}

/// What commands can be held to here: tried, not guessed.
pub async fn limits() -> Vec<Finding> {
    let helper = match Helper::own() {
        Ok(helper) => helper,
        Err(error) => {
            let what = format!("this program cannot find itself, so nothing can be tried: {error}");
            return vec![Finding::error("sandbox.files", what, "start it by its full path")];
        }
    };
    let probe = Probe::default();
    let found = probe.found(&helper).await;
    let setting = |name: &str| number(&format!("/proc/sys/{name}"));
    limits_of(found, std::fs::read_to_string("/sys/kernel/security/lsm").ok().as_deref(), setting)
}

fn limits_of(found: &Found, modules: Option<&str>, setting: impl Fn(&str) -> Option<u64>) -> Vec<Finding> {
    let files = match &found.files {
        None => Finding::ok("sandbox.files", "commands can be held to the files that they may write"),
        Some(why) => {
            let fix = match modules {
                Some(modules) if !modules.split(',').any(|module| module.trim() == "landlock") => format!(
                    "the kernel runs without Landlock (its modules: {}): boot it with `lsm=landlock,{}`, or use one of 5.13 \
                     or later that was built with CONFIG_SECURITY_LANDLOCK",
                    modules.trim(),
                    modules.trim()
                ),
                _ => {
                    "use a Linux kernel of 5.13 or later with CONFIG_SECURITY_LANDLOCK and `landlock` in its lsm= list"
                        .to_owned()
                }
            };
            let what = format!("commands cannot be held to files, so modes that rely on it ask more often: {why}");
            Finding::warn("sandbox.files", what, fix)
        }
    };
    let network = match &found.network {
        None => Finding::ok("sandbox.network", "commands can be kept from the network"),
        Some(why) => {
            let what =
                format!("commands cannot be kept from the network, so modes that rely on it ask more often: {why}");
            Finding::warn("sandbox.network", what, network_fix(why, setting))
        }
    };
    vec![files, network]
}

/// The setting that forbids it, when it is one that is known; else the program that may do it.
fn network_fix(why: &str, setting: impl Fn(&str) -> Option<u64>) -> String {
    for (name, forbids, better) in [
        ("user/max_user_namespaces", 0, 15_000),
        ("kernel/unprivileged_userns_clone", 0, 1),
        ("kernel/apparmor_restrict_unprivileged_userns", 1, 0),
    ] {
        if setting(name) == Some(forbids) {
            let name = name.replace('/', ".");
            return format!("run `sudo sysctl {name}={better}`, or install bubblewrap: `apt install bubblewrap`");
        }
    }
    if why.contains("not installed") {
        return "install bubblewrap, such as with `apt install bubblewrap`".to_owned();
    }
    "let users make namespaces (in a container: `--security-opt seccomp=unconfined`, or run it with CAP_SYS_ADMIN)"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn without_bash_it_is_said_what_that_costs() {
        let levels = [Some("/usr/bin/bash"), Some("/bin/sh"), None].map(|path| shell(path.map(PathBuf::from)).level);
        assert_eq!(levels, [Level::Ok, Level::Warn, Level::Error]);
    }

    #[test]
    fn limits_on_watches_are_told_only_when_low() {
        assert_eq!(watches("max_user_watches", Some(WATCHES_LOW), WATCHES_LOW, 1), None);
        assert_eq!(watches("max_user_watches", None, WATCHES_LOW, 1), None);
        let low = watches("max_user_watches", Some(8_192), WATCHES_LOW, 524_288).unwrap();
        assert!(low.fix.unwrap().starts_with("run `sudo sysctl fs.inotify.max_user_watches=524288`"));
    }

    #[test]
    fn what_the_kernel_refuses_has_the_setting_that_allows_it() {
        let refused =
            Found { files: Some("no Landlock".to_owned()), network: Some("no, and bwrap is not installed".to_owned()) };
        let fixes = |modules: Option<&str>, set: Option<(&str, u64)>| -> Vec<String> {
            let setting = |name: &str| set.filter(|(known, _)| *known == name).map(|(_, value)| value);
            limits_of(&refused, modules, setting).into_iter().map(|finding| finding.fix.unwrap()).collect()
        };
        let [files, network] = fixes(Some("capability,yama\n"), None).try_into().unwrap();
        assert!(files.contains("boot it with `lsm=landlock,capability,yama`"), "{files}");
        assert_eq!(network, "install bubblewrap, such as with `apt install bubblewrap`");
        let [files, network] =
            fixes(None, Some(("kernel/apparmor_restrict_unprivileged_userns", 1))).try_into().unwrap();
        assert!(files.contains("5.13"), "{files}");
        assert!(network.starts_with("run `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`"), "{network}");
        let levels: Vec<Level> = limits_of(&Found::default(), None, |_| None).iter().map(|one| one.level).collect();
        assert_eq!(levels, [Level::Ok, Level::Ok]);
    }
}
