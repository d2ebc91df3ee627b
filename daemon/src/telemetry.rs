//! The log: a rotating file below the data folder, and stderr when a person watches. Nothing ever goes to stdout, which
//! belongs to the protocol. Set up once by the daemon; bridges and commands log nothing.

use crate::config::{Folders, env, private_append};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// Name of the newest log file; older ones have a number at their end.
const LOG_FILE: &str = "daemon.log";
/// A file is set aside when it reaches this many bytes: an editor still opens it at once.
const FILE_MAX: u64 = 4 * 1024 * 1024;
/// So many older files are kept: with the newest, 16 MiB at most.
const OLD_FILES: u32 = 3;
/// What is logged when nothing is asked for.
const DEFAULT_FILTER: &str = "info";

/// The log cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The file cannot be opened.
    #[error("the log file {} cannot be opened: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It was set up before.
    #[error("the log is set up already: {0}")]
    Twice(#[from] TryInitError),
}

/// Who reads the log besides the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// A person at a terminal: stderr too.
    Foreground,
    /// Nobody.
    Detached,
}

/// Begins to log, and logs panics from now on. The logs' folder exists.
pub fn begin(folders: &Folders, audience: Audience) -> Result<(), TelemetryError> {
    let path = folders.logs().join(LOG_FILE);
    let file = RotatingFile::open(&path, FILE_MAX).map_err(|source| TelemetryError::File { path, source })?;
    let (filter, complaint) = filter(std::env::var(env::LOG).ok().as_deref());
    let to_file = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(file).with_filter(filter.clone());
    let to_stderr = (audience == Audience::Foreground)
        .then(|| tracing_subscriber::fmt::layer().with_ansi(false).with_writer(io::stderr).with_filter(filter));
    tracing_subscriber::registry().with(to_file).with(to_stderr).try_init()?;
    if let Some(complaint) = complaint {
        tracing::warn!("{complaint}");
    }
    log_panics();
    Ok(())
}

/// The filter that the variable asks for, or the default with what is wrong with the variable.
fn filter(asked: Option<&str>) -> (Targets, Option<String>) {
    let default = || DEFAULT_FILTER.parse().unwrap_or_default();
    match asked.filter(|text| !text.trim().is_empty()) {
        None => (default(), None),
        Some(text) => match text.parse() {
            Ok(filter) => (filter, None),
            Err(error) => {
                let complaint = format!("{}: {error}; `{DEFAULT_FILTER}` is used, write such as `debug`", env::LOG);
                (default(), Some(complaint))
            }
        },
    }
}

/// A panic ends a turn, not the daemon; here it leaves its trace.
fn log_panics() {
    std::panic::set_hook(Box::new(|info| {
        let thread = std::thread::current();
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let text = info.payload_as_str().unwrap_or("(not a text)");
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(thread = thread.name().unwrap_or("?"), place, %backtrace, "panic: {text}");
    }));
}

/// A file that is set aside when it has grown, so that the newest lines are always in the file of the same name. Cheap to
/// clone; lines of several threads are not mixed.
#[derive(Clone)]
struct RotatingFile(Arc<Mutex<Rotation>>);

struct Rotation {
    path: PathBuf,
    file: File,
    written: u64,
    max: u64,
}

impl RotatingFile {
    fn open(path: &Path, max: u64) -> io::Result<Self> {
        let file = private_append(path)?;
        let written = file.metadata()?.len();
        Ok(Self(Arc::new(Mutex::new(Rotation { path: path.to_owned(), file, written, max }))))
    }
}

impl Write for RotatingFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut rotation = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if rotation.written >= rotation.max {
            rotation.set_aside();
        }
        let written = rotation.file.write(line)?;
        rotation.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for RotatingFile {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Rotation {
    /// Renames `log` to `log.1`, `log.1` to `log.2` and so on. A failure leaves the old file in use: a log that is too
    /// long is better than none, and there is no other place to complain.
    fn set_aside(&mut self) {
        let numbered = |number: u32| PathBuf::from(format!("{}.{number}", self.path.display()));
        for number in (1..OLD_FILES).rev() {
            let _ = std::fs::rename(numbered(number), numbered(number + 1));
        }
        if std::fs::rename(&self.path, numbered(1)).is_ok()
            && let Ok(file) = private_append(&self.path)
        {
            self.file = file;
        }
        self.written = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_newest_lines_are_in_the_file_and_old_ones_are_set_aside_and_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOG_FILE);
        let mut log = RotatingFile::open(&path, 10).unwrap();
        for number in 0..6 {
            log.write_all(format!("line number {number}\n").as_bytes()).unwrap();
        }
        let mut found: Vec<(String, String, u32)> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let mode = path.metadata().unwrap().permissions().mode() & 0o777;
                let text = std::fs::read_to_string(&path).unwrap();
                (path.file_name().unwrap().to_str().unwrap().to_owned(), text, mode)
            })
            .collect();
        found.sort();
        let expected = [("daemon.log", 5), ("daemon.log.1", 4), ("daemon.log.2", 3), ("daemon.log.3", 2)]
            .map(|(name, number)| (name.to_owned(), format!("line number {number}\n"), 0o600));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_restart_goes_on_in_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOG_FILE);
        RotatingFile::open(&path, 100).unwrap().write_all(b"one\n").unwrap();
        RotatingFile::open(&path, 100).unwrap().write_all(b"two\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_named_and_the_default_is_used() {
        assert_eq!(filter(None).1, None);
        assert_eq!(filter(Some(" ")).1, None);
        assert_eq!(filter(Some("plimsoll::rpc=trace,warn")).1, None);
        let (used, complaint) = filter(Some("plimsoll=loud"));
        assert!(complaint.unwrap().contains("PLIMSOLL_LOG"));
        assert_eq!(used, DEFAULT_FILTER.parse().unwrap());
    }
}
