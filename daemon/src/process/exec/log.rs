//! The file with everything that a command printed, as it printed it, up to a cap.
//!
//! Over the cap the beginning and the end stay. The end is gathered in a second file without a name, used as a ring, and
//! written behind the beginning when the log is settled; a line between them says how much was dropped.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

/// From this size on a log is synced to the disk before its outcome is told.
const SYNC_FROM: u64 = 1024 * 1024;

/// How much is copied at once when a log is settled.
const COPY: usize = 256 * 1024;

/// See the module's head.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    head_cap: u64,
    tail_cap: u64,
    file: Option<File>,
    ring: Option<File>,
    head: u64,
    /// Bytes that went through the ring.
    through: u64,
    error: Option<String>,
}

impl Log {
    /// A log at `path` that keeps so many bytes of beginning and end. The file is made when there is something to write.
    pub fn new(path: PathBuf, head_cap: u64, tail_cap: u64) -> Self {
        Self { path, head_cap, tail_cap, file: None, ring: None, head: 0, through: 0, error: None }
    }

    /// Appends what was printed. After the first failure nothing more is written.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.error.is_some() || bytes.is_empty() {
            return;
        }
        if let Err(error) = self.try_write(bytes) {
            self.error = Some(format!("{}: {error}", self.path.display()));
        }
    }

    /// Why something is missing in the log.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.head_cap - self.head).unwrap_or(usize::MAX);
        let (first, mut rest) = bytes.split_at(bytes.len().min(room));
        if !first.is_empty() {
            if self.file.is_none() {
                self.file = Some(create(&self.path)?);
            }
            if let Some(file) = &self.file {
                file.write_all_at(first, self.head)?;
            }
            self.head += first.len() as u64;
        }
        while !rest.is_empty() {
            if self.ring.is_none() {
                let mut path = self.path.clone().into_os_string();
                path.push(".tail");
                self.ring = Some(create(&PathBuf::from(&path))?);
                std::fs::remove_file(&path)?;
            }
            let at = self.through % self.tail_cap;
            let room = usize::try_from(self.tail_cap - at).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(rest.len().min(room));
            if let Some(ring) = &self.ring {
                ring.write_all_at(now, at)?;
            }
            self.through += now.len() as u64;
            rest = later;
        }
        Ok(())
    }

    /// Makes the file what it shall be: everything, or beginning, a line about what was dropped, end. A large log is
    /// also brought to the disk. More may be written and settled afterwards.
    pub fn settle(&mut self) {
        if self.error.is_none()
            && let Err(error) = self.try_settle()
        {
            self.error = Some(format!("{}: {error}", self.path.display()));
        }
    }

    fn try_settle(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if let Some(ring) = &mut self.ring {
            let dropped = self.through.saturating_sub(self.tail_cap);
            file.set_len(self.head)?;
            file.seek(SeekFrom::Start(self.head))?;
            if dropped > 0 {
                writeln!(file, "\n[{dropped} bytes were dropped here: the log is full]")?;
            }
            // What was written longest ago begins where the next byte would go.
            let begin = if dropped > 0 { self.through % self.tail_cap } else { 0 };
            copy(ring, begin, self.through.min(self.tail_cap) - begin, file)?;
            copy(ring, 0, begin, file)?;
        }
        if self.head + self.through > SYNC_FROM {
            file.sync_data()?;
        }
        Ok(())
    }
}

fn create(path: &PathBuf) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn copy(from: &mut File, at: u64, len: u64, to: &mut File) -> io::Result<()> {
    from.seek(SeekFrom::Start(at))?;
    let mut from = from.take(len);
    let mut buffer = vec![0; COPY];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(buffer.get(..count).unwrap_or_default())?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn check(pieces: &[&str], expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c1.log");
        let mut log = Log::new(path.clone(), 4, 6);
        for piece in pieces {
            log.write(piece.as_bytes());
            log.settle();
        }
        assert_eq!(log.error(), None);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_log_keeps_everything_up_to_its_cap_then_beginning_and_end() {
        check(&["ab"], "ab");
        check(&["abcd", "efghij"], "abcdefghij");
        check(&["abcdefg", "hij", "k"], "abcd\n[1 bytes were dropped here: the log is full]\nfghijk");
        check(&["abcdefghijklmnopqrstuvwxyz"], "abcd\n[16 bytes were dropped here: the log is full]\nuvwxyz");
    }

    #[test]
    fn nothing_printed_leaves_no_file_and_a_failure_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c1.log");
        let mut log = Log::new(path.clone(), 4, 6);
        log.write(b"");
        log.settle();
        assert!(!path.exists());
        let mut log = Log::new(folder.path().join("none/c1.log"), 4, 6);
        log.write(b"x");
        log.settle();
        assert!(log.error().unwrap().contains("none/c1.log"), "{:?}", log.error());
    }
}
