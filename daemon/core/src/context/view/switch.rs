//! A compaction of the view: the same head, and behind it the conversation folded anew.

use super::{Opening, View, params, price, wire};
use crate::context::pictures;
use crate::context::size::Size;
use crate::id::{CallId, ItemNo};
use crate::model::catalog::ModelProfile;
use crate::transcript::batch::StoredProjection;
use crate::transcript::epoch::{Epoch, Segment, Stated, Switch, SwitchFacts};
use crate::transcript::item::{Item, ItemBody, MetaCause};
use crate::transcript::shape::Shape;
use crate::transcript::shaped::{is_whole, shaped};
use crate::transcript::told::Told;
use std::collections::{BTreeMap, BTreeSet};

/// The conversation as it is stored, from the first item on that a fold needs.
#[derive(Debug, Clone, Copy)]
pub struct Stock<'a> {
    /// Its items.
    pub items: &'a [Item],
    /// Projections of the results among them.
    pub projections: &'a BTreeMap<CallId, StoredProjection>,
    /// The path of the mirror.
    pub transcript: &'a str,
}

impl View {
    /// What of the history is shown in short now.
    pub fn shape(&self) -> Shape {
        self.epoch.as_ref().map(|epoch| epoch.shape.clone()).unwrap_or_default()
    }

    /// The last item that was sent, or goes out with the next request as a compaction folded it.
    pub fn last_item(&self) -> ItemNo {
        self.last_item
    }

    /// Estimated tokens of the head, uncalibrated: what no compaction can make smaller.
    pub fn head_estimate(&self) -> u64 {
        let head = self.epoch.iter().flat_map(|epoch| epoch.tools.iter().chain(&epoch.system).chain(&epoch.preamble));
        head.map(|segment| segment.tokens).sum()
    }

    /// Estimated tokens of the messages behind the head with this shape, uncalibrated.
    pub fn measure(&self, stock: Stock<'_>, shape: &Shape, model: &ModelProfile) -> u64 {
        self.folded(stock, shape, model).iter().map(|segment| segment.tokens).sum()
    }

    fn folded(&self, stock: Stock<'_>, shape: &Shape, model: &ModelProfile) -> Vec<Segment> {
        let messages = shaped(stock.items, stock.projections, shape, stock.transcript);
        let preamble = self.epoch.as_ref().map(|epoch| epoch.preamble.as_slice()).unwrap_or_default();
        pictures::segments(messages, model, preamble)
    }

    /// Opens an epoch with the present head and the conversation in this shape. What `stock` does not hold yet stays behind it.
    /// None before the session's first epoch. `facts` are those of the compaction but for what only the fold knows.
    pub fn switch(
        &mut self,
        opening: Opening,
        model: &ModelProfile,
        stock: Stock<'_>,
        shape: Shape,
        facts: SwitchFacts,
    ) -> Option<Epoch> {
        let old = self.epoch.take()?;
        let cold = self.is_cold(opening.at, model);
        let behind = self.folded(stock, &shape, model);
        let before = std::mem::take(&mut self.messages);
        self.messages.clone_from(&old.preamble);
        self.messages.extend(behind.iter().cloned());
        let same = before.iter().zip(&self.messages).take_while(|(before, now)| before.hash == now.hash).count();
        self.carried = behind.len();
        self.last_item = stock.items.last().map_or(self.last_item, |item| item.no).max(self.last_item);
        let last_item = self.last_item;
        self.unsent.retain(|item| item.no > last_item);
        self.rerender.clear();
        let unsent = self.unsent.iter().filter_map(|item| match &item.body {
            ItemBody::ToolResult(result) => Some(result.call),
            _ => None,
        });
        let unsent: BTreeSet<CallId> = unsent.collect();
        self.projections.retain(|call, _| unsent.contains(call));
        let said = self.stating.take().unwrap_or_else(|| self.stated.clone());
        self.stated = still_said(said, stock.items, &shape);
        let first_changed = same.saturating_sub(old.preamble.len()) as u64;
        let mut epoch = Epoch {
            no: opening.no,
            cause: opening.cause,
            at: opening.at,
            stated: self.stated.clone(),
            params: Some(params(model)),
            base: None,
            shape,
            switch: None,
            ..old.clone()
        };
        if let Some((_, sent)) = &self.last {
            epoch.price = price(&wire(&old, sent, &before), &wire(&epoch, &params(model), &self.messages), cold);
        }
        epoch.switch = Some(Switch { messages: behind, last_item, facts: SwitchFacts { first_changed, ..facts } });
        self.last_mark = None;
        self.marks.clear();
        self.epoch = Some(epoch.clone());
        self.size = Size::estimated(self.everything_sent());
        Some(epoch)
    }
}

/// What the view still says of what it had said: blocks of items that are in it as they were, and of the head.
fn still_said(said: Stated, items: &[Item], shape: &Shape) -> Stated {
    let whole: BTreeSet<ItemNo> = items.iter().filter(|item| is_whole(item, shape)).map(|item| item.no).collect();
    let first = items.first().map(|item| item.no).unwrap_or_default();
    let last = items.last().map(|item| item.no).unwrap_or_default();
    let mut stated = said;
    // An item that is not among them is out of the view when it is older, and not folded yet when it is newer.
    let gone: Vec<String> = stated
        .said_in
        .iter()
        .filter(|(_, item)| **item < first || **item <= last && !whole.contains(*item))
        .map(|(name, _)| name.clone())
        .collect();
    for name in gone {
        stated.said_in.remove(&name);
        stated.blocks.remove(&name);
    }
    let mut told = Told::default();
    let left: Vec<Item> =
        items.iter().filter(|item| whole.contains(&item.no) && matters(&item.body)).cloned().collect();
    told.take_in(&left);
    stated.told = told;
    stated
}

/// Whether an item counts for what is told again after some turns.
fn matters(body: &ItemBody) -> bool {
    match body {
        ItemBody::User(_) => true,
        ItemBody::Meta(meta) => matches!(
            meta.cause,
            MetaCause::PlanMode | MetaCause::PlanModeStill | MetaCause::PlanModeLeft | MetaCause::TodosStale
        ),
        ItemBody::ToolResult(result) => matches!(result.outcome.body, crate::tool::outcome::Body::Todos(_)),
        _ => false,
    }
}
