//! Projection: the text of a tool's result that enters the view. Pure.

pub mod command;
