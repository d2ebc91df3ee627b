//! What a user decided for a project beside its sessions, in `user.db`: trust, and what is allowed for good. It knows rules
//! as texts; what they mean is decided elsewhere.

use super::StoreError;
use super::index::{UserSql, UserWrite};
use super::read::number;
use super::stores::Stores;
use plimsoll_core::id::{CallId, ProjectKey, SessionId};
use plimsoll_core::time::Timestamp;
use rusqlite::{OptionalExtension as _, Row, params};

/// Something that is allowed in a project until it is revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastingGrant {
    /// Its number, which no other grant of this user ever has.
    pub no: u64,
    /// The rule in its text form.
    pub rule: String,
    /// When the user allowed it.
    pub at: Timestamp,
    /// The session in which it was asked.
    pub session: SessionId,
    /// The call about which it was asked.
    pub call: CallId,
}

/// What is written.
pub(super) enum GrantWrite {
    /// Keeps these rules; those that are kept already stay as they are.
    Keep { project: ProjectKey, rules: Vec<String>, at: Timestamp, session: SessionId, call: CallId },
    /// Forgets one. An unknown number is no error.
    Forget { project: ProjectKey, no: u64 },
    /// Whether the project is trusted.
    Trust { project: ProjectKey, trusted: bool },
}

impl UserSql<'_> {
    pub(super) fn grant_write(&self, write: &GrantWrite) -> Result<(), StoreError> {
        match write {
            GrantWrite::Keep { project, rules, at, session, call } => {
                for rule in rules {
                    self.execute(
                        "INSERT INTO lasting_grant (project, rule, at, session, call) VALUES (?1, ?2, ?3, ?4, ?5) \
                         ON CONFLICT (project, rule) DO NOTHING",
                        params![
                            project.as_str(),
                            rule,
                            at.0,
                            session.as_str(),
                            i64::try_from(call.0).unwrap_or(i64::MAX)
                        ],
                    )?;
                }
                Ok(())
            }
            GrantWrite::Forget { project, no } => self.execute(
                "DELETE FROM lasting_grant WHERE project = ?1 AND no = ?2",
                params![project.as_str(), i64::try_from(*no).unwrap_or(i64::MAX)],
            ),
            GrantWrite::Trust { project, trusted } => {
                self.execute("UPDATE project SET trusted = ?2 WHERE key = ?1", params![project.as_str(), trusted])
            }
        }
    }

    fn grants(&self, project: &ProjectKey) -> Result<Vec<LastingGrant>, StoreError> {
        let sql = "SELECT no, rule, at, session, call FROM lasting_grant WHERE project = ?1 ORDER BY no";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            statement.query_map([project.as_str()], grant_row).and_then(Iterator::collect::<Result<Vec<_>, _>>)
        });
        Ok(found.map_err(|source| StoreError::sqlite(self.path, source))?.into_iter().flatten().collect())
    }

    fn trusted(&self, project: &ProjectKey) -> Result<bool, StoreError> {
        let sql = "SELECT trusted FROM project WHERE key = ?1";
        let found: rusqlite::Result<Option<bool>> = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row([project.as_str()], |row| row.get(0)).optional());
        Ok(found.map_err(|source| StoreError::sqlite(self.path, source))?.unwrap_or_default())
    }
}

/// A grant; none when its session is no id, which only damage can do.
fn grant_row(row: &Row<'_>) -> rusqlite::Result<Option<LastingGrant>> {
    let session: String = row.get(3)?;
    let Ok(session) = session.parse() else { return Ok(None) };
    Ok(Some(LastingGrant {
        no: number(row, 0)?,
        rule: row.get(1)?,
        at: Timestamp(row.get(2)?),
        session,
        call: CallId(number(row, 4)?),
    }))
}

impl Stores {
    /// What is allowed in a project until it is revoked, oldest first.
    pub async fn lasting_grants(&self, project: &ProjectKey) -> Result<Vec<LastingGrant>, StoreError> {
        let project = project.clone();
        self.read(move |sql| sql.grants(&project)).await
    }

    /// Keeps rules for a project, allowed by the answer to the question about this call. Those that are kept already stay
    /// as they are.
    pub async fn keep_grants(
        &self,
        project: &ProjectKey,
        rules: Vec<String>,
        at: Timestamp,
        session: &SessionId,
        call: CallId,
    ) -> Result<(), StoreError> {
        let keep = GrantWrite::Keep { project: project.clone(), rules, at, session: session.clone(), call };
        self.write(UserWrite::Grant(keep)).await
    }

    /// Forgets a grant of a project. An unknown number is no error.
    pub async fn forget_grant(&self, project: &ProjectKey, no: u64) -> Result<(), StoreError> {
        self.write(UserWrite::Grant(GrantWrite::Forget { project: project.clone(), no })).await
    }

    /// Whether the user trusts a project; one that is not known is not trusted.
    pub async fn is_trusted(&self, project: &ProjectKey) -> Result<bool, StoreError> {
        let project = project.clone();
        self.read(move |sql| sql.trusted(&project)).await
    }

    /// Notes whether the user trusts a project.
    pub async fn set_trusted(&self, project: &ProjectKey, trusted: bool) -> Result<(), StoreError> {
        self.write(UserWrite::Grant(GrantWrite::Trust { project: project.clone(), trusted })).await
    }
}
