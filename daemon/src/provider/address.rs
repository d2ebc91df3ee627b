//! Where a request goes: the URL of an API below a provider's base, and the headers that go with it.

use super::endpoint::{Endpoint, Secret};
use super::problem::configuration;
use plimsoll_core::model::error::{ErrorClass, ModelError};
use plimsoll_core::model::request::Api;
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use std::net::IpAddr;

/// The version of the Messages API that the codec speaks.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Which client a URL needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// This machine, in the clear: never through a proxy.
    Loopback,
    /// Another machine in the clear.
    Plain,
    /// With TLS.
    Tls,
}

/// The URL of the API itself; a query of the base stays.
pub(super) fn url(endpoint: &Endpoint) -> Result<Url, ModelError> {
    let base = Url::parse(endpoint.base_url.trim()).ok();
    let base = base.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let mut url = base.ok_or_else(|| configuration(endpoint, "its base_url is no http or https URL"))?;
    let path = url.path().trim_end_matches('/');
    let path = match endpoint.api {
        Api::OpenaiChat | Api::Offline => {
            format!("{}/chat/completions", path.strip_suffix("/chat/completions").unwrap_or(path))
        }
        // The base is the URL before /v1, but many documents give it with that.
        Api::AnthropicMessages => format!("{}/v1/messages", path.strip_suffix("/v1").unwrap_or(path)),
    };
    url.set_path(&path);
    Ok(url)
}

pub(super) fn route(url: &Url) -> Route {
    if url.scheme() == "https" {
        return Route::Tls;
    }
    if is_loopback(url) { Route::Loopback } else { Route::Plain }
}

/// Whether the server with this base URL is on this machine; no text that is no URL is.
pub fn is_on_this_machine(base_url: &str) -> bool {
    Url::parse(base_url.trim()).is_ok_and(|url| is_loopback(&url))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Scheme, host and port, as people are told; never a path, a password or a query.
pub(super) fn origin(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

/// All headers; the configured ones replace ours.
pub(super) fn headers(endpoint: &Endpoint, key: Option<&Secret>) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    if endpoint.api == Api::AnthropicMessages {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    if let Some(key) = key {
        let (name, value) = match endpoint.api {
            Api::AnthropicMessages => (HeaderName::from_static("x-api-key"), key.reveal().trim().to_owned()),
            Api::OpenaiChat | Api::Offline => (AUTHORIZATION, format!("Bearer {}", key.reveal().trim())),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            let message = format!("the key of provider `{}` has characters that no header can carry", endpoint.name);
            ModelError::new(ErrorClass::Auth, message)
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    for (name, value) in &endpoint.headers {
        let bad = || configuration(endpoint, &format!("its header `{name}` is not one that HTTP allows"));
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::endpoint::KeySource;

    fn endpoint(api: Api, base_url: &str) -> Endpoint {
        let headers = vec![("X-Org".to_owned(), "o".to_owned())];
        Endpoint { name: "p".into(), api, base_url: base_url.into(), key: KeySource::None, headers }
    }

    #[test]
    fn the_apis_path_is_added_to_the_base() {
        for (api, base, expected) in [
            (Api::OpenaiChat, "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/chat/completions"),
            (Api::OpenaiChat, "http://h/v1/chat/completions", "http://h/v1/chat/completions"),
            (Api::OpenaiChat, "https://h/d/?api-version=1", "https://h/d/chat/completions?api-version=1"),
            (Api::AnthropicMessages, "https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"),
            (Api::AnthropicMessages, "https://h/anthropic/v1", "https://h/anthropic/v1/messages"),
        ] {
            assert_eq!(url(&endpoint(api, base)).unwrap().as_str(), expected);
        }
        for bad in ["", "localhost:8080", "ftp://h", "http://", "file:///etc"] {
            let error = url(&endpoint(Api::OpenaiChat, bad)).unwrap_err();
            assert_eq!(error.message, "provider `p`: its base_url is no http or https URL", "{bad}");
        }
    }

    #[test]
    fn this_machine_is_never_reached_through_a_proxy() {
        for (url, expected) in [
            ("http://127.0.0.1:1/v1", Route::Loopback),
            ("http://127.8.0.1/v1", Route::Loopback),
            ("http://[::1]:8080/v1", Route::Loopback),
            ("http://LOCALHOST/v1", Route::Loopback),
            ("http://a.localhost/v1", Route::Loopback),
            ("http://notlocalhost/v1", Route::Plain),
            ("http://192.168.1.2/v1", Route::Plain),
            ("https://localhost/v1", Route::Tls),
        ] {
            assert_eq!(route(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn what_people_see_of_a_url_has_no_secret() {
        assert_eq!(origin(&Url::parse("https://u:secret@h:8443/x?key=secret").unwrap()), "https://h:8443");
        assert_eq!(origin(&Url::parse("http://[::1]:8080/v1").unwrap()), "http://[::1]:8080");
    }

    #[test]
    fn keys_go_where_the_api_wants_them_and_stay_hidden() {
        let key = Secret::new("sk-1\n");
        let chat = headers(&endpoint(Api::OpenaiChat, "http://h"), Some(&key)).unwrap();
        assert_eq!(chat["authorization"], "Bearer sk-1");
        assert_eq!(chat["x-org"], "o");
        assert!(!format!("{chat:?}").contains("sk-1"));
        let messages = headers(&endpoint(Api::AnthropicMessages, "http://h"), Some(&key)).unwrap();
        assert_eq!((messages.get("authorization"), &messages["x-api-key"]), (None, &HeaderValue::from_static("sk-1")));
        assert_eq!(messages["anthropic-version"], ANTHROPIC_VERSION);
        let error = headers(&endpoint(Api::OpenaiChat, "http://h"), Some(&Secret::new("a\nb"))).unwrap_err();
        assert_eq!(error.class, ErrorClass::Auth);
        assert!(!error.message.contains("a\nb"));
    }
}
