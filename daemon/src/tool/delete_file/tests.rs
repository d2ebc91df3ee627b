use super::*;
use crate::file_io::pre_image::PreImages;
use crate::tool::testing::{Place, fifo};
use plimsoll_core::path::WorkspacePath;
use plimsoll_core::tool::call::Zone;
use serde_json::json;
use std::os::unix::fs::{PermissionsExt, symlink};

#[tokio::test]
async fn a_file_is_deleted_and_its_content_kept() {
    let place = Place::new();
    let path = place.write("a.txt", "one\ntwo\n");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    let edited = place.edited(&DeleteFile, json!({"target_file": "a.txt", "explanation": "not needed"})).await;
    let change = &edited.files[0].change;
    let version = FileVersion::of(b"one\ntwo\n").to_string();
    assert_eq!((change.before.clone(), change.after.clone(), change.mode), (Some(version.clone()), None, Some(0o640)));
    assert_eq!((change.lines_before, change.diff.removed, change.diff.added), (2, 2, 0));
    assert_eq!(PreImages::new(&place.env.pre_images).read(&version).unwrap(), b"one\ntwo\n");
    assert!(place.names().is_empty());
}

#[tokio::test]
async fn of_a_link_the_link_goes() {
    let place = Place::new();
    std::fs::write(place.o.join("victim.txt"), "v").unwrap();
    place.write("real.md", "r");
    let links =
        [("notes.md", place.o.join("victim.txt")), ("draft.txt", place.o.join("new.txt")), ("in", "real.md".into())];
    for (name, target) in &links {
        symlink(target, place.w.join(name)).unwrap();
        let (call, prepared) = place.prepare(&DeleteFile, json!({"target_file": name})).await.unwrap();
        assert_eq!(prepared.targets[0].zone, Zone::Root(WorkspacePath::new(0, *name)));
        assert!(prepared.changes[0].link);
        let outcome = place.run(&DeleteFile, &call, &prepared, &tokio_util::sync::CancellationToken::new()).await;
        assert!(!outcome.status.is_error(), "{outcome:?}");
        let kept = PreImages::new(&place.env.pre_images).read(prepared.changes[0].before.as_deref().unwrap()).unwrap();
        assert_eq!(kept, target.as_os_str().as_bytes());
    }
    assert_eq!((place.names(), place.bytes("real.md")), (vec!["real.md".to_owned()], b"r".to_vec()));
    assert_eq!(std::fs::read(place.o.join("victim.txt")).unwrap(), b"v");
    assert!(!place.o.join("new.txt").exists());
}

#[tokio::test]
async fn folders_pipes_and_other_versions_are_refused() {
    let place = Place::new();
    place.write("dir/x", "x");
    symlink("dir", place.w.join("to_dir")).unwrap();
    fifo(&place.w.join("pipe"));
    let version = FileVersion::of(b"other").to_string();
    for (target, word) in
        [("dir", "is a directory"), (".", "is a directory"), ("pipe", "named pipe"), ("gone", "does not exist")]
    {
        let problem = place.problem(&DeleteFile, json!({"target_file": target})).await;
        assert!(problem.contains(word), "{problem}");
    }
    let problem = place.problem(&DeleteFile, json!({"target_file": "dir/x", "expected_version": version})).await;
    assert!(problem.contains(&version), "{problem}");
    assert_eq!(
        (place.names(), place.bytes("dir/x")),
        (vec!["dir".into(), "pipe".into(), "to_dir".into()], b"x".to_vec())
    );
    // A file behind a linked folder is that file.
    place.edited(&DeleteFile, json!({"target_file": "to_dir/x"})).await;
    assert!(!place.w.join("dir/x").exists());
}

#[tokio::test]
async fn a_binary_file_is_deleted_too() {
    let place = Place::new();
    place.write("b", b"\0\x01");
    let edited = place.edited(&DeleteFile, json!({"target_file": "b"})).await;
    assert_eq!(edited.notes, ["It was a binary file of 2 bytes."]);
    assert!(place.names().is_empty());
}
