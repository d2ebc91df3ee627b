//! `context/*`.

use super::super::error::{api, param};
use super::super::{from_wire, to_wire};
use super::repeat::Repeats;
use crate::session::inspect::Ask;
use crate::session::service::Service;
use jsonrpsee_core::server::Extensions;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_core::workspace::Attachment;
use plimsoll_protocol::context::{CompactResult, ContextApiServer, Inspection, PreviewFile};

/// Files that a preview may name.
const MAX_FILES: usize = 100;

pub struct Methods {
    pub service: Service,
    /// One that was begun must not be begun twice.
    pub compacted: Repeats,
}

#[async_trait]
impl ContextApiServer for Methods {
    async fn inspect(&self, context: &Extensions, session: String) -> RpcResult<Inspection> {
        let session = from_wire::id("session", &session)?;
        let found = self.service.inspect(&super::client(context)?, &session).await;
        found.map(|inspection| to_wire::context::inspection(&inspection)).map_err(api)
    }

    async fn preview(
        &self,
        context: &Extensions,
        session: String,
        text: Option<String>,
        files: Option<Vec<PreviewFile>>,
        model: Option<String>,
    ) -> RpcResult<Inspection> {
        let session = from_wire::id("session", &session)?;
        let files = files.unwrap_or_default();
        if files.len() > MAX_FILES {
            return Err(param("files", format_args!("{} are more than {MAX_FILES}", files.len())));
        }
        let attachments = files
            .into_iter()
            .map(|file| Attachment::File { path: file.path, lines: file.lines.map(|lines| (lines.start, lines.end)) });
        let ask = Ask { text: text.unwrap_or_default(), attachments: attachments.collect(), model };
        let found = self.service.preview(&super::client(context)?, &session, ask).await;
        found.map(|inspection| to_wire::context::inspection(&inspection)).map_err(api)
    }

    async fn compact(
        &self,
        context: &Extensions,
        session: String,
        focus: Option<String>,
        idempotency_key: Option<String>,
    ) -> RpcResult<CompactResult> {
        let id = from_wire::id("session", &session)?;
        let key = idempotency_key.as_deref();
        if key.is_none_or(|key| self.compacted.is_new(&session, key)) {
            let begun = self.service.compact(&super::client(context)?, &id, focus).await;
            begun.map_err(|error| {
                if let Some(key) = key {
                    self.compacted.forget(&session, key);
                }
                api(error)
            })?;
        }
        Ok(CompactResult { started: true })
    }
}
