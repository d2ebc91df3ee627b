//! A reader of requests: what somebody believes about the surroundings who has read everything in order. What is said later
//! counts.

use crate::transcript::epoch::Segment;
use crate::workspace::{Environment, GitBlock, GitHead};
use serde_json::Value;
use std::collections::BTreeMap;

/// What is believed, by subject: `instructions:<path>`, `date`, `branch`, `layout:<entry>`, `open`.
pub(super) type Beliefs = BTreeMap<String, String>;

/// What is said of a file or an entry that is gone.
const GONE: &str = "(gone)";

/// Every statement that the segments make, in order.
pub(super) fn statements(segments: &[Segment]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for segment in segments {
        let value: Value = serde_json::from_str(&segment.text).expect("a segment is JSON");
        if value["role"] != "assistant" && value["role"] != "tool" {
            let mut texts = Vec::new();
            collect(&value, &mut texts);
            for text in texts {
                read(text, &mut found);
            }
        }
    }
    found
}

/// What is believed after reading.
pub(super) fn beliefs(segments: &[Segment]) -> Beliefs {
    statements(segments).into_iter().collect()
}

/// How it is, of everything that is believed and that must be known.
pub(super) fn truth(environment: &Environment, believed: &Beliefs) -> Beliefs {
    let mut truth = Beliefs::new();
    for subject in believed.keys() {
        if subject.starts_with("instructions:/w/sub/") {
            // What holds in a folder below is found out by calls there, not at a turn's start.
            truth.insert(subject.clone(), believed.get(subject).cloned().unwrap_or_default());
        } else if subject.starts_with("instructions:") {
            truth.insert(subject.clone(), GONE.to_owned());
        }
        if let Some(entry) = subject.strip_prefix("layout:") {
            let there = environment.layout[0].files.iter().any(|file| file == entry);
            truth.insert(subject.clone(), if there { "there" } else { GONE }.to_owned());
        }
    }
    for source in &environment.instructions {
        truth.insert(format!("instructions:{}", source.path), source.text.clone());
    }
    truth.insert("date".into(), environment.user_info.date.clone());
    if let GitBlock::Status(status) = &environment.git[0]
        && let GitHead::Branch(branch) = &status.head
    {
        truth.insert("branch".into(), branch.clone());
    }
    let open: Vec<&str> = environment.editor.files.iter().map(|file| file.path.as_str()).collect();
    if !open.is_empty() || believed.contains_key("open") {
        truth.insert("open".into(), if open.is_empty() { "none".into() } else { open.join(" ") });
    }
    truth
}

fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "tool_result") => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "text" || name == "content" => texts.push(text),
                    other => collect(other, texts),
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                collect(value, texts);
            }
        }
        // A block of system text may stand alone.
        Value::String(text) => texts.push(text),
        _ => {}
    }
}

/// Reads one message, line by line.
fn read(text: &str, found: &mut Vec<(String, String)>) {
    let mut lines = text.lines();
    let mut within = "";
    while let Some(line) = lines.next() {
        if let Some(path) = line.strip_prefix("<project_instructions path=\"").and_then(|rest| rest.strip_suffix("\">"))
        {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "</project_instructions>").collect();
            found.push((format!("instructions:{path}"), body.join("\n")));
        } else if line.starts_with("<open_and_recently_viewed_files>") {
            let body: Vec<&str> =
                lines.by_ref().take_while(|line| *line != "</open_and_recently_viewed_files>").collect();
            let files: Vec<&str> = body.iter().map(|line| line.trim_start_matches("- ")).collect();
            let files: Vec<&str> = files.iter().map(|line| line.split(' ').next().unwrap_or_default()).collect();
            found.push(("open".into(), files.join(" ")));
        } else if let Some(path) = line.strip_prefix("The instruction file `") {
            if let Some((path, _)) = path.split_once("` is gone.") {
                found.push((format!("instructions:{path}"), GONE.to_owned()));
            }
        } else if let Some(tag) = ["user_info", "git_status", "project_layout"]
            .into_iter()
            .find(|tag| line.strip_prefix('<').is_some_and(|rest| rest.starts_with(tag)))
        {
            within = tag;
        } else if line.starts_with("</") {
            within = "";
        } else if let ("user_info", Some(date)) = (within, line.strip_prefix("Date: ")) {
            found.push(("date".into(), date.to_owned()));
        } else if let ("git_status", Some(branch)) = (within, line.strip_prefix("Branch: ")) {
            found.push(("branch".into(), branch.to_owned()));
        } else if within == "project_layout" {
            if let Some(entry) = line.strip_prefix("gone: ") {
                found.push((format!("layout:{entry}"), GONE.to_owned()));
            } else if let Some(entry) = line.strip_prefix("there again: ").or_else(|| line.strip_prefix("  ")) {
                found.push((format!("layout:{entry}"), "there".to_owned()));
            }
        }
    }
}
