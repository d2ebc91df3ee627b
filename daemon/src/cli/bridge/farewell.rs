//! Sees in the bytes that an editor sends whether it calls `shutdown`, after which the daemon closes the connection in good
//! order. Framing and the rest of a message do not matter: in the text of a prompt the quotes are escaped.

/// What ends a connection, without the blanks that may stand around the colon.
const CALL: &[u8] = br#""method":"shutdown""#;
/// Where in [`CALL`] the colon is.
const COLON: usize = 8;

/// How much of a call was seen. Bytes may come in any pieces.
#[derive(Debug, Default)]
pub(super) struct Farewell {
    seen: usize,
}

impl Farewell {
    /// Whether the call ends in these bytes.
    pub(super) fn is_said_in(&mut self, bytes: &[u8]) -> bool {
        let mut said = false;
        for byte in bytes {
            if matches!(self.seen, COLON | 9) && byte.is_ascii_whitespace() {
                continue;
            }
            self.seen = match CALL.get(self.seen) {
                Some(expected) if expected == byte => self.seen + 1,
                // Every piece of the call that begins anew begins with a quote.
                _ => usize::from(*byte == b'"'),
            };
            if self.seen == CALL.len() {
                said = true;
                self.seen = 0;
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> bool {
        let whole = Farewell::default().is_said_in(text.as_bytes());
        let mut pieces = Farewell::default();
        // No `any`, which would leave the rest unread.
        let single = text.as_bytes().chunks(1).filter(|byte| pieces.is_said_in(byte)).count() > 0;
        assert_eq!(whole, single, "{text}");
        whole
    }

    #[test]
    fn a_call_is_seen_however_it_is_written_and_cut() {
        assert!(said(r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#));
        assert!(said("Content-Length: 44\r\n\r\n{\"method\" :\n \"shutdown\", \"id\": 1}"));
        assert!(said(r#"{"id":"method","method":"session/list"}{"id":"","method":"shutdown"}"#));
    }

    #[test]
    fn what_only_speaks_of_it_is_none() {
        assert!(!said(r#"{"method":"turn/start","params":{"text":"call \"method\":\"shutdown\""}}"#));
        assert!(!said(r#"{"method":"shutdowns"}{"shutdown":"method"}"#));
        assert!(!said(r#"{"id":"method"} "shutdown""#));
    }
}
