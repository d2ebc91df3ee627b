//! `transcript/*`.

use super::super::error::api;
use super::super::{from_wire, to_wire};
use crate::session::api::{SearchFor, TranscriptRange};
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_protocol::transcript::{Page, RebuildResult, SearchResult, TranscriptApiServer};

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

    async fn search(
        &self,
        query: String,
        session: Option<String>,
        project: Option<String>,
        kinds: Option<Vec<String>>,
        cursor: Option<String>,
        limit: Option<u32>,
    ) -> RpcResult<SearchResult> {
        let asked = SearchFor {
            query,
            scope: from_wire::search::scope(session.as_deref(), project.as_deref())?,
            kinds: from_wire::search::kinds(&kinds.unwrap_or_default())?,
            cursor,
            limit: from_wire::search::limit(limit)?,
        };
        self.service.search(asked).await.map(to_wire::search::page).map_err(api)
    }

    // It makes what is there already: the key adds nothing.
    async fn rebuild(&self, session: String, _idempotency_key: Option<String>) -> RpcResult<RebuildResult> {
        let session = from_wire::id("session", &session)?;
        let rebuilt = self.service.rebuild(&session).await;
        rebuilt.map(|rebuilt| to_wire::search::rebuilt(&session, &rebuilt)).map_err(api)
    }
}
