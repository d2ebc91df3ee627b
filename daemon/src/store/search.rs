//! Words in the transcripts: a scan over stored items from the last one back, a bounded piece at a time. It has a connection
//! of its own, so that nobody who reads waits for it, and holds one item at a time.

use super::encode::FileRef;
use super::pack::unpack;
use super::project::database_path;
use super::read::number;
use super::stores::project_folder;
use super::{ProjectStore, StoreError, Stores, database, read};
use plimsoll_core::id::{ItemNo, ProjectKey, SessionId, TurnNo};
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::codec;
use plimsoll_core::transcript::item::ItemBody;
use plimsoll_core::transcript::mirror::full_text;
use plimsoll_core::transcript::search::{Found, Words};
use rusqlite::{Connection, Row, params};
use std::borrow::Cow;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a large result that are looked through at a time.
const WINDOW: usize = 256 * 1024;

/// What is looked for; the same for all sessions of a search.
#[derive(Debug, Clone)]
pub struct Search {
    /// The words.
    pub words: Words,
    /// The stored names of the kinds of items that are looked through.
    pub kinds: Vec<&'static str>,
    /// Set when nobody waits for it any more.
    pub stop: Arc<AtomicBool>,
}

/// How far one piece of a scan may go; it ends where one of them is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Hits.
    pub hits: usize,
    /// Items, those of other kinds included.
    pub items: u64,
    /// Bytes of unpacked items.
    pub bytes: u64,
}

impl Room {
    fn is_left(&self) -> bool {
        self.hits > 0 && self.items > 0 && self.bytes > 0
    }
}

/// An item with all the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemHit {
    /// The item.
    pub item: ItemNo,
    /// Its turn.
    pub turn: TurnNo,
    /// Its kind, by its stored name.
    pub kind: &'static str,
    /// When it was made.
    pub at: Timestamp,
    /// The piece of its text that shows a word.
    pub found: Found,
}

/// What a piece of a scan found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    /// The hits, the last item first.
    pub hits: Vec<ItemHit>,
    /// The scan goes on with the items before this one; none when the session's first was reached.
    pub next: Option<ItemNo>,
    /// The room that is left.
    pub room: Room,
}

impl ProjectStore {
    /// Looks through a session's items before `before`, from the last one back, as far as there is room. A session that is
    /// gone has none.
    pub async fn search(
        &self,
        id: &SessionId,
        search: &Search,
        before: Option<ItemNo>,
        room: Room,
    ) -> Result<Scanned, StoreError> {
        let (id, search, folder) = (id.clone(), search.clone(), self.session_folder(id));
        self.scan(move |connection, path| of_session(connection, path, &folder, &id, &search, before, room)).await
    }
}

impl Stores {
    /// The same in a project that need not be open. One that was closed well is only read: to open and close each project
    /// for one look would take longer than the look.
    pub async fn search(
        &self,
        project: &ProjectKey,
        id: &SessionId,
        search: &Search,
        before: Option<ItemNo>,
        room: Room,
    ) -> Result<Scanned, StoreError> {
        if let Some(store) = self.already_open(project) {
            return store.search(id, search, before, room).await;
        }
        let folder = project_folder(self.data(), project);
        let path = database_path(&folder);
        let (wanted, closed) = (id.clone(), search.clone());
        let look = tokio::task::spawn_blocking(move || {
            // Of one that was not closed well, whoever opens it must see it as it was left.
            if !database::is_clean(&path) {
                return Ok(None);
            }
            let connection = database::reader(&path)?;
            let folder = folder.join(wanted.as_str());
            of_session(&connection, &path, &folder, &wanted, &closed, before, room).map(Some)
        });
        match look.await {
            Ok(Ok(Some(scanned))) => Ok(scanned),
            // Opened, it is checked, recovered, or refused with what is wrong.
            Ok(Ok(None) | Err(_)) | Err(_) => self.open_project(project).await?.search(id, search, before, room).await,
        }
    }
}

fn of_session(
    connection: &Connection,
    path: &Path,
    folder: &Path,
    id: &SessionId,
    search: &Search,
    before: Option<ItemNo>,
    room: Room,
) -> Result<Scanned, StoreError> {
    let sid = match read::sid(connection, path, id) {
        Ok(sid) => sid,
        Err(StoreError::NotFound { .. }) => return Ok(Scanned { hits: Vec::new(), next: None, room }),
        Err(other) => return Err(other),
    };
    Scan { connection, path, folder, search }.run(sid, before, room)
}

struct Scan<'a> {
    connection: &'a Connection,
    path: &'a Path,
    folder: &'a Path,
    search: &'a Search,
}

impl Scan<'_> {
    fn run(&self, sid: i64, before: Option<ItemNo>, mut room: Room) -> Result<Scanned, StoreError> {
        let sqlite = |source| StoreError::sqlite(self.path, source);
        let sql = "SELECT no, turn, at, kind, version, len, codec, body, file FROM item \
                   WHERE sid = ?1 AND no < ?2 ORDER BY no DESC";
        let before = before.map_or(i64::MAX, |before| before.0 as i64);
        let mut statement = self.connection.prepare_cached(sql).map_err(sqlite)?;
        let mut rows = statement.query(params![sid, before]).map_err(sqlite)?;
        let mut hits = Vec::new();
        let mut last = None;
        while let Some(row) = rows.next().map_err(sqlite)? {
            let no = ItemNo(number(row, 0).map_err(sqlite)?);
            if !room.is_left() || self.search.stop.load(Ordering::Relaxed) {
                return Ok(Scanned { hits, next: last, room });
            }
            last = Some(no);
            room.items -= 1;
            let kind = row.get_ref(3).and_then(|kind| Ok(kind.as_str()?)).map_err(sqlite)?;
            let Some(kind) = self.search.kinds.iter().find(|wanted| **wanted == kind) else { continue };
            let (found, bytes) = self.look(row, kind).map_err(sqlite)?;
            room.bytes = room.bytes.saturating_sub(bytes);
            if let Some(found) = found {
                room.hits -= 1;
                let (turn, at) = (TurnNo(number(row, 1).map_err(sqlite)?), Timestamp(row.get(2).map_err(sqlite)?));
                hits.push(ItemHit { item: no, turn, kind, at, found });
            }
        }
        Ok(Scanned { hits, next: None, room })
    }

    /// What an item shows of the words, and how many bytes that took to find out. An item that cannot be read has none: the
    /// others are found all the same.
    fn look(&self, row: &Row<'_>, kind: &str) -> rusqlite::Result<(Option<Found>, u64)> {
        let words = &self.search.words;
        if let Some(file) = row.get::<_, Option<String>>(8)? {
            return Ok(self.in_file(&file));
        }
        let len = number(row, 5)?;
        let body = row.get_ref(7)?.as_blob()?;
        let json = match unpack(row.get(6)?, usize::try_from(len).unwrap_or(usize::MAX), body) {
            Ok(json) => json,
            Err(error) => {
                tracing::warn!(database = %self.path.display(), %error, "a stored item cannot be searched");
                return Ok((None, len));
            }
        };
        if !words.may_be_in(&json) {
            return Ok((None, len));
        }
        let found = codec::decode(kind, row.get(4)?, &json).ok().and_then(|body| words.find(&text(&body)));
        Ok((found, len))
    }

    /// The same of a result that lies in a file: its stored form is looked through as it is unpacked.
    fn in_file(&self, file: &str) -> (Option<Found>, u64) {
        let Ok(place) = serde_json::from_str::<FileRef>(file) else { return (None, 0) };
        let path = self.folder.join(&place.path);
        let opened = File::open(&path).and_then(zstd::stream::read::Decoder::new);
        match opened.and_then(|stream| in_stream(stream, &self.search.words, &self.search.stop)) {
            Ok(found) => (found, place.len),
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "a saved result cannot be searched");
                (None, place.len)
            }
        }
    }
}

/// The text of an item that people would look for.
fn text(body: &ItemBody) -> Cow<'_, str> {
    match body {
        ItemBody::User(message) => Cow::Borrowed(&message.text),
        ItemBody::Meta(message) => Cow::Borrowed(&message.text),
        ItemBody::Assistant(text) => Cow::Borrowed(&text.text),
        ItemBody::Reasoning(reasoning) => Cow::Borrowed(&reasoning.text),
        ItemBody::ToolCall(call) => Cow::Owned(format!("{} {}", call.tool, call.arguments)),
        ItemBody::ToolResult(result) => Cow::Owned(full_text(&result.outcome.body)),
        ItemBody::Observation(observation) => Cow::Borrowed(&observation.text),
        ItemBody::Notice(notice) => Cow::Borrowed(&notice.text),
        // It says which items left the view, and nothing that anybody wrote.
        ItemBody::Rewind(_) => Cow::Borrowed(""),
    }
}

/// The first place of a JSON text where all words stand within [`WINDOW`] bytes or so.
fn in_stream(mut json: impl std::io::Read, words: &Words, stop: &AtomicBool) -> std::io::Result<Option<Found>> {
    let mut held: Vec<u8> = Vec::new();
    loop {
        let before = held.len();
        json.by_ref().take(WINDOW as u64).read_to_end(&mut held)?;
        let over = held.len() == before;
        if over || stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let plain = unescaped(&String::from_utf8_lossy(&held));
        if let Some(found) = words.find(&plain) {
            return Ok(Some(found));
        }
        // What is kept holds what a border cut in two.
        let keep = held.len().saturating_sub(WINDOW);
        held.drain(..keep);
    }
}

/// The letters that JSON's commonest escapes stand for; others stay as they are.
fn unescaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut letters = json.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some(letter @ ('"' | '\\' | '/')) => out.push(letter),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_where_two_pieces_of_a_stream_meet() {
        let stop = AtomicBool::new(false);
        for at in [WINDOW - 3, 3 * WINDOW - 1, 0, 5 * WINDOW] {
            let mut json = "x".repeat(6 * WINDOW);
            json.replace_range(at..at + 8, r"\nneedle");
            let found = in_stream(json.as_bytes(), &Words::new("NEEDLE"), &stop).unwrap().unwrap();
            let range = found.ranges.first().unwrap().clone();
            assert_eq!((found.text.get(range).unwrap(), found.text.contains("\nneedle")), ("needle", true), "{at}");
        }
        assert_eq!(in_stream("x".repeat(3 * WINDOW).as_bytes(), &Words::new("y"), &stop).unwrap(), None);
        assert_eq!(unescaped(r#"a\"b\\n\u00e4\"#), "a\"b\\n\\u00e4\\");
    }
}
