//! Properties of replacements of any bytes.

use super::*;
use proptest::prelude::*;

/// Bytes with many line ends and repetitions, some of them no text.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece =
        prop::sample::select(vec![&b"a"[..], b"b", b"\n", b"\r\n", b"\r", b" ", b"\xFF", b"\xC3", b"\0", b"\xC3\xA4"]);
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec!["a", "b", "\n", "\r\n", " ", "\u{e4}"]);
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

/// The content in the units in which it is compared: each with its range, a line end as one line feed.
fn units(content: &[u8]) -> Vec<(u8, usize, usize)> {
    let has_lf = content.contains(&b'\n');
    let mut units = Vec::new();
    let mut at = 0;
    while at < content.len() {
        if content[at..].starts_with(b"\r\n") {
            units.push((b'\n', at, at + 2));
            at += 2;
        } else {
            let lf = content[at] == b'\r' && !has_lf;
            units.push((if lf { b'\n' } else { content[at] }, at, at + 1));
            at += 1;
        }
    }
    units
}

/// Where the text stands, overlapping ones included, found slowly.
fn places(content: &[u8], old: &str) -> Vec<(usize, usize)> {
    let units = units(content);
    let old = old.replace("\r\n", "\n");
    units
        .windows(old.len().max(1))
        .filter(|window| window.iter().map(|(unit, ..)| *unit).eq(old.bytes()))
        .map(|window| (window[0].1, window[window.len() - 1].2))
        .collect()
}

fn ascending(edit: &Edit, len: usize) -> bool {
    let ends = edit.splices.iter().map(|splice| splice.end);
    let starts = edit.splices.iter().map(|splice| splice.start).chain([len]);
    edit.splices.iter().all(|splice| splice.start <= splice.end)
        && ends.zip(starts.skip(1)).all(|(end, start)| end <= start)
}

/// The lines outside of these.
fn outside<'a>(content: &'a [u8], ranges: &[(u64, u64)]) -> Vec<&'a [u8]> {
    let within = |no: u64| ranges.iter().any(|(first, count)| (*first..first + count).contains(&no));
    (1..)
        .zip(content.split_inclusive(|byte| *byte == b'\n'))
        .filter(|(no, _)| !within(*no))
        .map(|(_, line)| line)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn only_the_found_text_changes(content in bytes(), old in text(), new in text(), all in any::<bool>()) {
        let result = replace(&content, &[Replacement { old: &old, new: &new, all }], &Utf8);
        let places = places(&content, &old);
        match result {
            Ok(edit) => {
                prop_assert!(ascending(&edit, content.len()));
                let mut expected = Vec::new();
                let mut at = 0;
                let mut count = 0;
                for (start, end) in places.iter().copied().filter(|(start, _)| *start < content.len()) {
                    if start < at || (!all && count == 1) {
                        continue;
                    }
                    count += 1;
                    expected.push((&content[at..start], end));
                    at = end;
                }
                let tail = &content[at..];
                prop_assert!(all || places.len() == 1);
                // What is outside stands there in order, and the new text between, whatever its line ends.
                let after = edit.pieces(&content).concat();
                let plain = |bytes: &[u8]| -> Vec<u8> { bytes.iter().copied().filter(|byte| *byte != b'\r').collect() };
                let wanted: Vec<u8> = expected.iter().flat_map(|(kept, _)| [*kept, new.as_bytes()].concat()).chain(tail.iter().copied()).collect();
                let cr_only = !content.contains(&b'\n') && content.contains(&b'\r');
                if !cr_only {
                    prop_assert_eq!(plain(&after), plain(&wanted));
                }
                if !content.contains(&b'\r') && content.contains(&b'\n') {
                    let lf = new.replace("\r\n", "\n");
                    let naive: Vec<u8> = expected.iter().flat_map(|(kept, _)| [*kept, lf.as_bytes()].concat()).chain(tail.iter().copied()).collect();
                    prop_assert_eq!(after, naive);
                }
            }
            Err(error) => match error.kind {
                EditErrorKind::Empty => prop_assert!(old.is_empty()),
                EditErrorKind::Same => prop_assert!(units(old.as_bytes()).iter().map(|u| u.0).eq(units(new.as_bytes()).iter().map(|u| u.0)) || old.replace('\r', "") == new.replace('\r', "")),
                EditErrorKind::NotFound(_) => prop_assert_eq!(places, vec![]),
                EditErrorKind::NotUnique { .. } => prop_assert!(places.len() > 1),
                other => prop_assert!(false, "{:?}", other),
            },
        }
    }

    #[test]
    fn line_ends_of_a_crlf_file_are_never_broken(lines in prop::collection::vec("[ab ]{0,2}", 2..12), edits in prop::collection::vec((text(), text(), any::<bool>()), 1..4)) {
        let content = lines.join("\r\n");
        let edits: Vec<Replacement<'_>> = edits.iter().map(|(old, new, all)| Replacement { old, new, all: *all }).collect();
        if let Ok(edit) = replace(content.as_bytes(), &edits, &Utf8) {
            let after = edit.pieces(content.as_bytes()).concat();
            // Once an edit has taken out all line ends those that follow are given as they are.
            for some in 1..edits.len() {
                let between = replace(content.as_bytes(), &edits[..some], &Utf8).expect("they were found together");
                prop_assume!(between.pieces(content.as_bytes()).concat().windows(2).any(|pair| pair == b"\r\n"));
            }
            let ends = after.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            let alone = ends.filter(|(at, _)| *at == 0 || after[at - 1] != b'\r').count();
            let halves = after.iter().enumerate().filter(|(at, byte)| **byte == b'\r' && after.get(at + 1) != Some(&b'\n')).count();
            prop_assert_eq!((alone, halves), (0, 0));
        }
    }

    #[test]
    fn many_edits_are_those_edits_one_after_the_other(content in bytes(), edits in prop::collection::vec((text(), text(), any::<bool>()), 1..5)) {
        let edits: Vec<Replacement<'_>> = edits.iter().map(|(old, new, all)| Replacement { old, new, all: *all }).collect();
        let mut one_by_one = Ok(content.clone());
        for (index, edit) in edits.iter().enumerate() {
            one_by_one = one_by_one.and_then(|now: Vec<u8>| match replace(&now, std::slice::from_ref(edit), &Utf8) {
                Ok(edit) => Ok(edit.pieces(&now).concat()),
                Err(error) => Err(EditError { index, kind: error.kind }),
            });
        }
        let at_once = replace(&content, &edits, &Utf8);
        if let Ok(edit) = &at_once {
            prop_assert!(ascending(edit, content.len()));
        }
        prop_assert_eq!(at_once.map(|edit| edit.pieces(&content).concat()), one_by_one);
    }

    #[test]
    fn lines_outside_of_what_is_touched_stand_outside_of_what_was_written(
        lines in prop::collection::vec("[ab ]{0,2}", 1..12),
        edits in prop::collection::vec(("[ab\n]{1,3}", "[ab\n]{0,3}", any::<bool>()), 1..4),
    ) {
        let content = lines.join("\n");
        let edits: Vec<Replacement<'_>> = edits.iter().map(|(old, new, all)| Replacement { old, new, all: *all }).collect();
        if let Ok(edit) = replace(content.as_bytes(), &edits, &Utf8) {
            let after = edit.pieces(content.as_bytes()).concat();
            let count = |bytes: &[u8]| bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
            prop_assert_eq!((edit.lines_before, edit.lines_after), (count(content.as_bytes()), count(&after)));
            prop_assert_eq!(edit.touches.len(), edit.wrote.len());
            prop_assert_eq!(outside(content.as_bytes(), &edit.touches), outside(&after, &edit.wrote));
        }
    }

    #[test]
    fn the_difference_of_an_edit_is_a_patch_that_makes_it(
        lines in prop::collection::vec("[ab ]{0,2}", 1..30),
        eol in prop::sample::select(vec!["\n", "\r\n"]),
        edits in prop::collection::vec(("[ab\n]{1,3}", "[ab\n]{0,3}", any::<bool>()), 1..4),
    ) {
        let content = lines.join(eol).into_bytes();
        let edits: Vec<Replacement<'_>> = edits.iter().map(|(old, new, all)| Replacement { old, new, all: *all }).collect();
        if let Ok(edit) = replace(&content, &edits, &Utf8) {
            let after = edit.pieces(&content).concat();
            prop_assume!(after != content && (content.contains(&b'\r') || !after.contains(&b'\r')));
            prop_assume!(content.contains(&b'\n') && (after.contains(&b'\r') || eol == "\n"));
            let text = format!("--- a/f\n+++ b/f\n{}", edit.diff(&content, &Utf8).text);
            let files = patch::parse(&text).unwrap();
            let again = patch::apply(&content, &files[0], &Utf8).map(|edit| edit.pieces(&content).concat());
            prop_assert_eq!(again, Ok(after), "{}", text);
        }
    }
}
