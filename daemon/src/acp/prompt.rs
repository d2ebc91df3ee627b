//! The content blocks of a prompt as one text and what stands beside it.

use crate::rpc::{MAX_ATTACHMENTS, MAX_IMAGE, MAX_TEXT};
use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource, Error};
use plimsoll_core::workspace::Attachment;
use std::borrow::Cow;

/// The prompt as text with what stands beside it: text as it is; links as Markdown links, and those to local files as files
/// too; embedded texts by their address, and images by their name. Sounds are named, since no model here takes them. Other
/// kinds were not offered and are refused.
pub fn read(blocks: &[ContentBlock]) -> Result<(String, Vec<Attachment>), Error> {
    let mut out = String::new();
    let mut attachments = Vec::new();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => out.push_str(&text.text),
            ContentBlock::ResourceLink(link) => {
                let address = address(&link.uri);
                push_link(&mut out, &link.name, &address);
                if is_local(&address) {
                    attachments.push(Attachment::File { path: address.into_owned(), lines: None });
                }
            }
            ContentBlock::Resource(resource) => match &resource.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    bounded("resource", text.text.len(), MAX_TEXT)?;
                    let name = address(&text.uri).into_owned();
                    push_link(&mut out, name.rsplit('/').next().unwrap_or(&name), &name);
                    attachments.push(Attachment::Text { name, text: text.text.clone() });
                }
                _ => return Err(refused("binary resource")),
            },
            ContentBlock::Image(image) => {
                bounded("image", image.data.len(), MAX_IMAGE)?;
                let name = image.uri.as_deref().map(|uri| address(uri).into_owned()).unwrap_or_default();
                let (mime, data) = (image.mime_type.clone(), image.data.clone());
                attachments.push(Attachment::Image { name, mime, data });
            }
            ContentBlock::Audio(audio) => {
                let why = format!("{}; no model here takes sound", audio.mime_type);
                attachments.push(Attachment::Named { name: "sound".to_owned(), why });
            }
            _ => return Err(refused("this kind of")),
        }
    }
    if out.trim().is_empty() && attachments.is_empty() {
        let message = "`prompt` must say something: it has neither text that is not blank nor an image";
        return Err(super::error::invalid_params(message));
    }
    if attachments.len() > MAX_ATTACHMENTS {
        let message = format!("`prompt`: {} attachments; at most {MAX_ATTACHMENTS} are taken", attachments.len());
        return Err(super::error::invalid_params(message));
    }
    Ok((out, attachments))
}

fn push_link(out: &mut String, name: &str, address: &str) {
    out.push('[');
    out.push_str(name);
    out.push_str("](");
    out.push_str(address);
    out.push(')');
}

/// Whether an address was a local file's.
fn is_local(address: &str) -> bool {
    address.starts_with('/')
}

fn bounded(what: &str, bytes: usize, most: usize) -> Result<(), Error> {
    if bytes <= most {
        return Ok(());
    }
    Err(super::error::invalid_params(format!("`prompt`: a {what} of {bytes} bytes; at most {most} are taken")))
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

/// Backticks enough to stand around a text.
pub fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.saturating_add(1).max(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn made(blocks: Value) -> Result<(String, Vec<Attachment>), String> {
        let blocks: Vec<ContentBlock> = serde_json::from_value(blocks).unwrap();
        read(&blocks).map_err(|error| error.message)
    }

    #[test]
    fn blocks_become_a_text_and_attachments() {
        let (text, attachments) = made(json!([
            {"type": "text", "text": "explain "},
            {"type": "resource_link", "name": "main.rs", "uri": "file:///w/main.rs"},
            {"type": "text", "text": " and "},
            {"type": "resource_link", "name": "doc", "uri": "https://example.org/a"},
            {"type": "resource", "resource": {"uri": "file:///w/a%20b.md", "text": "```\nx\n```"}},
            {"type": "text", "text": " please"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png", "uri": "file:///w/shot.png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        ]))
        .unwrap();
        let expected = "explain [main.rs](/w/main.rs) and [doc](https://example.org/a)[a b.md](/w/a b.md) please";
        assert_eq!(text, expected);
        assert_eq!(
            attachments,
            [
                Attachment::File { path: "/w/main.rs".into(), lines: None },
                Attachment::Text { name: "/w/a b.md".into(), text: "```\nx\n```".into() },
                Attachment::Image { name: "/w/shot.png".into(), mime: "image/png".into(), data: "AAAA".into() },
                Attachment::Named { name: "sound".into(), why: "audio/wav; no model here takes sound".into() },
            ]
        );
    }

    #[test]
    fn an_image_says_enough() {
        let image = json!([{"type": "image", "data": "AAAA", "mimeType": "image/png"}]);
        let only = Attachment::Image { name: String::new(), mime: "image/png".into(), data: "AAAA".into() };
        assert_eq!(made(image).unwrap(), (String::new(), vec![only]));
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
    fn what_was_not_offered_or_is_too_large_is_refused() {
        let refusal = "`prompt`: binary resource content is not supported; promptCapabilities names what is";
        assert_eq!(made(json!([{"type": "resource", "resource": {"uri": "a", "blob": ""}}])).unwrap_err(), refusal);
        for blocks in [json!([]), json!([{"type": "text", "text": " "}])] {
            assert!(made(blocks).unwrap_err().starts_with("`prompt` must say something"));
        }
        let large = json!([{"type": "resource", "resource": {"uri": "a", "text": "x".repeat(MAX_TEXT + 1)}}]);
        assert_eq!(made(large).unwrap_err(), "`prompt`: a resource of 262145 bytes; at most 262144 are taken");
    }
}
