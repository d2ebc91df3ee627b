//! Bytes into lines, piece by piece: line ends in units of one or two bytes, lines of any length in bounded memory.

use super::encoding::Unit;

/// Which line ends a text has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Eols {
    /// Line feeds alone.
    pub lf: u64,
    /// Carriage return and line feed.
    pub crlf: u64,
    /// Carriage returns alone.
    pub cr: u64,
    /// The text's last unit; none for an empty text.
    last: Option<u16>,
}

impl Eols {
    /// The word that results show. Lone carriage returns are content where other line ends exist.
    pub fn word(self) -> &'static str {
        match self {
            Self { lf: 0, crlf: 0, cr: 0, .. } => "none",
            Self { lf: 0, crlf: 0, .. } => "cr",
            Self { crlf: 0, .. } => "lf",
            Self { lf: 0, .. } => "crlf",
            _ => "mixed",
        }
    }

    /// The character that ends lines.
    pub fn terminator(self) -> u8 {
        if self.word() == "cr" { b'\r' } else { b'\n' }
    }

    /// Whether the text ends without a line end.
    pub fn unended(self) -> bool {
        self.last.is_some_and(|unit| unit != u16::from(self.terminator()))
    }

    /// Lines of the text: a final line end does not begin a further one.
    pub fn lines(self) -> u64 {
        let terminator = self.terminator();
        let ended = if terminator == b'\r' { self.cr } else { self.lf + self.crlf };
        ended + u64::from(self.unended())
    }
}

/// Counts line ends over pieces, whatever the cuts between them.
#[derive(Debug)]
pub struct EolCount {
    unit: Unit,
    eols: Eols,
    after_cr: bool,
    half: Option<u8>,
}

impl EolCount {
    /// Begins before the first byte after a byte order mark.
    pub fn new(unit: Unit) -> Self {
        Self { unit, eols: Eols::default(), after_cr: false, half: None }
    }

    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        match self.unit {
            Unit::Byte => {
                let mut rest = piece;
                while let Some(at) = rest.iter().position(|b| *b == b'\n' || *b == b'\r') {
                    if at > 0 {
                        self.other();
                    }
                    self.unit(u16::from(rest.get(at).copied().unwrap_or_default()));
                    rest = rest.get(at + 1..).unwrap_or_default();
                }
                if let Some(last) = rest.last() {
                    self.other();
                    self.eols.last = Some(u16::from(*last));
                }
            }
            Unit::LittleEndian | Unit::BigEndian => {
                for byte in piece {
                    match self.half.take() {
                        None => self.half = Some(*byte),
                        Some(first) => {
                            let pair = [first, *byte];
                            let little = self.unit == Unit::LittleEndian;
                            self.unit(if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) });
                        }
                    }
                }
            }
        }
    }

    /// The counts, at the end.
    pub fn end(mut self) -> Eols {
        self.other();
        if self.half.is_some() {
            self.eols.last = Some(0);
        }
        self.eols
    }

    fn unit(&mut self, unit: u16) {
        self.eols.last = Some(unit);
        match unit {
            0x0A if self.after_cr => {
                self.after_cr = false;
                self.eols.crlf += 1;
            }
            0x0A => self.eols.lf += 1,
            0x0D => {
                self.other();
                self.after_cr = true;
            }
            _ => self.other(),
        }
    }

    fn other(&mut self) {
        self.eols.cr += u64::from(self.after_cr);
        self.after_cr = false;
    }
}

/// One line as it is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub no: u64,
    /// Place of its first byte in the file.
    pub start: u64,
    /// Place after its last byte, without its line end.
    pub end: u64,
    /// Its bytes without the line end; of a longer line than the splitter keeps, the beginning.
    pub bytes: &'a [u8],
}

/// Splits pieces into lines. A final line end does not begin a further line.
#[derive(Debug)]
pub struct Splitter {
    unit: Unit,
    terminator: u8,
    keep: usize,
    no: u64,
    start: u64,
    at: u64,
    kept: Vec<u8>,
    /// Bytes of a two-byte unit that a cut between pieces parted.
    half: Option<u8>,
    /// Whether the unit before was a carriage return, which belongs to a line feed that follows.
    after_cr: bool,
}

impl Splitter {
    /// Begins at place `start` of the file, keeping at most `keep` bytes of a line.
    pub fn new(unit: Unit, terminator: u8, start: u64, keep: usize) -> Self {
        Self { unit, terminator, keep, no: 1, start, at: start, kept: Vec::new(), half: None, after_cr: false }
    }

    /// Takes the next piece and gives each line that ends in it; stops when `line` says false.
    pub fn feed(&mut self, piece: &[u8], mut line: impl FnMut(Line<'_>) -> bool) -> bool {
        if self.unit == Unit::Byte {
            let mut rest = piece;
            while let Some(found) = rest.iter().position(|b| *b == self.terminator) {
                self.content(rest.get(..found).unwrap_or_default());
                if !self.ended(1, &mut line) {
                    return false;
                }
                rest = rest.get(found + 1..).unwrap_or_default();
            }
            self.content(rest);
            return true;
        }
        for byte in piece {
            let Some(first) = self.half.take() else {
                self.half = Some(*byte);
                continue;
            };
            let pair = [first, *byte];
            let unit =
                if self.unit == Unit::LittleEndian { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) };
            if unit == u16::from(self.terminator) {
                if !self.ended(2, &mut line) {
                    return false;
                }
            } else {
                self.content(&pair);
                self.after_cr = unit == 0x0D;
            }
        }
        true
    }

    /// Number of the line that the next byte belongs to.
    pub fn line_no(&self) -> u64 {
        self.no
    }

    /// The file ends: gives the last line when it has no line end.
    pub fn end(mut self, mut line: impl FnMut(Line<'_>) -> bool) {
        if let Some(half) = self.half.take() {
            self.content(&[half]);
        }
        if self.at > self.start {
            line(Line { no: self.no, start: self.start, end: self.at, bytes: &self.kept });
        }
    }

    fn content(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        let room = self.keep.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        self.at += bytes.len() as u64;
        self.after_cr = *last == b'\r' && self.unit == Unit::Byte;
    }

    /// A line end of `width` bytes stands at the present place.
    fn ended(&mut self, width: u64, line: &mut impl FnMut(Line<'_>) -> bool) -> bool {
        let strip = if self.after_cr && self.terminator == b'\n' { width } else { 0 };
        let end = self.at - strip;
        let kept = self.kept.len().min((end - self.start) as usize);
        let bytes = self.kept.get(..kept).unwrap_or_default();
        let more = line(Line { no: self.no, start: self.start, end, bytes });
        self.no += 1;
        self.at += width;
        self.start = self.at;
        self.kept.clear();
        self.after_cr = false;
        more
    }
}
