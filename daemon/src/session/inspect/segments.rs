//! A request's segments as they are shown.

use super::value::SegmentDetail;
use plimsoll_core::context::cache::entries;
use plimsoll_core::context::compare::Wire;
use plimsoll_core::id::ItemNo;
use plimsoll_core::model::request::Api;
use plimsoll_core::transcript::epoch::{chain, request_hash};

/// Each segment with its layer, the hash of all up to it, and whether the provider was asked to keep the prefix that ends
/// there. `items` gives the items that the segment at a place, counted from the first, was made of.
pub(super) fn segments(
    wire: &Wire<'_>,
    api: Api,
    marks: &[u32],
    items: impl Fn(usize) -> Vec<ItemNo>,
) -> Vec<SegmentDetail> {
    let marked = match api {
        Api::AnthropicMessages => entries(wire, marks),
        Api::OpenaiChat | Api::Offline => Vec::new(),
    };
    let mut so_far = request_hash(wire.params, []);
    let all = wire.layers().into_iter().enumerate();
    all.map(|(at, (layer, segment))| {
        so_far = chain(&so_far, &segment.hash);
        SegmentDetail {
            layer,
            hash: segment.hash,
            chain: so_far,
            bytes: segment.text.len() as u64,
            tokens: segment.tokens,
            marked: marked.contains(&(at + 1)),
            items: items(at),
        }
    })
    .collect()
}
