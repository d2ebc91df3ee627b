//! What was sent: epochs, requests, and their exact bytes.

use super::StoreError;
use super::encode::{EpochBody, RequestBody as StoredBody, SwitchBody};
use super::read::{Reader, number};
use super::record::{LoadedView, RequestBody, RequestEntry};
use plimsoll_core::id::{EpochNo, ItemNo, RequestNo, StepNo, TurnNo};
use plimsoll_core::model::usage::Usage;
use plimsoll_core::prompt::{Bundle, Prompts};
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_core::transcript::epoch::{
    Epoch, EpochCause, Hash, Price, RequestEnd, RequestRow, Segment, Stated, Switch, request_hash,
};
use rusqlite::{Params, Row, params};
use std::collections::BTreeMap;

pub(super) const REQUEST: &str = "no, epoch, turn, step, at, last_item, hash, bytes, version, body";

/// What an epoch without a request of its own begins with.
#[derive(Default)]
struct Carried {
    messages: Vec<Segment>,
    /// The last item among them, where a compaction made them.
    through: Option<ItemNo>,
    /// The newest request before.
    last_request: Option<RequestRow>,
}

impl Reader<'_> {
    /// Everything that a turn needs to go on.
    pub(super) fn view(&self, sid: i64) -> Result<LoadedView, StoreError> {
        let session = super::read::session(self.connection, self.path, sid)?;
        let epoch = self.epoch_by_no(sid, session.counters.epoch)?;
        let mut messages = Vec::new();
        let mut carried = Vec::new();
        let mut carried_through = None;
        let mut last_request = None;
        let mut from = ItemNo(1);
        if let Some((epoch, after)) = &epoch {
            from = epoch.first_item;
            messages = self.sent(sid, *after, None)?;
            last_request = self.newest_request(sid, *after, None)?;
            if last_request.is_none() {
                Carried { messages: carried, through: carried_through, last_request } =
                    self.carried(sid, epoch, *after)?;
            }
        }
        if let Some(request) = &last_request {
            from = request.last_item.next();
        }
        from = carried_through.map_or(from, |through| from.max(through.next()));
        // What is rendered anew is folded from what its shape does not stand for.
        let items = match &epoch {
            Some((epoch, _)) if last_request.is_none() && carried_through.is_none() => {
                self.shaped_items(sid, from, &epoch.shape)?
            }
            Some(_) | None => self.view_items_at(sid, from, ItemNo(i64::MAX as u64))?,
        };
        let last_end = match &last_request {
            Some(request) => self.request_end(sid, request.no)?,
            None => None,
        };
        let operations = self.operations(sid, true)?;
        let busy = matches!(session.state, SessionState::Running | SessionState::Waiting);
        let (running_turn, waiting_turns) = if busy { self.open_turns(sid)? } else { (None, Vec::new()) };
        Ok(LoadedView {
            usage: self.usage(sid, None)?,
            turn_usage: running_turn.map_or(Ok(Usage::default()), |turn| self.usage(sid, Some(turn)))?,
            running_turn,
            waiting_turns,
            epoch: epoch.map(|(epoch, _)| epoch),
            messages,
            carried,
            carried_through,
            last_request,
            last_end,
            items,
            untold: self.untold(sid, &operations)?,
            operations,
            shown: self.shown(sid)?,
            todos: self.todos(sid)?,
            turn_files: self.turn_files(sid, running_turn)?,
            verification: self.verification(sid)?,
            task: self.task(sid)?,
            before_plan: self.before_plan(sid)?,
            revision: self.revision()?,
            session,
        })
    }

    fn before_plan(&self, sid: i64) -> Result<Option<String>, StoreError> {
        let found = self.rows("SELECT before_plan FROM session WHERE sid = ?1", [sid], |row| Ok(Ok(row.get(0)?)))?;
        Ok(found.into_iter().next().flatten())
    }

    /// What an epoch without a request keeps of the ones before it: their wire is its own. An epoch that goes on with a
    /// request keeps what that one had, and one that a compaction opened what that left.
    fn carried(&self, sid: i64, epoch: &Epoch, until: RequestNo) -> Result<Carried, StoreError> {
        if let Some(base) = epoch.base {
            return self.upto(sid, base);
        }
        if epoch.switch.is_some() {
            return self.switched(sid, epoch, until);
        }
        let mut no = epoch.no;
        let mut cause = epoch.cause;
        while no.0 > 1 && !matches!(cause, EpochCause::Rewind | EpochCause::Fork) {
            no = EpochNo(no.0 - 1);
            let Some((before, after)) = self.epoch_by_no(sid, no)? else { break };
            if !before.has_wire_of(epoch) {
                break;
            }
            let request = self.newest_request(sid, after, Some(until))?;
            if request.is_some() {
                let messages = self.sent(sid, after, Some(until))?;
                return Ok(Carried { messages, through: None, last_request: request });
            }
            if let Some(base) = before.base {
                return self.upto(sid, base);
            }
            if before.switch.is_some() {
                return self.switched(sid, &before, until);
            }
            cause = before.cause;
        }
        Ok(Carried::default())
    }

    /// What a compaction left, with the newest request up to `until`, which was sent before it.
    fn switched(&self, sid: i64, epoch: &Epoch, until: RequestNo) -> Result<Carried, StoreError> {
        let Some(switch) = &epoch.switch else { return Ok(Carried::default()) };
        let last_request = self.newest_request(sid, RequestNo(0), Some(until))?;
        Ok(Carried { messages: switch.messages.clone(), through: Some(switch.last_item), last_request })
    }

    /// A request with its messages behind the head.
    fn upto(&self, sid: i64, no: RequestNo) -> Result<Carried, StoreError> {
        let Some(request) = self.request(sid, no)? else { return Ok(Carried::default()) };
        let after = self.rows(
            "SELECT after_request FROM epoch WHERE sid = ?1 AND no = ?2",
            params![sid, request.epoch.0 as i64],
            |row| Ok(Ok(RequestNo(number(row, 0)?))),
        )?;
        match after.into_iter().next() {
            Some(after) => {
                let messages = self.sent(sid, after, Some(no))?;
                Ok(Carried { messages, through: None, last_request: Some(request) })
            }
            None => Ok(Carried::default()),
        }
    }

    /// The messages of the requests after one, up to another, in order.
    fn sent(&self, sid: i64, after: RequestNo, until: Option<RequestNo>) -> Result<Vec<Segment>, StoreError> {
        self.segments(
            |at| format!("message {at} after the head's"),
            "SELECT b.hash, b.codec, b.len, b.body, r.tokens, r.images FROM request_blob r LEFT JOIN blob b USING (bid) \
             WHERE r.sid = ?1 AND r.request > ?2 AND r.request <= ?3 ORDER BY r.request, r.pos",
            params![sid, after.0 as i64, until.map_or(i64::MAX, |until| until.0 as i64)],
        )
    }

    /// The newest of these requests.
    fn newest_request(
        &self,
        sid: i64,
        after: RequestNo,
        until: Option<RequestNo>,
    ) -> Result<Option<RequestRow>, StoreError> {
        let no = self.rows(
            "SELECT max(no) FROM request WHERE sid = ?1 AND no > ?2 AND no <= ?3",
            params![sid, after.0 as i64, until.map_or(i64::MAX, |until| until.0 as i64)],
            |row| Ok(Ok(row.get::<_, Option<i64>>(0)?)),
        )?;
        match no.into_iter().flatten().next() {
            Some(no) => self.request(sid, RequestNo(no as u64)),
            None => Ok(None),
        }
    }

    /// The texts that a session was made with.
    pub(super) fn made_with(&self, sid: i64) -> Result<Prompts, StoreError> {
        let found = self.rows("SELECT bundle, base_prompt FROM session WHERE sid = ?1", [sid], |row| {
            let word: String = row.get(0)?;
            let bundle = Bundle::of_word(&word).unwrap_or_default();
            Ok(Ok(Prompts { bundle, base: row.get(1)?, ..Prompts::default() }))
        })?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// The texts of a session's present epoch, or those that it was made with.
    pub(super) fn texts(&self, sid: i64) -> Result<Prompts, StoreError> {
        let newest = "SELECT version, body FROM epoch WHERE sid = ?1 ORDER BY no DESC LIMIT 1";
        let body = |row: &Row<'_>| {
            let body: Result<EpochBody, _> = self.record("epoch", row.get(0)?, row.get_ref(1)?.as_str()?);
            Ok(body.map(|body| body.prompts))
        };
        match self.rows(newest, [sid], body)?.into_iter().next() {
            Some(prompts) => Ok(prompts),
            None => self.made_with(sid),
        }
    }

    /// The epoch of that number, and the request before it. None when there is none, or damage took it.
    pub(super) fn epoch_by_no(&self, sid: i64, no: EpochNo) -> Result<Option<(Epoch, RequestNo)>, StoreError> {
        let found = self.rows(
            "SELECT at, first_item, after_request, version, body FROM epoch WHERE sid = ?1 AND no = ?2",
            params![sid, no.0 as i64],
            |row| {
                let body: Result<EpochBody, _> = self.record("epoch", row.get(3)?, row.get_ref(4)?.as_str()?);
                let (at, first, after) = (Timestamp(row.get(0)?), number(row, 1)?, number(row, 2)?);
                Ok(body.map(|body| (at, ItemNo(first), RequestNo(after), body)))
            },
        )?;
        let Some((at, first_item, after, body)) = found.into_iter().next() else { return Ok(None) };
        let layer = |layer: i64| {
            let part = ["tool", "system text", "message of the head", "message behind the head"];
            let part = usize::try_from(layer - 1).ok().and_then(|at| part.get(at)).copied().unwrap_or("segment");
            self.segments(
                |at| format!("{part} {at} of epoch {no}"),
                "SELECT b.hash, b.codec, b.len, b.body, e.tokens, e.images FROM epoch_blob e LEFT JOIN blob b USING (bid) \
                 WHERE e.sid = ?1 AND e.epoch = ?2 AND e.layer = ?3 ORDER BY e.pos",
                params![sid, no.0 as i64, layer],
            )
        };
        let switch = match body.switch {
            Some(SwitchBody { last_item, facts }) => Some(Switch { messages: layer(4)?, last_item, facts }),
            None => None,
        };
        let epoch = Epoch {
            no,
            cause: body.cause,
            at,
            api: body.api,
            model: body.model,
            tools: layer(1)?,
            system: layer(2)?,
            preamble: layer(3)?,
            prompts: body.prompts,
            stated: Stated { told: body.told, ..self.stated(&body.stated, body.said_in)? },
            first_item,
            params: body.params,
            tool_facts: body.tool_facts,
            price: body.price,
            base: body.base,
            shape: body.shape,
            switch,
        };
        Ok(Some((epoch, after)))
    }

    /// Segments of a query over `hash, codec, len, body, tokens, images`; each is compared with its hash. `place` names the
    /// one at this position, counted from 1, for the error that it cannot be had as it was sent.
    pub(super) fn segments(
        &self,
        place: impl Fn(usize) -> String,
        sql: &str,
        params: impl Params,
    ) -> Result<Vec<Segment>, StoreError> {
        let mut count = 0;
        self.rows(sql, params, |row| {
            count += 1;
            let damaged = |what: &str| self.damaged(format!("{} {what}", place(count)));
            let Some(hash) = row.get::<_, Option<Hash>>(0)? else {
                return Ok(Err(damaged("is missing")));
            };
            let (tokens, images): (Option<i64>, u32) = (row.get(4)?, row.get(5)?);
            let Ok(text) = self.text(row, 1)? else {
                return Ok(Err(damaged("cannot be unpacked")));
            };
            let segment = match tokens {
                Some(tokens) => Segment::counted(text, tokens as u64, images),
                None => Segment::new(text),
            };
            Ok(if segment.hash == hash { Ok(segment) } else { Err(damaged("has another hash than it was sent with")) })
        })
    }

    fn stated(&self, blocks: &BTreeMap<String, i64>, said_in: BTreeMap<String, ItemNo>) -> Result<Stated, StoreError> {
        let mut stated = Stated { said_in, ..Stated::default() };
        for (name, bid) in blocks {
            let place = |_| format!("the text of the stated block `{name}`");
            let found = self.segments(place, "SELECT hash, codec, len, body, 0, 0 FROM blob WHERE bid = ?1", [bid])?;
            let Some(segment) = found.into_iter().next() else {
                return Err(self.damaged(format!("the text of the stated block `{name}` is missing")));
            };
            stated.blocks.insert(name.clone(), segment.text.to_string());
        }
        Ok(stated)
    }

    pub(super) fn request_row(&self, sid: i64, row: &Row<'_>) -> rusqlite::Result<Result<RequestRow, StoreError>> {
        let no = RequestNo(number(row, 0)?);
        let (epoch, turn, step) = (EpochNo(number(row, 1)?), TurnNo(number(row, 2)?), StepNo(number(row, 3)?));
        let (at, last_item, hash) = (Timestamp(row.get(4)?), ItemNo(number(row, 5)?), row.get::<_, Hash>(6)?);
        let (bytes, version, json) = (number(row, 7)?, row.get(8)?, row.get_ref(9)?.as_str()?);
        let made = self.record::<StoredBody>("request", version, json).and_then(|body| {
            let tail = self.segments(
                |at| format!("message {at} of request {no}"),
                "SELECT b.hash, b.codec, b.len, b.body, r.tokens, r.images FROM request_blob r LEFT JOIN blob b USING (bid) \
                 WHERE r.sid = ?1 AND r.request = ?2 ORDER BY r.pos",
                params![sid, no.0 as i64],
            )?;
            let stated = Stated { told: body.told, ..self.stated(&body.stated, body.said_in)? };
            let StoredBody { params, marks, codec, .. } = body;
            Ok(RequestRow { no, epoch, turn, step, at, last_item, params, tail, marks, hash, bytes, stated, codec })
        });
        Ok(made)
    }

    pub(super) fn request(&self, sid: i64, no: RequestNo) -> Result<Option<RequestRow>, StoreError> {
        let sql = format!("SELECT {REQUEST} FROM request WHERE sid = ?1 AND no = ?2");
        let found = self.rows(&sql, params![sid, no.0 as i64], |row| self.request_row(sid, row))?;
        Ok(found.into_iter().next())
    }

    /// What an epoch kept and gave up of the provider's cache; none when there is no such epoch.
    pub(super) fn epoch_price(&self, sid: i64, no: EpochNo) -> Result<Option<Price>, StoreError> {
        let sql = "SELECT version, body FROM epoch WHERE sid = ?1 AND no = ?2";
        let found = self.rows(sql, params![sid, no.0 as i64], |row| {
            let body: Result<EpochBody, _> = self.record("epoch", row.get(0)?, row.get_ref(1)?.as_str()?);
            Ok(body.map(|body| body.price))
        })?;
        Ok(found.into_iter().next())
    }

    /// Tokens that were reported for the session's own requests, those beside the conversation included, or for those of one
    /// turn: what a fork shares was paid for by the other session.
    fn usage(&self, sid: i64, turn: Option<TurnNo>) -> Result<Usage, StoreError> {
        let of_turn = if turn.is_some() {
            " AND no IN (SELECT no FROM request WHERE sid = ?1 AND turn = ?2)"
        } else {
            " AND ?2 = 0 AND no > (SELECT coalesce(json_extract(forked_from, '$.request'), 0) FROM session WHERE sid = ?1)"
        };
        let own = self.reported(
            &format!("request_end WHERE sid = ?1{of_turn}"),
            params![sid, turn.unwrap_or_default().0 as i64],
        )?;
        Ok(if turn.is_some() { own } else { own.plus(self.side_usage(sid)?) })
    }

    /// The sum of what was reported in these rows of ends.
    pub(super) fn reported(&self, rows: &str, params: impl Params) -> Result<Usage, StoreError> {
        let sum = |name: &str| format!("coalesce(sum(json_extract(body, '$.usage.{name}')), 0)");
        let (input, read) = (sum("input"), sum("cache_read"));
        let sql = format!("SELECT {input}, {read}, {}, {} FROM {rows}", sum("cache_write"), sum("output"));
        let found = self.rows(&sql, params, |row| {
            let (input, cache_read) = (number(row, 0)?, number(row, 1)?);
            Ok(Ok(Usage { input, cache_read, cache_write: number(row, 2)?, output: number(row, 3)? }))
        })?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    pub(super) fn request_end(&self, sid: i64, no: RequestNo) -> Result<Option<RequestEnd>, StoreError> {
        let sql = "SELECT version, body FROM request_end WHERE sid = ?1 AND no = ?2";
        let found = self.rows(sql, params![sid, no.0 as i64], |row| {
            Ok(self.record("request_end", row.get(0)?, row.get_ref(1)?.as_str()?))
        })?;
        Ok(found.into_iter().next())
    }

    /// Every request of a session, oldest first.
    pub(super) fn requests(&self, sid: i64) -> Result<Vec<RequestEntry>, StoreError> {
        let sql = format!("SELECT {REQUEST} FROM request WHERE sid = ?1 ORDER BY no");
        let requests = self.rows(&sql, [sid], |row| self.request_row(sid, row))?;
        requests
            .into_iter()
            .map(|request| Ok(RequestEntry { end: self.request_end(sid, request.no)?, request }))
            .collect()
    }

    /// The exact segments of one request.
    pub(super) fn request_body(&self, sid: i64, no: RequestNo) -> Result<RequestBody, StoreError> {
        let missing = |what, id: String| StoreError::NotFound { what, id };
        let request = self.request(sid, no)?.ok_or_else(|| missing("request", no.to_string()))?;
        let (epoch, after) =
            self.epoch_by_no(sid, request.epoch)?.ok_or_else(|| missing("epoch", request.epoch.to_string()))?;
        let tails = self.sent(sid, after, Some(no))?;
        let messages: Vec<Segment> = epoch.preamble.iter().cloned().chain(tails).collect();
        let all = epoch.tools.iter().chain(&epoch.system).chain(&messages);
        if request_hash(&request.params, all) != request.hash {
            let why = "its segments are whole, so one is missing, too many or in another's place";
            return Err(self.damaged(format!("request {no} does not have the hash that it was sent with: {why}")));
        }
        Ok(RequestBody { request, epoch, messages })
    }
}
