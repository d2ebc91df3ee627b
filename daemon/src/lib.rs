//! The imperative shell of Plimsoll: everything that touches the world. What to do is decided in `plimsoll-core`.

pub mod acp;
pub mod cli;
pub mod config;
pub mod file_io;
pub mod process;
pub mod provider;
pub mod rpc;
pub mod session;
pub mod shutdown;
pub mod store;
pub mod telemetry;
pub mod tool;
pub mod workspace;
