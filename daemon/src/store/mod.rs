//! The store: everything that must survive the daemon. The only place with SQL.
//!
//! One database per project, written by one thread in whole batches, read beside it; one `user.db` with the projects
//! and an index of their sessions; beside each session's rows the derived transcript mirror and its artifacts. Called by
//! `session`, and by `cli` for reports. It decides nothing about turns: what a cut turn means is `session::recovery`'s.

mod artifact;
mod calibrations;
mod checkpoints;
mod damage;
mod database;
mod encode;
mod error;
mod grants;
mod index;
pub mod inspect;
mod memories;
mod mirror;
mod pack;
mod private;
mod project;
mod projections;
mod queue;
mod read;
mod readers;
mod record;
mod repair;
mod requests;
mod schema;
mod stores;
mod write;
mod writer;

#[cfg(test)]
mod tests;

pub use database::Health;
pub use error::StoreError;
pub use grants::LastingGrant;
pub use memories::{MEMORIES, Memory, MemoryWrite, MemoryWritten, Origin};
pub use project::ProjectStore;
pub use projections::ProjectionStats;
pub use record::{
    Counters, Elsewhere, IndexedSession, ItemPage, ListFilter, ListPage, LoadedView, ProjectRecord, RequestBody,
    RequestEntry, ResolvedEvent, SessionRecord, SessionRow, ViewItem,
};
pub use stores::Stores;
