use super::*;
use crate::tool::testing::{Place, fifo, paths, shown};
use plimsoll_core::tool::call::Zone;
use serde_json::json;
use std::os::unix::fs::symlink;

#[tokio::test]
async fn entries_have_kind_and_size_and_ignored_ones_are_counted() {
    let place = Place::new();
    place.write(".gitignore", "gen/\n*.log\n");
    place.write("gen/a.rs", "x");
    place.write("x.log", "x");
    place.write("b.txt", "12345");
    place.write(".hidden", "");
    place.write("src/c.rs", "x");
    place.write(".git/config", "x");
    symlink("b.txt", place.w.join("link")).unwrap();
    fifo(&place.w.join("pipe"));
    let outcome = place.call(&ListDir, json!({"target_directory": "."})).await;
    assert_eq!(
        shown("list_dir", &outcome).text,
        "[list_dir ok · . · 6 entries · e/c7@r1]\nsrc/\n.gitignore\t11 bytes\n.hidden\t0 bytes\nb.txt\t5 bytes\nlink\tlink\n\
         pipe\tpipe, socket or device\n\
         [2 entries ignored by ignore files: list_dir {\"target_directory\":\".\",\"include_ignored\":true}]\n\
         [.git is not listed]"
    );
    let all = place.entries(&ListDir, json!({"target_directory": ".", "include_ignored": true})).await;
    assert_eq!(
        (paths(&all), all.ignored),
        (vec!["gen", "src", ".gitignore", ".hidden", "b.txt", "link", "pipe", "x.log"], 0)
    );
    let some = json!({"target_directory": ".", "ignore_globs": ["*.txt", "**/src/**", ".*", "link"]});
    assert_eq!(paths(&place.entries(&ListDir, some).await), ["pipe"]);
}

#[tokio::test]
async fn a_folder_that_is_ignored_is_listed_when_it_is_named() {
    let place = Place::new();
    place.write(".gitignore", "gen/\n*.o\n");
    place.write("gen/a.rs", "x");
    place.write("gen/a.o", "x");
    place.write("src/b.o", "x");
    place.write("src/b.c", "x");
    let named = place.entries(&ListDir, json!({"target_directory": "gen"})).await;
    assert_eq!((paths(&named), named.ignored), (vec!["a.o", "a.rs"], 0));
    let plain = place.entries(&ListDir, json!({"target_directory": "src"})).await;
    assert_eq!((paths(&plain), plain.ignored), (vec!["b.c"], 1));
}

#[tokio::test]
async fn odd_names_are_listed_in_their_text_form() {
    let place = Place::new();
    place.write(OsStr::from_bytes(b"bad-\xFF.txt"), "needle\n");
    place.write("good.txt", "needle\n");
    let listing = place.entries(&ListDir, json!({"target_directory": "."})).await;
    assert_eq!(paths(&listing), ["bad-\\xFF.txt", "good.txt"]);
}

#[tokio::test]
async fn what_is_no_folder_is_an_error() {
    let place = Place::new();
    place.write("f", "x");
    assert_eq!(
        place.problem(&ListDir, json!({"target_directory": "f"})).await,
        "`f` is not a directory. Use read_file to read it."
    );
    assert_eq!(place.problem(&ListDir, json!({"target_directory": "g/h"})).await, "`g/h` does not exist. Nearest: f.");
    assert!(
        place.problem(&ListDir, json!({"target_directory": ".", "ignore_globs": "["})).await.contains("ignore_globs")
    );
    std::fs::remove_dir_all(&place.w).unwrap();
    let missing = place.problem(&ListDir, json!({"target_directory": "."})).await;
    assert!(missing.starts_with(&format!("workspace missing: {}", place.w.display())), "{missing}");
}

#[tokio::test]
async fn a_link_to_a_folder_outside_is_outside() {
    let place = Place::new();
    symlink(&place.o, place.w.join("esc")).unwrap();
    let args = json!({"target_directory": "esc"});
    let call = Call { id: plimsoll_core::id::CallId(1), tool: "list_dir".to_owned(), args };
    let prepared = ListDir.prepare(&call, &place.env).await.unwrap();
    assert_eq!(prepared.targets[0].zone, Zone::Outside);
}
