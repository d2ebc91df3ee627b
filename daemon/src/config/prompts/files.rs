//! Texts that stand in the place of built-in ones: files below the administrator's, the user's and a trusted project's
//! `prompts/`, at the paths that the built-in ones have.
//!
//! The first place that has a text decides about it. One that cannot be used is a warning, and the built-in text stays.

use super::super::folders::Folders;
use super::super::nearest::nearest;
use super::super::raw::read_text;
use plimsoll_core::ingest::{self, Source};
use plimsoll_core::tool::spec;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Folders of folders that are looked into: built-in texts lie two deep.
const MOST_DEEP: usize = 4;
/// Entries of a folder that are looked at; there are far fewer texts.
const MOST_ENTRIES: usize = 1_000;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnTexts {
    /// Contents by the paths of the texts for which they stand.
    pub texts: Arc<BTreeMap<String, String>>,
    /// Where they stand, by the same paths.
    pub files: BTreeMap<String, PathBuf>,
    /// What is wrong, each with what to do behind the first semicolon.
    pub warnings: Vec<String>,
}

/// Finds texts, and remembers the contents of files that have not changed since.
#[derive(Debug, Default)]
pub struct TextFiles {
    known: Mutex<HashMap<PathBuf, Known>>,
}

#[derive(Debug, Clone)]
struct Known {
    stamp: Stamp,
    content: Result<String, String>,
}

/// Differs when a file is another, or has another content.
type Stamp = (u64, u64, u64, [i64; 4]);

fn stamp(meta: &Metadata) -> Stamp {
    (meta.dev(), meta.ino(), meta.len(), [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()])
}

impl TextFiles {
    /// The texts that count now, for a model with this window. `project` is the root of a project whose own texts count. Looks
    /// at each file, and reads those that are new.
    pub fn find(&self, folders: &Folders, project: Option<&Path>, window: u64) -> OwnTexts {
        let managed = folders.managed.parent().map(|folder| folder.join("prompts"));
        let places =
            [managed, Some(folders.config.join("prompts")), project.map(|root| root.join(".plimsoll/prompts"))];
        let mut found = OwnTexts::default();
        let mut decided = BTreeMap::new();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = HashMap::new();
        for place in places.into_iter().flatten() {
            let mut files = Vec::new();
            list(&place, "", 0, &mut files, &mut found.warnings);
            for (path, file) in files {
                let Some(text) = spec::text(&path) else {
                    found.warnings.push(no_text(&file, &path));
                    continue;
                };
                if decided.contains_key(&path) {
                    continue;
                }
                let now = read(&file, known.get(&file));
                let own = match &now.content {
                    Ok(content) => match text.flaw(content, window) {
                        None => Some(content.clone()),
                        Some(flaw) => {
                            found.warnings.push(unused(&file, &flaw.problem, &flaw.fix));
                            None
                        }
                    },
                    Err(problem) => {
                        found.warnings.push(unused(&file, problem, "make it a readable text file, or remove it"));
                        None
                    }
                };
                if own.is_some() {
                    found.files.insert(path.clone(), file.clone());
                }
                decided.insert(path, own);
                seen.insert(file, now);
            }
        }
        // Other projects of this daemon have texts too, but each has its own finder.
        *known = seen;
        found.texts = Arc::new(decided.into_iter().filter_map(|(path, own)| Some((path, own?))).collect());
        found
    }
}

fn unused(file: &Path, problem: &str, fix: &str) -> String {
    format!("{}: {problem}, so the built-in text is used; {fix}", file.display())
}

fn no_text(file: &Path, path: &str) -> String {
    let paths: Vec<&str> = spec::texts().map(|text| text.path).collect();
    let fix = match nearest(path, &paths) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "give it the path of a built-in text, such as `lean/system.md`, or remove it".to_owned(),
    };
    format!("{}: there is no text `{path}`, ignored; {fix}", file.display())
}

/// The files below a folder, with their paths from its top; hidden ones are left out. No folder, no files.
fn list(folder: &Path, path: &str, deep: usize, files: &mut Vec<(String, PathBuf)>, warnings: &mut Vec<String>) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return,
        Err(error) => {
            warnings.push(format!("{}: cannot be read: {error}; make it readable, or remove it", folder.display()));
            return;
        }
    };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).take(MOST_ENTRIES).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let path = if path.is_empty() { name } else { format!("{path}/{name}") };
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files.push((path, entry.path()));
        } else if deep < MOST_DEEP {
            list(&entry.path(), &path, deep + 1, files, warnings);
        }
    }
}

/// What a file says, read again when it is another than before. Text from outside, so through the seam for it.
fn read(file: &Path, before: Option<&Known>) -> Known {
    let stamp = fs::metadata(file).map(|meta| stamp(&meta)).unwrap_or_default();
    if let Some(before) = before.filter(|before| before.stamp == stamp) {
        return before.clone();
    }
    let content = match read_text(file) {
        Ok(Some(content)) => Ok(ingest::string(Source::File, content.text)),
        Ok(None) => Err("is not there".to_owned()),
        Err(error) => Err(error.problem),
    };
    Known { stamp, content }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        folders: Folders,
        files: TextFiles,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            let folders =
                Folders { config: at("config"), data: at("d"), runtime: at("r"), managed: at("managed/config.toml") };
            Self { folder, folders, files: TextFiles::default() }
        }

        fn write(&self, path: &str, content: &str) {
            let file = self.folder.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }

        /// Texts and warnings; paths in them from the folder of this place.
        fn find(&self, project: bool, window: u64) -> (Vec<(String, String)>, Vec<String>) {
            let root = self.folder.path().join("project");
            let found = self.files.find(&self.folders, project.then_some(root.as_path()), window);
            let texts = found.texts.iter().map(|(path, text)| (path.clone(), text.clone())).collect();
            let place = format!("{}/", self.folder.path().display());
            (texts, found.warnings.iter().map(|warning| warning.replace(&place, "")).collect())
        }
    }

    const TONE: &str = "full/tone.md";

    #[test]
    fn the_first_place_that_has_a_text_decides_and_a_project_only_when_it_counts() {
        let place = Place::new();
        assert_eq!(place.find(true, 100_000), (vec![], vec![]));
        place.write("project/.plimsoll/prompts/full/tone.md", "project\n");
        assert_eq!(place.find(false, 100_000), (vec![], vec![]));
        let tone = |text: &str| (vec![(TONE.to_owned(), text.to_owned())], vec![]);
        assert_eq!(place.find(true, 100_000), tone("project\n"));
        place.write("config/prompts/full/tone.md", "user\n");
        assert_eq!(place.find(true, 100_000), tone("user\n"));
        place.write("managed/prompts/full/tone.md", "managed\n");
        assert_eq!(place.find(true, 100_000), tone("managed\n"));
        place.write("managed/prompts/full/tone.md", "changed\n");
        assert_eq!(place.find(true, 100_000), tone("changed\n"));
        fs::remove_file(place.folder.path().join("managed/prompts/full/tone.md")).unwrap();
        assert_eq!(place.find(true, 100_000), tone("user\n"));
        // Descriptions of tools are texts like others.
        place.write("config/prompts/tools/grep/lean.md", "Find.\n");
        assert_eq!(place.find(false, 100_000).0.len(), 2);
    }

    #[test]
    fn what_cannot_be_used_is_one_warning_and_the_built_in_text_stays() {
        for (path, content, window, expected) in [
            (TONE, " \n", 100_000, "is empty, so the built-in text is used; write the text, or remove the file"),
            (
                "lean/system.md",
                "Be good.\n",
                100_000,
                "has no placeholder {{identity}}, so the built-in text is used; put it where its value belongs",
            ),
            (
                TONE,
                "{{mood}}\n",
                100_000,
                "has the placeholder {{mood}}, which is not known here, so the built-in text is used; this text has none",
            ),
            (
                TONE,
                "12345678 12345678 12345678 12345678 \n",
                50,
                "has 37 bytes, about SIZE tokens, and 5 fit the model's window, so the built-in text is used; shorten it, or \
                 use a model with a larger window",
            ),
            ("full/tune.md", "x\n", 100_000, "there is no text `full/tune.md`, ignored; did you mean `full/tone.md`?"),
            (
                "tools/grep/schema.json",
                "{}\n",
                100_000,
                "there is no text `tools/grep/schema.json`, ignored; give it the path of a built-in text, such as \
                 `lean/system.md`, or remove it",
            ),
        ] {
            let place = Place::new();
            place.write(&format!("config/prompts/{path}"), content);
            let size = plimsoll_core::tokens::tokens(content).to_string();
            let expected = format!("config/prompts/{path}: {}", expected.replace("SIZE", &size));
            assert_eq!(place.find(false, window), (vec![], vec![expected]));
        }
        let place = Place::new();
        fs::create_dir_all(place.folder.path().join("config/prompts/full")).unwrap();
        fs::write(place.folder.path().join("config/prompts/full/tone.md"), b"\xff").unwrap();
        // A broken text decides all the same: that of the project would be a surprise.
        place.write("project/.plimsoll/prompts/full/tone.md", "project\n");
        place.write("config/prompts/.hidden", "x");
        let (texts, warnings) = place.find(true, 100_000);
        let expected = "config/prompts/full/tone.md: is not UTF-8, so the built-in text is used; make it a readable text \
                        file, or remove it";
        assert_eq!((texts, warnings), (vec![], vec![expected.to_owned()]));
    }
}
