//! Images as values: what is known of one, what it costs, and why one is not sent. Its bytes are never looked into here:
//! whoever read them found out the figures.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Largest image that is sent, in bytes. Anthropic refuses larger ones
/// (<https://docs.claude.com/en/docs/build-with-claude/vision>).
pub const MAX_BYTES: u64 = 5 * 1024 * 1024;

/// Longest side of an image that is sent, in pixels; from the same page.
pub const MAX_SIDE: u32 = 8_000;

/// Most images in one request: above, Anthropic takes smaller ones only.
pub const MAX_IN_REQUEST: u32 = 20;

/// Most characters of base64 in one request. Anthropic takes 32 MB in all.
pub const MAX_REQUEST_CHARS: usize = 24 * 1024 * 1024;

/// Pixels to a token, and most tokens of one image, which is made smaller above: Anthropic's formula, from the same page.
/// What OpenAI counts is of the same order.
const PIXELS_PER_TOKEN: u64 = 750;
const MAX_TOKENS: u64 = 1_600;

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// What it is called: a path as shown to the model, or a name that a client gave; may be empty.
    pub name: String,
    /// Media type, such as `image/png`.
    pub mime: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Size in bytes.
    pub bytes: u64,
    /// Content hash of the bytes, as [`FileVersion`](crate::workspace::FileVersion) prints it.
    pub version: String,
    /// Base64 of the bytes; empty when it is too large to be sent.
    #[serde(default)]
    pub data: Arc<str>,
}

impl Image {
    /// Type, dimensions and size, for people and models.
    pub fn facts(&self) -> String {
        format!("{}, {}x{}, {} bytes", self.mime, self.width, self.height, self.bytes)
    }

    /// Its name, or a word for one that has none.
    pub fn title(&self) -> &str {
        if self.name.is_empty() { "image" } else { &self.name }
    }

    /// What stands for it where it is not shown: its name and [`facts`](Self::facts), in one line.
    pub fn named(&self) -> String {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{} ({})", one_line(self.title()), one_line(&self.facts()))
    }

    /// Why no model gets to see it; none when it may be sent.
    pub fn refusal(&self) -> Option<String> {
        if self.bytes > MAX_BYTES {
            Some(format!("it is larger than {MAX_BYTES} bytes"))
        } else if self.width.max(self.height) > MAX_SIDE {
            Some(format!("one side is longer than {MAX_SIDE} pixels"))
        } else if self.data.is_empty() {
            Some("its content was not kept".to_owned())
        } else {
            None
        }
    }

    /// Tokens that vendors count for it, about.
    pub fn tokens(&self) -> u64 {
        let pixels = u64::from(self.width).saturating_mul(u64::from(self.height));
        pixels.div_ceil(PIXELS_PER_TOKEN).clamp(1, MAX_TOKENS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(width: u32, height: u32, bytes: u64, data: &str) -> Image {
        let (name, mime, version) = (String::new(), "image/png".to_owned(), String::new());
        Image { name, mime, width, height, bytes, version, data: data.into() }
    }

    #[test]
    fn an_image_costs_by_its_pixels_up_to_a_most() {
        for ((width, height), tokens) in [((1, 1), 1), ((200, 200), 54), ((1000, 1000), 1_334), ((8_000, 8_000), 1_600)]
        {
            assert_eq!(image(width, height, 10, "AA==").tokens(), tokens, "{width}x{height}");
        }
    }

    #[test]
    fn what_is_too_large_says_why() {
        assert_eq!(image(10, 10, 10, "AA==").refusal(), None);
        let why = |image: Image| image.refusal().unwrap();
        assert_eq!(why(image(10, 10, MAX_BYTES + 1, "")), "it is larger than 5242880 bytes");
        assert_eq!(why(image(10, 8_001, 10, "AA==")), "one side is longer than 8000 pixels");
        assert_eq!(why(image(10, 10, 10, "")), "its content was not kept");
    }
}
