//! What a crash left of a write whose temporary file had a known name.

use super::PutError;
use super::place::{Place, There};
use crate::file_io::open::OpenError;
use crate::file_io::version::HASH_LIMIT;
use rustix::fs::{AtFlags, RenameFlags};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Settles the temporary file of a write at a canonical path that was cut: of one that was to put the version `put` (none:
/// to remove the file) in the place of `before`. Nothing of the name is no error; done twice, it does nothing the second
/// time.
///
/// The file goes. When it has come to hold what somebody else put at the path at the very moment of the exchange, that gets
/// its name back first. A content of which that cannot be told is given to `keep`, with its version, before it goes.
/// Blocking.
pub fn settle(
    path: &Path,
    temp: &OsStr,
    before: Option<&str>,
    put: Option<&str>,
    keep: impl FnOnce(&str, &[u8]) -> io::Result<()>,
) -> Result<(), PutError> {
    let place = match Place::open(path) {
        Ok(place) => place,
        Err(OpenError::Missing | OpenError::NotDir) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let Some(left) = place.look_at(temp)? else { return Ok(()) };
    let version = left.version();
    if before != Some(&version) && put != Some(&version) {
        let there = place.look()?;
        let is_put = there.as_ref().map(There::version).as_deref() == put;
        match (&left, there) {
            // What was to go lost its name, and was another than was expected.
            (_, None) if is_put => {
                rustix::fs::renameat_with(&place.dir, temp, &place.dir, &place.name, RenameFlags::NOREPLACE)?;
                place.sync();
                return Ok(());
            }
            (There::File { file, .. }, Some(There::File { file: there, .. })) if is_put => {
                // A new content that was not written to its end begins like the whole one.
                if !content(&there)?.starts_with(&content(file)?) {
                    exchange_back(&place, temp, put)?;
                }
            }
            (There::Link { .. }, Some(_)) if is_put => exchange_back(&place, temp, put)?,
            (There::File { file, .. }, _) => keep(&version, &content(file)?)?,
            // It names what cannot be kept, and is in nobody's way.
            (There::Link { .. }, _) => return Ok(()),
        }
    }
    rustix::fs::unlinkat(&place.dir, temp, AtFlags::empty())?;
    place.sync();
    Ok(())
}

/// Gives the path what has the temporary name. What gets that one must be what was put.
fn exchange_back(place: &Place, temp: &OsStr, put: Option<&str>) -> Result<(), PutError> {
    rustix::fs::renameat_with(&place.dir, temp, &place.dir, &place.name, RenameFlags::EXCHANGE)?;
    let came = place.look_at(temp)?.map(|came| came.version());
    if came.as_deref() == put {
        return Ok(());
    }
    // Somebody wrote meanwhile: theirs is the newest.
    rustix::fs::renameat_with(&place.dir, temp, &place.dir, &place.name, RenameFlags::EXCHANGE)?;
    Err(PutError::Aside(temp.to_string_lossy().into_owned()))
}

fn content(file: &File) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(HASH_LIMIT + 1).read_to_end(&mut content)?;
    if content.len() as u64 > HASH_LIMIT {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large to be kept"));
    }
    Ok(content)
}
