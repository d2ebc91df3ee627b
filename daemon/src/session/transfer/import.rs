//! An export becomes a session. It is text from outside: every line is looked at before anything is stored, an error names the
//! line, and what is stored is one transaction. Ids are new; numbers, times and texts are kept.

use super::line::{Head, KIND, Line, VERSION};
use crate::config::Overrides;
use crate::session::api::{ApiError, ApiErrorKind, Client, SessionInfo};
use crate::session::driver::now;
use crate::session::load::store_error;
use crate::session::service::{Service, base_prompt_flaw, new_session_id};
use crate::store::{SessionOrigin, SessionRecord};
use plimsoll_core::event::{Event, EventBody, TurnEnd, TurnFacts};
use plimsoll_core::id::{CallId, ItemNo, ProjectKey, RequestNo, Seq, TurnNo};
use plimsoll_core::ingest::{self, Source};
use plimsoll_core::model::usage::Usage;
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::outcome::{Body, Status};
use plimsoll_core::transcript::batch::{Batch, SessionState, StoredProjection};
use plimsoll_core::transcript::codec;
use plimsoll_core::transcript::item::{Item, ItemBody};
use plimsoll_core::transcript::rewound::OutOfView;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;

/// An export that was read and found whole.
pub(super) struct Read {
    pub(super) head: Head,
    pub(super) items: Vec<Item>,
    pub(super) projections: Vec<StoredProjection>,
}

/// What is wrong with a line, counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) line: usize,
    pub(super) what: String,
}

/// What the lines so far have said.
#[derive(Default)]
struct Known {
    /// Calls, with whether they have a result.
    calls: BTreeMap<CallId, bool>,
    turn: TurnNo,
    rewinds: Vec<(ItemNo, ItemNo)>,
}

/// Reads an export.
pub(super) fn read(data: &str) -> Result<Read, Wrong> {
    let mut lines = (1..).zip(data.lines()).filter(|(_, text)| !text.trim().is_empty());
    let (at, first) = lines.next().ok_or_else(|| wrong(1, "the export is empty"))?;
    let head = read_head(at, first)?;
    let (mut items, mut projections, mut known) = (Vec::new(), Vec::new(), Known::default());
    let mut last = at;
    for (at, text) in lines {
        last = at;
        let line: Line = serde_json::from_str(text).map_err(|error| wrong(at, format!("it is no item: {error}")))?;
        let expected = ItemNo(items.len() as u64 + 1);
        if line.no != expected {
            return Err(wrong(at, format!("item {} stands where item {expected} belongs", line.no)));
        }
        let (item, projection) = read_item(at, line)?;
        known.check(&item, projection.is_some()).map_err(|what| wrong(at, what))?;
        items.push(item);
        projections.extend(projection);
    }
    if items.len() as u64 != head.items {
        let what = format!("the export ends after item {}; its first line says {} items", items.len(), head.items);
        return Err(wrong(last, what));
    }
    if let Some((call, _)) = known.calls.iter().find(|(_, answered)| !**answered) {
        return Err(wrong(last, format!("the export ends and call {call} has no result")));
    }
    Ok(Read { head, items, projections })
}

fn wrong(line: usize, what: impl Into<String>) -> Wrong {
    Wrong { line, what: what.into() }
}

fn read_head(at: usize, text: &str) -> Result<Head, Wrong> {
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(at, format!("it is no JSON: {error}")))?;
    if value.get("plimsoll").and_then(Value::as_str) != Some(KIND) {
        return Err(wrong(at, "it does not say that an export of a session follows"));
    }
    match value.get("version").and_then(Value::as_u64) {
        Some(version) if version > u64::from(VERSION) => Err(wrong(
            at,
            format!("the export has version {version}; this build reads versions up to {VERSION}: update Plimsoll"),
        )),
        Some(_) => serde_json::from_value(clean(value, Source::User))
            .map_err(|error| wrong(at, format!("it is no first line: {error}"))),
        None => Err(wrong(at, "it has no version")),
    }
}

fn read_item(at: usize, line: Line) -> Result<(Item, Option<StoredProjection>), Wrong> {
    let malformed = |error: &dyn std::fmt::Display| wrong(at, format!("item {}: {error}", line.no));
    let body: Value = serde_json::from_str(line.body.get()).map_err(|error| malformed(&error))?;
    // What a command printed is cleaned of what moves a terminal; of everything, what breaks stores.
    let mut body = clean(body, Source::File);
    for printed in ["output", "stderr"] {
        for place in ["/outcome/body", "/outcome/body/run"] {
            if let Some(found) = body.pointer_mut(&format!("{place}/{printed}")) {
                *found = clean(found.take(), Source::Command);
            }
        }
    }
    let decoded = codec::decode(&line.kind, line.version, &body.to_string());
    let body = decoded.map_err(|error| malformed(&error))?;
    let projection = match line.projection {
        None => None,
        Some(shown) => {
            let text = ingest::string(Source::File, shown.text);
            Some(StoredProjection { text, ..shown })
        }
    };
    if let (ItemBody::ToolResult(result), Some(shown)) = (&body, &projection)
        && result.call != shown.call
    {
        return Err(wrong(at, format!("the projection is of call {}, the result of {}", shown.call, result.call)));
    }
    Ok((Item { no: line.no, turn: line.turn, step: line.step, at: Timestamp(line.at), body }, projection))
}

impl Known {
    /// Takes an item in that follows those before; the error says why it cannot.
    fn check(&mut self, item: &Item, shown: bool) -> Result<(), String> {
        if item.turn < self.turn {
            return Err(format!("item {} is of turn {} and follows one of turn {}", item.no, item.turn, self.turn));
        }
        self.turn = item.turn;
        let is_result = matches!(item.body, ItemBody::ToolResult(_));
        if shown != is_result {
            let what = if is_result { "a result without its projection" } else { "no result and has a projection" };
            return Err(format!("item {} is {what}", item.no));
        }
        match &item.body {
            ItemBody::ToolCall(call) => {
                if self.calls.insert(call.call, false).is_some() {
                    return Err(format!("call {} is made a second time", call.call));
                }
                if self.calls.keys().next_back() != Some(&call.call) {
                    return Err(format!("call {} follows one with a higher number", call.call));
                }
            }
            ItemBody::ToolResult(result) => match self.calls.insert(result.call, true) {
                Some(false) => {}
                Some(true) => return Err(format!("call {} has a second result", result.call)),
                None => return Err(format!("the result is of call {}, which was not made", result.call)),
            },
            ItemBody::Observation(observed) => {
                if let Some(call) = observed.calls.iter().find(|call| self.calls.get(call) != Some(&true)) {
                    return Err(format!("images are of call {call}, which has no result"));
                }
            }
            ItemBody::Rewind(rewind) => {
                let out = OutOfView::of(self.rewinds.iter().copied());
                if rewind.from >= item.no || rewind.from == ItemNo(0) || out.contains(rewind.from) {
                    return Err(format!("the conversation cannot go back to before item {}", rewind.from));
                }
                self.rewinds.push((item.no, rewind.from));
            }
            ItemBody::User(_)
            | ItemBody::Meta(_)
            | ItemBody::Assistant(_)
            | ItemBody::Reasoning(_)
            | ItemBody::Notice(_) => {}
        }
        Ok(())
    }
}

/// Every text in it through the seam for text from outside.
fn clean(value: Value, source: Source) -> Value {
    match value {
        Value::String(text) => Value::String(ingest::string(source, text)),
        Value::Array(values) => values.into_iter().map(|value| clean(value, source)).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, clean(value, source))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// What is stored of it at once: every item, and events that tell them as they were told. `folder` is the new session's own, in
/// text form: what the texts of results name is below it now.
pub(super) fn batch(read: Read, folder: &str) -> Batch {
    let old = format!("{}/artifacts/", read.head.session.folder);
    let new = format!("{folder}/artifacts/");
    let mut events = Vec::new();
    let mut turn = TurnNo(0);
    let mut last = Timestamp(read.head.session.created_at);
    for item in &read.items {
        if item.turn != turn {
            events.extend((turn > TurnNo(0)).then(|| (last, ended(turn))));
            turn = item.turn;
            events.push((item.at, EventBody::TurnStarted { turn }));
        }
        events.push((item.at, EventBody::ItemAdded { item: item.no }));
        if let ItemBody::ToolResult(result) = &item.body
            && let (Status::Ok, Body::Todos(_)) = (result.outcome.status, &result.outcome.body)
        {
            events.push((item.at, EventBody::PlanChanged { call: result.call }));
        }
        last = item.at;
    }
    events.extend((turn > TurnNo(0)).then(|| (last, ended(turn))));
    let numbered = (1..).zip(events).map(|(seq, (at, body))| Event { seq: Seq(seq), at, body });
    let rename = |mut shown: StoredProjection| {
        if !read.head.session.folder.is_empty() && shown.text.contains(&old) {
            shown.text = shown.text.replace(&old, &new);
        }
        shown
    };
    Batch {
        events: numbered.collect(),
        projections: read.projections.into_iter().map(rename).collect(),
        items: read.items,
        state: Some(SessionState::Idle),
        ..Batch::default()
    }
}

fn ended(turn: TurnNo) -> EventBody {
    EventBody::TurnCompleted {
        turn,
        reason: TurnEnd::EndTurn,
        usage: Usage::default(),
        cost: None,
        unsettled: Vec::new(),
        message: None,
        facts: TurnFacts::default(),
    }
}

impl Service {
    /// Makes a session of an export. Its permission mode is the configuration's, and its model where the one that the export
    /// names cannot be used here.
    pub async fn import_session(
        &self,
        client: &Client,
        key: &ProjectKey,
        data: String,
        idempotency: Option<String>,
    ) -> Result<SessionInfo, ApiError> {
        self.recover().await;
        let read = tokio::task::spawn_blocking(move || read(&data)).await;
        let read = read
            .map_err(|error| ApiError::new(ApiErrorKind::Internal, format!("the export could not be read: {error}")))?
            .map_err(|Wrong { line, what }| {
                ApiError::new(ApiErrorKind::InvalidParams, format!("`data`: line {line}: {what}"))
                    .hint("nothing was imported; give the export as session/export made it")
            })?;
        let facts = read.head.session.clone();
        let (project, store) = self.opened(key).await?;
        let config = project.config(client, &Overrides::default())?;
        let model = if let Ok((profile, _)) = config.model(Some(&facts.model)) {
            profile
        } else {
            let found = config
                .model(None)
                .map_err(|error| ApiError::new(ApiErrorKind::Config, error.to_string()).hint(error.fix.clone()))?;
            found.0
        };
        let window = model.context_window;
        let id = new_session_id()?;
        let origin = SessionOrigin {
            session: facts.id.chars().take(100).collect(),
            item: ItemNo(read.head.items),
            request: RequestNo(0),
            imported: true,
        };
        let record = SessionRecord {
            id: id.clone(),
            title: crate::session::given::clean_title(&facts.title).unwrap_or_default(),
            mode: config.permissions.mode.to_string(),
            model: model.id(),
            bundle: facts.bundle,
            base_prompt: facts.base_prompt.filter(|text| base_prompt_flaw(text, window).is_none()),
            created_at: Timestamp(facts.created_at.min(now().0)),
            key: idempotency,
        };
        let folder = plimsoll_core::path::escape(store.session_folder(&id).as_os_str().as_bytes());
        let made = store.import_session(record, origin, batch(read, &folder)).await;
        let row = made.map_err(|error| store_error(&error))?;
        self.get_session(&row.id).await
    }
}
