//! Messages as segments: which of their images go along, and in what words the others are named.
//!
//! Of the images that are new the newest take the room that the request has left; those that were sent before stay sent.

use super::cut::one_line;
use crate::media::{self, Image};
use crate::model::catalog::ModelProfile;
use crate::model::codec;
use crate::model::request::{Api, Message};
use crate::tokens::json_tokens;
use crate::transcript::epoch::Segment;
use std::fmt::Write as _;

/// The wire segments of `messages`, which follow what was `sent`.
pub(super) fn segments(messages: Vec<Message>, model: &ModelProfile, sent: &[Segment]) -> Vec<Segment> {
    let mut room = Room::after(sent);
    let mut out: Vec<Vec<Segment>> = messages
        .into_iter()
        .rev()
        .map(|message| match message {
            Message::Pictures { text, images } => with_images(model.api, &text, images, model.images, &mut room),
            other => codec::encode_message(model.api, &other).into_iter().map(Segment::new).collect(),
        })
        .collect();
    out.reverse();
    out.into_iter().flatten().collect()
}

/// The wire texts of one message with images, in a request that has room for them.
pub(super) fn texts(api: Api, text: &str, images: Vec<Image>, takes_images: bool) -> Vec<String> {
    let made = with_images(api, text, images, takes_images, &mut Room::after(&[]));
    made.into_iter().map(|segment| segment.text.to_string()).collect()
}

/// What a request can still take.
struct Room {
    images: u32,
    chars: usize,
}

impl Room {
    fn after(sent: &[Segment]) -> Self {
        let with_images = sent.iter().filter(|segment| segment.images > 0);
        let (images, chars) = with_images
            .fold((0_u32, 0_usize), |(images, chars), segment| (images + segment.images, chars + segment.text.len()));
        Self {
            images: media::MAX_IN_REQUEST.saturating_sub(images),
            chars: media::MAX_REQUEST_CHARS.saturating_sub(chars),
        }
    }

    /// Takes an image in, or says why it cannot.
    fn take(&mut self, image: &Image) -> Option<String> {
        if self.images == 0 {
            return Some(format!("a request holds {} images at most", media::MAX_IN_REQUEST));
        }
        if image.data.len() > self.chars {
            return Some("the request has no room for its size".to_owned());
        }
        self.images -= 1;
        self.chars -= image.data.len();
        None
    }
}

/// The text, a list that names each image in order, and those images that go along.
fn with_images(api: Api, text: &str, images: Vec<Image>, takes_images: bool, room: &mut Room) -> Vec<Segment> {
    if images.is_empty() {
        return codec::encode_message(api, &Message::User(text.to_owned())).into_iter().map(Segment::new).collect();
    }
    let mut withheld: Vec<Option<String>> = images
        .iter()
        .rev()
        .map(|image| {
            if takes_images {
                image.refusal().or_else(|| room.take(image))
            } else {
                Some("this model takes no images".to_owned())
            }
        })
        .collect();
    withheld.reverse();
    let mut list = String::new();
    let mut shown = Vec::new();
    for (image, why) in images.into_iter().zip(withheld) {
        let what = format!("{} ({})", one_line(image.title()), one_line(&image.facts()));
        // Writing to a String cannot fail.
        let _ = if let Some(why) = why {
            writeln!(list, "- {what}: not shown, {why}")
        } else {
            shown.push(image);
            writeln!(list, "- {what}: image {} below", shown.len())
        };
    }
    let text = format!("{text}\n\n<image_list>\n{list}</image_list>");
    let plain = codec::encode_message(api, &Message::User(text.clone()));
    if shown.is_empty() {
        return plain.into_iter().map(Segment::new).collect();
    }
    let tokens = plain.iter().map(|text| json_tokens(text)).sum::<u64>() + shown.iter().map(Image::tokens).sum::<u64>();
    let count = shown.len() as u32;
    codec::encode_message(api, &Message::Pictures { text, images: shown })
        .into_iter()
        .map(|text| Segment::counted(text, tokens, count))
        .collect()
}
