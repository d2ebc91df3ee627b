//! Compactions, for clients that show them: each is one entity with an id, from its beginning to its end.

use agent_client_protocol_schema::v1::{CompactionStatus, CompactionUpdate, SessionUpdate};
use plimsoll_core::event::{Event, EventBody};
use plimsoll_core::id::Seq;

/// The one that goes on.
#[derive(Debug, Default)]
pub struct Compactions {
    began: Option<Seq>,
}

impl Compactions {
    /// What a client is told of an event; none where it is about something else.
    pub fn told(&mut self, event: &Event) -> Option<SessionUpdate> {
        let update = match &event.body {
            EventBody::CompactionStarted { .. } => {
                self.began = Some(event.seq);
                CompactionUpdate::new(id(event.seq), CompactionStatus::InProgress)
            }
            EventBody::CompactionFinished { epoch, message, .. } => {
                // One that nobody waited for is told at its end only.
                let id = id(self.began.take().unwrap_or(event.seq));
                match epoch {
                    Some(_) => CompactionUpdate::new(id, CompactionStatus::Completed),
                    None => CompactionUpdate::new(id, CompactionStatus::Failed).error(message.clone()),
                }
            }
            _ => return None,
        };
        Some(SessionUpdate::CompactionUpdate(update))
    }
}

fn id(seq: Seq) -> String {
    format!("k{seq}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::id::EpochNo;
    use plimsoll_core::time::Timestamp;
    use plimsoll_core::transcript::epoch::CompactionCause;
    use serde_json::{Value, json};

    #[test]
    fn a_compaction_has_one_id_from_its_beginning_to_its_end() {
        let mut all = Compactions::default();
        let mut told = |seq, body| -> Value {
            serde_json::to_value(all.told(&Event { seq: Seq(seq), at: Timestamp(0), body })).unwrap()
        };
        let began = EventBody::CompactionStarted { cause: CompactionCause::Load };
        let ended = |epoch| EventBody::CompactionFinished { epoch, facts: None, message: Some("short".to_owned()) };
        assert_eq!(
            told(4, began),
            json!({"sessionUpdate": "compaction_update", "compactionId": "k4", "status": "in_progress"})
        );
        assert_eq!(
            told(6, ended(None)),
            json!({"sessionUpdate": "compaction_update", "compactionId": "k4", "status": "failed", "error": "short"})
        );
        assert_eq!(
            told(9, ended(Some(EpochNo(2)))),
            json!({"sessionUpdate": "compaction_update", "compactionId": "k9", "status": "completed"})
        );
        assert_eq!(told(10, EventBody::TaskChanged), Value::Null);
    }
}
