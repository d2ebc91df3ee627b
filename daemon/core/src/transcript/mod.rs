//! The transcript: items, their stored form, the mirror's text, epochs, and the view that is folded from them.

pub mod batch;
pub mod codec;
pub mod epoch;
pub mod hidden;
pub mod item;
pub mod mirror;
pub mod rewound;
pub mod search;
pub mod settled;
pub mod shape;
pub mod shaped;
pub mod short;
pub mod side;
pub mod told;
pub mod view;
