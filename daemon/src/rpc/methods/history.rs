//! `session/fork`, `session/rewind`, `session/export`, `session/import`.

use super::super::error::{api, param};
use super::super::{from_wire, to_wire};
use super::repeat::Repeats;
use crate::session::service::{NewFork, Service};
use crate::session::transfer::Format;
use jsonrpsee_core::server::Extensions;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_core::checkpoint::How;
use plimsoll_core::id::{ItemNo, TurnNo};
use plimsoll_protocol::history::{ExportFormat, ExportResult, HistoryApiServer};
use plimsoll_protocol::session::SessionInfo;

/// Bytes of a page when the client does not say.
const PAGE: u32 = 1 << 20;

/// Most bytes of a page: quoted as JSON it may be several times as long, and must fit a message.
const MAX_PAGE: u32 = 4 << 20;

pub struct Methods {
    pub service: Service,
    /// A conversation that has gone back cannot do so again.
    pub rewound: Repeats,
}

#[async_trait]
impl HistoryApiServer for Methods {
    async fn fork(
        &self,
        session: String,
        item: Option<u64>,
        title: Option<String>,
        idempotency_key: Option<String>,
    ) -> RpcResult<SessionInfo> {
        let fork = NewFork { item: item.map(ItemNo), title, key: idempotency_key };
        let info = self.service.fork_session(&from_wire::id("session", &session)?, fork).await;
        info.map(|info| to_wire::session(&info)).map_err(api)
    }

    async fn rewind(
        &self,
        session: String,
        turn: u64,
        files: Option<bool>,
        skip: Option<bool>,
        idempotency_key: Option<String>,
    ) -> RpcResult<SessionInfo> {
        let id = from_wire::id("session", &session)?;
        let (files, skip) = (files.unwrap_or_default(), skip.unwrap_or_default());
        if skip && !files {
            return Err(param("skip", format_args!("it says what to do with files; give `files` too")));
        }
        let files = files.then_some(How { skip, force: false });
        let key = idempotency_key.as_deref();
        let info = match key {
            Some(key) if !self.rewound.is_new(&session, key) => self.service.get_session(&id).await,
            _ => self.service.rewind_session(&id, TurnNo(turn), files).await.inspect_err(|_| {
                if let Some(key) = key {
                    self.rewound.forget(&session, key);
                }
            }),
        };
        info.map(|info| to_wire::session(&info)).map_err(api)
    }

    async fn export(
        &self,
        session: String,
        format: ExportFormat,
        offset: Option<u64>,
        limit: Option<u32>,
    ) -> RpcResult<ExportResult> {
        let id = from_wire::id("session", &session)?;
        let limit = limit.unwrap_or(PAGE);
        if !(1..=MAX_PAGE).contains(&limit) {
            return Err(param("limit", format_args!("{limit} is not from 1 to {MAX_PAGE}")));
        }
        let format = match format {
            ExportFormat::Jsonl => Format::Jsonl,
            ExportFormat::Markdown => Format::Markdown,
        };
        let page = self.service.export_session(&id, format, offset.unwrap_or(0), limit as usize).await.map_err(api)?;
        let bytes = page.text.len() as u64;
        Ok(ExportResult { text: page.text, offset: page.offset, bytes, next_offset: page.next })
    }

    async fn import(
        &self,
        context: &Extensions,
        project: String,
        data: String,
        idempotency_key: Option<String>,
    ) -> RpcResult<SessionInfo> {
        let project = from_wire::id("project", &project)?;
        let info = self.service.import_session(&super::client(context)?, &project, data, idempotency_key).await;
        info.map(|info| to_wire::session(&info)).map_err(api)
    }
}
