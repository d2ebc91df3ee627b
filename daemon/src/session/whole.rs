//! Changes of files that a death of the daemon has cut are made whole, before anybody judges what became of them.

use super::checkpoint::image_folder;
use crate::store::ProjectStore;
use crate::tool::edit::{Recovered, recover};
use plimsoll_core::checkpoint;
use plimsoll_core::id::SessionId;
use plimsoll_core::ledger::{OpState, Operation};

/// Does it for those of a session's operations whose end was not seen. Done twice, it does nothing the second time. Undos
/// settle themselves: each of their files stands for itself.
pub(super) async fn make_whole(store: &ProjectStore, id: &SessionId, operations: &[Operation]) {
    let cut = |operation: &&Operation| operation.state == OpState::Running && !operation.files.is_empty();
    for operation in operations.iter().filter(cut).filter(|operation| !checkpoint::is_undo(operation)) {
        let (folder, images) = (store.session_folder(id), image_folder(store.folder()));
        let (call, operation) = (operation.call, operation.clone());
        let recovered = tokio::task::spawn_blocking(move || recover(&operation, &folder, &images)).await;
        match recovered {
            Ok(Recovered::Nothing) => {}
            Ok(recovered) => tracing::info!(session = %id, %call, %recovered, "a change that was cut"),
            Err(error) => tracing::error!(session = %id, %call, %error, "a change that was cut could not be looked at"),
        }
    }
}
