//! A look at the databases of a data folder that changes nothing: no file is made, tightened, recovered or brought
//! forward, and nothing that the next start judges by is touched. For `cli`'s reports.

use super::database::reader;
use super::index::UserSql;
use super::project::database_path;
use super::schema::{PROJECT, Series, USER};
use super::stores::{project_folder, project_keys};
use super::{StoreError, private};
use plimsoll_core::id::ProjectKey;
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Largest database that is read to its end: more takes longer than a person waits.
const CHECKED_MAX: u64 = 256 * 1024 * 1024;
/// What every SQLite database begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The part of the file that tells kind and version.
const HEADER: usize = 100;
/// Folders below each other that are counted; ours are a few deep.
const DEPTH_MAX: usize = 16;

/// A database as it was found.
#[derive(Debug)]
pub struct Inspected {
    /// The file.
    pub path: PathBuf,
    /// The project's key; none for `user.db`.
    pub project: Option<ProjectKey>,
    /// The project's first root, where it is known.
    pub root: Option<PathBuf>,
    /// Bytes on disk: the database with its logs, for a project everything in its folder.
    pub bytes: u64,
    /// What the file says.
    pub state: Result<State, StoreError>,
}

/// A database that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// The version of its schema.
    pub version: u32,
    /// The version that this build makes of it when it is next opened.
    pub known: u32,
    /// Whether its content was read and found well.
    pub checked: Checked,
}

/// How far a database was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// To its end.
    Whole,
    /// It is too large for that.
    TooLarge,
    /// It was left in use and nobody uses it; the next start checks it, and must be the first to.
    LeftInUse,
}

/// Refuses a folder on a file system on which databases get damaged.
pub fn file_system(folder: &Path) -> Result<(), StoreError> {
    private::refuse_network(folder)
}

/// Bytes of everything below a folder; links are not followed. A folder that is not there has none.
pub fn size(folder: &Path) -> u64 {
    size_to(folder, DEPTH_MAX)
}

fn size_to(folder: &Path, depth: usize) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().filter_map(|entry| {
        let meta = entry.metadata().ok()?;
        Some(if meta.is_dir() && depth > 0 { size_to(&entry.path(), depth - 1) } else { meta.len() })
    });
    sizes.fold(0, u64::saturating_add)
}

/// Looks at `user.db` and at every project's database. `running`: a daemon uses this data folder now.
pub fn inspect(data: &Path, running: bool) -> Vec<Inspected> {
    let mut found = Vec::new();
    let user = data.join("user.db");
    let mut roots = BTreeMap::new();
    if user.exists() {
        let seen = look(&user, &USER, running);
        let bytes = ["", "-wal", "-shm"].iter().filter_map(|suffix| length(&private::beside(&user, suffix))).sum();
        if let Ok((_, Some(connection))) = &seen {
            let projects = UserSql { connection, path: &user }.projects().unwrap_or_default();
            roots = projects.into_iter().map(|project| (project.key, project.roots.into_iter().next())).collect();
        }
        let state = seen.map(|(state, _)| state);
        found.push(Inspected { path: user, project: None, root: None, bytes, state });
    }
    for key in project_keys(&data.join("projects")).unwrap_or_default() {
        let folder = project_folder(data, &key);
        let path = database_path(&folder);
        if path.exists() {
            let state = look(&path, &PROJECT, running).map(|(state, _)| state);
            let root = roots.get(&key).cloned().flatten();
            found.push(Inspected { path, project: Some(key), root, bytes: size(&folder), state });
        }
    }
    found
}

fn length(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|meta| meta.len())
}

/// The header first, which needs no SQLite. The connection, where one could be opened without a trace.
fn look(path: &Path, series: &Series, running: bool) -> Result<(State, Option<Connection>), StoreError> {
    let (application, version) = header(path)?;
    if application != series.application_id.cast_unsigned() {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    let known = series.version();
    if version > known {
        return Err(StoreError::Newer { path: path.to_owned(), found: version, known });
    }
    let connection = match length(&private::beside(path, "-wal")) {
        None | Some(0) => unchanging(path)?,
        // The daemon has it open and keeps its logs in order.
        Some(_) if running => reader(path)?,
        // To open it would make its index fit its log, by which the next start sees whether the log was cut.
        Some(_) => return Ok((State { version, known, checked: Checked::LeftInUse }, None)),
    };
    let checked = if length(path).is_some_and(|bytes| bytes <= CHECKED_MAX) {
        check(&connection, path)?;
        Checked::Whole
    } else {
        Checked::TooLarge
    };
    Ok((State { version, known, checked }, Some(connection)))
}

/// Kind and version of a database, from its first bytes.
fn header(path: &Path) -> Result<(u32, u32), StoreError> {
    let damaged = |detail: &str| StoreError::Damaged { path: path.to_owned(), detail: detail.to_owned() };
    let mut head = Vec::with_capacity(HEADER);
    File::open(path)
        .and_then(|file| file.take(HEADER as u64).read_to_end(&mut head))
        .map_err(|source| StoreError::io("cannot read", path, source))?;
    if !head.starts_with(MAGIC) {
        return Err(damaged(if head.is_empty() { "the file is empty" } else { "it does not begin as a database" }));
    }
    let number = |at: usize| {
        let bytes = head.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
        bytes.map(u32::from_be_bytes).ok_or_else(|| damaged("its head is cut"))
    };
    Ok((number(68)?, number(60)?))
}

/// A connection that makes no file and takes no lock; right for a database that has no log.
fn unchanging(path: &Path) -> Result<Connection, StoreError> {
    let letter = |byte: &u8| match byte {
        b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    let name: String = path.as_os_str().as_bytes().iter().map(letter).collect();
    let name = format!("file:{name}?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(name, flags).map_err(|source| StoreError::sqlite(path, source))
}

fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let answer = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    let answer = answer.map_err(|source| StoreError::sqlite(path, source))?;
    if answer == "ok" {
        return Ok(());
    }
    let detail = answer.lines().last().unwrap_or_default().to_owned();
    Err(StoreError::Damaged { path: path.to_owned(), detail })
}

#[cfg(test)]
mod tests {
    use super::super::Stores;
    use super::*;
    use plimsoll_core::time::Timestamp;
    use std::fs;

    fn listing(folder: &Path) -> Vec<(PathBuf, u64)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(listing(&path));
            } else {
                found.push((path.clone(), fs::metadata(&path).unwrap().len()));
            }
        }
        found.sort();
        found
    }

    /// A data folder with one project, closed well; the project's database.
    async fn closed(root: &Path) -> (PathBuf, PathBuf) {
        let (data, project) = (root.join("da ta?"), root.join("project"));
        fs::create_dir(&project).unwrap();
        let stores = Stores::open(&data).await.unwrap();
        let record = stores.project_for(std::slice::from_ref(&project), Timestamp(1)).await.unwrap();
        stores.open_project(&record.key).await.unwrap();
        stores.close().await;
        let database = database_path(&project_folder(&data, &record.key));
        (data, database)
    }

    #[tokio::test]
    async fn a_look_finds_every_database_and_leaves_no_trace() {
        let root = tempfile::tempdir().unwrap();
        let (data, database) = closed(root.path()).await;
        let before = listing(&data);
        let found = inspect(&data, false);
        assert_eq!(listing(&data), before);
        let [user, project] = found.as_slice() else { panic!("{found:?}") };
        let whole =
            |series: &Series| State { version: series.version(), known: series.version(), checked: Checked::Whole };
        assert_eq!((user.path.clone(), user.state.as_ref().unwrap()), (data.join("user.db"), &whole(&USER)));
        assert_eq!((&project.path, project.state.as_ref().unwrap()), (&database, &whole(&PROJECT)));
        assert_eq!(project.root, Some(root.path().canonicalize().unwrap().join("project")));
        assert!(project.bytes >= fs::metadata(&database).unwrap().len());
        assert!(inspect(&root.path().join("nothing"), false).is_empty());
    }

    #[tokio::test]
    async fn open_databases_are_read_beside_the_daemon() {
        let root = tempfile::tempdir().unwrap();
        let (data, _) = closed(root.path()).await;
        let stores = Stores::open(&data).await.unwrap();
        let project = stores.projects().await.unwrap().remove(0);
        let store = stores.open_project(&project.key).await.unwrap();
        let found = inspect(&data, true);
        assert!(found.iter().all(|found| found.state.is_ok()) && found.len() == 2, "{found:?}");
        drop(store);
        stores.close().await;
    }

    #[tokio::test]
    async fn what_cannot_be_used_says_why() {
        let root = tempfile::tempdir().unwrap();
        let (data, database) = closed(root.path()).await;
        let said = |bytes: &[u8]| {
            fs::write(&database, bytes).unwrap();
            let found = inspect(&data, false).remove(1);
            assert_eq!(fs::read(&database).unwrap(), bytes);
            found.state.map_err(|error| error.to_string())
        };
        let good = fs::read(&database).unwrap();
        let with = |at: usize, value: u32| {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
            bytes
        };
        let newer = said(&with(60, 999)).unwrap_err();
        assert!(newer.contains("schema version 999") && newer.contains("; install the newer build"), "{newer}");
        assert!(said(&with(68, 1)).unwrap_err().contains("another program"));
        assert!(said(b"").unwrap_err().contains("the file is empty"));
        assert!(said(b"hello").unwrap_err().contains("does not begin as a database"));
        let mut torn = good.clone();
        let middle = torn.len() / 2;
        torn[4096..middle].fill(0xAA);
        assert!(said(&torn).unwrap_err().contains("is damaged"));
        assert_eq!(said(&with(60, 0)).unwrap().version, 0);
        // Left by a crash: not opened, so that the next start sees what the crash left.
        fs::write(private::beside(&database, "-wal"), "frames").unwrap();
        assert_eq!(said(&good).unwrap().checked, Checked::LeftInUse);
    }
}
