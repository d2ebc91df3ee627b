//! Sessions: one actor each, the driver that performs the machine's effects, recovery, and the service through which
//! `rpc`, `acp` and `cli` reach them. It knows no client and no wire.

pub mod api;
pub mod service;
