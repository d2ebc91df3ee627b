use super::*;
use crate::tool::testing::{Place, fifo, permissions_bind, shown};
use plimsoll_core::permission::leave::Leave;
use plimsoll_core::workspace::FileVersion;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

async fn read(place: &Place, args: Value) -> FileRead {
    place.file(&ReadFile, args).await
}

#[tokio::test]
async fn a_file_comes_whole_with_its_facts() {
    let place = Place::new();
    place.write("src/a.rs", "fn a() {\n}\n");
    assert_eq!(
        read(&place, json!({"target_file": "src/a.rs"})).await,
        FileRead {
            path: "src/a.rs".to_owned(),
            version: FileVersion::of(b"fn a() {\n}\n").to_string(),
            encoding: "utf-8".to_owned(),
            eol: "lf".to_owned(),
            total_lines: 2,
            total_bytes: 11,
            first_line: 1,
            lines: vec!["fn a() {".to_owned(), "}".to_owned()],
            ..FileRead::default()
        }
    );
}

#[tokio::test]
async fn a_final_newline_begins_no_line() {
    let place = Place::new();
    place.write("n.txt", "one\ntwo");
    place.write("m.txt", "one\ntwo\n");
    for name in ["n.txt", "m.txt"] {
        let file = read(&place, json!({"target_file": name})).await;
        assert_eq!((file.total_lines, file.lines), (2, vec!["one".to_owned(), "two".to_owned()]), "{name}");
    }
}

#[tokio::test]
async fn an_offset_past_the_end_is_not_an_empty_file() {
    let place = Place::new();
    place.write("five.txt", "1\n2\n3\n4\n5\n");
    place.write("zero.txt", "");
    assert_eq!(
        place.problem(&ReadFile, json!({"target_file": "five.txt", "offset": 100, "limit": 10})).await,
        "`five.txt` is shorter than asked: offset 100 is past the end: it has 5 lines."
    );
    assert_eq!(
        place.problem(&ReadFile, json!({"target_file": "zero.txt", "offset": 2})).await,
        "`zero.txt` is empty; offset 2 is past the end: it has 0 lines."
    );
    assert_eq!(
        place.problem(&ReadFile, json!({"target_file": "five.txt", "byte_offset": 10})).await,
        "`five.txt` is shorter than asked: byte_offset 10 is past the end: it has 10 bytes."
    );
    let outcome = place.call(&ReadFile, json!({"target_file": "zero.txt"})).await;
    let text = shown("read_file", &outcome).text;
    assert!(text.starts_with("[read_file ok · zero.txt · empty, 0 lines ·") && !text.contains('|'), "{text}");
    let outcome = place.call(&ReadFile, json!({"target_file": "zero.txt", "offset": 1, "limit": 9})).await;
    assert_eq!(outcome.status, Status::Ok);
}

#[tokio::test]
async fn special_files_end_at_once_and_are_named() {
    let place = Place::new();
    fifo(&place.w.join("pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(place.w.join("sock")).unwrap();
    std::fs::create_dir(place.w.join("sub")).unwrap();
    place.write("bin", b"ab\0c");
    let began = Instant::now();
    let problem = async |name: &str| place.problem(&ReadFile, json!({ "target_file": name })).await;
    assert_eq!(problem("pipe").await, "`pipe` is a named pipe (FIFO), not a regular file. It holds no text to read.");
    assert_eq!(problem("sock").await, "`sock` is a socket or device, not a regular file. It holds no text to read.");
    assert_eq!(problem("sub").await, "`sub` is a directory. Use list_dir to list it.");
    assert!(problem("bin").await.starts_with("`bin` is a binary file of 4 bytes."));
    assert_eq!(problem("/dev/null").await, "`/dev/null` is a device, not a regular file. It holds no text to read.");
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn ranges_are_exact() {
    let place = Place::new();
    place.write("f", (1..=50).map(|no| format!("line {no}\n")).collect::<Vec<_>>().concat());
    let file = read(&place, json!({"target_file": "f", "offset": 10, "limit": 2})).await;
    assert_eq!((file.first_line, file.total_lines, file.asked_range), (10, 50, true));
    assert_eq!(file.lines, ["line 10", "line 11"]);
    let file = read(&place, json!({"target_file": "f", "offset": 49, "limit": 100})).await;
    assert_eq!((file.lines, file.asked_until), (vec!["line 49".to_owned(), "line 50".to_owned()], None));
    let file = read(&place, json!({"target_file": "f", "limit": 1})).await;
    assert_eq!(file.lines, ["line 1"]);
    let both = json!({"target_file": "f", "offset": 1, "byte_offset": 1});
    assert!(place.problem(&ReadFile, both).await.contains("not for both"));
}

#[tokio::test]
async fn encodings_are_told_and_text_is_right() {
    let place = Place::new();
    let utf16 = |order: fn(u16) -> [u8; 2], text: &str| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
    type Case = (&'static str, Vec<u8>, &'static str, &'static str, bool, &'static [&'static str]);
    let cases: [Case; 8] = [
        ("bom", b"\xEF\xBB\xBFa\r\nb\r\n".to_vec(), "utf-8-bom", "crlf", false, &["a", "b"]),
        (
            "16le",
            utf16(u16::to_le_bytes, "\u{feff}h\u{e4}\r\nx\u{10ffff}"),
            "utf-16le",
            "crlf",
            false,
            &["h\u{e4}", "x\u{10ffff}"],
        ),
        ("16be", utf16(u16::to_be_bytes, "\u{feff}a\nb\u{a0a}\n"), "utf-16be", "lf", false, &["a", "b\u{a0a}"]),
        (
            "latin",
            b"const x = 1;\n// caf\xE9 note\n".to_vec(),
            "windows-1252",
            "lf",
            false,
            &["const x = 1;", "// caf\u{e9} note"],
        ),
        (
            "damaged",
            "\u{e4}\u{f6}\u{fc}\n".bytes().chain(*b"\xFFx\n").collect(),
            "utf-8",
            "lf",
            true,
            &["\u{e4}\u{f6}\u{fc}", "\u{fffd}x"],
        ),
        ("cr", b"a\rb\r".to_vec(), "utf-8", "cr", false, &["a", "b"]),
        ("mixed", b"a\r\nb\nc\rd".to_vec(), "utf-8", "mixed", false, &["a", "b", "c\rd"]),
        ("none", b"one".to_vec(), "utf-8", "none", false, &["one"]),
    ];
    for (name, bytes, encoding, eol, lossy, lines) in cases {
        place.write(name, &bytes);
        let file = read(&place, json!({ "target_file": name })).await;
        assert_eq!((file.encoding.as_str(), file.eol.as_str(), file.lossy), (encoding, eol, lossy), "{name}");
        assert_eq!(file.lines, lines, "{name}");
        assert_eq!((file.total_lines, file.total_bytes), (lines.len() as u64, bytes.len() as u64), "{name}");
    }
}

#[tokio::test]
async fn a_changed_file_is_shown_as_it_is_now_and_the_change_is_said() {
    let place = Place::new();
    place.write("f", "old\n");
    let version = read(&place, json!({"target_file": "f"})).await.version;
    let same = read(&place, json!({"target_file": "f", "expected_version": version.get(..12)})).await;
    assert_eq!(same.expected, None);
    place.write("f", "new\n");
    let changed = read(&place, json!({"target_file": "f", "expected_version": version.get(..12)})).await;
    assert_eq!((changed.lines, changed.expected.as_deref()), (vec!["new".to_owned()], version.get(..12)));
    let past = json!({"target_file": "f", "offset": 9, "expected_version": version});
    // The range that was asked for is gone: what is there now is given from its beginning.
    let now = read(&place, past).await;
    assert_eq!((now.first_line, now.lines, now.expected), (1, vec!["new".to_owned()], Some(version)));
}

#[tokio::test]
async fn a_log_that_has_grown_is_the_same_log() {
    let place = Place::new();
    let log = place.env.session_dir.join("artifacts/c7.log");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, "one\n").unwrap();
    let first = read(&place, json!({ "target_file": log })).await;
    std::fs::write(&log, "one\ntwo\n").unwrap();
    let args = json!({"target_file": log, "offset": 2, "expected_version": first.version});
    let next = read(&place, args).await;
    assert_eq!((next.lines, next.expected, next.grows), (vec!["two".to_owned()], None, true));
    // A file of the project that is called like one is a file of the project.
    place.write("artifacts/c7.log", "x\n");
    assert!(!read(&place, json!({"target_file": "artifacts/c7.log"})).await.grows);
}

#[tokio::test]
async fn links_out_are_outside_and_a_swap_is_refused() {
    let place = Place::new();
    std::fs::write(place.o.join("secret.txt"), "TOPSECRET\n").unwrap();
    symlink(place.o.join("secret.txt"), place.w.join("l.txt")).unwrap();
    let args = json!({"target_file": "l.txt"});
    let call = Call { id: plimsoll_core::id::CallId(1), tool: "read_file".to_owned(), args };
    let prepared = ReadFile.prepare(&call, &place.env).await.unwrap();
    assert_eq!(prepared.targets[0].zone, plimsoll_core::tool::call::Zone::Outside);
    assert_eq!(prepared.title, format!("read {}", place.o.join("secret.txt").display()));
    // What was decided about was a file inside; then its folder became a link.
    place.write("d/f", "inside\n");
    let call = Call { args: json!({"target_file": "d/f"}), ..call };
    let prepared = ReadFile.prepare(&call, &place.env).await.unwrap();
    std::fs::remove_dir_all(place.w.join("d")).unwrap();
    std::fs::write(place.o.join("f"), "TOPSECRET\n").unwrap();
    symlink(&place.o, place.w.join("d")).unwrap();
    let (events, _keep) = tokio::sync::mpsc::channel(1);
    let (env, leave, cancel) = (&place.env, Leave::FREE, CancellationToken::new());
    let run = ToolRun { call: &call, prepared: &prepared, leave, env, events, cancel };
    let outcome = ReadFile.run(run).await;
    assert_eq!(outcome.status, Status::Failed);
    assert!(!format!("{outcome:?}").contains("TOPSECRET"));
}

#[tokio::test]
async fn a_missing_workspace_and_an_absent_file_are_told_apart() {
    let place = Place::new();
    place.write("main.rs", "x");
    assert_eq!(
        place.problem(&ReadFile, json!({"target_file": "mian.rs"})).await,
        "`mian.rs` does not exist. Nearest: main.rs."
    );
    std::fs::remove_dir_all(&place.w).unwrap();
    let problem = place.problem(&ReadFile, json!({"target_file": "main.rs"})).await;
    assert!(problem.starts_with(&format!("workspace missing: {}", place.w.display())), "{problem}");
}

#[tokio::test]
async fn an_unreadable_file_is_said_to_be_so() {
    use std::os::unix::fs::PermissionsExt;
    if !permissions_bind() {
        // The superuser reads everything: there is nothing to see.
        return;
    }
    let place = Place::new();
    let path = place.write("locked", "x");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(place.problem(&ReadFile, json!({"target_file": "locked"})).await, "`locked` permission denied.");
}

#[tokio::test]
async fn an_interrupt_ends_a_read() {
    let place = Place::new();
    place.write("f", "x\n");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = place.call_with(&ReadFile, json!({"target_file": "f"}), &cancel).await;
    assert_eq!(outcome, Outcome { status: Status::Cancelled, body: Body::Text("Interrupted by the user.".to_owned()) });
}

/// Calls that a projection names.
fn calls(text: &str) -> Vec<Value> {
    text.lines()
        .filter_map(|line| line.split_once(": read_file {"))
        .map(|(_, rest)| serde_json::from_str(&format!("{{{}", rest.strip_suffix(']').unwrap())).unwrap())
        .collect()
}

/// Follows everything that the first look leaves out and gives the file's text again.
async fn follow(place: &Place, name: &str) -> Vec<(u64, String)> {
    let mut queue = vec![json!({ "target_file": name })];
    let mut pieces = Vec::new();
    while let Some(args) = queue.pop() {
        let outcome = place.call(&ReadFile, args.clone()).await;
        let Body::File(file) = &outcome.body else { panic!("{outcome:?}") };
        let projection = shown("read_file", &outcome);
        queue.extend(calls(&projection.text));
        assert!(pieces.len() < 5_000);
        let body: Vec<&str> = projection.text.lines().skip(1).collect();
        match file.bytes {
            Some((start, _)) => pieces.push((start, body[0].to_owned())),
            None => pieces.extend(body.iter().filter(|row| !row.starts_with('[')).map(|row| {
                let (no, text) = row.split_once('|').unwrap();
                let text = text.split_once(" [line ").map_or(text, |(start, _)| start);
                (no.parse::<u64>().unwrap(), text.to_owned())
            })),
        }
    }
    pieces.sort();
    pieces
}

#[tokio::test]
async fn a_large_file_is_followed_to_its_end_in_parts() {
    let place = Place::new();
    let lines: Vec<String> = (1..=60_000).map(|no| format!("this is line number {no}")).collect();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
    assert!(text.len() > 1024 * 1024);
    place.write("big.txt", &text);
    let file = read(&place, json!({"target_file": "big.txt"})).await;
    assert_eq!((file.total_lines, file.total_bytes), (60_000, text.len() as u64));
    assert_eq!(file.version, FileVersion::of(text.as_bytes()).to_string());
    let tail = file.tail.clone().unwrap();
    assert!(file.lines.len() < 10_000 && tail.lines.len() < 10_000);
    assert_eq!(tail.lines.last().unwrap(), "this is line number 60000");
    assert_eq!(tail.lines[0], format!("this is line number {}", tail.first_line));
    let middle = read(&place, json!({"target_file": "big.txt", "offset": 30_000, "limit": 2})).await;
    assert_eq!(middle.lines, ["this is line number 30000", "this is line number 30001"]);
    // Without its last lines, which no projection cuts, the whole is found again line by line.
    place.write("some.txt", lines[..3_000].iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat());
    let expected: Vec<(u64, String)> = (1..).zip(lines[..3_000].iter().cloned()).collect();
    assert_eq!(follow(&place, "some.txt").await, expected);
}

#[tokio::test]
async fn a_very_long_line_is_read_to_its_end_by_bytes() {
    let place = Place::new();
    // More than a megabyte, so that the line is never held whole; characters of several bytes.
    let line: String = (0..200_000).map(|no| format!("{no:x}\u{4f60}")).collect::<Vec<_>>().concat();
    place.write("min.js", &line);
    let first = read(&place, json!({"target_file": "min.js"})).await;
    assert_eq!(first.long_lines.len(), 1);
    assert_eq!(first.long_lines[0].chars, line.chars().count() as u64);
    assert_eq!(first.long_lines[0].end, line.len() as u64);
    assert!(first.tail.is_none_or(|tail| tail.lines.is_empty()));
    let pieces = follow(&place, "min.js").await;
    let text: String = pieces.into_iter().map(|(_, piece)| piece).collect::<Vec<_>>().concat();
    assert!(text == line, "{} of {}", text.len(), line.len());
}

#[tokio::test]
async fn long_lines_in_other_encodings_are_read_to_their_end() {
    let place = Place::new();
    let line = "\u{e4}b\u{20ac}".repeat(1_500);
    let bytes: Vec<u8> = "\u{feff}".encode_utf16().chain(line.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    place.write("u16.txt", bytes);
    let latin: Vec<u8> =
        line.chars().map(|c| if c == '\u{e4}' { 0xE4 } else { u8::try_from(c).unwrap_or(b'E') }).collect();
    place.write("latin.txt", latin);
    let (japanese, _, _) = encoding_rs::SHIFT_JIS.encode("\u{65e5}\u{672c}\u{8a9e}\u{306e}\u{6587}\u{5b57}");
    place.write("sjis.txt", japanese.repeat(500));
    for (name, expected) in [
        ("u16.txt", line.clone()),
        ("latin.txt", line.replace('\u{20ac}', "E")),
        ("sjis.txt", "\u{65e5}\u{672c}\u{8a9e}\u{306e}\u{6587}\u{5b57}".repeat(500)),
    ] {
        let text: String = follow(&place, name).await.into_iter().map(|(_, piece)| piece).collect::<Vec<_>>().concat();
        assert!(text == expected, "{name}: {} of {} bytes", text.len(), expected.len());
    }
}

#[tokio::test]
async fn the_transcript_is_readable_and_a_submodule_is_a_directory() {
    let place = Place::new();
    std::fs::write(place.env.session_dir.join("transcript.txt"), "#1\n").unwrap();
    let path = place.env.session_dir.join("transcript.txt").to_str().unwrap().to_owned();
    assert_eq!(read(&place, json!({ "target_file": path })).await.lines, ["#1"]);
    place.write("sub/.git", "gitdir: ../.git/modules/sub\n");
    place.write("sub/x.txt", "x\n");
    assert_eq!(
        place.problem(&ReadFile, json!({"target_file": "sub"})).await,
        "`sub` is a directory. Use list_dir to list it."
    );
    assert_eq!(read(&place, json!({"target_file": "sub/x.txt"})).await.lines, ["x"]);
}
