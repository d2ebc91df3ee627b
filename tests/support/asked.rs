//! One call of the model's, in a turn of its own.

use crate::client::Client;
use crate::model_server::{Call, ModelServer, Step};

/// The model makes one call in a turn of its own; gives its result as the model reads it.
pub async fn ask(client: &Client, server: &ModelServer, session: &str, call: Call) -> String {
    server.push(Step::calls([call]));
    server.push(Step::say("Seen."));
    assert_eq!(client.turn(session, "Go on").await["stopReason"], "endTurn");
    let (_, result) = server.requests().last().expect("a request").results().pop().expect("a result");
    result
}
