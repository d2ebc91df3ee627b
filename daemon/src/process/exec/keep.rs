//! The beginning and the end of an output, in bounded memory, and how much is between them.

use crate::process::frame::Totals;
use plimsoll_core::ingest::command::line_feeds;
use std::collections::VecDeque;

/// How much of the beginning is kept, in bytes; of the end as much again. Together the size up to which a result is kept
/// whole.
pub const HALF: usize = 512 * 1024;

/// See the module's head.
#[derive(Debug, Default)]
pub struct Keep {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    totals: Totals,
}

impl Keep {
    /// Adds what was printed next.
    pub fn push(&mut self, bytes: &[u8]) {
        self.totals.bytes += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(HALF - self.head.len().min(HALF)));
        self.head.extend_from_slice(first);
        // Of a piece longer than the tail only its end can stay.
        let (passing, staying) = rest.split_at(rest.len().saturating_sub(HALF));
        let excess = (self.tail.len() + staying.len()).saturating_sub(HALF);
        let gone = if passing.is_empty() { excess } else { self.tail.len() };
        let (a, b) = self.tail.as_slices();
        let from_a = gone.min(a.len());
        self.omit(a.get(..from_a).map_or(0, line_feeds) + b.get(..gone - from_a).map_or(0, line_feeds), gone);
        self.tail.drain(..gone);
        self.omit(line_feeds(passing), passing.len());
        self.tail.extend(staying);
    }

    fn omit(&mut self, lines: u64, bytes: usize) {
        self.totals.omitted += bytes as u64;
        self.totals.omitted_lines += lines;
    }

    /// How much there was and is.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The beginning, and the end that follows it or what was left out. Nothing stays here.
    pub fn take(&mut self) -> (Vec<u8>, Vec<u8>) {
        (std::mem::take(&mut self.head), std::mem::take(&mut self.tail).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[usize]) {
        let total: usize = pieces.iter().sum();
        let printed: Vec<u8> = (0..total).map(|at| if at % 7 == 3 { b'\n' } else { (at / 7 % 251) as u8 }).collect();
        let mut keep = Keep::default();
        let mut at = 0;
        for len in pieces {
            keep.push(&printed[at..at + len]);
            at += len;
        }
        let omitted = total.saturating_sub(2 * HALF);
        let head_end = total.min(HALF);
        let expected = Totals {
            bytes: total as u64,
            omitted: omitted as u64,
            omitted_lines: line_feeds(&printed[head_end..head_end + omitted]),
        };
        assert_eq!(keep.totals(), expected);
        let (head, tail) = keep.take();
        assert!(head == printed[..head_end] && tail == printed[head_end + omitted..], "{pieces:?}");
    }

    #[test]
    fn head_gap_and_tail_add_up() {
        check(&[]);
        check(&[5, 0, 7]);
        check(&[HALF - 1, 2, HALF]);
        check(&[2 * HALF, 3]);
        check(&[HALF, 10, HALF + 5, 20]);
        check(&[1, 4 * HALF, 100]);
        check(&vec![65_536; 40]);
    }
}
