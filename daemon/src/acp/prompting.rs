//! Prompts from their beginning to their end, and cancelling them.

use super::commands::{self, Command, Ran};
use super::conn::Call;
use super::error::{self, api};
use super::facade::{Facade, read, session_id};
use super::prompt;
use super::resume::{self, HowFar};
use super::session::Followed;
use super::turns::{Ended, Turns};
use crate::session::api::{Beside, WhenBusy};
use agent_client_protocol_schema::v1::{
    CancelNotification, Error, ErrorCode, PromptRequest, PromptResponse, StopReason,
};
use plimsoll_core::event::TurnEnd;
use plimsoll_core::id::{SessionId, TurnNo};
use plimsoll_protocol::error::ErrorKind;
use serde_json::value::RawValue;
use std::convert::Infallible;

/// A prompt that is handed in and not accepted yet; refused when dropped.
struct Starting<'a> {
    followed: &'a Followed,
    open: bool,
}

impl<'a> Starting<'a> {
    fn new(followed: &'a Followed) -> Self {
        followed.turns(Turns::starting);
        Self::counted(followed)
    }

    /// One that is counted already.
    fn counted(followed: &'a Followed) -> Self {
        Self { followed, open: true }
    }

    /// It was accepted as this turn.
    fn accepted(mut self, turn: TurnNo) -> tokio::sync::oneshot::Receiver<Ended> {
        self.open = false;
        self.followed.turns(|turns| turns.accepted(turn))
    }

    /// It needed no turn; whether it was cancelled meanwhile.
    fn done(mut self) -> bool {
        self.open = false;
        self.followed.turns(Turns::refused)
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        if self.open {
            self.followed.turns(Turns::refused);
        }
    }
}

impl Facade {
    /// Runs a prompt to its end.
    pub(super) async fn prompt(&self, call: &Call) -> Result<PromptResponse, Error> {
        let again = self.resumed.again(call.key.as_deref());
        let request: PromptRequest = read(call.params.as_deref())?;
        let id = session_id(&request.session_id.0)?;
        let (mut text, attachments) = prompt::read(&request.prompt)?;
        let followed = self.followed(&id)?;
        // Before the first wait: a cancel that comes next counts for this prompt.
        let (starting, told) = match again {
            None => (Starting::new(&followed), None),
            Some(again) => (Starting::counted(&followed), Some(again.counted())),
        };
        for notice in followed.take_notices() {
            self.say(&id, &followed, notice).await?;
        }
        if let Some((command, rest)) = commands::read(&text) {
            if told.is_some() && !command.is_repeatable() {
                let message = "the daemon ended while this command ran: it may have been done, or not";
                return Err(error::internal(message));
            }
            if command == Command::Compact {
                // What happens meanwhile is told meanwhile, and a cancel counts at once.
                return if starting.done() {
                    Ok(PromptResponse::new(StopReason::Cancelled))
                } else {
                    self.compacting(call, &id, &followed, rest).await
                };
            }
            match Box::pin(self.command(&id, command, rest)).await? {
                Ran::Said(said) => {
                    self.say(&id, &followed, said).await?;
                    let reason = if starting.done() { StopReason::Cancelled } else { StopReason::EndTurn };
                    return Ok(PromptResponse::new(reason));
                }
                Ran::Prompt(rest) => text = rest,
            }
        }
        let attachments = self.as_edited(&id, attachments).await;
        let beside = Beside { attachments, ..Beside::default() };
        let key = call.key.clone();
        let accepted = self.service.start_turn_with(&self.client(), &id, text, key, WhenBusy::Queue, beside).await;
        let turn = accepted.map_err(api)?.turn;
        let ended = starting.accepted(turn);
        if let Some(told) = told {
            match resume::how_far(&self.service, &self.client(), &id, turn, told).await.map_err(api)? {
                HowFar::Over(ended) => return prompt_end(ended),
                HowFar::Runs if followed.turns(|turns| turns.began(turn)) => self.interrupt(&id).await,
                HowFar::Runs | HowFar::Waits => {}
            }
        }
        tokio::select! {
            ended = ended => match ended {
                Ok(ended) => prompt_end(ended),
                Err(_) => Err(error::internal("the session was deleted, loaded anew, or the daemon ends")),
            },
            never = self.cancel_with(call, &id, turn, &followed) => match never {},
        }
    }

    /// Interrupts a turn when its call is cancelled. The turn's end answers the call.
    async fn cancel_with(&self, call: &Call, id: &SessionId, turn: TurnNo, followed: &Followed) -> Infallible {
        call.cancelled.cancelled().await;
        if followed.turns(|turns| turns.cancel(turn)) {
            self.interrupt(id).await;
        }
        std::future::pending().await
    }

    pub(super) async fn cancel(&self, params: Option<&RawValue>) -> Result<(), Error> {
        let request: CancelNotification = read(params)?;
        let id = session_id(&request.session_id.0)?;
        let followed = self.followed(&id)?;
        followed.cancel_commands();
        if followed.turns(Turns::cancel_all) {
            self.interrupt(&id).await;
        }
        Ok(())
    }
}

/// How a turn's end answers its prompt.
fn prompt_end(ended: Ended) -> Result<PromptResponse, Error> {
    let Ended { reason, message, refused } = ended;
    let message = message.unwrap_or_else(|| "the turn failed".to_owned());
    let reason = match reason {
        TurnEnd::EndTurn => StopReason::EndTurn,
        TurnEnd::MaxTokens => StopReason::MaxTokens,
        TurnEnd::MaxSteps | TurnEnd::Limit => StopReason::MaxTurnRequests,
        TurnEnd::Refusal => StopReason::Refusal,
        TurnEnd::Cancelled => StopReason::Cancelled,
        TurnEnd::ModelError if refused => {
            return Err(error::of(ErrorCode::InvalidParams, ErrorKind::InvalidParams, message, None));
        }
        TurnEnd::StoreError => return Err(error::of(ErrorCode::InternalError, ErrorKind::Store, message, None)),
        TurnEnd::ModelError | TurnEnd::Crashed | TurnEnd::Internal => return Err(error::internal(message)),
    };
    Ok(PromptResponse::new(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn ends_of_turns_become_stop_reasons_or_errors() {
        let end = |reason, refused| prompt_end(Ended { reason, message: Some("why".into()), refused });
        let reason = |reason| serde_json::to_value(end(reason, false).unwrap()).unwrap()["stopReason"].clone();
        assert_eq!(
            [TurnEnd::EndTurn, TurnEnd::MaxTokens, TurnEnd::MaxSteps, TurnEnd::Limit, TurnEnd::Refusal].map(reason),
            ["end_turn", "max_tokens", "max_turn_requests", "max_turn_requests", "refusal"].map(Value::from)
        );
        assert_eq!(reason(TurnEnd::Cancelled), json!("cancelled"));
        let error = |reason, refused| serde_json::to_value(end(reason, refused).unwrap_err()).unwrap();
        let told = |code, kind: &str| json!({"code": code, "message": "why", "data": {"kind": kind}});
        assert_eq!(error(TurnEnd::ModelError, false), told(-32603, "internal"));
        assert_eq!(error(TurnEnd::ModelError, true), told(-32602, "invalidParams"));
        assert_eq!(error(TurnEnd::StoreError, false), told(-32603, "store"));
    }
}
