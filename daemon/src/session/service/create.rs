//! Making a session: what it will work with is chosen and checked now, so that its first prompt finds nothing missing.

use super::super::api::{ApiError, ApiErrorKind, Client, NewSession, SessionInfo};
use super::super::driver::now;
use super::super::given::clean_title;
use super::super::load::store_error;
use super::super::setup::config_error;
use super::Service;
use crate::config::{Overrides, PromptChoice};
use crate::store::SessionRecord;
use plimsoll_core::id::{ProjectKey, SessionId};
use plimsoll_core::ingest::{self, Source};
use plimsoll_core::prompt::{FULL_IDENTITY, Flaw};

impl Service {
    /// Makes a session.
    pub async fn create_session(
        &self,
        client: &Client,
        key: &ProjectKey,
        new: NewSession,
    ) -> Result<SessionInfo, ApiError> {
        self.check_open()?;
        let project = self.project(key).await?;
        let overrides = Overrides { model: new.model.clone(), mode: new.mode.clone(), ..Overrides::default() };
        let config = project.config(client, &overrides)?;
        for warning in &config.warnings {
            tracing::warn!(%warning, "the configuration is odd");
        }
        // A model that cannot be used is told now, not at the first prompt.
        let (profile, endpoint) = config.model(None).map_err(|error| config_error(&error))?;
        self.inner.shared.key(client, &endpoint).await?;
        let base_prompt = base_prompt(new.base_prompt, &config.prompts, profile.context_window)?;
        let id = new_session_id()?;
        let record = SessionRecord {
            id: id.clone(),
            title: new.title.as_deref().map(clean_title).transpose()?.unwrap_or_default(),
            mode: config.permissions.mode.to_string(),
            model: profile.id(),
            bundle: config.prompts.bundle,
            base_prompt,
            created_at: now(),
            key: new.key,
        };
        let store = self.store(key).await?;
        let row = store.create_session(record).await.map_err(|error| store_error(&error))?;
        self.info(&store, &row.id).await
    }
}

/// What takes the place of the identity sentence: the client's word, else the configuration's. It must leave room for the
/// rest of the model's window, which is in tokens.
fn base_prompt(asked: Option<String>, configured: &PromptChoice, window: u64) -> Result<Option<String>, ApiError> {
    let (place, text) = match (asked, &configured.base) {
        (Some(text), _) => (None, text),
        (None, Some(base)) => (Some(&base.place), base.value.clone()),
        (None, None) => return Ok(None),
    };
    let text = ingest::string(Source::User, text).trim().to_owned();
    let (kind, place) = match place {
        None => (ApiErrorKind::InvalidParams, "`basePrompt`".to_owned()),
        Some(place) => (ApiErrorKind::Config, place.to_string()),
    };
    match base_prompt_flaw(&text, window) {
        None => Ok(Some(text)),
        Some(flaw) => Err(ApiError::new(kind, format!("{place} {}", flaw.problem)).hint(flaw.fix)),
    }
}

/// Why a text cannot take the place of the identity sentence, for a model with this window.
pub(in crate::session) fn base_prompt_flaw(text: &str, window: u64) -> Option<Flaw> {
    // It has no placeholders: whatever braces it holds stay what they are.
    FULL_IDENTITY.flaw(&text.replace("{{", ""), window)
}

/// An id that no session has.
pub(in crate::session) fn new_session_id() -> Result<SessionId, ApiError> {
    let id = format!("s{}", uuid::Uuid::now_v7().simple());
    id.parse().map_err(|error| ApiError::new(ApiErrorKind::Internal, format!("no session id: {error}")))
}
