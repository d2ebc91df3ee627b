//! Makes what a command may not write read-only in its view of the file system. Landlock refuses to change contents and
//! names; this also refuses to change modes, owners, times and attributes, for which Landlock has no rules.

use rustix::mount::{MountFlags, mount_bind_recursive, mount_remount};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where the kernel tells what is mounted.
const TABLE: &str = "/proc/self/mountinfo";

/// What lies here is no file of anybody.
const KERNEL: &[&str] = &["/dev", "/proc", "/sys"];

/// Kinds of file systems at whose mount points a server, which may not answer, has a say. Landlock alone holds for them.
const REMOTE: &[&str] = &["9p", "afs", "autofs", "ceph", "cifs", "fuse", "nfs", "smb", "virtiofs"];

/// One mount.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    point: PathBuf,
    /// The restrictions that it has; a user namespace must not loosen them.
    held: MountFlags,
    remote: bool,
}

/// Makes everything read-only but `writable` and what is no file. Only in a view of the thread's own, whose folders for
/// writing become mounts of their own. A mount that does not let itself be changed stays as it is.
pub fn read_only_but(writable: &[PathBuf]) -> io::Result<()> {
    for folder in writable.iter().filter(|folder| folder.is_dir()) {
        mount_bind_recursive(folder, folder)?;
    }
    for mount in std::fs::read(TABLE)?.split(|byte| *byte == b'\n').filter_map(parse) {
        let below = |folder: &Path| mount.point.starts_with(folder);
        let exempt =
            KERNEL.iter().any(|folder| below(Path::new(folder))) || writable.iter().any(|folder| below(folder));
        if !exempt && !mount.remote {
            let _ = mount_remount(&mount.point, MountFlags::BIND | MountFlags::RDONLY | mount.held, "");
        }
    }
    Ok(())
}

/// A line of the table, as proc_pid_mountinfo(5) has it.
fn parse(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let point = PathBuf::from(OsStr::from_bytes(&unescape(fields.get(4)?)));
    let options = fields.get(5)?.split(|byte| *byte == b',');
    let held = options.fold(MountFlags::empty(), |held, option| match option {
        b"nosuid" => held | MountFlags::NOSUID,
        b"nodev" => held | MountFlags::NODEV,
        b"noexec" => held | MountFlags::NOEXEC,
        _ => held,
    });
    let kind = fields.iter().skip_while(|field| **field != b"-").nth(1)?;
    let remote = REMOTE.iter().any(|remote| kind.starts_with(remote.as_bytes()));
    Some(Mount { point, held, remote })
}

/// Blanks, tabs, line feeds and backslashes stand as three octal digits behind a backslash.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let octal = (*first == b'\\').then(|| after.first_chunk::<3>()).flatten();
        let byte = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        plain.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_is_read_whatever_its_optional_fields() {
        let check = |line: &str, point: &str, held: MountFlags, remote: bool| {
            assert_eq!(parse(line.as_bytes()), Some(Mount { point: point.into(), held, remote }));
        };
        check("29 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard", "/", MountFlags::empty(), false);
        check(
            r"36 29 0:32 / /mnt/a\040b\134c ro,nosuid,nodev,noexec,relatime shared:7 master:1 - nfs4 host:/x rw",
            r"/mnt/a b\c",
            MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC,
            true,
        );
        assert_eq!(parse(b""), None);
    }
}
