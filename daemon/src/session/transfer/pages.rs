//! Pages of an export: the texts of items one after the other, cut where a page is full.

use super::{Format, line, markdown};
use crate::session::api::{ApiError, ApiErrorKind};
use crate::session::load::store_error;
use crate::session::service::Service;
use crate::store::{ProjectStore, SessionRow, ViewItem};
use plimsoll_core::id::{ItemNo, SessionId, TurnNo};
use plimsoll_core::prompt::Prompts;
use plimsoll_core::transcript::rewound::OutOfView;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Items read at once: each may be large.
const READ: usize = 16;

/// Exports of which it is remembered where they go on.
const KEPT: usize = 64;

/// A page of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The text.
    pub text: String,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Where the next page begins; none at the end.
    pub next: Option<u64>,
}

/// What an export is of: the session as it was when the first page was asked for.
struct Facts {
    row: SessionRow,
    texts: Prompts,
    last: ItemNo,
    out: OutOfView,
}

/// A place in an export: before the text of an item, and bytes of that which are behind already.
#[derive(Clone)]
struct Place {
    facts: Arc<Facts>,
    /// The item before; none before the first line.
    after: Option<(ItemNo, TurnNo)>,
    skip: usize,
}

/// Of which session, in which form, from which byte on, and the place that this is.
type Known = ((SessionId, Format, u64), Place);

/// Where exports go on that were read in part, the newest last. One that is forgotten is made anew up to there.
#[derive(Default)]
pub struct Exports {
    known: Mutex<VecDeque<Known>>,
}

impl std::fmt::Debug for Exports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exports").finish_non_exhaustive()
    }
}

impl Exports {
    fn find(&self, id: &SessionId, format: Format, offset: u64) -> Option<Place> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().rev().find(|(key, _)| *key == (id.clone(), format, offset)).map(|(_, place)| place.clone())
    }

    fn keep(&self, id: &SessionId, format: Format, offset: u64, place: Place) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.push_back(((id.clone(), format, offset), place));
        while known.len() > KEPT {
            known.pop_front();
        }
    }
}

/// Texts of an export, one after the other.
struct Reading<'a> {
    store: &'a ProjectStore,
    format: Format,
    at: Place,
    read: VecDeque<ViewItem>,
}

impl Reading<'_> {
    /// The text at the present place, without what is behind already; none at the end.
    async fn text(&mut self) -> Result<Option<String>, ApiError> {
        let facts = Arc::clone(&self.at.facts);
        let Some((after, turn)) = self.at.after else {
            return Ok(Some(match self.format {
                Format::Jsonl => {
                    let folder = self.store.session_folder(&facts.row.id);
                    line::head(&facts.row, &facts.texts, &folder, facts.last)
                }
                Format::Markdown => markdown::head(&facts.row, facts.last),
            }));
        };
        if after >= facts.last {
            return Ok(None);
        }
        if self.read.is_empty() {
            let items =
                self.store.whole_items(&facts.row.id, after, READ).await.map_err(|error| store_error(&error))?;
            self.read.extend(items);
        }
        let Some(found) = self.read.front() else { return Ok(None) };
        Ok(Some(match self.format {
            Format::Jsonl => line::item(found).map_err(|error| {
                ApiError::new(ApiErrorKind::Store, format!("item {} cannot be exported: {error}", found.item.no))
            })?,
            Format::Markdown => markdown::item(found, turn, &facts.out),
        }))
    }

    /// The text at the present place is behind.
    fn advance(&mut self) {
        self.at.skip = 0;
        self.at.after = Some(match self.at.after {
            None => (ItemNo(0), TurnNo(0)),
            Some(before) => self.read.pop_front().map_or(before, |found| (found.item.no, found.item.turn)),
        });
    }
}

impl Service {
    /// A page of a session's export: up to `limit` bytes from `offset` on, which is 0 or where a page before ended.
    pub async fn export_session(
        &self,
        id: &SessionId,
        format: Format,
        offset: u64,
        limit: usize,
    ) -> Result<Page, ApiError> {
        let (_, store) = self.store_of(id).await?;
        let known = if offset == 0 { None } else { self.exports().find(id, format, offset) };
        let behind = if known.is_some() { offset } else { 0 };
        let at = match known {
            Some(place) => place,
            None => begin(&store, id).await?,
        };
        let mut reading = Reading { store: &store, format, at, read: VecDeque::new() };
        // Bytes that are made and not wanted, after a restart of the daemon.
        let mut unwanted = offset - behind;
        let mut page = String::new();
        let next = loop {
            let Some(text) = reading.text().await? else { break None };
            let rest = text.get(reading.at.skip..).unwrap_or_default();
            let drop = usize::try_from(unwanted).unwrap_or(usize::MAX).min(rest.len());
            unwanted -= drop as u64;
            let wanted = rest.get(drop..).ok_or_else(|| no_place(offset))?;
            let room = limit.saturating_sub(page.len());
            if wanted.len() <= room {
                page.push_str(wanted);
                reading.advance();
                continue;
            }
            // A page holds at least one character.
            let mut end = wanted.floor_char_boundary(room);
            if end == 0 && page.is_empty() {
                end = wanted.ceil_char_boundary(1);
            }
            page.push_str(wanted.get(..end).unwrap_or_default());
            reading.at.skip += drop + end;
            break Some(offset + page.len() as u64);
        };
        if unwanted > 0 {
            return Err(no_place(offset));
        }
        if let Some(next) = next {
            self.exports().keep(id, format, next, reading.at);
        }
        Ok(Page { text: page, offset, next })
    }
}

fn no_place(offset: u64) -> ApiError {
    ApiError::new(ApiErrorKind::InvalidParams, format!("`offset`: no page of this export begins at {offset}"))
        .hint("begin with 0, then take `nextOffset` of the page before")
}

async fn begin(store: &ProjectStore, id: &SessionId) -> Result<Place, ApiError> {
    let row = store.session(id).await.map_err(|error| store_error(&error))?;
    let texts = store.made_with(id).await.map_err(|error| store_error(&error))?;
    let last = store.settled_end(id).await.map_err(|error| store_error(&error))?;
    let out = store.out_of_view(id).await.map_err(|error| store_error(&error))?;
    Ok(Place { facts: Arc::new(Facts { row, texts, last, out }), after: None, skip: 0 })
}
