//! End to end: the real binary, a scripted model server over real HTTP, clients over the real socket. One file per
//! behaviour; each is a module here, which a tidy test checks.

mod acp_bridge;
mod acp_client;
mod acp_load;
mod acp_turns;
mod ask;
mod attachments;
mod background;
mod bad_input;
mod bridges;
mod commands;
mod consent;
mod crash;
mod daemon_life;
mod data;
mod disk_full;
mod doctor;
mod edits;
mod git;
mod images;
mod interrupt;
mod models;
mod no_network;
mod permissions;
mod plan_mode;
mod prefix;
mod sandbox;
mod secrets;
mod sessions;
mod side_by_side;
mod slow_client;
mod suspend;
mod turn;
mod undo;
mod wire;
