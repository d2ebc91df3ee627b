//! What clients may ask about permissions beside answering questions: modes, what is allowed for good, trust.

use super::super::actor::Msg;
use super::super::api::{Answer, ApiError, ApiErrorKind, Beside, Client, Grant, ProjectInfo, SessionInfo};
use super::super::load::store_error;
use super::super::setup::{TurnSetup, config_error};
use super::Service;
use crate::config::{ConfigError, Overrides, Place, parse_mode, parse_rule};
use plimsoll_core::id::{ProjectKey, SessionId};
use plimsoll_core::permission::rule::{Rule, Scope, Verdict};

/// Rules that one prompt may bring along: more than anybody types.
const PROMPT_RULES: usize = 100;

impl Service {
    /// Answers a question; `false` when another answer came first, an error when the question is void. A turn that was
    /// suspended goes on under the environment of this client.
    pub async fn answer(&self, client: &Client, id: &SessionId, answer: Answer) -> Result<bool, ApiError> {
        let _beginning = self.beginning();
        let handle = self.live(id).await?;
        let first = answer.clone();
        if let Some(taken) = handle.ask(|reply| Msg::Answer { answer: first, setup: None, reply }).await?? {
            return Ok(taken);
        }
        let setup = Some(Box::new(handle.project.turn(id, client, &handle.chosen).await));
        let taken = handle.ask(|reply| Msg::Answer { answer, setup, reply }).await??;
        taken.ok_or_else(|| ApiError::new(ApiErrorKind::Internal, "the suspended turn could not be taken up"))
    }

    /// Sets a session's permission mode; takes effect at the next decision.
    pub async fn set_mode(&self, id: &SessionId, mode: &str) -> Result<SessionInfo, ApiError> {
        let (key, _) = self.store_of(id).await?;
        let project = self.project(&key).await?;
        let config = project.config(&Client::default(), &Overrides::default())?;
        let mode = config.mode(mode).map_err(invalid)?;
        let handle = self.live(id).await?;
        handle.ask(|reply| Msg::SetMode { mode, reply }).await??;
        self.get_session(id).await
    }

    /// Sets a session's model; takes effect at its next turn. What a new session with it would find missing is missing here
    /// too.
    pub async fn set_model(&self, client: &Client, id: &SessionId, model: &str) -> Result<SessionInfo, ApiError> {
        let handle = self.live(id).await?;
        let config = handle.project.config(client, &Overrides::default())?;
        let (profile, endpoint) = config.model(Some(model)).map_err(|error| config_error(&error))?;
        self.inner.shared.key(client, &endpoint).await?;
        handle.ask(|reply| Msg::SetModel { model: profile.id(), reply }).await??;
        self.get_session(id).await
    }

    /// What a user allowed in a project until it is revoked, oldest first.
    pub async fn grants(&self, key: &ProjectKey) -> Result<Vec<Grant>, ApiError> {
        let project = self.project(key).await?;
        project.lasting.list().await.map_err(|error| store_error(&error))
    }

    /// Revokes one of them, in running turns too. A number that is not among them is no error: it was revoked before.
    pub async fn revoke(&self, key: &ProjectKey, no: u64) -> Result<(), ApiError> {
        let project = self.project(key).await?;
        project.lasting.forget(no).await.map_err(|error| store_error(&error))
    }

    /// All projects that were ever opened, oldest first. Opens none.
    pub async fn projects(&self) -> Result<Vec<ProjectInfo>, ApiError> {
        let stores = &self.inner.stores;
        let mut projects = Vec::new();
        for record in stores.projects().await.map_err(|error| store_error(&error))? {
            let trusted = stores.is_trusted(&record.key).await.map_err(|error| store_error(&error))?;
            projects.push(ProjectInfo { key: record.key, roots: record.roots, created_at: record.created_at, trusted });
        }
        Ok(projects)
    }

    /// Notes whether the user trusts a project: whether its own programs may run where the mode says so.
    pub async fn trust(&self, key: &ProjectKey, trusted: bool) -> Result<ProjectInfo, ApiError> {
        let project = self.project(key).await?;
        project.lasting.trust(trusted).await.map_err(|error| store_error(&error))?;
        let record = self.inner.stores.project(key).await.map_err(|error| store_error(&error))?;
        Ok(project.info(record))
    }
}

/// What a turn works with, with what the client put beside the prompt.
pub(super) fn beside(mut setup: TurnSetup, allow: Vec<Rule>, beside: Beside) -> Result<TurnSetup, ApiError> {
    if let Some(mode) = beside.mode {
        let mode = parse_mode(&mode, Place::Option("mode")).and_then(|mode| setup.permissions.check(mode));
        setup.mode = Some(mode.map_err(invalid)?);
    }
    setup.model = beside.model;
    setup.allow = allow;
    setup.attachments = beside.attachments;
    Ok(setup)
}

/// Rules in their text form that a client brings along for one turn.
pub(super) fn turn_rules(texts: &[String]) -> Result<Vec<Rule>, ApiError> {
    if texts.len() > PROMPT_RULES {
        let message = format!("`allow`: at most {PROMPT_RULES} rules, not {}", texts.len());
        return Err(ApiError::new(ApiErrorKind::InvalidParams, message));
    }
    let rule = |text: &String| {
        let matcher = parse_rule(text, "allow").map_err(invalid)?;
        Ok(Rule { verdict: Verdict::Allow, scope: Scope::Session, matcher })
    };
    texts.iter().map(rule).collect()
}

fn invalid(error: ConfigError) -> ApiError {
    ApiError::new(ApiErrorKind::InvalidParams, error.to_string()).hint(error.fix)
}
