//! Sessions: one actor each, the driver that performs the machine's effects, recovery, and the service through which
//! `rpc`, `acp` and `cli` reach them. It knows no client and no wire.

mod actor;
pub mod api;
mod attached;
mod background;
mod beside;
mod calibrations;
mod calls;
pub mod checkpoint;
mod consult;
mod driver;
mod editors;
mod given;
mod ground;
pub mod hub;
mod idle;
pub mod inspect;
mod lasting;
mod live;
mod load;
mod memories;
pub mod operations;
mod plan;
mod rewind;
pub mod service;
mod settling;
mod setup;
mod subscription;
pub mod task;
mod tasks;
mod transcripts;
pub mod transfer;
mod whole;

pub use subscription::Subscription;
