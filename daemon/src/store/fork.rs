//! A session that begins with what another one has said, and one that is read from an export: each is one transaction.
//!
//! What was sent is shared by hash; items, results' texts and the records of requests are copied, so that either session can
//! be deleted. Operations and questions stay with the session whose they are: what it wrote is undone there, what was allowed
//! there was allowed there.

use super::StoreError;
use super::encode::{Encoded, encode_now};
use super::read::{self, Reader};
use super::record::{SessionOrigin, SessionRecord};
use super::write::{Sql, Written};
use plimsoll_core::event::{Event, EventBody};
use plimsoll_core::id::{CallId, ItemNo, RequestNo, Seq, SessionId, StepNo, TurnNo};
use plimsoll_core::ledger::Operation;
use plimsoll_core::permission::mode::Mode;
use plimsoll_core::prompt::Prompts;
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::batch::Batch;
use plimsoll_core::transcript::item::{Item, ItemBody};
use plimsoll_core::transcript::settled::{Part, Place};
use plimsoll_core::turn::fork;
use rusqlite::params;
use std::collections::BTreeSet;
use std::path::Path;

/// A fork to be made.
pub(super) struct ForkWrite {
    pub(super) parent: SessionId,
    /// The last item to share, at most.
    pub(super) until: ItemNo,
    pub(super) id: SessionId,
    /// A title; without one, the other session's with a word behind it.
    pub(super) title: Option<String>,
    pub(super) key: Option<String>,
    pub(super) at: Timestamp,
}

/// What two sessions share.
struct Shared {
    parent: i64,
    fork: i64,
    last: ItemNo,
    turn: TurnNo,
    calls: BTreeSet<CallId>,
    /// The last request whose messages are all shared.
    request: RequestNo,
}

impl Sql<'_> {
    /// Makes a fork, or gives the session that was made with its key.
    pub(super) fn fork(&self, fork: &ForkWrite) -> Result<Written, StoreError> {
        if let Some(made) = self.of_key(fork.key.as_deref())? {
            return Ok(made);
        }
        let parent = self.sid(&fork.parent)?;
        let reader = self.reader();
        let row = read::session(self.connection, self.path, parent)?;
        let places = reader.places(parent)?;
        let last = reader.settled_end(parent, fork.until)?;
        let within = places.iter().take_while(|place| place.no <= last);
        let result = |place: &Place| match place.part {
            Part::Result(call) => Some(call),
            _ => None,
        };
        let request = self.connection.query_row(
            "SELECT coalesce(max(no), 0) FROM request WHERE sid = ?1 AND last_item <= ?2",
            params![parent, last.0 as i64],
            |row| read::number(row, 0),
        );
        let request = RequestNo(request.map_err(|source| self.error(source))?);
        let origin = SessionOrigin { session: fork.parent.to_string(), item: last, request, imported: false };
        let title = match (&fork.title, row.title.is_empty()) {
            (Some(title), _) => title.clone(),
            (None, true) => String::new(),
            (None, false) => format!("{} (fork)", row.title),
        };
        self.execute(
            "INSERT INTO session (id, key, title, mode, model, created_at, updated_at, state, bundle, base_prompt, \
             before_plan, forked_from) SELECT ?2, ?3, ?4, mode, model, ?5, ?5, 'idle', bundle, base_prompt, before_plan, ?6 \
             FROM session WHERE sid = ?1",
            params![parent, fork.id.as_str(), fork.key, title, fork.at.0, self.json(&origin)?],
        )?;
        let shared = Shared {
            parent,
            fork: self.sid(&fork.id)?,
            last,
            turn: within.clone().last().map(|place| place.turn).unwrap_or_default(),
            calls: within.filter_map(result).collect(),
            request,
        };
        self.copy(&shared, &fork.parent)?;
        self.share_task(&reader, (parent, shared.fork), last, &shared.calls)?;
        let mode: Mode = row.mode.parse().unwrap_or_default();
        let batch = self.first_batch(&shared, mode, fork.at)?;
        self.commit(&fork.id, &encode_now(batch, Path::new(""), self.path)?)
    }

    fn reader(&self) -> Reader<'_> {
        Reader { connection: self.connection, path: self.path, folder: Path::new("") }
    }

    fn json(&self, origin: &SessionOrigin) -> Result<String, StoreError> {
        plimsoll_core::transcript::codec::encode_record("origin", origin).map_err(|source| self.codec(source))
    }

    /// The rows that both have.
    fn copy(&self, shared: &Shared, parent: &SessionId) -> Result<(), StoreError> {
        let Shared { parent: from, fork: to, last, request, .. } = *shared;
        let (last, request) = (last.0 as i64, request.0 as i64);
        self.execute(
            "INSERT INTO item (sid, no, turn, step, at, kind, version, call, codec, len, body, file) \
             SELECT ?2, no, turn, step, at, kind, version, call, codec, len, body, \
             CASE WHEN file IS NULL OR json_extract(file, '$.path') LIKE '../%' THEN file \
             ELSE json_set(file, '$.path', '../' || ?4 || '/' || json_extract(file, '$.path')) END \
             FROM item WHERE sid = ?1 AND no <= ?3 ORDER BY no",
            params![from, to, last, parent.as_str()],
        )?;
        self.execute(
            "INSERT INTO projection (sid, call, is_error, tokens, partial, codec, len, body, shown, whole, saved) \
             SELECT ?2, call, is_error, tokens, partial, codec, len, body, shown, whole, saved FROM projection \
             WHERE sid = ?1 AND call IN (SELECT call FROM item WHERE sid = ?1 AND no <= ?3 AND kind = 'tool_result') \
             ORDER BY rid",
            params![from, to, last],
        )?;
        self.execute(
            "INSERT INTO attached (sid, item, after_projection, shown) \
             SELECT ?2, a.item, coalesce((SELECT n.rid FROM projection o JOIN projection n ON n.call = o.call \
             AND n.sid = ?2 WHERE o.rid = a.after_projection), 0), a.shown FROM attached a WHERE a.sid = ?1 AND a.item <= ?3",
            params![from, to, last],
        )?;
        let of_epoch = "(SELECT coalesce(max(epoch), 0) FROM request WHERE sid = ?1 AND no <= ?3)";
        for sql in [
            format!(
                "INSERT INTO epoch (sid, no, at, first_item, after_request, version, body) SELECT ?2, no, at, first_item, \
                 after_request, version, body FROM epoch WHERE sid = ?1 AND no <= {of_epoch}"
            ),
            format!(
                "INSERT INTO epoch_blob (sid, epoch, layer, pos, bid, tokens, images) SELECT ?2, epoch, layer, pos, bid, \
                 tokens, images FROM epoch_blob WHERE sid = ?1 AND epoch <= {of_epoch}"
            ),
            "INSERT INTO request (sid, no, epoch, turn, step, at, last_item, hash, bytes, version, body) SELECT ?2, no, epoch, \
             turn, step, at, last_item, hash, bytes, version, body FROM request WHERE sid = ?1 AND no <= ?3"
                .to_owned(),
            "INSERT INTO request_blob (sid, request, pos, bid, tokens, images) SELECT ?2, request, pos, bid, tokens, images \
             FROM request_blob WHERE sid = ?1 AND request <= ?3"
                .to_owned(),
            "INSERT INTO request_end (sid, no, version, body) SELECT ?2, no, version, body FROM request_end \
             WHERE sid = ?1 AND no <= ?3"
                .to_owned(),
        ] {
            self.execute(&sql, params![from, to, request])?;
        }
        let reader = self.reader();
        let todos = reader.last_todos(from, shared.last, &reader.out_of_view(to)?)?;
        // An undo has a number too, and its record is not shared: nothing of the fork may take it for a call.
        self.execute(
            "UPDATE session SET last_item = ?3, last_request = ?4, last_turn = ?5, todos_item = ?6, \
             last_call = (SELECT coalesce(max(call), 0) FROM item WHERE sid = ?2), \
             last_epoch = (SELECT coalesce(max(no), 0) FROM epoch WHERE sid = ?2), \
             bytes = (SELECT coalesce(sum(length(body)), 0) FROM item WHERE sid = ?2) + \
             (SELECT coalesce(sum(length(body) + length(shown)), 0) FROM projection WHERE sid = ?2) \
             WHERE sid = ?2 AND ?1 IS NOT NULL",
            params![from, to, last, request, shared.turn.0 as i64, todos.0 as i64],
        )?;
        let call = shared.calls.iter().next_back().copied().unwrap_or_default();
        self.share_folders(from, parent, to, call)
    }

    /// What stands in the fork from the beginning beside what was copied: its events, the epoch that goes on with what was
    /// sent, and what the model must know of commands that it cannot reach.
    fn first_batch(&self, shared: &Shared, mode: Mode, at: Timestamp) -> Result<Batch, StoreError> {
        let reader = self.reader();
        let events = Self::events_of(&reader, shared.parent)?;
        let mut batch = Batch { events: fork::events(events, shared.last, shared.turn), ..Batch::default() };
        let mut prompts = Prompts::default();
        let epoch_of = |no: RequestNo| -> Result<_, StoreError> {
            let Some(row) = reader.request(shared.fork, no)? else { return Ok(None) };
            Ok(reader.epoch_by_no(shared.fork, row.epoch)?.map(|(epoch, _)| (row, epoch)))
        };
        let no = read::session(self.connection, self.path, shared.fork)?.counters.epoch.next();
        match reader.base(shared.fork, &reader.out_of_view(shared.fork)?, shared.last.next())? {
            Some(base) => {
                if let Some((row, before)) = epoch_of(base)? {
                    let tokens = reader.tokens_of(shared.fork, base)?;
                    prompts = before.prompts.clone();
                    batch.epoch = Some(fork::epoch(&before, &row, mode, no, at, tokens));
                }
            }
            // Everything that was sent has left the view.
            None => batch.epoch = epoch_of(RequestNo(1))?.map(|(_, first)| fork::empty_epoch(&first, no, at)),
        }
        let ended = |call: CallId| {
            batch.events.iter().any(|event| matches!(&event.body, EventBody::TaskEnded { call: of, .. } if *of == call))
        };
        let operations = reader.operations(shared.parent, false)?;
        let left: Vec<Operation> = operations
            .into_iter()
            .filter(|task| task.background && shared.calls.contains(&task.call) && !ended(task.call))
            .collect();
        if let Some(meta) = fork::left_behind(&left, &prompts) {
            let no = shared.last.next();
            let seq = Seq(batch.events.len() as u64 + 1);
            batch.items.push(Item { no, turn: shared.turn, step: StepNo(0), at, body: ItemBody::Meta(meta) });
            batch.events.push(Event { seq, at, body: EventBody::ItemAdded { item: no } });
        }
        Ok(batch)
    }

    fn events_of(reader: &Reader<'_>, sid: i64) -> Result<Vec<Event>, StoreError> {
        reader.rows("SELECT seq, at, version, body FROM event WHERE sid = ?1 ORDER BY seq", [sid], |row| {
            let (seq, at) = (Seq(read::number(row, 0)?), Timestamp(row.get(1)?));
            let body = reader.record::<EventBody>("event", row.get(2)?, row.get_ref(3)?.as_str()?);
            Ok(body.map(|body| Event { seq, at, body }))
        })
    }

    /// Makes a session of an export, or gives the one that was made with its key.
    pub(super) fn import(&self, import: &(SessionRecord, SessionOrigin, Encoded)) -> Result<Written, StoreError> {
        let (record, origin, encoded) = import;
        if let Some(made) = self.of_key(record.key.as_deref())? {
            return Ok(made);
        }
        self.create(record)?;
        self.execute(
            "UPDATE session SET forked_from = ?2 WHERE id = ?1",
            params![record.id.as_str(), self.json(origin)?],
        )?;
        self.execute("DELETE FROM doomed_folder WHERE id = ?1", [record.id.as_str()])?;
        self.commit(&record.id, encoded)
    }
}
