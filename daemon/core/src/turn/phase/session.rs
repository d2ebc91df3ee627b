//! `read_session`: earlier turns of this session, or another session of the project.

use super::super::effect::{Consult, Effect};
use super::super::machine::Machine;
use crate::id::{CallId, SessionId, TurnNo};
use crate::tool::account::{Account, Part};
use crate::tool::call::Call;
use crate::tool::outcome::{Body, Outcome, Status};

impl Machine {
    /// Has read what the call asks for; none while that goes on.
    pub(super) fn read_session(&mut self, call: &Call) -> Option<Outcome> {
        match asked(call) {
            Ok((session, part)) => {
                let question = Consult::Session { session, part };
                self.effects.push(Effect::Consult { call: call.id, question });
                None
            }
            Err(why) => Some(Outcome::failed(why)),
        }
    }

    /// The session is read.
    pub(super) fn session_read(&mut self, id: CallId, found: &Account) -> Outcome {
        let asked = self.slot(id).and_then(|slot| slot.call.as_ref()).map(asked);
        let Some(Ok((_, part))) = asked else { return Outcome::failed("The call is not known any more.") };
        let text = found.show(part, part.budget(self.settings.projection));
        Outcome { status: Status::Ok, body: Body::Text(text) }
    }
}

/// Which session, and what of it; the error is text for the model.
fn asked(call: &Call) -> Result<(Option<SessionId>, Part), String> {
    let given = |name: &str| {
        let text = call.args.get(name).and_then(serde_json::Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty())
    };
    let session = match given("session") {
        Some(text) => {
            let bare = text.trim_matches(['`', '"', '\'']).trim_start_matches("@session:");
            Some(bare.parse().map_err(|error| format!("{error}. Leave `session` out for this one."))?)
        }
        None => None,
    };
    let turn = call.args.get("turn").and_then(serde_json::Value::as_u64);
    let part = match (given("cursor"), turn) {
        (Some(cursor), _) => Part::From(cursor.parse()?),
        (None, Some(turn)) => Part::Turn(TurnNo(turn)),
        (None, None) => Part::Recent,
    };
    Ok((session, part))
}
