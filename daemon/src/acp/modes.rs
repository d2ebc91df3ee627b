//! Permission modes as session modes.

use agent_client_protocol_schema::v1::{SessionMode, SessionModeState};

/// The modes, with the current one.
pub fn state(current: &str) -> SessionModeState {
    let ask = SessionMode::new("ask", "Ask")
        .description("Asks before a command runs or something outside is touched".to_owned());
    let full = SessionMode::new("full", "Full access").description("Runs everything without asking".to_owned());
    SessionModeState::new(current.to_owned(), vec![ask, full])
}

/// Whether there is such a mode.
pub fn exists(mode: &str) -> bool {
    matches!(mode, "ask" | "full")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_that_is_shown_exists() {
        let state = state("ask");
        assert_eq!(state.current_mode_id.0.as_ref(), "ask");
        assert!(state.available_modes.iter().all(|mode| exists(&mode.id.0)));
        assert!(!exists("plan"));
    }
}
