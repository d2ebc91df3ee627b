//! Permissions as an ACP client is asked for them, and what its answers mean.

use super::peer::Answer;
use super::{diff, tool_call};
use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use plimsoll_core::event::{Ask, AskChoice};
use plimsoll_core::id::SessionId;

/// What an answer of the client means.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// This choice.
    Choice(AskChoice),
    /// The dialog was closed: the turn ends.
    Interrupt,
    /// No usable answer.
    Nothing,
}

pub fn decision(answer: &Answer, ask: &Ask) -> Decision {
    let Ok(result) = answer else { return Decision::Nothing };
    match serde_json::from_str::<RequestPermissionResponse>(result.get()).map(|response| response.outcome) {
        Ok(RequestPermissionOutcome::Cancelled) => Decision::Interrupt,
        Ok(RequestPermissionOutcome::Selected(selected)) => ask
            .options
            .iter()
            .find(|option| option_id(option.kind) == &*selected.option_id.0)
            .map_or(Decision::Nothing, |option| Decision::Choice(option.kind)),
        Ok(_) | Err(_) => Decision::Nothing,
    }
}

fn option_id(choice: AskChoice) -> &'static str {
    match choice {
        AskChoice::AllowOnce => "allow_once",
        AskChoice::AllowSession => "allow_session",
        AskChoice::AllowAlways => "allow_always",
        AskChoice::Reject => "reject",
    }
}

/// Clients merge the call of a question into the call that was announced, so `title` is that one's.
pub fn request(session: &SessionId, ask: &Ask, title: &str) -> RequestPermissionRequest {
    let options = ask.options.iter().map(|option| {
        let kind = match option.kind {
            AskChoice::AllowOnce => PermissionOptionKind::AllowOnce,
            // Both ways to approve a plan are for this plan.
            AskChoice::AllowSession if ask.plan.is_some() => PermissionOptionKind::AllowOnce,
            AskChoice::AllowSession | AskChoice::AllowAlways => PermissionOptionKind::AllowAlways,
            AskChoice::Reject => PermissionOptionKind::RejectOnce,
        };
        PermissionOption::new(option_id(option.kind), option.label.clone(), kind)
    });
    let mut content = vec![ask.reason.clone().into()];
    content.extend(ask.plan.iter().map(|plan| plan.clone().into()));
    content.extend(diff::content(&ask.changes));
    let mut fields = ToolCallUpdateFields::new()
        .title(title.to_owned())
        .kind(tool_call::kind(&ask.tool))
        .status(ToolCallStatus::Pending)
        .content(content);
    if !ask.changes.is_empty() {
        fields = fields.locations(diff::locations(&ask.changes));
    }
    let call = ToolCallUpdate::new(ask.call.to_string(), fields);
    RequestPermissionRequest::new(session.to_string(), call, options.collect())
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
