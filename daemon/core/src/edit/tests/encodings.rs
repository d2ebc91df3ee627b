//! Encodings other than UTF-8.

use super::*;

/// UTF-16, the low byte first.
struct Utf16;

impl Encoding for Utf16 {
    fn encode(&self, text: &str) -> Result<Vec<u8>, char> {
        Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect())
    }

    fn decode(&self, bytes: &[u8]) -> String {
        let units: Vec<u16> = bytes.chunks(2).map(|c| u16::from_le_bytes([c[0], *c.get(1).unwrap_or(&0)])).collect();
        String::from_utf16_lossy(&units)
    }

    fn unit(&self) -> usize {
        2
    }
}

/// Bytes from 0x80 on begin a character of two bytes, of which the second may be a letter, as in Shift_JIS or GBK.
struct Double;

impl Encoding for Double {
    fn encode(&self, text: &str) -> Result<Vec<u8>, char> {
        let mut bytes = Vec::new();
        for c in text.chars() {
            match u32::from(c) {
                plain @ 0..0x80 => bytes.push(plain as u8),
                wide @ 0x8000..=0xFFEF => bytes.extend([(wide >> 8) as u8, wide as u8]),
                _ => return Err(c),
            }
        }
        Ok(bytes)
    }

    fn decode(&self, bytes: &[u8]) -> String {
        let mut text = String::new();
        let mut rest = bytes.iter();
        while let Some(first) = rest.next() {
            let code = match (*first, first >= &0x80) {
                (first, false) => u32::from(first),
                (first, true) => rest.next().map_or(0xFFFD, |second| u32::from(first) << 8 | u32::from(*second)),
            };
            text.push(char::from_u32(code).unwrap_or('\u{fffd}'));
        }
        text
    }

    fn unit(&self) -> usize {
        1
    }
}

fn in_encoding(content: &[u8], old: &str, new: &str, all: bool, encoding: &dyn Encoding) -> Result<Vec<u8>, EditError> {
    replace(content, &[Replacement { old, new, all }], encoding).map(|edit| edit.pieces(content).concat())
}

fn utf16(text: &str) -> Vec<u8> {
    [&[0xFF, 0xFE][..], &Utf16.encode(text).unwrap()].concat()
}

#[test]
fn utf_16_is_replaced_by_whole_units() {
    let file = utf16("a\r\n\u{e4}b\r\n");
    assert_eq!(in_encoding(&file, "a\n\u{e4}", "x\ny", false, &Utf16).unwrap(), utf16("x\r\nyb\r\n"));
    // The bytes 00 61 also stand across two units, where they are no text.
    let file = utf16("\u{6100}\u{6161}a");
    assert_eq!(in_encoding(&file, "a", "b", false, &Utf16).unwrap(), utf16("\u{6100}\u{6161}b"));
    let edit = replace(&utf16("a\nb\nc"), &[Replacement { old: "b", new: "x\ny", all: false }], &Utf16).unwrap();
    assert_eq!((edit.touches.clone(), edit.wrote.clone(), edit.lines_after), (vec![(2, 1)], vec![(2, 2)], 4));
    assert_eq!(
        edit.diff(&utf16("a\nb\nc"), &Utf16).text,
        "@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c\n\\ No newline at end of file\n"
    );
    let written = whole(Some(&utf16("a\n\u{100}\n")), &utf16("a\n\u{200}\n"), &Utf16);
    assert_eq!(written.diff.text, "@@ -1,2 +1,2 @@\n a\n-\u{100}\n+\u{200}\n");
}

#[test]
fn a_patch_fits_utf_16_with_its_mark() {
    let file = utf16("a\r\nb\r\n");
    let patch = patch::parse("--- f\n+++ f\n@@ -1,2 +1,2 @@\n-a\n+\u{e4}\n b\n").unwrap();
    let edit = patch::apply(&file, &patch[0], &Utf16).unwrap();
    assert_eq!(edit.pieces(&file).concat(), utf16("\u{e4}\r\nb\r\n"));
}

#[test]
fn a_found_byte_inside_a_character_is_no_place() {
    // 0x61 is `a`, and also the second half of the first character.
    let file = b"\x83\x61 a\n";
    assert_eq!(in_encoding(file, "a", "b", false, &Double).unwrap(), b"\x83\x61 b\n");
    assert_eq!(in_encoding(b"\x83\x61a\x83\x61a", "a", "bb", true, &Double).unwrap(), b"\x83\x61bb\x83\x61bb");
    // Across line ends of both kinds.
    assert_eq!(in_encoding(b"\x83\x61\nb\r\na\nb\r\n", "a\nb", "c", false, &Double).unwrap(), b"\x83\x61\nb\r\nc\r\n");
    assert_eq!(in_encoding(file, "\u{8361}", "\u{8362}", false, &Double).unwrap(), b"\x83\x62 a\n");
}

#[test]
fn a_character_that_the_encoding_lacks_is_refused_in_the_new_text_and_not_found_in_the_old() {
    assert_eq!(
        in_encoding(b"a", "a", "\u{e4}", false, &Double).unwrap_err().kind,
        EditErrorKind::NotInEncoding('\u{e4}')
    );
    let error = in_encoding(b"a", "\u{e4}", "a", false, &Double).unwrap_err();
    assert!(matches!(error.kind, EditErrorKind::NotFound(_)), "{error}");
}
