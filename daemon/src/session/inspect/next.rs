//! The next request of a session, part by part; while a turn runs, the one that was sent last.

use super::list::wire;
use super::value::{Ask, Inspection, Of, Since};
use crate::config::{Config, ConfigError, Overrides};
use crate::session::actor::Msg;
use crate::session::api::{ApiError, ApiErrorKind, Client};
use crate::session::beside::transcript_path;
use crate::session::driver::now;
use crate::session::load::store_error;
use crate::session::service::Service;
use crate::session::setup::TurnSetup;
use crate::store::{LastSwitch, ProjectStore, RequestBody, RequestEntry, ViewItem};
use plimsoll_core::context::cache::{Before, Expected, entries, expected};
use plimsoll_core::context::compare::Wire;
use plimsoll_core::context::explain::{Part, Request, Tail, explain, gathered, sources};
use plimsoll_core::context::load::{LINES, Room};
use plimsoll_core::id::{CallId, ItemNo, RequestNo, SessionId};
use plimsoll_core::ingest::{self, Source};
use plimsoll_core::model::catalog::{Catalog, ModelProfile};
use plimsoll_core::model::request::Api;
use plimsoll_core::model::usage::Usage;
use plimsoll_core::time::Timestamp;
use plimsoll_core::transcript::batch::StoredProjection;
use plimsoll_core::transcript::epoch::{Epoch, RequestRow, Segment};
use plimsoll_core::transcript::item::Item;
use plimsoll_core::transcript::shape::Shape;
use plimsoll_core::turn::input::Prompt;
use plimsoll_core::turn::preview::{Preview, Sends};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Service {
    /// The next request of a session: what the empty prompt would send. While a turn runs, the request that was sent last,
    /// and what has come since.
    pub async fn inspect(&self, client: &Client, id: &SessionId) -> Result<Inspection, ApiError> {
        let model = self.live(id).await?.chosen.model();
        match self.look(client, id, Ask::default()).await? {
            Some(inspection) => Ok(inspection),
            None => self.inspect_last(client, id, &model).await,
        }
    }

    /// What a prompt would send, without sending it. Refused while a turn runs.
    pub async fn preview(&self, client: &Client, id: &SessionId, ask: Ask) -> Result<Inspection, ApiError> {
        self.look(client, id, ask).await?.ok_or_else(|| {
            ApiError::new(ApiErrorKind::Busy, "a turn of this session is running, so what comes next is not known yet")
                .hint("wait for its end; context/inspect shows the request that was sent last")
        })
    }

    /// None while a turn runs.
    async fn look(&self, client: &Client, id: &SessionId, ask: Ask) -> Result<Option<Inspection>, ApiError> {
        let handle = self.live(id).await?;
        let chosen = match ask.model {
            Some(model) => Arc::new(handle.chosen.with_model(model)),
            None => Arc::clone(&handle.chosen),
        };
        let setup = handle.project.turn(id, client, &chosen).await?;
        let text = ingest::string(Source::User, ask.text);
        let prompt = Prompt { text, key: None, attachments: ask.attachments, goes_on: None };
        let copy = Box::new(setup.clone());
        let dry = handle.ask(|reply| Msg::Dry { setup: copy, prompt, reply }).await??;
        let Some(dry) = dry else { return Ok(None) };
        let editor = handle.project.shared.editors.of(&handle.project.key);
        let environment = setup.collect(editor, dry.wanted().clone()).await;
        let sends = match dry.send(now(), environment) {
            Preview::Sends(sends) => sends,
            Preview::Refused(why) => return Ok(Some(refused(id, &setup.profile, setup.compaction.lines, why))),
        };
        let (_, store) = self.store_of(id).await?;
        explained(&store, id, &setup, *sends).await.map(Some)
    }

    async fn inspect_last(&self, client: &Client, id: &SessionId, model: &str) -> Result<Inspection, ApiError> {
        let (_, store) = self.store_of(id).await?;
        let requests = store.requests(id).await.map_err(|error| store_error(&error))?;
        let Some(last) = requests.last() else {
            return Err(ApiError::new(ApiErrorKind::Busy, "a turn is beginning, and no request was sent yet")
                .hint("try again in a moment"));
        };
        let sent = body(&store, id, last.request.no).await?;
        let profile = self.profile_of(client, &store.record().roots, model, &sent.epoch);
        let before = match requests.iter().rev().nth(1) {
            Some(before) => Some((body(&store, id, before.request.no).await?, before)),
            None => None,
        };
        let (items, shown) = view(&store, id, &sent.epoch).await?;
        let read = before.as_ref().map_or_else(Expected::default, |(before, entry)| {
            let wire = wire(&sent.epoch, &sent.request, &sent.messages);
            from_cache(before, entry, sent.request.at, &profile, sent.epoch.api, &wire)
        });
        let seen = items.partition_point(|item| item.no <= sent.request.last_item);
        let (seen, since) = items.split_at(seen);
        let rows: Vec<&RequestRow> =
            requests.iter().map(|entry| &entry.request).filter(|row| row.epoch == sent.epoch.no).collect();
        let looked = Looked { epoch: &sent.epoch, row: &sent.request, messages: &sent.messages, rows: &rows };
        let (parts, bytes) = looked.parts(seen, &shown, &transcript_path(&store, id));
        let tokens = last.end.as_ref().and_then(|end| end.usage).map_or_else(|| sum(&parts), |usage| usage.input);
        let since = Since { items: since.iter().map(|item| item.no).collect(), tokens: gathered(since, &shown) };
        Ok(Inspection {
            session: id.clone(),
            of: Of::Last(sent.request.no),
            model: profile.id(),
            refused: None,
            opens: None,
            bytes,
            tokens,
            room: Room::of(&profile),
            lines: self.lines(client, &store.record().roots),
            shape: sent.epoch.shape.clone(),
            last_switch: last_switch(&store, id).await?,
            parts,
            read: read.segments,
            cached: looked.cached(),
            since: Some(since),
            cost: cost(&profile, tokens, read.tokens),
        })
    }

    /// What is known of the model that an epoch works with, under the configuration of this client. `model` is the
    /// session's, as `provider/model`.
    pub(super) fn profile_of(&self, client: &Client, roots: &[PathBuf], model: &str, epoch: &Epoch) -> ModelProfile {
        let provider = model.split_once('/').map_or(model, |(provider, _)| provider);
        let id = format!("{provider}/{}", epoch.model);
        match self.config_of(client, roots).map(|config| config.model(Some(&id))) {
            Ok(Ok((profile, _))) => profile,
            Ok(Err(_)) | Err(_) => Catalog::builtin().profile(provider, epoch.api, &epoch.model),
        }
    }

    /// The configuration of this client in a project whose folder may be gone.
    pub(super) fn config_of(&self, client: &Client, roots: &[PathBuf]) -> Result<Config, ConfigError> {
        let root = roots.first().map(PathBuf::as_path).filter(|root| Path::is_dir(root));
        Config::load_for(self.folders(), &client.env, root, &Overrides::default())
    }

    fn lines(&self, client: &Client, roots: &[PathBuf]) -> [u8; 3] {
        self.config_of(client, roots).map_or(LINES, |config| config.compaction(false).lines)
    }
}

/// A request with all requests of its epoch up to it.
struct Looked<'a> {
    epoch: &'a Epoch,
    row: &'a RequestRow,
    messages: &'a [Segment],
    rows: &'a [&'a RequestRow],
}

impl Looked<'_> {
    fn parts(&self, items: &[Item], shown: &BTreeMap<CallId, StoredProjection>, transcript: &str) -> (Vec<Part>, u64) {
        let api = self.epoch.api;
        let sources = sources(api, &Tail::of(self.epoch, self.rows), items, shown, transcript);
        let wire = wire(self.epoch, self.row, self.messages);
        let request = Request { api, wire, marks: &self.row.marks, prompts: &self.epoch.prompts, sources: &sources };
        let body = request.body();
        (explain(&request, &body), body.len() as u64)
    }

    /// Segments that are in the provider's cache once this was sent.
    fn cached(&self) -> usize {
        let wire = wire(self.epoch, self.row, self.messages);
        match self.epoch.api {
            Api::Offline => 0,
            Api::OpenaiChat => wire.layers().len(),
            Api::AnthropicMessages => entries(&wire, &self.row.marks).into_iter().max().unwrap_or(0),
        }
    }
}

/// A request that would be sent, against the one that was sent last.
async fn explained(
    store: &ProjectStore,
    id: &SessionId,
    setup: &TurnSetup,
    sends: Sends,
) -> Result<Inspection, ApiError> {
    let profile = &setup.profile;
    let requests = store.requests(id).await.map_err(|error| store_error(&error))?;
    let (mut items, shown) = view(store, id, &sends.epoch).await?;
    items.extend(sends.items);
    let row = &sends.request;
    let read = match requests.last() {
        Some(entry) => {
            let before = body(store, id, entry.request.no).await?;
            from_cache(&before, entry, row.at, profile, sends.epoch.api, &wire(&sends.epoch, row, &sends.messages))
        }
        None => Expected::default(),
    };
    let of_epoch = requests.iter().map(|entry| &entry.request).filter(|row| row.epoch == sends.epoch.no);
    let rows: Vec<&RequestRow> = of_epoch.chain([row]).collect();
    let looked = Looked { epoch: &sends.epoch, row, messages: &sends.messages, rows: &rows };
    let (parts, bytes) = looked.parts(&items, &shown, &transcript_path(store, id));
    Ok(Inspection {
        session: id.clone(),
        of: Of::Next,
        model: profile.id(),
        refused: None,
        opens: sends.opens,
        bytes,
        tokens: sends.tokens,
        room: Room::of(profile),
        lines: setup.compaction.lines,
        shape: sends.epoch.shape.clone(),
        last_switch: last_switch(store, id).await?,
        read: read.segments,
        cached: looked.cached(),
        parts,
        since: None,
        cost: cost(profile, sends.tokens, read.tokens),
    })
}

fn refused(id: &SessionId, profile: &ModelProfile, lines: [u8; 3], why: String) -> Inspection {
    Inspection {
        session: id.clone(),
        of: Of::Next,
        model: profile.id(),
        refused: Some(why),
        opens: None,
        bytes: 0,
        tokens: 0,
        room: Room::of(profile),
        lines,
        shape: Shape::default(),
        last_switch: None,
        parts: Vec::new(),
        read: 0,
        cached: 0,
        since: None,
        cost: None,
    }
}

fn from_cache(
    before: &RequestBody,
    entry: &RequestEntry,
    at: Timestamp,
    profile: &ModelProfile,
    api: Api,
    after: &Wire<'_>,
) -> Expected {
    let sent = Before {
        api: before.epoch.api,
        wire: wire(&before.epoch, &before.request, &before.messages),
        marks: &before.request.marks,
        reported: entry.end.as_ref().and_then(|end| end.usage).map(|usage| usage.input),
        age_ms: at.0.saturating_sub(before.request.at.0),
        lifetime_s: profile.cache_lifetime_s,
    };
    expected(&sent, api, after)
}

/// What the input of a request costs when so much of it is read from the cache and, where the cache is kept by marks, the
/// rest is written to it.
fn cost(profile: &ModelProfile, tokens: u64, read: u64) -> Option<(f64, String)> {
    let price = profile.price.as_ref()?;
    let cache_read = read.min(tokens);
    let cache_write = if profile.api == Api::AnthropicMessages { tokens - cache_read } else { 0 };
    Some((price.cost(Usage { input: tokens, cache_read, cache_write, output: 0 }), price.as_of.clone()))
}

fn sum(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.tokens).sum()
}

async fn last_switch(store: &ProjectStore, id: &SessionId) -> Result<Option<LastSwitch>, ApiError> {
    store.last_switch(id).await.map_err(|error| store_error(&error))
}

pub(super) async fn body(store: &ProjectStore, id: &SessionId, no: RequestNo) -> Result<RequestBody, ApiError> {
    store.request_body_segments(id, no).await.map_err(|error| store_error(&error))
}

/// The items of an epoch's view, with the projections of its results.
async fn view(
    store: &ProjectStore,
    id: &SessionId,
    epoch: &Epoch,
) -> Result<(Vec<Item>, BTreeMap<CallId, StoredProjection>), ApiError> {
    view_at(store, id, epoch, ItemNo(u64::MAX)).await
}

/// The same, as it was when `last` was the session's last item.
pub(super) async fn view_at(
    store: &ProjectStore,
    id: &SessionId,
    epoch: &Epoch,
    last: ItemNo,
) -> Result<(Vec<Item>, BTreeMap<CallId, StoredProjection>), ApiError> {
    let found = store.view_items_at(id, epoch.first_item, last).await.map_err(|error| store_error(&error))?;
    let shown = |item: &ViewItem| item.projection.clone().map(|shown| (shown.call, shown));
    let projections = found.iter().filter_map(shown).collect();
    Ok((found.into_iter().map(|item| item.item).collect(), projections))
}
