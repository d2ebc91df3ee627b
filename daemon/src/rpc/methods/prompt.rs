//! `prompt/*`.

use super::super::error::api;
use super::super::{from_wire, to_wire};
use crate::session::service::{Service, TextInForce};
use jsonrpsee_core::server::Extensions;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_protocol::prompt::{ListResult, PromptApiServer, TextInfo, TextSource};

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl PromptApiServer for Methods {
    async fn list(&self, context: &Extensions, session: String) -> RpcResult<ListResult> {
        let client = super::client(context)?;
        let found = self.service.texts_in_force(&client, &from_wire::id("session", &session)?).await.map_err(api)?;
        Ok(ListResult {
            bundle: found.bundle.word().to_owned(),
            base: found.base,
            texts: found.texts.into_iter().map(info).collect(),
            warnings: found.warnings,
        })
    }
}

fn info(text: TextInForce) -> TextInfo {
    TextInfo {
        path: text.path.to_owned(),
        source: if text.own { TextSource::Own } else { TextSource::BuiltIn },
        file: text.file.as_deref().map(to_wire::path),
        bytes: text.bytes,
    }
}
