//! Language models: what is asked, what comes back, and the codecs between that and each vendor's wire.

pub mod calibration;
pub mod catalog;
pub mod codec;
pub mod error;
pub mod event;
pub mod offline;
pub mod request;
pub mod sse;
pub mod usage;
