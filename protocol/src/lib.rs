//! The wire of Plimsoll's native API: types, one file per resource, and the `#[rpc]` traits from which the daemon's
//! dispatch table (feature `server`) and the typed Rust client (feature `client`) are made.
//!
//! It holds no behaviour and knows none of the daemon's own types. The reference for people who write clients is
//! `protocol/README.md`; the machine-readable one is `protocol/schema/plimsoll.schema.json`.
//!
//! Three rules for every type here:
//! - names are camelCase, parameters are named, and an absent optional field means the same as `null`;
//! - a reader ignores fields that it does not know, and survives values that it does not know: enumerations that the
//!   daemon sends end in a variant that takes any other word;
//! - times are integers, milliseconds since 1970-01-01T00:00:00Z; offsets and sizes count bytes of UTF-8.

#![warn(missing_docs)]

pub mod auth;
pub mod checkpoint;
pub mod config;
pub mod context;
pub mod daemon;
pub mod editor;
pub mod error;
pub mod event;
pub mod evidence;
pub mod hello;
pub mod history;
pub mod life;
pub mod memory;
pub mod model;
pub mod operation;
pub mod permission;
pub mod project;
pub mod prompt;
pub mod request;
pub mod rule;
pub mod schema;
pub mod session;
pub mod skill;
pub mod task;
pub mod todo;
pub mod transcript;
pub mod turn;
pub mod version;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of a method that has nothing to say. Fields may be added later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Done {}
