//! The folders that a project stands on. They can become others while it is open: when a client opens it with more roots,
//! and when it was moved. A turn keeps those with which it began.

use super::setup::Project;
use crate::store::StoreError;
use crate::workspace::{Waits, Workspace};
use plimsoll_core::id::Revision;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

/// See the module's head.
pub(super) struct Ground(RwLock<(Arc<[PathBuf]>, Workspace)>);

impl Ground {
    /// The folders of these roots. Must be called inside the runtime.
    pub(super) fn open(roots: Vec<PathBuf>, revision: Revision) -> Self {
        Self(RwLock::new((roots.clone().into(), Workspace::open(roots, revision, Waits::default()))))
    }

    /// The roots, and what is known of them.
    pub(super) fn now(&self) -> (Arc<[PathBuf]>, Workspace) {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes other roots from now on. The revision goes on.
    fn replace(&self, roots: &[PathBuf]) {
        let mut ground = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if *ground.0 != *roots {
            let workspace = Workspace::open(roots.to_vec(), ground.1.revision(), Waits::default());
            *ground = (roots.into(), workspace);
        }
    }
}

impl Project {
    /// Its canonical roots; the first names it.
    pub(super) fn roots(&self) -> Arc<[PathBuf]> {
        self.ground.now().0
    }

    /// Its folders as values.
    pub(super) fn workspace(&self) -> Workspace {
        self.ground.now().1
    }

    /// Stands on these roots from its next turns on, which know by then whether they are trusted.
    pub(super) async fn stand_on(&self, roots: &[PathBuf]) -> Result<(), StoreError> {
        if *self.roots() != *roots {
            self.lasting.roots_changed().await?;
            self.ground.replace(roots);
        }
        Ok(())
    }
}
