//! What an editor was told of one session since its daemon last said how far everything was told. When the next daemon
//! goes on from there, what the editor has already is left out.

use serde_json::Value;
use std::collections::VecDeque;

/// Bytes of message texts that are kept. A turn's texts are seldom longer; of longer ones the oldest are forgotten.
const TEXTS_MAX: usize = 2 * 1024 * 1024;
/// Other updates that are kept; between two marks there are a handful.
const UPDATES_MAX: usize = 2_000;

/// See the module's head.
#[derive(Debug, Default)]
pub struct Told {
    texts: VecDeque<Message>,
    bytes: usize,
    updates: Vec<Value>,
    /// What the daemon before told, as far as the present one has not told it again.
    before: Before,
}

#[derive(Debug, Default)]
struct Before {
    texts: Vec<Message>,
    updates: Vec<Value>,
}

/// A message's text as far as it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Message {
    kind: String,
    id: String,
    text: String,
}

/// What becomes of an update.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The editor gets it.
    New,
    /// The editor has it.
    Known,
    /// The editor gets this in its place.
    Rest(Value),
}

impl Told {
    /// Everything up to now is told for good.
    pub fn mark(&mut self) {
        self.updates.clear();
        self.before.updates.clear();
    }

    /// The daemon has ended; the next one goes on from the last mark.
    pub fn begin_again(&mut self) {
        self.bytes = 0;
        self.before.texts.extend(self.texts.drain(..));
        self.before.updates.append(&mut self.updates);
    }

    /// Takes an update of the session.
    pub fn update(&mut self, update: &Value) -> Verdict {
        let Some(message) = Message::of(update) else { return self.other(update) };
        let Message { kind, id, text } = &message;
        let tries = format!("{id}+");
        let same = |old: &Message| old.kind == *kind && (old.id == *id || old.id.starts_with(&tries));
        let fits = |old: &Message| same(old) && (text.starts_with(&old.text) || old.text.starts_with(text.as_str()));
        let verdict = match self.before.texts.iter().position(fits) {
            Some(at) => {
                let old = self.before.texts.swap_remove(at);
                match text.strip_prefix(old.text.as_str()) {
                    Some("") => Verdict::Known,
                    Some(rest) => Verdict::Rest(with(update, rest, &old.id)),
                    None => {
                        // More of what is known comes.
                        let rest = old.text.strip_prefix(text.as_str()).unwrap_or_default().to_owned();
                        self.before.texts.push(Message { text: rest, ..old });
                        Verdict::Known
                    }
                }
            }
            None if self.before.texts.iter().any(same) => {
                self.before.texts.retain(|old| !same(old));
                Verdict::Rest(with(update, text, &format!("{id}-")))
            }
            None => Verdict::New,
        };
        self.keep(message);
        verdict
    }

    fn other(&mut self, update: &Value) -> Verdict {
        let known = self.before.updates.iter().position(|old| old == update);
        if let Some(at) = known {
            self.before.updates.remove(at);
        }
        if self.updates.len() < UPDATES_MAX {
            self.updates.push(update.clone());
        }
        if known.is_some() { Verdict::Known } else { Verdict::New }
    }

    fn keep(&mut self, message: Message) {
        self.bytes += message.text.len();
        match self.texts.iter_mut().rev().find(|known| known.kind == message.kind && known.id == message.id) {
            Some(known) => known.text.push_str(&message.text),
            None => self.texts.push_back(message),
        }
        while self.bytes > TEXTS_MAX
            && let Some(oldest) = self.texts.pop_front()
        {
            self.bytes -= oldest.text.len();
        }
    }
}

impl Message {
    /// A piece of a message that has a name and is text.
    fn of(update: &Value) -> Option<Self> {
        let kind = update.get("sessionUpdate")?.as_str().filter(|kind| kind.ends_with("_chunk"))?;
        let id = update.get("messageId")?.as_str()?;
        let text = update.get("content")?.get("text")?.as_str()?;
        Some(Self { kind: kind.to_owned(), id: id.to_owned(), text: text.to_owned() })
    }
}

/// The same piece with another text, of the message with this name.
fn with(update: &Value, text: &str, id: &str) -> Value {
    let mut update = update.clone();
    if let Some(place) = update.get_mut("messageId") {
        *place = id.into();
    }
    if let Some(place) = update.pointer_mut("/content/text") {
        *place = text.into();
    }
    update
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn chunk(id: &str, text: &str) -> Value {
        json!({"sessionUpdate": "agent_message_chunk", "messageId": id, "content": {"type": "text", "text": text}})
    }

    fn call(id: &str) -> Value {
        json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "t"})
    }

    #[test]
    fn of_a_text_that_is_told_again_the_editor_gets_the_rest() {
        let mut told = Told::default();
        assert_eq!(told.update(&chunk("m1.1.0", "half ")), Verdict::New);
        told.mark();
        assert_eq!(told.update(&chunk("m1.1.0", "and ")), Verdict::New);
        told.begin_again();
        assert_eq!(told.update(&chunk("m1.1.0", "half and whole")), Verdict::Rest(chunk("m1.1.0", "whole")));
        assert_eq!(told.update(&chunk("m1.2.0", "next")), Verdict::New);
        told.begin_again();
        assert_eq!(told.update(&chunk("m1.2.0", "ne")), Verdict::Known);
        assert_eq!(told.update(&chunk("m1.2.0", "xt one")), Verdict::Rest(chunk("m1.2.0", " one")));
    }

    #[test]
    fn a_text_that_the_model_began_anew_stays_apart_from_its_first_try() {
        let mut told = Told::default();
        told.update(&chunk("m1.1.0", "abc"));
        told.update(&chunk("m1.1.0+1", "de"));
        told.begin_again();
        assert_eq!(told.update(&chunk("m1.1.0", "def")), Verdict::Rest(chunk("m1.1.0+1", "f")));
        told.begin_again();
        assert_eq!(told.update(&chunk("m1.1.0", "xyz")), Verdict::Rest(chunk("m1.1.0-", "xyz")));
    }

    #[test]
    fn other_updates_are_left_out_as_often_as_they_were_told_since_the_mark() {
        let mut told = Told::default();
        told.update(&call("c1"));
        told.mark();
        told.update(&call("c2"));
        told.begin_again();
        assert_eq!(told.update(&call("c2")), Verdict::Known);
        assert_eq!(told.update(&call("c2")), Verdict::New);
        assert_eq!(told.update(&call("c1")), Verdict::New);
        told.mark();
        told.begin_again();
        assert_eq!(told.update(&call("c2")), Verdict::New);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut told = Told::default();
        for id in 0..100 {
            told.update(&chunk(&format!("m{id}.1.0"), &"x".repeat(100_000)));
        }
        assert!(told.bytes <= TEXTS_MAX && told.texts.len() <= 21, "{} {}", told.bytes, told.texts.len());
        for id in 0..UPDATES_MAX + 10 {
            told.update(&call(&id.to_string()));
        }
        assert_eq!(told.updates.len(), UPDATES_MAX);
    }
}
