//! Undoing on a real disk: somebody writes, the agent writes, and what is undone is undone.

use super::*;
use crate::tool::registry::Registry;
use crate::tool::{ToolEnv, ToolRun};
use plimsoll_core::checkpoint::{How, Scope, UNDO, paths, plan};
use plimsoll_core::id::{CallId, Revision, TurnNo};
use plimsoll_core::ledger::{OpState, Operation, OperationFile};
use plimsoll_core::path::escape;
use plimsoll_core::permission::leave::Leave;
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::call::{Call, FileChange};
use plimsoll_core::tool::outcome::Status;
use proptest::prelude::*;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

struct World {
    _folder: tempfile::TempDir,
    root: PathBuf,
    images: PreImages,
    tools: Registry,
    env: ToolEnv,
    runtime: Runtime,
    operations: Vec<Operation>,
    turn: u64,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let images = PreImages::new(root.join("kept"));
        fs::create_dir(root.join("w")).unwrap();
        let env = ToolEnv {
            roots: [root.join("w")].into(),
            client_env: Arc::default(),
            session_dir: root.clone(),
            plan_file: root.join("plan.md"),
            readable: [].into(),
            protected: [].into(),
            pre_images: root.join("kept"),
            writable: [].into(),
            secret_env: [].into(),
            tests: std::sync::Arc::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (tools, operations) = (Registry::new([]), Vec::new());
        Self { _folder: folder, root, images, tools, env, runtime, operations, turn: 1 }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join("w").join(name)
    }

    fn text(&self, name: &str) -> String {
        escape(self.path(name).as_os_str().as_bytes())
    }

    /// Every file, with its content, or an arrow to where it leads, and its permission bits.
    fn disk(&self) -> BTreeMap<String, (String, u32)> {
        let entries = fs::read_dir(self.root.join("w")).unwrap().map(Result::unwrap);
        entries
            .map(|entry| {
                let kind = entry.file_type().unwrap();
                let seen = if kind.is_symlink() {
                    (format!("-> {}", fs::read_link(entry.path()).unwrap().display()), 0)
                } else {
                    let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
                    (fs::read_to_string(entry.path()).unwrap(), mode)
                };
                (entry.file_name().into_string().unwrap(), seen)
            })
            .collect()
    }

    fn user(&self, name: &str, content: Option<&str>) {
        // Somebody's editor: another file under the same name.
        let _ = fs::remove_file(self.path(name));
        if let Some(content) = content {
            fs::write(self.path(name), content).unwrap();
        }
    }

    fn record(&mut self, tool: &str, files: Vec<OperationFile>) -> CallId {
        let call = CallId(self.operations.len() as u64 + 1);
        self.operations.push(Operation {
            call,
            turn: TurnNo(self.turn),
            tool: tool.to_owned(),
            class: "write".to_owned(),
            target: String::new(),
            command: None,
            state: OpState::Succeeded,
            at: Timestamp(0),
            revision: Revision(0),
            files,
            process: None,
            background: false,
            finding: None,
            repeats: 0,
        });
        call
    }

    /// A call of the real tool: prepared, recorded, run.
    fn agent(&mut self, name: &str, content: Option<&str>) -> CallId {
        let path = self.path(name);
        let (tool, args) = match content {
            Some(content) => ("write", json!({"file_path": path, "contents": content})),
            None => ("delete_file", json!({"target_file": path})),
        };
        let tool = self.tools.get(tool).unwrap();
        let call = Call { id: CallId(1), tool: tool.name().to_owned(), args };
        let work = async {
            let prepared = tool.prepare(&call, &self.env).await.unwrap();
            let (events, _keep) = mpsc::channel(1);
            let (leave, cancel) = (Leave::FREE, CancellationToken::new());
            let run = ToolRun { call: &call, prepared: &prepared, leave, env: &self.env, events, cancel };
            let outcome = tool.run(run).await;
            assert_eq!(outcome.status, Status::Ok, "{outcome:?}");
            prepared.changes
        };
        let changes = self.runtime.block_on(work);
        let file = |change: FileChange| OperationFile {
            path: change.path,
            before: change.before,
            after: change.after,
            mode: change.mode,
            link: change.link,
        };
        self.record("write", changes.into_iter().map(file).collect())
    }

    fn plan(&self, scope: Scope) -> plimsoll_core::checkpoint::Plan {
        let now = paths(&self.operations, scope).into_iter().map(|path| (path.clone(), look(&path))).collect();
        plan(&self.operations, scope, &now, &|version| self.images.has(version))
    }

    fn undo(&mut self, scope: Scope, how: How) -> Option<CallId> {
        let plan = self.plan(scope);
        let chosen: Vec<FilePlan> = plan.choose(how).ok()?.into_iter().cloned().collect();
        keep(&self.images, &chosen).unwrap();
        let results = restore(&self.images, &chosen, how.skip);
        assert!(results.iter().all(Option::is_none), "{results:?}");
        let file = |file: &FilePlan| OperationFile {
            path: file.path.clone(),
            before: file.now.version().map(str::to_owned),
            after: file.want.version().map(str::to_owned),
            mode: file.now_mode,
            link: matches!(file.now, Content::Link(_)),
        };
        Some(self.record(UNDO, chosen.iter().map(file).collect()))
    }
}

const PLAIN: How = How { skip: false, force: false };

#[test]
fn content_modes_and_links_come_back_and_new_files_go() {
    let mut world = World::new();
    world.user("edited", Some("one\n"));
    world.user("tool", Some("#!/bin/sh\n"));
    fs::set_permissions(world.path("tool"), Permissions::from_mode(0o755)).unwrap();
    symlink("edited", world.path("link")).unwrap();
    let before = world.disk();
    world.agent("edited", Some("two\n"));
    world.agent("tool", None);
    world.agent("link", None);
    world.agent("new", Some("new\n"));
    world.agent("tool", Some("again\n"));
    let after = world.disk();
    let undo = world.undo(Scope::Turn(TurnNo(1)), PLAIN).unwrap();
    assert_eq!(world.disk(), before);
    world.undo(Scope::Call(undo), PLAIN).unwrap();
    assert_eq!(world.disk(), after);
    let folders: BTreeSet<_> = fs::read_dir(&world.root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(folders.len(), 2, "nothing lies about: {folders:?}");
}

#[test]
fn a_file_that_changes_at_the_last_moment_is_not_replaced_and_the_others_get_back_what_they_had() {
    let mut world = World::new();
    world.user("a", Some("a0"));
    world.user("b", Some("b0"));
    world.agent("a", Some("a1"));
    world.agent("b", Some("b1"));
    let planned = |world: &World| world.plan(Scope::Turn(TurnNo(1))).files;
    let files = planned(&world);
    keep(&world.images, &files).unwrap();
    world.user("b", Some("mine"));
    let results = restore(&world.images, &files, false);
    let expected = [
        Some(format!("taken back: {} could not be restored", world.text("b"))),
        Some("it has changed meanwhile".to_owned()),
    ];
    assert_eq!(results, expected);
    assert_eq!((&world.disk()["a"].0, &world.disk()["b"].0), (&"a1".to_owned(), &"mine".to_owned()));
    let results = restore(&world.images, &files, true);
    assert_eq!(results, [None, Some("it has changed meanwhile".to_owned())]);
    assert_eq!((&world.disk()["a"].0, &world.disk()["b"].0), (&"a0".to_owned(), &"mine".to_owned()));
    // Done again it changes nothing: what stands there decides.
    assert_eq!(planned(&world)[0].verdict, plimsoll_core::checkpoint::Verdict::AlreadySo);
}

#[test]
fn a_damaged_content_is_not_put_back() {
    let mut world = World::new();
    world.user("a", Some("a0"));
    world.agent("a", Some("a1"));
    let files = world.plan(Scope::Turn(TurnNo(1))).files;
    fs::write(world.root.join("kept").join(files[0].want.version().unwrap()), "rot").unwrap();
    assert_eq!(restore(&world.images, &files, false), [Some("its content before is damaged".to_owned())]);
    assert_eq!(world.disk()["a"].0, "a1");
}

#[test]
fn what_is_no_file_or_lies_behind_a_link_is_left_alone() {
    let world = World::new();
    fs::create_dir(world.path("folder")).unwrap();
    assert_eq!(look(&world.text("folder")), Now::Unclear("it is a directory".to_owned()));
    assert_eq!(look(&world.text("folder/none/deeper")), Now::Is(Content::Absent, None));
    symlink(world.path("folder"), world.path("way")).unwrap();
    world.user("folder/inside", Some("x"));
    assert!(matches!(look(&world.text("way/inside")), Now::Unclear(_)));
    assert!(matches!(look(&world.text("way")), Now::Is(Content::Link(_), None)));
}

/// One thing that happens.
#[derive(Debug, Clone)]
enum Act {
    User(u8, bool),
    Agent(u8, bool),
    NewTurn,
    Undo(u8, u8, How),
}

fn act() -> impl Strategy<Value = Act> {
    let how = (any::<bool>(), proptest::bool::weighted(0.3)).prop_map(|(skip, force)| How { skip, force });
    prop_oneof![
        3 => (0..3_u8, any::<bool>()).prop_map(|(path, delete)| Act::User(path, delete)),
        5 => (0..3_u8, proptest::bool::weighted(0.2)).prop_map(|(path, delete)| Act::Agent(path, delete)),
        2 => Just(Act::NewTurn),
        4 => (any::<u8>(), 0..3_u8, how).prop_map(|(which, kind, how)| Act::Undo(which, kind, how)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Each content that somebody wrote stands there until they replace it, or can be read from what is kept; without
    /// force no undo replaces it at all.
    #[test]
    fn no_byte_of_the_user_is_lost_on_a_disk(acts in proptest::collection::vec(act(), 1..20)) {
        let mut world = World::new();
        let mut own: BTreeMap<String, String> = BTreeMap::new();
        for (number, act) in acts.into_iter().enumerate() {
            let mut replaced_by_undo = None;
            match act {
                Act::NewTurn => world.turn += 1,
                Act::User(path, delete) => {
                    let (name, content) = (path.to_string(), format!("user {number}"));
                    world.user(&name, (!delete).then_some(&content));
                    own.remove(&name);
                    if !delete {
                        own.insert(name, content);
                    }
                }
                Act::Agent(path, delete) => {
                    let (name, content) = (path.to_string(), format!("agent {number}"));
                    if !delete || world.path(&name).exists() {
                        world.agent(&name, (!delete).then_some(&content));
                    }
                }
                Act::Undo(which, kind, how) => {
                    let calls = world.operations.len() as u64;
                    let scope = match kind {
                        0 => Scope::Call(CallId(u64::from(which) % calls.max(1) + 1)),
                        1 => Scope::Turn(TurnNo(u64::from(which) % world.turn + 1)),
                        _ => Scope::From(TurnNo(u64::from(which) % world.turn + 1)),
                    };
                    let before = world.disk();
                    replaced_by_undo = Some(how.force);
                    if let Some(undo) = world.undo(scope, how) {
                        let after = world.disk();
                        let redo = world.undo(Scope::Call(undo), PLAIN);
                        prop_assert!(redo.is_some());
                        let contents = |disk: BTreeMap<String, (String, u32)>| -> Vec<(String, String)> {
                            disk.into_iter().map(|(name, (content, _))| (name, content)).collect()
                        };
                        prop_assert_eq!(contents(world.disk()), contents(before));
                        world.undo(Scope::Call(redo.unwrap()), PLAIN).unwrap();
                        prop_assert_eq!(contents(world.disk()), contents(after));
                    }
                }
            }
            let disk = world.disk();
            for (name, content) in own.clone() {
                if disk.get(&name).is_some_and(|(now, _)| *now == content) {
                    continue;
                }
                prop_assert_ne!(replaced_by_undo, Some(false), "{} was replaced without force", name);
                let version = FileVersion::of(content.as_bytes()).to_string();
                prop_assert_eq!(world.images.read(&version).unwrap(), content.as_bytes());
                own.remove(&name);
            }
        }
    }
}
