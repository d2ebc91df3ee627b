//! The Agent Client Protocol, version 1, for editors that speak it: a second facade on the same sessions. It maps
//! [`Service`](crate::session::service::Service) to that wire and decides nothing. The types are the official schema's,
//! the connection is ours; the bytes, the queue and the calls are carried by [`rpc`](crate::rpc).
//!
//! Not used are the client's terminals, and its file system but for the files that a prompt links to: tools run in the
//! daemon, under its ledger and its sandbox, and go on when the client is gone.

mod buffers;
mod commands;
mod compaction;
mod conn;
mod diff;
mod error;
mod facade;
mod initialize;
mod modes;
mod notice;
mod opening;
mod options;
mod peer;
mod permission;
mod prompt;
mod prompting;
mod resume;
mod session;
mod sessions;
mod tool_call;
mod translate;
mod turns;
mod usage;

pub use facade::serve;
