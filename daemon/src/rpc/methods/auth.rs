//! `auth/*`. A key that comes in is kept with its connection and goes nowhere else.

use super::super::error::{api, param};
use super::super::to_wire;
use crate::session::api::Secret;
use crate::session::service::Service;
use jsonrpsee_core::{RpcResult, async_trait, server::Extensions};
use plimsoll_protocol::auth::{AuthApiServer, Key, ProviderKey, StatusResult};

/// Longest key, in bytes: tokens of identity services reach a few thousand.
const KEY_MAX: usize = 16 * 1024;

pub struct Methods {
    pub service: Service,
}

#[async_trait]
impl AuthApiServer for Methods {
    async fn status(&self, context: &Extensions) -> RpcResult<StatusResult> {
        let keys = self.service.keys(&super::client(context)?).await.map_err(api)?;
        Ok(StatusResult { providers: keys.iter().map(|(provider, at)| to_wire::provider_key(provider, at)).collect() })
    }

    // The same key again changes nothing: the idempotency key adds nothing.
    async fn set(
        &self,
        context: &Extensions,
        provider: String,
        key: Option<Key>,
        _idempotency_key: Option<String>,
    ) -> RpcResult<ProviderKey> {
        let peer = super::peer(context)?;
        self.service.key_of(&peer.client(), &provider).await.map_err(api)?;
        let key = key.map(|key| check(key.0.trim()).map_err(|wrong| param("key", wrong))).transpose()?;
        peer.set_key(provider.clone(), key);
        let at = self.service.key_of(&peer.client(), &provider).await.map_err(api)?;
        Ok(to_wire::provider_key(&provider, &at))
    }
}

/// What is wrong is said without showing it.
fn check(key: &str) -> Result<Secret, String> {
    if key.is_empty() {
        return Err("is empty; null forgets the key".to_owned());
    }
    if key.len() > KEY_MAX {
        return Err(format!("is longer than {KEY_MAX} bytes"));
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("is no key: it holds more than letters, digits and marks of ASCII".to_owned());
    }
    Ok(Secret::new(key))
}
