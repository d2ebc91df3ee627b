//! One actor per session: a mailbox, a select, and the machine. It owns every task that works for the session.

use super::api::{AcceptedTurn, Answer, ApiError, ApiErrorKind, Client, WhenBusy};
use super::driver::Driver;
use super::hub::Hub;
use plimsoll_core::permission::policy::Mode;
use plimsoll_core::turn::input::InputBody;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Messages that may wait for an actor; senders wait beyond it. Deltas come batched, so this is many reads of a stream.
pub const MAILBOX: usize = 256;

/// How often a store that could not be written is tried again: room on a disk comes back by a person's hand.
const CATCH_UP_EVERY: Duration = Duration::from_secs(1);

/// Everything that can be sent to a session.
pub enum Msg {
    /// A client asks for a turn.
    Prompt {
        /// The client.
        client: Client,
        /// What the user said.
        text: String,
        /// The client's key for it.
        key: Option<String>,
        /// What to do when a turn runs.
        busy: WhenBusy,
        /// Answered once the prompt is stored, or queued.
        reply: oneshot::Sender<Result<AcceptedTurn, ApiError>>,
    },
    /// A client adds to the running turn.
    Steer {
        /// The client.
        client: Client,
        /// What the user said.
        text: String,
        /// Answered when it was taken.
        reply: oneshot::Sender<Result<(), ApiError>>,
    },
    /// A client interrupts.
    Cancel {
        /// Answered when the turn that ran is over.
        reply: oneshot::Sender<()>,
    },
    /// A client answers a question.
    Answer {
        /// The answer.
        answer: Answer,
        /// Whether it was the first.
        reply: oneshot::Sender<Result<bool, ApiError>>,
    },
    /// The permission mode changes.
    SetMode {
        /// The new mode.
        mode: Mode,
        /// Answered when it is stored.
        reply: oneshot::Sender<Result<(), ApiError>>,
    },
    /// The title changes.
    Rename {
        /// The new title.
        title: String,
        /// Answered when it is stored.
        reply: oneshot::Sender<Result<(), ApiError>>,
    },
    /// What a task of this session found.
    Inputs(Vec<InputBody>),
    /// Ends the actor once no turn runs; a running one is interrupted.
    Close {
        /// Answered when all is stored.
        reply: oneshot::Sender<()>,
    },
}

/// A running actor.
#[derive(Clone)]
pub struct Handle {
    /// Its mailbox.
    pub mailbox: mpsc::Sender<Msg>,
    /// What its clients are told.
    pub hub: Hub,
}

impl Handle {
    /// Sends a message that is answered, and waits for the answer.
    pub async fn ask<T>(&self, message: impl FnOnce(oneshot::Sender<T>) -> Msg) -> Result<T, ApiError> {
        let (reply, answer) = oneshot::channel();
        let gone = || {
            ApiError::new(ApiErrorKind::Internal, "the session ended before it could answer")
                .hint("try again; the daemon's log has the reason")
        };
        self.mailbox.send(message(reply)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())
    }
}

/// Runs a session until it is closed or its last handle is gone.
pub(super) async fn run(mut driver: Driver, mut mailbox: mpsc::Receiver<Msg>) {
    let mut closing: Vec<oneshot::Sender<()>> = Vec::new();
    loop {
        let behind = driver.is_behind();
        let message = tokio::select! {
            message = mailbox.recv() => message,
            Some(()) = driver.task_ended() => continue,
            () = tokio::time::sleep(CATCH_UP_EVERY), if behind => {
                driver.catch_up().await;
                continue;
            }
        };
        match message {
            None => break,
            Some(Msg::Close { reply }) => closing.push(reply),
            Some(Msg::Prompt { client, text, key, busy, reply }) if closing.is_empty() => {
                driver.prompt(&client, text, key, busy, reply).await;
            }
            Some(Msg::Steer { client, text, reply }) if closing.is_empty() => driver.steer(&client, text, reply).await,
            Some(Msg::Prompt { reply, .. }) => {
                let _ = reply.send(Err(closing_error()));
            }
            Some(Msg::Steer { reply, .. }) => {
                let _ = reply.send(Err(closing_error()));
            }
            Some(Msg::Cancel { reply }) => {
                driver.cancel_for(reply).await;
            }
            Some(Msg::Answer { answer, reply }) => driver.answer(answer, reply).await,
            Some(Msg::SetMode { mode, reply }) => {
                let _ = reply.send(driver.set_mode(mode).await);
            }
            Some(Msg::Rename { title, reply }) => {
                let _ = reply.send(driver.rename(&title).await);
            }
            Some(Msg::Inputs(inputs)) => {
                for input in inputs {
                    driver.input(input).await;
                }
                driver.burst_over();
            }
        }
        if !closing.is_empty() {
            // Also those that waited: each is stored, and ends before it asks the model anything.
            driver.cancel().await;
        }
        driver.settle_idle();
        if !closing.is_empty() && driver.is_idle() {
            break;
        }
    }
    driver.end().await;
    for reply in closing {
        let _ = reply.send(());
    }
}

fn closing_error() -> ApiError {
    ApiError::new(ApiErrorKind::ShuttingDown, "the session is being closed").hint("start again once the daemon is back")
}
