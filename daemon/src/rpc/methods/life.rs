//! `initialize`, `shutdown`.

use super::super::conn::{MAX_BATCH, MAX_IN_FLIGHT};
use super::super::dispatch::MAX_SUBSCRIPTIONS;
use super::super::error::{WireError, param};
use super::super::framing::MESSAGE_LIMIT;
use super::super::from_wire;
use super::super::life::Life;
use jsonrpsee_core::{RpcResult, async_trait, server::Extensions};
use plimsoll_protocol::Done;
use plimsoll_protocol::error::ErrorKind;
use plimsoll_protocol::life::{
    ClientCapabilities, ClientInfo, ClientOptions, InitializeResult, LifeApiServer, ServerCapabilities, ServerInfo,
};
use plimsoll_protocol::version::{PROTOCOL, Version};
use std::sync::{Arc, OnceLock};

pub struct Methods {
    pub life: Life,
    /// The names of all methods, once the table is made.
    pub names: Arc<OnceLock<Vec<String>>>,
}

#[async_trait]
impl LifeApiServer for Methods {
    async fn initialize(
        &self,
        context: &Extensions,
        client_info: ClientInfo,
        protocol_version: String,
        _capabilities: Option<ClientCapabilities>,
        options: Option<ClientOptions>,
    ) -> RpcResult<InitializeResult> {
        let asked: Version = protocol_version.parse().map_err(|error| param("protocolVersion", error))?;
        let identity = self.life.identity();
        if asked.major != PROTOCOL.major {
            let newer = if asked.major > PROTOCOL.major { "the daemon" } else { "the client" };
            return Err(WireError::new(
                ErrorKind::IncompatibleVersion,
                format!(
                    "the client speaks protocol {asked} and this daemon ({} {}) speaks {PROTOCOL}",
                    identity.version, identity.build
                ),
            )
            .hint(format!("update {newer}"))
            .into());
        }
        let options = from_wire::options(options.unwrap_or_default())?;
        let peer = super::peer(context)?;
        peer.set_name(client_info.name);
        peer.set_options(options);
        Ok(InitializeResult {
            server_info: ServerInfo {
                name: "plimsoll".to_owned(),
                version: identity.version.clone(),
                build: identity.build.clone(),
                pid: identity.pid,
            },
            protocol_version: PROTOCOL,
            capabilities: ServerCapabilities {
                max_message_bytes: MESSAGE_LIMIT as u64,
                max_batch: u32::try_from(MAX_BATCH).unwrap_or(u32::MAX),
                max_subscriptions: MAX_SUBSCRIPTIONS,
                max_in_flight: MAX_IN_FLIGHT,
                methods: self.names.get().cloned().unwrap_or_default(),
            },
        })
    }

    async fn shutdown(&self, context: &Extensions) -> RpcResult<Done> {
        super::peer(context)?.leave();
        Ok(Done {})
    }
}
