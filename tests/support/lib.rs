//! What the end-to-end tests stand on: a scripted model server, a daemon on temporary folders, clients, repositories.
//!
//! Nothing here is used outside tests, so everything here may panic: a panic is a failed test that says why.

pub mod model_server;
