//! Whether the folders of sessions are there.

use super::super::api::SessionInfo;
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::Duration;

/// How long a list waits for file systems: one that hangs must not hang it.
const LOOK: Duration = Duration::from_millis(500);

/// Notes which sessions have a root that is gone. What cannot be found out in time is not said.
pub(super) async fn note(sessions: &mut [SessionInfo]) {
    let roots: BTreeSet<PathBuf> = sessions.iter().flat_map(|session| session.roots.iter().cloned()).collect();
    let look = tokio::task::spawn_blocking(move || {
        roots.into_iter().filter(|root| !root.is_dir()).collect::<HashSet<PathBuf>>()
    });
    let Ok(Ok(gone)) = tokio::time::timeout(LOOK, look).await else { return };
    if gone.is_empty() {
        return;
    }
    for session in sessions {
        session.workspace_missing = session.roots.iter().any(|root| gone.contains(root));
    }
}
