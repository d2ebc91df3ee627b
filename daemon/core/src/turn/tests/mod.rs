//! Properties of the machine: whatever happens in whatever order, calls and results stay paired, turns end, what is
//! stored has no gaps, and a session that is taken up again goes on with the same bytes.

mod amid;
mod background;
mod behaviour;
mod compaction;
mod disk;
mod edges;
mod epochs;
mod facts;
mod forks;
mod goldens;
mod limits;
mod operations;
mod orphans;
mod permission;
mod plan;
mod preparing;
mod preview;
mod random;
mod reader;
mod reminders;
mod rules;
mod saving;
mod seen;
mod sessions;
mod sizes;
mod stored;
mod suspend;
mod tasks;
mod world;
