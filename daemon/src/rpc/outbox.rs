//! What waits to be written to one peer, and the task that writes it. Both ends are bounded: whoever has something for
//! a peer that does not read waits, and a peer that reads nothing for too long is cut off.

use super::framing::{Framing, encode};
use serde_json::value::RawValue;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;

/// Messages that may wait. Enough that the writer always finds a batch, few enough to be nothing in memory.
const QUEUE: usize = 256;

/// Bytes that may wait: long messages are counted by their length, so that a peer that asks for long answers and does
/// not read them holds no more than this. One message may always wait.
const QUEUE_BYTES: usize = 16 * 1024 * 1024;

/// Messages that are written in one go.
const BATCH: usize = 128;

/// Bytes after which a batch is written although more is waiting.
const BATCH_BYTES: usize = 256 * 1024;

/// A peer that takes no byte for this long is cut off: its program hangs or is stopped, and it can resume by `seq`.
pub const STALL: Duration = Duration::from_secs(30);

/// The peer is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection is closed")]
pub struct Gone;

/// The way to a peer. Cheap to clone; the writer ends when the last clone is dropped and everything is written.
#[derive(Debug, Clone)]
pub struct Outbox {
    queue: mpsc::Sender<Waiting>,
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct Waiting {
    json: Box<RawValue>,
    _room: OwnedSemaphorePermit,
}

impl Outbox {
    /// Puts a message into the queue; waits while it is full. Cancel safe: the message is queued or it is not.
    pub async fn send(&self, json: Box<RawValue>) -> Result<(), Gone> {
        let bytes = u32::try_from(json.get().len().min(QUEUE_BYTES)).unwrap_or(u32::MAX);
        let room = tokio::select! {
            room = Arc::clone(&self.room).acquire_many_owned(bytes) => room.map_err(|_| Gone)?,
            () = self.queue.closed() => return Err(Gone),
        };
        self.queue.send(Waiting { json, _room: room }).await.map_err(|_| Gone)
    }

    /// Returns when nothing can be written any more.
    pub async fn closed(&self) {
        self.queue.closed().await;
    }
}

/// How writing ended.
#[derive(Debug)]
pub enum WriterEnd {
    /// Everything is written and nobody has more to say.
    Done,
    /// The peer takes nothing any more.
    Failed(std::io::Error),
    /// The peer took no byte for too long.
    Stalled,
}

/// Starts the writer. The framing is set by the reader before anything is sent; without it lines are written. `stall`
/// is [`STALL`] except in tests.
pub fn start<W>(mut to: W, framing: Arc<OnceLock<Framing>>, stall: Duration) -> (Outbox, JoinHandle<WriterEnd>)
where
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (queue, mut waiting) = mpsc::channel(QUEUE);
    let outbox = Outbox { queue, room: Arc::new(Semaphore::new(QUEUE_BYTES)) };
    let writer = tokio::spawn(async move {
        let mut batch = Vec::with_capacity(BATCH);
        let mut bytes = Vec::new();
        loop {
            if waiting.recv_many(&mut batch, BATCH).await == 0 {
                return WriterEnd::Done;
            }
            let framing = framing.get().copied().unwrap_or(Framing::Lines);
            for message in batch.drain(..) {
                encode(framing, message.json.get(), &mut bytes);
                drop(message);
                if bytes.len() > BATCH_BYTES
                    && let Err(end) = write(&mut to, &mut bytes, stall).await
                {
                    return end;
                }
            }
            if let Err(end) = write(&mut to, &mut bytes, stall).await {
                return end;
            }
        }
    });
    (outbox, writer)
}

/// Writes all of `bytes` and empties it.
async fn write<W: AsyncWrite + Unpin>(to: &mut W, bytes: &mut Vec<u8>, stall: Duration) -> Result<(), WriterEnd> {
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        match tokio::time::timeout(stall, to.write(rest)).await {
            Err(_) => return Err(WriterEnd::Stalled),
            Ok(Err(error)) => return Err(WriterEnd::Failed(error)),
            Ok(Ok(0)) => return Err(WriterEnd::Failed(std::io::ErrorKind::WriteZero.into())),
            Ok(Ok(written)) => rest = rest.get(written..).unwrap_or_default(),
        }
    }
    if bytes.capacity() > 2 * BATCH_BYTES {
        *bytes = Vec::new();
    } else {
        bytes.clear();
    }
    match tokio::time::timeout(stall, to.flush()).await {
        Err(_) => Err(WriterEnd::Stalled),
        Ok(flushed) => flushed.map_err(WriterEnd::Failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[tokio::test]
    async fn everything_queued_is_written_in_order_before_the_writer_ends() {
        let (near, mut far) = tokio::io::duplex(16);
        let (outbox, writer) = start(near, Arc::new(OnceLock::from(Framing::Headers)), STALL);
        let reader = tokio::spawn(async move {
            let mut text = String::new();
            far.read_to_string(&mut text).await.unwrap();
            text
        });
        for number in 0..300 {
            outbox.send(raw(&number.to_string())).await.unwrap();
        }
        drop(outbox);
        assert!(matches!(writer.await.unwrap(), WriterEnd::Done));
        let expected: Vec<String> =
            (0..300).map(|n: u32| format!("Content-Length: {}\r\n\r\n{n}", n.to_string().len())).collect();
        assert_eq!(reader.await.unwrap(), expected.concat());
    }

    #[tokio::test]
    async fn a_peer_that_takes_nothing_is_cut_and_what_waits_is_bounded() {
        let (near, _far) = tokio::io::duplex(16);
        let (outbox, writer) = start(near, Arc::new(OnceLock::new()), Duration::from_millis(50));
        let long = format!("\"{}\"", "x".repeat(QUEUE_BYTES / 4));
        let mut taken = 0;
        while outbox.send(raw(&long)).await.is_ok() {
            taken += 1;
        }
        // Four wait; the writer holds one or two more.
        assert!((4..8).contains(&taken), "{taken}");
        assert!(matches!(writer.await.unwrap(), WriterEnd::Stalled));
        outbox.closed().await;
    }
}
