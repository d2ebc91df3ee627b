//! Which encoding a file's bytes are in, and text from them.
//!
//! A byte order mark decides; else valid UTF-8 is UTF-8; else a file that has more valid than invalid sequences is
//! damaged UTF-8 and shown lossily; else the likeliest legacy encoding is taken.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{EncoderResult, Encoding};
use plimsoll_core::ingest::{Source, text as ingest};

/// Bytes from which a legacy encoding is guessed.
const SAMPLE: usize = 256 * 1024;

/// Bytes before the first one that is not ASCII that are part of the sample: what stands beside it tells most.
const CONTEXT: usize = 64;

/// How a file's bytes are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoder {
    encoding: &'static Encoding,
    /// Bytes of the byte order mark.
    pub bom: usize,
    /// Some bytes are not valid in the encoding and become U+FFFD.
    pub lossy: bool,
}

impl Decoder {
    /// Plain UTF-8.
    pub const UTF8: Self = Self { encoding: encoding_rs::UTF_8, bom: 0, lossy: false };

    /// How these bytes, which are a whole file, are to be read; none when they are no text.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let mut detect = Detect::new(bytes);
        detect.feed(bytes.get(detect.bom()..).unwrap_or_default());
        detect.end()
    }

    /// The likeliest encoding of bytes that are not UTF-8.
    fn guess(sample: &[u8]) -> Self {
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(sample, true);
        Self { encoding: detector.guess(None, Utf8Detection::Deny), bom: 0, lossy: false }
    }

    /// The bytes of a text, without a byte order mark; else the first character that the encoding does not have. Where
    /// U+FFFD stands for bytes that are not valid, it is no character that could be written.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        match self.unit() {
            Unit::LittleEndian => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Unit::BigEndian => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Unit::Byte if self.lossy && text.contains(char::REPLACEMENT_CHARACTER) => Err(char::REPLACEMENT_CHARACTER),
            Unit::Byte if self.encoding == encoding_rs::UTF_8 => Ok(text.as_bytes().to_vec()),
            Unit::Byte => self.encode_legacy(text),
        }
    }

    fn encode_legacy(self, text: &str) -> Result<Vec<u8>, char> {
        /// Room for what the encoder may still have to write at the end.
        const SPARE: usize = 16;
        let mut encoder = self.encoding.new_encoder();
        let mut bytes = Vec::new();
        let mut rest = text;
        loop {
            bytes.reserve(rest.len() + SPARE);
            let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
            rest = rest.get(read..).unwrap_or_default();
            match result {
                EncoderResult::InputEmpty => return Ok(bytes),
                EncoderResult::OutputFull => {}
                EncoderResult::Unmappable(c) => return Err(c),
            }
        }
    }

    /// The byte order mark itself.
    pub fn mark(self) -> &'static [u8] {
        match self.unit() {
            _ if self.bom == 0 => &[],
            Unit::LittleEndian => &[0xFF, 0xFE],
            Unit::BigEndian => &[0xFE, 0xFF],
            Unit::Byte => &[0xEF, 0xBB, 0xBF],
        }
    }

    /// Bytes per unit in which line ends are looked for, and whether the high byte comes first.
    pub fn unit(self) -> Unit {
        if self.encoding == encoding_rs::UTF_16LE {
            Unit::LittleEndian
        } else if self.encoding == encoding_rs::UTF_16BE {
            Unit::BigEndian
        } else {
            Unit::Byte
        }
    }

    /// The name as results show it.
    pub fn name(self) -> String {
        let name = self.encoding.name().to_ascii_lowercase();
        if self.bom > 0 && name == "utf-8" { "utf-8-bom".to_owned() } else { name }
    }

    /// Text from bytes without a byte order mark, and whether any byte was invalid.
    pub fn decode(self, bytes: &[u8]) -> (String, bool) {
        let (text, had_errors) = self.encoding.decode_without_bom_handling(bytes);
        if text.contains('\0') {
            (ingest(Source::File, text.as_bytes()), true)
        } else {
            (text.into_owned(), had_errors)
        }
    }

    /// How many of `bytes`, which begin a character, hold its first `chars` characters; all when there are fewer.
    pub fn bytes_of_chars(self, bytes: &[u8], chars: usize) -> usize {
        match self.unit() {
            Unit::Byte if self.encoding == encoding_rs::UTF_8 => utf8_bytes_of_chars(bytes, chars),
            Unit::Byte if self.encoding.is_single_byte() => chars.min(bytes.len()),
            Unit::Byte => self.measured(bytes, chars),
            Unit::LittleEndian => utf16_bytes_of_chars(bytes, chars, u16::from_le_bytes),
            Unit::BigEndian => utf16_bytes_of_chars(bytes, chars, u16::from_be_bytes),
        }
    }

    /// How many of `bytes`, which begin a character, hold whole characters: none when the first one is unfinished, all
    /// when no cut near their end makes them valid.
    pub fn whole_chars(self, bytes: &[u8]) -> usize {
        let less = if self.encoding == encoding_rs::UTF_8 {
            let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
            // Among invalid bytes only an unfinished character is left to the next piece.
            let unfinished = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
            Some(if unfinished { last.len() } else { 0 })
        } else {
            (0..4).find(|less| !self.decode(bytes.get(..bytes.len().saturating_sub(*less)).unwrap_or_default()).1)
        };
        bytes.len().saturating_sub(less.unwrap_or(0))
    }

    /// Counts characters over pieces, whatever the cuts between them.
    pub fn counter(self) -> CharCount {
        CharCount { decoder: self.encoding.new_decoder_without_bom_handling(), chars: 0 }
    }

    /// Multi-byte legacy encodings: the length is found by decoding ever longer starts, halving the step.
    fn measured(self, bytes: &[u8], chars: usize) -> usize {
        let count = |end: usize| {
            let (text, _) = self.encoding.decode_without_bom_handling(bytes.get(..end).unwrap_or(bytes));
            text.chars().count()
        };
        if count(bytes.len()) <= chars {
            return bytes.len();
        }
        // The count grows with the length but for an unfinished last character, which counts as one.
        let (mut low, mut high) = (0, bytes.len());
        while low + 1 < high {
            let middle = usize::midpoint(low, high);
            if count(middle) <= chars { low = middle } else { high = middle }
        }
        low
    }
}

impl plimsoll_core::edit::Encoding for Decoder {
    fn encode(&self, text: &str) -> Result<Vec<u8>, char> {
        Self::encode(*self, text)
    }

    fn decode(&self, bytes: &[u8]) -> String {
        Self::decode(*self, bytes).0
    }

    fn unit(&self) -> usize {
        match Self::unit(*self) {
            Unit::Byte => 1,
            Unit::LittleEndian | Unit::BigEndian => 2,
        }
    }
}

/// Finds out how a file is to be read from its bytes in pieces, whatever the cuts between them.
pub struct Detect {
    mark: Option<Decoder>,
    utf8: Utf8Count,
    /// The last bytes before `sample` begins.
    context: Vec<u8>,
    sample: Vec<u8>,
    binary: bool,
}

impl Detect {
    /// Of a file that begins with these bytes; four are enough.
    pub fn new(start: &[u8]) -> Self {
        let mark = Encoding::for_bom(start).map(|(encoding, bom)| Decoder { encoding, bom, lossy: false });
        Self { mark, utf8: Utf8Count::default(), context: Vec::new(), sample: Vec::new(), binary: false }
    }

    /// Bytes of the byte order mark, which is not to be fed.
    pub fn bom(&self) -> usize {
        self.mark.map_or(0, |mark| mark.bom)
    }

    /// In what steps line ends are to be looked for.
    pub fn unit(&self) -> Unit {
        self.mark.map_or(Unit::Byte, Decoder::unit)
    }

    /// Takes the next piece; false when the file is known to be no text.
    pub fn feed(&mut self, text: &[u8]) -> bool {
        if self.unit() == Unit::Byte {
            self.binary |= text.contains(&0);
            self.utf8.feed(text);
            self.take_sample(text);
        }
        !self.binary
    }

    /// How the file is to be read; none when it is no text.
    pub fn end(mut self) -> Option<Decoder> {
        if self.binary {
            return None;
        }
        self.utf8.end();
        let damaged = |decoder| Decoder { lossy: true, ..decoder };
        Some(match self.mark {
            Some(mark) if self.utf8.invalid > 0 => damaged(mark),
            Some(mark) => mark,
            None if self.utf8.invalid == 0 => Decoder::UTF8,
            None if self.utf8.multibyte > self.utf8.invalid => damaged(Decoder::UTF8),
            None => Decoder::guess(&self.sample),
        })
    }

    fn take_sample(&mut self, text: &[u8]) {
        let text = if self.sample.is_empty() {
            let ascii = text.iter().take_while(|byte| byte.is_ascii()).count();
            let (before, from) = text.split_at_checked(ascii).unwrap_or((text, &[]));
            self.context.extend_from_slice(before.get(before.len().saturating_sub(CONTEXT)..).unwrap_or(before));
            self.context.drain(..self.context.len().saturating_sub(CONTEXT));
            if from.is_empty() {
                return;
            }
            self.sample.append(&mut self.context);
            from
        } else {
            text
        };
        let room = SAMPLE.saturating_sub(self.sample.len());
        self.sample.extend_from_slice(text.get(..room).unwrap_or(text));
    }
}

/// A count of characters.
pub struct CharCount {
    decoder: encoding_rs::Decoder,
    /// Characters so far.
    pub chars: u64,
}

impl CharCount {
    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8], last: bool) {
        let room = self.decoder.max_utf8_buffer_length(piece.len()).unwrap_or(piece.len().saturating_mul(4));
        let mut text = String::with_capacity(room);
        let _ = self.decoder.decode_to_string(piece, &mut text, last);
        self.chars += text.chars().count() as u64;
    }
}

/// In what steps line ends are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// One byte; in every supported encoding but UTF-16 the byte 0x0A is always a line feed.
    Byte,
    /// Two bytes, the low one first.
    LittleEndian,
    /// Two bytes, the high one first.
    BigEndian,
}

fn utf8_bytes_of_chars(bytes: &[u8], chars: usize) -> usize {
    let mut left = chars;
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for (offset, _) in chunk.valid().char_indices() {
            if left == 0 {
                return at + offset;
            }
            left -= 1;
        }
        at += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            if left == 0 {
                return at;
            }
            left -= 1;
            at += chunk.invalid().len();
        }
    }
    at
}

fn utf16_bytes_of_chars(bytes: &[u8], chars: usize, unit: impl Fn([u8; 2]) -> u16) -> usize {
    let units = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair));
    let mut at = 0;
    for c in char::decode_utf16(units).take(chars) {
        at += match c {
            Ok(c) => c.len_utf16() * 2,
            Err(_) => 2,
        };
    }
    at
}

/// Counts of UTF-8 sequences over pieces of a file, whatever the cuts between them.
#[derive(Debug, Default)]
pub struct Utf8Count {
    /// Valid sequences of more than one byte.
    pub multibyte: u64,
    /// Invalid sequences.
    pub invalid: u64,
    carry: Vec<u8>,
}

impl Utf8Count {
    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        if self.carry.is_empty() {
            self.count(piece);
        } else {
            let mut joined = std::mem::take(&mut self.carry);
            joined.extend_from_slice(piece);
            self.count(&joined);
        }
    }

    /// The file ends: an unfinished sequence is invalid.
    pub fn end(&mut self) {
        self.invalid += u64::from(!self.carry.is_empty());
        self.carry.clear();
    }

    fn count(&mut self, bytes: &[u8]) {
        if bytes.is_ascii() {
            return;
        }
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            self.multibyte += chunk.valid().chars().filter(|c| c.len_utf8() > 1).count() as u64;
            at += chunk.valid().len() + chunk.invalid().len();
            let unfinished = at == bytes.len()
                && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            if unfinished {
                self.carry = chunk.invalid().to_vec();
            } else {
                self.invalid += u64::from(!chunk.invalid().is_empty());
            }
        }
    }
}
