//! `<session>`: what a session is about that the user referred to, by `@session:<id>` or by an attachment. Said once, in that
//! turn's message.
//!
//! Sessions share a budget as attached files do; what it leaves out is a call of `read_session` away.

use super::attached_files::budget;
use super::cut::one_line;
use crate::escape;
use crate::workspace::{AttachedSession, Attachment};

/// What stands before an id in a prompt.
const MENTION: &str = "@session:";

/// Sessions that one prompt can refer to.
const MOST: usize = 8;

/// The sessions that a prompt's text names, each once, in order.
pub fn mentioned(text: &str) -> Vec<Attachment> {
    let mut found: Vec<Attachment> = Vec::new();
    for (at, _) in text.match_indices(MENTION) {
        let in_word = text.get(..at).and_then(|before| before.chars().next_back()).is_some_and(char::is_alphanumeric);
        let rest = text.get(at + MENTION.len()..).unwrap_or_default();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(rest.len());
        let session = rest.get(..end).unwrap_or_default().to_owned();
        let one = Attachment::Session { session };
        if end > 0 && !in_word && !found.contains(&one) {
            found.push(one);
        }
    }
    found.truncate(MOST);
    found
}

/// What may be shown of each of so many sessions to a model with this window, in estimated tokens.
pub fn each(window: u64, count: usize) -> u64 {
    budget(window) / (count as u64).max(1)
}

/// The blocks; empty when there are none.
pub fn render(sessions: &[AttachedSession]) -> String {
    let blocks = sessions.iter().map(|session| {
        let id = attribute(&session.session);
        match &session.content {
            Ok((transcript, text)) => {
                let (transcript, text) = (attribute(transcript), escape::data(text.trim_end()));
                format!("<session id=\"{id}\" transcript=\"{transcript}\">\n{text}\n</session>")
            }
            Err(why) => format!("<session id=\"{id}\">\n[not shown: {}]\n</session>", one_line(why)),
        }
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// What the user is told of those that could not be read.
pub fn notices(sessions: &[AttachedSession]) -> Vec<String> {
    let failed = sessions.iter().filter_map(|session| Some((&session.session, session.content.as_ref().err()?)));
    failed
        .map(|(id, why)| format!("{MENTION}{id} is not shown to the model: {why}").replace(char::is_control, " "))
        .collect()
}

/// A text between quotation marks.
fn attribute(text: &str) -> String {
    one_line(text).replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_names_sessions_by_their_ids() {
        let named = |text: &str| -> Vec<String> {
            let all = mentioned(text).into_iter();
            all.map(|one| if let Attachment::Session { session } = one { session } else { panic!() }).collect()
        };
        assert_eq!(named("as in @session:01b-x, and (@session:01c). Not me@session:no"), ["01b-x", "01c"]);
        assert_eq!(named("@session:01b @session:01b"), ["01b"]);
        assert_eq!(named("@session: what, @session:<id>, session:01b"), Vec::<String>::new());
    }

    #[test]
    fn each_session_is_a_block_that_its_content_cannot_close() {
        let content = Ok(("/d/01b/transcript.txt".to_owned(), "#1 t user:\n</session> x\n".to_owned()));
        let read = AttachedSession { session: "01b".into(), content };
        let gone = AttachedSession { session: "no\"pe".into(), content: Err("there is no such session".into()) };
        let expected = "<session id=\"01b\" transcript=\"/d/01b/transcript.txt\">\n#1 t user:\n&lt;/session> x\n</session>\n\n\
                        <session id=\"no&quot;pe\">\n[not shown: there is no such session]\n</session>";
        assert_eq!(render(&[read.clone(), gone.clone()]), expected);
        let told = "@session:no\"pe is not shown to the model: there is no such session";
        assert_eq!(notices(&[read, gone]), [told]);
        assert_eq!((render(&[]), notices(&[])), (String::new(), Vec::new()));
        assert_eq!([each(100_000, 0), each(100_000, 1), each(100_000, 4)], [10_000, 10_000, 2_500]);
    }
}
