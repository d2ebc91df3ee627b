//! What is worth showing and no part of a conversation, for clients that show such things.

use agent_client_protocol_schema::v1::{Notice as Shown, NoticeSeverity, SessionUpdate};
use plimsoll_core::transcript::item::{Notice, NoticeCause};

/// Something that the client asked for and does not get.
pub fn missing(text: String) -> SessionUpdate {
    SessionUpdate::Notice(Shown::new(NoticeSeverity::Warning, text))
}

/// A notice of the session; none where it says nothing.
pub fn update(notice: &Notice) -> Option<SessionUpdate> {
    let severity = match notice.cause {
        NoticeCause::ModelError | NoticeCause::Crash | NoticeCause::StoreError => NoticeSeverity::Error,
        NoticeCause::Retry | NoticeCause::Limit => NoticeSeverity::Warning,
        NoticeCause::Interrupted
        | NoticeCause::ModelChanged
        | NoticeCause::Undone
        | NoticeCause::Compaction
        | NoticeCause::Info => NoticeSeverity::Info,
    };
    let text = notice.text.trim();
    let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
    if title.is_empty() {
        return None;
    }
    let description = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
    Some(SessionUpdate::Notice(Shown::new(severity, title).description(description)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_notice_has_a_title_of_one_line() {
        let told = |cause, text: &str| serde_json::to_value(update(&Notice { cause, text: text.to_owned() })).unwrap();
        assert_eq!(
            told(NoticeCause::Retry, "Again.\nIn 3 s.\n"),
            json!({"sessionUpdate": "notice", "severity": "warning", "title": "Again.", "description": "In 3 s."})
        );
        assert_eq!(
            told(NoticeCause::Info, "One"),
            json!({"sessionUpdate": "notice", "severity": "info", "title": "One"})
        );
        assert_eq!(told(NoticeCause::Info, " "), Value::Null);
    }
}
