//! The store: everything that must survive the daemon. The only place with SQL.
//!
//! One database per project, written by one thread in whole batches, read beside it; one `user.db` with the projects
//! and an index of their sessions; beside each session's rows the derived transcript mirror and its artifacts. Called by
//! `session`, and by `cli` for reports. It decides nothing about turns: what a cut turn means is `session::recovery`'s.

mod account;
mod artifact;
mod calibrations;
mod changes;
mod checkpoints;
mod damage;
mod database;
mod encode;
mod error;
mod fork;
mod forks;
mod grants;
mod history;
mod index;
pub mod inspect;
mod ledger;
mod list;
mod memories;
mod mirror;
mod pack;
mod pages;
mod private;
mod project;
mod projections;
mod queue;
mod read;
mod readers;
mod record;
mod relocate;
mod repair;
mod requests;
mod rewound;
mod roots;
mod schema;
mod search;
mod sent;
mod shared;
mod side;
mod stores;
mod task;
mod verified;
mod write;
mod writer;

#[cfg(test)]
mod tests;

pub use database::Health;
pub use error::StoreError;
pub use forks::ForkRecord;
pub use grants::LastingGrant;
pub use history::LastSwitch;
pub use ledger::LastEnd;
pub use memories::{MEMORIES, Memory, MemoryWrite, MemoryWritten, Origin};
pub use mirror::MirrorState;
pub use project::ProjectStore;
pub use projections::ProjectionStats;
pub use record::{
    AllSent, Archived, Counters, DamagedRequest, Elsewhere, IndexedSession, ItemPage, ListFilter, ListPage, LoadedView,
    ProjectRecord, RequestBody, RequestEntry, ResolvedEvent, SentRequest, SessionOrigin, SessionRecord, SessionRow,
    ViewItem,
};
pub use search::{ItemHit, Room, Scanned, Search};
pub use side::SideEntry;
pub use stores::Stores;
pub use task::{Cited, Shown};
