//! What of a session is out of the view, as SQL: everything that is folded from items leaves it out.

use super::StoreError;
use super::read::{Reader, number};
use super::record::ViewItem;
use plimsoll_core::event::EventBody;
use plimsoll_core::id::{CallId, ItemNo, RequestNo, StepNo, TurnNo};
use plimsoll_core::ledger::Operation;
use plimsoll_core::tool::outcome::{Body, Todo};
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_core::transcript::codec;
use plimsoll_core::transcript::item::{ItemBody, MetaMessage};
use plimsoll_core::transcript::rewound::OutOfView;
use plimsoll_core::transcript::settled::{Part, Place, settled_end};
use plimsoll_core::turn::rewind::{self, Point};
use rusqlite::params;
use std::collections::BTreeSet;

impl Reader<'_> {
    /// Which items are out of the view.
    pub(super) fn out_of_view(&self, sid: i64) -> Result<OutOfView, StoreError> {
        self.out_of_view_at(sid, ItemNo(u64::MAX))
    }

    /// Which items were out of the view when this was the last one.
    fn out_of_view_at(&self, sid: i64, last: ItemNo) -> Result<OutOfView, StoreError> {
        let rewinds = self.rows(
            "SELECT no, version, codec, len, body FROM item INDEXED BY item_rewind \
             WHERE sid = ?1 AND kind = 'rewind' ORDER BY no",
            [sid],
            |row| {
                let (no, version) = (ItemNo(number(row, 0)?), row.get(1)?);
                Ok(self.text(row, 2)?.and_then(|json| {
                    let body = codec::decode("rewind", version, &json);
                    match body.map_err(|source| StoreError::Codec { path: self.path.to_owned(), source })? {
                        ItemBody::Rewind(rewind) => Ok((no, rewind.from)),
                        _ => Err(self.damaged(format!("item {no} is no rewind"))),
                    }
                }))
            },
        )?;
        Ok(OutOfView::of(rewinds.into_iter().filter(|(no, _)| *no <= last)))
    }

    /// The items of the view from `from` on, as it was when `last` was the last one, results with their projections.
    pub(super) fn view_items_at(&self, sid: i64, from: ItemNo, last: ItemNo) -> Result<Vec<ViewItem>, StoreError> {
        let out = self.out_of_view_at(sid, last)?;
        let count = usize::try_from(last.0.saturating_sub(from.0).saturating_add(1)).unwrap_or(usize::MAX);
        let items = self.items_after(sid, ItemNo(from.0.saturating_sub(1)), count.min(i64::MAX as usize))?;
        let seen = items.into_iter().filter(|item| item.no <= last && !out.contains(item.no));
        seen.map(|item| self.with_projection(sid, item)).collect()
    }

    /// Places of projections, by their row, whose results are out of the view.
    pub(super) fn projections_out_of_view(&self, sid: i64, out: &OutOfView) -> Result<BTreeSet<i64>, StoreError> {
        let mut gone = BTreeSet::new();
        for (first, last) in out.ranges() {
            gone.extend(self.rows(
                "SELECT p.rid FROM item i JOIN projection p ON p.sid = i.sid AND p.call = i.call \
                 WHERE i.sid = ?1 AND i.no BETWEEN ?2 AND ?3 AND i.kind = 'tool_result'",
                params![sid, first.0 as i64, last.0 as i64],
                |row| Ok(Ok(row.get::<_, i64>(0)?)),
            )?);
        }
        Ok(gone)
    }

    /// Operations in the background whose calls are out of the view.
    pub(super) fn untold(&self, sid: i64, operations: &[Operation]) -> Result<Vec<CallId>, StoreError> {
        let out = self.out_of_view(sid)?;
        let mut untold = Vec::new();
        for operation in operations.iter().filter(|operation| operation.in_background()) {
            let result = self.result(sid, operation.call)?;
            if result.is_some_and(|item| out.contains(item.no)) {
                untold.push(operation.call);
            }
        }
        Ok(untold)
    }

    /// The todo list that the view wrote last.
    pub(super) fn todos(&self, sid: i64) -> Result<Vec<Todo>, StoreError> {
        let no = self
            .connection
            .query_row("SELECT todos_item FROM session WHERE sid = ?1", [sid], |row| number(row, 0))
            .map_err(|source| self.error(source))?;
        let out = self.out_of_view(sid)?;
        if !out.contains(ItemNo(no)) {
            return self.todos_of(sid, ItemNo(no));
        }
        let no = self.last_todos(sid, ItemNo(u64::MAX), &out)?;
        self.todos_of(sid, no)
    }

    fn todos_of(&self, sid: i64, no: ItemNo) -> Result<Vec<Todo>, StoreError> {
        Ok(match self.item(sid, no)?.map(|item| item.body) {
            Some(ItemBody::ToolResult(result)) => match result.outcome.body {
                Body::Todos(todos) => todos,
                _ => Vec::new(),
            },
            Some(_) | None => Vec::new(),
        })
    }

    /// The last item of the view, up to `upto`, that holds a todo list; 0 when none does.
    pub(super) fn last_todos(&self, sid: i64, upto: ItemNo, out: &OutOfView) -> Result<ItemNo, StoreError> {
        let changes: Vec<EventBody> = self.rows(
            "SELECT version, body FROM event WHERE sid = ?1 AND body LIKE '{\"type\":\"plan\\_changed%' ESCAPE '\\' \
             ORDER BY seq DESC",
            [sid],
            |row| Ok(self.record("event", row.get(0)?, row.get_ref(1)?.as_str()?)),
        )?;
        for change in changes {
            let EventBody::PlanChanged { call } = change else { continue };
            if let Some(item) = self.result(sid, call)?
                && item.no <= upto
                && !out.contains(item.no)
            {
                return Ok(item.no);
            }
        }
        Ok(ItemNo(0))
    }

    /// What decides where the transcript may be cut, of every item.
    pub(super) fn places(&self, sid: i64) -> Result<Vec<Place>, StoreError> {
        self.rows("SELECT no, turn, step, kind, call FROM item WHERE sid = ?1 ORDER BY no", [sid], |row| {
            let step = StepNo(number(row, 2)?);
            let call = CallId(row.get::<_, Option<i64>>(4)?.unwrap_or_default().max(0) as u64);
            let part = match row.get_ref(3)?.as_str()? {
                "assistant" | "reasoning" => Part::Answer,
                "tool_call" => Part::Call(call),
                "tool_result" => Part::Result(call),
                "observation" => Part::Observation,
                "user" if step == StepNo(0) => Part::Prompt,
                _ => Part::Other,
            };
            Ok(Ok(Place { no: ItemNo(number(row, 0)?), turn: TurnNo(number(row, 1)?), step, part }))
        })
    }

    /// The last settled end at or before an item.
    pub(super) fn settled_end(&self, sid: i64, until: ItemNo) -> Result<ItemNo, StoreError> {
        let session = super::read::session(self.connection, self.path, sid)?;
        let busy = matches!(session.state, SessionState::Running | SessionState::Waiting);
        let running = if busy { self.open_turns(sid)?.0 } else { None };
        Ok(settled_end(&self.places(sid)?, until, running))
    }

    /// The newest request that holds nothing from `before` on, and of which nothing is out of the view.
    pub(super) fn base(&self, sid: i64, out: &OutOfView, before: ItemNo) -> Result<Option<RequestNo>, StoreError> {
        let rows = self.rows(
            "SELECT no, last_item FROM request WHERE sid = ?1 AND last_item < ?2 ORDER BY no DESC",
            params![sid, i64::try_from(before.0).unwrap_or(i64::MAX)],
            |row| Ok(Ok((RequestNo(number(row, 0)?), ItemNo(number(row, 1)?)))),
        )?;
        Ok(rows.into_iter().find(|(_, last)| !out.contains(*last)).map(|(no, _)| no))
    }

    /// Estimated tokens of a whole request, its head included.
    pub(super) fn tokens_of(&self, sid: i64, no: RequestNo) -> Result<u64, StoreError> {
        let sum = self.connection.query_row(
            "SELECT coalesce((SELECT sum(tokens) FROM epoch_blob WHERE sid = ?1 AND epoch = r.epoch AND layer < 4), 0) + \
             coalesce((SELECT sum(b.tokens) FROM request_blob b JOIN request o ON o.sid = b.sid AND o.no = b.request \
             WHERE b.sid = ?1 AND o.epoch = r.epoch AND o.no <= ?2), 0) FROM request r WHERE r.sid = ?1 AND r.no = ?2",
            params![sid, no.0 as i64],
            |row| number(row, 0),
        );
        sum.map_err(|source| self.error(source))
    }

    /// Where the conversation stands before a turn; none when the view holds nothing of it.
    pub(super) fn point_before(&self, sid: i64, turn: TurnNo) -> Result<Option<Point>, StoreError> {
        let (places, out) = (self.places(sid)?, self.out_of_view(sid)?);
        let Some(from) = rewind::first_item(&places, &out, turn) else { return Ok(None) };
        let base = match self.base(sid, &out, from)? {
            None => None,
            Some(no) => match self.request(sid, no)? {
                None => None,
                Some(row) => {
                    let tokens = self.tokens_of(sid, no)?;
                    self.epoch_by_no(sid, row.epoch)?.map(|(epoch, _)| (row, epoch, tokens))
                }
            },
        };
        let first = match self.request(sid, RequestNo(1))? {
            Some(row) if base.is_none() => self.epoch_by_no(sid, row.epoch)?.map(|(epoch, _)| epoch),
            Some(_) | None => None,
        };
        let leaving = self.metas_from(sid, from, &out)?;
        let again = rewind::told_again(&leaving, &rewind::calls_that_stay(&places, &out, from), turn);
        Ok(Some(Point { turn, from, base, first, again }))
    }

    /// The messages of Plimsoll's own in the view, from an item on.
    fn metas_from(&self, sid: i64, from: ItemNo, out: &OutOfView) -> Result<Vec<MetaMessage>, StoreError> {
        let items = self.rows(
            &format!(
                "SELECT {} FROM item WHERE sid = ?1 AND no >= ?2 AND kind = 'meta' ORDER BY no",
                super::read::ITEM
            ),
            params![sid, from.0 as i64],
            |row| self.item_row(row),
        )?;
        let seen = items.into_iter().filter(|item| !out.contains(item.no));
        Ok(seen.filter_map(|item| if let ItemBody::Meta(meta) = item.body { Some(meta) } else { None }).collect())
    }
}
