//! `request/*`.

use super::super::error::{api, param};
use super::super::{from_wire, to_wire};
use crate::session::service::Service;
use jsonrpsee_core::server::Extensions;
use jsonrpsee_core::{RpcResult, async_trait};
use jsonrpsee_types::ErrorObjectOwned;
use plimsoll_core::id::{RequestNo, SideNo};
use plimsoll_protocol::request::{GetResult, ListResult, ProjectionsResult, ReplayResult, RequestApiServer};

/// Bytes of a body in one answer. Escaped they may become several times as many, and a message has a limit.
const PAGE: u32 = 4 * 1024 * 1024;
const MAX_PAGE: u32 = 16 * 1024 * 1024;

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl RequestApiServer for Methods {
    async fn list(
        &self,
        context: &Extensions,
        session: String,
        before: Option<u64>,
        limit: Option<u32>,
    ) -> RpcResult<ListResult> {
        let (session, limit) = (from_wire::id("session", &session)?, from_wire::list_limit(limit)?);
        let page = self.service.requests(&super::client(context)?, &session, before.map(RequestNo), limit).await;
        page.map(|page| to_wire::request::page(&page)).map_err(api)
    }

    async fn get(
        &self,
        context: &Extensions,
        session: String,
        request: Option<u64>,
        side: Option<u64>,
        check: Option<bool>,
    ) -> RpcResult<GetResult> {
        let session = from_wire::id("session", &session)?;
        let (client, check) = (super::client(context)?, check.unwrap_or_default());
        match which(request, side)? {
            Which::Own(no) => {
                let detail = self.service.request(&client, &session, no, check).await;
                detail.map(|detail| to_wire::request::detail(&detail)).map_err(api)
            }
            Which::Side(_) if check => Err(param(
                "check",
                "a request beside the conversation is not made from items: there is nothing to compare",
            )),
            Which::Side(no) => {
                let detail = self.service.side_request(&client, &session, no).await;
                detail.map(|detail| to_wire::request::side_detail(&detail)).map_err(api)
            }
        }
    }

    async fn replay(
        &self,
        session: String,
        request: Option<u64>,
        side: Option<u64>,
        offset: Option<u64>,
        limit: Option<u32>,
    ) -> RpcResult<ReplayResult> {
        let session = from_wire::id("session", &session)?;
        let limit = limit.unwrap_or(PAGE);
        if !(1..=MAX_PAGE).contains(&limit) {
            return Err(param("limit", format_args!("{limit} is not between 1 and {MAX_PAGE}")));
        }
        let body = match which(request, side)? {
            Which::Own(no) => self.service.replay(&session, no).await,
            Which::Side(no) => self.service.replay_side(&session, no).await,
        };
        let body = body.map_err(api)?;
        let bytes = body.len();
        let start = usize::try_from(offset.unwrap_or_default()).ok().filter(|start| body.is_char_boundary(*start));
        let Some(start) = start else {
            let why = format!("the body has {bytes} bytes, and no character begins there");
            return Err(param("offset", why));
        };
        let end = cut(&body, start, limit as usize);
        Ok(ReplayResult {
            text: body.get(start..end).unwrap_or_default().to_owned(),
            offset: start as u64,
            bytes: bytes as u64,
            next_offset: (end < bytes).then_some(end as u64),
        })
    }

    async fn projections(&self, session: String, all: Option<bool>) -> RpcResult<ProjectionsResult> {
        let session = from_wire::id("session", &session)?;
        let found = self.service.projections(&session, all.unwrap_or_default()).await.map_err(api)?;
        Ok(ProjectionsResult { projections: found.iter().map(to_wire::request::projection).collect() })
    }
}

/// A request of the conversation, or one beside it.
enum Which {
    Own(RequestNo),
    Side(SideNo),
}

fn which(request: Option<u64>, side: Option<u64>) -> Result<Which, ErrorObjectOwned> {
    match (request, side) {
        (Some(request), None) => Ok(Which::Own(RequestNo(request))),
        (None, Some(side)) => Ok(Which::Side(SideNo(side))),
        (None, None) => Err(param("request", "is missing; give it, or `side` for one beside the conversation")),
        (Some(_), Some(_)) => Err(param("side", "`request` is given too; give one of them")),
    }
}

/// The end of a page: about `limit` bytes on, between two characters, and further than its start.
fn cut(body: &str, start: usize, limit: usize) -> usize {
    let mut end = start.saturating_add(limit).min(body.len());
    while !body.is_char_boundary(end) {
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_cut_between_characters_and_join_to_the_whole() {
        let body = "a\u{e4}\u{4f60}b\u{1f600}";
        for limit in 1..12 {
            let (mut at, mut joined) = (0, String::new());
            while at < body.len() {
                let end = cut(body, at, limit);
                assert!(end > at);
                joined.push_str(&body[at..end]);
                at = end;
            }
            assert_eq!(joined, body, "{limit}");
        }
    }
}
