//! `project/*`.

use super::super::error::{api, param};
use super::super::{from_wire, to_wire};
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_protocol::project::{ListResult, Project, ProjectApiServer};

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl ProjectApiServer for Methods {
    // The same roots give the same project: the key adds nothing.
    async fn open(&self, roots: Vec<String>, _idempotency_key: Option<String>) -> RpcResult<Project> {
        if roots.is_empty() {
            return Err(param("roots", "at least one folder is needed"));
        }
        let roots = roots.iter().map(|root| from_wire::absolute("roots", root)).collect::<Result<_, _>>()?;
        self.service.open_project(roots).await.map(|info| to_wire::project(&info)).map_err(api)
    }

    async fn list(&self) -> RpcResult<ListResult> {
        let projects = self.service.projects().await.map_err(api)?;
        Ok(ListResult { projects: projects.iter().map(to_wire::project).collect() })
    }

    // The same roots again change nothing: the key adds nothing.
    async fn relocate(
        &self,
        project: String,
        roots: Vec<String>,
        _idempotency_key: Option<String>,
    ) -> RpcResult<Project> {
        let project = from_wire::id("project", &project)?;
        if roots.is_empty() {
            return Err(param("roots", "at least one folder is needed"));
        }
        let roots = roots.iter().map(|root| from_wire::absolute("roots", root)).collect::<Result<_, _>>()?;
        self.service.relocate_project(&project, roots).await.map(|info| to_wire::project(&info)).map_err(api)
    }

    // The same again changes nothing: the key adds nothing.
    async fn trust(&self, project: String, trusted: bool, _idempotency_key: Option<String>) -> RpcResult<Project> {
        let project = from_wire::id("project", &project)?;
        self.service.trust(&project, trusted).await.map(|info| to_wire::project(&info)).map_err(api)
    }
}
