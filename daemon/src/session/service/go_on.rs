//! Going on with a turn that was cut.

use super::super::actor::Msg;
use super::super::api::{AcceptedTurn, ApiError, Client};
use super::super::live;
use super::Service;
use plimsoll_core::id::SessionId;

impl Service {
    /// Begins a turn that goes on with the last one, which was cut; refused where that came to its end, or a turn runs.
    pub async fn continue_turn(
        &self,
        client: &Client,
        id: &SessionId,
        key: Option<String>,
    ) -> Result<AcceptedTurn, ApiError> {
        let _beginning = self.beginning();
        let handle = self.live(id).await?;
        let order = handle.order.lock().await;
        let setup = Box::new(handle.project.turn(id, client, &handle.chosen).await);
        let answer = handle.send(|reply| Msg::GoOn { setup, key, reply }).await?;
        drop(order);
        answer.await.map_err(|_| live::gone())?
    }
}
