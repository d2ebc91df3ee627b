//! `/compact`: has the history shortened for the model, and says what came of it.

use super::{Command, Ran};
use crate::acp::conn::Call;
use crate::acp::facade::Facade;
use crate::acp::session::Followed;
use crate::session::api::{ApiError, ApiErrorKind, Update};
use agent_client_protocol_schema::v1::{Error, PromptResponse, StopReason};
use plimsoll_core::event::EventBody;
use plimsoll_core::id::SessionId;
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_core::transcript::epoch::{Level, SwitchFacts};

impl Facade {
    /// Runs the command to its end, or until it is cancelled.
    pub(in crate::acp) async fn compacting(
        &self,
        call: &Call,
        id: &SessionId,
        followed: &Followed,
        focus: &str,
    ) -> Result<PromptResponse, Error> {
        let cancelled = followed.command_cancelled();
        let run = Box::pin(self.command(id, Command::Compact, focus));
        tokio::select! {
            ran = run => {
                if let Ran::Said(said) = ran? {
                    self.say(id, followed, said).await?;
                }
                Ok(PromptResponse::new(StopReason::EndTurn))
            }
            () = cancelled.cancelled() => self.stop_compacting(id).await,
            () = call.cancelled.cancelled() => self.stop_compacting(id).await,
        }
    }

    /// A turn that runs is left alone: it is not this command's.
    async fn stop_compacting(&self, id: &SessionId) -> Result<PromptResponse, Error> {
        let turn = self.service.get_session(id).await;
        if turn.is_ok_and(|info| !matches!(info.state, SessionState::Running | SessionState::Waiting)) {
            self.interrupt(id).await;
        }
        Ok(PromptResponse::new(StopReason::Cancelled))
    }

    pub(super) async fn compact(&self, id: &SessionId, focus: &str) -> Result<Ran, ApiError> {
        let client = self.client();
        let after = self.service.get_session(id).await?.last_seq;
        let mut subscription = self.service.attach(&client, id, after).await?;
        self.service.compact(&client, id, Some(focus.to_owned())).await?;
        let mut why = "the session ended before it was done".to_owned();
        while let Some(updates) = subscription.next().await {
            for update in updates {
                match update {
                    Update::Event(event) => {
                        if let EventBody::CompactionFinished { facts, message, .. } = &event.event.body {
                            return Ok(Ran::Said(text(facts.as_ref(), message.as_deref())));
                        }
                    }
                    Update::Closed { message, .. } => why = message,
                    Update::Delta { .. } => {}
                }
            }
        }
        Err(ApiError::new(ApiErrorKind::Internal, why))
    }
}

/// What came of it.
pub fn text(facts: Option<&SwitchFacts>, message: Option<&str>) -> String {
    let Some(facts) = facts else {
        let why = message.map(|why| format!(": {why}")).unwrap_or_default();
        return format!("Nothing was shortened{why}");
    };
    let done: Vec<&str> = facts.levels.iter().copied().map(done).collect();
    format!(
        "The history is shortened for the model: about {} tokens before, {} now ({}). The transcript has all of it.",
        facts.before,
        facts.after,
        done.join(", ")
    )
}

fn done(level: Level) -> &'static str {
    match level {
        Level::Snip => "old results and images are cut",
        Level::Prune => "old turns are a line each",
        Level::Summarize => "the beginning is summarised",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::transcript::epoch::CompactionCause;

    #[test]
    fn what_was_done_is_said_with_both_sizes() {
        let facts = SwitchFacts {
            cause: CompactionCause::Manual,
            levels: vec![Level::Snip, Level::Summarize],
            before: 9_000,
            after: 4_000,
            usable: 10_000,
            first_changed: 3,
            summary: None,
            waited_ms: 5,
        };
        assert_eq!(
            text(Some(&facts), None),
            "The history is shortened for the model: about 9000 tokens before, 4000 now (old results and images are cut, the \
             beginning is summarised). The transcript has all of it."
        );
        assert_eq!(text(None, Some("it is short already")), "Nothing was shortened: it is short already");
    }
}
