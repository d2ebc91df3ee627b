use super::*;
use crate::tool::testing::{Place, names};
use plimsoll_core::workspace::FileVersion;
use serde_json::json;
use std::os::unix::fs::{PermissionsExt, symlink};

#[tokio::test]
async fn a_new_file_is_made_with_the_folders_above() {
    let place = Place::new();
    let edited = place.edited(&Write, json!({"file_path": "a/b/c.txt", "contents": "one\r\ntwo"})).await;
    assert_eq!(place.bytes("a/b/c.txt"), b"one\r\ntwo");
    let change = &edited.files[0].change;
    assert_eq!((change.before.clone(), change.touches.len(), change.whole), (None, 0, true));
    assert_eq!((edited.files[0].lines_after, edited.files[0].wrote.clone()), (2, vec![(1, 2)]));
    assert_eq!((change.diff.added, change.diff.removed), (2, 0));
    place.edited(&Write, json!({"file_path": "empty", "contents": ""})).await;
    assert_eq!(place.bytes("empty"), b"");
    assert!(!place.env.pre_images.exists(), "there was nothing to keep");
}

#[tokio::test]
async fn what_is_there_gives_encoding_mark_line_ends_and_mode() {
    let place = Place::new();
    let utf16 = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let over = async |before: &[u8], contents: &str| {
        let path = place.write("f", before);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        let edited = place.edited(&Write, json!({"file_path": "f", "contents": contents})).await;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
        (place.bytes("f"), edited.notes)
    };
    let notes = |notes: &[&str]| notes.iter().map(|note| (*note).to_owned()).collect::<Vec<_>>();
    let crlf = "The file's line ends, CRLF, are kept.";
    assert_eq!(over(b"a\r\nb\r\n", "c\nd\n").await, (b"c\r\nd\r\n".to_vec(), notes(&[crlf])));
    assert_eq!(over(b"a\r\nb\n", "c\nd\n").await, (b"c\nd\n".to_vec(), notes(&[])));
    assert_eq!(over(b"a\r\nb\r\n", "c\r\nd\n").await, (b"c\r\nd\n".to_vec(), notes(&[])));
    assert_eq!(over(b"a\nb\n", "c\r\nd\r\n").await, (b"c\r\nd\r\n".to_vec(), notes(&[])));
    let kept = |name: &str| format!("The file's encoding, {name}, is kept.");
    for contents in ["new\n", "\u{FEFF}new\n"] {
        assert_eq!(
            over(b"\xEF\xBB\xBFold\n", contents).await,
            (b"\xEF\xBB\xBFnew\n".to_vec(), notes(&[&kept("utf-8-bom")]))
        );
    }
    assert_eq!(
        over(&utf16("\u{FEFF}old\r\n"), "new \u{1F600}\n").await,
        (utf16("\u{FEFF}new \u{1F600}\r\n"), notes(&[crlf, &kept("utf-16le")]))
    );
    assert_eq!(over(b"caf\xE9 au lait\n", "th\u{e9}\n").await, (b"th\xE9\n".to_vec(), notes(&[&kept("windows-1252")])));
}

#[tokio::test]
async fn what_the_encoding_does_not_have_is_refused_by_name() {
    let place = Place::new();
    place.write("l.txt", b"caf\xE9 au lait\n");
    assert_eq!(
        place.problem(&Write, json!({"file_path": "l.txt", "contents": "a \u{2192} b"})).await,
        "`l.txt` is in the encoding windows-1252, and the contents have the character `\u{2192}` (U+2192), which it does \
         not have. Nothing was written."
    );
    let damaged = b"\xC3\xA4 \xE2\x82\xAC \xC3\xB6 \xFF\n";
    place.write("d.txt", damaged);
    let problem = place.problem(&Write, json!({"file_path": "d.txt", "contents": "\u{e4} \u{20AC} \u{FFFD}\n"})).await;
    assert!(problem.contains("U+FFFD") && problem.contains("would be lost"), "{problem}");
    assert_eq!((place.bytes("l.txt"), place.bytes("d.txt")), (b"caf\xE9 au lait\n".to_vec(), damaged.to_vec()));
}

#[tokio::test]
async fn what_must_not_exist_and_what_must_have_a_version_is_checked() {
    let place = Place::new();
    place.write("a", "old");
    let version = FileVersion::of(b"old").to_string();
    let problem = place.problem(&Write, json!({"file_path": "a", "contents": "x", "must_not_exist": true})).await;
    assert!(problem.contains("exists already") && problem.contains(&version), "{problem}");
    let other = FileVersion::of(b"other").to_string();
    let problem = place.problem(&Write, json!({"file_path": "a", "contents": "x", "expected_version": other})).await;
    assert!(problem.contains(&version) && problem.contains(&other), "{problem}");
    let problem = place.problem(&Write, json!({"file_path": "b", "contents": "x", "expected_version": version})).await;
    assert!(problem.contains("`b` does not exist") && problem.contains(&version), "{problem}");
    for path in ["dir/", "."] {
        place.problem(&Write, json!({"file_path": path, "contents": "x"})).await;
    }
    assert_eq!((place.bytes("a"), place.names()), (b"old".to_vec(), vec!["a".to_owned()]));
    place.edited(&Write, json!({"file_path": "a", "contents": "new", "expected_version": version})).await;
    place.edited(&Write, json!({"file_path": "b", "contents": "new", "must_not_exist": true})).await;
    assert_eq!((place.bytes("a"), place.bytes("b")), (b"new".to_vec(), b"new".to_vec()));
}

#[tokio::test]
async fn links_in_a_circle_are_an_error() {
    let place = Place::new();
    symlink("y", place.w.join("x")).unwrap();
    symlink("x", place.w.join("y")).unwrap();
    let problem = place.problem(&Write, json!({"file_path": "x", "contents": "new"})).await;
    assert_eq!(problem, "`x` leads through too many symbolic links");
    assert_eq!(place.names(), ["x", "y"]);
}

#[tokio::test]
async fn a_link_inside_that_leads_to_nothing_makes_its_target() {
    let place = Place::new();
    symlink("sub/new.txt", place.w.join("draft.txt")).unwrap();
    place.edited(&Write, json!({"file_path": "draft.txt", "contents": "x"})).await;
    assert_eq!((place.bytes("sub/new.txt"), names(&place.w)), (b"x".to_vec(), vec!["draft.txt".into(), "sub".into()]));
    assert!(place.w.join("draft.txt").is_symlink());
}
