//! Where a command acts: what the decision about it is made with.

use crate::tool::ToolEnv;
use crate::tool::scope::{Resolved, resolve};
use plimsoll_core::path::escape;
use plimsoll_core::permission::command::named::named;
use plimsoll_core::tool::call::{Target, Zone};
use std::os::unix::ffi::OsStrExt;

/// The folder, then what the command names outside the project or in protected places, also by links that lead there, and
/// what it writes among Plimsoll's own readable records.
pub(in crate::tool) fn targets(env: &ToolEnv, cwd: &Resolved, command: &str) -> Vec<Target> {
    let mut targets = vec![cwd.target()];
    for named in named(command) {
        let path = escape(cwd.path.join(&named.path).as_os_str().as_bytes());
        let Ok(resolved) = resolve(env, &path) else { continue };
        let away = match resolved.zone {
            Zone::Outside | Zone::Protected => true,
            Zone::Readable | Zone::Plan => named.written,
            Zone::Root(_) => false,
        };
        if away && (resolved.exists || named.written) && !targets.contains(&resolved.target()) {
            targets.push(resolved.target());
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::super::working_directory;
    use super::*;
    use crate::tool::testing::Place;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_a_command_names_elsewhere_is_part_of_the_decision() {
        let place = Place::new();
        let at = |path: &std::path::Path, zone| Target { path: path.to_string_lossy().into_owned(), zone };
        std::fs::write(place.o.join("secret"), "x").unwrap();
        let key = place.dir.path().canonicalize().unwrap().join("home/.ssh/id");
        std::fs::create_dir_all(key.parent().unwrap()).unwrap();
        std::fs::write(&key, "x").unwrap();
        place.write("a.txt", "x");
        place.write("sub/.git/config", "x");
        symlink(place.o.join("secret"), place.w.join("link")).unwrap();
        symlink(place.o.join("absent"), place.w.join("dangling")).unwrap();
        let check = |folder: &str, command: &str, expected: &[Target]| {
            let cwd = working_directory(&place.env, Some(folder)).unwrap();
            assert_eq!(targets(&place.env, &cwd, command)[1..], *expected, "{command}");
        };
        let secret = at(&place.o.join("secret"), Zone::Outside);
        check(".", "cat a.txt absent sub", &[]);
        check(".", "cat link link a.txt", std::slice::from_ref(&secret));
        check("sub", "cat ../link", &[secret]);
        check(".", "ls > dangling", &[at(&place.o.join("absent"), Zone::Outside)]);
        check(".", &format!("cat {} | wc", key.display()), &[at(&key, Zone::Protected)]);
        check("sub", "cat .git/config", &[at(&place.w.join("sub/.git/config"), Zone::Protected)]);
        check(".", "grep x /absent-folder/y", &[]);
        let log = place.env.session_dir.join("log");
        let written = [at(&place.env.plan_file, Zone::Plan), at(&log, Zone::Readable)];
        check(".", &format!("cat a > {} 2> {}", place.env.plan_file.display(), log.display()), &written);
        check(".", &format!("cat {} {}", place.env.plan_file.display(), log.display()), &[]);
    }
}
