//! An epoch that goes on with an earlier request as it was sent: of a fork, and of a conversation that went back.

use super::view::with_places;
use crate::id::{EpochNo, ItemNo};
use crate::time::Timestamp;
use crate::transcript::epoch::{Epoch, EpochCause, Price, RequestRow};

/// The epoch that begins with the head of `before` and goes on with everything up to `base`, a request of it, so that its
/// first request begins with that one, byte for byte. `tokens` are those of `base`, estimated: all of them are kept.
pub fn reopened(
    before: &Epoch,
    base: &RequestRow,
    cause: EpochCause,
    no: EpochNo,
    at: Timestamp,
    tokens: u64,
) -> Epoch {
    Epoch {
        no,
        cause,
        at,
        stated: with_places(base.stated.clone(), &before.stated, base.last_item),
        params: Some(before.params.clone().unwrap_or_else(|| base.params.clone())),
        price: Price { kept: tokens, given_up: 0 },
        base: Some(base.no),
        switch: None,
        ..before.clone()
    }
}

/// The epoch that begins with the head of the session's first request and with nothing behind it.
pub fn begun_anew(first: &Epoch, cause: EpochCause, no: EpochNo, at: Timestamp) -> Epoch {
    let head = first.tools.iter().chain(&first.system).chain(&first.preamble);
    let kept = head.map(|segment| segment.tokens).sum();
    Epoch {
        no,
        cause,
        at,
        first_item: ItemNo(1),
        price: Price { kept, given_up: 0 },
        base: None,
        switch: None,
        ..first.clone()
    }
}
