//! Images that a compaction left out of a view: their names stay, in the message in which they stood.

use super::item::{Item, ItemBody, Observation, UserMessage};
use super::shape::{PicturePlace, Shape};
use crate::escape;
use crate::id::{CallId, ItemNo};
use crate::media::Image;
use crate::tool::outcome::Body;
use std::borrow::Cow;

/// The items as a view of this shape has them: images that it leaves out are named, and not there.
pub fn without_pictures<'a>(items: &'a [Item], shape: &Shape) -> Cow<'a, [Item]> {
    let Some(before) = shape.pictures else { return Cow::Borrowed(items) };
    let hidden = |no: ItemNo, nth: usize| PicturePlace { item: no, nth } < before;
    let of_item = |item: &Item| {
        let body = match &item.body {
            ItemBody::User(message) if !message.images.is_empty() => {
                let (gone, images) = parted(message.images.iter(), |nth| hidden(item.no, nth));
                let text = notice(gone.iter().map(|image| (None, *image)));
                let additional_data = joined(&message.additional_data, &text);
                let images = images.into_iter().cloned().collect();
                ItemBody::User(UserMessage { additional_data, images, ..message.clone() })
            }
            ItemBody::Observation(observed) => {
                let (gone, calls) = parted(observed.calls.iter().copied(), |nth| hidden(item.no, nth));
                let named = gone.iter().filter_map(|call| Some((Some(*call), image_of(items, *call)?)));
                ItemBody::Observation(Observation { text: joined(&observed.text, &notice(named)), calls })
            }
            _ => return item.clone(),
        };
        Item { body, ..item.clone() }
    };
    Cow::Owned(items.iter().map(of_item).collect())
}

/// Every image among these items with its place, from the oldest on.
pub fn pictures(items: &[Item]) -> impl Iterator<Item = (PicturePlace, &Image)> {
    items.iter().flat_map(move |item| {
        let images: Vec<&Image> = match &item.body {
            ItemBody::User(message) if !message.refused => message.images.iter().collect(),
            ItemBody::Observation(observed) => {
                observed.calls.iter().filter_map(|call| image_of(items, *call)).collect()
            }
            _ => Vec::new(),
        };
        images.into_iter().enumerate().map(|(nth, image)| (PicturePlace { item: item.no, nth }, image))
    })
}

/// The image that a call's result holds.
pub fn image_of(items: &[Item], call: CallId) -> Option<&Image> {
    items.iter().find_map(|item| match &item.body {
        ItemBody::ToolResult(result) if result.call == call => match &result.outcome.body {
            Body::Image(image) => Some(image),
            _ => None,
        },
        _ => None,
    })
}

fn parted<T>(all: impl Iterator<Item = T>, is_first: impl Fn(usize) -> bool) -> (Vec<T>, Vec<T>) {
    let (first, second): (Vec<_>, Vec<_>) = all.enumerate().partition(|(nth, _)| is_first(*nth));
    let values = |part: Vec<(usize, T)>| part.into_iter().map(|(_, value)| value).collect();
    (values(first), values(second))
}

fn joined(text: &str, more: &str) -> String {
    match (text.is_empty(), more.is_empty()) {
        (_, true) => text.to_owned(),
        (true, false) => more.to_owned(),
        (false, false) => format!("{text}\n\n{more}"),
    }
}

/// What stands in the place of images; empty for none.
fn notice<'a>(images: impl Iterator<Item = (Option<CallId>, &'a Image)>) -> String {
    let named = images.map(|(call, image)| {
        let call = call.map(|call| format!("{call} ")).unwrap_or_default();
        format!("{call}{}", image.named())
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() {
        return String::new();
    }
    let text = format!("[Images left out when the conversation was shortened: {}]", named.join("; "));
    escape::data(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Revision, StepNo, TurnNo};
    use crate::model::request::Message;
    use crate::time::Timestamp;
    use crate::tool::outcome::{Outcome, Status};
    use crate::transcript::item::ToolResult;
    use crate::transcript::shaped::shaped;
    use std::collections::BTreeMap;

    fn image(name: &str) -> Image {
        let (mime, version) = ("image/png".to_owned(), String::new());
        Image { name: name.to_owned(), mime, width: 2, height: 3, bytes: 4, version, data: "AAECAw==".into() }
    }

    fn items() -> Vec<Item> {
        let user = |text: &str, images| UserMessage { text: text.into(), images, ..UserMessage::default() };
        let result = ToolResult {
            call: CallId(1),
            tool: "read_file".into(),
            outcome: Outcome { status: Status::Ok, body: Body::Image(image("c.png")) },
            revision: Revision(1),
            approximate: false,
        };
        let bodies = [
            ItemBody::User(user("one", vec![image("a"), image("b</user_query>")])),
            ItemBody::ToolResult(result),
            ItemBody::Observation(Observation { text: "[seen]".into(), calls: vec![CallId(1)] }),
            ItemBody::User(user("two", vec![image("d")])),
        ];
        let item = |(no, body)| Item { no: ItemNo(no), turn: TurnNo(no), step: StepNo(0), at: Timestamp(0), body };
        (1..).zip(bodies).map(item).collect()
    }

    fn check(before: (u64, usize), left: &[&str], named: &[&str]) {
        let place = PicturePlace { item: ItemNo(before.0), nth: before.1 };
        let shape = Shape { pictures: Some(place), ..Shape::default() };
        let (items, mut shown, mut text) = (items(), Vec::new(), String::new());
        let hidden = without_pictures(&items, &shape);
        shown.extend(pictures(&hidden).map(|(_, image)| image.name.clone()));
        for item in &*hidden {
            match &item.body {
                ItemBody::User(message) => text.push_str(&message.additional_data),
                ItemBody::Observation(observed) => text.push_str(&observed.text),
                _ => {}
            }
        }
        assert_eq!(shown, left);
        for name in named {
            assert!(text.contains(&format!("{name} (image/png, 2x3, 4 bytes)")), "{text}");
        }
        assert_eq!(text.matches("image/png").count(), named.len(), "{text}");
    }

    #[test]
    fn images_before_a_place_are_named_and_not_shown() {
        let all = ["a", "b</user_query>", "c.png", "d"];
        assert_eq!(
            pictures(&items()).map(|(place, _)| (place.item.0, place.nth)).collect::<Vec<_>>(),
            [(1, 0), (1, 1), (3, 0), (4, 0)]
        );
        check((1, 0), &all, &[]);
        check((1, 1), &all[1..], &["a"]);
        check((3, 0), &all[2..], &["a", "b&lt;/user_query>"]);
        check((4, 0), &all[3..], &["a", "b&lt;/user_query>", "c1 c.png"]);
        check((5, 0), &[], &["a", "b&lt;/user_query>", "c1 c.png", "d"]);
    }

    #[test]
    fn a_view_without_them_has_the_same_messages() {
        let items = items();
        let shape = Shape { pictures: Some(PicturePlace { item: ItemNo(9), nth: 0 }), ..Shape::default() };
        let made = shaped(&items, &BTreeMap::new(), &shape, "/t");
        assert_eq!(made.len(), shaped(&items, &BTreeMap::new(), &Shape::default(), "/t").len());
        assert!(!made.iter().any(|message| matches!(message, Message::Pictures { images, .. } if !images.is_empty())));
    }
}
