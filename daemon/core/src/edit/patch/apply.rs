//! A file's patch onto its content: every hunk at its stated place, or at the one place near it where all of its lines
//! stand; never anywhere else.

use super::error::{Differs, PatchError, PatchErrorKind};
use super::{FilePatch, Hunk, HunkLine, LineKind};
use crate::edit::layout::{Eol, Layout, part};
use crate::edit::{Edit, Encoding, Splice};
use crate::escape;

/// Lines before and after the stated place in which a hunk may stand instead. Numbers that models write are often off by
/// the lines that the hunks before have added, rarely by more.
pub const NEARBY: u64 = 200;

/// Places that an error names.
const MAX_TOLD: usize = 5;

/// Characters of a line that an error shows.
const MAX_CHARS: usize = 160;

/// What becomes of a content by its patch. Of a file that is made the content is empty. Line ends, encoding and the
/// presence of a final line end are those of the content; what the patch says of a final line end is followed.
pub fn apply(content: &[u8], patch: &FilePatch, encoding: &dyn Encoding) -> Result<Edit, PatchError> {
    let layout = Layout::of(content, encoding);
    let result = match with(content, patch, &layout) {
        Err(PatchError { kind: PatchErrorKind::Differs(..), .. }) if restored(patch).is_some() => {
            // Tags of Plimsoll's own are shown escaped, so the model may give them so.
            let plain = restored(patch).unwrap_or_else(|| patch.clone());
            let note = "the patch matched with `&lt;` before a tag's name read as `<`.".to_owned();
            with(content, &plain, &layout).map(|splices| (splices, vec![note]))
        }
        result => result.map(|splices| (splices, Vec::new())),
    };
    let (splices, notes) = result?;
    let edit = Edit::of(content, &layout, splices, notes);
    if patch.new.is_none() && edit.lines_after > 0 {
        let kind = PatchErrorKind::NotAll { left: edit.lines_after };
        return Err(PatchError::of_file(patch.path(), kind));
    }
    if edit.splices.is_empty() && patch.old.is_some() && patch.new.is_some() {
        return Err(PatchError::of_file(patch.path(), PatchErrorKind::NoChange));
    }
    Ok(edit)
}

fn restored(patch: &FilePatch) -> Option<FilePatch> {
    let mut plain = patch.clone();
    for line in plain.hunks.iter_mut().flat_map(|hunk| &mut hunk.lines) {
        line.text = escape::restore(&line.text).into_owned();
    }
    (plain != *patch).then_some(plain)
}

fn with(content: &[u8], patch: &FilePatch, layout: &Layout<'_>) -> Result<Vec<Splice>, PatchError> {
    let mut at = Cursor { line: 1, offset: layout.mark.min(content.len()) };
    let mut splices = Vec::new();
    for (index, hunk) in patch.hunks.iter().enumerate() {
        let failed = |kind| PatchError::of_hunk(patch.path(), index + 1, kind);
        let file = File { content, layout };
        let old: Vec<Option<Vec<u8>>> = hunk.old_lines().map(|line| layout.encoding.encode(&line.text).ok()).collect();
        let place = file.place(hunk, &old, at).map_err(failed)?;
        at = file.splices(hunk, place, &mut splices).map_err(failed)?;
    }
    splices.retain(|splice| part(content, splice.start, splice.end) != splice.new);
    Ok(splices)
}

impl Hunk {
    fn old_lines(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.kind != LineKind::Added)
    }
}

/// The beginning of a line.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    line: u64,
    offset: usize,
}

#[derive(Clone, Copy)]
struct File<'a> {
    content: &'a [u8],
    layout: &'a Layout<'a>,
}

impl<'a> File<'a> {
    /// The line at a place, with its line end; none at the file's end.
    fn line(self, at: usize) -> Option<&'a [u8]> {
        let rest = part(self.content, at, self.content.len());
        (!rest.is_empty()).then(|| part(rest, 0, self.layout.first_line(rest)))
    }

    /// The beginnings of the lines from here on, and the file's end where that begins a line.
    fn lines_from(self, from: Cursor) -> impl Iterator<Item = Cursor> {
        let mut next = Some(from);
        std::iter::from_fn(move || {
            let now = next?;
            next = self.line(now.offset).map(|line| Cursor { line: now.line + 1, offset: now.offset + line.len() });
            next = next
                .filter(|next| next.offset < self.content.len() || self.layout.begins_line(self.content, next.offset));
            Some(now)
        })
    }

    /// How many of the lines stand here one after the other.
    fn agreeing(self, at: usize, lines: &[Option<Vec<u8>>]) -> usize {
        let mut at = at;
        let mut agreeing = 0;
        for wanted in lines {
            let Some(line) = self.line(at) else { break };
            if wanted.as_deref() != Some(self.layout.content_of(line)) {
                break;
            }
            at += line.len();
            agreeing += 1;
        }
        agreeing
    }

    /// Where the hunk belongs, at or after `from`.
    fn place(self, hunk: &Hunk, old: &[Option<Vec<u8>>], from: Cursor) -> Result<Cursor, PatchErrorKind> {
        if old.is_empty() {
            return self.insertion(hunk, from);
        }
        let stated = hunk.old_start.map(|line| line.max(1));
        let (first, last) = match stated {
            Some(line) => (line.saturating_sub(NEARBY), line.saturating_add(NEARBY)),
            None => (0, u64::MAX),
        };
        let mut places = Vec::new();
        // The place with most agreeing lines in a row, the nearest of those.
        let mut best: (usize, u64, Cursor) = (0, u64::MAX, from);
        for at in self.lines_from(from).skip_while(|at| at.line < first).take_while(|at| at.line <= last) {
            let agreeing = self.agreeing(at.offset, old);
            if agreeing == old.len() {
                if Some(at.line) == stated {
                    return Ok(at);
                }
                places.push(at);
            }
            let distance = stated.map_or(0, |stated| stated.abs_diff(at.line));
            if agreeing > best.0 || (agreeing == best.0 && distance < best.1) {
                best = (agreeing, distance, at);
            }
        }
        match places.as_slice() {
            [place] => Ok(*place),
            [] => Err(self.differs(hunk, old, stated, best.2)),
            several => {
                let lines = several.iter().take(MAX_TOLD).map(|at| at.line).collect();
                Err(PatchErrorKind::Several { stated, lines })
            }
        }
    }

    /// A hunk that only adds says by its number after which line.
    fn insertion(self, hunk: &Hunk, from: Cursor) -> Result<Cursor, PatchErrorKind> {
        let empty = self.content.len() <= self.layout.mark;
        match hunk.old_start {
            _ if empty => Ok(from),
            Some(line) => {
                // Behind a last line without a line end no line begins; its end is the place all the same.
                let end = Cursor { line: line + 1, offset: self.content.len() };
                let found = self.lines_from(from).find(|at| at.line == line + 1);
                let lines = self.layout.lines(self.content);
                found.or((line == lines).then_some(end)).ok_or_else(|| {
                    let wanted = hunk.lines.first().map(|line| self.short(&line.text)).unwrap_or_default();
                    let differs = Differs { stated: Some(line), place: line, line, wanted, ..Differs::default() };
                    PatchErrorKind::Differs(Box::new(differs))
                })
            }
            None => Err(PatchErrorKind::NoPlace),
        }
    }

    fn short(self, text: &str) -> String {
        self.layout.encoding.encode(text).map_or_else(
            |_| text.chars().take(MAX_CHARS).collect(),
            |bytes| {
                let (text, cut) = self.layout.text(&bytes, MAX_CHARS);
                if cut { text + " …" } else { text }
            },
        )
    }

    fn differs(self, hunk: &Hunk, old: &[Option<Vec<u8>>], stated: Option<u64>, place: Cursor) -> PatchErrorKind {
        let agreeing = self.agreeing(place.offset, old);
        let found = self.lines_from(place).nth(agreeing).and_then(|at| self.line(at.offset));
        let wanted = hunk.old_lines().nth(agreeing).map(|line| self.short(&line.text)).unwrap_or_default();
        let begin = Cursor { line: 1, offset: self.layout.mark.min(self.content.len()) };
        let everywhere = self.lines_from(begin).filter(|at| self.agreeing(at.offset, old) == old.len());
        let elsewhere = everywhere.map(|at| at.line).take(MAX_TOLD).collect();
        let new: Vec<Option<Vec<u8>>> = hunk
            .lines
            .iter()
            .filter(|line| line.kind != LineKind::Removed)
            .map(|line| self.layout.encoding.encode(&line.text).ok())
            .collect();
        let after = stated.and_then(|stated| self.lines_from(begin).find(|at| at.line == stated));
        let done = after.is_some_and(|at| new.len() > 1 && self.agreeing(at.offset, &new) == new.len());
        PatchErrorKind::Differs(Box::new(Differs {
            stated,
            place: if done { stated.unwrap_or_default() } else { place.line },
            line: place.line + agreeing as u64,
            found: found.map(|line| self.layout.text(line, MAX_CHARS).0),
            wanted,
            elsewhere,
            done,
        }))
    }

    /// The splices of a hunk whose lines stand at `place`; the place after it.
    fn splices(self, hunk: &Hunk, place: Cursor, out: &mut Vec<Splice>) -> Result<Cursor, PatchErrorKind> {
        let mut at = place;
        let mut run: Option<Run<'_>> = None;
        for line in &hunk.lines {
            let here = self.line(at.offset).unwrap_or_default();
            match line.kind {
                LineKind::Context => self.close(run.take(), at, hunk, false, out)?,
                LineKind::Removed => {
                    run.get_or_insert_with(|| Run { start: at.offset, added: Vec::new() });
                }
                LineKind::Added => {
                    run.get_or_insert_with(|| Run { start: at.offset, added: Vec::new() }).added.push(&line.text);
                }
            }
            if line.kind != LineKind::Added {
                at = Cursor { line: at.line + 1, offset: at.offset + here.len() };
            }
        }
        self.close(run, at, hunk, true, out)?;
        Ok(at)
    }

    /// Ends a run of removed and added lines before `end`.
    fn close(
        self,
        run: Option<Run<'_>>,
        end: Cursor,
        hunk: &Hunk,
        last: bool,
        out: &mut Vec<Splice>,
    ) -> Result<(), PatchErrorKind> {
        let Some(run) = run else { return Ok(()) };
        let len = self.content.len();
        let at_end = end.offset == len;
        if last && hunk.new_ends_open && !at_end {
            return Err(PatchErrorKind::OpenInside);
        }
        let eol = self.eol_at(run.start);
        // Behind a last line that has no line end, that comes first.
        let open = at_end && len > self.layout.mark && !self.layout.ends_line(self.content);
        let mut text = String::new();
        if run.start == len && open && !run.added.is_empty() {
            text.push_str(eol);
        }
        for line in &run.added {
            text.push_str(line);
            text.push_str(eol);
        }
        let stays_open = open && !(last && hunk.old_ends_open);
        if at_end && !run.added.is_empty() && (stays_open || (last && hunk.new_ends_open)) {
            text.truncate(text.len() - eol.len());
        }
        let new = self.layout.encoding.encode(&text).map_err(PatchErrorKind::NotInEncoding)?;
        out.push(Splice { start: run.start, end: end.offset, new });
        Ok(())
    }

    /// The line end for lines that are put in here: that of the line here, or of the one before, where they differ.
    fn eol_at(self, at: usize) -> &'static str {
        let usual = self.layout.dominant().unwrap_or("\n");
        if self.layout.eol() != Eol::Mixed {
            return usual;
        }
        let before = self.layout.line_start(self.content, at.saturating_sub(self.layout.unit));
        let line = self.line(at).filter(|line| self.layout.ends_line(line)).or_else(|| self.line(before));
        match line.map(|line| Layout::of(line, self.layout.encoding).eol()) {
            Some(Eol::Lf) => "\n",
            Some(Eol::Crlf) => "\r\n",
            Some(Eol::None | Eol::Cr | Eol::Mixed) | None => usual,
        }
    }
}

/// Removed and added lines with no line of context between.
struct Run<'a> {
    start: usize,
    added: Vec<&'a str>,
}
