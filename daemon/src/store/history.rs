//! What a compaction works on, and what a view is folded from since one: only the items that it needs.

use super::encode::EpochBody;
use super::read::{ITEM, Reader, number};
use super::record::ViewItem;
use super::{ProjectStore, StoreError};
use plimsoll_core::compaction::history::{History, Said};
use plimsoll_core::id::{EpochNo, ItemNo, SessionId, TurnNo};
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::epoch::SwitchFacts;
use plimsoll_core::transcript::item::{Item, ItemBody};
use plimsoll_core::transcript::rewound::OutOfView;
use plimsoll_core::transcript::shape::Shape;
use rusqlite::{Row, params};

/// The tool whose results can be images, which a view holds whole.
const SHOWS_IMAGES: &str = "read_file";

/// What the newest compaction of a session did.
#[derive(Debug, Clone, PartialEq)]
pub struct LastSwitch {
    /// The epoch that it opened.
    pub epoch: EpochNo,
    /// When.
    pub at: Timestamp,
    /// What it did.
    pub facts: SwitchFacts,
    /// Tokens in the provider's cache that were of no use any more.
    pub given_up: u64,
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of a type with a lifetime is not general enough"
)]
impl ProjectStore {
    /// What the newest compaction did; none where there was none.
    pub async fn last_switch(&self, id: &SessionId) -> Result<Option<LastSwitch>, StoreError> {
        self.read(id, |reader, sid| reader.last_switch(sid)).await
    }

    /// The items of the view from `from` on with their projections, and everything that the user said in it. Of results
    /// that lie in files only images are read. `transcript` is left empty. An error names the item that cannot be read.
    pub async fn history(&self, id: &SessionId, from: ItemNo) -> Result<History, StoreError> {
        self.read(id, move |reader, sid| reader.history(sid, from)).await
    }

    /// The items that a view of this shape is folded from, results with their projections.
    pub async fn shaped_items(
        &self,
        id: &SessionId,
        first: ItemNo,
        shape: &Shape,
    ) -> Result<Vec<ViewItem>, StoreError> {
        let shape = shape.clone();
        self.read(id, move |reader, sid| reader.shaped_items(sid, first, &shape)).await
    }
}

impl Reader<'_> {
    fn last_switch(&self, sid: i64) -> Result<Option<LastSwitch>, StoreError> {
        let sql = "SELECT no, at, version, body FROM epoch WHERE sid = ?1 AND json_extract(body, '$.switch') IS NOT NULL \
                   ORDER BY no DESC LIMIT 1";
        let found = self.rows(sql, [sid], |row| {
            let (epoch, at) = (EpochNo(number(row, 0)?), Timestamp(row.get(1)?));
            let body: Result<EpochBody, _> = self.record("epoch", row.get(2)?, row.get_ref(3)?.as_str()?);
            Ok(body.map(|body| {
                let given_up = body.price.given_up;
                body.switch.map(|switch| LastSwitch { epoch, at, facts: switch.facts, given_up })
            }))
        })?;
        Ok(found.into_iter().next().flatten())
    }

    /// What the session's newest epoch shows in short.
    pub(super) fn present_shape(&self, sid: i64) -> Result<Shape, StoreError> {
        let sql = "SELECT version, body FROM epoch WHERE sid = ?1 ORDER BY no DESC LIMIT 1";
        let found = self.rows(sql, [sid], |row| {
            let body: Result<EpochBody, _> = self.record("epoch", row.get(0)?, row.get_ref(1)?.as_str()?);
            Ok(body.map(|body| body.shape))
        })?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    fn history(&self, sid: i64, from: ItemNo) -> Result<History, StoreError> {
        let out = self.out_of_view(sid)?;
        let mut history = History::default();
        let sql = format!("SELECT {ITEM} FROM item WHERE sid = ?1 AND no >= ?2 ORDER BY no");
        let items = self.rows(&sql, params![sid, from.0 as i64], |row| self.item_in_short(row, &out))?;
        for item in items.into_iter().flatten() {
            if let ItemBody::ToolResult(result) = &item.body
                && let Some(shown) = self.projection(sid, result.call)?
            {
                history.projections.insert(result.call, shown);
            }
            history.items.push(item);
        }
        let sql = format!("SELECT {ITEM} FROM item WHERE sid = ?1 AND kind = 'user' ORDER BY no");
        let said = self.rows(&sql, [sid], |row| self.item_in_short(row, &out))?;
        history.said = said.into_iter().flatten().filter_map(|item| Said::of(&item)).collect();
        Ok(history)
    }

    /// An item of the view; a result that lies in a file is as its row has it, but for images. None when it is out of the
    /// view.
    fn item_in_short(&self, row: &Row<'_>, out: &OutOfView) -> rusqlite::Result<Result<Option<Item>, StoreError>> {
        let no = ItemNo(number(row, 0)?);
        if out.contains(no) {
            return Ok(Ok(None));
        }
        let item = match self.item_of_row(row)? {
            Ok(item) if may_be_image(&item) && row.get_ref(9)? != rusqlite::types::ValueRef::Null => {
                self.item_row(row)?
            }
            other => other,
        };
        Ok(item.map(Some).map_err(|error| self.damaged(format!("item {no} cannot be read: {error}"))))
    }

    /// The items that a view of this shape is folded from: those after what its summary stands for, and of a turn that was
    /// parted there what the user said before.
    pub(super) fn shaped_items(&self, sid: i64, first: ItemNo, shape: &Shape) -> Result<Vec<ViewItem>, StoreError> {
        let last = ItemNo(i64::MAX as u64);
        let Some(summary) = &shape.summary else { return self.view_items_at(sid, first, last) };
        let mut items = Vec::new();
        if summary.through.step.is_some() {
            items = self.said_in(sid, summary.through.turn, first, summary.last_item)?;
        }
        items.extend(self.view_items_at(sid, first.max(summary.last_item.next()), last)?);
        Ok(items)
    }

    /// What the user said in a turn, of the items from `first` to `last`.
    fn said_in(&self, sid: i64, turn: TurnNo, first: ItemNo, last: ItemNo) -> Result<Vec<ViewItem>, StoreError> {
        let out = self.out_of_view(sid)?;
        let sql = format!(
            "SELECT {ITEM} FROM item WHERE sid = ?1 AND no BETWEEN ?2 AND ?3 AND turn = ?4 AND kind = 'user' ORDER BY no"
        );
        let params = params![sid, first.0 as i64, last.0 as i64, turn.0 as i64];
        let items = self.rows(&sql, params, |row| self.item_row(row))?;
        let seen = items.into_iter().filter(|item| !out.contains(item.no));
        Ok(seen.map(|item| ViewItem { item, projection: None }).collect())
    }
}

fn may_be_image(item: &Item) -> bool {
    matches!(&item.body, ItemBody::ToolResult(result) if result.tool == SHOWS_IMAGES)
}
