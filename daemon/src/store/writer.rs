//! The one thread that writes a database: it takes what waits, performs it in one transaction, and answers everybody.
//!
//! A command that fails takes nothing of the others with it: each runs in its own savepoint, and when SQLite gives up
//! the whole transaction, each is run again alone.

use super::queue::{Queue, Taken};
use super::{StoreError, database};
use rusqlite::{Connection, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// Commands that may wait for the writer. Each session has one batch on its way, so this is far more than there are
/// running turns.
const WAITING: usize = 256;

/// Commands in one transaction: more would only delay the first one's answer.
const GROUP: usize = 64;

/// What a database's writer can do. The commands are a closed enum; performing one touches the database only.
pub(super) trait Commands: Send + 'static {
    /// What is asked for.
    type Command: Send;
    /// What it gives.
    type Done: Send;

    /// Performs a command inside a transaction. It may be performed again after a rollback.
    fn perform(&self, connection: &Connection, command: &Self::Command) -> Result<Self::Done, StoreError>;

    /// Runs after the transaction with this command was committed, before its caller hears of it.
    fn committed(&self, command: &Self::Command, done: &Self::Done);

    /// What to do when the time asked for with [`Writer::wake_in`] has come.
    fn due(&self) -> Option<Self::Command>;

    /// A command made by [`Commands::due`] failed.
    fn put_back(&self, command: Self::Command, error: &StoreError);
}

type Answer<D> = oneshot::Sender<Result<D, StoreError>>;

enum Job<C, D> {
    Run(C, Answer<D>),
    /// Everything committed goes into the database file, and the log is emptied.
    Checkpoint(oneshot::Sender<()>),
    Close(oneshot::Sender<()>),
}

/// The handle to a writer thread. Dropping it ends the thread after what waits is done.
pub(super) struct Writer<C: Commands> {
    path: PathBuf,
    queue: Arc<Queue<Job<C::Command, C::Done>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<C: Commands> Writer<C> {
    /// Starts the thread, which owns the connection from now on. A database that is `suspect` when it is closed is not
    /// marked as closed well, so that the next start checks it.
    pub(super) fn start(
        connection: Connection,
        path: &Path,
        commands: C,
        suspect: Arc<AtomicBool>,
    ) -> Result<Self, StoreError> {
        let queue = Queue::new(WAITING);
        let worker = Worker { connection, path: path.to_owned(), queue: Arc::clone(&queue), commands, suspect };
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || worker.run())
            .map_err(|source| StoreError::io("cannot start the writer of", path, source))?;
        Ok(Self { path: path.to_owned(), queue, thread: Mutex::new(Some(thread)) })
    }

    /// Performs a command; it is durable when this returns. Once sent it is performed also when the caller goes away.
    pub(super) async fn run(&self, command: C::Command) -> Result<C::Done, StoreError> {
        let (answer, done) = oneshot::channel();
        if !self.queue.push(Job::Run(command, answer)).await {
            return Err(StoreError::closed(&self.path));
        }
        done.await.unwrap_or_else(|_| Err(StoreError::closed(&self.path)))
    }

    /// Performs a command some time, unless the queue is full. For what is derived and can be made again.
    pub(super) fn offer(&self, command: C::Command) -> bool {
        let (answer, _) = oneshot::channel();
        self.queue.offer(Job::Run(command, answer))
    }

    /// A closure that makes the thread ask [`Commands::due`] after a delay.
    pub(super) fn waker(&self) -> impl Fn(std::time::Duration) + Send + Sync + 'static {
        let queue = Arc::downgrade(&self.queue);
        move |delay| {
            if let Some(queue) = queue.upgrade() {
                queue.wake_in(delay);
            }
        }
    }

    /// Moves everything committed into the database file and empties the log, so that what was deleted is nowhere.
    pub(super) async fn checkpoint(&self) {
        let (answer, done) = oneshot::channel();
        if self.queue.push(Job::Checkpoint(answer)).await {
            // An error means that the thread is closing the file, which empties the log too.
            let _ = done.await;
        }
    }

    /// Ends the thread: what waits is done, the log is emptied, the file marked as closed well.
    pub(super) async fn close(&self) {
        let (answer, done) = oneshot::channel();
        if self.queue.push(Job::Close(answer)).await {
            // An error means that the thread is gone, which is what was wanted.
            let _ = done.await;
        }
    }
}

impl<C: Commands> Drop for Writer<C> {
    fn drop(&mut self) {
        self.queue.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!(database = %self.path.display(), "the writer panicked");
        }
    }
}

struct Worker<C: Commands> {
    connection: Connection,
    path: PathBuf,
    queue: Arc<Queue<Job<C::Command, C::Done>>>,
    commands: C,
    suspect: Arc<AtomicBool>,
}

impl<C: Commands> Worker<C> {
    fn run(mut self) {
        loop {
            match self.queue.take(GROUP) {
                Taken::Closed => return,
                Taken::Woken => {
                    if let Some(command) = self.commands.due() {
                        self.run_due(command);
                    }
                }
                Taken::Some(jobs) => {
                    let mut group = Vec::new();
                    let mut checkpoints = Vec::new();
                    let mut closing = None;
                    for job in jobs {
                        match job {
                            Job::Run(command, answer) => group.push((command, answer)),
                            Job::Checkpoint(answer) => checkpoints.push(answer),
                            Job::Close(answer) => closing = Some(answer),
                        }
                    }
                    self.run_group(group);
                    if !checkpoints.is_empty() {
                        self.checkpoint();
                    }
                    for answer in checkpoints {
                        // A caller that went away does not need the answer.
                        let _ = answer.send(());
                    }
                    if let Some(answer) = closing {
                        if let Some(command) = self.commands.due() {
                            self.run_due(command);
                        }
                        self.queue.close();
                        database::close(self.connection, &self.path, !self.suspect.load(Ordering::Relaxed));
                        // The one who closes may have stopped waiting; the file is closed all the same.
                        let _ = answer.send(());
                        return;
                    }
                }
            }
        }
    }

    fn checkpoint(&self) {
        let done = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        if let Err(error) = done {
            tracing::warn!(database = %self.path.display(), %error, "the write-ahead log could not be emptied");
        }
    }

    fn run_due(&mut self, command: C::Command) {
        match self.transact(std::slice::from_ref(&command)).map(|mut results| results.pop()) {
            Ok(Some(Ok(_)) | None) => {}
            Ok(Some(Err(error))) | Err(error) => self.commands.put_back(command, &error),
        }
    }

    fn run_group(&mut self, group: Vec<(C::Command, Answer<C::Done>)>) {
        let (commands, answers): (Vec<_>, Vec<_>) = group.into_iter().unzip();
        let results = match self.transact(&commands) {
            Ok(results) => results,
            Err(error) if commands.len() == 1 => vec![Err(error)],
            Err(_) => commands.iter().map(|command| self.alone(command)).collect(),
        };
        for (result, answer) in results.into_iter().zip(answers) {
            if let Err(StoreError::Damaged { .. }) = &result {
                self.suspect.store(true, Ordering::Relaxed);
            }
            // A caller that went away does not need the answer.
            let _ = answer.send(result);
        }
    }

    fn alone(&mut self, command: &C::Command) -> Result<C::Done, StoreError> {
        let results = self.transact(std::slice::from_ref(command))?;
        results.into_iter().next().unwrap_or_else(|| Err(StoreError::closed(&self.path)))
    }

    /// One transaction over all commands. The outer error means that nothing of them was kept.
    fn transact(&mut self, commands: &[C::Command]) -> Result<Vec<Result<C::Done, StoreError>>, StoreError> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let path = &self.path;
        let sqlite = |source| StoreError::sqlite(path, source);
        let mut transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
        let mut results = Vec::with_capacity(commands.len());
        for command in commands {
            let savepoint = transaction.savepoint().map_err(sqlite)?;
            match self.commands.perform(&savepoint, command) {
                Ok(done) => {
                    savepoint.commit().map_err(sqlite)?;
                    results.push(Ok(done));
                }
                // A full disk and its like end the whole transaction; the savepoint has gone with it.
                Err(error) if savepoint.is_autocommit() => return Err(error),
                Err(error) => {
                    drop(savepoint);
                    results.push(Err(error));
                }
            }
        }
        transaction.commit().map_err(sqlite)?;
        for (command, result) in commands.iter().zip(&results) {
            if let Ok(done) = result {
                self.commands.committed(command, done);
            }
        }
        Ok(results)
    }
}
