//! A client that records calls and answers none.

use jsonrpsee::core::client::{BatchResponse, ClientT, Error, Subscription, SubscriptionClientT};
use jsonrpsee::core::params::BatchRequestBuilder;
use jsonrpsee::core::traits::ToRpcParams;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// See the module's head.
#[derive(Default)]
pub struct Recorder {
    /// Parameters by method.
    pub calls: Mutex<BTreeMap<String, Value>>,
}

impl Recorder {
    fn record(&self, method: &str, params: impl ToRpcParams) -> Error {
        let params = params.to_rpc_params().unwrap();
        let params = params.map_or(json!({}), |params| serde_json::from_str(params.get()).unwrap());
        self.calls.lock().unwrap().insert(method.to_owned(), params);
        Error::Custom("recorded".to_owned())
    }
}

impl ClientT for Recorder {
    async fn notification<P: ToRpcParams + Send>(&self, method: &str, params: P) -> Result<(), Error> {
        Err(self.record(method, params))
    }

    async fn request<R: DeserializeOwned, P: ToRpcParams + Send>(&self, method: &str, params: P) -> Result<R, Error> {
        Err(self.record(method, params))
    }

    async fn batch_request<'a, R: DeserializeOwned + std::fmt::Debug + 'a>(
        &self,
        _: BatchRequestBuilder<'a>,
    ) -> Result<BatchResponse<'a, R>, Error> {
        Err(Error::Custom("not recorded".to_owned()))
    }
}

impl SubscriptionClientT for Recorder {
    async fn subscribe<'a, N: DeserializeOwned, P: ToRpcParams + Send>(
        &self,
        method: &'a str,
        params: P,
        unsubscribe: &'a str,
    ) -> Result<Subscription<N>, Error> {
        self.record(unsubscribe, jsonrpsee::core::params::ArrayParams::new());
        Err(self.record(method, params))
    }

    async fn subscribe_to_method<N: DeserializeOwned>(&self, method: &str) -> Result<Subscription<N>, Error> {
        Err(self.record(method, jsonrpsee::core::params::ArrayParams::new()))
    }
}
