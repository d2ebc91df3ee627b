//! The id that git gives to a file's content, read without following links and without waiting for pipes.

use super::stat::Stat;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat, readlinkat};
use std::fs::File;
use std::io::Read;

/// Files above this size are told apart by metadata alone when nothing else requires their content.
pub const HASH_MAX: u64 = 8 * 1024 * 1024;

/// Files above this size are never read: a work tree with such files is compared by metadata.
const READ_MAX: u64 = 512 * 1024 * 1024;

/// Id of a blob.
pub type BlobId = [u8; 20];

/// Id of the content of the regular file or symbolic link `path` below `base`; none when it cannot be read, is too
/// large, or is neither.
pub fn blob_id(base: &OwnedFd, path: &[u8], stat: &Stat) -> Option<BlobId> {
    let bytes = if stat.is_symlink() {
        readlinkat(base.as_fd(), path, Vec::new()).ok()?.into_bytes()
    } else if stat.is_file() && stat.size <= READ_MAX {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(base.as_fd(), path, flags, Mode::empty()).ok()?);
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stat.size).ok()?.saturating_add(1));
        file.take(READ_MAX).read_to_end(&mut bytes).ok()?;
        bytes
    } else {
        return None;
    };
    let id = git2::Oid::hash_object(git2::ObjectType::Blob, &bytes).ok()?;
    id.as_bytes().first_chunk::<20>().copied()
}
