//! What clients may ask about what the model is told: rules, skills, Plimsoll's own texts, the todo list.

use super::super::api::{ApiError, Client};
use super::super::load::store_error;
use super::super::setup::config_error;
use super::Service;
use crate::config::Overrides;
use crate::workspace::rules::Texts;
use plimsoll_core::id::{ProjectKey, SessionId};
use plimsoll_core::prompt::{Bundle, Prompts};
use plimsoll_core::tool::outcome::Todo;
use plimsoll_core::tool::spec;
use std::path::PathBuf;

/// One text that a session's model reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextInForce {
    /// Its path below `prompts/`.
    pub path: &'static str,
    /// Whether it stands in the place of the built-in one.
    pub own: bool,
    /// The file of an own one, when that is there now.
    pub file: Option<PathBuf>,
    /// Its size with placeholders.
    pub bytes: u64,
}

/// The texts of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextsInForce {
    /// The bundle.
    pub bundle: Bundle,
    /// What takes the place of the identity sentence.
    pub base: Option<String>,
    /// By path.
    pub texts: Vec<TextInForce>,
    /// What is wrong with own texts that are not used.
    pub warnings: Vec<String>,
}

impl Service {
    /// Instruction files, rules and skills of a project, as a turn that this client starts would find them.
    pub async fn told(&self, client: &Client, key: &ProjectKey) -> Result<Texts, ApiError> {
        self.project(key).await?.told(client).await
    }

    /// The texts that a session's present epoch is made with.
    pub async fn texts_in_force(&self, client: &Client, id: &SessionId) -> Result<TextsInForce, ApiError> {
        let (key, store) = self.store_of(id).await?;
        let (prompts, model) = (store.texts(id).await, store.session(id).await);
        let prompts = prompts.map_err(|error| store_error(&error))?;
        let model = model.map_err(|error| store_error(&error))?.model;
        let project = self.project(&key).await?;
        let config = project.config(client, &Overrides::default())?;
        let (profile, _) = config.model(Some(&model)).map_err(|error| config_error(&error))?;
        let own = project.own_texts(profile.context_window);
        let mut texts: Vec<TextInForce> = spec::texts()
            .filter(|text| is_read(text.path, &prompts))
            .map(|text| TextInForce {
                path: text.path,
                own: prompts.overrides.contains_key(text.path),
                file: own.files.get(text.path).filter(|_| prompts.overrides.contains_key(text.path)).cloned(),
                bytes: prompts.text(text).len() as u64,
            })
            .collect();
        texts.sort_by_key(|text| text.path);
        Ok(TextsInForce { bundle: prompts.bundle, base: prompts.base, texts, warnings: own.warnings })
    }

    /// The todo list of a session as it was written last.
    pub async fn todos(&self, id: &SessionId) -> Result<Vec<Todo>, ApiError> {
        let (_, store) = self.store_of(id).await?;
        store.todos(id).await.map_err(|error| store_error(&error))
    }
}

/// Whether a text belongs to these texts' bundle, or to both.
fn is_read(path: &str, prompts: &Prompts) -> bool {
    let other = match prompts.bundle {
        Bundle::Lean => Bundle::Full,
        Bundle::Full => Bundle::Lean,
    };
    if path.split('/').next() == Some(other.word()) {
        return false;
    }
    let described = spec::SPECS.iter().find(|spec| spec.lean.path == path || spec.full.path == path);
    described.is_none_or(|spec| spec.description(prompts).path == path)
}
