//! The calls of one connection that are not answered yet, by their ids: for `$/cancelRequest`, and so that no two have
//! the same.

use super::message::RequestId;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// The notification that cancels a call.
pub const METHOD: &str = "$/cancelRequest";

/// See the module's head. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct InFlight {
    calls: Arc<Mutex<HashMap<String, CancellationToken>>>,
}

/// A call that is not answered yet; forgotten when dropped.
#[derive(Debug)]
pub struct Call {
    table: InFlight,
    key: Option<String>,
    /// Cancelled when the client says so.
    pub cancelled: CancellationToken,
}

impl InFlight {
    /// Notes a call; `None` when another with this id is not answered yet. `null` names no call and is not noted.
    pub fn begin(&self, id: &RequestId) -> Option<Call> {
        let cancelled = CancellationToken::new();
        let key = (!id.is_null()).then(|| id.key());
        if let Some(key) = &key {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            if calls.contains_key(key) {
                return None;
            }
            calls.insert(key.clone(), cancelled.clone());
        }
        Some(Call { table: self.clone(), key, cancelled })
    }

    /// Cancels the call that a `$/cancelRequest` names; one that is answered already is no error.
    pub fn cancel(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow)]
            id: &'a RawValue,
        }
        let id = params
            .and_then(|params| serde_json::from_str::<Params<'_>>(params.get()).ok())
            .and_then(|params| RequestId::parse(params.id));
        if let Some(id) = id {
            self.cancel_id(&id);
        }
    }

    /// Cancels the call with this id; one that is answered already is no error.
    pub fn cancel_id(&self, id: &RequestId) {
        if let Some(call) = self.calls.lock().unwrap_or_else(PoisonError::into_inner).get(&id.key()) {
            call.cancel();
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.table.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn an_id_is_taken_until_its_call_is_dropped_and_cancels_that_call_only() {
        let table = InFlight::default();
        let id = |text: &str| RequestId::parse(&raw(text)).unwrap();
        let (number, text) = (table.begin(&id("7")).unwrap(), table.begin(&id(r#""7""#)).unwrap());
        assert!(table.begin(&id("7")).is_none());
        assert!(table.begin(&id("null")).is_some() && table.begin(&id("null")).is_some());
        table.cancel(Some(&raw(r#"{"id":"7"}"#)));
        table.cancel(Some(&raw(r#"{"id":8}"#)));
        table.cancel(None);
        assert_eq!((number.cancelled.is_cancelled(), text.cancelled.is_cancelled()), (false, true));
        drop(number);
        assert!(table.begin(&id("7")).is_some());
    }
}
