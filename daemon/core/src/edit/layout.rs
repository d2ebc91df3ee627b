//! How a content's bytes fall into units and lines: byte order mark, line ends, counts. Used by everything beside it.

use super::Encoding;

/// Which line ends a content has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eol {
    /// None at all.
    None,
    /// Line feeds.
    Lf,
    /// Carriage return and line feed, everywhere.
    Crlf,
    /// Carriage returns, and no line feed anywhere.
    Cr,
    /// Both of the first kinds.
    Mixed,
}

/// See the module's head.
pub(super) struct Layout<'e> {
    pub(super) encoding: &'e dyn Encoding,
    /// Bytes per unit, 1 or 2.
    pub(super) unit: usize,
    lf: [u8; 2],
    cr: [u8; 2],
    /// Bytes of the byte order mark.
    pub(super) mark: usize,
    /// Whether a character can be told from its first byte, so that a found text never begins inside one.
    pub(super) utf8: bool,
    /// Line feeds alone, and those after a carriage return.
    lf_alone: u64,
    crlf: u64,
    /// Carriage returns, counted only where there is no line feed.
    cr_alone: u64,
}

impl<'e> Layout<'e> {
    pub(super) fn of(content: &[u8], encoding: &'e dyn Encoding) -> Self {
        let unit = encoding.unit().clamp(1, 2);
        let pair = |c: &str, byte: u8| {
            let bytes = encoding.encode(c).unwrap_or_default();
            [bytes.first().copied().unwrap_or(byte), bytes.get(1).copied().unwrap_or_default()]
        };
        let mark = encoding.encode("\u{feff}").unwrap_or_default();
        let mut layout = Self {
            encoding,
            unit,
            lf: pair("\n", b'\n'),
            cr: pair("\r", b'\r'),
            mark: if !mark.is_empty() && content.starts_with(&mark) { mark.len() } else { 0 },
            utf8: encoding.encode("\u{e4}").is_ok_and(|bytes| bytes == "\u{e4}".as_bytes()),
            lf_alone: 0,
            crlf: 0,
            cr_alone: 0,
        };
        layout.count_eols(content);
        layout
    }

    fn count_eols(&mut self, content: &[u8]) {
        if self.unit == 1 {
            let all = memchr::memchr_iter(b'\n', content).count() as u64;
            if all == 0 {
                self.cr_alone = memchr::memchr_iter(b'\r', content).count() as u64;
            } else if memchr::memchr(b'\r', content).is_some() {
                self.crlf = memchr::memmem::find_iter(content, b"\r\n").count() as u64;
            }
            self.lf_alone = all - self.crlf;
            return;
        }
        let mut after_cr = false;
        for unit in content.as_chunks::<2>().0 {
            if *unit == self.lf {
                if after_cr { self.crlf += 1 } else { self.lf_alone += 1 }
            }
            after_cr = *unit == self.cr;
            self.cr_alone += u64::from(after_cr);
        }
    }

    pub(super) fn eol(&self) -> Eol {
        match (self.lf_alone, self.crlf, self.cr_alone) {
            (0, 0, 0) => Eol::None,
            (0, 0, _) => Eol::Cr,
            (_, 0, _) => Eol::Lf,
            (0, _, _) => Eol::Crlf,
            _ => Eol::Mixed,
        }
    }

    /// The line end that most lines have, as text; none when there is none.
    pub(super) fn dominant(&self) -> Option<&'static str> {
        match self.eol() {
            Eol::None => None,
            Eol::Cr => Some("\r"),
            Eol::Lf => Some("\n"),
            Eol::Crlf => Some("\r\n"),
            Eol::Mixed => Some(if self.crlf > self.lf_alone { "\r\n" } else { "\n" }),
        }
    }

    /// The bytes of the unit that ends lines.
    fn terminator(&self) -> &[u8] {
        let unit = if self.eol() == Eol::Cr { &self.cr } else { &self.lf };
        unit.get(..self.unit).unwrap_or(unit)
    }

    fn terminator_pair(&self) -> [u8; 2] {
        if self.eol() == Eol::Cr { self.cr } else { self.lf }
    }

    /// The unit at `at` as a number, its bytes as they stand; none at the end.
    pub(super) fn unit_at(&self, content: &[u8], at: usize) -> Option<u16> {
        let first = *content.get(at)?;
        let second = if self.unit == 2 { content.get(at + 1).copied().unwrap_or_default() } else { 0 };
        Some(u16::from_be_bytes([first, second]))
    }

    pub(super) fn lf_unit(&self) -> u16 {
        u16::from_be_bytes([self.lf[0], if self.unit == 2 { self.lf[1] } else { 0 }])
    }

    pub(super) fn cr_unit(&self) -> u16 {
        u16::from_be_bytes([self.cr[0], if self.unit == 2 { self.cr[1] } else { 0 }])
    }

    /// Whether bytes end with the unit that ends lines.
    pub(super) fn ends_line(&self, bytes: &[u8]) -> bool {
        bytes.ends_with(self.terminator())
    }

    /// Whether a line begins at `at`.
    pub(super) fn begins_line(&self, content: &[u8], at: usize) -> bool {
        at <= self.mark || self.ends_line(part(content, 0, at))
    }

    /// Where the line begins that holds `at`; `at` itself when it follows a line end.
    pub(super) fn line_start(&self, content: &[u8], at: usize) -> usize {
        let before = part(content, self.mark, at);
        let found = if self.unit == 1 {
            memchr::memrchr(self.terminator_pair()[0], before).map(|found| found + 1)
        } else {
            let pair = self.terminator_pair();
            before.as_chunks::<2>().0.iter().rposition(|unit| *unit == pair).map(|found| found * 2 + 2)
        };
        self.mark + found.unwrap_or_default()
    }

    /// Where the line ends that holds `at`, its line end included.
    pub(super) fn line_end(&self, content: &[u8], at: usize) -> usize {
        let rest = part(content, at, content.len());
        at + self.first_line(rest)
    }

    /// Bytes of the first line of `bytes`, its line end included.
    pub(super) fn first_line(&self, bytes: &[u8]) -> usize {
        let found = if self.unit == 1 {
            memchr::memchr(self.terminator_pair()[0], bytes).map(|found| found + 1)
        } else {
            let pair = self.terminator_pair();
            bytes.as_chunks::<2>().0.iter().position(|unit| *unit == pair).map(|found| found * 2 + 2)
        };
        found.unwrap_or(bytes.len())
    }

    /// Line ends in `bytes`.
    pub(super) fn line_ends(&self, bytes: &[u8]) -> u64 {
        if self.unit == 1 {
            return memchr::memchr_iter(self.terminator_pair()[0], bytes).count() as u64;
        }
        let pair = self.terminator_pair();
        bytes.as_chunks::<2>().0.iter().filter(|unit| **unit == pair).count() as u64
    }

    /// Lines of a whole content.
    pub(super) fn lines(&self, content: &[u8]) -> u64 {
        let ends = if self.eol() == Eol::Cr { self.cr_alone } else { self.lf_alone + self.crlf };
        ends + u64::from(content.len() > self.mark && !self.ends_line(content))
    }

    /// Number of the line that holds `at`, from 1.
    pub(super) fn line_no(&self, content: &[u8], at: usize) -> u64 {
        self.line_ends(part(content, self.mark, at)) + 1
    }

    /// The lines of `bytes`, each with its line end.
    pub(super) fn split<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = bytes;
        std::iter::from_fn(move || {
            let (line, after) = rest.split_at_checked(self.first_line(rest)).filter(|(line, _)| !line.is_empty())?;
            rest = after;
            Some(line)
        })
    }

    /// A line without its line end.
    pub(super) fn content_of<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        let Some(line) = line.strip_suffix(self.terminator()) else { return line };
        line.strip_suffix(self.cr.get(..self.unit).unwrap_or_default()).unwrap_or(line)
    }

    /// A line's text for people and the model: without its line end, at most `chars` characters; and whether it was cut.
    pub(super) fn text(&self, line: &[u8], chars: usize) -> (String, bool) {
        let line = self.content_of(line);
        // No encoding has characters of more than four bytes; a character that this parts lies behind the cut.
        let most = (chars + 1) * 4;
        let text = self.encoding.decode(part(line, 0, most.min(line.len())));
        let text = crate::ingest::string(crate::ingest::Source::File, text);
        match text.char_indices().nth(chars) {
            Some((at, _)) => (text.get(..at).unwrap_or_default().to_owned(), true),
            None => (text, line.len() > most),
        }
    }
}

/// `bytes[from..to]`, empty where that is no range of it.
pub(super) fn part(bytes: &[u8], from: usize, to: usize) -> &[u8] {
    bytes.get(from..to).unwrap_or_default()
}

/// `text` with every `\r\n` as `\n`, without a copy when there is none.
pub(super) fn with_lf(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() }
}
