//! HTTP to model servers: one request out, its answer streamed through the core's decoder. The only place with `reqwest`
//! besides the web tool. Used by `session`, which also decides about retries; here is none.

pub(crate) mod address;
pub mod endpoint;
mod http;
mod key;
pub mod local;
mod problem;

pub use http::Http;
pub use key::{KeyAt, key_at, resolve_key};
