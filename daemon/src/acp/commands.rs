//! Slash commands: prompts that are for Plimsoll itself. They run in the session; the model does not see them, and neither
//! they nor their answers become part of the transcript.

mod compact;
mod context;
mod undo;

use super::error::api;
use super::facade::Facade;
use super::session::Followed;
use crate::session::api::{ApiError, ApiErrorKind};
use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ContentBlock, ContentChunk, Error, MessageId,
    SessionUpdate, UnstructuredCommandInput,
};
use plimsoll_core::id::SessionId;
use plimsoll_core::permission::mode::Mode;

/// What a prompt may ask of Plimsoll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// What the next request is made of.
    Context,
    /// Has the history shortened for the model.
    Compact,
    /// Takes back what the last turn wrote into files.
    Undo,
    /// Goes into plan mode.
    Plan,
}

/// What came of a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Ran {
    /// This is all.
    Said(String),
    /// The model gets this.
    Prompt(String),
}

impl Command {
    const ALL: [Self; 4] = [Self::Context, Self::Compact, Self::Undo, Self::Plan];

    /// Whether it may be run again when nobody knows whether it was.
    pub(super) fn is_repeatable(self) -> bool {
        match self {
            Self::Context | Self::Compact | Self::Plan => true,
            Self::Undo => false,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Compact => "compact",
            Self::Undo => "undo",
            Self::Plan => "plan",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Context => "Show what the next request to the model is made of, and how full its window is",
            Self::Compact => "Shorten the history that the model is sent; nothing is lost from the transcript",
            Self::Undo => "Take back what the last turn wrote into files",
            Self::Plan => "Go into plan mode: nothing is changed until you approve a plan",
        }
    }

    /// What may stand behind the word.
    fn hint(self) -> Option<&'static str> {
        match self {
            Self::Context | Self::Undo => None,
            Self::Compact => Some("what a summary should keep above all"),
            Self::Plan => Some("what to plan"),
        }
    }
}

/// The commands, for the client's menu.
pub fn available() -> SessionUpdate {
    let command = |command: Command| {
        let input = |hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint));
        AvailableCommand::new(command.word(), command.meaning()).input(command.hint().map(input))
    };
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(Command::ALL.map(command).to_vec()))
}

/// The command that a prompt begins with, and what stands behind it. What is no command is for the model.
pub fn read(prompt: &str) -> Option<(Command, &str)> {
    let text = prompt.trim_start().strip_prefix('/')?;
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let command = Command::ALL.into_iter().find(|command| command.word() == word)?;
    Some((command, rest.trim()))
}

impl Facade {
    /// Runs a command. What it cannot do is told in words, as what it did.
    pub(super) async fn command(&self, id: &SessionId, command: Command, rest: &str) -> Result<Ran, Error> {
        if !rest.is_empty() && command.hint().is_none() {
            let word = command.word();
            return Ok(Ran::Said(format!("`/{word}` takes no text behind it; nothing was done.")));
        }
        let done = match command {
            Command::Context => self.context(id).await,
            Command::Compact => self.compact(id, rest).await,
            Command::Undo => self.undo(id).await,
            Command::Plan => self.service.set_mode(id, Mode::Plan.word()).await.map(|_| plan(rest)),
        };
        done.or_else(|error| match error.kind {
            // The connection, or the whole daemon, is in trouble: that is no answer.
            ApiErrorKind::ShuttingDown | ApiErrorKind::Internal | ApiErrorKind::NotFound => Err(api(error)),
            ApiErrorKind::InvalidParams
            | ApiErrorKind::WorkspaceMissing
            | ApiErrorKind::Busy
            | ApiErrorKind::Conflict
            | ApiErrorKind::Store
            | ApiErrorKind::NewerStore
            | ApiErrorKind::Config
            | ApiErrorKind::AuthRequired => Ok(Ran::Said(failed(command, &error))),
        })
    }

    async fn context(&self, id: &SessionId) -> Result<Ran, ApiError> {
        let inspection = self.service.inspect(&self.client(), id).await?;
        Ok(Ran::Said(context::text(&crate::rpc::to_wire::context::inspection(&inspection))))
    }

    /// Says something that is no part of the conversation.
    pub(super) async fn say(&self, id: &SessionId, followed: &Followed, text: String) -> Result<(), Error> {
        let chunk = ContentChunk::new(ContentBlock::from(text)).message_id(MessageId::new(followed.next_said()));
        self.tell(id, [SessionUpdate::AgentMessageChunk(chunk)]).await
    }
}

fn plan(rest: &str) -> Ran {
    if rest.is_empty() {
        return Ran::Said(
            "Plan mode is on: nothing is changed until you approve a plan. What shall be planned?".into(),
        );
    }
    Ran::Prompt(rest.to_owned())
}

fn failed(command: Command, error: &ApiError) -> String {
    let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("`/{}` did not work: {}{hint}", command.word(), error.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_is_a_word_of_its_own_at_the_beginning() {
        for (prompt, expected) in [
            ("/undo", Some((Command::Undo, ""))),
            (" /context \n", Some((Command::Context, ""))),
            ("/plan the\nmove ", Some((Command::Plan, "the\nmove"))),
            ("/plan\nthe move", Some((Command::Plan, "the move"))),
            ("/planned", None),
            ("/plan/a.md is old", None),
            ("undo", None),
            ("see /undo", None),
            ("/compact", Some((Command::Compact, ""))),
            ("/compact the parser", Some((Command::Compact, "the parser"))),
        ] {
            assert_eq!(read(prompt), expected, "{prompt}");
        }
    }

    #[test]
    fn commands_are_offered_with_what_may_stand_behind_them() {
        let offered = serde_json::to_value(available()).unwrap();
        assert_eq!(offered["sessionUpdate"], "available_commands_update");
        let all = offered["availableCommands"].as_array().unwrap();
        let words: Vec<_> = all.iter().map(|one| (one["name"].clone(), one["input"].clone())).collect();
        assert_eq!(
            words,
            [
                (json!("context"), json!(null)),
                (json!("compact"), json!({"hint": "what a summary should keep above all"})),
                (json!("undo"), json!(null)),
                (json!("plan"), json!({"hint": "what to plan"})),
            ]
        );
    }
}
