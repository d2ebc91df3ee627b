//! Permission modes as session modes.

use agent_client_protocol_schema::v1::{SessionMode, SessionModeState};
use plimsoll_core::permission::mode::Mode;

/// The modes, from the least free, with the current one.
pub fn state(current: &str) -> SessionModeState {
    let modes = Mode::ALL.map(|mode| SessionMode::new(mode.word(), name(mode)).description(mode.meaning().to_owned()));
    SessionModeState::new(current.to_owned(), modes.to_vec())
}

/// What an editor's menu shows.
pub(super) fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Plan => "Plan",
        Mode::Ask => "Ask",
        Mode::AcceptEdits => "Accept edits",
        Mode::Auto => "Auto",
        Mode::Full => "Full access",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_shown_with_what_it_means() {
        let state = serde_json::to_value(state("auto")).unwrap();
        assert_eq!(state["currentModeId"], "auto");
        let ids: Vec<_> = state["availableModes"].as_array().unwrap().iter().map(|mode| mode["id"].clone()).collect();
        assert_eq!(ids, ["plan", "ask", "accept_edits", "auto", "full"]);
        assert_eq!(
            state["availableModes"][2],
            serde_json::json!({
                "id": "accept_edits", "name": "Accept edits", "description": Mode::AcceptEdits.meaning(),
            })
        );
    }
}
