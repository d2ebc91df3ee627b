//! Lists of sessions, from the index: by pages, newest change first, and narrowed to what is asked for.

use super::index::{Change, INDEX, IndexRow, UserSql, index_row};
use super::read::state_word;
use super::record::{Archived, IndexedSession, ListFilter, ListPage};
use super::{StoreError, Stores};
use plimsoll_core::id::{ProjectKey, SessionId};
use rusqlite::{OptionalExtension as _, params};
use std::collections::HashMap;
use std::path::PathBuf;

/// Sessions in one page of a list.
const MOST_PER_PAGE: usize = 500;

impl ListFilter {
    fn limit(&self) -> usize {
        self.limit.clamp(1, MOST_PER_PAGE)
    }

    /// Whether a session that the index holds, or will hold, is asked for.
    fn wants(&self, row: &IndexRow) -> bool {
        let session = &row.session;
        let archived = match self.archived {
            Archived::No => !session.archived,
            Archived::Only => session.archived,
            Archived::Also => true,
        };
        archived
            && self.project.as_ref().is_none_or(|wanted| *wanted == row.project)
            && (self.states.is_empty() || self.states.contains(&session.state))
            && self.title.as_ref().is_none_or(|words| words.are_in(&session.title))
    }

    /// The conditions of it that SQL knows. The words are this module's own.
    fn condition(&self) -> String {
        let mut sql = String::from(if self.project.is_some() { "project = ?1" } else { "?1 IS NULL" });
        match self.archived {
            Archived::No => sql.push_str(" AND archived = 0"),
            Archived::Only => sql.push_str(" AND archived <> 0"),
            Archived::Also => {}
        }
        if !self.states.is_empty() {
            let words: Vec<String> = self.states.iter().map(|state| format!("'{}'", state_word(*state))).collect();
            sql.push_str(" AND state IN (");
            sql.push_str(&words.join(", "));
            sql.push(')');
        }
        sql
    }
}

impl Stores {
    /// A session's title as the index has it; empty without one.
    pub async fn title(&self, id: &SessionId) -> Result<String, StoreError> {
        self.flush().await;
        let id = id.clone();
        self.read(move |sql| {
            let found = sql
                .connection
                .prepare_cached("SELECT title FROM session_index WHERE id = ?1")
                .and_then(|mut statement| statement.query_row([id.as_str()], |row| row.get(0)).optional());
            found.map(Option::unwrap_or_default).map_err(|source| sql.error(source))
        })
        .await
    }
}

impl UserSql<'_> {
    /// One page, the session that changed last first. A session that changes between
    /// two pages moves to the front; of all others none is given twice or left out.
    pub(super) fn list(&self, filter: &ListFilter) -> Result<ListPage, StoreError> {
        let limit = filter.limit();
        let before = filter.cursor.unwrap_or(i64::MAX);
        let project = filter.project.as_ref().map(ProjectKey::as_str);
        let condition = filter.condition();
        let sql = format!("SELECT {INDEX} FROM session_index WHERE {condition} AND rank < ?2 ORDER BY rank DESC");
        let sqlite = |source| self.error(source);
        let mut statement = self.connection.prepare_cached(&sql).map_err(sqlite)?;
        let mut rows = statement.query(params![project, before]).map_err(sqlite)?;
        let (mut found, mut more): (Vec<(i64, IndexRow)>, bool) = (Vec::new(), false);
        while let Some(row) = rows.next().map_err(sqlite)? {
            // The title first: of a row that is not asked for nothing else is read.
            let title = row.get_ref(4).and_then(|title| Ok(title.as_str()?)).map_err(sqlite)?;
            if filter.title.as_ref().is_some_and(|words| !words.are_in(title)) {
                continue;
            }
            if found.len() == limit {
                more = true;
                break;
            }
            found.extend(index_row(row).map_err(sqlite)?);
        }
        let next = if more { found.last().map(|(rank, _)| *rank) } else { None };
        let mut roots = Roots::default();
        let sessions = found.into_iter().map(|(_, row)| roots.session(self, row)).collect::<Result<_, _>>()?;
        Ok(ListPage { sessions, next })
    }

    /// A page with changes that are not in the file: they are the newest, so they stand on the first page.
    pub(super) fn with_unwritten(
        &self,
        mut page: ListPage,
        filter: &ListFilter,
        changes: Vec<(SessionId, Change)>,
    ) -> Result<ListPage, StoreError> {
        page.sessions.retain(|found| !changes.iter().any(|(id, _)| *id == found.session.id));
        if filter.cursor.is_some() {
            return Ok(page);
        }
        let mut roots = Roots::default();
        let mut sessions = Vec::new();
        for (_, change) in changes.into_iter().rev() {
            let Change::Put(row) = change else { continue };
            if filter.wants(&row) {
                let session = IndexRow::shown(row.session);
                sessions.push(roots.session(self, IndexRow { session, project: row.project, sid: row.sid })?);
            }
        }
        sessions.append(&mut page.sessions);
        sessions.truncate(filter.limit());
        Ok(ListPage { sessions, next: page.next })
    }

    /// Sessions by their ids, which begin with the time at which they were made: those before `before`, the last first. This
    /// order does not change while sessions do.
    pub(super) fn by_id(
        &self,
        before: Option<&SessionId>,
        project: Option<&ProjectKey>,
        limit: usize,
    ) -> Result<Vec<(SessionId, ProjectKey, String)>, StoreError> {
        let narrow = if project.is_some() { "project = ?1" } else { "?1 IS NULL" };
        let range = if before.is_some() { "id < ?2" } else { "?2 IS NULL" };
        let sql = format!(
            "SELECT id, project, title FROM session_index WHERE {narrow} AND {range} ORDER BY id DESC LIMIT ?3"
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(|source| self.error(source))?;
        let values = params![project.map(ProjectKey::as_str), before.map(SessionId::as_str), limit as i64];
        let rows = statement.query_map(values, |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
        });
        let rows: Result<Vec<_>, _> = rows.and_then(Iterator::collect);
        let rows = rows.map_err(|source| self.error(source))?;
        // Ids that are none come of damage only.
        Ok(rows.into_iter().filter_map(|(id, key, title)| Some((id.parse().ok()?, key.parse().ok()?, title))).collect())
    }
}

/// The roots of the projects on a page, each looked up once.
#[derive(Default)]
struct Roots(HashMap<ProjectKey, Vec<PathBuf>>);

impl Roots {
    fn session(&mut self, sql: &UserSql<'_>, row: IndexRow) -> Result<IndexedSession, StoreError> {
        let roots = if let Some(roots) = self.0.get(&row.project) {
            roots.clone()
        } else {
            let project = sql.project_by("key", row.project.as_str())?;
            let roots = project.map(|project| project.roots).unwrap_or_default();
            self.0.entry(row.project.clone()).or_insert(roots).clone()
        };
        Ok(IndexedSession { project: row.project, roots, session: row.session })
    }
}
