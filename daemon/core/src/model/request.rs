//! A request before any vendor's wire: parameters, tools, system text, messages.

use crate::id::CallId;
use crate::media::Image;
use serde::{Deserialize, Serialize};

/// The wire that a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// Anthropic Messages.
    AnthropicMessages,
    /// The built-in model that needs no network; its wire is that of Chat Completions.
    Offline,
}

/// A tool as it is offered to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDef {
    /// Name on the wire.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
    /// JSON Schema of its arguments, already serialised.
    pub schema: String,
}

/// Parameters of a request; they stand first in the body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// The provider's name of the model.
    pub model: String,
    /// Most tokens that the answer may have.
    pub max_output: u32,
    /// Sampling temperature, when the configuration sets one.
    pub temperature: Option<f32>,
}

/// One message of the conversation, in the vendor-neutral form.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Text in the user's role: a prompt with its additional data, a meta message, steering.
    User(String),
    /// Text in the user's role with images behind it, none of them without content.
    Pictures {
        /// The text; not blank.
        text: String,
        /// The images, in order.
        images: Vec<Image>,
    },
    /// What the model said in one step, in its order.
    Assistant(Vec<AssistantBlock>),
    /// The results of all calls of the assistant message directly before, in call order.
    Results(Vec<ResultBlock>),
}

/// A part of an assistant message.
#[derive(Debug, Clone, PartialEq)]
pub enum AssistantBlock {
    /// Text for the user.
    Text(String),
    /// Reasoning with what its provider needs to take it back.
    Reasoning(Reasoning),
    /// A tool call. `arguments` is a JSON object in text form, whatever the model had written.
    Call {
        /// The daemon's id, sent in place of the provider's.
        id: CallId,
        /// The tool's name as the model wrote it, made safe for the wire.
        name: String,
        /// A JSON object.
        arguments: String,
    },
}

/// A block of reasoning, kept verbatim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// Readable text; empty when the provider redacted it.
    pub text: String,
    /// Anthropic's signature over the text.
    pub signature: Option<String>,
    /// Anthropic's encrypted form of a redacted block.
    pub redacted: Option<String>,
    /// The wire that it came over; it is sent back on that wire only.
    pub api: Api,
}

/// The result of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultBlock {
    /// The call it answers.
    pub id: CallId,
    /// The projection.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
}
