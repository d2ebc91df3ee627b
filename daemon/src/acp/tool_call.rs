//! A call and its result as an editor shows them: title, kind, places, content. The same for what is live and for what
//! is replayed, because both are made from the items.

use super::diff;
use agent_client_protocol_schema::v1::{
    ToolCall as Shown, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind,
};
use plimsoll_core::tool::outcome::{Body, Exit, Status};
use plimsoll_core::transcript::item::{ToolCall, ToolResult};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The call as it is announced: pending, with all that its arguments say.
pub fn announce(call: &ToolCall, root: Option<&Path>) -> Shown {
    let args = serde_json::from_str::<Value>(&call.arguments).unwrap_or_else(|_| Value::String(call.arguments.clone()));
    Shown::new(call.call.to_string(), title(&call.tool, &args))
        .name(call.tool.clone())
        .kind(kind(&call.tool))
        .locations(locations(&call.tool, &args, root))
        .raw_input(args)
}

/// The call now runs.
pub fn begin(call: &str) -> ToolCallUpdate {
    ToolCallUpdate::new(call.to_owned(), ToolCallUpdateFields::new().status(ToolCallStatus::InProgress))
}

/// Some of what a running call printed so far: it takes the place of what was shown before.
pub fn progress(call: &str, output: &str) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress).content(vec![block(output)]);
    ToolCallUpdate::new(call.to_owned(), fields)
}

/// The call's end, with the text that the model sees of it.
pub fn finish(result: &ToolResult, projection: Option<&str>) -> ToolCallUpdate {
    let status = match result.outcome.status {
        _ if goes_on(result) => ToolCallStatus::InProgress,
        Status::Ok => ToolCallStatus::Completed,
        Status::Failed | Status::Denied | Status::Cancelled | Status::Unknown => ToolCallStatus::Failed,
    };
    let text = projection.filter(|text| !text.is_empty()).map(block);
    let (content, locations) = match &result.outcome.body {
        Body::Edit(edited) if result.outcome.status == Status::Ok => {
            let changes = || edited.files.iter().map(|file| &file.change);
            (diff::content(changes()), Some(diff::locations(changes())))
        }
        Body::Image(image) => (text.into_iter().chain([super::translate::image(image).into()]).collect(), None),
        _ => (text.into_iter().collect(), None),
    };
    let fields = ToolCallUpdateFields::new()
        .locations(locations)
        .status(status)
        .content(content)
        .raw_output(crate::rpc::to_wire::result_data(&result.outcome.body));
    ToolCallUpdate::new(result.call.to_string(), fields)
}

/// Whether the call's command goes on in the background.
pub fn goes_on(result: &ToolResult) -> bool {
    matches!(&result.outcome.body, Body::Task(task) if task.id == result.call && task.run.exit == Exit::Running)
}

/// The end of a command in the background.
pub fn task_ended(call: &str, exit: Option<Exit>) -> ToolCallUpdate {
    let status = match exit {
        Some(Exit::Code(0) | Exit::Cancelled) => ToolCallStatus::Completed,
        _ => ToolCallStatus::Failed,
    };
    ToolCallUpdate::new(call.to_owned(), ToolCallUpdateFields::new().status(status))
}

/// A call that will have no result.
pub fn give_up(call: &str) -> ToolCallUpdate {
    ToolCallUpdate::new(call.to_owned(), ToolCallUpdateFields::new().status(ToolCallStatus::Failed))
}

/// The kind of a tool, which editors show as an icon.
pub fn kind(tool: &str) -> ToolKind {
    match tool {
        "read_file" | "list_dir" | "task_output" | "fetch_rules" | "read_session" => ToolKind::Read,
        "glob_file_search" | "grep" => ToolKind::Search,
        "string_replace" | "MultiEdit" | "write" | "apply_patch" => ToolKind::Edit,
        "delete_file" => ToolKind::Delete,
        "run_terminal_cmd" | "run_tests" | "stop_task" => ToolKind::Execute,
        "todo_write" => ToolKind::Think,
        "enter_plan_mode" | "exit_plan_mode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

fn block(text: &str) -> ToolCallContent {
    let fence = super::prompt::fence(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}").into()
}

fn title(tool: &str, args: &Value) -> String {
    let arg = |name: &str| args.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let said = match tool {
        "read_file" => arg("target_file").map(|path| format!("Read {path}")),
        "list_dir" => arg("target_directory").map(|path| format!("List {path}")),
        "glob_file_search" => arg("glob_pattern").map(|pattern| format!("Find {pattern}")),
        "grep" => arg("pattern").map(|pattern| format!("Search `{pattern}`")),
        "string_replace" | "MultiEdit" => arg("file_path").map(|path| format!("Edit {path}")),
        "write" => arg("file_path").map(|path| format!("Write {path}")),
        "delete_file" => arg("target_file").map(|path| format!("Delete {path}")),
        "apply_patch" => Some("Apply a patch".to_owned()),
        "run_terminal_cmd" => arg("command").map(|command| format!("`{command}`")),
        "run_tests" => Some(arg("target").map_or("Run tests".to_owned(), |target| format!("Run tests: {target}"))),
        "task_output" => arg("id").map(|id| format!("Output of {id}")),
        "stop_task" => arg("id").map(|id| format!("Stop {id}")),
        "todo_write" => Some("Update the plan".to_owned()),
        "fetch_rules" => Some("Read rules".to_owned()),
        "read_session" => Some(arg("session").map_or("Read back".to_owned(), |id| format!("Read session {id}"))),
        "update_memory" => arg("title").map(|title| format!("Remember: {title}")),
        "enter_plan_mode" => Some("Plan first".to_owned()),
        "exit_plan_mode" => Some("Plan to be approved".to_owned()),
        _ => None,
    };
    said.unwrap_or_else(|| tool.to_owned())
}

fn locations(tool: &str, args: &Value, root: Option<&Path>) -> Vec<ToolCallLocation> {
    let named = match tool {
        "read_file" | "delete_file" => args.get("target_file"),
        "string_replace" | "MultiEdit" | "write" => args.get("file_path"),
        "list_dir" | "glob_file_search" => args.get("target_directory"),
        "grep" => args.get("path"),
        _ => None,
    };
    let Some(path) = named.and_then(Value::as_str).and_then(|path| absolute(path, root)) else { return Vec::new() };
    let line = args.get("offset").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
    vec![ToolCallLocation::new(path).line(line.filter(|_| tool == "read_file"))]
}

/// The absolute path that a text form means; `None` when it cannot be sent as text.
fn absolute(path: &str, root: Option<&Path>) -> Option<PathBuf> {
    let path = crate::rpc::path_from_wire(path);
    let path = if path.is_absolute() { path } else { root?.join(path) };
    // Without the `.` of "this folder", which editors would show.
    let path: PathBuf = path.components().collect();
    path.to_str().is_some().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::id::{CallId, Revision};
    use plimsoll_core::tool::call::{Diff, FileChange};
    use plimsoll_core::tool::outcome::{Edited, EditedFile, Outcome};
    use serde_json::json;

    fn check(tool: &str, arguments: &str, expected: Value) {
        let call = ToolCall { call: CallId(7), tool: tool.into(), arguments: arguments.into(), provider_id: None };
        assert_eq!(serde_json::to_value(announce(&call, Some(Path::new("/w")))).unwrap(), expected);
    }

    #[test]
    fn calls_are_announced_with_kind_place_and_arguments() {
        check(
            "read_file",
            r#"{"target_file":"src/a.rs","offset":9}"#,
            json!({
                "toolCallId": "c7", "title": "Read src/a.rs", "name": "read_file", "kind": "read",
                "locations": [{"path": "/w/src/a.rs", "line": 9}],
                "rawInput": {"target_file": "src/a.rs", "offset": 9},
            }),
        );
        check(
            "list_dir",
            r#"{"target_directory":"."}"#,
            json!({
                "toolCallId": "c7", "title": "List .", "name": "list_dir", "kind": "read",
                "locations": [{"path": "/w"}], "rawInput": {"target_directory": "."},
            }),
        );
        check(
            "run_terminal_cmd",
            r#"{"command":"make"}"#,
            json!({
                "toolCallId": "c7", "title": "`make`", "name": "run_terminal_cmd", "kind": "execute",
                "rawInput": {"command": "make"},
            }),
        );
        check(
            "write",
            r#"{"file_path":"a.rs","contents":"x"}"#,
            json!({
                "toolCallId": "c7", "title": "Write a.rs", "name": "write", "kind": "edit",
                "locations": [{"path": "/w/a.rs"}], "rawInput": {"file_path": "a.rs", "contents": "x"},
            }),
        );
        check(
            "nonsense",
            "{not json",
            json!({"toolCallId": "c7", "title": "nonsense", "name": "nonsense", "rawInput": "{not json"}),
        );
    }

    #[test]
    fn an_edit_ends_with_its_diff_and_place_and_a_failed_one_with_what_the_model_sees() {
        let change = FileChange {
            path: "/w/a".into(),
            before: Some("1".into()),
            after: Some("2".into()),
            touches: vec![(3, 1)],
            diff: Diff { text: "@@ -3 +3 @@\n-b\n+c\n".into(), added: 1, removed: 1, cut: 0 },
            ..FileChange::default()
        };
        let body = Body::Edit(Edited {
            files: vec![EditedFile { change, lines_after: 3, wrote: vec![(3, 3)] }],
            notes: vec![],
        });
        let finished = |status| {
            let outcome = Outcome { status, body: body.clone() };
            let (call, tool) = (CallId(7), "string_replace".into());
            let result = ToolResult { call, tool, outcome, revision: Revision(1), approximate: false };
            serde_json::to_value(finish(&result, Some("shown"))).unwrap()
        };
        let ok = finished(Status::Ok);
        assert_eq!(ok["content"], json!([{"type": "diff", "path": "/w/a", "oldText": "b\n", "newText": "c\n"}]));
        assert_eq!(ok["locations"], json!([{"path": "/w/a", "line": 3}]));
        let failed = finished(Status::Failed);
        assert_eq!(
            (failed["content"][0]["content"]["text"].clone(), failed.get("locations")),
            (json!("```\nshown\n```"), None)
        );
    }

    #[test]
    fn every_end_but_a_good_one_is_a_failure() {
        let finished = |status| {
            let outcome = Outcome { status, body: Body::Text("t".into()) };
            let result =
                ToolResult { call: CallId(7), tool: "t".into(), outcome, revision: Revision(1), approximate: false };
            serde_json::to_value(finish(&result, Some("shown"))).unwrap()
        };
        assert_eq!(
            finished(Status::Ok),
            json!({
                "toolCallId": "c7", "status": "completed", "rawOutput": {"kind": "text", "text": "t"},
                "content": [{"type": "content", "content": {"type": "text", "text": "```\nshown\n```"}}],
            })
        );
        for status in [Status::Failed, Status::Denied, Status::Cancelled, Status::Unknown] {
            assert_eq!(finished(status)["status"], json!("failed"));
        }
    }
}
