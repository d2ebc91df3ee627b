//! The clients, and one call: the request out, the answer's bytes through the decoder, events to the caller as they come.

use super::address::{self, Route};
use super::endpoint::{Endpoint, Secret};
use super::problem::{self, silence, situate, transport};
use bytes::Bytes;
use futures_util::FutureExt;
use plimsoll_core::model::codec::{Decoder, classify, decode_whole};
use plimsoll_core::model::error::{ErrorClass, ModelError};
use plimsoll_core::model::event::ModelEvent;
use plimsoll_core::model::offline;
use plimsoll_core::model::request::Api;
use plimsoll_core::time::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response, Url, redirect};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// How long each part of a call may take. There is no limit for the whole: a long answer is a good answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Until the connection stands, TLS included.
    pub(super) connect: Duration,
    /// From sending to the first byte of the answer.
    pub(super) first_byte: Duration,
    /// The same for a server on this machine, which may first have to read a long prompt on a slow processor.
    pub(super) first_byte_here: Duration,
    /// Between two reads. Models that think in silence send nothing for minutes.
    pub(super) idle: Duration,
    /// Between the reason for the end and the end itself; some servers never send one.
    pub(super) after_reason: Duration,
}

impl Limits {
    pub(super) const DEFAULT: Self = Self {
        connect: Duration::from_secs(15),
        first_byte: Duration::from_mins(5),
        first_byte_here: Duration::from_mins(30),
        idle: Duration::from_mins(5),
        after_reason: Duration::from_secs(5),
    };
}

/// How long an unused connection is kept; most servers close theirs after a minute or two.
const POOL_IDLE: Duration = Duration::from_secs(90);

/// How often a silent connection is probed, so that a dead peer is noticed before the idle limit.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// What is read of an error's body: enough for every vendor's report, not for a web page's scripts.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// What is read of an answer that comes as one document; the decoder's bound for streamed ones.
const MAX_DOCUMENT: usize = 32 * 1024 * 1024;

/// How long what is already there is gathered before it is given on, so that a burst is one notification and a single
/// delta is not kept waiting.
const BURST_TIME: Duration = Duration::from_millis(1);

/// How much of a burst is gathered.
const BURST_BYTES: usize = 64 * 1024;

/// How long the end of a finished answer's body is awaited, so that the connection can be used again.
const DRAIN: Duration = Duration::from_millis(20);

/// The one place that talks to model servers. Cheap to make: clients are made at their first use, and only `https` loads
/// certificates.
#[derive(Debug)]
pub struct Http {
    limits: Limits,
    loopback: OnceLock<Client>,
    plain: OnceLock<Client>,
    tls: OnceLock<Client>,
}

impl Default for Http {
    fn default() -> Self {
        Self::new()
    }
}

impl Http {
    /// Without any connection yet.
    pub fn new() -> Self {
        Self::with_limits(Limits::DEFAULT)
    }

    pub(super) fn with_limits(limits: Limits) -> Self {
        Self { limits, loopback: OnceLock::new(), plain: OnceLock::new(), tls: OnceLock::new() }
    }

    /// Sends `body` to the endpoint and gives the events of the answer to `sink`, those of one read in one call. `Ok` after
    /// `Finished` was given. On an error the events before it have been given; its message names provider and machine and
    /// never the key. Nothing is retried.
    ///
    /// `cancel` drops the connection at once; the result is then an error that nobody needs to show.
    pub async fn call(
        &self,
        endpoint: &Endpoint,
        key: Option<&Secret>,
        body: Vec<u8>,
        cancel: CancellationToken,
        mut sink: impl FnMut(Vec<ModelEvent>) + Send,
    ) -> Result<(), ModelError> {
        if endpoint.api == Api::Offline {
            sink(offline::respond(&body));
            return Ok(());
        }
        let url = address::url(endpoint)?;
        let headers = address::headers(endpoint, key)?;
        let origin = address::origin(&url);
        let exchange = self.exchange(endpoint.api, url, headers, &origin, body, &mut sink);
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelError::new(ErrorClass::Connection, "the call was cancelled")),
            result = exchange => result.map_err(|error| situate(error, endpoint, &origin, key)),
        }
    }

    async fn exchange(
        &self,
        api: Api,
        url: Url,
        headers: HeaderMap,
        origin: &str,
        body: Vec<u8>,
        sink: &mut (impl FnMut(Vec<ModelEvent>) + Send),
    ) -> Result<(), ModelError> {
        let route = address::route(&url);
        let client = self.client(route).await?;
        let wait = if route == Route::Loopback { self.limits.first_byte_here } else { self.limits.first_byte };
        let sent = Instant::now();
        let response = timeout(wait, client.post(url).headers(headers).body(body).send())
            .await
            .map_err(|_| silence(origin, wait, false))?
            .map_err(|error| transport(&error, origin))?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        match kind.as_str() {
            "application/json" => {
                let document = self.document(response, origin).await?;
                sink(decode_whole(api, &document)?);
                Ok(())
            }
            "text/html" => Err(ModelError::new(
                ErrorClass::Protocol,
                "it answered with a web page; is base_url the address of the API?",
            )),
            _ => self.stream(response, api, origin, wait.saturating_sub(sent.elapsed()), sink).await,
        }
    }

    /// Reads the streamed answer; its first byte has to come within `first`.
    async fn stream(
        &self,
        mut response: Response,
        api: Api,
        origin: &str,
        first: Duration,
        sink: &mut (impl FnMut(Vec<ModelEvent>) + Send),
    ) -> Result<(), ModelError> {
        let mut decoder = Decoder::new(api);
        let mut begun = false;
        let mut ahead = None;
        loop {
            let wait = match (decoder.may_end(), begun) {
                (true, _) => self.limits.after_reason,
                (false, true) => self.limits.idle,
                (false, false) => first,
            };
            let read = match ahead.take() {
                Some(read) => Ok(read),
                None => timeout(wait, response.chunk()).await,
            };
            let mut events = Vec::new();
            let failed = match read {
                Ok(Ok(Some(bytes))) => {
                    begun = true;
                    let mut pushed = decoder.push(&bytes, &mut events);
                    if pushed.is_ok() {
                        (pushed, ahead) = burst(&mut response, &mut decoder, &mut events).await;
                    }
                    if !events.is_empty() {
                        sink(events);
                    }
                    pushed?;
                    if decoder.is_finished() {
                        // Whether the rest of the body comes decides about the connection only.
                        let _ = timeout(DRAIN, async { while let Ok(Some(_)) = response.chunk().await {} }).await;
                        return Ok(());
                    }
                    continue;
                }
                Ok(Ok(None)) => None,
                Ok(Err(error)) => Some(transport(&error, origin)),
                Err(_) => Some(silence(origin, wait, begun)),
            };
            // After the reason for the end nothing that is missing matters.
            if let Some(error) = failed.filter(|_| !decoder.may_end()) {
                return Err(error);
            }
            let result = decoder.finish(&mut events);
            if !events.is_empty() {
                sink(events);
            }
            return result;
        }
    }

    async fn refusal(&self, mut response: Response) -> ModelError {
        let status = response.status().as_u16();
        let headers: Vec<(String, String)> = response
            .headers()
            .iter()
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
            .collect();
        let mut body = Vec::new();
        // What is missing of an error's text is not worth another error.
        while let Ok(Ok(Some(bytes))) = timeout(self.limits.after_reason, response.chunk()).await {
            body.extend_from_slice(&bytes);
            if body.len() >= MAX_ERROR_BODY {
                break;
            }
        }
        body.truncate(MAX_ERROR_BODY);
        classify(status, &headers, &body, now())
    }

    async fn document(&self, mut response: Response, origin: &str) -> Result<Vec<u8>, ModelError> {
        let mut body = Vec::new();
        loop {
            match timeout(self.limits.idle, response.chunk()).await {
                Ok(Ok(Some(bytes))) if body.len() + bytes.len() > MAX_DOCUMENT => {
                    let message = format!("its answer is larger than {MAX_DOCUMENT} bytes");
                    return Err(ModelError::new(ErrorClass::Protocol, message));
                }
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                Ok(Ok(None)) => return Ok(body),
                Ok(Err(error)) => return Err(transport(&error, origin)),
                Err(_) => return Err(silence(origin, self.limits.idle, true)),
            }
        }
    }

    async fn client(&self, route: Route) -> Result<Client, ModelError> {
        let cell = match route {
            Route::Loopback => &self.loopback,
            Route::Plain => &self.plain,
            Route::Tls => &self.tls,
        };
        if let Some(client) = cell.get() {
            return Ok(client.clone());
        }
        let connect = self.limits.connect;
        // Reading the certificates of the system takes too long for a thread that others wait for.
        let built = match route {
            Route::Loopback | Route::Plain => build(route, connect),
            Route::Tls => {
                tokio::task::spawn_blocking(move || build(route, connect)).await.map_err(problem::internal)?
            }
        };
        let client = built.map_err(problem::internal)?;
        // Of two calls that come at the same time one makes the client that stays.
        Ok(cell.get_or_init(|| client).clone())
    }
}

pub(super) fn build(route: Route, connect: Duration) -> reqwest::Result<Client> {
    // The second of two has no effect and needs none.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("plimsoll/", env!("CARGO_PKG_VERSION")))
        // A redirect would carry the key and the conversation to another place.
        .redirect(redirect::Policy::none())
        .connect_timeout(connect)
        .pool_idle_timeout(POOL_IDLE)
        .tcp_nodelay(true)
        .tcp_keepalive(KEEP_ALIVE);
    match route {
        Route::Loopback => builder.no_proxy().tls_certs_only([]).build(),
        Route::Plain => builder.tls_certs_only([]).build(),
        Route::Tls => builder.http2_keep_alive_interval(KEEP_ALIVE).build(),
    }
}

/// What one read of a body gives.
type Read = reqwest::Result<Option<Bytes>>;

/// Takes in what has already arrived, or arrives as soon as the connection's own task has run. The end of the body, and
/// an error, are handed back for the loop to see.
async fn burst(
    response: &mut Response,
    decoder: &mut Decoder,
    events: &mut Vec<ModelEvent>,
) -> (Result<(), ModelError>, Option<Read>) {
    let begun = Instant::now();
    let mut taken = 0;
    while taken < BURST_BYTES && begun.elapsed() < BURST_TIME && !decoder.is_finished() {
        let mut ready = response.chunk().now_or_never();
        if ready.is_none() {
            tokio::task::yield_now().await;
            ready = response.chunk().now_or_never();
        }
        match ready {
            Some(Ok(Some(bytes))) => {
                taken += bytes.len();
                if let Err(error) = decoder.push(&bytes, events) {
                    return (Err(error), None);
                }
            }
            ended => return (Ok(()), ended),
        }
    }
    (Ok(()), None)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
