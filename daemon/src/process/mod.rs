//! To be filled.

pub mod detach;
