//! What holds for all tools that change files: places, moments, cancellation.

use crate::tool::Tool;
use crate::tool::apply_patch::ApplyPatch;
use crate::tool::delete_file::DeleteFile;
use crate::tool::multi_edit::MultiEdit;
use crate::tool::string_replace::StringReplace;
use crate::tool::testing::{Place, names};
use crate::tool::write::Write;
use plimsoll_core::permission::policy::{Decision, Mode, Policy, decide};
use plimsoll_core::tool::call::{Prepared, Zone};
use plimsoll_core::tool::outcome::{Body, Outcome, Status};
use plimsoll_core::tool::spec;
use plimsoll_core::workspace::FileVersion;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// A call of each tool that would change the file, which holds `old`, or make it.
fn calls(path: &str, exists: bool) -> Vec<(&'static dyn Tool, Value)> {
    let patch = if exists {
        format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-old\n+new\n")
    } else {
        format!("--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+new\n")
    };
    let mut calls: Vec<(&dyn Tool, Value)> =
        vec![(&Write, json!({"file_path": path, "contents": "new\n"})), (&ApplyPatch, json!({"patch": patch}))];
    if exists {
        calls.push((&StringReplace, json!({"file_path": path, "old_string": "old", "new_string": "new"})));
        calls.push((&MultiEdit, json!({"file_path": path, "edits": [{"old_string": "old", "new_string": "new"}]})));
        calls.push((&DeleteFile, json!({"target_file": path})));
    }
    calls
}

fn may_run(mode: Mode, tool: &dyn Tool, prepared: &Prepared) -> bool {
    let spec = spec::find(tool.name()).unwrap();
    matches!(decide(mode, &Policy::default(), &[], spec, prepared), Decision::Allow(_))
}

/// Every tool finds out that the path leads out, and none is let through by a mode that lets edits through.
async fn leads_out(place: &Place, path: &str, exists: bool, but: &str) {
    for (tool, args) in calls(path, exists) {
        if tool.name() == but {
            continue;
        }
        let (_, prepared) = place.prepare(tool, args).await.unwrap();
        assert_eq!(prepared.targets[0].zone, Zone::Outside, "{} {path}", tool.name());
        assert!(!may_run(Mode::AcceptEdits, tool, &prepared), "{} {path}", tool.name());
    }
}

#[tokio::test]
async fn a_sibling_folder_is_outside() {
    let place = Place::new();
    let top = place.w.parent().unwrap();
    let secret = top.join("ws-secret/creds");
    std::fs::create_dir_all(secret.parent().unwrap()).unwrap();
    std::fs::write(&secret, "old\n").unwrap();
    place.write("sub/a.txt", "old\n");
    place.write("a.txt", "old\n");
    for path in ["../ws-secret/creds", secret.to_str().unwrap(), "sub/../../ws-secret/creds"] {
        leads_out(&place, path, true, "").await;
    }
    leads_out(&place, "../ws2/x", false, "").await;
    assert_eq!((std::fs::read(&secret).unwrap(), top.join("ws2").exists()), (b"old\n".to_vec(), false));
    let edit = json!({"file_path": "../ws/a.txt", "old_string": "old", "new_string": "new"});
    let (_, prepared) = place.prepare(&StringReplace, edit.clone()).await.unwrap();
    assert_eq!(prepared.changes[0].shown, "a.txt");
    place.edited(&StringReplace, edit).await;
    assert_eq!(place.bytes("a.txt"), b"new\n");
}

#[tokio::test]
async fn links_that_lead_out_count_as_out_also_when_nothing_is_there() {
    let place = Place::new();
    std::fs::write(place.o.join("victim.txt"), "old\n").unwrap();
    symlink(place.o.join("victim.txt"), place.w.join("notes.md")).unwrap();
    symlink(place.o.join("new.txt"), place.w.join("draft.txt")).unwrap();
    symlink(&place.o, place.w.join("esc")).unwrap();
    // Deleting a link deletes no more than the link, which lies inside.
    leads_out(&place, "notes.md", true, "delete_file").await;
    leads_out(&place, "draft.txt", false, "").await;
    leads_out(&place, "esc/victim.txt", true, "").await;
    leads_out(&place, "esc/a.txt", false, "").await;
    leads_out(&place, "esc/deep/a.txt", false, "").await;
    assert_eq!(
        (names(&place.o), std::fs::read(place.o.join("victim.txt")).unwrap()),
        (vec!["victim.txt".into()], b"old\n".into())
    );
}

#[tokio::test]
async fn plimsolls_own_folders_and_git_insides_are_not_written() {
    let place = Place::new();
    place.write(".git/config", "old\n");
    let data = place.env.session_dir.parent().unwrap().to_owned();
    let image = place.env.pre_images.join("00000000000000000000000000000000");
    std::fs::create_dir_all(&place.env.pre_images).unwrap();
    std::fs::write(&image, "old\n").unwrap();
    std::fs::write(data.join("user.db"), "old\n").unwrap();
    let transcript = place.env.session_dir.join("transcript.txt");
    std::fs::write(&transcript, "old\n").unwrap();
    let all = [
        (place.w.join(".git/config"), Zone::Protected),
        (image, Zone::Protected),
        (data.join("user.db"), Zone::Protected),
        (transcript, Zone::Readable),
    ];
    for (path, zone) in all {
        for (tool, args) in calls(path.to_str().unwrap(), true) {
            let (_, prepared) = place.prepare(tool, args).await.unwrap();
            assert_eq!(prepared.targets[0].zone, zone, "{path:?}");
            for mode in [Mode::Ask, Mode::AcceptEdits, Mode::Full] {
                assert!(!may_run(mode, tool, &prepared), "{} {path:?} {mode}", tool.name());
            }
        }
    }
}

#[tokio::test]
async fn a_path_that_leads_elsewhere_than_decided_is_not_written() {
    let place = Place::new();
    place.write("d/f", "old\n");
    std::fs::write(place.o.join("f"), "old\n").unwrap();
    for (tool, args) in calls("d/f", true) {
        let (call, prepared) = place.prepare(tool, args).await.unwrap();
        std::fs::rename(place.w.join("d"), place.w.join("aside")).unwrap();
        symlink(&place.o, place.w.join("d")).unwrap();
        let outcome = place.run(tool, &call, &prepared, &CancellationToken::new()).await;
        assert_eq!(
            outcome,
            Outcome::failed("A path leads elsewhere than when the call was decided; nothing was written. Call again."),
            "{}",
            tool.name()
        );
        std::fs::remove_file(place.w.join("d")).unwrap();
        std::fs::rename(place.w.join("aside"), place.w.join("d")).unwrap();
    }
    assert_eq!((names(&place.o), std::fs::read(place.o.join("f")).unwrap()), (vec!["f".into()], b"old\n".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_swapped_for_a_link_lets_nothing_out() {
    let place = Place::new();
    std::fs::create_dir(place.w.join("d")).unwrap();
    symlink(&place.o, place.w.join("link")).unwrap();
    let done = AtomicBool::new(false);
    let swap = |folder: &Path| {
        let (d, link) = (folder.join("d"), folder.join("link"));
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, &d, rustix::fs::CWD, &link, flags).unwrap();
    };
    let written = std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(&place.w);
            }
        });
        let writer = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let mut written = 0;
                for no in 0..1000 {
                    let args = json!({"file_path": "d/f", "contents": format!("{no}\n")});
                    let Ok((call, prepared)) = place.prepare(&Write, args).await else { continue };
                    // What is seen to lead out does not run.
                    if matches!(prepared.targets[0].zone, Zone::Root(_)) {
                        let outcome = place.run(&Write, &call, &prepared, &CancellationToken::new()).await;
                        written += u32::from(outcome.status == Status::Ok);
                    }
                }
                written
            })
        });
        let written = writer.join().unwrap();
        done.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
        written
    });
    assert!(written > 0, "some writes find the folder");
    assert!(names(&place.o).is_empty(), "{:?} after {written} writes", names(&place.o));
}

#[tokio::test]
async fn a_file_that_changed_after_the_decision_is_refused_as_stale() {
    for theirs in [Some("v2\n"), Some("old\nmore\n"), None] {
        let place = Place::new();
        for (tool, args) in calls("p.txt", true) {
            let path = place.write("p.txt", "old\n");
            let (call, prepared) = place.prepare(tool, args).await.unwrap();
            match theirs {
                Some(text) => std::fs::write(&path, text).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            let outcome = place.run(tool, &call, &prepared, &CancellationToken::new()).await;
            let Outcome { status: Status::Failed, body: Body::Text(problem) } = &outcome else { panic!("{outcome:?}") };
            let version = |text: &str| FileVersion::of(text.as_bytes()).to_string();
            let expected = match theirs {
                Some(text) => format!(
                    "`p.txt` has changed since this call was decided (version {}, now {}); nothing was written. Read it again.",
                    version("old\n"),
                    version(text)
                ),
                None => "`p.txt` has been deleted since this call was decided; nothing was written. Read it again."
                    .to_owned(),
            };
            assert_eq!(*problem, expected, "{}", tool.name());
            assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), theirs);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_beside_another_writer_is_whole_or_refused_and_takes_nothing_from_them() {
    const PATCH: &str = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-old\n+new\n--- b.txt\n+++ b.txt\n@@ -1 +1 @@\n-old\n+new\n\
        --- /dev/null\n+++ sub/c.txt\n@@ -0,0 +1 @@\n+new\n";
    let place = Place::new();
    let mut counts = [0, 0];
    for round in 0..200_usize {
        for name in ["a.txt", "b.txt"] {
            place.write(name, "old\n");
        }
        let _ = std::fs::remove_dir_all(place.w.join("sub"));
        let (call, prepared) = place.prepare(&ApplyPatch, json!({"patch": PATCH})).await.unwrap();
        let theirs = format!("theirs {round}\n");
        let begin = std::sync::Barrier::new(2);
        let outcome = std::thread::scope(|scope| {
            // As editors save: another file takes the name.
            let writer = scope.spawn(|| {
                let aside = place.o.join("saved");
                std::fs::write(&aside, &theirs).unwrap();
                begin.wait();
                for _ in 0..round * 200 {
                    std::hint::spin_loop();
                }
                std::fs::rename(&aside, place.w.join("b.txt")).unwrap();
            });
            let run = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                begin.wait();
                runtime.block_on(place.run(&ApplyPatch, &call, &prepared, &CancellationToken::new()))
            });
            writer.join().unwrap();
            run.join().unwrap()
        });
        let written = outcome.status == Status::Ok;
        counts[usize::from(written)] += 1;
        let expected = if written { "new\n" } else { "old\n" };
        assert_eq!(place.bytes("a.txt"), expected.as_bytes(), "{round} {outcome:?}");
        assert_eq!(place.w.join("sub").exists(), written, "{round} {outcome:?}");
        assert_eq!(place.bytes("b.txt"), theirs.as_bytes(), "{round} {outcome:?}");
        assert!(!place.names().iter().any(|name| name.contains(".plimsoll-")), "{:?}", place.names());
    }
    println!("refused and written: {counts:?}");
}

#[tokio::test]
async fn a_file_that_came_after_the_decision_is_not_overwritten() {
    let place = Place::new();
    for (tool, args) in calls("new.txt", false) {
        let (call, prepared) = place.prepare(tool, args).await.unwrap();
        let path = place.write("new.txt", "theirs\n");
        let outcome = place.run(tool, &call, &prepared, &CancellationToken::new()).await;
        let Outcome { status: Status::Failed, body: Body::Text(problem) } = &outcome else { panic!("{outcome:?}") };
        assert!(problem.contains("did not exist when this call was decided"), "{problem}");
        assert_eq!(place.bytes("new.txt"), b"theirs\n");
        std::fs::remove_file(path).unwrap();
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_begins_changes_nothing() {
    let place = Place::new();
    place.write("a.txt", "old\n");
    let cancel = CancellationToken::new();
    cancel.cancel();
    for (tool, args) in calls("a.txt", true).into_iter().chain(calls("new.txt", false)) {
        let outcome = place.call_with(tool, args, &cancel).await;
        assert_eq!(outcome.status, Status::Cancelled, "{}", tool.name());
    }
    assert_eq!((place.names(), place.bytes("a.txt")), (vec!["a.txt".to_owned()], b"old\n".to_vec()));
}

#[tokio::test]
async fn without_a_pre_image_nothing_is_written() {
    let mut place = Place::new();
    // A file stands where the folder of pre-images is needed.
    place.env.pre_images = place.o.join("file");
    std::fs::write(&place.env.pre_images, "").unwrap();
    place.write("a.txt", "old\n");
    for (tool, args) in calls("a.txt", true) {
        let problem = place.problem(tool, args).await;
        assert!(problem.starts_with("The content of `a.txt` could not be kept before the change"), "{problem}");
    }
    assert_eq!(place.bytes("a.txt"), b"old\n");
}
