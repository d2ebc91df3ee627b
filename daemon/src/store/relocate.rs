//! A project whose folders are elsewhere now: its roots are replaced, everything else of it stays.

use super::index::{self, UserSql, UserWrite};
use super::record::ProjectRecord;
use super::roots::is_new;
use super::stores::{canonical, project_folder};
use super::{ProjectStore, StoreError, Stores, private};
use plimsoll_core::id::ProjectKey;
use rusqlite::params;
use std::path::PathBuf;

/// What the writer of `user.db` does, in one transaction.
pub(super) struct Relocation {
    /// The project as it will be.
    pub(super) project: ProjectRecord,
    /// A project without content that had this first root; it goes.
    pub(super) instead_of: Option<ProjectKey>,
    /// Whether it is as trusted as before.
    pub(super) stays: bool,
}

impl UserSql<'_> {
    pub(super) fn relocate(&self, relocation: &Relocation) -> Result<ProjectRecord, StoreError> {
        let project = &relocation.project;
        if let Some(empty) = &relocation.instead_of {
            self.execute("DELETE FROM project WHERE key = ?1", [empty.as_str()])?;
        }
        let (first, roots) = self.stored_roots(&project.roots)?;
        let values = params![project.key.as_str(), first, roots, relocation.stays];
        let sql = "UPDATE project SET root = ?2, roots = ?3, trusted = (trusted AND ?4) WHERE key = ?1";
        self.execute(sql, values)?;
        Ok(project.clone())
    }
}

impl Stores {
    /// Gives a project other roots, the first of which names it. What the user trusted has moved; where more come than go, one of them was never trusted,
    /// and the project is no longer. Refused where they name another project that holds
    /// anything; one that holds nothing gives way, as it was made by somebody who only looked.
    pub async fn relocate(&self, key: &ProjectKey, roots: &[PathBuf]) -> Result<ProjectRecord, StoreError> {
        let asked = roots.to_vec();
        let task = tokio::task::spawn_blocking(move || canonical(asked));
        let roots = task.await.unwrap_or_else(|_| Err(StoreError::closed(self.data())))?;
        let known = self.project(key).await?;
        if known.roots == roots {
            return Ok(known);
        }
        let come = roots.iter().filter(|root| is_new(root, &known.roots)).count();
        let go = known.roots.iter().filter(|root| !roots.contains(root)).count();
        let stays = come <= go;
        let project = ProjectRecord { roots, ..known };
        let first = project.roots.first().cloned().unwrap_or_default();
        let text = index::root_text(&first);
        let there = self.read(move |sql| sql.project_by("root", &text)).await?;
        let instead_of = there.map(|there| there.key).filter(|there| there != key);
        if let Some(other) = &instead_of {
            self.give_way(other, &first).await?;
        }
        let (project_then, gives_way) = (project.clone(), instead_of.clone());
        self.write(UserWrite::Relocate(Relocation { project: project_then, instead_of: gives_way, stays })).await?;
        self.note_roots(&project).await;
        if let Some(empty) = instead_of {
            // Left behind it would be an empty folder that no list names.
            let folder = project_folder(self.data(), &empty);
            let removed = tokio::task::spawn_blocking(move || private::remove(&folder)).await;
            if let Ok(Err(error)) = removed {
                tracing::warn!(project = %empty, %error, "the folder of a project without content stays");
            }
        }
        Ok(project)
    }

    /// Closes a project that holds nothing; an error when it holds something, or is in use.
    async fn give_way(&self, other: &ProjectKey, root: &std::path::Path) -> Result<(), StoreError> {
        let taken = || StoreError::RootTaken { path: root.to_owned(), project: other.to_string() };
        let memories = self.open_project(other).await?.memories().await?;
        let grants = self.lasting_grants(other).await?;
        let wanted = other.clone();
        let sessions = self.read(move |sql| sql.by_id(None, Some(&wanted), 1)).await?;
        if !memories.is_empty() || !grants.is_empty() || !sessions.is_empty() {
            return Err(taken());
        }
        let store = self.take_out(other).ok_or_else(taken)?;
        let made_meanwhile = store.has_sessions().await?;
        store.close().await;
        if made_meanwhile { Err(taken()) } else { Ok(()) }
    }

    /// Tells an open store of a project its new roots. Not needed to go on: it is told them again whenever it is opened.
    pub(super) async fn note_roots(&self, project: &ProjectRecord) {
        if let Some(store) = self.already_open(&project.key) {
            store.set_record(project.clone());
            if let Err(error) = store.describe().await {
                tracing::warn!(project = %project.key, %error, "the project's own database has its old roots");
            }
        }
    }
}

impl ProjectStore {
    /// Whether there is any session, as the project's own database says.
    async fn has_sessions(&self) -> Result<bool, StoreError> {
        let found = |connection: &rusqlite::Connection, path: &std::path::Path| {
            let found = connection.query_row("SELECT EXISTS (SELECT 1 FROM session)", [], |row| row.get(0));
            found.map_err(|source| StoreError::sqlite(path, source))
        };
        self.read_all(found).await
    }
}
