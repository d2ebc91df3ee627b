//! Files as text and as versions: opening without surprises, encodings, line ends, reading in bounded memory.
//!
//! It knows nothing of tools, permissions or the model. Every module of the shell may use it.

pub mod encoding;
pub mod image;
pub mod lines;
pub mod observe;
pub mod open;
pub mod pre_image;
pub mod put;
pub mod read;
pub mod version;

pub use observe::observe;
pub use open::{OpenError, open_dir, open_file};
pub use put::{PutError, put, put_by, put_link, remove, remove_by};
pub use read::{Ask, Page, ReadError, Text, read_text};
pub use version::Version;

#[cfg(test)]
mod tests;
