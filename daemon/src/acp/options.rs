//! What a client can choose for a session: its mode, as a session mode and as a configuration option, and its model.

use super::error::{api, invalid_params};
use super::facade::{Facade, read, session_id};
use super::modes;
use crate::session::api::{KeyAt, SessionInfo};
use agent_client_protocol_schema::v1::{
    Error, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
};
use plimsoll_core::model::catalog::ModelProfile;
use plimsoll_core::permission::mode::Mode;
use serde_json::value::RawValue;

const MODE: &str = "mode";
const MODEL: &str = "model";

impl Facade {
    pub(super) async fn set_mode(&self, params: Option<&RawValue>) -> Result<SetSessionModeResponse, Error> {
        let request: SetSessionModeRequest = read(params)?;
        let id = session_id(&request.session_id.0)?;
        self.service.set_mode(&id, &request.mode_id.0).await.map_err(api)?;
        Ok(SetSessionModeResponse::new())
    }

    pub(super) async fn set_option(&self, params: Option<&RawValue>) -> Result<SetSessionConfigOptionResponse, Error> {
        let request: SetSessionConfigOptionRequest = read(params)?;
        let id = session_id(&request.session_id.0)?;
        let option = &*request.config_id.0;
        let Some(value) = request.value.as_value_id().map(|value| value.0.to_string()) else {
            return Err(invalid_params(format!("`value`: `{option}` is chosen by the id of one of its values")));
        };
        let info = match option {
            MODE => self.service.set_mode(&id, &value).await.map_err(api)?,
            MODEL => self.service.set_model(&self.client(), &id, &value).await.map_err(api)?,
            _ => {
                let message = format!("`configId`: there is no option `{option}`; there are `{MODE}` and `{MODEL}`");
                return Err(invalid_params(message));
            }
        };
        Ok(SetSessionConfigOptionResponse::new(self.options(&info).await))
    }

    /// The options of a session with their current values.
    pub(super) async fn options(&self, info: &SessionInfo) -> Vec<SessionConfigOption> {
        let client = self.client();
        let known =
            self.service.models(&client, Some(&info.project)).await.map(|known| known.models).unwrap_or_default();
        let usable = known.into_iter().filter(|(_, key)| !matches!(key, KeyAt::Missing(_))).map(|(model, _)| model);
        let mut choices: Vec<SessionConfigSelectOption> = usable.map(|model| choice(&model)).collect();
        // One that cannot be chosen is still the session's.
        if !choices.iter().any(|choice| *choice.value.0 == *info.model) {
            choices.insert(0, SessionConfigSelectOption::new(info.model.clone(), info.model.clone()));
        }
        state(info, choices)
    }
}

fn choice(model: &ModelProfile) -> SessionConfigSelectOption {
    SessionConfigSelectOption::new(model.id(), model.id())
        .description(format!("A window of {} tokens", model.context_window))
}

/// The options, the most important first.
fn state(info: &SessionInfo, models: Vec<SessionConfigSelectOption>) -> Vec<SessionConfigOption> {
    let mode = |mode: Mode| {
        SessionConfigSelectOption::new(mode.word(), modes::name(mode)).description(mode.meaning().to_owned())
    };
    vec![
        SessionConfigOption::select(MODE, "Mode", info.mode.clone(), Mode::ALL.map(mode).to_vec())
            .description("What happens without a question".to_owned())
            .category(SessionConfigOptionCategory::Mode),
        SessionConfigOption::select(MODEL, "Model", info.model.clone(), models)
            .category(SessionConfigOptionCategory::Model),
    ]
}
