//! A few connections that read beside the writer, each used by one blocking task at a time.

use super::{StoreError, database};
use rusqlite::{Connection, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// Readers of one database at the same time. Pages are read in milliseconds; more would only cost memory.
const READERS: u32 = 2;

/// See the module's head. Cheap to clone.
#[derive(Clone)]
pub(super) struct Readers {
    path: Arc<PathBuf>,
    most: u32,
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Connection>>>,
    suspect: Arc<AtomicBool>,
}

impl Readers {
    /// `suspect` is set when the database turns out to be damaged.
    pub(super) fn new(path: &Path, suspect: Arc<AtomicBool>) -> Self {
        Self::of(path, READERS, suspect)
    }

    /// One reader, for what takes long: it waits for its like and for nobody else.
    pub(super) fn single(path: &Path, suspect: Arc<AtomicBool>) -> Self {
        Self::of(path, 1, suspect)
    }

    fn of(path: &Path, most: u32, suspect: Arc<AtomicBool>) -> Self {
        Self {
            path: Arc::new(path.to_owned()),
            most,
            permits: Arc::new(Semaphore::new(most as usize)),
            idle: Arc::new(Mutex::new(Vec::new())),
            suspect,
        }
    }

    /// Runs `work` on a connection, in one read transaction, away from the async threads.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
            return Err(StoreError::closed(&self.path));
        };
        let (path, idle) = (Arc::clone(&self.path), Arc::clone(&self.idle));
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let sqlite = |source| StoreError::sqlite(&path, source);
            let waiting = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut connection = match waiting {
                Some(connection) => connection,
                None => database::reader(&path)?,
            };
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred).map_err(sqlite)?;
            let result = work(&transaction)?;
            transaction.finish().map_err(sqlite)?;
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            Ok(result)
        });
        // A panic in `work` is the caller's failure alone: its connection is dropped with it.
        let result = task.await.unwrap_or_else(|_| Err(StoreError::closed(&self.path)));
        if let Err(StoreError::Damaged { .. }) = &result {
            self.suspect.store(true, Ordering::Relaxed);
        }
        result
    }

    /// Lets running reads end, and closes the connections.
    pub(super) async fn close(&self) {
        if let Ok(all) = self.permits.acquire_many(self.most).await {
            self.permits.close();
            drop(all);
        }
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
