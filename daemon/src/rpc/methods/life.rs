//! `initialize`.

use super::super::conn::{MAX_BATCH, MAX_IN_FLIGHT};
use super::super::dispatch::MAX_SUBSCRIPTIONS;
use super::super::error::{WireError, param};
use super::super::framing::MESSAGE_LIMIT;
use super::super::life::Life;
use jsonrpsee_core::{RpcResult, async_trait, server::Extensions};
use plimsoll_protocol::error::ErrorKind;
use plimsoll_protocol::life::{
    ClientCapabilities, ClientInfo, InitializeResult, LifeApiServer, ServerCapabilities, ServerInfo,
};
use plimsoll_protocol::version::{PROTOCOL, Version};

pub struct Methods {
    pub life: Life,
}

#[async_trait]
impl LifeApiServer for Methods {
    async fn initialize(
        &self,
        context: &Extensions,
        client_info: ClientInfo,
        protocol_version: String,
        _capabilities: Option<ClientCapabilities>,
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
        super::peer(context)?.set_name(client_info.name);
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
            },
        })
    }
}
