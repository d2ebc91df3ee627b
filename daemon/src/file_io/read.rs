//! Reading text files: whole, by lines, by bytes; what is asked for comes back, whatever the file's size.
//!
//! Every read looks at the whole file once, for its version, its encoding and its number of lines, in pieces of bounded
//! size. A file that changes meanwhile is read anew, so that a result is of one moment.

use super::encoding::{Decoder, Detect, Unit};
use super::lines::{EolCount, Eols, Line, Splitter};
use super::open::{OpenError, open_file};
use super::version::{HASH_LIMIT, Version};
use plimsoll_core::tool::outcome::{LongLine, Tail};
use plimsoll_core::tool::projection::LINE_CHARS;
use plimsoll_core::workspace::FileVersion;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Up to this size in bytes a file is read into memory and given whole; also the most that a range gives.
pub const WHOLE_LIMIT: usize = 1024 * 1024;

/// Bytes read at once from a larger file.
const PIECE: usize = 256 * 1024;

/// Bytes of either end that a larger file gives when no range is asked for: many times what a projection shows.
const END_BYTES: usize = 64 * 1024;

/// Bytes that are kept of one line of a larger file: `LINE_CHARS` characters of up to four bytes, and some.
const LINE_KEEP: usize = 16 * 1024;

/// Most bytes of a read by bytes of plain UTF-8 …
const BYTE_PAGE: u64 = 32 * 1024;

/// … and of anything else, which a projection cannot cut, since it does not know which bytes a character was.
const OTHER_BYTE_PAGE: u64 = 2_000;

/// How often a file that changes while it is read is tried.
const TRIES: usize = 3;

/// What of a file is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// All of it; of a file over [`WHOLE_LIMIT`] both ends.
    Whole,
    /// Lines from `first` (from 1) on; up to the end without a count.
    Lines {
        /// Number of the first line.
        first: u64,
        /// How many.
        count: Option<u64>,
    },
    /// Bytes from `start` on, widened to whole characters; up to the end without a count.
    Bytes {
        /// Place of the first byte.
        start: u64,
        /// How many.
        count: Option<u64>,
    },
}

/// A text file, as far as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Version of the whole file.
    pub version: Version,
    /// `utf-8`, `utf-8-bom`, `utf-16le`, `windows-1252`, …
    pub encoding: String,
    /// `lf`, `crlf`, `cr`, `mixed` or `none`.
    pub eol: &'static str,
    /// Invalid bytes became U+FFFD.
    pub lossy: bool,
    /// Lines of the file.
    pub total_lines: u64,
    /// Bytes of the file.
    pub total_bytes: u64,
    /// The last line has no line end.
    pub unended: bool,
    /// What was asked for.
    pub page: Page,
}

/// The part of a text that was asked for. See [`plimsoll_core::tool::outcome::FileRead`] for the fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Number of the first line.
    pub first_line: u64,
    /// Lines without their line ends; for bytes one text.
    pub lines: Vec<String>,
    /// Lines of more than [`LINE_CHARS`] characters.
    pub long_lines: Vec<LongLine>,
    /// The end of a file whose middle is left out.
    pub tail: Option<Tail>,
    /// The range of bytes, for a read by bytes.
    pub bytes: Option<(u64, u64)>,
    /// The end of the asked range, when the page ends before it.
    pub asked_until: Option<u64>,
}

/// Why there is no text to give.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It has NUL bytes.
    #[error("is a binary file of {0} bytes")]
    Binary(u64),
    /// The range begins after the file's end.
    #[error("the range begins past the end: the file has {lines} lines and {bytes} bytes")]
    PastEnd {
        /// Lines of the file.
        lines: u64,
        /// Bytes of the file.
        bytes: u64,
        /// Its version.
        version: Version,
    },
    /// It changed at every try.
    #[error("keeps changing while it is read; call again later")]
    Changing,
    /// The read was given up.
    #[error("reading was cancelled")]
    Cancelled,
    /// The system could not read it.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

/// Reads what is asked for of the text file at a canonical path. Blocking; asks `cancelled` between pieces.
pub fn read_text(canonical: &Path, ask: Ask, cancelled: &dyn Fn() -> bool) -> Result<Text, ReadError> {
    for _ in 0..TRIES {
        let (file, metadata) = open_file(canonical)?;
        let source = Source::of(&file, &metadata)?;
        let text = Reader { source: &source, cancelled }.read(&file, &metadata, ask)?;
        if stamp(&file.metadata()?) == stamp(&metadata) {
            return Ok(text);
        }
    }
    Err(ReadError::Changing)
}

fn stamp(metadata: &Metadata) -> (u64, i64, i64) {
    (metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

/// A file's bytes: in memory when they are few.
enum Source<'a> {
    Memory(Vec<u8>),
    File(&'a File),
}

impl<'a> Source<'a> {
    /// The size that the system tells is not trusted: it is 0 for the kernel's own files.
    fn of(file: &'a File, metadata: &Metadata) -> Result<Self, ReadError> {
        if metadata.len() > WHOLE_LIMIT as u64 {
            return Ok(Self::File(file));
        }
        let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
        let mut reader = file;
        (&mut reader).take(WHOLE_LIMIT as u64 + 1).read_to_end(&mut bytes)?;
        Ok(if bytes.len() > WHOLE_LIMIT { Self::File(file) } else { Self::Memory(bytes) })
    }

    /// Bytes from `at` on: at most `most`, fewer only at the end.
    fn bytes(&self, at: u64, most: usize) -> std::io::Result<Vec<u8>> {
        match self {
            Self::Memory(bytes) => {
                let rest = bytes.get(at as usize..).unwrap_or_default();
                Ok(rest.get(..most).unwrap_or(rest).to_vec())
            }
            Self::File(file) => {
                let mut bytes = vec![0; most];
                let mut filled = 0;
                while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                    match file.read_at(rest, at + filled as u64) {
                        Ok(0) => break,
                        Ok(count) => filled += count,
                        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
                bytes.truncate(filled);
                Ok(bytes)
            }
        }
    }
}

/// What the first look at all bytes found.
struct Scan {
    decoder: Decoder,
    eols: Eols,
    bytes: u64,
    version: Version,
}

struct Reader<'a> {
    source: &'a Source<'a>,
    cancelled: &'a dyn Fn() -> bool,
}

impl Reader<'_> {
    fn read(&self, file: &File, metadata: &Metadata, ask: Ask) -> Result<Text, ReadError> {
        let scan = self.scan(file, metadata)?;
        let lines = scan.eols.lines();
        let past_end = ReadError::PastEnd { lines, bytes: scan.bytes, version: scan.version };
        let (page, lossy) = match ask {
            Ask::Whole => self.whole(&scan)?,
            Ask::Lines { first, .. } if first > lines.max(1) => return Err(past_end),
            Ask::Lines { first, count } => {
                let last = count.map_or(lines, |count| first.saturating_add(count).saturating_sub(1).min(lines));
                self.lines(&scan, first, last, WHOLE_LIMIT)?
            }
            Ask::Bytes { start, .. } if start > 0 && start >= scan.bytes => return Err(past_end),
            Ask::Bytes { start, count } => self.by_bytes(&scan, start, count)?,
        };
        Ok(Text {
            version: scan.version,
            encoding: scan.decoder.name(),
            eol: scan.eols.word(),
            lossy: lossy || scan.decoder.lossy,
            total_lines: lines,
            total_bytes: scan.bytes,
            unended: scan.eols.unended(),
            page,
        })
    }

    /// Hands out all bytes from `at` on in pieces, until `take` says false.
    fn pieces(&self, mut at: u64, mut take: impl FnMut(&[u8]) -> bool) -> Result<(), ReadError> {
        if let Source::Memory(bytes) = self.source {
            take(bytes.get(at as usize..).unwrap_or_default());
            return Ok(());
        }
        loop {
            if (self.cancelled)() {
                return Err(ReadError::Cancelled);
            }
            let piece = self.source.bytes(at, PIECE)?;
            at += piece.len() as u64;
            let last = piece.len() < PIECE;
            if !take(&piece) || last {
                return Ok(());
            }
        }
    }

    fn scan(&self, file: &File, metadata: &Metadata) -> Result<Scan, ReadError> {
        let mut detect = Detect::new(&self.source.bytes(0, 4)?);
        let strong = metadata.len() <= HASH_LIMIT;
        let mut hasher = blake3::Hasher::new();
        let mut eols = EolCount::new(detect.unit());
        let mut bytes = 0;
        let mut skip = detect.bom();
        self.pieces(0, |piece| {
            if strong {
                hasher.update(piece);
            }
            bytes += piece.len() as u64;
            let text = piece.get(std::mem::take(&mut skip)..).unwrap_or_default();
            eols.feed(text);
            detect.feed(text)
        })?;
        let decoder = detect.end().ok_or(ReadError::Binary(metadata.len().max(bytes)))?;
        let version = if strong {
            Version::Strong(FileVersion::from_hash(hasher.finalize()))
        } else {
            Version::weak(file, metadata)?
        };
        Ok(Scan { decoder, eols: eols.end(), bytes, version })
    }

    fn whole(&self, scan: &Scan) -> Result<(Page, bool), ReadError> {
        let total = scan.eols.lines();
        if matches!(self.source, Source::Memory(_)) {
            return self.lines(scan, 1, total, usize::MAX);
        }
        let (mut page, mut lossy) = self.lines(scan, 1, total, END_BYTES)?;
        page.asked_until = None;
        let shown = page.lines.len() as u64;
        if shown < total {
            let (tail, long_lines, tail_lossy) = self.tail(scan, shown + 1)?;
            page.tail = Some(tail);
            page.long_lines.extend(long_lines);
            lossy |= tail_lossy;
        }
        Ok((page, lossy))
    }

    /// Lines `first..=last`, as far as they keep within `most` bytes; at least one.
    fn lines(&self, scan: &Scan, first: u64, last: u64, most: usize) -> Result<(Page, bool), ReadError> {
        let keep = if matches!(self.source, Source::Memory(_)) { usize::MAX } else { LINE_KEEP };
        let bom = scan.decoder.bom as u64;
        let mut splitter = Splitter::new(scan.decoder.unit(), scan.eols.terminator(), bom, keep);
        let mut taken = Taken::new(scan.decoder);
        let mut kept = 0;
        let mut take = |line: Line<'_>| {
            if line.no >= first && line.no <= last {
                kept += line.bytes.len() + 1;
                taken.push(line);
            }
            line.no < last && kept < most
        };
        let mut stopped = last < first;
        if !stopped {
            self.pieces(bom, |piece| {
                stopped = !splitter.feed(piece, &mut take);
                !stopped
            })?;
            if !stopped {
                splitter.end(take);
            }
        }
        let count = taken.lines.len() as u64;
        let (lines, long_lines, lossy) = self.measure(taken)?;
        let asked_until = (first + count <= last).then_some(last);
        Ok((Page { first_line: first, lines, long_lines, asked_until, ..Page::default() }, lossy))
    }

    /// The last lines, from number `from` on at the earliest, that begin within [`END_BYTES`] of the end.
    fn tail(&self, scan: &Scan, from: u64) -> Result<(Tail, Vec<LongLine>, bool), ReadError> {
        // An even number of bytes after the mark, so that two-byte units stay whole.
        let bom = scan.decoder.bom as u64;
        let start = scan.bytes.saturating_sub(END_BYTES as u64).max(bom);
        let start = start - (start - bom) % 2;
        let bytes = self.source.bytes(start, END_BYTES + 2)?;
        let mut splitter = Splitter::new(scan.decoder.unit(), scan.eols.terminator(), start, usize::MAX);
        // The first one has begun before.
        let mut found: Vec<(u64, u64, Vec<u8>)> = Vec::new();
        let mut take = |line: Line<'_>| {
            found.push((line.start, line.end, line.bytes.to_vec()));
            true
        };
        splitter.feed(&bytes, &mut take);
        splitter.end(take);
        let total = scan.eols.lines();
        let first_no = (total + 1).saturating_sub(found.len() as u64);
        let mut taken = Taken::new(scan.decoder);
        let mut first_line = total + 1;
        for (no, (start, end, bytes)) in (first_no..).zip(&found).skip(1).filter(|(no, _)| *no >= from) {
            first_line = first_line.min(no);
            taken.push(Line { no, start: *start, end: *end, bytes });
        }
        let (lines, long_lines, lossy) = self.measure(taken)?;
        Ok((Tail { first_line, lines }, long_lines, lossy))
    }

    fn by_bytes(&self, scan: &Scan, start: u64, count: Option<u64>) -> Result<(Page, bool), ReadError> {
        /// No character is longer.
        const CHAR: u64 = 4;
        let decoder = scan.decoder;
        let bom = decoder.bom as u64;
        let wanted = start.max(bom);
        let start = self.boundary(decoder, wanted, bom)?;
        let plain = decoder.name().starts_with("utf-8") && !decoder.lossy;
        let asked = count.map_or(scan.bytes, |count| wanted.saturating_add(count).min(scan.bytes)).max(start);
        let most = if plain { BYTE_PAGE } else { OTHER_BYTE_PAGE };
        let end = asked.min(start + most);
        let room = (end - start) as usize;
        let bytes = self.source.bytes(start, room.max(CHAR.min(scan.bytes - start) as usize))?;
        let whole = |count: usize| decoder.whole_chars(bytes.get(..count).unwrap_or(&bytes));
        let mut cut = if end < scan.bytes { whole(room) } else { room };
        if cut == 0 {
            // Not even one character is asked for whole: one it is, so that who goes on gets on.
            cut = (1..=bytes.len()).map(whole).find(|count| *count > 0).unwrap_or(bytes.len());
        }
        let (text, lossy) = decoder.decode(bytes.get(..cut).unwrap_or(&bytes));
        let end = start + cut as u64;
        let mut before = Splitter::new(decoder.unit(), scan.eols.terminator(), bom, 0);
        let mut left = start - bom;
        self.pieces(bom, |piece| {
            let part = piece.get(..left as usize).unwrap_or(piece);
            left -= part.len() as u64;
            before.feed(part, |_| true);
            left > 0
        })?;
        let page = Page {
            first_line: before.line_no(),
            lines: vec![text],
            bytes: Some((start, end)),
            asked_until: (end < asked).then_some(asked),
            ..Page::default()
        };
        Ok((page, lossy))
    }

    /// The start of the character that the byte at `at` belongs to, where the encoding tells.
    fn boundary(&self, decoder: Decoder, at: u64, bom: u64) -> Result<u64, ReadError> {
        let from = at.saturating_sub(3).max(bom);
        let offset = (at - from) as usize;
        Ok(match decoder.unit() {
            Unit::Byte if decoder.name().starts_with("utf-8") => {
                let bytes = self.source.bytes(from, offset + 3)?;
                // Invalid bytes belong to no character: only a valid one that reaches over the place counts.
                let begun = |back: &usize| {
                    let rest = bytes.get(offset - back..).unwrap_or_default();
                    let first = rest.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
                    first.is_some_and(|c| c.len_utf8() > *back)
                };
                at - (1..=offset).find(begun).unwrap_or(0) as u64
            }
            Unit::Byte => at,
            Unit::LittleEndian | Unit::BigEndian => at - (at - bom) % 2,
        })
    }

    /// Finds out how many characters the lines have that were not kept whole.
    fn measure(&self, taken: Taken) -> Result<(Vec<String>, Vec<LongLine>, bool), ReadError> {
        let mut long_lines = taken.long_lines;
        for long in &mut long_lines {
            if long.chars == 0 {
                long.chars = self.count_chars(taken.decoder, long.cut_at, long.end)? + LINE_CHARS as u64;
            }
        }
        Ok((taken.lines, long_lines, taken.lossy))
    }

    fn count_chars(&self, decoder: Decoder, start: u64, end: u64) -> Result<u64, ReadError> {
        let mut counter = decoder.counter();
        let mut left = end - start;
        self.pieces(start, |piece| {
            let part = piece.get(..left as usize).unwrap_or(piece);
            left -= part.len() as u64;
            counter.feed(part, left == 0);
            left > 0
        })?;
        Ok(counter.chars)
    }
}

/// Lines as text.
struct Taken {
    decoder: Decoder,
    lines: Vec<String>,
    /// With 0 characters when the line was not kept whole.
    long_lines: Vec<LongLine>,
    lossy: bool,
}

impl Taken {
    fn new(decoder: Decoder) -> Self {
        Self { decoder, lines: Vec::new(), long_lines: Vec::new(), lossy: false }
    }

    fn push(&mut self, line: Line<'_>) {
        let whole = line.bytes.len() as u64 == line.end - line.start;
        let shown = if whole { line.bytes.len() } else { self.decoder.bytes_of_chars(line.bytes, LINE_CHARS) };
        let (text, lossy) = self.decoder.decode(line.bytes.get(..shown).unwrap_or_default());
        self.lossy |= lossy;
        // Only a line with more bytes than that can have more characters.
        if !whole || line.bytes.len() > LINE_CHARS {
            let chars = if whole { text.chars().count() } else { 0 };
            if !whole || chars > LINE_CHARS {
                let cut = self.decoder.bytes_of_chars(line.bytes, LINE_CHARS) as u64;
                self.long_lines.push(LongLine {
                    line: line.no,
                    chars: chars as u64,
                    cut_at: line.start + cut,
                    end: line.end,
                });
            }
        }
        self.lines.push(text);
    }
}
