//! `editor/*`.

use super::super::error::{api, param};
use super::super::from_wire;
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait, server::Extensions};
use plimsoll_protocol::Done;
use plimsoll_protocol::editor::{EditorApiServer, EditorFile};

/// Files that an editor may name: what an assembly shows is far less.
const MAX_FILES: usize = 1000;

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl EditorApiServer for Methods {
    // What is told replaces what was told before: the key adds nothing.
    async fn state(
        &self,
        context: &Extensions,
        project: String,
        files: Vec<EditorFile>,
        _idempotency_key: Option<String>,
    ) -> RpcResult<Done> {
        if files.len() > MAX_FILES {
            return Err(param("files", format_args!("at most {MAX_FILES} files, not {}", files.len())));
        }
        let project = from_wire::id("project", &project)?;
        let state = from_wire::editor_state(files);
        self.service.set_editor_state(&super::client(context)?, &project, state).await.map_err(api)?;
        Ok(Done {})
    }
}
