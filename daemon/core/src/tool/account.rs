//! What a session is about, as the model reads it: in short what it began with, then its most recent turns, then the call
//! that shows earlier ones. The text of a turn is the mirror's own, so that the pages put together are the transcript, byte
//! for byte.
//!
//! Pure. The values are read by `store`; shown by `read_session`, and beside a prompt that refers to a session.

use crate::id::{ItemNo, SessionId, TurnNo};
use crate::tokens::tokens;
use crate::tool::projection::Budget;
use crate::tool::projection::call::call;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt;
use std::fmt::Write as _;
use std::str::FromStr;

/// The name of the tool that shows a session.
pub const TOOL: &str = "read_session";

/// The background's part of a first look, in hundredths.
const BACKGROUND: u64 = 30;

/// Beside the records so many tokens are kept for heads and notices.
const HEADS: u64 = 400;

/// The head of a turn costs about so many tokens.
const TURN_HEAD: u64 = 12;

/// Characters of a title that are shown.
const TITLE_CHARS: usize = 200;

/// What of a session is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// The first look: background and the most recent turns.
    Recent,
    /// This turn, and those before it as far as they fit.
    Turn(TurnNo),
    /// The rest of a turn from a place in it on.
    From(Place),
}

/// A place in a transcript: a byte of an item's record. As text `#17+2000`, or `#17` for its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The item.
    pub item: ItemNo,
    /// The first byte of its record that is meant.
    pub byte: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.byte {
            0 => write!(f, "#{}", self.item),
            byte => write!(f, "#{}+{byte}", self.item),
        }
    }
}

impl FromStr for Place {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let place = || {
            let text = text.trim().strip_prefix('#')?;
            let (item, byte) = text.split_once('+').unwrap_or((text, "0"));
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if !digits(item) || !digits(byte) {
                return None;
            }
            Some(Self { item: ItemNo(item.parse().ok()?), byte: byte.parse().ok()? })
        };
        place().ok_or_else(|| {
            let shown: String = text.chars().take(80).collect();
            format!("`{shown}` is not a cursor: a result names its next page as `#<item>+<byte>`, such as #17+2000")
        })
    }
}

/// An item as the mirror has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its number.
    pub no: ItemNo,
    /// The turn in which it stands.
    pub turn: TurnNo,
    /// Its record, head line and body.
    pub text: String,
}

/// What a session began with, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Background {
    /// The latest summary.
    Summary(String),
    /// The first thing that the user said.
    Request {
        /// Its item.
        item: ItemNo,
        /// Its text.
        text: String,
    },
    /// Nothing was said yet.
    Nothing,
}

/// What was read of a session for one part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The session; none for the one that asks.
    pub session: Option<SessionId>,
    /// Its title; empty where it has none.
    pub title: String,
    /// Its last item.
    pub items: ItemNo,
    /// Its last turn.
    pub turns: TurnNo,
    /// The path of its mirror in text form.
    pub transcript: String,
    /// What it began with; read for the first look only.
    pub background: Background,
    /// Records in order: of the asked turn and whole turns before it, or of one turn from a place on.
    pub records: Vec<Record>,
    /// Whether the last record is the last of its turn.
    pub complete: bool,
    /// The turn before the first record's, which [`Part::Turn`] shows; none where there is none.
    pub before: Option<TurnNo>,
}

impl Part {
    /// What a look at it may cost, in estimated tokens.
    pub fn budget(self, budget: Budget) -> u64 {
        match self {
            Self::Recent => budget.tokens,
            Self::Turn(_) | Self::From(_) => budget.asked_tokens,
        }
        .min(budget.general_tokens)
    }
}

impl Account {
    /// The text for a look of at most about `budget` tokens. It always shows something of the records, and the call for what
    /// it leaves out.
    pub fn show(&self, part: Part, budget: u64) -> String {
        let mut out = self.head();
        let mut room = budget.saturating_sub(HEADS).max(1);
        if part == Part::Recent {
            self.show_background(&mut out, room.saturating_mul(BACKGROUND) / 100);
            room = room.saturating_mul(100 - BACKGROUND) / 100;
        }
        let place = match part {
            Part::From(place) => Some(place),
            Part::Recent | Part::Turn(_) => None,
        };
        let shown = self.fitting(place, room);
        for (turn, records) in shown.chunk_by(|a, b| a.turn == b.turn).filter_map(|all| Some((all.first()?.turn, all)))
        {
            self.show_turn(&mut out, turn, records, place, room);
        }
        let first = shown.first().map(|record| record.turn);
        let earlier = self.records.iter().rev().map(|record| record.turn).find(|turn| Some(*turn) < first);
        match earlier.or(self.before) {
            Some(turn) => {
                let _ = writeln!(out, "\n[earlier turns: {}]", self.again("turn", &json!(turn.0)));
            }
            None if first.is_some() => out.push_str("\n[nothing stands before this]\n"),
            None => out.push_str("\n[nothing was said in it yet]\n"),
        }
        out
    }

    fn head(&self) -> String {
        let what = self.session.as_ref().map_or_else(|| "This session".to_owned(), |id| format!("Session {id}"));
        let title: String = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title: String = title.chars().filter(|c| !c.is_control()).take(TITLE_CHARS).collect();
        let title = if title.is_empty() { String::new() } else { format!(" \"{title}\"") };
        format!("{what}{title}: {} turns, {} items, all in {}\n", self.turns, self.items, self.transcript)
    }

    fn show_background(&self, out: &mut String, room: u64) {
        let (what, text, whole) = match &self.background {
            Background::Summary(text) => ("the latest summary", text, None),
            Background::Request { item, text } => ("the first request", text, Some(*item)),
            Background::Nothing => return,
        };
        let item = whole.map(|item| format!(" (#{item})")).unwrap_or_default();
        let kept = beginning(text, room);
        let _ = write!(out, "\nBackground: {what}{item}\n{kept}");
        if !kept.ends_with('\n') {
            out.push('\n');
        }
        if kept.len() < text.len() {
            let rest = match whole {
                Some(item) => self.again("cursor", &json!(Place { item, byte: 0 }.to_string())),
                None => call("read_file", &[("target_file", json!(self.transcript))]),
            };
            let _ = writeln!(out, "[{} bytes of it are left out: {rest}]", text.len() - kept.len());
        }
    }

    /// The records to show: whole turns at the end as far as they fit, else the beginning of the last one.
    fn fitting(&self, place: Option<Place>, room: u64) -> &[Record] {
        let all = self.records.as_slice();
        if place.is_some() {
            return all;
        }
        let mut from = all.len();
        let mut left = room;
        for turn in all.chunk_by(|a, b| a.turn == b.turn).rev() {
            let cost: u64 = turn.iter().map(|record| tokens(&record.text)).sum();
            let cost = cost.saturating_add(TURN_HEAD);
            if from < all.len() && cost > left {
                break;
            }
            from -= turn.len();
            left = left.saturating_sub(cost);
        }
        all.get(from..).unwrap_or_default()
    }

    /// One turn; of one that does not fit, its beginning and the call for the rest.
    fn show_turn(&self, out: &mut String, turn: TurnNo, records: &[Record], place: Option<Place>, room: u64) {
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return };
        let (mut left, mut body, mut rest) = (room, String::new(), None);
        let mut until = first.no;
        for record in records {
            let from = place.filter(|place| place.item == record.no).map_or(0, |place| place.byte);
            let text = record.text.get(from..).unwrap_or_default();
            let kept = if tokens(text) <= left {
                text
            } else if body.is_empty() {
                beginning(text, left)
            } else {
                ""
            };
            body.push_str(kept);
            left = left.saturating_sub(tokens(kept));
            if !kept.is_empty() {
                until = record.no;
            }
            if kept.len() < text.len() {
                rest = Some(Place { item: record.no, byte: from + kept.len() });
                break;
            }
        }
        let after =
            (!self.complete && self.records.last() == Some(last)).then(|| Place { item: last.no.next(), byte: 0 });
        let begins = place.map_or_else(|| format!("#{}", first.no), |place| place.to_string());
        let _ = write!(out, "\nTurn {turn}, {begins} to #{until}\n{body}");
        if !body.ends_with('\n') {
            out.push('\n');
        }
        if let Some(rest) = rest.or(after) {
            let _ = writeln!(out, "[turn {turn} goes on: {}]", self.again("cursor", &json!(rest.to_string())));
        }
    }

    /// The call that shows another part of the same session.
    fn again(&self, field: &str, value: &serde_json::Value) -> String {
        let session = json!(self.session.as_ref().map(SessionId::as_str));
        call(TOOL, &[("session", session), (field, value.clone())])
    }
}

/// As much of the beginning as fits, whole lines where a line does; at least one character.
fn beginning(text: &str, room: u64) -> &str {
    if tokens(text) <= room {
        return text;
    }
    let (mut kept, mut left) = (0, room);
    for line in text.split_inclusive('\n') {
        let cost = tokens(line);
        if cost > left {
            break;
        }
        left -= cost;
        kept += line.len();
    }
    if kept == 0 {
        // No token is shorter than a byte.
        let most = usize::try_from(room).unwrap_or(usize::MAX).max(1);
        kept = text.ceil_char_boundary(most.min(text.len()));
    }
    text.get(..kept).unwrap_or(text)
}

#[cfg(test)]
mod tests;
