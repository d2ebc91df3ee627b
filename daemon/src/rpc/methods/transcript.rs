//! `transcript/*`.

use super::super::error::api;
use super::super::{from_wire, to_wire};
use crate::session::api::TranscriptRange;
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_protocol::transcript::{Page, TranscriptApiServer};

/// About how long a page may be: half a message.
const PAGE_BYTES: usize = super::super::framing::MESSAGE_LIMIT / 2;

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl TranscriptApiServer for Methods {
    async fn read(
        &self,
        session: String,
        after: Option<u64>,
        before: Option<u64>,
        limit: Option<u32>,
    ) -> RpcResult<Page> {
        let session = from_wire::id("session", &session)?;
        let range = from_wire::range(after, before, limit)?;
        let forward = matches!(range, TranscriptRange::After { .. });
        let page = self.service.read_transcript(&session, range).await.map_err(api)?;
        Ok(to_wire::page(&page, forward, PAGE_BYTES))
    }
}
