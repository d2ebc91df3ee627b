//! What commands left running when they ended: kept alive by their helpers until the session or the daemon ends.
//!
//! One object for the whole daemon. The tool hands over, sessions and shutdown end.

use super::run::Running;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// See the module's head. Dropping it ends everything.
#[derive(Debug, Default)]
pub struct Background {
    sessions: Mutex<HashMap<PathBuf, Kept>>,
}

/// What one session left running.
#[derive(Debug)]
struct Kept {
    tasks: TaskTracker,
    /// Ends it all.
    end: DropGuard,
}

impl Background {
    /// Keeps what an ended command left running, for the session with this folder.
    pub fn keep(&self, session_dir: &Path, mut running: Running) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, kept| !kept.tasks.is_empty());
        let kept = sessions
            .entry(session_dir.to_owned())
            .or_insert_with(|| Kept { tasks: TaskTracker::new(), end: CancellationToken::new().drop_guard() });
        let end = kept.end.token().clone();
        kept.tasks.spawn(async move {
            tokio::select! {
                () = running.left_ended() => {}
                () = end.cancelled() => {}
            }
            running.close().await;
        });
    }

    /// How many commands of this session left something that still runs.
    pub fn count(&self, session_dir: &Path) -> usize {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(session_dir).map_or(0, |kept| kept.tasks.len())
    }

    /// Ends what the session with this folder left running; returns when it has ended or did not go when killed.
    pub async fn end_session(&self, session_dir: &Path) {
        let kept = self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(session_dir);
        if let Some(kept) = kept {
            kept.finish().await;
        }
    }

    /// Ends everything, for the end of the daemon.
    pub async fn end_all(&self) {
        let all: Vec<Kept> =
            self.sessions.lock().unwrap_or_else(PoisonError::into_inner).drain().map(|(_, kept)| kept).collect();
        futures_util::future::join_all(all.into_iter().map(Kept::finish)).await;
    }
}

impl Kept {
    async fn finish(self) {
        drop(self.end);
        self.tasks.close();
        self.tasks.wait().await;
    }
}
