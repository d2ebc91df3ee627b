//! What submodules say: asked of libgit2, and asked again only when something below their folder or in their repository
//! moved.

use super::native::Watched;
use git2::{Oid, Repository, SubmoduleIgnore, SubmoduleStatus};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Answers by path.
#[derive(Debug, Default)]
pub struct Submodules {
    known: HashMap<Box<[u8]>, Known>,
}

#[derive(Debug)]
struct Known {
    oid: [u8; 20],
    files: Vec<Watched>,
    code: Option<char>,
}

impl Submodules {
    /// `M` for another commit than the index has, `m` for changed content, none when clean. `touched` says that something
    /// below its folder changed.
    pub fn code(
        &mut self,
        repository: &Repository,
        work: &Path,
        path: &[u8],
        oid: [u8; 20],
        touched: bool,
    ) -> Option<char> {
        if let Some(known) = self.known.get_mut(path) {
            let moved = known.files.iter_mut().filter_map(|file| file.moved().then_some(())).count() > 0;
            if !touched && !moved && known.oid == oid {
                return known.code;
            }
        }
        let dir = work.join(OsStr::from_bytes(path));
        let mut files = Vec::new();
        if let Ok(inner) = Repository::open(&dir) {
            let names = ["index", "HEAD", "logs/HEAD"];
            files.extend(names.map(|name| Watched::new(inner.path().join(name))));
        } else {
            files.push(Watched::new(dir.join(".git")));
        }
        // Looked at before the answer, so that what changes meanwhile is seen at the next look.
        for file in &mut files {
            file.moved();
        }
        let code = ask(repository, &dir, path, oid);
        self.known.insert(path.into(), Known { oid, files, code });
        code
    }

    /// Forgets those that are no submodules any more.
    pub fn keep(&mut self, is_there: impl Fn(&[u8]) -> bool) {
        self.known.retain(|path, _| is_there(path));
    }
}

fn ask(repository: &Repository, dir: &Path, path: &[u8], oid: [u8; 20]) -> Option<char> {
    let status = std::str::from_utf8(path).ok().and_then(|name| {
        let flags = repository.submodule_status(name, SubmoduleIgnore::None).ok()?;
        let content =
            SubmoduleStatus::WD_INDEX_MODIFIED | SubmoduleStatus::WD_WD_MODIFIED | SubmoduleStatus::WD_UNTRACKED;
        if flags.contains(SubmoduleStatus::WD_UNINITIALIZED) {
            Some(None)
        } else if flags.contains(SubmoduleStatus::WD_MODIFIED) {
            Some(Some('M'))
        } else {
            Some(flags.intersects(content).then_some('m'))
        }
    });
    // A link to a commit that no `.gitmodules` names: only its commit can be compared.
    status.unwrap_or_else(|| {
        let inner = Repository::open(dir).ok()?;
        let head = inner.head().ok()?.target()?;
        (Some(head) != Oid::from_bytes(&oid).ok()).then_some('M')
    })
}
