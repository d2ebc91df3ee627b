//! Requests that were sent, as the wire has them.

use super::context::{ranges, word};
use crate::session::inspect::{
    Break, Checked, Kept, Listed, ProjectionStats, RequestDetail, RequestPage, SegmentDetail, SideDetail, SideListed,
    Total,
};
use plimsoll_core::context::explain::{Difference, Differs};
use plimsoll_core::transcript::epoch::Hash;
use plimsoll_protocol::request as wire;
use std::fmt::Write as _;

pub fn page(page: &RequestPage) -> wire::ListResult {
    wire::ListResult {
        requests: page.requests.iter().map(info).collect(),
        side: page.side.iter().map(side).collect(),
        next_before: page.next_before.map(|no| no.0),
        total: total(&page.total),
    }
}

fn total(total: &Total) -> wire::Total {
    wire::Total {
        requests: total.requests,
        bytes: total.bytes,
        usage: super::usage(total.usage),
        cached_expected: total.cached_expected,
        breaks: total.breaks,
        side: total.side.as_ref().map(|side| wire::SideTotal {
            requests: side.requests,
            bytes: side.bytes,
            usage: super::usage(side.usage),
            cost: side.cost,
        }),
        cost: total.cost.as_ref().map(|(cost, _)| *cost),
        price_as_of: total.cost.as_ref().map(|(_, as_of)| as_of.clone()),
    }
}

fn info(one: &Listed) -> wire::RequestInfo {
    wire::RequestInfo {
        request: one.no.0,
        turn: one.turn.0,
        step: one.step.0,
        at: one.at.0,
        epoch: one.epoch.0,
        model: one.model.clone(),
        last_item: one.last_item.0,
        bytes: one.bytes,
        tokens: one.tokens,
        usage: one.usage.map(super::usage),
        cached_expected: one.cached_expected,
        kept: one.kept.map(kept),
        broke: one.broke.map(broke),
        cost: one.cost.as_ref().map(|(cost, _)| *cost),
        error: one.error.clone(),
        damaged: one.damaged.clone(),
    }
}

fn side(one: &SideListed) -> wire::SideInfo {
    let SideListed { entry, cost } = one;
    wire::SideInfo {
        side: entry.no.0,
        purpose: word(&entry.purpose),
        at: entry.at.0,
        epoch: entry.epoch.0,
        last_item: entry.last_item.0,
        base: entry.base.map(|base| base.0),
        model: entry.params.model.clone(),
        bytes: entry.bytes,
        tokens: entry.tokens,
        usage: entry.end.as_ref().and_then(|end| end.usage).map(super::usage),
        cost: *cost,
        error: entry.end.as_ref().and_then(|end| end.error.clone()),
    }
}

pub fn side_detail(detail: &SideDetail) -> wire::GetResult {
    wire::GetResult {
        info: None,
        side: Some(side(&detail.listed)),
        answer: detail.listed.entry.end.as_ref().map(|end| end.text.clone()),
        hash: hex(&detail.hash),
        segments: detail.segments.iter().map(segment).collect(),
        check: None,
    }
}

fn kept(kept: Kept) -> wire::Kept {
    let Kept { segments, bytes, tokens, of_tokens } = kept;
    wire::Kept { segments: segments as u64, bytes, tokens, of_tokens }
}

fn broke(broke: Break) -> wire::Break {
    wire::Break {
        layer: broke.layer.number(),
        name: broke.layer.name().to_owned(),
        cause: word(&broke.cause),
        lost_tokens: broke.lost_tokens,
    }
}

pub fn detail(detail: &RequestDetail) -> wire::GetResult {
    wire::GetResult {
        info: Some(info(&detail.listed)),
        side: None,
        answer: None,
        hash: hex(&detail.hash),
        segments: detail.segments.iter().map(segment).collect(),
        check: detail.checked.as_ref().map(check),
    }
}

fn segment(segment: &SegmentDetail) -> wire::SegmentInfo {
    wire::SegmentInfo {
        layer: segment.layer.number(),
        hash: hex(&segment.hash),
        chain: hex(&segment.chain),
        bytes: segment.bytes,
        tokens: segment.tokens,
        marked: segment.marked,
        items: ranges(segment.items.iter().copied()),
    }
}

fn check(checked: &Checked) -> wire::Check {
    wire::Check {
        messages: checked.messages as u64,
        older: checked.older as u64,
        differences: checked.differences.iter().map(difference).collect(),
    }
}

fn difference(difference: &Difference) -> wire::Difference {
    let what = match difference.what {
        Differs::From(byte) => format!("from its byte {byte} on it would be another"),
        Differs::NotMade => "it was sent and would not be made".to_owned(),
        Differs::NotSent => "it would be made and was not sent".to_owned(),
    };
    let items = ranges(difference.items.iter().copied());
    wire::Difference { message: difference.message as u64 + 1, items, what }
}

pub fn projection(stats: &ProjectionStats) -> wire::ProjectionInfo {
    wire::ProjectionInfo {
        model: stats.model.clone(),
        tool: stats.tool.clone(),
        results: stats.projections,
        partial: stats.partial,
        continued: stats.continued,
        tokens: stats.tokens,
        saved: stats.saved,
        continuations: stats.continuations,
        with_new: stats.with_new,
        reread: stats.reread,
        repeated: stats.repeated,
    }
}

fn hex(hash: &Hash) -> String {
    hash.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
