//! How a connection begins: what this agent says of itself, and what it needs to know of the client.

use super::error;
use super::facade::Facade;
use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthenticateRequest, ClientCapabilities, Error, ErrorCode, Implementation, InitializeRequest,
    InitializeResponse, PromptCapabilities, SessionAdditionalDirectoriesCapabilities, SessionCapabilities,
    SessionCloseCapabilities, SessionDeleteCapabilities, SessionForkCapabilities, SessionListCapabilities,
    SessionResumeCapabilities,
};
use plimsoll_protocol::error::ErrorKind;
use std::sync::PoisonError;

/// What a client can do beyond the base, as far as it is used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offers {
    /// It reads files, and then gives what its buffers hold.
    pub read_files: bool,
    /// It shows notices, which are no part of a conversation.
    pub notices: bool,
    /// It shows compactions.
    pub compactions: bool,
}

impl Offers {
    fn of(capabilities: &ClientCapabilities) -> Self {
        Self {
            read_files: capabilities.fs.read_text_file,
            compactions: capabilities.session.as_ref().is_some_and(|session| session.compaction.is_some()),
            notices: capabilities.session.as_ref().is_some_and(|session| session.notices.is_some()),
        }
    }
}

impl Facade {
    /// Notes who the client is and what it can do.
    pub(super) fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        if let Some(info) = &request.client_info {
            self.client.lock().unwrap_or_else(PoisonError::into_inner).name.clone_from(&info.name);
        }
        let offers = Offers::of(&request.client_capabilities);
        *self.offers.lock().unwrap_or_else(PoisonError::into_inner) = Some(offers);
        initialized(&self.life.identity().version)
    }
}

/// What this agent says of itself. The only version that it speaks is 1, whatever the client asked for.
fn initialized(version: &str) -> InitializeResponse {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .fork(SessionForkCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().embedded_context(true).image(true))
        .session_capabilities(sessions);
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(Implementation::new("plimsoll", version.to_owned()).title("Plimsoll".to_owned()))
}

/// No login is offered: keys are configured where the daemon runs.
pub(super) fn authenticate(request: &AuthenticateRequest) -> Result<(), Error> {
    let message = format!("`methodId`: there is no authentication method `{}`; none is offered", request.method_id.0);
    let hint = "set the key of the configured model in the daemon's configuration or environment".to_owned();
    Err(error::of(ErrorCode::InvalidParams, ErrorKind::InvalidParams, message, Some(hint)))
}

#[cfg(test)]
mod tests {
    use super::super::facade::read;
    use super::*;
    use serde_json::json;
    use serde_json::value::RawValue;

    #[test]
    fn version_one_is_spoken_and_nothing_is_claimed_that_is_not_there() {
        let asked: InitializeRequest = serde_json::from_value(json!({"protocolVersion": 7})).unwrap();
        assert_eq!(asked.protocol_version.as_u16(), 7);
        let said = serde_json::to_value(initialized("0.1.0")).unwrap();
        let capabilities = &said["agentCapabilities"];
        assert_eq!(
            (&said["protocolVersion"], &said["agentInfo"]["name"], &said["authMethods"]),
            (&json!(1), &json!("plimsoll"), &json!([]))
        );
        assert_eq!(
            (&capabilities["loadSession"], &capabilities["promptCapabilities"]),
            (&json!(true), &json!({"image": true, "audio": false, "embeddedContext": true}))
        );
        assert_eq!(capabilities["mcpCapabilities"], json!({"http": false, "sse": false}));
        assert_eq!(
            capabilities["sessionCapabilities"],
            json!({"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}, "additionalDirectories": {}})
        );
        assert!(
            read::<InitializeRequest>(Some(&RawValue::from_string(r#"{"protocolVersion":"1"}"#.into()).unwrap()))
                .is_err()
        );
    }

    #[test]
    fn only_what_the_client_offers_is_used() {
        let offers = |capabilities| {
            let asked = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
            Offers::of(&serde_json::from_value::<InitializeRequest>(asked).unwrap().client_capabilities)
        };
        assert_eq!(offers(json!({})), Offers::default());
        assert_eq!(
            offers(json!({"fs": {"readTextFile": true}, "session": {"notices": {}}})),
            Offers { read_files: true, notices: true, compactions: false }
        );
        assert_eq!(offers(json!({"session": {"notices": null}})), Offers::default());
        assert!(offers(json!({"session": {"compaction": {}}})).compactions);
    }

    #[test]
    fn a_login_is_refused_with_what_to_do_instead() {
        let error = authenticate(&AuthenticateRequest::new("x")).unwrap_err();
        assert_eq!(i32::from(error.code), -32602);
        assert!(error.data.unwrap()["hint"].as_str().unwrap().contains("key"));
    }
}
