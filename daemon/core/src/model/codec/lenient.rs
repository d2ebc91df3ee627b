//! JSON as model servers really send it: fields of unexpected types are read as far as they make sense and else as
//! absent, so that one odd field does not end an answer.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A string. Null and what is no text is empty; of an array of parts the parts' `text` counts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }
    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }
    fn visit_string<E>(self, text: String) -> Result<Text, E> {
        Ok(Text(text))
    }
    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text::default())
    }
    fn visit_bool<E>(self, _: bool) -> Result<Text, E> {
        Ok(Text::default())
    }
    fn visit_i64<E>(self, _: i64) -> Result<Text, E> {
        Ok(Text::default())
    }
    fn visit_u64<E>(self, _: u64) -> Result<Text, E> {
        Ok(Text::default())
    }
    fn visit_f64<E>(self, _: f64) -> Result<Text, E> {
        Ok(Text::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Text, A::Error> {
        let mut all = String::new();
        while let Some(Text(part)) = parts.next_element()? {
            all.push_str(&part);
        }
        Ok(Text(all))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Text, A::Error> {
        let mut text = Text::default();
        while let Some(name) = members.next_key::<Cow<'_, str>>()? {
            if name == "text" {
                text = members.next_value()?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(text)
    }
}

/// A number of things: a whole number, or a float or string that is one. Anything else is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count(pub(super) Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }
    fn visit_u64<E>(self, value: u64) -> Result<Count, E> {
        Ok(Count(Some(value)))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Count, E> {
        Ok(Count(u64::try_from(value).ok()))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Count, E> {
        // Above 2^53 a float is no count.
        Ok(Count((0.0..9.0e15).contains(&value).then_some(value as u64)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Count, E> {
        Ok(Count(text.parse().ok()))
    }
    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count(None))
    }
    fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
        Ok(Count(None))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Count, A::Error> {
        while parts.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Count(None))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Count, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Count(None))
    }
}

/// The arguments of a call: the string's content, or the JSON text of whatever stands in its place; null is empty.
pub(super) fn arguments(raw: &RawValue) -> Cow<'_, str> {
    let json = raw.get();
    match json.as_bytes().first() {
        Some(b'"') => serde_json::from_str::<Text>(json).map_or(Cow::Borrowed(json), |text| Cow::Owned(text.0)),
        _ if json == "null" => Cow::Borrowed(""),
        _ => Cow::Borrowed(json),
    }
}

/// `json` in which every escaped surrogate without its other half is U+FFFD; none when there is none of them. Servers
/// that cut a text between the halves of a pair send such JSON.
pub(super) fn without_lone_surrogates(json: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = json;
    let mut found = false;
    while let Some(at) = rest.find('\\') {
        let (plain, escape) = rest.split_at(at);
        out.push_str(plain);
        let unit = code_unit(escape);
        let pair = unit.is_some_and(|unit| (0xd800..0xdc00).contains(&unit))
            && escape.get(6..).and_then(code_unit).is_some_and(|unit| (0xdc00..0xe000).contains(&unit));
        let lone = !pair && unit.is_some_and(|unit| (0xd800..0xe000).contains(&unit));
        // An escape that is no code unit is a backslash and one character.
        let len = match (pair, unit) {
            (true, _) => 12,
            (false, Some(_)) => 6,
            (false, None) => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        let (escape, after) = escape.split_at_checked(len).unwrap_or((escape, ""));
        out.push_str(if lone { "\\ufffd" } else { escape });
        found |= lone;
        rest = after;
    }
    out.push_str(rest);
    found.then_some(out)
}

/// The value of `\uXXXX` at the start of `text`.
fn code_unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_from_strings_and_parts_and_else_empty() {
        let read = |json: &str| serde_json::from_str::<Text>(json).unwrap().0;
        assert_eq!(read(r#""a\n\u00e9""#), "a\né");
        assert_eq!(read(r#"[{"type":"text","text":"a"},"b",{"type":"image","url":{}}]"#), "ab");
        for other in ["null", "true", "7", "-7", "1.5", "{}"] {
            assert_eq!(read(other), "", "{other}");
        }
    }

    #[test]
    fn counts_are_whole_numbers_or_none() {
        let read = |json: &str| serde_json::from_str::<Count>(json).unwrap().0;
        assert_eq!(read("7"), Some(7));
        assert_eq!(read("7.0"), Some(7));
        assert_eq!(read("\"7\""), Some(7));
        for other in ["null", "-1", "1e300", "{\"a\":1}", "[1]", "false", "\"x\""] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn arguments_are_a_strings_content_or_json() {
        let read = |json: &str| arguments(serde_json::from_str::<&RawValue>(json).unwrap()).into_owned();
        assert_eq!(read(r#""{\"a\":1}""#), r#"{"a":1}"#);
        assert_eq!(read(r#"{"a": 1}"#), r#"{"a": 1}"#);
        assert_eq!(read("null"), "");
        assert_eq!(read("[1]"), "[1]");
    }

    #[test]
    fn only_surrogates_without_a_partner_are_replaced() {
        let fix = without_lone_surrogates;
        assert_eq!(fix(r#""\ud83d\ude00 \\ud83d \u00e9 \n""#), None);
        assert_eq!(fix(r#""a\ud83d""#).as_deref(), Some(r#""a\ufffd""#));
        assert_eq!(fix(r#""\ude00b\ud83d\ud83d\ude00""#).as_deref(), Some(r#""\ufffdb\ufffd\ud83d\ude00""#));
        assert_eq!(fix(r#""\ud83d\"#).as_deref(), Some(r#""\ufffd\"#));
    }
}
