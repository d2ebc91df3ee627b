use super::*;
use crate::tool::testing::{Place, fifo, permissions_bind, shown};
use plimsoll_core::tool::outcome::{MatchLine, MatchSource};
use plimsoll_core::workspace::FileVersion;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

async fn grep(place: &Place, args: Value) -> Matches {
    place.matches(&Grep, args).await
}

/// `path:line` of every kept line.
fn places(found: &Matches) -> Vec<String> {
    let lines =
        found.files.iter().flat_map(|file| file.lines.iter().map(move |line| format!("{}:{}", file.path, line.line)));
    lines.collect()
}

#[tokio::test]
async fn matches_come_sorted_with_text_and_counts() {
    let place = Place::new();
    place.write("b.txt", "x\nneedle 1\nneedle 2\n");
    place.write("a/z.txt", "needle 3\n");
    place.write("c.txt", "nothing\n");
    let hit = |line: u64, text: &str| MatchLine { line, text: text.to_owned(), cut: None, is_match: true };
    let source = |path: &str, total_lines| {
        let version = FileVersion::of(&place.bytes(path)).to_string();
        Some(MatchSource { path: place.w.join(path).to_str().unwrap().to_owned(), version, total_lines })
    };
    assert_eq!(
        grep(&place, json!({"pattern": "needle"})).await,
        Matches {
            pattern: "needle".to_owned(),
            files: vec![
                FileMatches {
                    path: "a/z.txt".to_owned(),
                    count: 1,
                    lines: vec![hit(1, "needle 3")],
                    source: source("a/z.txt", 1),
                },
                FileMatches {
                    path: "b.txt".to_owned(),
                    count: 2,
                    lines: vec![hit(2, "needle 1"), hit(3, "needle 2")],
                    source: source("b.txt", 3),
                },
            ],
            total: 3,
            args: json!({"pattern": "needle"}),
            ..Matches::default()
        }
    );
}

#[tokio::test]
async fn special_files_are_skipped_and_a_named_one_is_an_error() {
    let place = Place::new();
    fifo(&place.w.join("pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(place.w.join("sock")).unwrap();
    place.write("ok.txt", "needle\n");
    let began = Instant::now();
    assert_eq!(places(&grep(&place, json!({"pattern": "needle"})).await), ["ok.txt:1"]);
    let problem = place.problem(&Grep, json!({"pattern": "needle", "path": "pipe"})).await;
    assert_eq!(problem, "`pipe` is a named pipe (FIFO), not a regular file.");
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn ignore_files_that_are_pipes_or_devices_are_as_good_as_none() {
    let place = Place::new();
    place.write(".gitignore", "left-out\n");
    for folder in ["pipe", "device", "repository/.git/info"] {
        std::fs::create_dir_all(place.w.join(folder)).unwrap();
    }
    fifo(&place.w.join("pipe/.gitignore"));
    fifo(&place.w.join("pipe/.ignore"));
    symlink("/dev/zero", place.w.join("device/.gitignore")).unwrap();
    fifo(&place.w.join("repository/.git/info/exclude"));
    for folder in ["pipe", "device", "repository"] {
        place.write(format!("{folder}/ok.txt"), "needle\n");
        place.write(format!("{folder}/left-out"), "needle\n");
    }
    let found = places(&grep(&place, json!({"pattern": "needle"})).await);
    assert_eq!(found, ["device/ok.txt:1", "pipe/ok.txt:1", "repository/ok.txt:1"]);
    std::fs::remove_file(place.w.join(".gitignore")).unwrap();
    fifo(&place.w.join(".gitignore"));
    assert_eq!(places(&grep(&place, json!({"pattern": "needle"})).await).len(), 6);
}

#[tokio::test]
async fn very_long_lines_are_cut_around_the_match() {
    let place = Place::new();
    place.write("long.txt", format!("mcp{}\n", "x".repeat(70_000)));
    let mut line = vec![b'a'; 5_000_000];
    line[4_999_000..4_999_003].copy_from_slice(b"mcp");
    place.write("min.js", line);
    place.write("small.txt", "mcp here\n");
    let found = grep(&place, json!({"pattern": "mcp"})).await;
    assert_eq!((found.total, found.more), (3, false));
    let cuts: Vec<Option<u64>> = found.files.iter().map(|file| file.lines[0].cut).collect();
    assert_eq!(cuts, [Some(70_003), Some(5_000_000), None]);
    for file in &found.files {
        assert!(file.lines[0].text.contains("mcp") && file.lines[0].text.len() <= 1_000, "{}", file.path);
        assert_eq!(file.lines[0].text.contains('…'), file.lines[0].cut.is_some());
    }
    let outcome = Outcome { status: Status::Ok, body: Body::Matches(found) };
    let text = shown("grep", &outcome).text;
    assert!(text.contains("3 matches in 3 files"));
    assert!(
        text.lines().filter(|line| line.starts_with("  1:")).all(|line| line.contains("mcp") && line.len() <= 2_000)
    );
    assert!(
        text.contains(" [cut from 70003 bytes: read_file {\"target_file\":\"long.txt\",\"offset\":1,\"limit\":1}]")
    );
}

#[tokio::test]
async fn an_invalid_pattern_is_an_error_and_literal_takes_it() {
    let place = Place::new();
    place.write("f.rs", "foo(\n");
    let problem = place.problem(&Grep, json!({"pattern": "foo("})).await;
    assert!(
        problem.contains("unclosed group") && problem.contains("\"literal\": true") && problem.contains("foo\\("),
        "{problem}"
    );
    for args in [json!({"pattern": "foo\\("}), json!({"pattern": "foo(", "literal": true})] {
        assert_eq!(places(&grep(&place, args).await), ["f.rs:1"]);
    }
}

#[tokio::test]
async fn an_unreadable_folder_is_a_note_and_hides_nothing_else() {
    use std::os::unix::fs::PermissionsExt;
    if !permissions_bind() {
        // The superuser reads everything: there is nothing to see.
        return;
    }
    let place = Place::new();
    place.write("readable/notes.txt", "the answer is 42\n");
    let locked = place.w.join("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    for (pattern, total) in [("answer", 1), ("absent", 0)] {
        let found = grep(&place, json!({ "pattern": pattern })).await;
        assert_eq!(
            (found.total, found.notes),
            (total, vec!["1 path could not be read: locked (permission denied)".to_owned()])
        );
    }
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn dot_folders_are_searched_and_git_is_not() {
    let place = Place::new();
    place.write(".github/workflows/ci.yml", "marker\n");
    place.write(".git/config", "marker\n");
    assert_eq!(places(&grep(&place, json!({"pattern": "marker"})).await), [".github/workflows/ci.yml:1"]);
    assert_eq!(
        places(&grep(&place, json!({"pattern": "marker", "path": ".github"})).await),
        [".github/workflows/ci.yml:1"]
    );
}

#[tokio::test]
async fn ignored_files_are_searched_when_named_and_else_said() {
    let place = Place::new();
    place.write(".gitignore", "gen/\n.env\n");
    place.write("gen/a.rs", "fn marker() {}\n");
    place.write(".env", "marker\n");
    place.write("src/b.rs", "fn x() {}\n");
    let note = ["2 ignored entries were not searched; include_ignored: true searches them"];
    assert_eq!(places(&grep(&place, json!({"pattern": "marker", "path": "gen"})).await), ["gen/a.rs:1"]);
    assert_eq!(places(&grep(&place, json!({"pattern": "marker", "path": "gen/a.rs"})).await), ["gen/a.rs:1"]);
    assert_eq!(places(&grep(&place, json!({"pattern": "marker", "path": ".env"})).await), [".env:1"]);
    let hidden = grep(&place, json!({"pattern": "marker", "path": "."})).await;
    assert_eq!((hidden.total, hidden.notes.as_slice()), (0, &note.map(str::to_owned)[..]));
    let all = grep(&place, json!({"pattern": "marker", "include_ignored": true})).await;
    assert_eq!((places(&all), all.notes), (vec![".env:1".to_owned(), "gen/a.rs:1".to_owned()], vec![]));
}

#[tokio::test]
async fn very_many_matches_are_counted_and_bounded() {
    let place = Place::new();
    place.write("big.txt", (0..100_000).map(|no| format!("hit {no}\n")).collect::<Vec<_>>().concat());
    let began = Instant::now();
    let found = grep(&place, json!({"pattern": "hit"})).await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!((found.total, found.more, found.files[0].lines.len()), (100_000, false, MOST_LINES));
    let outcome = Outcome { status: Status::Ok, body: Body::Matches(found) };
    let projection = shown("grep", &outcome);
    assert!(projection.partial && projection.text.contains("100000 matches in 1 file"));
    assert!(projection.text.contains("not shown: grep {\"pattern\":\"hit\",\"cursor\":\"c7:"), "{}", projection.text);
}

#[tokio::test]
async fn kept_lines_are_the_first_in_the_order_of_paths() {
    let place = Place::new();
    for no in 0..12 {
        place.write(format!("f{no:02}"), "hit\n".repeat(1_500));
    }
    let found = grep(&place, json!({"pattern": "hit"})).await;
    let kept: Vec<usize> = found.files.iter().map(|file| file.lines.len()).collect();
    assert_eq!(kept, [1_500, 500, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(found.total, 18_000);
}

#[tokio::test]
async fn context_lines_come_once_each() {
    let place = Place::new();
    let lines = (1..=20).map(|no| if no == 5 || no == 8 { "hit\n".to_owned() } else { format!("line {no}\n") });
    place.write("f", lines.collect::<Vec<_>>().concat());
    let found = grep(&place, json!({"pattern": "hit", "context_lines": 2})).await;
    let marked: Vec<(u64, bool)> = found.files[0].lines.iter().map(|line| (line.line, line.is_match)).collect();
    let expected: Vec<(u64, bool)> = (3..=10).map(|no| (no, no == 5 || no == 8)).collect();
    assert_eq!((marked, found.total), (expected, 2));
    let after = grep(&place, json!({"pattern": "hit", "after_lines": 1})).await;
    assert_eq!(places(&after), ["f:5", "f:6", "f:8", "f:9"]);
}

#[tokio::test]
async fn line_ends_of_both_kinds_match() {
    let place = Place::new();
    place.write("u.txt", "fn a()\r\n{\r\n");
    place.write("v.txt", "fn a()\n{\n");
    let end = grep(&place, json!({"pattern": "fn a\\(\\)$"})).await;
    assert_eq!(places(&end), ["u.txt:1", "v.txt:1"]);
    assert_eq!(end.files[0].lines[0].text, "fn a()");
    let spanning = json!({"pattern": "fn a\\(\\)\\n\\{", "multiline": true});
    let found = grep(&place, spanning).await;
    assert_eq!(
        (found.total, places(&found)),
        (2, ["u.txt:1", "u.txt:2", "v.txt:1", "v.txt:2"].map(str::to_owned).to_vec())
    );
    let outcome = Outcome { status: Status::Ok, body: Body::Matches(found) };
    assert!(!shown("grep", &outcome).partial);
    let dollar = grep(&place, json!({"pattern": "a\\(\\)$", "multiline": true})).await;
    assert_eq!(dollar.total, 2);
    let problem = place.problem(&Grep, json!({"pattern": "fn a\\(\\)\\n\\{"})).await;
    assert!(problem.contains("spans lines") && problem.contains("\"multiline\": true"), "{problem}");
}

#[tokio::test]
async fn links_out_are_not_followed() {
    let place = Place::new();
    std::fs::write(place.o.join("secret.txt"), "TOPSECRET\n").unwrap();
    symlink(place.o.join("secret.txt"), place.w.join("l.txt")).unwrap();
    symlink(&place.o, place.w.join("ld")).unwrap();
    let found = grep(&place, json!({"pattern": "TOPSECRET"})).await;
    assert_eq!((found.total, found.files.len()), (0, 0));
}

#[tokio::test]
async fn binary_files_are_noted() {
    let place = Place::new();
    place.write("a.bin", b"needle\0needle\n");
    place.write("b.txt", "needle\n");
    let utf16: Vec<u8> = "\u{feff}needle\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    place.write("c.txt", utf16);
    let found = grep(&place, json!({"pattern": "needle"})).await;
    assert_eq!(places(&found), ["b.txt:1", "c.txt:1"]);
    assert_eq!(found.notes, ["1 binary file was not searched"]);
}

#[tokio::test]
async fn modes_filters_and_odd_names_work() {
    let place = Place::new();
    place.write("a.rs", "Needle\nneedle\n");
    place.write("src/b.py", "needle\n");
    place.write(OsStr::from_bytes(b"bad-\xFF.txt"), "needle\n");
    let count = grep(&place, json!({"pattern": "needle", "output_mode": "count", "case_insensitive": true})).await;
    let counts: Vec<(&str, u64)> = count.files.iter().map(|file| (file.path.as_str(), file.count)).collect();
    assert_eq!(counts, [("a.rs", 2), ("bad-\\xFF.txt", 1), ("src/b.py", 1)]);
    let paths = async |args: Value| -> Vec<String> {
        grep(&place, args).await.files.into_iter().map(|file| file.path).collect()
    };
    assert_eq!(paths(json!({"pattern": "needle", "glob": "*.py"})).await, ["src/b.py"]);
    assert_eq!(paths(json!({"pattern": "needle", "glob": "!*.py"})).await, ["a.rs", "bad-\\xFF.txt"]);
    assert_eq!(paths(json!({"pattern": "needle", "glob": "src/**"})).await, ["src/b.py"]);
    assert_eq!(paths(json!({"pattern": "needle", "type": "rust"})).await, ["a.rs"]);
    assert_eq!(paths(json!({"pattern": "needle", "path": "a.rs", "glob": "*.rs"})).await, ["a.rs"]);
    let problem = place.problem(&Grep, json!({"pattern": "x", "type": "rusty"})).await;
    assert_eq!(problem, "`type`: \"rusty\" is unknown. Near: rust. Use `glob` instead, such as \"*.rusty\".");
}

#[tokio::test]
async fn all_roots_are_searched_and_a_missing_one_is_said() {
    let mut place = Place::new();
    place.write("a.txt", "needle\n");
    std::fs::write(place.o.join("b.txt"), "needle\n").unwrap();
    place.env.roots = [place.w.clone(), place.o.clone()].into();
    let both = grep(&place, json!({"pattern": "needle"})).await;
    let second = format!("{}/b.txt:1", place.o.display());
    let mut found = places(&both);
    found.sort();
    let mut expected = vec!["a.txt:1".to_owned(), second.clone()];
    expected.sort();
    assert_eq!(found, expected);
    std::fs::remove_dir_all(&place.w).unwrap();
    let one = grep(&place, json!({"pattern": "needle"})).await;
    assert_eq!(places(&one), [second]);
    assert!(one.notes[0].starts_with(&format!("workspace missing: {}", place.w.display())));
    std::fs::remove_dir_all(&place.o).unwrap();
    assert!(place.problem(&Grep, json!({"pattern": "needle"})).await.starts_with("workspace missing: "));
}

#[tokio::test]
async fn protected_folders_inside_a_root_are_not_searched() {
    let mut place = Place::new();
    place.write("data/user.db", "needle\n");
    place.write("a.txt", "needle\n");
    place.env.protected = [place.w.join("data")].into();
    let found = grep(&place, json!({"pattern": "needle"})).await;
    assert_eq!((places(&found), found.notes), (vec!["a.txt:1".to_owned()], vec![]));
}

#[tokio::test]
async fn of_files_whose_lines_are_not_what_they_look_like_no_version_is_told() {
    let place = Place::new();
    place.write("crlf.txt", "a\r\nneedle\r\n");
    place.write("damaged.txt", [&b"\xc3\xa4\xc3\xa4 needle\n"[..], b"\xff needle\n"].concat());
    place.write("long.txt", format!("needle\n{}needle\n", "x".repeat(3_000)));
    place.write("wide.txt", "\u{feff}needle\nx\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    let found = grep(&place, json!({"pattern": "needle"})).await;
    let known: Vec<(&str, bool)> = found.files.iter().map(|file| (file.path.as_str(), file.source.is_some())).collect();
    assert_eq!(known, [("crlf.txt", true), ("damaged.txt", false), ("long.txt", true), ("wide.txt", true)]);
}
