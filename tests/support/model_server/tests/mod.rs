//! The server's own tests, over a plain TCP client that knows as little of HTTP as it can.

mod rules;
mod streams;

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A connection with one request on it.
pub(super) struct Raw {
    stream: TcpStream,
    seen: Vec<u8>,
}

/// A whole answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub status: u16,
    pub head: String,
    /// The chunks of the body as they were framed.
    pub chunks: Vec<Vec<u8>>,
    /// Whether the body ended as HTTP says it must.
    pub complete: bool,
}

impl Answer {
    pub fn body(&self) -> String {
        String::from_utf8(self.chunks.concat()).unwrap()
    }

    /// The JSON of every `data:` line; `[DONE]` as a string.
    pub fn data(&self) -> Vec<Value> {
        let body = self.body();
        let lines = body.lines().filter_map(|line| line.strip_prefix("data: "));
        lines.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into())).collect()
    }
}

impl Raw {
    pub async fn send(server: &ModelServer, path: &str, body: &Value) -> Self {
        Self::send_bytes(server, path, body.to_string().as_bytes()).await
    }

    pub async fn send_bytes(server: &ModelServer, path: &str, body: &[u8]) -> Self {
        let mut stream = TcpStream::connect(server.addr()).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nanthropic-version: 2023-06-01\r\n\
             x-test: 1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body).await.unwrap();
        Self { stream, seen: Vec::new() }
    }

    /// Reads until `text` has come.
    pub async fn read_until(&mut self, text: &str) {
        while !String::from_utf8_lossy(&self.seen).contains(text) {
            let mut buffer = [0; 4096];
            let count = self.stream.read(&mut buffer).await.unwrap();
            assert!(count > 0, "the connection ended before {text:?}");
            self.seen.extend_from_slice(&buffer[..count]);
        }
    }

    /// Reads to the end of the connection.
    pub async fn finish(mut self) -> Answer {
        // A broken connection may show as a reset.
        let _ = self.stream.read_to_end(&mut self.seen).await;
        let split = self.seen.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
        let head = String::from_utf8(self.seen[..split].to_vec()).unwrap().to_ascii_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut rest = &self.seen[split..];
        if !head.contains("transfer-encoding: chunked") {
            return Answer { status, head, chunks: vec![rest.to_vec()], complete: true };
        }
        let mut chunks = Vec::new();
        while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
            let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
            if size == 0 {
                return Answer { status, head, chunks, complete: true };
            }
            chunks.push(rest[line + 2..line + 2 + size].to_vec());
            rest = &rest[line + 2 + size + 2..];
        }
        Answer { status, head, chunks, complete: false }
    }
}

pub(super) const CHAT: &str = "/v1/chat/completions";
pub(super) const MESSAGES: &str = "/v1/messages";

pub(super) fn chat() -> Value {
    json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 100,
        "tools": [{"type": "function", "function": {"name": "read_file", "description": "d",
            "parameters": {"type": "object", "properties": {"target_file": {"type": "string"}}, "required": ["target_file"]}}}],
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
    })
}

pub(super) fn messages() -> Value {
    json!({
        "model": "m", "stream": true, "max_tokens": 100, "system": [{"type": "text", "text": "s"}],
        "tools": [{"name": "read_file", "description": "d", "input_schema": {"type": "object", "properties": {}}}],
        "messages": [{"role": "user", "content": "u"}],
    })
}

pub(super) async fn ask(server: &ModelServer, path: &str, body: &Value) -> Answer {
    Raw::send(server, path, body).await.finish().await
}

/// The answer to the one request that fits `path`.
pub(super) async fn answer_to(step: Step, path: &str) -> Answer {
    let server = ModelServer::start(Script::new([step])).await;
    let body = if path == CHAT { chat() } else { messages() };
    let answer = ask(&server, path, &body).await;
    server.assert_clean();
    answer
}
