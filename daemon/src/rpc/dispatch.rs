//! One call: from its method's name and parameters to its answer. It runs jsonrpsee's callbacks and gives every answer
//! our form: ids as they came, errors with kind and hint. It does not read or write the connection.

use super::cancel::Call;
use super::error::WireError;
use super::framing::MESSAGE_LIMIT;
use super::message::{self, RequestId};
use futures_util::FutureExt;
use jsonrpsee_core::server::{
    BoundedSubscriptions, ConnectionId, Extensions, MethodCallback, MethodResponse, MethodSink, Methods,
    SubscriptionState,
};
use jsonrpsee_core::traits::IdProvider;
use jsonrpsee_types::{Id, Params, SubscriptionId};
use plimsoll_protocol::error::ErrorKind;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc;

/// Subscriptions of one connection: more sessions than anybody follows at a time.
pub const MAX_SUBSCRIPTIONS: u32 = 256;

/// Gives subscriptions the ids `sub-1`, `sub-2`, …: unique on their connection.
#[derive(Debug, Default)]
struct Numbered(AtomicU64);

impl IdProvider for Numbered {
    fn next_id(&self) -> SubscriptionId<'static> {
        format!("sub-{}", self.0.fetch_add(1, Ordering::Relaxed).saturating_add(1)).into()
    }
}

/// What a call led to.
#[derive(Debug)]
pub enum Reply {
    /// The answer.
    Answer(Box<RawValue>),
    /// The answer, and what comes after it until the subscription ends.
    Subscribed(Box<RawValue>, mpsc::Receiver<Box<RawValue>>),
}

/// Calls of one connection.
#[derive(Debug)]
pub struct Dispatch {
    methods: Methods,
    connection: ConnectionId,
    /// What handlers may ask about the connection.
    context: Extensions,
    ids: Numbered,
    subscriptions: BoundedSubscriptions,
}

impl Dispatch {
    /// A dispatcher for connection number `connection`.
    pub fn new(methods: Methods, connection: u64, mut context: Extensions) -> Self {
        let connection = ConnectionId(usize::try_from(connection).unwrap_or(usize::MAX));
        context.insert(connection);
        Self {
            methods,
            connection,
            context,
            ids: Numbered::default(),
            subscriptions: BoundedSubscriptions::new(MAX_SUBSCRIPTIONS),
        }
    }

    /// Runs a request until it is answered or cancelled.
    pub async fn request(&self, call: Call, id: &RequestId, method: &str, params: Option<Box<RawValue>>) -> Reply {
        // A handler that has its answer wins over a cancellation that comes at the same time.
        let reply = tokio::select! {
            biased;
            reply = AssertUnwindSafe(self.run(id, method, params)).catch_unwind() => reply,
            () = call.cancelled.cancelled() => {
                return Reply::Answer(WireError::new(ErrorKind::Cancelled, "the call was cancelled").response(id));
            }
        };
        match reply {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => Reply::Answer(error.response(id)),
            Err(_) => {
                tracing::error!(method, "a handler panicked");
                Reply::Answer(WireError::new(ErrorKind::Internal, format!("`{method}` failed inside")).response(id))
            }
        }
    }

    /// Runs a request that may not subscribe, inside a batch.
    pub async fn batched(
        &self,
        call: Call,
        id: &RequestId,
        method: &str,
        params: Option<Box<RawValue>>,
    ) -> Box<RawValue> {
        if matches!(self.methods.method(method), Some(MethodCallback::Subscription(_))) {
            let error = WireError::new(ErrorKind::InvalidRequest, format!("`{method}` cannot be called in a batch"));
            return error.hint("send it as a message of its own").response(id);
        }
        match self.request(call, id, method, params).await {
            Reply::Answer(answer) | Reply::Subscribed(answer, _) => answer,
        }
    }

    /// Runs a notification; whatever comes of it is not answered.
    pub async fn notification(&self, method: &str, params: Option<Box<RawValue>>) {
        if matches!(self.methods.method(method), Some(MethodCallback::Sync(_) | MethodCallback::Async(_))) {
            let none = RequestId::null();
            if AssertUnwindSafe(self.run(&none, method, params)).catch_unwind().await.is_err() {
                tracing::error!(method, "a handler panicked");
            }
        } else {
            tracing::debug!(method, "a notification was ignored");
        }
    }

    async fn run(&self, id: &RequestId, method: &str, params: Option<Box<RawValue>>) -> Result<Reply, WireError> {
        let Some((_, callback)) = self.methods.method_with_name(method) else {
            return Err(WireError::new(ErrorKind::MethodNotFound, format!("there is no method `{method}`")));
        };
        let params = match callback {
            MethodCallback::Unsubscription(_) => Some(subscription_of(params.as_deref())?),
            _ => params,
        };
        let unsubscribes = matches!(callback, MethodCallback::Unsubscription(_));
        if !unsubscribes
            && params.as_deref().is_some_and(|params| params.get().starts_with('[') && params.get() != "[]")
        {
            return Err(WireError::new(ErrorKind::InvalidParams, "parameters are given by name, in an object"));
        }
        let params = Params::new(params.as_deref().map(RawValue::get)).into_owned();
        let context = self.context.clone();
        let known = known_id(id);
        let inner = known.clone().unwrap_or(Id::Null);
        let response = match callback {
            MethodCallback::Sync(run) => run(inner, params, MESSAGE_LIMIT, context),
            MethodCallback::Async(run) => run(inner, params, self.connection, MESSAGE_LIMIT, context).await,
            MethodCallback::Unsubscription(run) => run(inner, params, self.connection, MESSAGE_LIMIT, context),
            MethodCallback::Subscription(run) => {
                let Some(permit) = self.subscriptions.acquire() else {
                    return Err(WireError::new(
                        ErrorKind::TooManySubscriptions,
                        format!("a connection has at most {MAX_SUBSCRIPTIONS} subscriptions"),
                    )
                    .hint("detach from a session first"));
                };
                let state =
                    SubscriptionState { conn_id: self.connection, id_provider: &self.ids, subscription_permit: permit };
                // One place: what the peer has not taken yet stays with the subscription, not here.
                let (sink, mut events) = mpsc::channel(1);
                let limit = u32::try_from(MESSAGE_LIMIT).unwrap_or(u32::MAX);
                let response = run(inner, params, MethodSink::new_with_limit(sink, limit), state, context).await;
                if response.is_subscription() {
                    // jsonrpsee has put the same response into the channel, before everything else.
                    events.recv().await;
                }
                if response.is_success() {
                    return Ok(Reply::Subscribed(finish(id, known.is_some(), response)?, events));
                }
                response
            }
        };
        finish(id, known.is_some(), response).map(Reply::Answer)
    }
}

/// The id as jsonrpsee can carry it; `None` for numbers that it would change.
fn known_id(id: &RequestId) -> Option<Id<'static>> {
    if id.is_null() {
        return Some(Id::Null);
    }
    if let Ok(number) = id.json().parse::<u64>() {
        return Some(Id::Number(number));
    }
    serde_json::from_str::<String>(id.json()).ok().map(|text| Id::Str(text.into()))
}

/// Gives a response of jsonrpsee our form.
fn finish(id: &RequestId, id_is_right: bool, response: MethodResponse) -> Result<Box<RawValue>, WireError> {
    #[derive(Deserialize)]
    struct Success<'a> {
        #[serde(borrow)]
        result: &'a RawValue,
    }
    let internal = || WireError::new(ErrorKind::Internal, "the answer has no JSON form");
    if response.is_error() {
        return Err(WireError::of_response(response.as_ref()).ok_or_else(internal)?);
    }
    if id_is_right {
        return Ok(response.into_json());
    }
    let success: Success<'_> = serde_json::from_str(response.as_ref()).map_err(|_| internal())?;
    message::response(id, &success.result).map_err(|_| internal())
}

/// The parameters of an unsubscription as jsonrpsee reads them, from `{"subscription": "sub-1"}`; jsonrpsee's own client
/// sends `["sub-1"]`.
fn subscription_of(params: Option<&RawValue>) -> Result<Box<RawValue>, WireError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Named { subscription: String },
        Placed([String; 1]),
    }
    let given = params.and_then(|params| serde_json::from_str::<Given>(params.get()).ok());
    let Some(Given::Named { subscription } | Given::Placed([subscription])) = given else {
        return Err(WireError::new(ErrorKind::InvalidParams, "`subscription`: a text such as sub-1 is needed"));
    };
    serde_json::value::to_raw_value(&[subscription])
        .map_err(|error| WireError::new(ErrorKind::Internal, error.to_string()))
}
