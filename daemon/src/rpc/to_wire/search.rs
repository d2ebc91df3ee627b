//! What was found in the store, and what was made anew.

use super::super::from_wire::search::wire_kind;
use crate::session::api::{Damage, Rebuilt, SearchHit, SearchPage};
use plimsoll_core::id::SessionId;
use plimsoll_protocol::daemon::Damaged;
use plimsoll_protocol::transcript::{Hit, RebuildResult, SearchResult, Skipped};

pub fn page(page: SearchPage) -> SearchResult {
    SearchResult {
        hits: page.hits.into_iter().map(hit).collect(),
        next_cursor: page.next,
        searched: page.searched,
        skipped: page
            .skipped
            .into_iter()
            .map(|(project, reason)| Skipped { project: project.to_string(), reason })
            .collect(),
    }
}

fn hit(found: SearchHit) -> Hit {
    let hit = found.hit;
    Hit {
        session: found.session.to_string(),
        title: found.title,
        item: hit.item.0,
        turn: hit.turn.0,
        kind: wire_kind(hit.kind).to_owned(),
        at: hit.at.0,
        ranges: hit.found.ranges.iter().map(|range| [range.start as u64, range.end as u64]).collect(),
        text: hit.found.text,
    }
}

pub fn rebuilt(session: &SessionId, rebuilt: &Rebuilt) -> RebuildResult {
    RebuildResult {
        session: session.to_string(),
        path: super::path(&rebuilt.path),
        items: rebuilt.state.items.0,
        bytes: rebuilt.state.bytes,
        restored: rebuilt.state.restored,
        lost: rebuilt.state.lost,
    }
}

pub fn damaged(damage: &Damage) -> Damaged {
    Damaged { kept: super::path(&damage.kept), detail: damage.detail.clone() }
}
