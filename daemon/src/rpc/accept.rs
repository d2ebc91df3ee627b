//! A new connection: who is there, what does it want. Reads the hello when there is one, answers it, and hands the
//! stream to its facade with nothing lost of what was read.

use super::error::WireError;
use super::life::Life;
use super::message::RequestId;
use super::prefixed::Prefixed;
use crate::process::origin::{self, Origin};
use crate::session::api::Client;
use crate::session::service::Service;
use bytes::{Buf, BytesMut};
use plimsoll_protocol::error::ErrorKind;
use plimsoll_protocol::hello::{Facade, HELLO_LIMIT, HELLO_PREFIX, Hello, Refusal, Resume, Welcome, WelcomeMark};
use plimsoll_protocol::version::{PROTOCOL, ProtocolRange};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;

/// How long a hello may take from its first bytes to its end.
const HELLO_TIME: Duration = Duration::from_secs(10);

/// A stream as the facades get it.
pub type Stream = Prefixed<UnixStream>;

/// What a connection turned out to be.
#[derive(Debug)]
enum Greeting {
    /// No hello: native.
    None,
    /// A hello.
    Hello(Box<Hello>),
    /// It began like a hello and is none.
    Bad(String),
    /// The peer left before it said anything.
    Left,
}

/// Serves one accepted connection to its end. `acp` serves the connections of the ACP facade.
pub async fn handle<F>(
    stream: UnixStream,
    service: Service,
    life: Life,
    acp: impl FnOnce(Stream, Client, Option<Resume>, Service, Life) -> F,
) where
    F: Future<Output = ()>,
{
    let peer = match stream.peer_cred() {
        Ok(peer) if peer.uid() == rustix::process::geteuid().as_raw() => peer,
        Ok(peer) => {
            tracing::warn!(uid = peer.uid(), "a connection of another user was refused");
            return;
        }
        Err(error) => {
            tracing::warn!(%error, "a connection whose user can't be told was refused");
            return;
        }
    };
    // At once: the longer ago the connection was made, the less its process need be the one with that number.
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default();
    let refusal = refusal(pid, origin::of(pid));
    let mut stream = stream;
    let connection = life.next_connection();
    let closing = life.closing();
    if let Some(refusal) = refusal {
        tracing::warn!(pid, "a connection was refused: {}", refusal.message);
        let refuse = tokio::time::timeout(HELLO_TIME, refuse(&mut stream, &life, refusal));
        tokio::select! {
            // Whether it hears of it is its own affair.
            _ = refuse => {}
            () = closing.cancelled() => {}
        }
        return;
    }
    let met = tokio::select! {
        met = meet(&mut stream, &life) => met,
        () = closing.cancelled() => return,
    };
    let (hello, rest) = match met {
        Ok(Some(met)) => met,
        Ok(None) => return,
        Err(error) => {
            tracing::debug!(%error, "a connection ended before it began");
            return;
        }
    };
    let facade = hello.as_ref().map_or(Facade::Native, |hello| hello.facade);
    let mut resume = None;
    let client = match hello {
        None => Client { connection, ..Client::default() },
        Some(mut hello) => {
            resume = hello.resume.take();
            Client {
                connection,
                name: match facade {
                    Facade::Native => "native".to_owned(),
                    Facade::Acp => "acp".to_owned(),
                },
                env: Arc::new(hello.env),
                cwd: hello.cwd.as_deref().map(super::from_wire::path).filter(|cwd| cwd.is_absolute()),
                ..Client::default()
            }
        }
    };
    let stream = Prefixed::new(rest.freeze(), stream);
    match facade {
        Facade::Native => super::serve(stream, client, service, life).await,
        Facade::Acp => acp(stream, client, resume, service, life).await,
    }
}

/// Why a process of this origin is not served.
fn refusal(pid: u32, origin: Origin) -> Option<Refusal> {
    let (message, hint) = match origin {
        Origin::Outside => return None,
        Origin::Command => (
            format!(
                "process {pid} was started by a command that this daemon runs for an agent; such processes may not talk \
                 to the daemon, because an agent could approve its own calls"
            ),
            "run it in a terminal or an editor of your own",
        ),
        Origin::Unknown => (
            format!("process {pid}, which opened the connection, has ended or is not of this machine"),
            "connect from a process that stays, outside of containers",
        ),
    };
    Some(Refusal { kind: ErrorKind::Forbidden, message, hint: Some(hint.to_owned()) })
}

/// Answers what comes first with the refusal, in the form that the peer understands.
async fn refuse<S>(stream: &mut S, life: &Life, refusal: Refusal) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut read = BytesMut::new();
    match greeting(stream, &mut read).await? {
        Greeting::Left => return Ok(()),
        Greeting::Hello(_) | Greeting::Bad(_) => write(stream, &welcome(life, Some(refusal))).await?,
        Greeting::None => {
            let error = WireError::new(refusal.kind, refusal.message).hint(refusal.hint.unwrap_or_default());
            let response = error.response(&RequestId::null());
            let framed = match read.trim_ascii_start().first() {
                Some(b'{' | b'[') => format!("{response}\n"),
                _ => format!("Content-Length: {}\r\n\r\n{response}", response.get().len()),
            };
            stream.write_all(framed.as_bytes()).await?;
        }
    }
    stream.shutdown().await
}

/// Reads and answers the hello; gives it with what was read beyond it. `None`: the connection is over.
async fn meet<S>(stream: &mut S, life: &Life) -> io::Result<Option<(Option<Hello>, BytesMut)>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut read = BytesMut::new();
    let error = match greeting(stream, &mut read).await? {
        Greeting::None => return Ok(Some((None, read))),
        Greeting::Left => return Ok(None),
        Greeting::Hello(hello) if hello.protocol.accepts(PROTOCOL) => {
            let newer = hello.binary.as_ref().is_some_and(|binary| life.offer(binary));
            if newer && life.leaves_now().await {
                Refusal {
                    kind: ErrorKind::ShuttingDown,
                    message: "the daemon makes room for your build".to_owned(),
                    hint: Some("connect again".to_owned()),
                }
            } else {
                write(stream, &welcome(life, None)).await?;
                return Ok(Some((Some(*hello), read)));
            }
        }
        Greeting::Hello(hello) => Refusal {
            kind: ErrorKind::IncompatibleVersion,
            message: format!(
                "build {} speaks protocol {}, and the running daemon (build {}) speaks {PROTOCOL}",
                hello.build,
                hello.protocol,
                life.identity().build
            ),
            hint: Some("run `plimsoll restart`, or use the daemon's own version".to_owned()),
        },
        Greeting::Bad(message) => Refusal { kind: ErrorKind::InvalidRequest, message, hint: None },
    };
    tracing::info!(kind = ?error.kind, "a hello was refused");
    write(stream, &welcome(life, Some(error))).await?;
    stream.shutdown().await?;
    Ok(None)
}

/// Reads until it is clear whether there is a hello, and then to its end. `read` keeps what comes after it.
async fn greeting<S: AsyncRead + Unpin>(stream: &mut S, read: &mut BytesMut) -> io::Result<Greeting> {
    let mark = HELLO_PREFIX.as_bytes();
    while read.len() < mark.len() {
        if !mark.starts_with(read) {
            return Ok(Greeting::None);
        }
        if stream.read_buf(read).await? == 0 {
            return Ok(if read.is_empty() { Greeting::Left } else { Greeting::None });
        }
    }
    if !read.starts_with(mark) {
        return Ok(Greeting::None);
    }
    let line = async {
        let mut searched = 0;
        loop {
            if let Some(found) = read.get(searched..).unwrap_or_default().iter().position(|byte| *byte == b'\n') {
                let line = read.split_to(searched + found);
                read.advance(1);
                return Ok::<_, io::Error>(Ok(line));
            }
            searched = read.len();
            if searched > HELLO_LIMIT {
                return Ok(Err(format!("a hello is longer than {HELLO_LIMIT} bytes")));
            }
            if stream.read_buf(read).await? == 0 {
                return Ok(Err("the hello has no end".to_owned()));
            }
        }
    };
    let Ok(line) = tokio::time::timeout(HELLO_TIME, line).await else {
        return Ok(Greeting::Bad(format!("the hello took longer than {} seconds", HELLO_TIME.as_secs())));
    };
    Ok(match line? {
        Err(wrong) => Greeting::Bad(wrong),
        Ok(line) => match serde_json::from_slice(&line) {
            Ok(hello) => Greeting::Hello(Box::new(hello)),
            Err(error) => Greeting::Bad(format!("not a hello: {error}")),
        },
    })
}

fn welcome(life: &Life, error: Option<Refusal>) -> Welcome {
    let identity = life.identity();
    Welcome {
        plimsoll: WelcomeMark::Welcome,
        build: identity.build.clone(),
        protocol: ProtocolRange::OURS,
        pid: identity.pid,
        started_at: identity.started_at.0,
        binary: identity.binary.clone(),
        error,
    }
}

async fn write<S: AsyncWrite + Unpin>(stream: &mut S, welcome: &Welcome) -> io::Result<()> {
    let mut line = serde_json::to_vec(welcome)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    stream.flush().await
}

#[cfg(test)]
#[path = "accept_tests.rs"]
mod tests;
