//! Tests of the ACP wire over a handler of the tests' own.

use super::*;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

struct Talk {
    to: WriteHalf<DuplexStream>,
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
    served: tokio::task::JoinHandle<()>,
}

fn result(value: &Value) -> Outcome {
    Ok(serde_json::value::to_raw_value(value).unwrap()).into()
}

/// Echoes; `ask` asks the client first, `wait` waits to be cancelled, `later` says something after its answer.
async fn handler(peer: Peer, call: Call) -> Outcome {
    let params = call.params.as_deref().map_or(Value::Null, |params| serde_json::from_str(params.get()).unwrap());
    match call.method.as_str() {
        "echo" => result(&params),
        "panic" => panic!("as the test wants"),
        "wait" => {
            call.cancelled.cancelled().await;
            result(&json!("cancelled"))
        }
        "ask" => {
            let pending = peer.request("client/ask", &params).await.unwrap();
            let id = pending.id();
            let answer = pending.answer();
            tokio::pin!(answer);
            let answer = tokio::select! {
                answer = &mut answer => answer.unwrap(),
                () = call.cancelled.cancelled() => {
                    peer.withdraw(id).await.unwrap();
                    return result(&json!("withdrawn"));
                }
            };
            let said = match answer {
                Ok(result) => json!({ "ok": result }),
                Err(error) => json!({ "error": error }),
            };
            result(&said)
        }
        "later" => {
            let then = async move { peer.update("s", plan()).await.unwrap() };
            Outcome { then: Some(then.boxed()), ..result(&json!({})) }
        }
        other => Err(error::invalid_params(other)).into(),
    }
}

fn plan() -> agent_client_protocol_schema::v1::SessionUpdate {
    super::super::translate::plan(&[])
}

impl Talk {
    fn begin() -> Self {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let served = tokio::spawn(run(far, CancellationToken::new(), |peer| move |call| handler(peer.clone(), call)));
        let (from, to) = tokio::io::split(near);
        Self { to, from: BufReader::new(from).lines(), served }
    }

    async fn say(&mut self, text: &str) {
        self.to.write_all(format!("{text}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.from.next_line().await.unwrap().expect("the connection ended")).unwrap()
    }

    async fn code(&mut self, said: &str) -> (Value, Value) {
        self.say(said).await;
        let heard = self.hear().await;
        (heard["id"].clone(), heard["error"]["code"].clone())
    }
}

#[tokio::test]
async fn bad_messages_get_an_error_and_the_connection_lives() {
    let mut talk = Talk::begin();
    assert_eq!(talk.code("rubbish").await, (Value::Null, json!(-32700)));
    assert_eq!(talk.code("[]").await, (Value::Null, json!(-32600)));
    assert_eq!(talk.code(r#"[{"jsonrpc":"2.0","id":1,"method":"echo"}]"#).await, (Value::Null, json!(-32600)));
    assert_eq!(talk.code(r#"{"id":3,"method":"echo"}"#).await, (json!(3), json!(-32600)));
    assert_eq!(talk.code(r#"{"jsonrpc":"2.0","id":"x","method":"panic"}"#).await, (json!("x"), json!(-32603)));
    talk.say(r#"{"jsonrpc":"2.0","method":"_unknown/notification"}"#).await;
    talk.say(r#"{"jsonrpc":"2.0","id":99,"result":"to nothing"}"#).await;
    talk.say(r#"{"jsonrpc":"2.0","id":4,"method":"echo","params":{"a":1}}"#).await;
    assert_eq!(talk.hear().await, json!({"jsonrpc":"2.0","id":4,"result":{"a":1}}));
}

#[tokio::test]
async fn a_call_is_cancelled_by_request_id_and_answers_itself() {
    let mut talk = Talk::begin();
    talk.say(r#"{"jsonrpc":"2.0","id":1,"method":"wait"}"#).await;
    assert_eq!(talk.code(r#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#).await, (json!(1), json!(-32600)));
    talk.say(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}"#).await;
    assert_eq!(talk.hear().await, json!({"jsonrpc":"2.0","id":1,"result":"cancelled"}));
}

#[tokio::test]
async fn the_client_is_asked_and_its_answer_comes_back() {
    let mut talk = Talk::begin();
    talk.say(r#"{"jsonrpc":"2.0","id":"a","method":"ask","params":{"q":1}}"#).await;
    assert_eq!(talk.hear().await, json!({"jsonrpc":"2.0","id":1,"method":"client/ask","params":{"q":1}}));
    talk.say(r#"{"jsonrpc":"2.0","id":1,"result":{"yes":true}}"#).await;
    assert_eq!(talk.hear().await, json!({"jsonrpc":"2.0","id":"a","result":{"ok":{"yes":true}}}));
    talk.say(r#"{"jsonrpc":"2.0","id":"b","method":"ask","params":{}}"#).await;
    talk.hear().await;
    talk.say(r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"m"}}"#).await;
    assert_eq!(talk.hear().await["result"], json!({"error":{"code":1,"message":"m"}}));
    talk.say(r#"{"jsonrpc":"2.0","id":"c","method":"ask","params":{}}"#).await;
    talk.hear().await;
    talk.say(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"c"}}"#).await;
    assert_eq!(talk.hear().await, json!({"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}));
    assert_eq!(talk.hear().await, json!({"jsonrpc":"2.0","id":"c","result":"withdrawn"}));
    // Too late: ignored.
    talk.say(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#).await;
    talk.say(r#"{"jsonrpc":"2.0","id":5,"method":"echo"}"#).await;
    assert_eq!(talk.hear().await["id"], json!(5));
}

#[tokio::test]
async fn what_follows_an_answer_comes_after_it() {
    let mut talk = Talk::begin();
    talk.say(r#"{"jsonrpc":"2.0","id":1,"method":"later"}"#).await;
    assert_eq!(talk.hear().await, json!({"jsonrpc":"2.0","id":1,"result":{}}));
    let update = json!({"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}});
    assert_eq!(talk.hear().await, json!({"jsonrpc":"2.0","method":"session/update","params":update}));
}

#[tokio::test]
async fn the_end_of_input_ends_the_connection() {
    let mut talk = Talk::begin();
    talk.say(r#"{"jsonrpc":"2.0","id":1,"method":"wait"}"#).await;
    talk.to.shutdown().await.unwrap();
    assert_eq!(talk.from.next_line().await.unwrap(), None);
    talk.served.await.unwrap();
}
