use super::*;
use crate::tool::testing::Place;
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;

fn args(path: &str, edits: &[(&str, &str)]) -> Value {
    let edits: Vec<Value> = edits.iter().map(|(old, new)| json!({"old_string": old, "new_string": new})).collect();
    json!({"file_path": path, "edits": edits})
}

#[tokio::test]
async fn edits_are_made_one_after_the_other() {
    let place = Place::new();
    place.write("m.ts", "const a = 1;\nconst b = 2;\n");
    let edits = [("a = 1", "c = 3"), ("c = 3;\nconst b", "c = 4;\nconst d")];
    let edited = place.edited(&MultiEdit, args("m.ts", &edits)).await;
    assert_eq!(place.bytes("m.ts"), b"const c = 4;\nconst d = 2;\n");
    assert_eq!((edited.files[0].change.diff.removed, edited.files[0].change.diff.added), (2, 2));
}

#[tokio::test]
async fn with_one_bad_edit_nothing_is_written() {
    let place = Place::new();
    let path = place.write("m.ts", "const a = 1;\nconst b = 2;\n");
    let stamp = || std::fs::metadata(&path).map(|m| (m.ino(), m.mtime(), m.mtime_nsec(), m.ctime_nsec())).unwrap();
    let before = stamp();
    let problem = place.problem(&MultiEdit, args("m.ts", &[("a = 1", "a = 10"), ("const zz", "const yy")])).await;
    assert!(problem.starts_with("`m.ts`: edits[1]: ") && problem.ends_with(" Nothing was written."), "{problem}");
    assert_eq!((place.bytes("m.ts"), stamp()), (b"const a = 1;\nconst b = 2;\n".to_vec(), before));
    let problem = place.problem(&MultiEdit, args("new.ts", &[("", "x\n"), ("zz", "y")])).await;
    assert!(problem.contains("`new.ts` does not exist"), "{problem}");
    let problem = place.problem(&MultiEdit, args("m.ts", &[("a", "b"), ("", "X")])).await;
    assert!(problem.contains("edits["), "{problem}");
    place.write("e.txt", "abc");
    let problem = place.problem(&MultiEdit, args("e.txt", &[("a", "b"), ("", "X")])).await;
    assert!(problem.contains("edits[1]: old_string is empty"), "{problem}");
    assert_eq!((place.bytes("e.txt"), place.names()), (b"abc".to_vec(), vec!["e.txt".to_owned(), "m.ts".to_owned()]));
}
