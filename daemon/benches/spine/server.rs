//! A model server on the loopback interface: Chat Completions over HTTP/1.1, answers from a queue, notes when each request
//! had arrived and when its answer was out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// One answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Events of the stream, each written by itself.
    events: Vec<String>,
    /// Pause before each.
    gap: Duration,
}

impl Reply {
    /// A text.
    pub fn text(text: &str) -> Self {
        Self::deltas(vec![text.to_owned()], Duration::ZERO)
    }

    /// A text in pieces.
    pub fn deltas(pieces: Vec<String>, gap: Duration) -> Self {
        let piece = |text: &String| {
            format!(
                r#"{{"choices":[{{"index":0,"delta":{{"content":{}}},"finish_reason":null}}]}}"#,
                serde_json::json!(text)
            )
        };
        Self { events: pieces.iter().map(piece).collect(), gap }.ended("stop")
    }

    /// A call of a tool.
    pub fn call(name: &str, arguments: &str) -> Self {
        let call = format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"x","type":"function","function":{{"name":"{name}","arguments":{}}}}}]}},"finish_reason":null}}]}}"#,
            serde_json::json!(arguments)
        );
        Self { events: vec![call], gap: Duration::ZERO }.ended("tool_calls")
    }

    fn ended(mut self, reason: &str) -> Self {
        self.events.push(format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#));
        self.events.push("[DONE]".to_owned());
        self
    }
}

/// One request and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// When the whole request was there.
    pub arrived: Instant,
    /// When each event of the answer was written.
    pub sent: Vec<Instant>,
    /// When the answer was out.
    pub answered: Instant,
}

/// See the module's head.
pub struct Server {
    /// Its port.
    pub port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    exchanges: watch::Sender<Vec<Exchange>>,
}

impl Server {
    /// Begins to listen.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared { replies: Mutex::default(), exchanges: watch::Sender::new(Vec::new()) });
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                tokio::spawn(serve(stream, Arc::clone(&accepting)));
            }
        });
        Self { port, shared }
    }

    /// Answers for the next requests.
    pub fn push(&self, replies: impl IntoIterator<Item = Reply>) {
        self.shared.replies.lock().expect("no panic").extend(replies);
    }

    /// How many exchanges are over.
    pub fn count(&self) -> usize {
        self.shared.exchanges.borrow().len()
    }

    /// The exchanges after `from`, once there are `count` of them.
    pub async fn exchanges(&self, from: usize, count: usize) -> Vec<Exchange> {
        let mut seen = self.shared.exchanges.subscribe();
        let exchanges = seen.wait_for(|exchanges| exchanges.len() >= from + count).await.expect("the server lives");
        exchanges[from..from + count].to_vec()
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    loop {
        let Some(arrived) = read_request(&mut stream, &mut buffer).await else { return };
        let reply = shared.replies.lock().expect("no panic").pop_front().unwrap_or_else(|| Reply::text("done"));
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        if stream.write_all(head.as_bytes()).await.is_err() {
            return;
        }
        let mut sent = Vec::with_capacity(reply.events.len());
        for event in &reply.events {
            if !reply.gap.is_zero() {
                tokio::time::sleep(reply.gap).await;
            }
            let event = format!("data: {event}\n\n");
            sent.push(Instant::now());
            if stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await.is_err() {
                return;
            }
        }
        if stream.write_all(b"0\r\n\r\n").await.is_err() {
            return;
        }
        let exchange = Exchange { arrived, sent, answered: Instant::now() };
        shared.exchanges.send_modify(|exchanges| exchanges.push(exchange));
    }
}

/// Reads one request to its end; gives the moment.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Instant> {
    loop {
        if let Some(head) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let headers = String::from_utf8_lossy(&buffer[..head]).to_lowercase();
            let length: usize = headers.split("content-length:").nth(1)?.split("\r\n").next()?.trim().parse().ok()?;
            if buffer.len() >= head + 4 + length {
                buffer.drain(..head + 4 + length);
                return Some(Instant::now());
            }
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}
