//! What the files of a cut call are said to hold, against what they do hold: every kind of disturbance, on real files, looked
//! at by the function that recovery and `inspect_operation` use.

use crate::file_io::observe;
use crate::file_io::observe::native;
use crate::tool::Tool;
use crate::tool::apply_patch::ApplyPatch;
use crate::tool::testing::Place;
use expect_test::expect;
use plimsoll_core::id::{CallId, Revision, TurnNo};
use plimsoll_core::ledger::{OpState, Operation, OperationFile, Verdict, judge};
use plimsoll_core::path::escape;
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::outcome::Status;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Hunks of each file of the patch that edits.
const HUNKS: usize = 3;

/// Lines between two hunks: more than their context.
const APART: usize = 9;

/// The content of a file with these hunks.
fn content(file: usize, hunks: [bool; HUNKS]) -> String {
    let mut text = String::new();
    for (at, done) in hunks.iter().enumerate() {
        let _ = writeln!(text, "{} {file}.{at}", if *done { "new" } else { "old" });
        for line in 0..APART {
            let _ = writeln!(text, "same {file}.{at}.{line}");
        }
    }
    text
}

/// A patch over three files that are edited, one that is made and one that goes.
fn patch() -> String {
    let mut text = String::new();
    for file in 0..3 {
        let _ = writeln!(text, "--- f{file}\n+++ f{file}");
        for at in 0..HUNKS {
            let line = at * (APART + 1) + 1;
            let _ =
                writeln!(text, "@@ -{line},2 +{line},2 @@\n-old {file}.{at}\n+new {file}.{at}\n same {file}.{at}.0");
        }
    }
    text.push_str("--- /dev/null\n+++ made\n@@ -0,0 +1 @@\n+made\n--- gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n");
    text
}

struct World {
    place: Place,
    operation: Operation,
}

/// Which of the patch's files are written; the whole of it is all five.
type Written = [bool; 5];

/// The patch as the ledger has it, with names in the place of paths: made and performed by the tool itself.
async fn recorded() -> Vec<OperationFile> {
    let place = Place::new();
    for file in 0..3 {
        place.write(format!("f{file}"), content(file, [false; HUNKS]));
    }
    place.write("gone", "gone\n");
    let (call, prepared) = place.prepare(&ApplyPatch, json!({"patch": patch()})).await.unwrap();
    let outcome = place.run(&ApplyPatch, &call, &prepared, &CancellationToken::new()).await;
    assert_eq!(outcome.status, Status::Ok, "{outcome:?}");
    for file in 0..3 {
        assert_eq!(place.bytes(format!("f{file}")), content(file, [true; HUNKS]).into_bytes());
    }
    assert_eq!((place.bytes("made"), place.w.join("gone").exists()), (b"made\n".to_vec(), false));
    let file = |change: &plimsoll_core::tool::call::FileChange| OperationFile {
        path: change.shown.clone(),
        before: change.before.clone(),
        after: change.after.clone(),
        mode: change.mode,
        link: change.link,
    };
    prepared.changes.iter().map(file).collect()
}

impl World {
    fn new(written: Written, recorded: &[OperationFile]) -> Self {
        let place = Place::new();
        for (file, written) in written.iter().enumerate() {
            match file {
                0..3 => drop(place.write(format!("f{file}"), content(file, [*written; HUNKS]))),
                3 if *written => drop(place.write("made", "made\n")),
                4 if !*written => drop(place.write("gone", "gone\n")),
                _ => {}
            }
        }
        let path = |file: &OperationFile| escape(place.w.join(&file.path).as_os_str().as_bytes());
        let files = recorded.iter().map(|file| OperationFile { path: path(file), ..file.clone() }).collect();
        let operation = Operation {
            call: CallId(7),
            turn: TurnNo(1),
            tool: ApplyPatch.name().to_owned(),
            class: "write".to_owned(),
            target: String::new(),
            command: None,
            state: OpState::Unknown,
            at: Timestamp(0),
            revision: Revision(0),
            files,
            process: None,
            background: false,
            finding: None,
            repeats: 0,
        };
        Self { place, operation }
    }

    fn verdict(&self) -> Verdict {
        let seen: Vec<_> = self.operation.files.iter().map(observe).collect();
        judge(&self.operation, &seen).0
    }

    /// Hunks that are in the files, and how many there would be: making and deleting a file count as one each. Only real
    /// files where they belong count.
    fn truth(&self) -> (usize, usize) {
        let is_file = |path: &Path| {
            let real = path.parent().and_then(|folder| folder.canonicalize().ok());
            real.as_deref() == path.parent() && fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
        };
        let text =
            |path: &Path| if is_file(path) { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
        let mut there = 0;
        for file in &self.operation.files {
            let path = native(&file.path);
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            match name.as_str() {
                "made" => there += usize::from(text(&path).lines().any(|line| line == "made")),
                "gone" => there += usize::from(fs::symlink_metadata(&path).is_err()),
                edited => {
                    let no = &edited[1..];
                    let text = text(&path);
                    there += (0..HUNKS).filter(|at| text.lines().any(|line| line == format!("new {no}.{at}"))).count();
                }
            }
        }
        (there, 3 * HUNKS + 2)
    }
}

/// What somebody does to one file.
type Deed = fn(&World, &Path);

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn number(path: &Path) -> Option<usize> {
    path.file_name()?.to_str()?.strip_prefix('f')?.parse().ok()
}

/// The file has these of its hunks only.
fn hunks(path: &Path, which: [bool; HUNKS]) {
    if let Some(file) = number(path) {
        fs::write(path, content(file, which)).unwrap();
    }
}

fn replace(path: &Path, content: &[u8]) {
    let _ = fs::remove_file(path);
    fs::write(path, content).unwrap();
}

fn elsewhere(world: &World, path: &Path) -> PathBuf {
    world.place.o.join(path.file_name().unwrap())
}

const DEEDS: [(&str, Deed); 24] = [
    ("nothing", |_, _| {}),
    ("first hunk missing", |_, path| hunks(path, [false, true, true])),
    ("middle hunk missing", |_, path| hunks(path, [true, false, true])),
    ("last hunk missing", |_, path| hunks(path, [true, true, false])),
    ("only first hunk", |_, path| hunks(path, [true, false, false])),
    ("only last hunk", |_, path| hunks(path, [false, false, true])),
    ("reverted", |_, path| match (number(path), path.ends_with("gone")) {
        (Some(file), _) => replace(path, content(file, [false; HUNKS]).as_bytes()),
        (None, true) => replace(path, b"gone\n"),
        (None, false) => drop(fs::remove_file(path)),
    }),
    ("done by hand", |_, path| match (number(path), path.ends_with("gone")) {
        (Some(file), _) => replace(path, content(file, [true; HUNKS]).as_bytes()),
        (None, true) => drop(fs::remove_file(path)),
        (None, false) => replace(path, b"made\n"),
    }),
    ("edited elsewhere in it", |_, path| {
        let text = read(path) + "theirs\n";
        replace(path, text.as_bytes());
    }),
    ("one byte more", |_, path| {
        let text = read(path) + " ";
        replace(path, text.as_bytes());
    }),
    ("last newline gone", |_, path| {
        let text = read(path);
        fs::write(path, text.trim_end()).unwrap();
    }),
    ("line ends changed", |_, path| {
        let text = read(path).replace('\n', "\r\n");
        replace(path, text.as_bytes());
    }),
    ("emptied", |_, path| replace(path, b"")),
    ("saved again", |_, path| {
        if path.exists() {
            let text = read(path);
            replace(path, text.as_bytes());
        }
    }),
    ("mode changed", |_, path| {
        if path.exists() {
            fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
        }
    }),
    ("deleted", |_, path| drop(fs::remove_file(path))),
    ("renamed away", |_, path| drop(fs::rename(path, path.with_extension("away")))),
    ("exchanged with another", |_, path| {
        let other = path.with_file_name("f2");
        let _ = fs::rename(path, path.with_extension("swap"));
        let _ = fs::rename(&other, path);
        let _ = fs::rename(path.with_extension("swap"), other);
    }),
    ("link to the same content", |world, path| {
        if path.exists() {
            let away = elsewhere(world, path);
            fs::copy(path, &away).unwrap();
            fs::remove_file(path).unwrap();
            symlink(away, path).unwrap();
        }
    }),
    ("link that holds the content", |_, path| {
        let text = read(path);
        let _ = fs::remove_file(path);
        symlink(if text.is_empty() { "nowhere" } else { &text }, path).unwrap();
    }),
    ("folder", |_, path| {
        let _ = fs::remove_file(path);
        fs::create_dir(path).unwrap();
    }),
    ("pipe", |_, path| {
        let _ = fs::remove_file(path);
        crate::tool::testing::fifo(path);
    }),
    ("another name for it too", |world, path| {
        if path.exists() {
            fs::hard_link(path, elsewhere(world, path)).unwrap();
        }
    }),
    ("its folder moved, a link there", |world, path| {
        let (folder, away) = (path.parent().unwrap(), world.place.o.join("moved"));
        fs::rename(folder, &away).unwrap();
        symlink(&away, folder).unwrap();
    }),
];

#[tokio::test]
async fn the_verdict_never_says_more_than_the_files_do() {
    let cuts: [(&str, Written); 4] = [
        ("all written", [true; 5]),
        ("two written", [true, true, false, false, false]),
        ("all but one", [true, true, false, true, true]),
        ("none written", [false; 5]),
    ];
    let recorded = recorded().await;
    let names = ["f0", "f1", "made", "gone"];
    let mut table = format!("{:<32}", "each on f0, f1, made, gone");
    for verdict in ["applied", "not applied", "partly", "changed", "cannot tell"] {
        let _ = write!(table, "{verdict:>13}");
    }
    table.push('\n');
    for (cut, written) in cuts {
        let _ = writeln!(table, "{cut}");
        for (deed, perform) in DEEDS {
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            for name in names {
                let world = World::new(written, &recorded);
                perform(&world, &world.place.w.join(name));
                let (verdict, (there, whole)) = (world.verdict(), world.truth());
                assert!(verdict != Verdict::Applied || there == whole, "{cut}, {deed} {name}: {there} of {whole}");
                assert!(verdict != Verdict::NotApplied || there == 0, "{cut}, {deed} {name}: {there} of {whole}");
                let column = match verdict {
                    Verdict::Applied => 0,
                    Verdict::NotApplied => 1,
                    Verdict::PartlyApplied => 2,
                    Verdict::Changed => 3,
                    Verdict::CannotTell => 4,
                };
                *counts.entry(column).or_default() += 1;
            }
            let _ = write!(table, "  {deed:<30}");
            for column in 0..5 {
                let count = counts.get(&column).map_or_else(|| ".".to_owned(), ToString::to_string);
                let _ = write!(table, "{count:>13}");
            }
            table.push('\n');
        }
    }
    println!("{table}");
    expect![[r"
        each on f0, f1, made, gone            applied  not applied       partly      changed  cannot tell
        all written
          nothing                                   4            .            .            .            .
          first hunk missing                        2            .            .            2            .
          middle hunk missing                       2            .            .            2            .
          last hunk missing                         2            .            .            2            .
          only first hunk                           2            .            .            2            .
          only last hunk                            2            .            .            2            .
          reverted                                  .            .            4            .            .
          done by hand                              4            .            .            .            .
          edited elsewhere in it                    .            .            .            4            .
          one byte more                             .            .            .            4            .
          last newline gone                         .            .            .            4            .
          line ends changed                         .            .            .            4            .
          emptied                                   .            .            .            4            .
          saved again                               4            .            .            .            .
          mode changed                              4            .            .            .            .
          deleted                                   1            .            1            2            .
          renamed away                              1            .            1            2            .
          exchanged with another                    .            .            .            4            .
          link to the same content                  1            .            .            3            .
          link that holds the content               .            .            .            4            .
          folder                                    .            .            .            4            .
          pipe                                      .            .            .            4            .
          another name for it too                   4            .            .            .            .
          its folder moved, a link there            .            .            .            .            4
        two written
          nothing                                   .            .            4            .            .
          first hunk missing                        .            .            2            2            .
          middle hunk missing                       .            .            2            2            .
          last hunk missing                         .            .            2            2            .
          only first hunk                           .            .            2            2            .
          only last hunk                            .            .            2            2            .
          reverted                                  .            .            4            .            .
          done by hand                              .            .            4            .            .
          edited elsewhere in it                    .            .            .            4            .
          one byte more                             .            .            .            4            .
          last newline gone                         .            .            .            4            .
          line ends changed                         .            .            .            4            .
          emptied                                   .            .            .            4            .
          saved again                               .            .            4            .            .
          mode changed                              .            .            4            .            .
          deleted                                   .            .            2            2            .
          renamed away                              .            .            2            2            .
          exchanged with another                    .            .            .            4            .
          link to the same content                  .            .            1            3            .
          link that holds the content               .            .            .            4            .
          folder                                    .            .            .            4            .
          pipe                                      .            .            .            4            .
          another name for it too                   .            .            4            .            .
          its folder moved, a link there            .            .            .            .            4
        all but one
          nothing                                   .            .            4            .            .
          first hunk missing                        .            .            2            2            .
          middle hunk missing                       .            .            2            2            .
          last hunk missing                         .            .            2            2            .
          only first hunk                           .            .            2            2            .
          only last hunk                            .            .            2            2            .
          reverted                                  .            .            4            .            .
          done by hand                              .            .            4            .            .
          edited elsewhere in it                    .            .            .            4            .
          one byte more                             .            .            .            4            .
          last newline gone                         .            .            .            4            .
          line ends changed                         .            .            .            4            .
          emptied                                   .            .            .            4            .
          saved again                               .            .            4            .            .
          mode changed                              .            .            4            .            .
          deleted                                   .            .            2            2            .
          renamed away                              .            .            2            2            .
          exchanged with another                    .            .            .            4            .
          link to the same content                  .            .            1            3            .
          link that holds the content               .            .            .            4            .
          folder                                    .            .            .            4            .
          pipe                                      .            .            .            4            .
          another name for it too                   .            .            4            .            .
          its folder moved, a link there            .            .            .            .            4
        none written
          nothing                                   .            4            .            .            .
          first hunk missing                        .            2            .            2            .
          middle hunk missing                       .            2            .            2            .
          last hunk missing                         .            2            .            2            .
          only first hunk                           .            2            .            2            .
          only last hunk                            .            2            .            2            .
          reverted                                  .            4            .            .            .
          done by hand                              .            .            4            .            .
          edited elsewhere in it                    .            .            .            4            .
          one byte more                             .            .            .            4            .
          last newline gone                         .            .            .            4            .
          line ends changed                         .            .            .            4            .
          emptied                                   .            .            .            4            .
          saved again                               .            4            .            .            .
          mode changed                              .            4            .            .            .
          deleted                                   .            1            1            2            .
          renamed away                              .            1            1            2            .
          exchanged with another                    .            .            .            4            .
          link to the same content                  .            1            .            3            .
          link that holds the content               .            .            .            4            .
          folder                                    .            .            .            4            .
          pipe                                      .            .            .            4            .
          another name for it too                   .            4            .            .            .
          its folder moved, a link there            .            .            .            .            4
    "]]
    .assert_eq(&table);
}
