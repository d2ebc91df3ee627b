//! The methods of the native API, one file per resource: each maps parameters, asks the service, maps the answer.

mod checkpoint;
mod context;
mod daemon;
mod editor;
pub(super) mod life;
mod memory;
mod permission;
mod project;
pub(super) mod repeat;
mod request;
mod session;
mod transcript;
mod turn;

use super::conn::Peer;
use super::error::WireError;
use super::life::Life;
use crate::session::api::Client;
use crate::session::service::Service;
use jsonrpsee_core::server::{Extensions, Methods};
use jsonrpsee_types::ErrorObjectOwned;
use plimsoll_protocol::checkpoint::CheckpointApiServer as _;
use plimsoll_protocol::context::ContextApiServer as _;
use plimsoll_protocol::daemon::DaemonApiServer as _;
use plimsoll_protocol::editor::EditorApiServer as _;
use plimsoll_protocol::error::ErrorKind;
use plimsoll_protocol::life::LifeApiServer as _;
use plimsoll_protocol::memory::MemoryApiServer as _;
use plimsoll_protocol::permission::PermissionApiServer as _;
use plimsoll_protocol::project::ProjectApiServer as _;
use plimsoll_protocol::request::RequestApiServer as _;
use plimsoll_protocol::session::SessionApiServer as _;
use plimsoll_protocol::transcript::TranscriptApiServer as _;
use plimsoll_protocol::turn::TurnApiServer as _;
use std::sync::Arc;

/// The table of all methods.
pub fn module(service: Service, life: Life) -> Methods {
    let steered = life.steered();
    let parts: [Methods; 12] = [
        life::Methods { life: life.clone() }.into_rpc().into(),
        daemon::Methods { life, service: service.clone() }.into_rpc().into(),
        project::Methods { service: service.clone() }.into_rpc().into(),
        session::Methods { service: service.clone() }.into_rpc().into(),
        transcript::Methods { service: service.clone() }.into_rpc().into(),
        turn::Methods { service: service.clone(), steered }.into_rpc().into(),
        permission::Methods { service: service.clone() }.into_rpc().into(),
        memory::Methods { service: service.clone() }.into_rpc().into(),
        checkpoint::Methods { service: service.clone() }.into_rpc().into(),
        context::Methods { service: service.clone() }.into_rpc().into(),
        request::Methods { service: service.clone() }.into_rpc().into(),
        editor::Methods { service }.into_rpc().into(),
    ];
    let mut all = Methods::new();
    for part in parts {
        if let Err(error) = all.merge(part) {
            // Names are unique by their resource; a test compares the table with the schema.
            tracing::error!(%error, "a method is registered twice");
        }
    }
    all
}

/// The connection of a call.
fn peer(context: &Extensions) -> Result<Arc<Peer>, ErrorObjectOwned> {
    context
        .get::<Arc<Peer>>()
        .cloned()
        .ok_or_else(|| WireError::new(ErrorKind::Internal, "the call has no connection").into())
}

/// Who calls.
fn client(context: &Extensions) -> Result<Client, ErrorObjectOwned> {
    Ok(peer(context)?.client())
}
