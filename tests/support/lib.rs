//! What the end-to-end tests stand on: a scripted model server, a machine with a daemon on temporary folders, clients,
//! workspaces.
//!
//! Nothing here is used outside tests, so everything here may panic: a panic is a failed test that says why.

pub mod asked;
pub mod boundary;
pub mod client;
pub mod daemon;
pub mod gone;
pub mod machine;
pub mod model_server;
pub mod program;
pub mod random;
pub mod schema;
pub mod sent;
pub mod session;
pub mod summaries;
pub mod template;
pub mod terminal;
pub mod told;
pub mod workspace;

use std::time::Duration;

/// How long a test waits for something that must come before it fails. Generous: the machine may be shared.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// The path of the binary under test. Only in integration tests of this package.
#[macro_export]
macro_rules! binary {
    () => {
        std::path::Path::new(env!("CARGO_BIN_EXE_plimsoll-tested"))
    };
}

/// Each of these functions as two tests, over Chat Completions and over Anthropic Messages.
#[macro_export]
macro_rules! over_both_apis {
    ($($name:ident)*) => {
        mod openai_chat {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(plimsoll_core::model::request::Api::OpenaiChat).await;
                }
            )*
        }
        mod anthropic {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(plimsoll_core::model::request::Api::AnthropicMessages).await;
                }
            )*
        }
    };
}

/// The result of `future`, which must come in time. `what` names it for the failure's message.
pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(PATIENCE, future).await;
    waited.unwrap_or_else(|_| panic!("waited {} s in vain for {what}", PATIENCE.as_secs()))
}
