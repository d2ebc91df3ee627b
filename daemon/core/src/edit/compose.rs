//! One edit after another as one edit of the original.

use super::Splice;

/// Splices of the original that have the effect of `first`, then `second`, which counts in what `first` leaves and in
/// which each replaces at least one byte. `len` is the original's length. Linear in the number of splices.
pub(super) fn compose(first: Vec<Splice>, second: Vec<Splice>, len: usize) -> Vec<Splice> {
    if first.is_empty() {
        return second;
    }
    let mut out =
        Out { splices: Vec::with_capacity(first.len() + second.len()), pending: Vec::new(), dirty: false, at: 0 };
    let mut second = second.into_iter().peekable();
    // Place in what `first` leaves.
    let mut now = 0;
    let mut piece = |out: &mut Out, length: usize, keep: &mut dyn FnMut(&mut Out, usize, usize)| {
        let end = now + length;
        let mut from = now;
        while let Some(next) = second.peek_mut().filter(|next| next.start < end) {
            if next.start >= from {
                keep(out, from - now, next.start - now);
                out.insert(&std::mem::take(&mut next.new));
            }
            from = next.end.min(end).max(from);
            if next.end > end {
                break;
            }
            second.next();
        }
        if from < end {
            keep(out, from - now, length);
        }
        now = end;
    };
    let mut at = 0;
    for splice in first {
        let gap = at;
        piece(&mut out, splice.start - at, &mut |out, from, to| out.copy(gap + from, gap + to));
        piece(&mut out, splice.new.len(), &mut |out, from, to| {
            out.insert(splice.new.get(from..to).unwrap_or_default());
        });
        at = splice.end;
    }
    piece(&mut out, len - at, &mut |out, from, to| out.copy(at + from, at + to));
    out.close(len);
    out.splices
}

/// The result so far.
struct Out {
    splices: Vec<Splice>,
    /// New bytes since the last byte of the original that was kept.
    pending: Vec<u8>,
    dirty: bool,
    /// Place in the original after that byte.
    at: usize,
}

impl Out {
    fn copy(&mut self, from: usize, to: usize) {
        if from < to {
            self.close(from);
            self.at = to;
        }
    }

    fn insert(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        self.dirty = true;
    }

    fn close(&mut self, at: usize) {
        if self.at < at || (self.dirty && !self.pending.is_empty()) {
            self.splices.push(Splice { start: self.at, end: at, new: std::mem::take(&mut self.pending) });
        }
        self.dirty = false;
    }
}
