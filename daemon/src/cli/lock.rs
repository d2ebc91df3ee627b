//! One daemon for one data folder: a lock of the system's on a file that is never removed. The kernel releases it when
//! its holder dies, however it dies; what the file says is for finding and showing the holder, never for deciding.

use crate::config::{Folders, private_file};
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

/// Longest text that a holder writes; what is longer is not one of ours.
const HOLDER_MAX: u64 = 16 * 1024;

/// The right to be the daemon of a data folder, for as long as it lives.
#[derive(Debug)]
pub struct InstanceLock {
    file: File,
}

/// What the holder says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// Its socket.
    pub socket: PathBuf,
    /// Its version.
    pub version: String,
    /// Somebody asked it to end: it is not started again before somebody needs it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

impl InstanceLock {
    /// Takes the lock; `None` when another process holds it.
    pub fn take(folders: &Folders) -> io::Result<Option<Self>> {
        let file = private_file(&folders.lock_file())?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Writes down who holds it.
    pub fn announce(&mut self, holder: &Holder) -> io::Result<()> {
        let text = serde_json::to_vec(holder).map_err(io::Error::other)?;
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&text)
    }
}

/// Who last held the lock, possibly no longer; none when nobody ever did, or is just writing it down.
pub fn last_holder(folders: &Folders) -> Option<Holder> {
    let mut text = String::new();
    File::open(folders.lock_file()).ok()?.take(HOLDER_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Whether somebody holds the lock now. Makes nothing.
pub fn is_held(folders: &Folders) -> io::Result<bool> {
    let file = match File::open(folders.lock_file()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    // A shared lock, given back at once: a daemon that starts in this moment waits for its predecessor and so for this.
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Waits until nobody holds the lock; `false` when the time is over first.
pub fn wait_until_free(folders: &Folders, patience: Duration) -> io::Result<bool> {
    let file = match File::open(folders.lock_file()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    let (free, done) = mpsc::sync_channel(1);
    // A lock cannot be waited for with a limit; the thread is left behind when the time is over and ends with the
    // command. A shared lock is enough to know, and is given back at once.
    std::thread::Builder::new().name("lock".to_owned()).spawn(move || {
        let locked = file.lock_shared();
        drop(file);
        let _ = free.send(locked);
    })?;
    match done.recv_timeout(patience) {
        Ok(locked) => locked.map(|()| true),
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::folders;

    #[test]
    fn one_holds_the_lock_and_the_next_gets_it_after_it() {
        let (_root, folders) = folders();
        let first = InstanceLock::take(&folders).unwrap();
        assert!(first.is_some());
        assert!(InstanceLock::take(&folders).unwrap().is_none());
        assert!(is_held(&folders).unwrap());
        drop(first);
        assert!(!is_held(&folders).unwrap());
        assert!(wait_until_free(&folders, Duration::from_secs(10)).unwrap());
        assert!(InstanceLock::take(&folders).unwrap().is_some());
    }

    #[test]
    fn patience_with_a_holder_has_an_end() {
        let (_root, folders) = folders();
        let _held = InstanceLock::take(&folders).unwrap().unwrap();
        assert!(!wait_until_free(&folders, Duration::from_millis(1)).unwrap());
    }

    #[test]
    fn the_holder_can_be_read_while_it_holds_and_a_torn_text_is_nobody() {
        let (_root, folders) = folders();
        assert_eq!(last_holder(&folders), None);
        let mut lock = InstanceLock::take(&folders).unwrap().unwrap();
        let long =
            Holder { pid: 7, socket: "/run/a-rather-long-name.sock".into(), version: "1.2.3".into(), stopped: true };
        lock.announce(&long).unwrap();
        let short = Holder { pid: 8, socket: "/s".into(), version: "1".into(), stopped: false };
        lock.announce(&short).unwrap();
        assert_eq!(last_holder(&folders), Some(short));
        std::fs::write(folders.lock_file(), "{\"pid\":").unwrap();
        assert_eq!(last_holder(&folders), None);
    }

    #[test]
    fn without_a_lock_file_nobody_is_waited_for() {
        let (_root, folders) = folders();
        assert!(!is_held(&folders).unwrap());
        assert!(wait_until_free(&folders, Duration::from_secs(10)).unwrap());
    }
}
