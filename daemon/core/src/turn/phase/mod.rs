//! The phases of a turn: its begin, the model's answer, the calls, the end. Each is a set of transitions of the
//! machine.

mod answer;
mod background;
mod begin;
mod calls;
mod compact;
mod end;
mod host;
mod inject;
mod limits;
mod mode;
mod operations;
mod outcome;
mod plan;
mod request;
mod restate;
mod rules;
mod save;
mod seen;
mod session;
pub(super) mod summarize;
pub(super) mod suspend;
pub(super) mod task;
