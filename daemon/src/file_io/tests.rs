use super::encoding::{Unit, Utf8Count};
use super::lines::{EolCount, Splitter};
use super::*;
use proptest::prelude::*;
use std::os::unix::fs::symlink;

fn split(bytes: &[u8], cuts: &[usize], unit: Unit) -> (Vec<(u64, u64, Vec<u8>)>, super::lines::Eols) {
    let mut eols = EolCount::new(unit);
    let mut pieces: Vec<&[u8]> = Vec::new();
    let mut rest = bytes;
    for cut in cuts {
        let (piece, after) = rest.split_at((*cut).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    for piece in &pieces {
        eols.feed(piece);
    }
    let eols = eols.end();
    let mut lines = Vec::new();
    let mut take = |line: super::lines::Line<'_>| {
        lines.push((line.start, line.end, line.bytes.to_vec()));
        true
    };
    let mut splitter = Splitter::new(unit, eols.terminator(), 0, usize::MAX);
    for piece in &pieces {
        splitter.feed(piece, &mut take);
    }
    splitter.end(take);
    (lines, eols)
}

#[test]
fn canonical_paths_are_opened_without_following_links() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    std::fs::create_dir(top.join("d")).unwrap();
    std::fs::write(top.join("d/f"), "x").unwrap();
    symlink("d", top.join("link")).unwrap();
    symlink("d/f", top.join("flink")).unwrap();
    assert!(open_file(&top.join("d/f")).is_ok());
    assert!(matches!(open_file(&top.join("flink")), Err(OpenError::Link)));
    assert!(matches!(open_file(&top.join("d")), Err(OpenError::IsDir)));
    assert!(matches!(open_file(&top.join("absent")), Err(OpenError::Missing)));
    assert!(matches!(open_dir(&top.join("d/f")), Err(OpenError::NotDir)));
    assert!(open_dir(&top.join("d")).is_ok());
    #[cfg(target_os = "linux")]
    assert!(matches!(open_file(&top.join("link/f")), Err(OpenError::Link)));
}

#[test]
fn a_version_is_named_by_its_first_digits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap().join("f");
    std::fs::write(&path, "x").unwrap();
    let version = read_text(&path, Ask::Whole, &|| false).unwrap().version;
    let text = version.to_string();
    for name in [&text[..], &text[..8], &text[..12], &format!(" {}… ", &text[..12])[..], &text[..12].to_uppercase()[..]]
    {
        assert!(version.is_named(name), "{name}");
    }
    for name in ["", &text[..7], "00000000", "w", &format!("w{text}")[..]] {
        assert!(!version.is_named(name), "{name}");
    }
    let (file, metadata) = open_file(&path).unwrap();
    let weak = Version::weak(&file, &metadata).unwrap();
    assert!(weak.to_string().starts_with('w') && weak.to_string().len() == 33);
    assert!(weak.is_named(&weak.to_string()[..13]) && !weak.is_named("w"));
}

#[test]
fn a_read_is_given_up_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap().join("f");
    std::fs::write(&path, vec![b'x'; 3 * 1024 * 1024]).unwrap();
    assert!(matches!(read_text(&path, Ask::Whole, &|| true), Err(ReadError::Cancelled)));
}

#[test]
fn a_range_of_bytes_ends_where_it_was_asked_to_and_holds_one_character_at_least() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap().join("f");
    for (bytes, start, count, expected) in [
        ("abc\nd".as_bytes().to_vec(), 2, 1, ("c", 3)),
        ("a\u{1f600}b".as_bytes().to_vec(), 1, 1, ("\u{1f600}", 5)),
        ("a\u{4f60}b".as_bytes().to_vec(), 0, 3, ("a", 1)),
        ("\u{4f60}\u{597d}".repeat(40).bytes().collect(), 3, 2, ("\u{597d}", 6)),
    ] {
        std::fs::write(&path, &bytes).unwrap();
        let page = read_text(&path, Ask::Bytes { start, count: Some(count) }, &|| false).unwrap().page;
        assert_eq!((page.lines[0].as_str(), page.bytes), (expected.0, Some((start, expected.1))), "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn lines_and_their_ends_do_not_depend_on_the_pieces(
        text in "[ab\r\n]{0,30}",
        cuts in proptest::collection::vec(0_usize..6, 0..8),
    ) {
        let whole = split(text.as_bytes(), &[], Unit::Byte);
        prop_assert_eq!(&split(text.as_bytes(), &cuts, Unit::Byte), &whole);
        prop_assert_eq!(whole.0.len() as u64, whole.1.lines());
        if !matches!(whole.1.word(), "cr") {
            let expected: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
            let lines: Vec<Vec<u8>> = whole.0.iter().map(|(_, _, bytes)| bytes.clone()).collect();
            prop_assert_eq!(lines, expected);
        }
        for (start, end, bytes) in &whole.0 {
            prop_assert_eq!(&text.as_bytes()[*start as usize..*end as usize], &bytes[..]);
        }
        for (unit, order) in [(Unit::LittleEndian, u16::to_le_bytes as fn(u16) -> [u8; 2]), (Unit::BigEndian, u16::to_be_bytes)] {
            let wide: Vec<u8> = text.encode_utf16().flat_map(order).collect();
            let (lines, eols) = split(&wide, &cuts, unit);
            prop_assert_eq!(eols.word(), whole.1.word());
            let ends: Vec<(u64, u64)> = lines.iter().map(|(start, end, _)| (start / 2, end / 2)).collect();
            let expected: Vec<(u64, u64)> = whole.0.iter().map(|(start, end, _)| (*start, *end)).collect();
            prop_assert_eq!(ends, expected);
        }
    }

    #[test]
    fn utf8_is_counted_alike_in_pieces(
        bytes in proptest::collection::vec(prop_oneof![Just(b'a'), Just(0xC3), Just(0xA4), Just(0xE4), Just(0xBD), Just(0xA0), Just(0xFF)], 0..24),
        cuts in proptest::collection::vec(0_usize..5, 0..8),
    ) {
        let count = |cuts: &[usize]| {
            let mut count = Utf8Count::default();
            let mut rest = &bytes[..];
            for cut in cuts {
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                count.feed(piece);
                rest = after;
            }
            count.feed(rest);
            count.end();
            (count.multibyte, count.invalid)
        };
        prop_assert_eq!(count(&cuts), count(&[]));
        prop_assert_eq!(count(&[]).1 == 0, std::str::from_utf8(&bytes).is_ok());
    }

    #[test]
    fn byte_ranges_join_to_the_whole_text(
        bytes in proptest::collection::vec(
            prop_oneof![
                Just(&b"a"[..]), Just("\u{e4}".as_bytes()), Just("\u{4f60}".as_bytes()), Just("\u{1f600}".as_bytes()),
                Just(&b"\n"[..]), Just(&b"\xFF"[..]), Just(&b"\x80"[..]), Just(&b"\xE4\xBD"[..]),
            ],
            1..40,
        ),
        step in 1_u64..9,
    ) {
        // So much valid text before it that invalid bytes make it damaged UTF-8, not another encoding.
        let bytes = ["\u{e4}".repeat(90).into_bytes(), bytes.concat()].concat();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("f");
        std::fs::write(&path, &bytes).unwrap();
        let mut joined = String::new();
        let mut at = 0;
        while at < bytes.len() as u64 {
            let page = read_text(&path, Ask::Bytes { start: at, count: Some(step) }, &|| false).unwrap().page;
            let (start, end) = page.bytes.unwrap();
            prop_assert!(start == at && end > at);
            joined.push_str(&page.lines[0]);
            at = end;
        }
        prop_assert_eq!(joined, String::from_utf8_lossy(&bytes));
    }
}
