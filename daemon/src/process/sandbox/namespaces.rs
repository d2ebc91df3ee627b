//! A network and a view of the file system of the command's own.

use super::{loopback, mounts};
use crate::process::limits::Limits;
use rustix::fs::{CWD, StatVfsMountFlags, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind, mount_change, mount_remount,
    move_mount, open_tree,
};
use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What hides a folder: an empty one in memory, in which nothing can be run.
const EMPTY: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// It holds names of folders only.
const EMPTY_OPTIONS: &std::ffi::CStr = c"size=64k,mode=0755";

/// What hides a file.
const NOTHING: &str = "/dev/null";

/// Services that do on request what the command may not do itself: run programs outside of it, or reach the network. They
/// are hidden with the network. The user's own ones follow.
const SERVICES: &[&str] = &[
    "/run/docker.sock",
    "/run/podman",
    "/run/containerd",
    "/run/crio",
    "/run/dbus",
    "/run/systemd/private",
    "/run/snapd.socket",
    "/run/screen",
];

/// Makes the process ready to make namespaces: nothing when its user may anyway, else in a user namespace in which the
/// user keeps its id. The process must have one thread only. The error is for the model.
pub fn enter() -> Result<(), String> {
    let privileged = capabilities(None).is_ok_and(|held| held.effective.contains(CapabilitySet::SYS_ADMIN));
    if privileged {
        return Ok(());
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(UnshareFlags::NEWUSER).map_err(|error| format!("a user namespace is refused ({error})"))?;
    let maps = fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| fs::write("/proc/self/uid_map", format!("{user} {user} 1")))
        .and_then(|()| fs::write("/proc/self/gid_map", format!("{group} {group} 1")));
    maps.map_err(|error| format!("a user namespace cannot be set up ({error})"))
}

/// Gives the calling thread a network with nothing but a loopback device. The error is for the model.
pub fn own_network() -> Result<(), String> {
    unshare(UnshareFlags::NEWNET).map_err(|error| format!("a network namespace is refused ({error})"))?;
    // A device that stays down reaches nothing either.
    let _ = loopback::up();
    Ok(())
}

/// Gives the calling thread a view of the file system in which what is hidden is empty but for what is readable and
/// only what is writable can be changed, and takes it to the command's folder in it. After an error the thread sees more than it should.
pub fn own_view(limits: &Limits, cwd: &Path) -> io::Result<()> {
    unshare(UnshareFlags::NEWNS)?;
    // What is mounted here is seen nowhere else.
    mount_change("/", MountPropagationFlags::DOWNSTREAM.union(MountPropagationFlags::REC))?;
    mounts::read_only_but(&limits.writable)?;
    let mut hidden = outermost(&limits.hidden);
    if !limits.leave.network {
        hidden.extend(services());
    }
    for path in hidden {
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => hide(&path, &limits.readable)?,
            Ok(_) => mount_bind(NOTHING, &path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    // The folder's own path counts, not the folder that the thread is in: that may be hidden now, and from it all that
    // lies above it could be reached.
    std::env::set_current_dir(cwd)
}

fn services() -> Vec<PathBuf> {
    let user = geteuid().as_raw();
    let own = [format!("/run/user/{user}"), format!("/tmp/tmux-{user}")];
    SERVICES.iter().map(PathBuf::from).chain(own.map(PathBuf::from)).collect()
}

/// The paths without those that lie below another one.
fn outermost(paths: &[PathBuf]) -> Vec<PathBuf> {
    let below_another = |path: &PathBuf| paths.iter().any(|other| other != path && path.starts_with(other));
    let mut outermost: Vec<PathBuf> = paths.iter().filter(|path| !below_another(path)).cloned().collect();
    outermost.dedup();
    outermost
}

/// Puts an empty folder over this one, and into that what of it is readable, as read-only.
fn hide(folder: &Path, readable: &[PathBuf]) -> io::Result<()> {
    let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::AT_RECURSIVE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let kept: Vec<(OwnedFd, &PathBuf)> = outermost_refs(readable)
        .filter(|path| path.starts_with(folder) && path.is_dir())
        .map(|path| Ok((open_tree(CWD, path, clone)?, path)))
        .collect::<rustix::io::Result<_>>()?;
    mount(c"tmpfs", folder, c"tmpfs", EMPTY, EMPTY_OPTIONS)?;
    for (tree, path) in kept {
        fs::create_dir_all(path)?;
        move_mount(tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        mount_remount(path, MountFlags::BIND | MountFlags::RDONLY | kept_flags(path)?, "")?;
    }
    mount_remount(folder, MountFlags::BIND | MountFlags::RDONLY | EMPTY, "")?;
    Ok(())
}

fn outermost_refs(paths: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    paths.iter().filter(|path| !paths.iter().any(|other| other != *path && path.starts_with(other)))
}

/// The restrictions of a mount, which a user namespace must not loosen.
fn kept_flags(path: &Path) -> io::Result<MountFlags> {
    let held = statvfs(path)?.f_flag;
    let pairs = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    ];
    let kept = pairs.iter().filter(|(flag, _)| held.contains(*flag)).map(|(_, flag)| *flag);
    Ok(kept.fold(MountFlags::empty(), MountFlags::union))
}

#[expect(deprecated, reason = "the table of descriptors, for whose sake it is deprecated, is never unshared here")]
fn unshare(what: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(what)
}
