//! Words in the transcripts: piece by piece, so that a search can be left at any time and nobody waits for it.

use super::super::api::{ApiError, ApiErrorKind, SearchFor, SearchHit, SearchPage, SearchScope};
use super::super::load::store_error;
use super::list::foreign_cursor;
use super::{Service, not_found};
use crate::store::{Room, Search};
use plimsoll_core::id::{ItemNo, ProjectKey, SessionId};
use plimsoll_core::transcript::search::Words;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Items that one call looks through at most.
const ITEMS: u64 = 20_000;

/// Bytes of items that one call looks through, about: some tenths of a second.
const BYTES: u64 = 32 * 1024 * 1024;

/// Sessions whose names are read at a time.
const SESSIONS: usize = 200;

/// Sessions that one call looks into at most, found or not.
const MOST_SESSIONS: usize = 2_000;

/// How long one call goes on to further sessions.
const LONGEST: Duration = Duration::from_millis(500);

/// Most words, and most bytes, of a query.
const WORDS: usize = 16;
const QUERY: usize = 1_000;

/// Kinds of items that belong to the conversation, by their stored names.
const CONVERSATION: [&str; 6] = ["user", "assistant", "reasoning", "tool_call", "tool_result", "notice"];

/// Tells a scan that nobody waits for it any more.
struct StopWhenDropped(Arc<AtomicBool>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Where a search goes on: in this session with the items before this one, then with the sessions before it.
struct Cursor {
    session: SessionId,
    before: ItemNo,
}

impl Cursor {
    fn read(text: &str) -> Option<Self> {
        let (session, before) = text.rsplit_once(':')?;
        Some(Self { session: session.parse().ok()?, before: ItemNo(before.parse().ok()?) })
    }

    fn text(&self) -> String {
        format!("{}:{}", self.session, self.before.0)
    }
}

/// A session to be looked through.
struct Next {
    session: SessionId,
    project: ProjectKey,
    title: String,
    before: Option<ItemNo>,
}

impl Service {
    /// One piece of a search; the cursor that it gives leads to the next one.
    pub async fn search(&self, asked: SearchFor) -> Result<SearchPage, ApiError> {
        self.recover().await;
        let invalid = |message: String| ApiError::new(ApiErrorKind::InvalidParams, message);
        let words = Words::new(&asked.query);
        if words.count() == 0 || words.count() > WORDS || asked.query.len() > QUERY {
            return Err(invalid(format!("`query`: 1 to {WORDS} words, at most {QUERY} bytes in all")));
        }
        let read = |text| Cursor::read(text).ok_or_else(|| foreign_cursor("transcript/search"));
        let cursor = asked.cursor.as_deref().map(read).transpose()?;
        let stop = StopWhenDropped(Arc::default());
        let kinds = if asked.kinds.is_empty() { CONVERSATION.to_vec() } else { asked.kinds };
        let search = Search { words, kinds, stop: Arc::clone(&stop.0) };
        let mut place = self.begin(asked.scope, cursor).await?;
        let mut page = SearchPage::default();
        let mut room = Room { hits: asked.limit, items: ITEMS, bytes: BYTES };
        let mut looked = 0;
        let begun = Instant::now();
        let stores = &self.inner.stores;
        while let Some(next) = place.next(self).await? {
            if page.skipped.iter().any(|(project, _)| *project == next.project) {
                continue;
            }
            looked += 1;
            let before = room.items;
            let scanned = match stores.search(&next.project, &next.session, &search, next.before, room).await {
                Ok(scanned) => scanned,
                Err(error) => {
                    tracing::warn!(project = %next.project, %error, "a project cannot be searched");
                    page.skipped.push((next.project, error.to_string()));
                    continue;
                }
            };
            room = scanned.room;
            page.searched += before - room.items;
            page.hits.extend(scanned.hits.into_iter().map(|hit| SearchHit {
                session: next.session.clone(),
                title: next.title.clone(),
                hit,
            }));
            let late = begun.elapsed() >= LONGEST;
            let over = late || looked == MOST_SESSIONS || room.hits == 0 || room.items == 0 || room.bytes == 0;
            if scanned.next.is_some() || (over && !place.is_last()) {
                let before = scanned.next.unwrap_or_default();
                page.next = Some(Cursor { session: next.session, before }.text());
                break;
            }
        }
        Ok(page)
    }

    /// The sessions in which is looked, from the cursor on.
    async fn begin(&self, scope: SearchScope, cursor: Option<Cursor>) -> Result<Place, ApiError> {
        let stores = &self.inner.stores;
        let (project, alone) = match scope {
            SearchScope::All => (None, None),
            SearchScope::Project(key) => {
                stores.project(&key).await.map_err(|error| store_error(&error))?;
                (Some(key), None)
            }
            SearchScope::Session(id) => {
                let key = stores.session_project(&id).await.map_err(|error| store_error(&error))?;
                let key = key.ok_or_else(|| not_found(&id))?;
                (Some(key), Some(id))
            }
        };
        // The cursor's own session comes first again; it may be gone meanwhile.
        let before = cursor.as_ref().map(|cursor| cursor.session.clone());
        let resumed = cursor.filter(|cursor| cursor.before.0 > 1);
        let mut place = Place { project, before, waiting: Vec::new(), whole: alone.is_some() };
        let first = alone.or_else(|| resumed.as_ref().map(|cursor| cursor.session.clone()));
        if let Some(id) = first
            && let Some(key) = stores.session_project(&id).await.map_err(|error| store_error(&error))?
        {
            let title = stores.title(&id).await.map_err(|error| store_error(&error))?;
            let before = resumed.map(|cursor| cursor.before);
            place.waiting.push(Next { session: id, project: key, title, before });
        }
        Ok(place)
    }
}

/// How far a search has come among sessions.
struct Place {
    project: Option<ProjectKey>,
    /// The last session that was named.
    before: Option<SessionId>,
    /// Named and not looked into, the next one last.
    waiting: Vec<Next>,
    /// All were named.
    whole: bool,
}

impl Place {
    async fn next(&mut self, service: &Service) -> Result<Option<Next>, ApiError> {
        if self.waiting.is_empty() && !self.whole {
            let stores = &service.inner.stores;
            let named = stores.sessions_by_id(self.before.clone(), self.project.clone(), SESSIONS).await;
            let named = named.map_err(|error| store_error(&error))?;
            self.whole = named.len() < SESSIONS;
            self.before = named.last().map(|(session, ..)| session.clone());
            let next = |(session, project, title)| Next { session, project, title, before: None };
            self.waiting = named.into_iter().rev().map(next).collect();
        }
        Ok(self.waiting.pop())
    }

    /// Whether no session comes any more.
    fn is_last(&self) -> bool {
        self.whole && self.waiting.is_empty()
    }
}
