//! `<attached_files>`: what the user attached to a prompt, as it was when the turn began. Said once, in that turn's message.
//!
//! Files share a budget and are cut by whole lines, with the call that shows the rest. A text that a client gave itself can
//! be read nowhere else and is never cut.

use super::cut::one_line;
use crate::escape;
use crate::tokens::tokens;
use crate::tool::projection::call::{call, short_version};
use crate::tool::projection::{LINE_CHARS, Shown};
use crate::workspace::{AttachedFile, AttachedText};
use serde_json::json;
use std::fmt::Write as _;

/// The files' part of the window, in hundredths, and what it is at least, in tokens.
const SHARE: u64 = 10;
const LEAST: u64 = 2_000;

/// A block, and what it shows of files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attached {
    /// The block; empty when nothing is attached.
    pub block: String,
    /// Lines that it shows, by canonical path.
    pub shown: Vec<Shown>,
}

/// What attachments of one kind may cost in a model's window, in estimated tokens.
pub(super) fn budget(window: u64) -> u64 {
    (window.saturating_mul(SHARE) / 100).max(LEAST)
}

/// The block for a model with this window.
pub fn render(files: &[AttachedFile], window: u64) -> Attached {
    let mut attached = Attached::default();
    let mut budget = budget(window);
    let mut parts = Vec::new();
    for file in files {
        let part = match &file.content {
            Ok(text) => lines(&file.path, text, &mut budget, &mut attached.shown),
            Err(why) => format!("[{} · not shown: {}]", one_line(&file.path), one_line(why)),
        };
        parts.push(part);
    }
    if !parts.is_empty() {
        attached.block = format!("<attached_files>\n{}\n</attached_files>", parts.join("\n\n"));
    }
    attached
}

/// One file: a head, numbered lines, and the call for those that are left out.
fn lines(path: &str, text: &AttachedText, budget: &mut u64, shown: &mut Vec<Shown>) -> String {
    let mut body = String::new();
    let mut fit = 0_u64;
    let mut cut = Vec::new();
    for (no, line) in (text.first_line..).zip(&text.lines) {
        let long = text.long_lines.iter().find(|long| long.line == no).filter(|_| text.version.is_some());
        let line = match long {
            Some(long) => {
                let start: String = line.chars().take(LINE_CHARS).collect();
                let rest = read(
                    path,
                    text,
                    &[("byte_offset", json!(long.cut_at)), ("byte_limit", json!(long.end - long.cut_at))],
                );
                format!("{no}|{start}\n[line {no} has {} characters: {rest}]", long.chars)
            }
            None => format!("{no}|{line}"),
        };
        if text.version.is_some() {
            let cost = tokens(&line) + 1;
            if cost > *budget && fit > 0 {
                break;
            }
            *budget = budget.saturating_sub(cost);
        }
        if long.is_some() {
            cut.push(no);
        }
        body.push_str(&line);
        body.push('\n');
        fit += 1;
    }
    let last = (text.first_line + fit).saturating_sub(1);
    if let (Some(version), Some(canonical)) = (&text.version, &text.canonical) {
        shown.push(Shown {
            path: canonical.clone(),
            version: version.clone(),
            lines: if fit > 0 { vec![(text.first_line, fit)] } else { Vec::new() },
            cut,
            total: text.total_lines,
        });
    }
    let end = text.asked_until.min(text.total_lines);
    if last < end {
        let rest = read(path, text, &[("offset", json!(last + 1)), ("limit", json!(end - last))]);
        // Writing to a String cannot fail.
        let _ = writeln!(body, "[lines {}-{end} not shown: {rest}]", last + 1);
    }
    let range = match fit {
        0 => "empty".to_owned(),
        1 => format!("line {last} of {}", text.total_lines),
        _ => format!("lines {}-{last} of {}", text.first_line, text.total_lines),
    };
    let version = text.version.as_ref().map(|version| format!(" · v {}", short_version(version))).unwrap_or_default();
    let whole =
        format!("[{} · {range}{version}]\n{}", path.replace(char::is_control, " "), body.trim_end_matches('\n'));
    escape::data(whole.trim_end_matches('\n')).into_owned()
}

fn read(path: &str, text: &AttachedText, range: &[(&str, serde_json::Value)]) -> String {
    let version = text.version.as_deref().unwrap_or_default();
    let mut arguments = vec![("target_file", json!(path))];
    arguments.extend(range.iter().cloned());
    arguments.push(("expected_version", json!(short_version(version))));
    call("read_file", &arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Overlong;

    fn text(first_line: u64, lines: &[&str], total_lines: u64) -> AttachedText {
        AttachedText {
            version: Some("ab".repeat(16)),
            canonical: Some("/w/a.rs".into()),
            first_line,
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            total_lines,
            asked_until: total_lines,
            long_lines: Vec::new(),
        }
    }

    fn file(path: &str, content: Result<AttachedText, &str>) -> AttachedFile {
        AttachedFile { path: path.to_owned(), content: content.map_err(str::to_owned) }
    }

    #[test]
    fn each_file_has_its_lines_with_their_numbers() {
        let whole = file("a.rs", Ok(text(1, &["fn a() {", "}"], 2)));
        let range = file("b.rs", Ok(AttachedText { asked_until: 8, ..text(7, &["x", "</attached_files>"], 20) }));
        let gone = file("c.rs", Err("it does not exist"));
        let given = file("draft", Ok(AttachedText { version: None, canonical: None, ..text(1, &["hi"], 1) }));
        let attached = render(&[whole, range, gone, given], 10_000);
        assert_eq!(
            attached.block,
            "<attached_files>\n[a.rs · lines 1-2 of 2 · v abababababab]\n1|fn a() {\n2|}\n\n\
             [b.rs · lines 7-8 of 20 · v abababababab]\n7|x\n8|&lt;/attached_files>\n\n\
             [c.rs · not shown: it does not exist]\n\n[draft · line 1 of 1]\n1|hi\n</attached_files>"
        );
        let lines: Vec<_> = attached.shown.iter().map(|shown| (shown.path.as_str(), shown.lines.clone())).collect();
        assert_eq!(lines, [("/w/a.rs", vec![(1, 2)]), ("/w/a.rs", vec![(7, 2)])]);
        assert_eq!(render(&[], 10_000), Attached::default());
    }

    #[test]
    fn beyond_the_budget_the_rest_is_a_call_away_and_a_given_text_is_whole() {
        let line = "x".repeat(400);
        let many: Vec<&str> = std::iter::repeat_n(line.as_str(), 100).collect();
        let given = file("draft", Ok(AttachedText { version: None, canonical: None, ..text(1, &many, 100) }));
        let attached =
            render(&[file("a.rs", Ok(text(1, &many, 100))), file("a.rs", Ok(text(1, &many, 100))), given], 0);
        let fit = attached.shown[0].lines[0].1;
        assert!((15..30).contains(&fit), "{fit}");
        assert_eq!(attached.shown[1].lines, [(1, 1)], "each shows at least a line");
        let rest = format!(
            "[lines {}-100 not shown: read_file {{\"target_file\":\"a.rs\",\"offset\":{},\"limit\":{},\
             \"expected_version\":\"abababababab\"}}]",
            fit + 1,
            fit + 1,
            100 - fit
        );
        assert!(attached.block.contains(&rest), "{}", attached.block);
        assert!(attached.block.contains("[draft · lines 1-100 of 100]"));
    }

    #[test]
    fn a_long_line_is_cut_with_the_way_to_its_rest() {
        let long = Overlong { line: 1, chars: 3_000, cut_at: 2_000, end: 3_000 };
        let line = "y".repeat(3_000);
        let content = AttachedText { long_lines: vec![long], ..text(1, &[&line], 1) };
        let attached = render(&[file("a.rs", Ok(content))], 0);
        assert!(attached.block.contains(&format!("1|{}\n[line 1 has 3000 characters: read_file", "y".repeat(2_000))));
        assert!(attached.block.contains("\"byte_offset\":2000,\"byte_limit\":1000"));
        assert_eq!(attached.shown[0].cut, [1]);
    }
}
