//! From what was kept of an output, in bytes, to the text of the result.

use crate::process::frame::Totals;
use crate::process::run::Kept;
use plimsoll_core::ingest::command::line_feeds;
use plimsoll_core::ingest::{self, Source};
use plimsoll_core::tool::outcome::Output;

/// The text of an output. Around a gap it is cut at the ends of lines; a line that is a good part of what was kept is
/// cut between characters.
pub fn output(kept: &Kept, totals: Totals) -> Output {
    let clean = |bytes: &[u8]| ingest::text(Source::Command, bytes);
    if totals.omitted == 0 {
        let head = clean(&[kept.head.as_slice(), kept.tail.as_slice()].concat());
        return Output { head, total_bytes: totals.bytes, ..Output::default() };
    }
    let (head, head_rest) = kept.head.split_at(head_end(&kept.head));
    let (tail_rest, tail) = kept.tail.split_at(tail_start(&kept.tail));
    Output {
        head: clean(head),
        omitted: totals.omitted + (head_rest.len() + tail_rest.len()) as u64,
        omitted_lines: totals.omitted_lines + line_feeds(head_rest) + line_feeds(tail_rest),
        tail: clean(tail),
        total_bytes: totals.bytes,
    }
}

/// Where the head ends: after its last line, or after its last whole character.
pub fn head_end(head: &[u8]) -> usize {
    if let Some(at) = head.iter().rposition(|byte| *byte == b'\n')
        && at >= head.len() / 2
    {
        return at + 1;
    }
    whole_characters(head)
}

/// Where the last whole character ends: behind it a character may have begun.
pub fn whole_characters(bytes: &[u8]) -> usize {
    // A character has at most 4 bytes: only the last 3 can be the beginning of one.
    (1..=3)
        .find_map(|back| {
            let start = bytes.len().checked_sub(back)?;
            let error = std::str::from_utf8(bytes.get(start..)?).err()?;
            (error.valid_up_to() == 0 && error.error_len().is_none()).then_some(start)
        })
        .unwrap_or(bytes.len())
}

/// Where the tail begins: with its first line, or with its first character.
fn tail_start(tail: &[u8]) -> usize {
    if let Some(at) = tail.iter().position(|byte| *byte == b'\n')
        && at < tail.len() / 2
    {
        return at + 1;
    }
    tail.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, tail: &[u8], expected: (&str, u64, u64, &str)) {
        let kept = Kept { head: head.as_bytes().to_vec(), tail: tail.to_vec() };
        let totals = Totals { bytes: 1_000, omitted: 100, omitted_lines: 5 };
        let output = output(&kept, totals);
        assert_eq!(output.total_bytes, 1_000);
        assert_eq!((output.head.as_str(), output.omitted, output.omitted_lines, output.tail.as_str()), expected);
    }

    #[test]
    fn around_a_gap_lines_are_whole() {
        check("first line\nsec", b"ond\nlast line\n", ("first line\n", 107, 6, "last line\n"));
    }

    #[test]
    fn an_endless_line_is_cut_between_characters() {
        let cut = "\u{4F60}\u{4F60}".as_bytes();
        check("ab\u{4F60}", &cut[1..], ("ab\u{4F60}", 102, 5, "\u{4F60}"));
        let kept = Kept { head: cut[..5].to_vec(), tail: b"x".to_vec() };
        let found = output(&kept, Totals { bytes: 9, omitted: 3, omitted_lines: 0 });
        assert_eq!((found.head.as_str(), found.omitted, found.tail.as_str()), ("\u{4F60}", 5, "x"));
    }

    #[test]
    fn without_a_gap_head_and_tail_are_one_text() {
        let cut = "a\u{4F60}b".as_bytes();
        let kept = Kept { head: cut[..2].to_vec(), tail: cut[2..].to_vec() };
        let found = output(&kept, Totals { bytes: 5, omitted: 0, omitted_lines: 0 });
        assert_eq!(found, Output { head: "a\u{4F60}b".into(), total_bytes: 5, ..Output::default() });
    }
}
