//! Projection of an image file: what it is. The picture itself stands in the observation behind the results.

use super::Parts;
use super::call::short_version;
use crate::media::Image;

pub(super) fn image(image: &Image) -> Parts {
    let body = match image.refusal() {
        Some(why) => format!("The image is not shown: {why}."),
        None => "The image follows these results, where this model takes images.".to_owned(),
    };
    let facts = vec![image.name.clone(), image.facts(), format!("v {}", short_version(&image.version))];
    Parts { facts, body, partial: false }
}
