//! The other end of a connection to the daemon: the hello, and a typed client over a Unix socket. Used by the command
//! line, the bridges (the hello only) and tests. It decides nothing about starting a daemon.

use super::framing::{Decoder, Frame, Framing, FramingError};
use jsonrpsee_core::client::async_client::ClientBuilder;
use jsonrpsee_core::client::{ReceivedMessage, TransportReceiverT, TransportSenderT};
use plimsoll_protocol::error::ErrorKind;
use plimsoll_protocol::hello::{Hello, Welcome};
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

pub use jsonrpsee_core::client::{Client as RpcClient, ClientT, Error as CallError, Subscription, SubscriptionClientT};
pub use jsonrpsee_types::ErrorObjectOwned;

/// Events that may wait for a subscriber: jsonrpsee drops the subscription of one that falls further behind.
const SUBSCRIPTION_BUFFER: usize = 64 * 1024;

/// How long a call may take: `turn/cancel` waits for the turn's end, everything else is quick.
const CALL_TIMEOUT: Duration = Duration::from_mins(10);

/// The longest welcome line.
const WELCOME_LIMIT: usize = 64 * 1024;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody listens there.
    #[error("no daemon answers at {path}: {source}")]
    NoDaemon {
        /// The socket.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// The connection broke during the hello.
    #[error("the daemon did not answer the hello: {0}")]
    Broken(#[from] io::Error),
    /// The answer is not a welcome.
    #[error("the daemon answered something that is not a welcome: {0}")]
    NotAWelcome(String),
    /// The daemon does not want this connection.
    #[error("{message}")]
    Refused {
        /// To branch on.
        kind: ErrorKind,
        /// For people.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

/// Connects to a daemon's socket, says hello, and gives a client for the native API.
pub async fn connect(socket: &Path, hello: Hello) -> Result<RpcClient, ConnectError> {
    let path = super::path_to_wire(socket);
    let mut stream = UnixStream::connect(socket).await.map_err(|source| ConnectError::NoDaemon { path, source })?;
    greet(&mut stream, &hello).await?;
    Ok(over(stream))
}

/// A client for a connection that has been greeted already.
pub fn over(stream: UnixStream) -> RpcClient {
    let (from, to) = stream.into_split();
    ClientBuilder::new()
        .request_timeout(CALL_TIMEOUT)
        .max_buffer_capacity_per_subscription(SUBSCRIPTION_BUFFER)
        .build_with_tokio(Sender { to }, Receiver { from, decoder: Decoder::new(Some(Framing::Lines)) })
}

/// Says hello and reads the welcome, to its last byte and no further. A refusal is an error.
pub async fn greet<S>(stream: &mut S, hello: &Hello) -> Result<Welcome, ConnectError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut line = serde_json::to_vec(hello).map_err(io::Error::from)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    stream.flush().await?;
    // Byte by byte: what comes after the line belongs to the facade.
    let mut answer = Vec::new();
    loop {
        match stream.read_u8().await? {
            b'\n' => break,
            byte => answer.push(byte),
        }
        if answer.len() > WELCOME_LIMIT {
            return Err(ConnectError::NotAWelcome("a line without end".to_owned()));
        }
    }
    let welcome: Welcome =
        serde_json::from_slice(&answer).map_err(|error| ConnectError::NotAWelcome(error.to_string()))?;
    match welcome.error {
        None => Ok(welcome),
        Some(refusal) => {
            Err(ConnectError::Refused { kind: refusal.kind, message: refusal.message, hint: refusal.hint })
        }
    }
}

struct Sender {
    to: OwnedWriteHalf,
}

impl TransportSenderT for Sender {
    type Error = io::Error;

    async fn send(&mut self, message: String) -> Result<(), io::Error> {
        let mut line = Vec::with_capacity(message.len() + 1);
        super::framing::encode(Framing::Lines, &message, &mut line);
        self.to.write_all(&line).await
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.to.shutdown().await
    }
}

struct Receiver {
    from: OwnedReadHalf,
    decoder: Decoder,
}

/// Why nothing more is received.
#[derive(Debug, thiserror::Error)]
enum ReceiveError {
    #[error("the daemon closed the connection")]
    Closed,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Framing(#[from] FramingError),
}

impl TransportReceiverT for Receiver {
    type Error = ReceiveError;

    async fn receive(&mut self) -> Result<ReceivedMessage, ReceiveError> {
        loop {
            if let Some(frame) = self.decoder.next_frame()? {
                // Lines announce no length, so that none is too large in advance.
                let Frame::Message(bytes) = frame else { continue };
                return Ok(ReceivedMessage::Bytes(bytes.into()));
            }
            if self.from.read_buf(self.decoder.buffer()).await? == 0 {
                return Err(ReceiveError::Closed);
            }
        }
    }
}
