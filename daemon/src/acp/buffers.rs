//! Files that a prompt links to, as the client's editor has them: what is not saved yet is seen all the same. Tools read
//! the disk; so nothing depends on an answer of the client.

use super::facade::Facade;
use crate::rpc::MAX_TEXT;
use agent_client_protocol_schema::v1::{CLIENT_METHOD_NAMES, ReadTextFileRequest, ReadTextFileResponse};
use futures_util::future::join_all;
use plimsoll_core::id::SessionId;
use plimsoll_core::workspace::Attachment;
use std::pin::pin;
use std::time::Duration;

/// How long a prompt waits for what an editor has in memory.
const PATIENCE: Duration = Duration::from_secs(2);

impl Facade {
    /// The attachments with the editor's texts where the client offers them.
    pub(super) async fn as_edited(&self, id: &SessionId, attachments: Vec<Attachment>) -> Vec<Attachment> {
        if !self.offers().read_files {
            return attachments;
        }
        join_all(attachments.into_iter().map(async |attachment| {
            let Attachment::File { path, lines: None } = attachment else { return attachment };
            match self.buffer(id, &path).await {
                Some(text) => Attachment::Buffer { path, text },
                // The disk's text will do.
                None => Attachment::File { path, lines: None },
            }
        }))
        .await
    }

    async fn buffer(&self, id: &SessionId, path: &str) -> Option<String> {
        let path = crate::rpc::path_from_wire(path);
        path.to_str()?;
        let request = ReadTextFileRequest::new(id.to_string(), path);
        let pending = self.peer.request(CLIENT_METHOD_NAMES.fs_read_text_file, &request).await.ok()?;
        let number = pending.id();
        let mut answer = pin!(pending.answer());
        let answer = tokio::select! {
            answer = &mut answer => answer?,
            () = tokio::time::sleep(PATIENCE) => {
                tracing::debug!(session = %id, "the client did not read a file in time");
                // Whoever is gone needs no word.
                let _ = self.peer.withdraw(number).await;
                return None;
            }
        };
        let text = serde_json::from_str::<ReadTextFileResponse>(answer.ok()?.get()).ok()?.content;
        (text.len() <= MAX_TEXT).then_some(text)
    }
}
