//! One actor per session: a mailbox, a select, and the machine. It owns every task that works for the session.

use super::api::{AcceptedTurn, Answer, ApiError, ApiErrorKind, CloseReason, WhenBusy};
use super::checkpoint::{Undo, Undone};
use super::driver::Driver;
use super::operations::Asked;
use super::setup::TurnSetup;
use super::task::TaskInfo;
use plimsoll_core::checkpoint::How;
use plimsoll_core::id::{CallId, TurnNo};
use plimsoll_core::ledger::Operation;
use plimsoll_core::permission::policy::Mode;
use plimsoll_core::task::change::Change;
use plimsoll_core::tool::outcome::TaskEnd;
use plimsoll_core::turn::input::{InputBody, Prompt};
use plimsoll_core::turn::preview::Dry;
use tokio::sync::{mpsc, oneshot};

/// Messages that may wait for an actor; senders wait beyond it. Deltas come batched, so this is many reads of a stream.
pub const MAILBOX: usize = 256;

/// Everything that can be sent to a session.
pub enum Msg {
    /// A client asks for a turn.
    Prompt {
        /// What the turn works with, or why it cannot.
        setup: Box<Result<TurnSetup, ApiError>>,
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
        /// What the turn works with when none runs, or why it cannot.
        setup: Box<Result<TurnSetup, ApiError>>,
        /// What the user said.
        text: String,
        /// Answered when it was taken; where it became a prompt, once that is stored or queued.
        reply: oneshot::Sender<Result<(), ApiError>>,
    },
    /// A client interrupts.
    Cancel {
        /// Answered when the turn that runs now is over.
        reply: oneshot::Sender<()>,
    },
    /// A client answers a question.
    Answer {
        /// The answer.
        answer: Answer,
        /// What a turn works with that is suspended, or why it cannot; none where none was known to be.
        setup: Option<Box<Result<TurnSetup, ApiError>>>,
        /// Whether it was the first; none when the turn is suspended, and this is to be asked again with a setup.
        reply: oneshot::Sender<Result<Option<bool>, ApiError>>,
    },
    /// The permission mode changes.
    SetMode {
        /// The new mode.
        mode: Mode,
        /// Answered when it is stored.
        reply: oneshot::Sender<Result<(), ApiError>>,
    },
    /// The model changes.
    SetModel {
        /// The new model, which can be used.
        model: String,
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
    /// Lists leave the session out, or have it again.
    Archive {
        /// Whether they leave it out.
        archived: bool,
        /// Answered when it is stored.
        reply: oneshot::Sender<Result<(), ApiError>>,
    },
    /// A client undoes what calls wrote.
    Undo {
        /// What and how.
        undo: Undo,
        /// What came of it.
        reply: oneshot::Sender<Result<Undone, ApiError>>,
    },
    /// A client has an operation looked at again, or says what became of it.
    Operation {
        /// Its call.
        call: CallId,
        /// What is asked.
        asked: Asked,
        /// The operation as it is then.
        reply: oneshot::Sender<Result<Operation, ApiError>>,
    },
    /// A client asks to go on with the last turn, which was cut.
    GoOn {
        /// What the turn works with, or why it cannot.
        setup: Box<Result<TurnSetup, ApiError>>,
        /// The client's key for it.
        key: Option<String>,
        /// Answered once it is stored.
        reply: oneshot::Sender<Result<AcceptedTurn, ApiError>>,
    },
    /// A client asks for a compaction.
    Compact {
        /// What it works with, or why it cannot.
        setup: Box<Result<TurnSetup, ApiError>>,
        /// What a summary should keep above all.
        focus: Option<String>,
        /// Answered once it has begun, or waits for the running turn's next request.
        reply: oneshot::Sender<Result<(), ApiError>>,
    },
    /// A client wants to know the task.
    Task {
        /// The task.
        reply: oneshot::Sender<Result<TaskInfo, ApiError>>,
    },
    /// A client changes the task.
    SetTask {
        /// What changes.
        change: Box<Change>,
        /// The task, once it is stored.
        reply: oneshot::Sender<Result<TaskInfo, ApiError>>,
    },
    /// The conversation goes back.
    Rewind {
        /// The first turn that leaves the view.
        turn: TurnNo,
        /// Whether, and how, what the turns wrote is undone.
        files: Option<How>,
        /// Answered when it is stored.
        reply: oneshot::Sender<Result<(), ApiError>>,
    },
    /// A client wants to know what a prompt would send.
    Dry {
        /// What the turn would work with.
        setup: Box<TurnSetup>,
        /// The prompt.
        prompt: Prompt,
        /// A copy of the machine with the prompt; none while a turn runs.
        reply: oneshot::Sender<Result<Option<Dry>, ApiError>>,
    },
    /// Somebody begins to follow: what is not settled yet is tried again.
    Followed,
    /// What a task of this session found.
    Inputs {
        /// The machine that the task worked for; what came for an earlier one is dropped.
        generation: u64,
        /// What it found.
        inputs: Vec<InputBody>,
    },
    /// A command in the background has ended.
    TaskEnded(TaskEnd),
    /// Ends the actor once no turn runs; a running one is interrupted, those that wait never begin.
    Close {
        /// What its subscriptions are told.
        reason: CloseReason,
        /// Answered when all is stored.
        reply: oneshot::Sender<()>,
    },
    /// Panics, as a fault of Plimsoll's own would.
    #[cfg(test)]
    Panic,
    /// A task of the session panics; it owes this.
    #[cfg(test)]
    PanicInTask(Box<InputBody>),
}

/// Runs a session until it is closed or its last handle is gone.
pub(super) async fn run(mut driver: Driver, mut mailbox: mpsc::Receiver<Msg>) {
    let mut closing: Vec<oneshot::Sender<()>> = Vec::new();
    loop {
        tokio::select! {
            message = mailbox.recv() => match message {
                None => break,
                Some(message) => take(&mut driver, message, &mut closing).await,
            },
            happened = driver.awaited() => driver.happened(happened).await,
        }
        driver.rest().await;
        if !closing.is_empty() && driver.is_over().await {
            break;
        }
    }
    driver.end().await;
    for reply in closing {
        let _ = reply.send(());
    }
}

async fn take(driver: &mut Driver, message: Msg, closing: &mut Vec<oneshot::Sender<()>>) {
    match message {
        Msg::Close { reason, reply } => {
            closing.push(reply);
            driver.close(reason).await;
        }
        Msg::Prompt { reply, .. } if !closing.is_empty() => {
            let _ = reply.send(Err(closing_error()));
        }
        Msg::GoOn { reply, .. } if !closing.is_empty() => {
            let _ = reply.send(Err(closing_error()));
        }
        Msg::Compact { reply, .. } if !closing.is_empty() => {
            let _ = reply.send(Err(closing_error()));
        }
        Msg::Compact { setup, focus, reply } => Box::pin(driver.compact(*setup, focus, reply)).await,
        Msg::GoOn { setup, key, reply } => Box::pin(driver.go_on(*setup, key, reply)).await,
        Msg::Operation { call, asked, reply } => {
            let _ = reply.send(driver.operation(call, asked).await);
        }
        Msg::Steer { reply, .. } if !closing.is_empty() => {
            let _ = reply.send(Err(closing_error()));
        }
        Msg::Prompt { setup, text, key, busy, reply } => Box::pin(driver.prompt(*setup, text, key, busy, reply)).await,
        Msg::Steer { setup, text, reply } => Box::pin(driver.steer(*setup, text, reply)).await,
        Msg::Cancel { reply } => driver.cancel(reply).await,
        Msg::Answer { answer, setup, reply } => {
            let _ = reply.send(driver.answer(answer, setup).await);
        }
        Msg::TaskEnded(end) => driver.input(InputBody::TaskEnded(end)).await,
        Msg::SetMode { mode, reply } => {
            let _ = reply.send(driver.set_mode(mode).await);
        }
        Msg::SetModel { model, reply } => {
            let _ = reply.send(driver.set_model(&model).await);
        }
        Msg::Rename { title, reply } => {
            let _ = reply.send(driver.rename(&title).await);
        }
        Msg::Archive { archived, reply } => {
            let _ = reply.send(driver.archive(archived).await);
        }
        Msg::Undo { reply, .. } if !closing.is_empty() => {
            let _ = reply.send(Err(closing_error()));
        }
        Msg::Undo { undo, reply } => {
            let _ = reply.send(driver.undo(undo).await);
        }
        Msg::Task { reply } => {
            let _ = reply.send(driver.task().await);
        }
        Msg::SetTask { change, reply } => {
            let _ = reply.send(driver.set_task(*change).await);
        }
        Msg::Rewind { reply, .. } if !closing.is_empty() => {
            let _ = reply.send(Err(closing_error()));
        }
        Msg::Rewind { turn, files, reply } => {
            let _ = reply.send(driver.rewind(turn, files).await);
        }
        Msg::Dry { setup, prompt, reply } => {
            let _ = reply.send(driver.dry(&setup, prompt).await);
        }
        Msg::Followed => driver.settle_again().await,
        Msg::Inputs { generation, inputs } => {
            if generation == driver.generation() {
                for input in inputs {
                    driver.input(input).await;
                }
                driver.burst_over();
            }
        }
        #[cfg(test)]
        Msg::Panic => panic!("asked to"),
        #[cfg(test)]
        Msg::PanicInTask(owed) => driver.spawn(*owed, |_| async { panic!("asked to") }),
    }
}

fn closing_error() -> ApiError {
    ApiError::new(ApiErrorKind::ShuttingDown, "the session is being closed").hint("start again once the daemon is back")
}
