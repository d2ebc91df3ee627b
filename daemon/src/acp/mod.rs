//! The Agent Client Protocol, version 1, for editors that speak it: a second facade on the same sessions. It maps
//! [`Service`](crate::session::service::Service) to that wire and decides nothing. The types are the official schema's,
//! the connection is ours; the bytes, the queue and the calls are carried by [`rpc`](crate::rpc).

mod conn;
mod diff;
mod error;
mod facade;
mod modes;
mod peer;
mod prompt;
mod session;
mod tool_call;
mod translate;
mod turns;

pub use facade::serve;
