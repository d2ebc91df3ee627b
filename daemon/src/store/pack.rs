//! Texts as they lie in a row: plain when short, zstd when that is smaller.

use std::io;

/// Texts below this are not worth the frame that zstd puts around them.
const PLAIN_BELOW: usize = 200;

/// A good ratio at about 100 MB/s.
const LEVEL: i32 = 3;

/// No stored text is longer; a larger stated length is damage, not a reason to ask for that much memory.
const LONGEST: usize = 1 << 30;

const PLAIN: i64 = 0;
const ZSTD: i64 = 1;

/// A packed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packed {
    /// How `body` is coded.
    pub(super) codec: i64,
    /// Bytes of the text.
    pub(super) len: usize,
    /// The coded bytes.
    pub(super) body: Vec<u8>,
}

/// Packs a text.
pub(super) fn pack(text: &str) -> Packed {
    if text.len() >= PLAIN_BELOW
        && let Ok(body) = zstd::bulk::compress(text.as_bytes(), LEVEL)
        && body.len() < text.len()
    {
        return Packed { codec: ZSTD, len: text.len(), body };
    }
    Packed { codec: PLAIN, len: text.len(), body: text.as_bytes().to_vec() }
}

/// The text of a packed one.
pub(super) fn unpack(codec: i64, len: usize, body: &[u8]) -> io::Result<String> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let bytes = match codec {
        PLAIN => body.to_vec(),
        ZSTD if len <= LONGEST => zstd::bulk::decompress(body, len)?,
        _ => return Err(wrong("it is coded in a way that this build does not know")),
    };
    if bytes.len() != len {
        return Err(wrong("its length is not the stored one"));
    }
    String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_every_length_come_back() {
        for text in [String::new(), "short".into(), "ab\u{20ac}".repeat(10_000)] {
            let packed = pack(&text);
            assert_eq!(unpack(packed.codec, packed.len, &packed.body).unwrap(), text);
        }
        assert!(pack(&"a".repeat(9_000)).body.len() < 100);
    }

    #[test]
    fn damage_is_an_error() {
        let packed = pack(&"some text ".repeat(100));
        assert!(unpack(packed.codec, packed.len - 1, &packed.body).is_err());
        assert!(unpack(packed.codec, usize::MAX, &packed.body).is_err());
        assert!(unpack(packed.codec, packed.len, packed.body.get(5..).unwrap()).is_err());
        assert!(unpack(7, 1, b"x").is_err());
    }
}
