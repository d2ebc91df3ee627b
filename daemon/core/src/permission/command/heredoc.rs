//! Where a here-document ends, by bash's own rule: the first line that is the delimiter.

use super::Unparsed;

/// A here-document's text.
#[derive(Debug, PartialEq, Eq)]
pub struct Extent {
    /// End of the line that holds the operator.
    pub line_end: usize,
    /// First byte of the text.
    pub from: usize,
    /// First byte of the line with the delimiter, which is the end of the text.
    pub to: usize,
    /// First byte of the delimiter itself.
    pub delimiter: usize,
}

/// Finds the text of the here-document whose operator's word ends at byte `after`. `tabs` are taken off its lines for `<<-`;
/// `expands` says that its text is not quoted, so that a backslash can join lines.
pub fn extent(text: &str, after: usize, delimiter: &str, tabs: bool, expands: bool) -> Result<Extent, Unparsed> {
    let unclear = || Unparsed("it is not clear where a here-document begins and ends".to_owned());
    let rest = text.get(after..).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default();
    if delimiter.is_empty() || delimiter.contains('\n') || !ends_line(line) {
        return Err(unclear());
    }
    let line_end = after + line.len();
    let from = line_end + 1;
    let mut at = from;
    for line in text.get(from..).unwrap_or_default().split('\n') {
        let bare = if tabs { line.trim_start_matches('\t') } else { line };
        if bare == delimiter {
            return Ok(Extent { line_end, from, to: at, delimiter: at + line.len() - bare.len() });
        }
        if expands && line.ends_with('\\') {
            return Err(unclear());
        }
        at += line.len() + 1;
    }
    Err(unclear())
}

/// Whether the text begins on the next line: no quote is open at the end of this one, and no other here-document begins.
fn ends_line(line: &str) -> bool {
    if line.contains("<<") || line.contains(['\\', '`']) || line.contains("$(") {
        return false;
    }
    let mut open = None;
    for c in line.chars() {
        match (open, c) {
            (None, '\'' | '"') => open = Some(c),
            (Some(quote), c) if quote == c => open = None,
            _ => {}
        }
    }
    open.is_none()
}
