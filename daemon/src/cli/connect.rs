//! What commands need of a connection: a typed client over a socket that was found or whose daemon was started, and one
//! form for everything that can go wrong.

use super::out;
use super::reach::{self, ReachError, Spawn};
use crate::config::{ConfigError, FolderError, Folders};
use crate::rpc::client::{self, CallError, RpcClient};
use plimsoll_protocol::error::{ErrorData, ErrorKind};
use plimsoll_protocol::hello::Facade;
use plimsoll_protocol::life::{ClientInfo, LifeApiClient};
use plimsoll_protocol::version::PROTOCOL;
use std::io;
use std::process::ExitCode;
use tokio::runtime::{Builder, Runtime};

/// A command that could not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// There is no daemon to speak to.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// The daemon said no, or the connection broke.
    #[error("{}", call_message(.0))]
    Call(#[from] CallError),
    /// Reading or writing failed on this side.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The configuration is not valid.
    #[error("{}: {}", .0.place, .0.problem)]
    Config(#[from] ConfigError),
    /// An argument does not fit what is there.
    #[error("{message}")]
    Argument {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: String,
    },
}

impl CommandError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Call(error) => error_data(error).and_then(|data| data.hint),
            Self::Reach(ReachError::Refused(refusal)) => refusal.hint.clone(),
            Self::Config(error) => Some(error.fix.clone()),
            Self::Argument { hint, .. } => Some(hint.clone()),
            Self::Folder(_) | Self::Reach(_) | Self::Io(_) => None,
        }
    }

    /// Says what went wrong and gives the exit code. A reader that has gone away is a quiet, normal end.
    pub fn report(&self) -> ExitCode {
        if let Self::Io(error) = self
            && out::is_reader_gone(error)
        {
            return ExitCode::SUCCESS;
        }
        out::error(&self.to_string(), self.hint().as_deref());
        ExitCode::FAILURE
    }
}

fn call_message(error: &CallError) -> String {
    match error {
        CallError::Call(object) => object.message().to_owned(),
        CallError::RestartNeeded(_) => "the daemon closed the connection".to_owned(),
        other => format!("the daemon cannot be asked: {other}"),
    }
}

fn error_data(error: &CallError) -> Option<ErrorData> {
    let CallError::Call(object) = error else { return None };
    serde_json::from_str(object.data()?.get()).ok()
}

/// The kind of a refusal by the daemon.
pub fn refusal_kind(error: &CallError) -> Option<ErrorKind> {
    error_data(error).map(|data| data.kind)
}

/// A runtime for one command: one thread, as a command does one thing.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// A client of the daemon, which is started when the command may do that. Call it inside the runtime.
pub async fn connect(folders: &Folders, spawn: Spawn) -> Result<RpcClient, CommandError> {
    // Blocking, and nothing else runs yet.
    let link = reach::reach(folders, &reach::own_hello(Facade::Native, spawn), spawn)?;
    link.stream.set_nonblocking(true)?;
    let client = client::over(tokio::net::UnixStream::from_std(link.stream)?);
    let info = ClientInfo { name: "plimsoll".to_owned(), version: Some(super::build::version().to_owned()) };
    client.initialize(info, PROTOCOL.to_string(), None, None).await?;
    Ok(client)
}

/// Runs a command with a client and reports what went wrong.
pub fn with_client(
    spawn: Spawn,
    command: impl AsyncFnOnce(RpcClient, Folders) -> Result<ExitCode, CommandError>,
) -> ExitCode {
    let run = || {
        let folders = Folders::of_process()?;
        runtime()?.block_on(async {
            let client = connect(&folders, spawn).await?;
            command(client, folders).await
        })
    };
    run().unwrap_or_else(|error: CommandError| error.report())
}
