use super::*;
use crate::tool::spec;
use proptest::prelude::*;
use serde_json::json;

fn schema(tool: &str) -> &'static str {
    spec::find(tool).unwrap().schema
}

fn check(tool: &str, raw: &str, expected: Value) {
    assert_eq!(parse(raw, schema(tool)), Ok(expected), "{raw}");
}

fn check_error(tool: &str, raw: &str, expected: &str) {
    assert_eq!(parse(raw, schema(tool)).unwrap_err().to_string(), expected, "{raw}");
}

const OPEN: &str =
    r#"{"type":"object","properties":{"a":{"type":"string"},"list":{"type":"array","items":{"type":"string"}}}}"#;

#[test]
fn no_arguments_are_an_empty_object() {
    for raw in ["", "  \n", "null", "{}", "\"\"", "\"{}\"", "\"null\""] {
        assert_eq!(parse(raw, OPEN), Ok(json!({})), "{raw:?}");
    }
}

#[test]
fn what_models_send_is_understood() {
    check(
        "grep",
        r#"{"pattern":"x","literal":"true","context_lines":"2","before_lines":3.0,"path":null,"glob":"","why":"extra"}"#,
        json!({"pattern":"x","literal":true,"context_lines":2,"before_lines":3}),
    );
    check("read_file", r#""{\"target_file\":\"a\",\"offset\":\"5\"}""#, json!({"target_file":"a","offset":5}));
    check(
        "list_dir",
        r#"{"target_directory":".","ignore_globs":"*.rs"}"#,
        json!({"target_directory":".","ignore_globs":["*.rs"]}),
    );
    check(
        "list_dir",
        r#"{"target_directory":".","ignore_globs":"[\"a\",\"b\"]"}"#,
        json!({"target_directory":".","ignore_globs":["a","b"]}),
    );
    check("read_file", r#"{"target_file":12}"#, json!({"target_file":"12"}));
    check(
        "todo_write",
        r#"{"merge":"False","todos":"[{\"id\":1,\"content\":\"c\",\"status\":\"Pending\",\"x\":1}]"}"#,
        json!({"merge":false,"todos":[{"id":"1","content":"c","status":"pending"}]}),
    );
}

#[test]
fn broken_json_is_told_with_its_place() {
    check_error(
        "run_terminal_cmd",
        r#"{"command": "touch P"#,
        "the arguments are not valid JSON: EOF while parsing a string (line 1, column 20), after \"{\\\"command\\\": \\\"touch P\". \
         Send {\"command\": a string}, optional: working_directory, timeout_ms, is_background, explanation",
    );
}

#[test]
fn other_json_than_an_object_is_refused() {
    let right = "Send {\"target_file\": a string}, optional: offset, limit, byte_offset, byte_limit, expected_version";
    check_error("read_file", "[1]", &format!("the arguments are an array, not a JSON object. {right}"));
    check_error("read_file", "\"x\"", &format!("the arguments are a string, not a JSON object. {right}"));
    check_error("read_file", "7", &format!("the arguments are a number, not a JSON object. {right}"));
}

#[test]
fn missing_and_wrong_fields_are_all_named() {
    let right = "Send {\"target_file\": a string}, optional: offset, limit, byte_offset, byte_limit, expected_version";
    check_error(
        "read_file",
        r#"{"path":"ok.txt","offset":0,"limit":"many"}"#,
        &format!(
            "the arguments do not fit: `target_file` is missing (a string); `offset` should be an integer of at \
             least 1, got 0; `limit` should be an integer of at least 1, got \"many\". {right}"
        ),
    );
    check_error(
        "read_file",
        r#"{"target_file":null}"#,
        &format!("the arguments do not fit: `target_file` is missing (a string). {right}"),
    );
}

#[test]
fn entries_of_a_list_are_checked() {
    let todo =
        "{\"id\": a string, \"content\": a string, \"status\": one of pending, in_progress, completed, cancelled}";
    check_error(
        "todo_write",
        r#"{"merge":true,"todos":[{"id":"1","content":"a","status":"pending"},{"id":"2","status":"done"}]}"#,
        &format!(
            "the arguments do not fit: `todos[1].content` is missing (a string); `todos[1].status` should be one of \
             pending, in_progress, completed, cancelled, got \"done\". \
             Send {{\"merge\": true or false, \"todos\": an array of objects {todo}}}"
        ),
    );
}

#[test]
fn edits_are_understood_as_models_send_them() {
    let edit = json!({"old_string":"a","new_string":""});
    let plain = json!({"file_path":"f","edits":[edit]});
    check("MultiEdit", &plain.to_string(), plain.clone());
    check("MultiEdit", &json!(plain.to_string()).to_string(), plain.clone());
    check("MultiEdit", &json!({"file_path":"f","edits":json!([edit]).to_string()}).to_string(), plain.clone());
    check("MultiEdit", &json!({"file_path":"f","edits":edit,"expected_version":null}).to_string(), plain);
    check(
        "MultiEdit",
        r#"{"file_path":"f","edits":[{"old_string":1,"new_string":"","replace_all":"true","why":"x"}],"expected_version":""}"#,
        json!({"file_path":"f","edits":[{"old_string":"1","new_string":"","replace_all":true}]}),
    );
    check(
        "string_replace",
        r#"{"file_path":"f","old_string":"","new_string":"{\"a\":1}","replace_all":"False"}"#,
        json!({"file_path":"f","old_string":"","new_string":"{\"a\":1}","replace_all":false}),
    );
    check(
        "apply_patch",
        r#"{"patch":"p","expected_versions":{"a":"1","b":2,"c":null},"purpose":""}"#,
        json!({"patch":"p","expected_versions":{"a":"1","b":"2"}}),
    );
    check(
        "apply_patch",
        r#"{"patch":"p","expected_versions":"{\"a\":\"1\"}"}"#,
        json!({"patch":"p","expected_versions":{"a":"1"}}),
    );
}

#[test]
fn edits_that_do_not_fit_are_named() {
    let one = "{\"old_string\": a string, \"new_string\": a string}, optional: replace_all";
    let right = format!(
        "Send {{\"file_path\": a string, \"edits\": an array of at least 1 entry: objects {one}}}, optional: expected_version"
    );
    let fields = |problem: &str| format!("the arguments do not fit: {problem}. {right}");
    check_error(
        "MultiEdit",
        r#"{"file_path":"f","edits":[]}"#,
        &fields("`edits` should have at least 1 entry, got none"),
    );
    check_error(
        "MultiEdit",
        r#"{"file_path":"f","edits":[{"old_string":"a","new_string":"b"},{"old_string":"a"}]}"#,
        &fields("`edits[1].new_string` is missing (a string)"),
    );
    check_error(
        "MultiEdit",
        r#"{"file_path":"f","edits":["a"]}"#,
        &fields(&format!("`edits[0]` should be {one}, got \"a\"")),
    );
    check_error(
        "apply_patch",
        r#"{"patch":"p","expected_versions":{"a":["1"]}}"#,
        "the arguments do not fit: `expected_versions[\"a\"]` should be a string, got [\"1\"]. \
         Send {\"patch\": a string}, optional: expected_versions, purpose",
    );
    check_error(
        "apply_patch",
        r#"{"patch":"p","expected_versions":["a"]}"#,
        "the arguments do not fit: `expected_versions` should be a JSON object, each value a string, got [\"a\"]. \
         Send {\"patch\": a string}, optional: expected_versions, purpose",
    );
}

proptest! {
    #[test]
    fn any_text_gives_an_object_or_an_error(raw in ".{0,60}") {
        if let Ok(args) = parse(&raw, schema("grep")) {
            prop_assert!(args["pattern"].is_string());
        }
    }

    #[test]
    fn what_fits_stays_as_it_is(offset in 1_i64..1_000_000, name in "[a-z/]{1,20}") {
        let args = json!({"target_file": name, "offset": offset});
        prop_assert_eq!(parse(&args.to_string(), schema("read_file")), Ok(args.clone()));
        prop_assert_eq!(parse(&json!(args.to_string()).to_string(), schema("read_file")), Ok(args));
    }
}
