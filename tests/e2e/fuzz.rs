//! Hostile bytes over the real socket, made from a seed: whatever comes, no connection but its own feels it, every request
//! is answered exactly once, nothing panics, and memory stays bounded.
//!
//! `PLIMSOLL_FUZZ_SEED` and `PLIMSOLL_FUZZ_ROUNDS` say where to begin and how long to go on; a failure names its seed.

use plimsoll_tests::client::{Client, Framing};
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::schema::Schema;
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Connections of a run that names no number.
const ROUNDS: u64 = 150;

/// Growth that is no leak: what the allocator keeps of the longest messages.
const GROWTH: u64 = 64 << 20;

/// Methods that end what the test stands on, and those that could make models or commands run.
const LEFT_OUT: [&str; 4] = ["daemon/stop", "shutdown", "turn/start", "turn/steer"];

/// Xorshift: the same numbers from the same seed, everywhere.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("small")
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most)).map(|_| self.next().to_le_bytes()[3]).collect()
    }
}

/// What one connection says.
#[derive(Default)]
struct Said {
    bytes: Vec<u8>,
    /// Ids of requests that are well-formed, as JSON text: each must be answered exactly once.
    ids: Vec<String>,
}

/// A method with the names of its parameters.
struct Method {
    name: String,
    parameters: Vec<String>,
}

/// All methods that are called; each that is left out is one of the daemon's.
fn methods() -> Vec<Method> {
    let schema = Schema::committed();
    let names = schema.methods();
    for left_out in LEFT_OUT {
        assert!(names.iter().any(|name| name == left_out), "there is no {left_out}");
    }
    let called = names.into_iter().filter(|name| !LEFT_OUT.contains(&name.as_str()));
    called.map(|name| Method { parameters: schema.parameters(&name), name }).collect()
}

struct Maker<'a> {
    random: Random,
    methods: &'a [Method],
    session: &'a str,
    framing: Framing,
    said: Said,
}

impl Maker<'_> {
    fn value(&mut self, depth: usize) -> Value {
        match self.random.below(if depth == 0 { 7 } else { 9 }) {
            0 => Value::Null,
            1 => json!(self.random.next().is_multiple_of(2)),
            2 => json!(self.random.next()),
            3 => json!(-1),
            4 => json!(1e308),
            5 => json!(self.session),
            6 => json!(String::from_utf8_lossy(&self.random.bytes(40))),
            7 => (0..self.random.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => self.object(depth - 1),
        }
    }

    fn object(&mut self, depth: usize) -> Value {
        let methods = self.methods;
        let names = &self.random.pick(methods).parameters;
        self.fields(names, depth)
    }

    /// Some of these fields, with values of anything.
    fn fields(&mut self, names: &[String], depth: usize) -> Value {
        if names.is_empty() {
            return json!({});
        }
        let fields = self.random.below(5);
        (0..fields).map(|_| (self.random.pick(names).clone(), self.value(depth))).collect()
    }

    fn id(&mut self) -> String {
        let no = self.said.ids.len();
        let id = match self.random.below(3) {
            0 => format!("{no}"),
            1 => format!("\"é{no}\""),
            _ => format!("{no}.5"),
        };
        self.said.ids.push(id.clone());
        id
    }

    /// A request that must be answered, whatever it asks for.
    fn request(&mut self) -> String {
        let methods = self.methods;
        let Method { name, parameters } = self.random.pick(methods);
        let method = if self.random.below(8) == 0 {
            json!(String::from_utf8_lossy(&self.random.bytes(20)))
        } else {
            json!(name)
        };
        let params = if self.random.below(4) == 0 { self.object(2) } else { self.fields(parameters, 2) };
        format!(r#"{{"jsonrpc":"2.0","id":{},"method":{method},"params":{params}}}"#, self.id())
    }

    fn frame(&mut self, message: &[u8]) {
        match self.framing {
            Framing::Lines => {
                self.said.bytes.extend_from_slice(message);
                self.said.bytes.push(b'\n');
            }
            Framing::Headers => {
                let headers = [
                    format!("Content-Length: {}\r\n\r\n", message.len()),
                    format!("content-length:{}\r\n\r\n", message.len()),
                    format!("X-A: b\r\nCONTENT-LENGTH:   {}\r\nContent-Type: x; charset=utf-8\r\n\r\n", message.len()),
                    format!("Content-Length: {}\n\n", message.len()),
                ];
                self.said.bytes.extend_from_slice(self.random.pick(&headers).as_bytes());
                self.said.bytes.extend_from_slice(message);
            }
        }
    }

    /// A message that is none, or not one that can be answered by its id.
    fn odd(&mut self) -> Vec<u8> {
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"daemon/status"}"#.as_bytes();
        match self.random.below(9) {
            // Bytes of anything; a line must not end inside.
            0 => self.random.bytes(200).into_iter().map(|byte| if byte == b'\n' { b'x' } else { byte }).collect(),
            // A request that lost its end.
            1 => request[..=self.random.below(request.len() - 2)].to_vec(),
            2 => [b"{\"x\":".repeat(5_000), b"1".to_vec(), b"}".repeat(5_000)].concat(),
            3 => b"[".repeat(100_000),
            4 => format!(r#"{{"jsonrpc":"2.0","method":"session/get","params":{{"session":{}}}}}"#, "9".repeat(5_000))
                .into_bytes(),
            5 => br#"{"jsonrpc":"2.0","method":"a","method":"b"}"#.to_vec(),
            6 => b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\xfe\"}".to_vec(),
            7 => br#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":0}}"#.to_vec(),
            _ => br#"{"jsonrpc":"2.0","id":0,"result":{}}"#.to_vec(),
        }
    }

    fn batch(&mut self) -> String {
        // Subscriptions are refused in batches, and that is an answer too.
        let entries: Vec<String> = (0..=self.random.below(6)).map(|_| self.request()).collect();
        format!("[{}]", entries.join(","))
    }

    fn say(mut self) -> Said {
        // So that the framing is known, whatever comes then.
        let first = self.request();
        self.frame(first.as_bytes());
        for _ in 0..self.random.below(12) {
            let message = match self.random.below(5) {
                0 | 1 => self.request().into_bytes(),
                2 => self.batch().into_bytes(),
                _ => self.odd(),
            };
            if self.framing == Framing::Headers && message.is_empty() {
                continue;
            }
            self.frame(&message);
        }
        if self.framing == Framing::Headers && self.random.below(4) == 0 {
            let ends: [&[u8]; 4] = [
                b"Content-Length: x\r\n\r\n",
                b"no header\r\n\r\n",
                b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
                b"\xff\xff\r\n\r\n",
            ];
            let end: &[u8] = ends[self.random.below(ends.len())];
            self.said.bytes.extend_from_slice(end);
        }
        self.said
    }
}

/// The ids of the answers, each with how many there were.
fn answered(heard: &[u8], framing: Framing) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let mut count = |message: &Value| {
        if message.get("method").is_none() {
            *found.entry(message["id"].to_string()).or_default() += 1;
        }
    };
    let mut rest = heard;
    while !rest.is_empty() {
        let body = match framing {
            Framing::Lines => {
                let end = rest.iter().position(|byte| *byte == b'\n').expect("a line ends");
                let (line, after) = rest.split_at(end + 1);
                rest = after;
                line
            }
            Framing::Headers => {
                let text = String::from_utf8_lossy(&rest[..rest.len().min(100)]).into_owned();
                let (head, _) = text.split_once("\r\n\r\n").expect("headers");
                let length: usize = head.rsplit(' ').next().expect("a length").parse().expect("a number");
                let (body, after) = rest[head.len() + 4..].split_at(length);
                rest = after;
                body
            }
        };
        match serde_json::from_slice::<Value>(body).expect("the daemon says JSON") {
            Value::Array(entries) => entries.iter().for_each(&mut count),
            one => count(&one),
        }
    }
    found
}

async fn round(daemon: &TestDaemon, seed: u64, methods: &[Method], session: &str) {
    let mut random = Random::new(seed);
    let framing = *random.pick(&[Framing::Lines, Framing::Headers]);
    let said = Maker { random, methods, session, framing, said: Said::default() }.say();
    let (mut from, mut to) = daemon.stream().await.into_split();
    let bytes = said.bytes.clone();
    // Both at once: the daemon does not read on while nobody takes its answers.
    let writing = tokio::spawn(async move {
        // It closes the connection at broken framing.
        let _ = to.write_all(&bytes).await;
        let _ = to.shutdown().await;
    });
    let mut heard = Vec::new();
    in_time(&format!("the end of the connection of seed {seed}"), from.read_to_end(&mut heard)).await.expect("bytes");
    writing.await.expect("it ends");
    let found = answered(&heard, framing);
    for id in &said.ids {
        let id = serde_json::from_str::<Value>(id).expect("an id").to_string();
        assert_eq!(found.get(&id), Some(&1), "seed {seed}, {framing:?}: answers to {id} of {:?}", said.ids);
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[tokio::test]
async fn whatever_is_said_everybody_is_answered() {
    let daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    let witness: Client = daemon.client().await;
    let workspace = Workspace::new();
    let session = witness.session(&workspace).await;
    let methods = methods();
    let first = number("PLIMSOLL_FUZZ_SEED").unwrap_or(1);
    round(&daemon, first, &methods, &session).await;
    let before = daemon.resident();
    for seed in first..first + number("PLIMSOLL_FUZZ_ROUNDS").unwrap_or(ROUNDS) {
        round(&daemon, seed, &methods, &session).await;
        witness.ok("daemon/status", json!({})).await;
    }
    let grown = daemon.resident().saturating_sub(before);
    assert!(grown < GROWTH, "grown by {grown} bytes");
    let log = daemon.machine().log();
    assert!(!log.contains("panicked"), "{log}");
    // Only the witness is left.
    let alone = witness.ok("daemon/status", json!({})).await;
    assert_eq!(alone["pid"], daemon.pid());
}
