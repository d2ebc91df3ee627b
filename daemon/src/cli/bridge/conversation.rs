//! What an ACP bridge remembers of the frames that it copies, so that the next daemon can go on where one ended: the
//! editor's `initialize`, the open sessions, what was asked and not answered on both sides. Plain state; the threads in
//! [`survive`](super::survive) act on it.

use super::told::{Told, Verdict};
use crate::rpc::message::{self, Envelope, Message, RequestId};
use plimsoll_protocol::error::{ErrorData, ErrorKind};
use plimsoll_protocol::hello::{KEY_MEMBER, Resume, ResumedPrompt, ResumedSession, TOLD};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The code of an error inside an agent.
const INTERNAL: i32 = -32_603;

/// See the module's head.
#[derive(Debug)]
pub struct Conversation {
    /// Tells this bridge's keys from another's.
    name: String,
    keys: u64,
    initialize: Option<Value>,
    /// What the editor asked and was not answered, in order.
    asked: Vec<Asked>,
    sessions: BTreeMap<String, Session>,
    /// What the daemon asked and was not answered: by what equal ids share, the id as JSON.
    requests: BTreeMap<String, String>,
    last_request: u64,
}

#[derive(Debug)]
struct Asked {
    id: RequestId,
    method: String,
    params: Option<Value>,
    /// As it is sent to a daemon.
    frame: Vec<u8>,
    /// The last event that was told of its session when it came.
    after: u64,
    key: Option<String>,
    /// What the editor sent to cancel it.
    cancel: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Session {
    seq: Option<u64>,
    params: Option<Value>,
    told: Told,
}

/// How a call of the editor can be done by another daemon than the one that it was sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeat {
    /// Again: it does no harm.
    Freely,
    /// Again, with a key by which it is done once.
    Keyed,
    /// Not: nobody knows what it does.
    Never,
}

impl Repeat {
    fn of(method: &str) -> Self {
        match method {
            "initialize"
            | "authenticate"
            | "logout"
            | "session/load"
            | "session/resume"
            | "session/list"
            | "session/close"
            | "session/delete"
            | "session/set_mode"
            | "session/set_model"
            | "session/set_config_option" => Self::Freely,
            "session/prompt" | "session/new" | "session/fork" => Self::Keyed,
            _ => Self::Never,
        }
    }
}

impl Asked {
    fn session(&self) -> Option<&str> {
        session(self.params.as_ref()?)
    }
}

fn session(params: &Value) -> Option<&str> {
    params.get("sessionId")?.as_str()
}

fn value(params: Option<&RawValue>) -> Option<Value> {
    serde_json::from_str(params?.get()).ok()
}

fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

impl Conversation {
    /// One in which nothing was said; `name` tells it from all others.
    pub fn new(name: String) -> Self {
        Self {
            name,
            keys: 0,
            initialize: None,
            asked: Vec::new(),
            sessions: BTreeMap::new(),
            requests: BTreeMap::new(),
            last_request: 0,
        }
    }

    /// Takes a line of the editor; gives what the daemon gets, if anything.
    pub fn editor_says(&mut self, frame: Vec<u8>) -> Option<Vec<u8>> {
        let Ok(Envelope::One(message)) = message::read(&frame) else { return Some(frame) };
        match message {
            Message::Request { id, method, params } => {
                let (method, params) = (method.into_owned(), value(params));
                Some(self.asks(id, method, params, frame))
            }
            Message::Notification { method, params } => {
                let params = value(params);
                self.notifies(&method, params.as_ref(), &frame);
                Some(frame)
            }
            // An answer to a daemon that has ended would be taken for another one by the next.
            Message::Response { id, .. } => self.requests.remove(&id.key()).map(|_| frame),
            Message::Invalid { .. } => Some(frame),
        }
    }

    fn asks(&mut self, id: RequestId, method: String, params: Option<Value>, frame: Vec<u8>) -> Vec<u8> {
        let mut key = None;
        let mut sent = frame;
        if Repeat::of(&method) == Repeat::Keyed
            && let Some(rest) = sent.trim_ascii_start().strip_prefix(b"{")
        {
            self.keys += 1;
            let made = format!("{}-{}", self.name, self.keys);
            sent = [format!("{{\"{KEY_MEMBER}\":\"{made}\",").as_bytes(), rest].concat();
            key = Some(made);
        }
        if !id.is_null() {
            let told = params.as_ref().and_then(session).and_then(|session| self.sessions.get(session));
            let after = told.and_then(|session| session.seq).unwrap_or(0);
            self.asked.push(Asked { id, method, params, frame: sent.clone(), after, key, cancel: None });
        }
        sent
    }

    fn notifies(&mut self, method: &str, params: Option<&Value>, frame: &[u8]) {
        let Some(params) = params else { return };
        match method {
            "session/cancel" => {
                let of = session(params);
                let prompts = self.asked.iter_mut().filter(|asked| asked.method == "session/prompt");
                for prompt in prompts.filter(|prompt| prompt.session() == of) {
                    prompt.cancel = Some(frame.to_vec());
                }
            }
            "$/cancel_request" => {
                let id = params.get("requestId").map(ToString::to_string);
                for asked in self.asked.iter_mut().filter(|asked| Some(asked.id.json()) == id.as_deref()) {
                    asked.cancel = Some(frame.to_vec());
                }
            }
            _ => {}
        }
    }

    /// Takes a line of the daemon; gives what the editor gets, if anything.
    pub fn daemon_says<'a>(&mut self, frame: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let Ok(Envelope::One(message)) = message::read(frame) else { return Some(frame.into()) };
        match message {
            Message::Response { id, result } => self.answers(&id, result).then(|| frame.into()),
            Message::Request { id, .. } => {
                self.last_request = self.last_request.max(id.json().parse().unwrap_or(0));
                self.requests.insert(id.key(), id.json().to_owned());
                Some(frame.into())
            }
            Message::Notification { method, params } => match &*method {
                TOLD => {
                    self.is_told(params);
                    None
                }
                "session/update" => self.updates(params, frame),
                "$/cancel_request" => {
                    let id = value(params).and_then(|params| params.get("requestId").map(ToString::to_string));
                    self.requests.retain(|_, request| Some(&*request) != id.as_ref());
                    Some(frame.into())
                }
                _ => Some(frame.into()),
            },
            Message::Invalid { .. } => Some(frame.into()),
        }
    }

    /// Whether the editor gets this answer.
    fn answers(&mut self, id: &RequestId, result: Result<&RawValue, &RawValue>) -> bool {
        let key = id.key();
        let Some(at) = self.asked.iter().position(|asked| asked.id.key() == key) else { return true };
        if let (Err(error), Some(asked)) = (result, self.asked.get(at))
            && Repeat::of(&asked.method) != Repeat::Never
            && is_leaving(error)
        {
            // The next daemon does it.
            return false;
        }
        let asked = self.asked.remove(at);
        let of_params = asked.session().map(str::to_owned);
        let Ok(result) = result else {
            // One that could not be opened; one that was open before has its parameters.
            if let Some(id) = of_params
                && self.sessions.get(&id).is_some_and(|session| session.params.is_none())
            {
                self.sessions.remove(&id);
            }
            return true;
        };
        match asked.method.as_str() {
            "initialize" => self.initialize = asked.params,
            "session/new" | "session/fork" => {
                let made = value(Some(result)).and_then(|result| session(&result).map(str::to_owned));
                if let Some(made) = made {
                    // Of one that was just made nothing was told.
                    let seq = (asked.method == "session/new").then_some(0);
                    self.sessions.insert(made, Session { seq, params: asked.params, told: Told::default() });
                }
            }
            "session/load" | "session/resume" => {
                if let Some(loaded) = of_params {
                    self.sessions.entry(loaded).or_default().params = asked.params;
                }
            }
            "session/close" | "session/delete" => {
                if let Some(closed) = of_params {
                    self.sessions.remove(&closed);
                }
            }
            _ => {}
        }
        true
    }

    fn is_told(&mut self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Mark {
            session_id: String,
            seq: u64,
        }
        let mark = params.and_then(|params| serde_json::from_str::<Mark>(params.get()).ok());
        if let Some(mark) = mark
            && let Some(session) = self.sessions.get_mut(&mark.session_id)
        {
            // A daemon begins by saying from where it goes on, which was told before; what comes again is still to come.
            if session.seq.replace(mark.seq).is_none_or(|known| known < mark.seq) {
                session.told.mark();
            }
        }
    }

    fn updates<'a>(&mut self, params: Option<&RawValue>, frame: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let Some(mut params) = value(params) else { return Some(frame.into()) };
        let Some(id) = session(&params).map(str::to_owned) else { return Some(frame.into()) };
        let Some(update) = params.get_mut("update") else { return Some(frame.into()) };
        // One that is being loaded is not among the open ones yet; when its load comes again, so does what was told.
        let loading = self.asked.iter().any(|asked| asked.session() == Some(&id));
        let session = match self.sessions.get_mut(&id) {
            Some(session) => session,
            None if loading => self.sessions.entry(id).or_default(),
            None => return Some(frame.into()),
        };
        match session.told.update(update) {
            Verdict::New => Some(frame.into()),
            Verdict::Known => None,
            Verdict::Rest(rest) => {
                *update = rest;
                Some(line(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params})).into())
            }
        }
    }

    /// The daemon has ended. Gives what the editor is told: its open dialogs are withdrawn, and what no other daemon can
    /// do is answered with an error.
    pub fn lost(&mut self) -> Vec<Vec<u8>> {
        let mut told: Vec<Vec<u8>> = Vec::new();
        for id in std::mem::take(&mut self.requests).into_values() {
            let id: Value = serde_json::from_str(&id).unwrap_or_default();
            told.push(line(&json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": id}})));
        }
        let (again, never): (Vec<Asked>, Vec<Asked>) =
            std::mem::take(&mut self.asked).into_iter().partition(|asked| Repeat::of(&asked.method) != Repeat::Never);
        self.asked = again;
        told.extend(never.iter().filter_map(|asked| {
            failure(asked, "the daemon ended before it answered; whether the call was carried out is not known")
        }));
        for session in self.sessions.values_mut() {
            session.told.begin_again();
        }
        told
    }

    /// There will be no other daemon: what every open call is answered with.
    pub fn give_up(&mut self, why: &str) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.asked).iter().filter_map(|asked| failure(asked, why)).collect()
    }

    /// Whether the editor waits for an answer.
    pub fn waits(&self) -> bool {
        !self.asked.is_empty()
    }

    /// What the hello to the next daemon says.
    pub fn resume(&self) -> Resume {
        let is_opening = |id: &str| {
            let opens = |asked: &&Asked| matches!(asked.method.as_str(), "session/load" | "session/resume");
            self.asked.iter().filter(opens).any(|asked| asked.session() == Some(id))
        };
        let open = self.sessions.iter().filter(|(id, _)| !is_opening(id));
        let sessions = open.map(|(id, session)| ResumedSession {
            session: id.clone(),
            seq: session.seq,
            params: session.params.clone(),
            prompts: self.prompts(id),
        });
        Resume { initialize: self.initialize.clone(), last_request: self.last_request, sessions: sessions.collect() }
    }

    fn prompts(&self, id: &str) -> Vec<ResumedPrompt> {
        let prompts = self.asked.iter().filter(|asked| asked.method == "session/prompt" && asked.session() == Some(id));
        prompts.filter_map(|asked| Some(ResumedPrompt { key: asked.key.clone()?, after: asked.after })).collect()
    }

    /// What the next daemon is sent again, in order.
    pub fn repeat(&self) -> Vec<Vec<u8>> {
        let frames = self.asked.iter().map(|asked| asked.frame.clone());
        let mut cancels: Vec<Vec<u8>> = self.asked.iter().filter_map(|asked| asked.cancel.clone()).collect();
        cancels.dedup();
        frames.chain(cancels).collect()
    }
}

/// Whether an error says that the daemon is about to end.
fn is_leaving(error: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Failed {
        data: Option<ErrorData>,
    }
    let data = serde_json::from_str::<Failed>(error.get()).ok().and_then(|failed| failed.data);
    data.is_some_and(|data| data.kind == ErrorKind::ShuttingDown)
}

fn failure(asked: &Asked, why: &str) -> Option<Vec<u8>> {
    let error = json!({"code": INTERNAL, "message": why, "data": {"kind": "internal"}});
    message::failure(&asked.id, &error).ok().map(|answer| format!("{}\n", answer.get()).into_bytes())
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
