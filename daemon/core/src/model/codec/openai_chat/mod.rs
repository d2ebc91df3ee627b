//! OpenAI Chat Completions, as OpenAI and many other servers speak it.

pub(super) mod decode;
pub(super) mod encode;
