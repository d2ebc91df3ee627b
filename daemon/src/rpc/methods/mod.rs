//! The methods of the native API, one file per resource: each maps parameters, asks the service, maps the answer.

mod auth;
mod checkpoint;
mod config;
mod context;
mod daemon;
mod editor;
mod evidence;
mod history;
pub(super) mod life;
mod memory;
mod model;
mod operation;
mod permission;
mod project;
mod prompt;
pub(super) mod repeat;
mod request;
mod rule;
mod session;
mod skill;
mod task;
mod todo;
mod transcript;
mod turn;

use super::conn::Peer;
use super::error::WireError;
use super::life::Life;
use crate::session::api::Client;
use crate::session::service::Service;
use jsonrpsee_core::server::{Extensions, Methods};
use jsonrpsee_types::ErrorObjectOwned;
use plimsoll_protocol::auth::AuthApiServer as _;
use plimsoll_protocol::checkpoint::CheckpointApiServer as _;
use plimsoll_protocol::config::ConfigApiServer as _;
use plimsoll_protocol::context::ContextApiServer as _;
use plimsoll_protocol::daemon::DaemonApiServer as _;
use plimsoll_protocol::editor::EditorApiServer as _;
use plimsoll_protocol::error::ErrorKind;
use plimsoll_protocol::evidence::EvidenceApiServer as _;
use plimsoll_protocol::history::HistoryApiServer as _;
use plimsoll_protocol::life::LifeApiServer as _;
use plimsoll_protocol::memory::MemoryApiServer as _;
use plimsoll_protocol::model::ModelApiServer as _;
use plimsoll_protocol::operation::OperationApiServer as _;
use plimsoll_protocol::permission::PermissionApiServer as _;
use plimsoll_protocol::project::ProjectApiServer as _;
use plimsoll_protocol::prompt::PromptApiServer as _;
use plimsoll_protocol::request::RequestApiServer as _;
use plimsoll_protocol::rule::RuleApiServer as _;
use plimsoll_protocol::session::SessionApiServer as _;
use plimsoll_protocol::skill::SkillApiServer as _;
use plimsoll_protocol::task::TaskApiServer as _;
use plimsoll_protocol::todo::TodoApiServer as _;
use plimsoll_protocol::transcript::TranscriptApiServer as _;
use plimsoll_protocol::turn::TurnApiServer as _;
use std::sync::{Arc, OnceLock};

/// The table of all methods.
pub fn module(service: Service, life: Life) -> Methods {
    let steered = life.steered();
    let names = Arc::new(OnceLock::new());
    let parts: [Methods; 23] = [
        life::Methods { life: life.clone(), names: Arc::clone(&names) }.into_rpc().into(),
        daemon::Methods { life: life.clone(), service: service.clone() }.into_rpc().into(),
        project::Methods { service: service.clone() }.into_rpc().into(),
        session::Methods { service: service.clone(), life: life.clone() }.into_rpc().into(),
        history::Methods { service: service.clone(), rewound: repeat::Repeats::default() }.into_rpc().into(),
        transcript::Methods { service: service.clone() }.into_rpc().into(),
        turn::Methods { service: service.clone(), steered }.into_rpc().into(),
        permission::Methods { service: service.clone() }.into_rpc().into(),
        memory::Methods { service: service.clone() }.into_rpc().into(),
        rule::Methods { service: service.clone() }.into_rpc().into(),
        skill::Methods { service: service.clone() }.into_rpc().into(),
        prompt::Methods { service: service.clone() }.into_rpc().into(),
        todo::Methods { service: service.clone() }.into_rpc().into(),
        task::Methods { service: service.clone(), set: repeat::Repeats::default() }.into_rpc().into(),
        evidence::Methods { service: service.clone() }.into_rpc().into(),
        checkpoint::Methods { service: service.clone() }.into_rpc().into(),
        operation::Methods { service: service.clone() }.into_rpc().into(),
        context::Methods { service: service.clone(), compacted: repeat::Repeats::default() }.into_rpc().into(),
        config::Methods { service: service.clone() }.into_rpc().into(),
        model::Methods { service: service.clone() }.into_rpc().into(),
        auth::Methods { service: service.clone() }.into_rpc().into(),
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
    let mut offered: Vec<String> = all.method_names().map(str::to_owned).collect();
    offered.sort_unstable();
    let _ = names.set(offered);
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
