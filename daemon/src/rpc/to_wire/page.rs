//! Pages of the transcript.

use super::item;
use crate::session::api::TranscriptPage;
use plimsoll_core::transcript::item::{Item, ItemBody};
use plimsoll_protocol::transcript;
use serde::Serialize;

/// A page of the transcript, at most about `bytes` long: `forward` keeps its first items, else its last ones; one item
/// always stays.
pub fn page(page: &TranscriptPage, forward: bool, bytes: usize) -> transcript::Page {
    let projection = |item: &Item| match &item.body {
        ItemBody::ToolResult(result) => page.projections.get(&result.call).map(String::as_str),
        _ => None,
    };
    let mut left = bytes;
    let mut items = Vec::with_capacity(page.items.len());
    let mut keep = |found: &Item| {
        let wire = transcript::Item { out_of_view: page.out.contains(found.no), ..item(found, projection(found)) };
        let length = json_len(&wire);
        let fits = items.is_empty() || length <= left;
        left = left.saturating_sub(length);
        if fits {
            items.push(wire);
        }
        fits
    };
    if forward {
        let _ = page.items.iter().all(&mut keep);
    } else {
        let _ = page.items.iter().rev().all(&mut keep);
        items.reverse();
    }
    transcript::Page { items, last: page.last.0 }
}

/// The length of a value's JSON, without making it.
fn json_len(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        Err(_) => usize::MAX,
    }
}
