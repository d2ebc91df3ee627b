//! The index file as git writes it: versions 2 and 3 (`gitformat-index`), read in one pass without keeping the file.
//!
//! Whatever is not exactly of that form is `None`, and libgit2 reads it instead. The checksum at the end is not looked at:
//! git replaces the file as a whole, and may be told to leave the checksum out.

use super::index::{Flags, Index, Record};
use crate::workspace::tree::stat::nanos;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// Bytes of an entry before its path.
const FIXED: usize = 62;

/// `flags`: a second word of flags follows.
const EXTENDED: u16 = 0x4000;

/// Bytes after the last extension.
const CHECKSUM: u64 = 20;

/// Reads the whole file.
pub fn read(file: File) -> Option<Index> {
    let size = file.metadata().ok()?.len();
    // Not a byte more: what the file promises must be in it.
    let mut input = Input { left: size, file: BufReader::with_capacity(64 * 1024, file) };
    let signature: [u8; 4] = input.take()?;
    let (version, count) = (input.number()?, input.number()?);
    if &signature != b"DIRC" || !(2..=3).contains(&version) || u64::from(count) > size / FIXED as u64 {
        return None;
    }
    let mut index = Index::default();
    let paths = usize::try_from(size).ok()?.checked_sub(count as usize * FIXED)?;
    index.reserve(count as usize, paths);
    let mut path = Vec::new();
    for _ in 0..count {
        let record = entry(&mut input, &mut path)?;
        if index.last().is_some_and(|last| last.path > path.as_slice()) {
            return None;
        }
        index.push(&path, record);
    }
    index.shrink();
    while input.left > CHECKSUM {
        let signature: [u8; 4] = input.take()?;
        let size = u64::from(input.number()?);
        let after = input.left.checked_sub(size)?;
        match &signature {
            b"TREE" => index.tree = whole_tree(&mut input, count),
            // Those with other first letters change what the entries mean.
            [b'A'..=b'Z', ..] => {}
            _ => return None,
        }
        input.skip(input.left.checked_sub(after)?)?;
    }
    Some(index)
}

/// One entry, its path in `path`.
fn entry(input: &mut Input, path: &mut Vec<u8>) -> Option<Record> {
    let mut time = || Some(nanos(i64::from(input.number()?), i64::from(input.number()?)));
    let (ctime, mtime) = (time()?, time()?);
    let [_device, ino, mode, _user, _group, size] =
        [input.number()?, input.number()?, input.number()?, input.number()?, input.number()?, input.number()?];
    let oid: [u8; 20] = input.take()?;
    let mut flags = Flags { plain: u16::from_be_bytes(input.take()?), extended: 0 };
    let mut length = FIXED;
    if flags.plain & EXTENDED != 0 {
        flags.extended = u16::from_be_bytes(input.take()?);
        length += 2;
    }
    input.until(0, path)?;
    // Padded to a multiple of eight with one to eight zeros, of which one is read.
    length += path.len();
    input.skip((8 - length % 8 - 1) as u64)?;
    Some(Record { path_end: 0, mode, mtime, ctime, size, ino, oid, kind: flags.kind() })
}

/// The tree that the whole index is, when git noted that down and nothing was staged since.
fn whole_tree(input: &mut Input, count: u32) -> Option<[u8; 20]> {
    let mut text = Vec::new();
    input.until(0, &mut text)?;
    let is_top = text.is_empty();
    input.until(b' ', &mut text)?;
    let covered: i64 = std::str::from_utf8(&text).ok()?.parse().ok()?;
    input.until(b'\n', &mut text)?;
    // Without the number of all entries it is not up to date, and no id follows.
    if is_top && covered == i64::from(count) { input.take() } else { None }
}

/// A file that is read forwards.
struct Input {
    file: BufReader<File>,
    /// Bytes not read yet.
    left: u64,
}

impl Input {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.left = self.left.checked_sub(N as u64)?;
        self.file.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    fn number(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    /// What comes before the next `end`, in `text`, and reads that too.
    fn until(&mut self, end: u8, text: &mut Vec<u8>) -> Option<()> {
        text.clear();
        let read = (&mut self.file).take(self.left).read_until(end, text).ok()?;
        self.left = self.left.checked_sub(read as u64)?;
        (text.pop() == Some(end)).then_some(())
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        self.left = self.left.checked_sub(count)?;
        self.file.seek_relative(i64::try_from(count).ok()?).ok()
    }
}

#[cfg(test)]
mod tests;
