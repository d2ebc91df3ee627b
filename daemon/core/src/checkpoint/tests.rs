//! Undoing in a world of its own: a disk, somebody who writes to it, an agent, and what is kept.

use super::*;
use crate::id::Revision;
use crate::time::Timestamp;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Contents are their own versions here; a link's begins with an arrow.
#[derive(Debug, Default, Clone)]
struct World {
    disk: BTreeMap<String, String>,
    kept: BTreeSet<String>,
    operations: Vec<Operation>,
    turn: u64,
}

impl World {
    fn now(&self, path: &str) -> Now {
        let content = match self.disk.get(path) {
            None => Content::Absent,
            Some(text) if text.starts_with("->") => Content::Link(text.clone()),
            Some(text) => Content::File(text.clone()),
        };
        let mode = (content != Content::Absent).then_some(0o644);
        Now::Is(content, mode)
    }

    fn set(&mut self, path: &str, content: Option<&str>) {
        match content {
            Some(content) => self.disk.insert(path.to_owned(), content.to_owned()),
            None => self.disk.remove(path),
        };
    }

    fn operation(&self, tool: &str, files: Vec<OperationFile>) -> Operation {
        Operation {
            call: CallId(self.operations.len() as u64 + 1),
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
        }
    }

    fn file(&mut self, path: &str, after: Option<&str>) -> OperationFile {
        let before = self.disk.get(path).cloned();
        self.kept.extend(before.clone());
        let link = before.as_ref().is_some_and(|before| before.starts_with("->"));
        let mode = before.as_ref().map(|_| 0o755);
        OperationFile { path: path.to_owned(), before, after: after.map(str::to_owned), mode, link }
    }

    /// The agent's call: what it finds is kept, then these files are written.
    fn agent(&mut self, files: &[(&str, Option<&str>)]) -> CallId {
        let changed = files.iter().map(|(path, after)| self.file(path, *after)).collect();
        self.operations.push(self.operation("write", changed));
        for (path, after) in files {
            self.set(path, *after);
        }
        CallId(self.operations.len() as u64)
    }

    fn turn(&mut self) -> TurnNo {
        self.turn += 1;
        TurnNo(self.turn)
    }

    fn plan(&self, scope: Scope) -> Plan {
        let now = paths(&self.operations, scope).into_iter().map(|path| (path.clone(), self.now(&path))).collect();
        plan(&self.operations, scope, &now, &|version| self.kept.contains(version))
    }

    /// What each file of the scope comes to.
    fn verdicts(&self, scope: Scope) -> Vec<(String, Verdict)> {
        self.plan(scope).files.into_iter().map(|file| (file.path, file.verdict)).collect()
    }

    fn undo(&mut self, scope: Scope, how: How) -> Result<CallId, Refusal> {
        let plan = self.plan(scope);
        let chosen: Vec<FilePlan> = plan.choose(how)?.into_iter().cloned().collect();
        let files = chosen.iter().map(|file| self.file(&file.path, file.want.version())).collect();
        self.operations.push(self.operation(UNDO, files));
        for file in &chosen {
            self.set(&file.path, file.want.version());
        }
        Ok(CallId(self.operations.len() as u64))
    }
}

const PLAIN: How = How { skip: false, force: false };
const SKIP: How = How { skip: true, force: false };
const FORCE: How = How { skip: false, force: true };

fn world(files: &[(&str, &str)]) -> World {
    let mut world = World::default();
    for (path, content) in files {
        world.set(path, Some(content));
    }
    world
}

fn disk(world: &World) -> Vec<(&str, &str)> {
    world.disk.iter().map(|(path, content)| (path.as_str(), content.as_str())).collect()
}

#[test]
fn a_turn_is_undone_whole_and_the_undo_too() {
    let mut world = world(&[("a", "a0"), ("gone", "g0"), ("link", "->x")]);
    let turn = world.turn();
    world.agent(&[("a", Some("a1")), ("new", Some("n1"))]);
    world.agent(&[("a", Some("a2")), ("gone", None)]);
    world.agent(&[("link", None)]);
    let done = disk(&world).into_iter().map(|(a, b)| (a.to_owned(), b.to_owned())).collect::<Vec<_>>();
    let undo = world.undo(Scope::Turn(turn), PLAIN).unwrap();
    assert_eq!(disk(&world), [("a", "a0"), ("gone", "g0"), ("link", "->x")]);
    assert_eq!(world.undo(Scope::Turn(turn), PLAIN), Err(Refusal::Nothing));
    let redo = world.undo(Scope::Call(undo), PLAIN).unwrap();
    assert_eq!(world.disk.clone().into_iter().collect::<Vec<_>>(), done);
    assert_eq!(world.undo(Scope::Call(undo), PLAIN), Err(Refusal::Nothing));
    world.undo(Scope::Call(redo), PLAIN).unwrap();
    assert_eq!(disk(&world), [("a", "a0"), ("gone", "g0"), ("link", "->x")]);
    // And from the start of the turn, whatever was undone and done again.
    world.undo(Scope::Call(undo), PLAIN).unwrap();
    world.undo(Scope::From(turn), PLAIN).unwrap();
    assert_eq!(disk(&world), [("a", "a0"), ("gone", "g0"), ("link", "->x")]);
}

#[test]
fn a_call_in_the_middle_waits_for_those_that_build_on_it() {
    let mut world = world(&[("a", "a0")]);
    let turn = world.turn();
    let first = world.agent(&[("a", Some("a1"))]);
    let second = world.agent(&[("a", Some("a2"))]);
    assert_eq!(world.verdicts(Scope::Call(first)), [("a".to_owned(), Verdict::Later(vec![second]))]);
    assert_eq!(world.undo(Scope::Call(first), PLAIN), Err(Refusal::Blocked(1)));
    let undo = world.undo(Scope::Call(second), PLAIN).unwrap();
    assert_eq!(disk(&world), [("a", "a1")]);
    // The turn without what is undone already.
    world.undo(Scope::Turn(turn), PLAIN).unwrap();
    assert_eq!(disk(&world), [("a", "a0")]);
    // Doing the second again would bring back the first too.
    assert_eq!(world.verdicts(Scope::Call(undo)), [("a".to_owned(), Verdict::Later(vec![CallId(4)]))]);
}

#[test]
fn a_file_that_somebody_changed_is_refused_and_forced_only_with_its_content_kept() {
    let mut world = world(&[("a", "a0"), ("b", "b0")]);
    let turn = world.turn();
    world.agent(&[("a", Some("a1")), ("b", Some("b1"))]);
    world.set("a", Some("mine"));
    let changed = Verdict::Changed { loses: vec!["mine".to_owned()] };
    assert_eq!(world.verdicts(Scope::Turn(turn)), [("a".to_owned(), changed), ("b".to_owned(), Verdict::Restore)]);
    assert_eq!(world.undo(Scope::Turn(turn), PLAIN), Err(Refusal::Blocked(1)));
    world.undo(Scope::Turn(turn), SKIP).unwrap();
    assert_eq!(disk(&world), [("a", "mine"), ("b", "b0")]);
    let forced = world.undo(Scope::Turn(turn), FORCE).unwrap();
    assert_eq!(disk(&world), [("a", "a0"), ("b", "b0")]);
    assert!(world.kept.contains("mine"));
    world.undo(Scope::Call(forced), PLAIN).unwrap();
    assert_eq!(disk(&world), [("a", "mine"), ("b", "b0")]);
}

#[test]
fn a_change_between_two_calls_is_not_taken_away_along() {
    let mut world = world(&[("a", "a0")]);
    let turn = world.turn();
    world.agent(&[("a", Some("a1"))]);
    world.set("a", Some("a1+mine"));
    let second = world.agent(&[("a", Some("a2+mine"))]);
    let changed = Verdict::Changed { loses: vec!["a1+mine".to_owned()] };
    assert_eq!(world.verdicts(Scope::Turn(turn)), [("a".to_owned(), changed)]);
    world.undo(Scope::Call(second), PLAIN).unwrap();
    assert_eq!(disk(&world), [("a", "a1+mine")]);
}

#[test]
fn a_deleted_file_that_somebody_made_again_is_somebodys() {
    let mut world = world(&[("a", "a0")]);
    let turn = world.turn();
    world.agent(&[("a", None)]);
    assert_eq!(world.plan(Scope::Turn(turn)).files[0].mode, Some(0o755));
    world.set("a", Some("mine"));
    let changed = Verdict::Changed { loses: vec!["mine".to_owned()] };
    assert_eq!(world.verdicts(Scope::Turn(turn)), [("a".to_owned(), changed)]);
    // Who undid it by hand has nothing left to undo.
    world.set("a", Some("a0"));
    assert_eq!(world.undo(Scope::Turn(turn), PLAIN), Err(Refusal::Nothing));
}

#[test]
fn what_is_no_longer_kept_or_no_file_is_never_restored() {
    let mut world = world(&[("a", "a0")]);
    let turn = world.turn();
    let call = world.agent(&[("a", Some("a1"))]);
    world.kept.clear();
    assert_eq!(world.verdicts(Scope::Call(call)), [("a".to_owned(), Verdict::Lost)]);
    assert_eq!(world.undo(Scope::Turn(turn), FORCE), Err(Refusal::Blocked(1)));
    let now = BTreeMap::from([("a".to_owned(), Now::Unclear("is a directory".to_owned()))]);
    let plan = plan(&world.operations, Scope::Call(call), &now, &|_| true);
    assert_eq!(plan.choose(FORCE), Err(Refusal::Blocked(1)));
}

#[test]
fn a_call_whose_end_was_not_seen_counts_by_what_stands_there() {
    let cut = |content: &str| {
        let mut world = world(&[("a", "a0")]);
        world.turn();
        let call = world.agent(&[("a", Some("a1"))]);
        world.operations[0].state = OpState::Unknown;
        world.set("a", Some(content));
        world.verdicts(Scope::Call(call)).remove(0).1
    };
    assert_eq!(cut("a1"), Verdict::Restore);
    assert_eq!(cut("a0"), Verdict::AlreadySo);
    assert!(matches!(cut("mine"), Verdict::Unclear(_)));
}

#[test]
fn an_undo_that_was_cut_did_what_stands_there() {
    let mut world = world(&[("a", "a0"), ("b", "b0")]);
    let turn = world.turn();
    world.agent(&[("a", Some("a1")), ("b", Some("b1"))]);
    world.undo(Scope::Turn(turn), PLAIN).unwrap();
    world.operations[1].state = OpState::Running;
    world.set("b", Some("b1"));
    let now = |world: &World| ["a", "b"].map(|path| (path.to_owned(), world.now(path))).into();
    let settled = settle(&world.operations[1], &now(&world));
    assert_eq!((settled.state, settled.files.len()), (OpState::Succeeded, 1));
    world.operations[1] = settled;
    assert_eq!(
        world.verdicts(Scope::Turn(turn)),
        [("a".to_owned(), Verdict::AlreadySo), ("b".to_owned(), Verdict::Restore)]
    );
    world.undo(Scope::Turn(turn), PLAIN).unwrap();
    assert_eq!(disk(&world), [("a", "a0"), ("b", "b0")]);
    world.set("a", Some("a1"));
    world.set("b", Some("b1"));
    assert_eq!(settle(&world.operations[1], &now(&world)).state, OpState::Failed);
}

#[test]
fn what_is_told_names_what_stands_there_now() {
    let mut world = world(&[("/w/a", "a0")]);
    let turn = world.turn();
    world.agent(&[("/w/a", Some("a1")), ("/w/n", Some("n1"))]);
    world.undo(Scope::Turn(turn), PLAIN).unwrap();
    let files = &world.operations[1].files;
    let text = reminder(Some(Scope::Turn(turn)), files, &crate::prompt::Prompts::default());
    assert!(text.contains("- /w/a (version a0)\n- /w/n (not there any more)\n"), "{text}");
    assert_eq!(
        notice(Some(Scope::Call(CallId(1))), CallId(2), files),
        "Undid call c1; `c2` undoes that in turn.\n- /w/a (version a0)\n- /w/n (not there any more)"
    );
}

/// One thing that happens.
#[derive(Debug, Clone)]
enum Act {
    User(u8, bool),
    Agent(Vec<(u8, bool)>),
    NewTurn,
    Undo(u8, u8, How),
}

fn act() -> impl Strategy<Value = Act> {
    let how = (any::<bool>(), proptest::bool::weighted(0.3)).prop_map(|(skip, force)| How { skip, force });
    prop_oneof![
        3 => (0..3_u8, any::<bool>()).prop_map(|(path, delete)| Act::User(path, delete)),
        5 => proptest::collection::vec((0..3_u8, proptest::bool::weighted(0.2)), 1..3).prop_map(Act::Agent),
        2 => Just(Act::NewTurn),
        4 => (any::<u8>(), 0..3_u8, how).prop_map(|(which, kind, how)| Act::Undo(which, kind, how)),
    ]
}

fn scope(world: &World, which: u8, kind: u8) -> Scope {
    let calls = world.operations.len() as u64;
    match kind {
        0 => Scope::Call(CallId(u64::from(which) % calls.max(1) + 1)),
        1 => Scope::Turn(TurnNo(u64::from(which) % world.turn.max(1) + 1)),
        _ => Scope::From(TurnNo(u64::from(which) % world.turn.max(1) + 1)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Whatever the user wrote stands on the disk until the user changes it, unless the agent edited it or an undo was
    /// forced; then it is kept. What is restored is what stood there before.
    #[test]
    fn no_byte_of_the_user_is_lost(acts in proptest::collection::vec(act(), 1..40)) {
        let mut world = world(&[("0", "s0"), ("1", "s1")]);
        world.turn();
        // Contents that the user wrote and nobody replaced since.
        let mut own: BTreeMap<String, String> = world.disk.clone();
        let mut written = 0;
        for act in acts {
            written += 1;
            match act {
                Act::NewTurn => drop(world.turn()),
                Act::User(path, delete) => {
                    let (path, content) = (path.to_string(), format!("user{written}"));
                    world.set(&path, (!delete).then_some(&content));
                    own.remove(&path);
                    if !delete {
                        own.insert(path, content);
                    }
                }
                Act::Agent(files) => {
                    let files: BTreeMap<String, Option<String>> = files
                        .into_iter()
                        .map(|(path, delete)| (path.to_string(), (!delete).then(|| format!("agent{written}/{path}"))))
                        .filter(|(path, after)| after.is_some() || world.disk.contains_key(path))
                        .collect();
                    let files: Vec<(&str, Option<&str>)> =
                        files.iter().map(|(path, after)| (path.as_str(), after.as_deref())).collect();
                    if !files.is_empty() {
                        world.agent(&files);
                    }
                    for (path, _) in files {
                        own.remove(path).map_or(Ok(()), |lost| {
                            prop_assert!(world.kept.contains(&lost));
                            Ok(())
                        })?;
                    }
                }
                Act::Undo(which, kind, how) => {
                    let scope = scope(&world, which, kind);
                    let (before, plan) = (world.clone(), world.plan(scope));
                    let done = world.undo(scope, how);
                    for (path, content) in own.clone() {
                        if world.disk.get(&path) == Some(&content) {
                            continue;
                        }
                        prop_assert!(how.force, "{path} was replaced");
                        prop_assert!(world.kept.contains(&content));
                        let named = plan.files.iter().any(|file| {
                            file.path == path && file.now.version() == Some(content.as_str())
                        });
                        prop_assert!(named, "the plan does not name {content}");
                        own.remove(&path);
                    }
                    match done {
                        Err(_) => prop_assert_eq!(&world.disk, &before.disk),
                        Ok(undo) => {
                            let again = world.undo(Scope::Call(undo), PLAIN);
                            prop_assert!(again.is_ok(), "an undo can be undone: {again:?}");
                            prop_assert_eq!(&world.disk, &before.disk);
                            world.undo(Scope::Call(undo), PLAIN).unwrap_err();
                            let redone = CallId(world.operations.len() as u64);
                            prop_assert!(world.undo(Scope::Call(redone), PLAIN).is_ok());
                        }
                    }
                }
            }
        }
    }

    /// With nobody between, undoing everything from a turn on gives back what stood there when it began.
    #[test]
    fn everything_from_a_turn_on_is_undone(
        turns in proptest::collection::vec(proptest::collection::vec((0..3_u8, any::<bool>()), 1..4), 1..6),
        which in any::<proptest::sample::Index>(),
    ) {
        let mut world = world(&[("0", "s0"), ("1", "s1")]);
        let mut states = Vec::new();
        for (number, turn) in turns.iter().enumerate() {
            states.push(world.disk.clone());
            world.turn();
            for (at, (path, delete)) in turn.iter().enumerate() {
                let content = format!("{number}/{at}");
                world.agent(&[(&path.to_string(), (!delete).then_some(&content))]);
            }
        }
        let turn = which.index(states.len());
        // Nothing to undo means that it stands so already.
        let _ = world.undo(Scope::From(TurnNo(turn as u64 + 1)), PLAIN);
        prop_assert_eq!(&world.disk, &states[turn]);
    }
}
