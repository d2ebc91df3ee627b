//! The native API: JSON-RPC 2.0 over any stream, served by jsonrpsee's method table on connections of our own. It maps
//! the wire to [`Service`](crate::session::service::Service) and decides nothing. `framing`, `message`, `outbox`, `calls`
//! and `cancel` also carry the ACP facade.

pub mod accept;
pub(crate) mod calls;
pub(crate) mod cancel;
mod changes;
pub mod client;
mod conn;
mod dispatch;
pub(crate) mod error;
pub mod framing;
mod from_wire;
pub mod life;
pub mod message;
mod methods;
pub mod outbox;
pub mod prefixed;
pub(crate) mod to_wire;

pub use conn::serve;
pub use from_wire::path as path_from_wire;
pub use from_wire::{MAX_ATTACHMENTS, MAX_IMAGE, MAX_TEXT};
pub use methods::module;
pub use to_wire::path as path_to_wire;
