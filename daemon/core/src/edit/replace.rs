//! Exact replacement, one after the other, all or nothing.

use super::compose::compose;
use super::error::{EditError, EditErrorKind};
use super::layout::{Eol, Layout, part, with_lf};
use super::near;
use super::search::{Pattern, Place};
use super::{Edit, Encoding, Replacement, Splice};
use crate::escape;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Lines that the refusal of an ambiguous text names.
const MAX_PLACES: usize = 10;

/// Bytes that the replacements of one call may read in all, the file's size times their number: a few seconds.
const MAX_READ: usize = 8 << 30;

/// From so many places on, those that stand close are made one splice, so that what is known of a file never outweighs it.
const MANY: usize = 4_096;

/// Bytes between two of many places that are written along with them.
const CLOSE: usize = 512;

/// What becomes of a content by replacements that are made in order, each on what those before it left. Bytes outside the
/// replaced texts stay what they are. Line ends: `old` matches whatever the file has, `new` gets those of the text that
/// it replaces, else those that most lines of the file have, else stays as it is given.
pub fn replace(content: &[u8], edits: &[Replacement<'_>], encoding: &dyn Encoding) -> Result<Edit, EditError> {
    let layout = Layout::of(content, encoding);
    if edits.len().saturating_mul(content.len()) > MAX_READ && edits.len() > 1 {
        let most = (MAX_READ / content.len().max(1)).max(1);
        return Err(EditError { index: most, kind: EditErrorKind::TooMuch { most } });
    }
    let mut splices: Vec<Splice> = Vec::new();
    let mut notes = Vec::new();
    let mut current = Cow::Borrowed(content);
    for (index, edit) in edits.iter().enumerate() {
        let step = if index == 0 {
            one(&current, edit, &layout, &mut notes)
        } else {
            one(&current, edit, &Layout::of(&current, encoding), &mut notes)
        };
        let step = step.map_err(|kind| EditError { index, kind })?;
        if index + 1 < edits.len() {
            current = Cow::Owned(applied(current, &step));
        }
        splices = compose(splices, step, content.len());
    }
    notes.dedup();
    let splices = splices.into_iter().filter(|splice| part(content, splice.start, splice.end) != splice.new).collect();
    Ok(Edit::of(content, &layout, splices, notes))
}

/// The splices of one replacement.
fn one(
    content: &[u8],
    edit: &Replacement<'_>,
    layout: &Layout<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<Splice>, EditErrorKind> {
    if edit.old.is_empty() {
        return Err(EditErrorKind::Empty);
    }
    if edit.old == edit.new {
        return Err(EditErrorKind::Same);
    }
    let (old, new) = (edit.old, edit.new);
    if let Some(places) = places(content, old, edit.all, layout)? {
        return splices(content, &places, new, layout);
    }
    // Tags of Plimsoll's own are shown escaped, so the model may give them so.
    let restored = escape::restore(old);
    if restored != old
        && let Some(places) = places(content, &restored, edit.all, layout)?
    {
        notes.push(
            "old_string matched with `&lt;` before a tag's name read as `<`; new_string was read so too.".to_owned(),
        );
        return splices(content, &places, &escape::restore(new), layout);
    }
    Err(EditErrorKind::NotFound(near::nearest(content, edit, layout)))
}

/// Where the text is: the one place, or with `all` every one; none when it is nowhere.
fn places(content: &[u8], old: &str, all: bool, layout: &Layout<'_>) -> Result<Option<Vec<Place>>, EditErrorKind> {
    let Some(pattern) = Pattern::new(old, layout) else { return Ok(None) };
    if all {
        let places: Vec<Place> = pattern.find_all(content, layout).collect();
        return Ok((!places.is_empty()).then_some(places));
    }
    let Some(place) = pattern.find(content, layout, 0) else { return Ok(None) };
    let next = next_char(content, layout, place);
    if pattern.find(content, layout, next).is_none() {
        return Ok(Some(vec![place]));
    }
    let mut count = 0;
    let mut lines = Vec::new();
    let (mut at, mut no) = (layout.mark.min(content.len()), 1);
    for place in pattern.find_all(content, layout) {
        count += 1;
        if lines.len() < MAX_PLACES {
            no += layout.line_ends(part(content, at, place.start));
            at = place.start.max(at);
            lines.push(no);
        }
    }
    // Two that overlap are two all the same: which one is meant cannot be known.
    Err(EditErrorKind::NotUnique { count: count.max(2), lines })
}

/// The place after the first character of a found text, so that one that overlaps it is found too.
fn next_char(content: &[u8], layout: &Layout<'_>, place: Place) -> usize {
    let text = layout.encoding.decode(part(content, place.start, place.end.min(place.start + 8)));
    let first: String = if text.starts_with("\r\n") { "\r\n".to_owned() } else { text.chars().take(1).collect() };
    let width = layout.encoding.encode(&first).map_or(layout.unit, |bytes| bytes.len().max(layout.unit));
    (place.start + width).min(place.end)
}

fn splices(content: &[u8], places: &[Place], new: &str, layout: &Layout<'_>) -> Result<Vec<Splice>, EditErrorKind> {
    let new = NewText { text: new, with_lf: with_lf(new), layout };
    let mut encoded: BTreeMap<Option<&'static str>, Vec<u8>> = BTreeMap::new();
    let mut splices: Vec<Splice> = Vec::with_capacity(places.len().min(MANY));
    for place in places {
        let eol = new.eol_at(part(content, place.start, place.end));
        if !encoded.contains_key(&eol) {
            encoded.insert(eol, new.with(eol)?);
        }
        let bytes = encoded.get(&eol).map(Vec::as_slice).unwrap_or_default();
        match splices.last_mut() {
            Some(last) if places.len() > MANY && place.start - last.end <= CLOSE => {
                last.new.extend_from_slice(part(content, last.end, place.start));
                last.new.extend_from_slice(bytes);
                last.end = place.end;
            }
            _ => splices.push(Splice { start: place.start, end: place.end, new: bytes.to_vec() }),
        }
    }
    if splices.iter().all(|splice| part(content, splice.start, splice.end) == splice.new) {
        return Err(EditErrorKind::Same);
    }
    Ok(splices)
}

/// The new text, with the line ends that it will have.
struct NewText<'a> {
    text: &'a str,
    with_lf: Cow<'a, str>,
    layout: &'a Layout<'a>,
}

impl NewText<'_> {
    /// The line ends that the new text gets in this place; none for those that it was given with.
    fn eol_at(&self, old: &[u8]) -> Option<&'static str> {
        let dominant = self.layout.dominant();
        if self.layout.eol() != Eol::Mixed {
            return dominant;
        }
        let here = Layout::of(old, self.layout.encoding);
        match here.eol() {
            Eol::Lf => Some("\n"),
            Eol::Crlf => Some("\r\n"),
            Eol::None | Eol::Cr | Eol::Mixed => dominant,
        }
    }

    fn with(&self, eol: Option<&str>) -> Result<Vec<u8>, EditErrorKind> {
        let text = match eol {
            None => Cow::Borrowed(self.text),
            Some("\n") => Cow::Borrowed(self.with_lf.as_ref()),
            Some(eol) => Cow::Owned(self.with_lf.replace('\n', eol)),
        };
        self.layout.encoding.encode(&text).map_err(EditErrorKind::NotInEncoding)
    }
}

/// The content after splices that ascend and do not overlap.
fn applied(content: Cow<'_, [u8]>, splices: &[Splice]) -> Vec<u8> {
    if let ([splice], Cow::Owned(_)) = (splices, &content) {
        let mut content = content.into_owned();
        // The range lies within: it was found there.
        content.splice(splice.start..splice.end, splice.new.iter().copied());
        return content;
    }
    let grown: usize = splices.iter().map(|splice| splice.new.len()).sum();
    let mut out = Vec::with_capacity(content.len() + grown);
    let mut at = 0;
    for splice in splices {
        out.extend_from_slice(part(&content, at, splice.start));
        out.extend_from_slice(&splice.new);
        at = splice.end;
    }
    out.extend_from_slice(part(&content, at, content.len()));
    out
}

/// `text` with the line ends that the content has, for a file that is written as a whole; as it is given where the
/// content has none or mixed ones.
pub fn keep_eol(content: &[u8], text: &str, encoding: &dyn Encoding) -> String {
    let layout = Layout::of(content, encoding);
    match layout.eol() {
        Eol::None | Eol::Mixed => text.to_owned(),
        Eol::Lf => with_lf(text).into_owned(),
        Eol::Crlf => with_lf(text).replace('\n', "\r\n"),
        Eol::Cr => with_lf(text).replace('\n', "\r"),
    }
}
