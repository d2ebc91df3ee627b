//! `daemon/*`.

use super::super::{life::Life, to_wire};
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_protocol::Done;
use plimsoll_protocol::daemon::{DaemonApiServer, DaemonStatus};

pub struct Methods {
    pub life: Life,
    pub service: Service,
}

#[async_trait]
impl DaemonApiServer for Methods {
    async fn status(&self) -> RpcResult<DaemonStatus> {
        let identity = self.life.identity();
        let (sessions, turns) = self.service.counts();
        Ok(DaemonStatus {
            pid: identity.pid,
            socket: to_wire::path(&identity.socket),
            version: identity.version.clone(),
            build: identity.build.clone(),
            started_at: identity.started_at.0,
            clients: self.life.clients(),
            sessions: sessions as u64,
            turns: turns as u64,
            damaged: self.service.damages().iter().map(to_wire::search::damaged).collect(),
            jobs: self.service.jobs() as u64,
            restart_pending: self.life.is_restart_pending(),
        })
    }

    // Stopping twice is stopping once: the key adds nothing.
    async fn stop(&self, restart: Option<bool>, _idempotency_key: Option<String>) -> RpcResult<Done> {
        self.life.stop(restart == Some(true));
        Ok(Done {})
    }
}
