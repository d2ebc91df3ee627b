//! The transcript mirror and the artifacts beside it: derived files, written by one thread per project after the
//! commit, checked when a session is opened, made again from the store when they are not what they should be.

use super::artifact;
use super::database;
use super::private;
use super::read::Reader;
use super::record::SessionRow;
use super::write::MirrorMark;
use super::{StoreError, read, shared};
use plimsoll_core::id::{ItemNo, SessionId};
use plimsoll_core::tool::outcome::Body;
use plimsoll_core::transcript::item::{Item, ItemBody};
use plimsoll_core::transcript::mirror::{MIRROR_VERSION, full_text, needs_artifact, render};
use rusqlite::{Connection, OptionalExtension as _};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Items read at once: bounds the memory of a rebuild.
const PAGE: usize = 128;

/// Mirrors whose state is kept in memory; one session is written at a time, so this only saves checks.
const KEPT: usize = 32;

/// After so many new bytes a mirror's mark is written, so that a check after a crash has little to do again.
const MARK_EVERY: u64 = 1 << 20;

type Answer = oneshot::Sender<Result<MirrorState, StoreError>>;

/// A session's derived files, as they are once they were seen to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MirrorState {
    /// The last item in the mirror.
    pub items: ItemNo,
    /// Its size in bytes.
    pub bytes: u64,
    /// Saved texts of results that were made again.
    pub restored: u64,
    /// Saved texts of results that are gone and cannot be made again.
    pub lost: u64,
}

/// Work for the mirror thread, at most one entry per session: what comes while one waits joins it.
#[derive(Default)]
pub(super) struct Backlog {
    state: Mutex<Waiting>,
    ready: Condvar,
}

#[derive(Default)]
struct Waiting {
    order: VecDeque<SessionId>,
    jobs: HashMap<SessionId, Job>,
    closed: bool,
}

#[derive(Default)]
struct Job {
    /// The file is to be compared with what it should be.
    check: bool,
    /// The file is to be made anew.
    rebuild: bool,
    /// The session's folder is to be removed.
    remove: bool,
    answers: Vec<Answer>,
}

impl Backlog {
    /// A session has new items.
    pub(super) fn dirty(&self, id: &SessionId) {
        self.add(id, |_| {});
    }

    /// A session is being opened: its mirror is checked.
    pub(super) fn check(&self, id: &SessionId) {
        self.add(id, |job| job.check = true);
    }

    /// Makes a mirror anew, or brings it up to date (`rebuild` false); the answer comes when it is done.
    pub(super) fn settle(&self, id: &SessionId, rebuild: bool, answer: Answer) {
        self.add(id, |job| {
            job.rebuild |= rebuild;
            job.answers.push(answer);
        });
    }

    /// Removes a deleted session's folder; the answer comes when it is gone.
    pub(super) fn remove(&self, id: &SessionId, answer: Answer) {
        self.add(id, |job| {
            job.remove = true;
            job.answers.push(answer);
        });
    }

    /// The thread ends when nothing waits any more.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.ready.notify_all();
    }

    /// After `close` nothing is added: an answer is dropped, which its receiver sees.
    fn add(&self, id: &SessionId, change: impl FnOnce(&mut Job)) {
        let mut waiting = self.lock();
        if waiting.closed {
            return;
        }
        if !waiting.jobs.contains_key(id) {
            waiting.order.push_back(id.clone());
        }
        change(waiting.jobs.entry(id.clone()).or_default());
        self.ready.notify_one();
    }

    fn take(&self) -> Option<(SessionId, Job)> {
        let mut waiting = self.lock();
        loop {
            if let Some(id) = waiting.order.pop_front() {
                let job = waiting.jobs.remove(&id).unwrap_or_default();
                return Some((id, job));
            }
            if waiting.closed {
                return None;
            }
            waiting = self.ready.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread's own state.
pub(super) struct Mirrors {
    /// The project's folder.
    pub(super) folder: PathBuf,
    /// The project's database.
    pub(super) database: PathBuf,
    pub(super) backlog: Arc<Backlog>,
    /// Takes the mark of a mirror that grew; may be refused, it is only a shortcut.
    pub(super) mark: Box<dyn Fn(Vec<MirrorMark>) + Send>,
}

/// A mirror that is right up to `item`.
struct Written {
    item: ItemNo,
    len: u64,
    hasher: blake3::Hasher,
    marked: u64,
}

impl Written {
    fn empty() -> Self {
        Self { item: ItemNo(0), len: 0, hasher: blake3::Hasher::new(), marked: 0 }
    }

    fn mark(&self, session: &SessionId) -> MirrorMark {
        MirrorMark {
            session: session.clone(),
            version: MIRROR_VERSION,
            item: self.item,
            len: self.len,
            hash: *self.hasher.finalize().as_bytes(),
        }
    }
}

/// Path of a session's mirror below its folder.
pub(super) fn transcript(folder: &Path) -> PathBuf {
    folder.join("transcript.txt")
}

impl Mirrors {
    /// Works until the backlog is closed and empty; gives the marks that are still to be written.
    pub(super) fn run(self) -> Vec<MirrorMark> {
        let mut connection = None;
        let mut known: HashMap<SessionId, Written> = HashMap::new();
        while let Some((id, job)) = self.backlog.take() {
            let result = self.perform(&mut connection, &mut known, &id, &job);
            if let Err(error) = &result {
                // It will be found and made again when the session is opened next.
                known.remove(&id);
                tracing::warn!(session = %id, %error, "the transcript mirror could not be written");
            }
            let good = result.as_ref().ok().copied();
            let mut result = Some(result);
            for answer in job.answers {
                // The first that asked hears the error itself; the others see their answer dropped.
                if let Some(told) = result.take().or_else(|| good.map(Ok)) {
                    // A caller that went away does not need the answer.
                    let _ = answer.send(told);
                }
            }
            if known.len() > KEPT {
                let others: Vec<SessionId> = known.keys().filter(|other| **other != id).cloned().collect();
                let marks = others.iter().filter_map(|other| known.remove(other).map(|mirror| mirror.mark(other)));
                (self.mark)(marks.collect());
            }
        }
        known.iter().filter(|(_, mirror)| mirror.len != mirror.marked).map(|(id, mirror)| mirror.mark(id)).collect()
    }

    fn perform(
        &self,
        connection: &mut Option<Connection>,
        known: &mut HashMap<SessionId, Written>,
        id: &SessionId,
        job: &Job,
    ) -> Result<MirrorState, StoreError> {
        let folder = self.folder.join(id.as_str());
        let connection = match connection {
            Some(connection) => connection,
            None => connection.insert(database::reader(&self.database)?),
        };
        if job.remove {
            known.remove(id);
            return shared::clear(connection, &self.database, &folder, id).map(|()| MirrorState::default());
        }
        let sid = match read::sid(connection, &self.database, id) {
            Ok(sid) => sid,
            // It was deleted meanwhile.
            Err(StoreError::NotFound { .. }) => return Ok(MirrorState::default()),
            Err(other) => return Err(other),
        };
        let reader = Reader { connection, path: &self.database, folder: &folder };
        let path = transcript(&folder);
        if job.check || job.rebuild {
            known.remove(id);
        }
        let mut mirror = match known.remove(id) {
            Some(mirror) if file_len(&path) == Some(mirror.len) => mirror,
            Some(_) | None if job.rebuild => Written::empty(),
            Some(_) | None => verified(&reader, sid, &path)?.unwrap_or_else(Written::empty),
        };
        let last: SessionRow = read::session(reader.connection, reader.path, sid)?;
        if mirror.item == ItemNo(0) {
            // Under another name until it is complete, so that a reader never sees half of it.
            let fresh = private::beside(&path, ".new");
            private::folder(&folder)?;
            let mut file = private::create(&fresh)?;
            append(&reader, sid, &mut file, &fresh, &mut mirror, last.counters.item)?;
            std::fs::rename(&fresh, &path).map_err(|source| StoreError::io("cannot name", &path, source))?;
        } else if mirror.item < last.counters.item {
            let opened = OpenOptions::new().append(true).open(&path);
            let mut file = opened.map_err(|source| StoreError::io("cannot open", &path, source))?;
            append(&reader, sid, &mut file, &path, &mut mirror, last.counters.item)?;
        }
        let (mut restored, mut lost) = (0, 0);
        if job.check || job.rebuild {
            match artifact::restore(&reader, sid) {
                Ok(counts) => (restored, lost) = counts,
                Err(error) => {
                    tracing::warn!(session = %id, %error, "the saved texts of results could not all be made again");
                }
            }
        }
        if mirror.len - mirror.marked >= MARK_EVERY {
            (self.mark)(vec![mirror.mark(id)]);
            mirror.marked = mirror.len;
        }
        let state = MirrorState { items: mirror.item, bytes: mirror.len, restored, lost };
        known.insert(id.clone(), mirror);
        Ok(state)
    }
}

/// Writes the records of all items after the mirror's last one.
fn append(
    reader: &Reader<'_>,
    sid: i64,
    file: &mut File,
    path: &Path,
    mirror: &mut Written,
    upto: ItemNo,
) -> Result<(), StoreError> {
    while mirror.item < upto {
        let items = reader.items_after(sid, mirror.item, PAGE)?;
        let Some(last) = items.last().map(|item| item.no) else { break };
        let mut text = String::new();
        for item in &items {
            let artifact = artifact(item, reader.folder)?;
            text.push_str(&render(item, artifact.as_deref()));
        }
        file.write_all(text.as_bytes()).map_err(|source| StoreError::io("cannot write", path, source))?;
        mirror.hasher.update(text.as_bytes());
        mirror.len += text.len() as u64;
        mirror.item = last;
    }
    Ok(())
}

/// The path under which the whole text of a long result can be read. A command's log is its artifact; for others the
/// text is written when it is not there.
pub(super) fn artifact(item: &Item, folder: &Path) -> Result<Option<String>, StoreError> {
    let ItemBody::ToolResult(result) = &item.body else { return Ok(None) };
    if !needs_artifact(item) {
        return Ok(None);
    }
    if let Some(log) = result.outcome.body.command_run().and_then(|run| run.log.clone()) {
        return Ok(Some(log));
    }
    // Of a text the file may be there already: a projection names it.
    let text = match &result.outcome.body {
        Body::Text(text) => Cow::Borrowed(text.as_str()),
        body => Cow::Owned(full_text(body)),
    };
    let path = artifact::path(folder, result.call);
    if file_len(&path) != Some(text.len() as u64) {
        artifact::save(folder, result.call, &text, false)?;
    }
    Ok(Some(path.to_string_lossy().into_owned()))
}

fn file_len(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|meta| meta.len())
}

/// The part of the file that is known to be right: its mark in the database matches its length and hash. What stands
/// after that part is cut off. None when nothing is.
fn verified(reader: &Reader<'_>, sid: i64, path: &Path) -> Result<Option<Written>, StoreError> {
    let mark = reader
        .connection
        .query_row("SELECT version, item, len, hash FROM mirror WHERE sid = ?1", [sid], |row| {
            Ok((row.get::<_, u32>(0)?, read::number(row, 1)?, read::number(row, 2)?, row.get::<_, [u8; 32]>(3)?))
        })
        .optional()
        .map_err(|source| reader.error(source))?;
    let Some((version, item, len, hash)) = mark else { return Ok(None) };
    if version != MIRROR_VERSION || file_len(path).is_none_or(|found| found < len) {
        return Ok(None);
    }
    let io = |source| StoreError::io("cannot check", path, source);
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(io)?;
    let mut hasher = blake3::Hasher::new();
    std::io::copy(&mut (&file).take(len), &mut hasher).map_err(io)?;
    if *hasher.finalize().as_bytes() != hash {
        return Ok(None);
    }
    file.set_len(len).map_err(io)?;
    Ok(Some(Written { item: ItemNo(item), len, hasher, marked: len }))
}
