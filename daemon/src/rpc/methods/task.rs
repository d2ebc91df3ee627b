//! `task/*`.

use super::super::error::{api, param};
use super::super::{from_wire, to_wire};
use super::repeat::Repeats;
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait};
use plimsoll_core::task::Phase as CorePhase;
use plimsoll_core::task::change::Change;
use plimsoll_protocol::task::{NewConstraint, Phase, TaskApiServer, TaskState};

pub struct Methods {
    pub service: Service,
    /// A constraint that was added must not be added twice.
    pub set: Repeats,
}

#[async_trait]
impl TaskApiServer for Methods {
    async fn get(&self, session: String) -> RpcResult<TaskState> {
        let info = self.service.task(&from_wire::id("session", &session)?).await.map_err(api)?;
        Ok(to_wire::task::task_state(&info))
    }

    async fn set(
        &self,
        session: String,
        goal: Option<String>,
        phase: Option<Phase>,
        next: Option<String>,
        add_constraints: Option<Vec<NewConstraint>>,
        remove_constraints: Option<Vec<u32>>,
        waive: Option<bool>,
        idempotency_key: Option<String>,
    ) -> RpcResult<TaskState> {
        let id = from_wire::id("session", &session)?;
        let phase = match phase {
            None => None,
            Some(Phase::Investigate) => Some(CorePhase::Investigate),
            Some(Phase::Implement) => Some(CorePhase::Implement),
            Some(Phase::Verify) => Some(CorePhase::Verify),
            Some(Phase::Done) => Some(CorePhase::Done),
            Some(Phase::Other(other)) => {
                let right = "there are `investigate`, `implement`, `verify` and `done`";
                return Err(param("phase", format_args!("there is no phase `{other}`; {right}")));
            }
        };
        let add = add_constraints.unwrap_or_default().into_iter().map(|new| (new.quote, new.denies)).collect();
        let change = Change { goal, phase, next, add, remove: remove_constraints.unwrap_or_default(), waive };
        let key = idempotency_key.as_deref();
        let info = match key {
            Some(key) if !self.set.is_new(&session, key) => self.service.task(&id).await,
            _ => self.service.set_task(&id, change).await.inspect_err(|_| {
                if let Some(key) = key {
                    self.set.forget(&session, key);
                }
            }),
        };
        info.map(|info| to_wire::task::task_state(&info)).map_err(api)
    }
}
