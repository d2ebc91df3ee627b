//! A patch's text into files and hunks. Counts in hunk heads only help where a line could be read in two ways.

use super::error::{PatchError, PatchErrorKind};
use super::{FilePatch, Hunk, HunkLine, LineKind, path};

/// Reads a unified diff of one or more files. What mail and git put between is passed over; what asks for more than
/// changed lines (renames, modes, binary content) is refused.
pub fn parse(text: &str) -> Result<Vec<FilePatch>, PatchError> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let mut reader = Reader { lines, at: 0 };
    let mut files: Vec<FilePatch> = Vec::new();
    while let Some(line) = reader.peek(0) {
        if reader.file_head() {
            let file = reader.file()?;
            if files.iter().any(|known| known.path() == file.path()) {
                return Err(PatchError::of_file(file.path(), PatchErrorKind::Twice));
            }
            files.push(file);
            continue;
        }
        if let Some(what) = unsupported(line) {
            return Err(PatchError::of_patch(PatchErrorKind::Unsupported(what)));
        }
        if line.starts_with("@@") {
            return Err(reader.form("begins a hunk before any file is named by `---` and `+++`."));
        }
        if line.starts_with("--- ") {
            return Err(reader.form("is a `---` line; a `+++` line must follow it."));
        }
        reader.at += 1;
    }
    if files.is_empty() {
        return Err(PatchError::of_patch(PatchErrorKind::NoFiles));
    }
    Ok(files)
}

/// Lines between files that ask for what cannot be done.
fn unsupported(line: &str) -> Option<&'static str> {
    let begins = |starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
    if begins(&["rename from ", "rename to ", "copy from ", "copy to "]) {
        return Some(
            "the patch renames or copies a file, which cannot be done here. Write the new file and delete the old one.",
        );
    }
    if begins(&["old mode ", "new mode "]) || line == "new file mode 100755" || line == "new file mode 120000" {
        return Some("the patch sets a file's mode, which cannot be done here. Use a command for it.");
    }
    if begins(&["GIT binary patch", "Binary files "]) {
        return Some("the patch changes a binary file, which cannot be done here.");
    }
    if begins(&["*** Begin Patch", "*** Update File:", "*** Add File:"]) {
        return Some(
            "this is not a unified diff. Name files by `--- a/path` and `+++ b/path`, and begin hunks with `@@`.",
        );
    }
    None
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> Option<&'a str> {
        self.lines.get(self.at + ahead).copied()
    }

    fn starts(&self, ahead: usize, start: &str) -> bool {
        self.peek(ahead).is_some_and(|line| line.starts_with(start))
    }

    fn form(&self, what: impl Into<String>) -> PatchError {
        PatchError::of_patch(PatchErrorKind::Form { line: self.at + 1, what: what.into() })
    }

    /// Whether the two lines that name a file stand here.
    fn file_head(&self) -> bool {
        self.starts(0, "--- ") && self.starts(1, "+++ ")
    }

    fn file(&mut self) -> Result<FilePatch, PatchError> {
        let head = |line: Option<&'a str>| line.and_then(|line| line.get(4..)).unwrap_or_default();
        let (old, new) = path::pair(head(self.peek(0)), head(self.peek(1)));
        let (old_name, new_name) = (old.as_deref().unwrap_or("x"), new.as_deref().unwrap_or("x"));
        if old_name.is_empty() || new_name.is_empty() {
            return Err(self.form("names no path."));
        }
        if old.is_none() && new.is_none() {
            return Err(self.form("and the next both name /dev/null: no file is left to change."));
        }
        if let (Some(old), Some(new)) = (&old, &new)
            && old != new
        {
            let text =
                "the patch renames the file, which cannot be done here. Write the new file and delete the old one.";
            return Err(PatchError::of_file(old, PatchErrorKind::Unsupported(text)));
        }
        self.at += 2;
        let mut file = FilePatch { old, new, hunks: Vec::new() };
        while self.starts(0, "@@") {
            let hunk = self.hunk(file.path(), file.hunks.len() + 1)?;
            file.hunks.push(hunk);
        }
        if file.hunks.is_empty() && file.old.is_some() && file.new.is_some() {
            return Err(PatchError::of_file(file.path(), PatchErrorKind::NoChange));
        }
        Ok(file)
    }

    fn hunk(&mut self, file: &str, no: usize) -> Result<Hunk, PatchError> {
        let head = Head::read(self.peek(0).unwrap_or_default());
        self.at += 1;
        let mut hunk =
            Hunk { old_start: head.old_start, lines: Vec::new(), old_ends_open: false, new_ends_open: false };
        // Empty lines at the end of what was read, which may or may not belong to it.
        let mut empty = 0_usize;
        let (mut old, mut new) = (0_u64, 0_u64);
        while let Some(line) = self.peek(0) {
            let done = head.counts.is_some_and(|counts| counts == (old, new));
            if self.ends_hunk(line, done, head.counts, old, new) {
                break;
            }
            let (kind, text) = match line.split_at_checked(1) {
                None | Some(("", _)) => (LineKind::Context, ""),
                Some((" ", text)) => (LineKind::Context, text),
                Some(("-", text)) => (LineKind::Removed, text),
                Some(("+", text)) => (LineKind::Added, text),
                Some(("\\", _)) => {
                    match hunk.lines.last().map(|line| line.kind) {
                        Some(LineKind::Context) => (hunk.old_ends_open, hunk.new_ends_open) = (true, true),
                        Some(LineKind::Removed) => hunk.old_ends_open = true,
                        Some(LineKind::Added) => hunk.new_ends_open = true,
                        None => {}
                    }
                    self.at += 1;
                    continue;
                }
                Some(_) if done => break,
                Some(_) => {
                    let what = "begins with none of ` `, `-`, `+`, one of which every line of a hunk must have before its \
                                text.";
                    let kind = PatchErrorKind::Form { line: self.at + 1, what: what.to_owned() };
                    return Err(PatchError::of_hunk(file, no, kind));
                }
            };
            empty = if line.is_empty() { empty + 1 } else { 0 };
            old += u64::from(kind != LineKind::Added);
            new += u64::from(kind != LineKind::Removed);
            hunk.lines.push(HunkLine { kind, text: text.to_owned() });
            self.at += 1;
        }
        // They belong to it as far as the counts ask for them.
        let counted = |kept: usize| head.counts == Some((old - (empty - kept) as u64, new - (empty - kept) as u64));
        let kept = (0..=empty).find(|kept| counted(*kept)).unwrap_or_default();
        hunk.lines.truncate(hunk.lines.len() - (empty - kept));
        if hunk.lines.is_empty() {
            let what = "is followed by no line of its hunk.".to_owned();
            return Err(PatchError::of_hunk(file, no, PatchErrorKind::Form { line: self.at, what }));
        }
        Ok(hunk)
    }

    /// Whether a hunk that has `old` and `new` lines ends before this line.
    fn ends_hunk(&self, line: &str, done: bool, counts: Option<(u64, u64)>, old: u64, new: u64) -> bool {
        if line.starts_with("@@") || line.starts_with("diff --git ") || line.starts_with("```") {
            return true;
        }
        // The end of a mail, or of a text that has lost its last line end.
        if done && (line == "-- " || line == "--") {
            return true;
        }
        if !self.file_head() {
            return false;
        }
        // Two lines that begin with `--` and `++` may be content: then the counts end exactly with them, or go on.
        let (more_old, more_new) =
            counts.map_or((0, 0), |(olds, news)| (olds.saturating_sub(old), news.saturating_sub(new)));
        let names_hunk = self.starts(2, "@@");
        !(more_old > 0 && more_new > 0 && (!names_hunk || (more_old, more_new) == (1, 1)))
    }
}

/// The head of a hunk, as far as it says something.
struct Head {
    old_start: Option<u64>,
    counts: Option<(u64, u64)>,
}

impl Head {
    fn read(line: &str) -> Self {
        let inside = line.trim_start_matches('@');
        let inside = inside.split("@@").next().unwrap_or_default();
        let range = |sign: char| {
            let word = inside.split_whitespace().find_map(|word| word.strip_prefix(sign))?;
            let (first, count) = word.split_once(',').unwrap_or((word, "1"));
            Some((first.parse::<u64>().ok()?, count.parse::<u64>().ok()?))
        };
        let (old, new) = (range('-'), range('+'));
        Self { old_start: old.map(|(first, _)| first), counts: old.zip(new).map(|((_, olds), (_, news))| (olds, news)) }
    }
}
