//! The content blocks of a prompt as one text.

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource, Error, TextResourceContents};
use std::borrow::Cow;

/// The prompt as text: text as it is, links as Markdown links, embedded text resources as fenced blocks under their
/// address. Other kinds were not offered and are refused.
pub fn text(blocks: &[ContentBlock]) -> Result<String, Error> {
    let mut out = String::new();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => out.push_str(&text.text),
            ContentBlock::ResourceLink(link) => {
                out.push('[');
                out.push_str(&link.name);
                out.push_str("](");
                out.push_str(&address(&link.uri));
                out.push(')');
            }
            ContentBlock::Resource(resource) => match &resource.resource {
                EmbeddedResourceResource::TextResourceContents(text) => push_resource(&mut out, text),
                _ => return Err(refused("binary resource")),
            },
            ContentBlock::Image(_) => return Err(refused("image")),
            ContentBlock::Audio(_) => return Err(refused("audio")),
            _ => return Err(refused("this kind of")),
        }
    }
    if out.trim().is_empty() {
        return Err(super::error::invalid_params("`prompt` must not be blank"));
    }
    Ok(out)
}

fn refused(what: &str) -> Error {
    super::error::invalid_params(format!("`prompt`: {what} content is not supported; promptCapabilities names what is"))
}

/// A local file's path, else the address as it is.
fn address(uri: &str) -> Cow<'_, str> {
    let path = uri.strip_prefix("file://").filter(|path| path.starts_with('/'));
    path.and_then(decoded).unwrap_or(Cow::Borrowed(uri))
}

/// A path with its `%XX` as the bytes that they stand for; none when they are not text, or stand for control characters.
fn decoded(path: &str) -> Option<Cow<'_, str>> {
    if !path.contains('%') {
        return Some(Cow::Borrowed(path));
    }
    let mut parts = path.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok().filter(|path| !path.contains(char::is_control)).map(Cow::Owned)
}

fn push_resource(out: &mut String, resource: &TextResourceContents) {
    let fence = fence(&resource.text);
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&address(&resource.uri));
    out.push_str(":\n");
    out.push_str(&fence);
    out.push('\n');
    out.push_str(&resource.text);
    if !resource.text.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&fence);
    out.push('\n');
}

/// Backticks enough to stand around a text.
pub fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.saturating_add(1).max(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn check(blocks: Value, expected: Result<&str, &str>) {
        let blocks: Vec<ContentBlock> = serde_json::from_value(blocks).unwrap();
        let made = text(&blocks).map_err(|error| error.message);
        assert_eq!(made.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn blocks_become_one_text() {
        check(
            json!([
                {"type": "text", "text": "explain "},
                {"type": "resource_link", "name": "main.rs", "uri": "file:///w/main.rs"},
                {"type": "text", "text": " and "},
                {"type": "resource_link", "name": "doc", "uri": "https://example.org/a"},
                {"type": "resource", "resource": {"uri": "file:///w/a%20b.md", "text": "```\nx\n```"}},
                {"type": "text", "text": "please"},
            ]),
            Ok(
                "explain [main.rs](/w/main.rs) and [doc](https://example.org/a)\n/w/a b.md:\n````\n```\nx\n```\n````\nplease",
            ),
        );
    }

    #[test]
    fn addresses_of_local_files_become_paths() {
        for (uri, expected) in [
            ("file:///w/a%20b%C3%BC.md", "/w/a b\u{fc}.md"),
            ("file:///w/a%2", "file:///w/a%2"),
            ("file:///w/%+1", "file:///w/%+1"),
            ("file:///w/%\u{fc}", "file:///w/%\u{fc}"),
            ("file:///w/%FF", "file:///w/%FF"),
            ("file:///w/%0A", "file:///w/%0A"),
            ("file://host/w", "file://host/w"),
            ("https://example.org/%20", "https://example.org/%20"),
        ] {
            assert_eq!(address(uri), expected);
        }
    }

    #[test]
    fn what_was_not_offered_is_refused() {
        let refusal = "`prompt`: image content is not supported; promptCapabilities names what is";
        check(json!([{"type": "image", "data": "", "mimeType": "image/png"}]), Err(refusal));
        let refusal = "`prompt`: binary resource content is not supported; promptCapabilities names what is";
        check(json!([{"type": "resource", "resource": {"uri": "a", "blob": ""}}]), Err(refusal));
        check(json!([{"type": "text", "text": " "}]), Err("`prompt` must not be blank"));
        check(json!([]), Err("`prompt` must not be blank"));
    }
}
