//! Tests of the connection over a table of test methods: cases I02 to I06, cancelling, slow readers, the end.

use super::*;
use crate::rpc::error::WireError;
use jsonrpsee_core::server::RpcModule;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::Notify;

/// What the test methods share with the test.
#[derive(Default)]
struct World {
    /// `release` lets `wait` answer.
    release: Notify,
    /// `wait` has begun.
    waiting: Notify,
    noted: AtomicBool,
    /// What `enter` was told.
    entered: Mutex<Vec<u64>>,
    /// A subscription has ended.
    unsubscribed: Notify,
}

fn methods(world: Arc<World>) -> Methods {
    let mut module = RpcModule::from_arc(world);
    module.register_method("echo", |params, _, _| params.parse::<Value>()).unwrap();
    module.register_method("name", |_, _, context| context.get::<Arc<Peer>>().unwrap().client().name).unwrap();
    module
        .register_method("note", |_, world, _| {
            world.noted.store(true, Ordering::SeqCst);
        })
        .unwrap();
    module
        .register_async_method("enter", |params, world, _| async move {
            #[derive(serde::Deserialize)]
            struct Entry {
                n: u64,
            }
            world.entered.lock().unwrap().push(params.parse::<Entry>().unwrap().n);
            tokio::task::yield_now().await;
        })
        .unwrap();
    module.register_method("noted", |_, world, _| world.noted.load(Ordering::SeqCst)).unwrap();
    module.register_method::<Value, _>("panic", |_, _, _| panic!("as the test wants")).unwrap();
    module.register_method("big", |_, _, _| "x".repeat(5 * 1024 * 1024)).unwrap();
    module
        .register_async_method("wait", |_, world, _| async move {
            world.waiting.notify_one();
            world.release.notified().await;
            "released"
        })
        .unwrap();
    module
        .register_subscription("count", "counted", "uncount", |params, pending, world, _| async move {
            #[derive(serde::Deserialize)]
            struct To {
                to: u64,
            }
            let to: To = match params.parse() {
                Ok(to) => to,
                Err(error) => return pending.reject(error).await,
            };
            let Ok(sink) = pending.accept().await else { return };
            for number in 0..to.to {
                if sink.send(serde_json::value::to_raw_value(&number).unwrap()).await.is_err() {
                    break;
                }
            }
            sink.closed().await;
            world.unsubscribed.notify_one();
        })
        .unwrap();
    module.into()
}

struct Talk {
    world: Arc<World>,
    to: WriteHalf<DuplexStream>,
    from: BufReader<ReadHalf<DuplexStream>>,
    served: tokio::task::JoinHandle<()>,
    closing: CancellationToken,
}

impl Talk {
    fn begin() -> Self {
        Self::with(Patience::default())
    }

    fn with(patience: Patience) -> Self {
        let world = Arc::new(World::default());
        let (near, far) = tokio::io::duplex(64 * 1024);
        let client = Client { connection: 3, name: "tester".into(), ..Client::default() };
        let closing = CancellationToken::new();
        let served =
            tokio::spawn(run(far, methods(Arc::clone(&world)), Arc::new(Peer::new(client)), closing.clone(), patience));
        let (from, to) = tokio::io::split(near);
        Self { world, to, from: BufReader::new(from), served, closing }
    }

    async fn say(&mut self, text: &str) {
        self.to.write_all(text.as_bytes()).await.unwrap();
        self.to.write_all(b"\n").await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.from.read_line(&mut line).await.unwrap(), 0, "the connection ended");
        serde_json::from_str(&line).unwrap()
    }

    /// What is said gets exactly these answers: a last call shows that there are no more.
    async fn check(&mut self, said: &str, expected: &[Value]) {
        self.say(said).await;
        self.say(r#"{"jsonrpc":"2.0","id":"last","method":"name"}"#).await;
        for answer in expected {
            assert_eq!(self.hear().await, *answer, "{said}");
        }
        assert_eq!(self.hear().await, json!({"jsonrpc": "2.0", "id": "last", "result": "tester"}), "{said}");
    }

    async fn end(mut self) -> String {
        self.to.shutdown().await.unwrap();
        let mut rest = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut self.from, &mut rest).await.unwrap();
        self.served.await.unwrap();
        rest
    }
}

fn error(id: Value, kind: &ErrorKind, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": kind.code(), "message": message, "data": {"kind": kind, "hint": crate::rpc::error::hint(kind)}}})
}

#[tokio::test]
async fn partial_and_joined_frames_are_answered_and_a_cut_one_is_not_run() {
    let mut talk = Talk::begin();
    let frame = |id: u32, params: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo","params":{params}}}"#);
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    };
    for byte in frame(1, "{\"t\":\"\u{e9}\u{1F600}\"}").bytes() {
        talk.to.write_all(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    talk.to.write_all(format!("{}{}", frame(2, "{}"), frame(3, r#"{"n":3}"#)).as_bytes()).await.unwrap();
    let cut = frame(4, r#"{"never":true}"#);
    talk.to.write_all(&cut.as_bytes()[..cut.len() - 5]).await.unwrap();
    let heard = talk.end().await;
    let mut answers: Vec<&str> = heard.split("Content-Length: ").filter(|part| !part.is_empty()).collect();
    answers.sort_unstable_by_key(|answer| answer.split_once("\"id\":").map(|(_, rest)| rest.to_owned()));
    assert_eq!(
        answers,
        [
            "53\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":\"\u{e9}\u{1F600}\"}}",
            "38\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}",
            "43\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"n\":3}}",
        ]
        .map(|answer| {
            let (_, body) = answer.split_once("\r\n\r\n").unwrap();
            format!("{}\r\n\r\n{body}", body.len())
        })
    );
}

#[tokio::test]
async fn large_messages_pass_both_ways() {
    let mut talk = Talk::begin();
    let long = "y".repeat(5 * 1024 * 1024);
    talk.say(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":{{"text":"{long}"}}}}"#)).await;
    assert_eq!(talk.hear().await["result"]["text"].as_str().unwrap(), long);
    talk.say(r#"{"jsonrpc":"2.0","id":2,"method":"big"}"#).await;
    assert_eq!(talk.hear().await["result"].as_str().unwrap().len(), 5 * 1024 * 1024);
}

#[tokio::test]
async fn a_declared_longer_message_is_refused_and_the_connection_lives() {
    let mut talk = Talk::begin();
    let length = MESSAGE_LIMIT + 1;
    talk.to.write_all(format!("Content-Length: {length}\r\n\r\n").as_bytes()).await.unwrap();
    for _ in 0..64 {
        talk.to.write_all(&vec![b'x'; 1024 * 1024]).await.unwrap();
    }
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"name"}"#;
    talk.to.write_all(format!("xContent-Length: {}\r\n\r\n{ping}", ping.len()).as_bytes()).await.unwrap();
    let heard = talk.end().await;
    let kinds: Vec<bool> =
        ["-32007", "\"id\":null", "\"result\":\"tester\""].iter().map(|s| heard.contains(s)).collect();
    assert_eq!(kinds, [true, true, true], "{heard}");
}

#[tokio::test]
async fn broken_framing_gets_one_error_and_an_end() {
    for (said, code) in
        [("Content-Length: 0\r\n\r\n", "-32600"), ("rubbish\r\n\r\n", "-32600"), ("A: b\r\n\r\n", "-32600")]
    {
        let mut talk = Talk::begin();
        talk.to.write_all(said.as_bytes()).await.unwrap();
        let mut heard = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut talk.from, &mut heard).await.unwrap();
        assert_eq!((heard.matches("\"error\"").count(), heard.contains(code)), (1, true), "{heard}");
        talk.served.await.unwrap();
    }
}

#[tokio::test]
async fn notifications_get_no_answer() {
    let mut talk = Talk::begin();
    talk.check(r#"{"jsonrpc":"2.0","method":"noSuch"}"#, &[]).await;
    talk.check(
        r#"{"jsonrpc":"2.0","method":"echo","params":"x"}"#,
        &[error(Value::Null, &ErrorKind::InvalidRequest, "`params` must be an object")],
    )
    .await;
    talk.check(r#"{"jsonrpc":"2.0","method":"echo","params":[1]}"#, &[]).await;
    talk.check(r#"{"jsonrpc":"2.0","method":"panic"}"#, &[]).await;
    talk.check(r#"{"jsonrpc":"2.0","method":"count","params":{"to":3}}"#, &[]).await;
    talk.check(
        r#"{"jsonrpc":"2.0","id":9,"method":"noSuch"}"#,
        &[error(json!(9), &ErrorKind::MethodNotFound, "there is no method `noSuch`")],
    )
    .await;
    assert_eq!(talk.end().await, "");
}

#[tokio::test]
async fn a_known_notification_is_run() {
    let mut talk = Talk::begin();
    talk.say(r#"{"jsonrpc":"2.0","method":"note"}"#).await;
    // The two run side by side: asked until it shows.
    let noted = async {
        loop {
            talk.say(r#"{"jsonrpc":"2.0","id":1,"method":"noted"}"#).await;
            if talk.hear().await["result"] == json!(true) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), noted).await.unwrap();
}

#[tokio::test]
async fn batches_are_answered_as_the_standard_says() {
    let mut talk = Talk::begin();
    let request = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo","params":{{"n":{id}}}}}"#);
    let notification = r#"{"jsonrpc":"2.0","method":"note"}"#;
    let answer = |id: u32| json!({"jsonrpc": "2.0", "id": id, "result": {"n": id}});
    let invalid = |message: &str| error(Value::Null, &ErrorKind::InvalidRequest, message);
    talk.check(&format!("[{},{notification},{}]", request(1), request(2)), &[json!([answer(1), answer(2)])]).await;
    talk.check(&format!("[{notification}]"), &[]).await;
    talk.check("[]", &[invalid("a batch has at least one entry")]).await;
    let one = talk_error(&mut talk, "[1]").await;
    assert_eq!((one[0]["id"].clone(), one[0]["error"]["code"].clone()), (Value::Null, json!(-32600)));
    let many = vec![request(1); 100_000].join(",");
    let refused = talk_error(&mut talk, &format!("[{many}]")).await;
    assert_eq!((refused["id"].clone(), refused["error"]["code"].clone()), (Value::Null, json!(-32010)));
    let subscribing = talk_error(&mut talk, r#"[{"jsonrpc":"2.0","id":1,"method":"count","params":{"to":1}}]"#).await;
    assert_eq!(subscribing[0]["error"]["code"], json!(-32600));
}

async fn talk_error(talk: &mut Talk, said: &str) -> Value {
    talk.say(said).await;
    talk.hear().await
}

#[tokio::test]
async fn invalid_requests_keep_their_id_and_the_connection() {
    let mut talk = Talk::begin();
    let code = |answer: &Value| (answer["id"].clone(), answer["error"]["code"].clone());
    for (said, id, expected) in [
        ("{bad", Value::Null, -32700),
        (r#"{"jsonrpc":"2.0","id":5,"method":1}"#, json!(5), -32600),
        (r#"{"jsonrpc":"1.0","id":6,"method":"ping"}"#, json!(6), -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}"#, json!(7), -32600),
        (r#"{"jsonrpc":"2.0","id":8,"method":"echo","params":[1]}"#, json!(8), -32602),
        (r#"{"jsonrpc":"2.0","id":[],"method":"echo"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":9,"method":"panic"}"#, json!(9), -32603),
    ] {
        let answer = talk_error(&mut talk, said).await;
        assert_eq!(code(&answer), (id, json!(expected)), "{said}");
    }
    for id in [r#""s""#, "1.5", "null", "12345678901234567890", "123456789012345678901234567890", "-1"] {
        for method in ["name", "noSuch"] {
            talk.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)).await;
            let mut line = String::new();
            talk.from.read_line(&mut line).await.unwrap();
            assert!(line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#)), "{line}");
        }
    }
}

#[tokio::test]
async fn a_call_is_cancelled_by_its_id_and_its_id_is_taken_until_then() {
    let mut talk = Talk::begin();
    talk.say(r#"{"jsonrpc":"2.0","id":1,"method":"wait"}"#).await;
    talk.world.waiting.notified().await;
    talk.check(
        r#"{"jsonrpc":"2.0","id":1,"method":"name"}"#,
        &[error(json!(1), &ErrorKind::InvalidRequest, "a call with id 1 is not answered yet")],
    )
    .await;
    talk.check(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"1"}}"#, &[]).await;
    let cancelled = talk_error(&mut talk, r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#).await;
    assert_eq!(cancelled, error(json!(1), &ErrorKind::Cancelled, "the call was cancelled"));
    talk.check(r#"{"jsonrpc":"2.0","id":1,"method":"name"}"#, &[json!({"jsonrpc":"2.0","id":1,"result":"tester"})])
        .await;
}

#[tokio::test]
async fn a_subscription_is_answered_first_then_pushed_until_it_is_ended() {
    let mut talk = Talk::begin();
    talk.say(r#"{"jsonrpc":"2.0","id":1.5,"method":"count","params":{"to":2}}"#).await;
    let push = |n: u32| json!({"jsonrpc":"2.0","method":"counted","params":{"subscription":"sub-1","result":n}});
    assert_eq!(talk.hear().await, json!({"jsonrpc":"2.0","id":1.5,"result":"sub-1"}));
    assert_eq!([talk.hear().await, talk.hear().await], [push(0), push(1)]);
    let ended = |id: u32, result: bool| json!({"jsonrpc":"2.0","id":id,"result":result});
    talk.check(r#"{"jsonrpc":"2.0","id":2,"method":"uncount","params":{"subscription":"sub-1"}}"#, &[ended(2, true)])
        .await;
    talk.world.unsubscribed.notified().await;
    talk.check(r#"{"jsonrpc":"2.0","id":3,"method":"uncount","params":["sub-1"]}"#, &[ended(3, false)]).await;
    let wrong = talk_error(&mut talk, r#"{"jsonrpc":"2.0","id":4,"method":"count","params":{}}"#).await;
    assert_eq!(
        (wrong["id"].clone(), wrong["error"]["code"].clone(), wrong["error"]["data"]["kind"].clone()),
        (json!(4), json!(-32602), json!("invalidParams"))
    );
}

#[tokio::test]
async fn the_end_of_input_lets_calls_finish_and_ends_subscriptions() {
    let mut talk = Talk::begin();
    talk.say(r#"{"jsonrpc":"2.0","id":1,"method":"count","params":{"to":0}}"#).await;
    talk.hear().await;
    talk.say(r#"{"jsonrpc":"2.0","id":2,"method":"wait"}"#).await;
    let world = Arc::clone(&talk.world);
    world.waiting.notified().await;
    world.release.notify_one();
    assert_eq!(talk.end().await, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"released\"}\n");
    world.unsubscribed.notified().await;
}

#[tokio::test]
async fn a_call_that_outlives_its_client_is_given_up() {
    let mut talk = Talk::with(Patience {
        stall: Duration::from_millis(50),
        drain: Duration::from_millis(50),
        ..Patience::default()
    });
    talk.say(r#"{"jsonrpc":"2.0","id":2,"method":"wait"}"#).await;
    talk.world.waiting.notified().await;
    assert_eq!(talk.end().await, "");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let mut talk = Talk::with(Patience {
        stall: Duration::from_millis(50),
        drain: Duration::from_millis(50),
        ..Patience::default()
    });
    talk.say(r#"{"jsonrpc":"2.0","id":1,"method":"count","params":{"to":100000000}}"#).await;
    let world = Arc::clone(&talk.world);
    let Talk { served, to: _to, from: _from, .. } = talk;
    served.await.unwrap();
    world.unsubscribed.notified().await;
}

#[tokio::test]
async fn a_closing_daemon_ends_the_connection_after_what_was_said() {
    let mut talk = Talk::begin();
    talk.check(
        r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}"#,
        &[json!({"jsonrpc":"2.0","id":1,"result":{}})],
    )
    .await;
    talk.closing.cancel();
    let mut rest = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut talk.from, &mut rest).await.unwrap();
    assert_eq!(rest, "");
    talk.served.await.unwrap();
}

#[tokio::test]
async fn initialize_names_the_client_and_refuses_another_major() {
    use plimsoll_protocol::life::LifeApiServer as _;
    let module = crate::rpc::methods::life::Methods { life: crate::rpc::life::tests::sample(), names: Arc::default() }
        .into_rpc();
    let peer = Arc::new(Peer::new(Client::default()));
    let (near, far) = tokio::io::duplex(64 * 1024);
    let served =
        tokio::spawn(run(far, module.into(), Arc::clone(&peer), CancellationToken::new(), Patience::default()));
    let (from, mut to) = tokio::io::split(near);
    let mut lines = BufReader::new(from).lines();
    let mut ask = async |version: &str| -> Value {
        let params =
            json!({"clientInfo": {"name": "nvim", "more": 1}, "protocolVersion": version, "capabilities": {"new": []}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        to.write_all(format!("{call}\n").as_bytes()).await.unwrap();
        serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap()
    };
    let refused = ask("2.0").await;
    let expected = WireError::new(
        ErrorKind::IncompatibleVersion,
        "the client speaks protocol 2.0 and this daemon (0.1.0 b1) speaks 1.0",
    )
    .hint("update the daemon");
    assert_eq!(refused["error"], serde_json::to_value(&expected).unwrap());
    assert_eq!(ask("one").await["error"]["code"], json!(-32602));
    assert_eq!(peer.client().name, "");
    let accepted = ask("1.7").await;
    assert_eq!(
        accepted["result"],
        json!({
            "serverInfo": {"name": "plimsoll", "version": "0.1.0", "build": "b1", "pid": 7},
            "protocolVersion": "1.0",
            "capabilities":
                {"maxMessageBytes": MESSAGE_LIMIT, "maxBatch": 64, "maxSubscriptions": 256, "maxInFlight": 256, "methods": []},
        })
    );
    assert_eq!(peer.client().name, "nvim");
    served.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_begin_in_the_order_in_which_they_came() {
    let mut talk = Talk::begin();
    let calls: Vec<String> = (0..500)
        .map(|n| format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"enter\",\"params\":{{\"n\":{n}}}}}\n"))
        .collect();
    let calls = calls.concat();
    talk.to.write_all(calls.as_bytes()).await.unwrap();
    for _ in 0..500 {
        talk.hear().await;
    }
    assert_eq!(*talk.world.entered.lock().unwrap(), (0..500).collect::<Vec<u64>>());
}
