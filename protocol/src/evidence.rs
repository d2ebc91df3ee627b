//! Evidence: what one call showed at one revision.

use crate::transcript::CallStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a call showed then, and how that stands now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Its id, such as `e/c7@r42`.
    pub evidence: String,
    /// The call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The item of the result.
    pub item: u64,
    /// What the model was shown.
    pub text: String,
    /// How the call ended.
    pub status: CallStatus,
    /// The files of which it was shown something.
    pub files: Vec<EvidenceFile>,
    /// Whether it may be otherwise now: a file is not as it was shown or, where no file was shown, the project has changed.
    pub stale: bool,
    /// The project's revision now.
    pub revision: String,
}

/// A file of an evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceFile {
    /// Canonical absolute path.
    pub path: String,
    /// The version that was shown.
    pub version: String,
    /// How it stands now.
    pub now: FileNow,
}

/// How a file stands beside the version that was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileNow {
    /// It is that version.
    Same,
    /// It is another.
    Changed,
    /// It is not there.
    Gone,
    /// It cannot be read.
    Unknown,
    /// Something that a newer daemon sends.
    #[serde(untagged)]
    Other(String),
}

/// Parameters of `evidence/get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetParams {
    /// The session.
    pub session: String,
    /// The evidence id.
    pub evidence: String,
}

#[cfg(any(feature = "server", feature = "client"))]
mod api {
    use super::Evidence;
    use jsonrpsee::proc_macros::rpc;

    /// Evidence.
    #[cfg_attr(
        all(feature = "server", feature = "client"),
        rpc(server, client, namespace = "evidence", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "server", not(feature = "client")),
        rpc(server, namespace = "evidence", namespace_separator = "/")
    )]
    #[cfg_attr(
        all(feature = "client", not(feature = "server")),
        rpc(client, namespace = "evidence", namespace_separator = "/")
    )]
    pub trait EvidenceApi {
        /// What a call showed, and how that stands now.
        #[method(name = "get", param_kind = map)]
        async fn get(&self, session: String, evidence: String) -> jsonrpsee::core::RpcResult<Evidence>;
    }
}

#[cfg(feature = "client")]
pub use api::EvidenceApiClient;
#[cfg(feature = "server")]
pub use api::EvidenceApiServer;
