//! Commands that go on after their call, and what commands left running when they ended: kept by their helpers until they
//! end, are ended, or their session or the daemon ends.
//!
//! One object for the whole daemon. The tool hands over; tools ask and end one, sessions and shutdown end all. Nothing
//! that is printed is held here: it is in the log.

use super::exec::{KILL_WAIT, TERM_GRACE};
use super::frame::{End, Ended};
use super::run::{RunEvent, Running};
use plimsoll_core::id::CallId;
use plimsoll_core::tool::outcome::{Exit, TaskEnd};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// Commands of one session that may run in the background at a time: each holds a helper process and a socket.
pub const MAX_RUNNING: usize = 16;

/// Ended commands of a session that can still be asked about; of older ones the log is left.
const MOST_ENDED: usize = 32;

/// Time from asking for the end to giving the helper up: what ending takes at most, and some for a busy machine.
const STOP_LIMIT: Duration = TERM_GRACE.saturating_add(KILL_WAIT).saturating_add(Duration::from_secs(1));

/// See the module's head. Dropping it ends everything.
#[derive(Debug, Default)]
pub struct Background {
    sessions: Mutex<HashMap<PathBuf, Session>>,
}

/// What one session has in the background.
#[derive(Debug)]
struct Session {
    tracker: TaskTracker,
    /// Ends it all.
    end: DropGuard,
    tasks: BTreeMap<CallId, Arc<Task>>,
}

/// What is known of a command when it is handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// The call that started it.
    pub id: CallId,
    /// Its text.
    pub command: String,
    /// The folder in which it runs, as shown to the model.
    pub cwd: String,
    /// What it was held to, in words.
    pub limits: Option<String>,
    /// Its log, which may not be there yet.
    pub log: PathBuf,
    /// When it was started.
    pub begun: Instant,
    /// Bytes of the log that the model has been shown.
    pub asked: u64,
}

/// One command.
#[derive(Debug)]
pub struct Task {
    /// What it is.
    pub described: Described,
    state: watch::Sender<State>,
    stop: CancellationToken,
    asked: Mutex<u64>,
}

/// How a command stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// The command's own end: how, when that was seen, and milliseconds from its start. None while it runs.
    pub end: Option<(Option<Exit>, u64)>,
    /// Whether it, or anything that it started, may still run.
    pub runs: bool,
    /// What it left running when it ended, by pid.
    pub left: Vec<u32>,
    /// Grows when something is printed.
    pub pieces: u64,
    /// The model has asked for its end.
    told: bool,
}

impl Background {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a command for the session with this folder: one that runs, or with its end what it left running.
    pub fn keep(&self, session_dir: &Path, described: Described, running: Running, ended: Option<&Ended>) -> Arc<Task> {
        let mut sessions = self.lock();
        let session = sessions.entry(session_dir.to_owned()).or_insert_with(|| Session {
            tracker: TaskTracker::new(),
            end: CancellationToken::new().drop_guard(),
            tasks: BTreeMap::new(),
        });
        session.forget_old();
        let state = State {
            end: ended.map(|ended| (Some(exit(ended)), ended.duration_ms)),
            runs: true,
            left: ended.map(|ended| ended.left_running.clone()).unwrap_or_default(),
            ..State::default()
        };
        let task = Arc::new(Task {
            asked: Mutex::new(described.asked),
            state: watch::Sender::new(state),
            stop: session.end.token().child_token(),
            described,
        });
        session.tasks.insert(task.described.id, Arc::clone(&task));
        session.tracker.spawn(follow(running, Arc::clone(&task)));
        task
    }

    /// The command that this call started, if it runs or has ended not long ago.
    pub fn find(&self, session_dir: &Path, id: CallId) -> Option<Arc<Task>> {
        self.lock().get(session_dir)?.tasks.get(&id).cloned()
    }

    /// What of this session runs, by call.
    pub fn running(&self, session_dir: &Path) -> Vec<Arc<Task>> {
        let sessions = self.lock();
        let tasks = sessions.get(session_dir).into_iter().flat_map(|session| session.tasks.values());
        tasks.filter(|task| task.state.borrow().runs).cloned().collect()
    }

    /// How many commands of this session, or what they left, still run.
    pub fn count(&self, session_dir: &Path) -> usize {
        self.lock().get(session_dir).map_or(0, |session| session.tracker.len())
    }

    /// How many commands of all sessions, or what they left, still run.
    pub fn count_all(&self) -> usize {
        self.lock().values().map(|session| session.tracker.len()).sum()
    }

    /// Asks for the end of everything that the session with this folder has running; does not wait.
    pub fn stop_session(&self, session_dir: &Path) {
        for task in self.running(session_dir) {
            task.stop.cancel();
        }
    }

    /// Ends what the session with this folder has running; returns when it has ended or did not go when killed.
    pub async fn end_session(&self, session_dir: &Path) {
        let session = self.lock().remove(session_dir);
        if let Some(session) = session {
            session.finish().await;
        }
    }

    /// Ends everything, for the end of the daemon.
    pub async fn end_all(&self) {
        let all: Vec<Session> = self.lock().drain().map(|(_, session)| session).collect();
        futures_util::future::join_all(all.into_iter().map(Session::finish)).await;
    }
}

impl Session {
    fn forget_old(&mut self) {
        let ended = self.tasks.iter().filter(|(_, task)| !task.state.borrow().runs).map(|(id, _)| *id);
        let ended: Vec<CallId> = ended.collect();
        for id in ended.iter().take(ended.len().saturating_sub(MOST_ENDED)) {
            self.tasks.remove(id);
        }
    }

    async fn finish(self) {
        drop(self.end);
        self.tracker.close();
        self.tracker.wait().await;
    }
}

impl Task {
    /// How it stands now.
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Changes of how it stands, from now on.
    pub fn watch(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// Reads on where the model has been shown everything before; `read` gets that place and gives the next one.
    pub fn read_on<T>(&self, read: impl FnOnce(u64) -> (T, u64)) -> T {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let (read, next) = read(*asked);
        *asked = next;
        read
    }

    /// Asks for the end of it and of everything it started, for the model, which learns of the end by the answer.
    pub fn stop(&self) {
        self.state.send_modify(|state| state.told = true);
        self.stop.cancel();
    }

    /// Waits until nothing of it runs. Cancel safe.
    pub async fn gone(&self) {
        // The sender lives in this very object.
        let _ = self.watch().wait_for(|state| !state.runs).await;
    }

    /// Waits for the command's own end. Cancel safe.
    pub async fn ended(&self) -> TaskEnd {
        let _ = self.watch().wait_for(|state| state.end.is_some()).await;
        self.end().unwrap_or(TaskEnd { call: self.described.id, exit: None, duration_ms: 0, told: false })
    }

    /// The command's own end; none while it runs.
    pub fn end(&self) -> Option<TaskEnd> {
        let state = self.state.borrow();
        let (exit, duration_ms) = state.end?;
        Some(TaskEnd { call: self.described.id, exit, duration_ms, told: state.told })
    }
}

/// Follows a command to its end, then what it left to the end of that.
async fn follow(mut running: Running, task: Arc<Task>) {
    if task.state().end.is_none() {
        match own_end(&mut running, &task).await {
            Some(ended) if ended.stays => task.state.send_modify(|state| {
                state.end = Some((Some(exit(&ended)), ended.duration_ms));
                state.left.clone_from(&ended.left_running);
            }),
            Some(ended) => {
                running.close().await;
                return over(&task, Some(exit(&ended)), ended.duration_ms);
            }
            None => {
                running.abandon().await;
                return over(
                    &task,
                    None,
                    u64::try_from(task.described.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
                );
            }
        }
    }
    tokio::select! {
        () = running.left_ended() => {}
        () = task.stop.cancelled() => {}
    }
    running.close().await;
    task.state.send_modify(|state| state.runs = false);
}

fn over(task: &Task, exit: Option<Exit>, duration_ms: u64) {
    task.state.send_modify(|state| {
        state.end = Some((exit, duration_ms));
        state.runs = false;
    });
}

/// The end of the command itself, which is asked for when somebody wants it; none when it was not seen.
async fn own_end(running: &mut Running, task: &Task) -> Option<Ended> {
    let mut asked = false;
    let give_up = tokio::time::sleep(STOP_LIMIT);
    tokio::pin!(give_up);
    loop {
        tokio::select! {
            () = task.stop.cancelled(), if !asked => {
                asked = true;
                give_up.as_mut().reset(tokio::time::Instant::now() + STOP_LIMIT);
                running.stop().await;
            }
            () = &mut give_up, if asked => return None,
            event = running.next() => match event {
                Ok(RunEvent::Started(_)) => {}
                // The log has it.
                Ok(RunEvent::Output(_) | RunEvent::Skipped(_)) => task.state.send_modify(|state| state.pieces += 1),
                Ok(RunEvent::Ended(finished)) => return Some(finished.ended),
                Err(error) => {
                    tracing::warn!(%error, "a command in the background was lost");
                    return None;
                }
            },
        }
    }
}

/// How a command ended that nobody gave a time.
fn exit(ended: &Ended) -> Exit {
    match &ended.end {
        End::NotStarted(_) => Exit::NotStarted,
        _ if ended.stopped => Exit::Cancelled,
        End::Code(code) => Exit::Code(*code),
        End::Signal(signal) => Exit::Signal(*signal),
        End::Unkillable => Exit::Cancelled,
    }
}
