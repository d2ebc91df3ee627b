//! What a file has besides its content: owner, permission bits, extended attributes.

use rustix::fs::{Gid, Uid, XattrFlags};
use rustix::io::Errno;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// The access list: without it the permission bits mean more than they did.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// Attributes that vouch for the old content; the kernel takes them from a file that is written to.
const OF_THE_CONTENT: [&[u8]; 3] = [b"security.capability", b"security.ima", b"security.evm"];

/// Gives `new` what `old` has. At no moment may anybody do more with `new` than with `old`: the permission bits, which
/// are tighter until then, come last. An owner that cannot be kept takes with it what its bits allowed.
pub(super) fn copy(old: &File, metadata: &Metadata, new: &File) -> io::Result<()> {
    let mode = owner(metadata, new)?;
    extended(old, new)?;
    new.set_permissions(Permissions::from_mode(mode))
}

/// Sets the owner, and says which permission bits are right then.
fn owner(metadata: &Metadata, new: &File) -> io::Result<u32> {
    let mode = metadata.mode() & 0o7777;
    let now = new.metadata()?;
    let (user, group) = (now.uid() == metadata.uid(), now.gid() == metadata.gid());
    if user && group {
        return Ok(mode);
    }
    let (uid, gid) = (Uid::from_raw(metadata.uid()), Gid::from_raw(metadata.gid()));
    if rustix::fs::fchown(new, Some(uid), Some(gid)).is_ok() {
        return Ok(mode);
    }
    // Without set-id bits, since they would name another owner.
    let mode = mode & 0o1777;
    if group || rustix::fs::fchown(new, None, Some(gid)).is_ok() {
        return Ok(mode);
    }
    // Another group may do no more than everybody could.
    Ok(mode & !0o070 | (mode & (mode & 0o007) << 3 & 0o070))
}

fn extended(old: &File, new: &File) -> io::Result<()> {
    let wanted = names(old)?;
    for name in names(new)?.iter().filter(|name| !wanted.contains(name)) {
        // Such as an access list that the folder hands on.
        match rustix::fs::fremovexattr(new, name.as_slice()) {
            Err(errno) if name == ACCESS_LIST => return Err(errno.into()),
            _ => {}
        }
    }
    for name in wanted.iter().filter(|name| !OF_THE_CONTENT.contains(&name.as_slice())) {
        let value = value(old, name)?;
        match rustix::fs::fsetxattr(new, name.as_slice(), &value, XattrFlags::empty()) {
            Ok(()) => {}
            // Labels that only the system may set; it sets them itself.
            Err(Errno::PERM | Errno::ACCESS | Errno::NOTSUP) if name != ACCESS_LIST => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Names of the extended attributes; none where the file system has none.
fn names(file: &File) -> io::Result<Vec<Vec<u8>>> {
    let list = sized(|buffer| rustix::fs::flistxattr(file, buffer));
    match list {
        Ok(list) => Ok(list.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()),
        Err(Errno::NOTSUP | Errno::NOSYS) => Ok(Vec::new()),
        Err(errno) => Err(errno.into()),
    }
}

fn value(file: &File, name: &[u8]) -> io::Result<Vec<u8>> {
    Ok(sized(|buffer| rustix::fs::fgetxattr(file, name, buffer))?)
}

/// Calls with an ever larger buffer until what is told fits; the kernel's own bound is 64 KiB.
fn sized(mut call: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; 1024];
    loop {
        match call(&mut buffer) {
            Ok(len) => {
                buffer.truncate(len);
                return Ok(buffer);
            }
            Err(Errno::RANGE) if buffer.len() < 1 << 20 => buffer.resize(buffer.len() * 4, 0),
            Err(errno) => return Err(errno),
        }
    }
}
