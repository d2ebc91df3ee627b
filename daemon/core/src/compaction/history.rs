//! What a compaction works on: the conversation as it is stored.

use crate::id::{CallId, ItemNo, TurnNo};
use crate::media::Image;
use crate::transcript::batch::StoredProjection;
use crate::transcript::item::{Item, ItemBody};
use std::collections::BTreeMap;

/// The history as it is stored, without what is out of the view.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// The items from the first that was asked for on, ascending.
    pub items: Vec<Item>,
    /// Projections of the results among them.
    pub projections: BTreeMap<CallId, StoredProjection>,
    /// Everything that the user said in the view, from the first item on: prompts and steering that were not refused.
    pub said: Vec<Said>,
    /// Absolute path of the session's mirror in text form.
    pub transcript: String,
}

/// Something that the user said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The item.
    pub item: ItemNo,
    /// Its turn.
    pub turn: TurnNo,
    /// Verbatim.
    pub text: String,
    /// It joined a running turn.
    pub steering: bool,
    /// Images that were put beside it, each as it is [named](crate::media::Image::named).
    pub images: Vec<String>,
}

impl Said {
    /// What an item says of the user's; none where it is no message of theirs, or one that no model was sent.
    pub fn of(item: &Item) -> Option<Self> {
        match &item.body {
            ItemBody::User(message) if !message.refused => Some(Self {
                item: item.no,
                turn: item.turn,
                text: message.text.clone(),
                steering: message.steering,
                images: message.images.iter().map(Image::named).collect(),
            }),
            _ => None,
        }
    }
}
