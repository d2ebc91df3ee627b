//! HTTP to model servers. The only place with `reqwest` besides the web tool.

pub mod endpoint;
