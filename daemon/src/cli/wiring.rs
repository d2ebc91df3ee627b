//! What a daemon is made of besides its loop: the sessions and the facades. The one place where `cli` meets them.

use super::build;
use crate::acp;
use crate::config::Folders;
use crate::process::Helper;
use crate::rpc;
use crate::rpc::life::{Identity, Life};
use crate::session::api::CloseReason;
use crate::session::service::Service;
use crate::store::{StoreError, Stores};
use plimsoll_core::time::Timestamp;
use plimsoll_protocol::hello::Binary;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::net::UnixStream;

/// The parts; cheap to clone.
#[derive(Clone)]
pub struct Parts {
    service: Service,
    life: Life,
}

/// A part cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The own binary, which starts commands.
    #[error("the path of this program cannot be found: {0}")]
    Program(std::io::Error),
}

impl Parts {
    /// Opens the stores.
    pub async fn open(folders: &Folders, socket: &Path) -> Result<Self, OpenError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let life = Life::new(Identity {
            pid: std::process::id(),
            socket: socket.to_owned(),
            version: build::version().to_owned(),
            build: build::id().to_owned(),
            binary: build::binary().map(|binary| Binary { path: None, ..binary }),
            started_at: Timestamp(i64::try_from(now.as_millis()).unwrap_or(i64::MAX)),
        });
        let stores = Stores::open(&folders.data).await?;
        let helper = Helper::own().map_err(OpenError::Program)?;
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Ok(Self { service: Service::new(folders.clone(), environment, stores, helper), life })
    }

    /// Settles what the last daemon left running.
    pub async fn recover(&self) {
        self.service.recover().await;
    }

    /// The daemon's own facts, as connections see them.
    pub fn life(&self) -> &Life {
        &self.life
    }

    /// How much runs now: turns and commands in the background.
    pub fn work(&self) -> usize {
        self.service.work()
    }

    /// Lets nothing begin any more if nothing runs; whether that is so.
    pub fn come_to_rest(&self) -> bool {
        self.service.come_to_rest()
    }

    /// Serves one connection to its end.
    pub async fn connection(self, stream: UnixStream) {
        rpc::accept::handle(stream, self.service, self.life, acp::serve).await;
    }

    /// Waits until a client asks the daemon to end.
    pub async fn stop_requested(&self) {
        self.life.stop_requested().await;
    }

    /// Interrupts running turns and waits until all is stored. Who follows a session is told the reason.
    pub async fn shutdown(&self, reason: CloseReason) {
        self.service.shutdown(reason).await;
    }

    /// Lets connections end when they have said what they still have to say.
    pub fn close_connections(&self) {
        self.life.close_connections();
    }
}
