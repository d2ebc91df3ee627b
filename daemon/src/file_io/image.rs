//! Image files: recognised by their first bytes, measured by their header, never decoded.

use super::open::{OpenError, open_file};
use super::version::Version;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_core::media::{Image, MAX_BYTES};
use plimsoll_core::workspace::FileVersion;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes by which a kind is recognised.
const MAGIC: usize = 12;

/// Bytes of an image that is too large to be sent, in which its dimensions are looked for.
const HEADER: usize = 256 * 1024;

/// Why something is no image that can be shown. The texts follow the image's name.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The file could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The header says nothing that makes sense.
    #[error("begins like an image ({0}), but its header is broken: no dimensions can be read")]
    Header(&'static str),
    /// None of the kinds that models take.
    #[error("is no PNG, JPEG, GIF or WebP image")]
    Kind,
    /// Not the text form of bytes.
    #[error("is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The system could not read it.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

/// The media type of the image that begins so.
pub fn kind(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// The image in the file at a canonical path; none when it is no image. One that is too large comes without its bytes.
/// Blocking.
pub fn read_image(canonical: &Path, name: &str) -> Result<Option<Image>, ImageError> {
    let (file, metadata) = open_file(canonical)?;
    let mut start = [0; MAGIC];
    let found = file.read_at(&mut start, 0)?;
    let Some(mime) = kind(start.get(..found).unwrap_or_default()) else { return Ok(None) };
    let most = if metadata.len() > MAX_BYTES { HEADER as u64 } else { MAX_BYTES };
    let mut bytes = Vec::new();
    (&file).take(most).read_to_end(&mut bytes)?;
    if metadata.len() <= MAX_BYTES {
        return of_bytes(name, mime, &bytes).map(Some);
    }
    let (width, height) = size(&bytes).ok_or(ImageError::Header(mime))?;
    let version = Version::of(&file, &metadata)?.to_string();
    let (name, mime) = (name.to_owned(), mime.to_owned());
    Ok(Some(Image { name, mime, width, height, bytes: metadata.len(), version, data: "".into() }))
}

/// The image that a client gave as base64. Its kind is what its bytes say.
pub fn given_image(name: &str, data: &str) -> Result<Image, ImageError> {
    let bytes = STANDARD.decode(data.trim())?;
    let mime = kind(&bytes).ok_or(ImageError::Kind)?;
    of_bytes(name, mime, &bytes)
}

fn of_bytes(name: &str, mime: &'static str, bytes: &[u8]) -> Result<Image, ImageError> {
    let (width, height) = size(bytes).ok_or(ImageError::Header(mime))?;
    let keep = bytes.len() as u64 <= MAX_BYTES;
    Ok(Image {
        name: name.to_owned(),
        mime: mime.to_owned(),
        width,
        height,
        bytes: bytes.len() as u64,
        version: FileVersion::of(bytes).to_string(),
        data: if keep { STANDARD.encode(bytes).into() } else { "".into() },
    })
}

/// Width and height; none when the header does not say, or says nothing.
fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    let size = imagesize::blob_size(bytes).ok()?;
    let (width, height) = (u32::try_from(size.width).ok()?, u32::try_from(size.height).ok()?);
    (width > 0 && height > 0).then_some((width, height))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest GIF: a header and nothing more.
    fn gif(width: u16, height: u16) -> Vec<u8> {
        let mut bytes = b"GIF89a".to_vec();
        bytes.extend(width.to_le_bytes());
        bytes.extend(height.to_le_bytes());
        bytes.extend([0, 0, 0, 0x3b]);
        bytes
    }

    #[test]
    fn an_image_is_known_by_its_bytes_and_measured_by_its_header() {
        let image = given_image("a.png", &STANDARD.encode(gif(300, 20))).unwrap();
        assert_eq!(image.facts(), "image/gif, 300x20, 14 bytes");
        assert_eq!(&*image.data, STANDARD.encode(gif(300, 20)));
        let why = |data: &[u8]| given_image("a", &STANDARD.encode(data)).unwrap_err().to_string();
        assert_eq!(why(b"%PDF-1.7"), "is no PNG, JPEG, GIF or WebP image");
        assert!(why(&gif(0, 0)).contains("its header is broken"));
        assert!(given_image("a", "%%").unwrap_err().to_string().starts_with("is not base64"));
    }

    #[test]
    fn a_file_that_is_too_large_comes_without_its_bytes_and_a_text_file_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("big.gif");
        let mut bytes = gif(10, 10);
        bytes.resize(MAX_BYTES as usize + 1, 0);
        std::fs::write(&path, bytes).unwrap();
        let image = read_image(&path, "big.gif").unwrap().unwrap();
        assert_eq!((image.bytes, &*image.data), (MAX_BYTES + 1, ""));
        assert!(image.refusal().is_some());
        std::fs::write(&path, "text").unwrap();
        assert!(read_image(&path, "big.gif").unwrap().is_none());
    }
}
