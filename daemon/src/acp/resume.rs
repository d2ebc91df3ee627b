//! A bridge that survives its daemon comes to the next one with what it had: the editor's `initialize`, the open sessions,
//! the prompts that were not answered. The sessions are followed on from the last event that was told; a prompt that
//! comes again is the turn that it was.

use super::peer::Peer;
use super::session::{Begin, Followed};
use super::translate::Translator;
use super::turns::{Ended, Turns};
use crate::session::api::{ApiError, Client, SessionInfo, TranscriptRange, Update};
use crate::session::service::Service;
use plimsoll_core::event::EventBody;
use plimsoll_core::id::{ItemNo, Seq, SessionId, TurnNo};
use plimsoll_core::transcript::batch::SessionState;
use plimsoll_protocol::hello::{KEY_MEMBER, Resume, ResumedSession};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Items of a turn that goes on that are looked at, to know its open calls.
const OPEN_ITEMS: usize = 200;

/// The key of a call, which a surviving bridge puts first into the message.
pub fn key(message: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Keyed {
        plimsoll_key: String,
    }
    let first = message.trim_ascii_start().strip_prefix(b"{\"")?;
    if !first.starts_with(KEY_MEMBER.as_bytes()) {
        return None;
    }
    serde_json::from_slice(message).ok().map(|keyed: Keyed| keyed.plimsoll_key)
}

/// See the module's head; for a client that is no surviving bridge there is nothing in it.
#[derive(Debug, Default)]
pub struct Resumed {
    survives: bool,
    last_request: u64,
    initialize: Option<Box<RawValue>>,
    prompts: Mutex<HashMap<String, Again>>,
}

/// A prompt that comes again. Until it has, or is dropped, its session tells nothing: its turn's end would find nobody.
#[derive(Debug)]
pub struct Again {
    followed: Option<Arc<Followed>>,
    told: Told,
}

/// Which events were told between a prompt and the end of its daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    after: Seq,
    last: Seq,
}

impl Again {
    /// The prompt has come; whoever calls this ends its time of starting.
    pub fn counted(mut self) -> Told {
        self.followed = None;
        self.told
    }
}

impl Drop for Again {
    fn drop(&mut self) {
        if let Some(followed) = &self.followed {
            followed.turns(Turns::refused);
        }
    }
}

impl Resumed {
    /// Takes up what a bridge had. A session that cannot be is left out: its calls say that it is not open.
    pub async fn take_up(resume: Option<Resume>, client: &Client, service: &Service) -> (Self, Vec<Begin>) {
        let Some(resume) = resume else { return (Self::default(), Vec::new()) };
        let mut begins = Vec::new();
        let mut prompts = HashMap::new();
        for session in &resume.sessions {
            match open(session, client, service).await {
                Ok(begin) => {
                    let last = begin.info.last_seq;
                    for prompt in &session.prompts {
                        begin.followed.turns(Turns::starting);
                        let told = Told { after: Seq(prompt.after), last };
                        let again = Again { followed: Some(Arc::clone(&begin.followed)), told };
                        prompts.insert(prompt.key.clone(), again);
                    }
                    begins.push(begin);
                }
                Err(error) => {
                    tracing::warn!(%error, session = session.session, "a bridge's session cannot be taken up");
                }
            }
        }
        let initialize = resume.initialize.and_then(|params| serde_json::value::to_raw_value(&params).ok());
        let resumed =
            Self { survives: true, last_request: resume.last_request, initialize, prompts: Mutex::new(prompts) };
        (resumed, begins)
    }

    /// Whether the client is a bridge that survives its daemon.
    pub fn survives(&self) -> bool {
        self.survives
    }

    /// Lets the numbers of requests go on.
    pub fn number(&self, peer: &Peer) {
        peer.after(self.last_request);
    }

    /// The parameters of the editor's `initialize`.
    pub fn initialize(&self) -> Option<&RawValue> {
        self.initialize.as_deref()
    }

    /// What is known of a prompt if it comes again.
    pub fn again(&self, key: Option<&str>) -> Option<Again> {
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner).remove(key?)
    }
}

async fn open(session: &ResumedSession, client: &Client, service: &Service) -> Result<Begin, ApiError> {
    let invalid = |error: &dyn std::fmt::Display| {
        ApiError::new(crate::session::api::ApiErrorKind::InvalidParams, format!("`session`: {error}"))
    };
    let id = session.session.parse::<SessionId>().map_err(|error| invalid(&error))?;
    let mut info = service.get_session(&id).await?;
    let newest = info.last_seq;
    let told = session.seq.map_or(newest, Seq).min(newest);
    let subscription = service.attach(client, &id, told).await?;
    let mut translator = Translator::new(info.roots.first().cloned());
    if told == newest {
        know_open_calls(service, &info, &mut translator).await?;
    } else {
        // Whether title and mode were told is not known; the event of a change tells them both.
        info.title.clear();
        info.mode.clear();
    }
    info.last_seq = told;
    let followed = Followed::new();
    // It has just been made.
    let _ = followed.resumed.set(newest);
    Ok(Begin { id, info, subscription, translator, followed })
}

/// Lets the translator know what a client has of a turn that goes on, up to the last item of `info`: the calls whose ends are
/// still to come.
pub async fn know_open_calls(
    service: &Service,
    info: &SessionInfo,
    translator: &mut Translator,
) -> Result<(), ApiError> {
    match info.state {
        SessionState::Idle | SessionState::Interrupted => return Ok(()),
        SessionState::Running | SessionState::Waiting => {}
    }
    let range = TranscriptRange::Before { before: Some(ItemNo(info.items + 1)), limit: OPEN_ITEMS };
    let page = service.read_transcript(&info.id, range).await?;
    let turn = page.items.last().map(|item| item.turn);
    for item in page.items.iter().filter(|item| Some(item.turn) == turn) {
        // It was told already.
        let _ = translator.item(item, None, true);
    }
    Ok(())
}

/// How far a turn had come in what was told.
#[derive(Debug, PartialEq, Eq)]
pub enum HowFar {
    /// It had not begun.
    Waits,
    /// It had begun.
    Runs,
    /// It had ended.
    Over(Ended),
}

/// How far the turn of a prompt that came again was in what was told. What came later is told by the session's events.
pub async fn how_far(
    service: &Service,
    client: &Client,
    id: &SessionId,
    turn: TurnNo,
    told: Told,
) -> Result<HowFar, ApiError> {
    let mut found = HowFar::Waits;
    if told.after >= told.last {
        return Ok(found);
    }
    let mut events = service.attach(client, id, told.after).await?;
    while let Some(updates) = events.next().await {
        for update in updates {
            let Update::Event(event) = update else { continue };
            if event.event.seq > told.last {
                return Ok(found);
            }
            match &event.event.body {
                EventBody::TurnStarted { turn: began } if *began == turn => found = HowFar::Runs,
                EventBody::TurnCompleted { turn: over, reason, message, .. } if *over == turn => {
                    return Ok(HowFar::Over(Ended { reason: *reason, message: message.clone(), refused: false }));
                }
                _ => {}
            }
            if event.event.seq == told.last {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_where_a_bridge_puts_it_and_nowhere_else() {
        assert_eq!(key(br#"{"plimsollKey":"k-1","jsonrpc":"2.0","id":1}"#), Some("k-1".to_owned()));
        assert_eq!(key(br#"{"jsonrpc":"2.0","id":1,"plimsollKey":"k-1"}"#), None);
        assert_eq!(key(br#"{"plimsollKey":7,"id":1}"#), None);
        assert_eq!(key(b"[]"), None);
    }

    #[test]
    fn a_prompt_that_does_not_come_again_holds_its_session_up_no_longer() {
        let followed = Followed::new();
        followed.turns(Turns::starting);
        let told = Told { after: Seq(1), last: Seq(2) };
        drop(Again { followed: Some(Arc::clone(&followed)), told });
        assert!(!followed.turns(|turns| turns.is_starting()));
        followed.turns(Turns::starting);
        assert_eq!(Again { followed: Some(Arc::clone(&followed)), told }.counted(), told);
        assert!(followed.turns(|turns| turns.is_starting()));
    }
}
