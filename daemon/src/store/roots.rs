//! The roots of a project that is opened: a client that names some leaves the others, and a root that comes later is not trusted
//! because the project was.

use super::StoreError;
use super::index::UserSql;
use super::record::ProjectRecord;
use rusqlite::params;
use std::path::{Path, PathBuf};

impl ProjectRecord {
    /// Whether it stands on all of these.
    pub(super) fn has(&self, roots: &[PathBuf]) -> bool {
        roots.iter().all(|root| self.roots.contains(root))
    }
}

/// Whether a root is none of these and lies in none: what was decided of these was not decided of it.
pub(super) fn is_new(root: &Path, known: &[PathBuf]) -> bool {
    !known.iter().any(|known| root.starts_with(known))
}

impl UserSql<'_> {
    /// The project of this first root, made when there is none. It keeps its roots, and gets those of `asked` that it does not
    /// have behind them; it is trusted no longer when one of these lies outside all that it had.
    pub(super) fn open_with(&self, asked: &ProjectRecord) -> Result<ProjectRecord, StoreError> {
        let (first, roots) = self.stored_roots(&asked.roots)?;
        let Some(mut known) = self.project_by("root", &first)? else {
            // Roots that cannot be read, which only damage can do, are made anew.
            self.execute(
                "INSERT INTO project (key, root, roots, created_at) VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT (root) DO UPDATE SET roots = ?3, trusted = 0",
                params![asked.key.as_str(), first, roots, asked.created_at.0],
            )?;
            return self.project_by("root", &first)?.ok_or_else(|| StoreError::NotFound { what: "project", id: first });
        };
        let stays = !asked.roots.iter().any(|root| is_new(root, &known.roots));
        for root in &asked.roots {
            if !known.roots.contains(root) {
                known.roots.push(root.clone());
            }
        }
        let (_, roots) = self.stored_roots(&known.roots)?;
        let values = params![known.key.as_str(), roots, stays];
        self.execute("UPDATE project SET roots = ?2, trusted = (trusted AND ?3) WHERE key = ?1", values)?;
        Ok(known)
    }
}
