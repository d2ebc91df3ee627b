//! A change is cut after each of its writes, and inside one, by a death that leaves everything as it is; others change files
//! before it is made whole.

use super::*;
use crate::tool::blocking::Stop;
use crate::tool::edit::perform::begin;
use crate::tool::edit::{After, Before, FilePlan, Plan};
use crate::tool::scope::resolve_entry;
use crate::tool::testing::Place;
use plimsoll_core::id::{CallId, Revision, TurnNo};
use plimsoll_core::ledger::{OpState, Verdict, judge};
use plimsoll_core::path::escape;
use plimsoll_core::time::Timestamp;
use plimsoll_core::tool::call::{Call, FileChange};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use tokio_util::sync::CancellationToken;

/// What becomes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Edit,
    /// A file with two names.
    EditShared,
    Create,
    /// In folders that are not there.
    CreateDeep,
    Delete,
    DeleteLink,
    /// Nothing.
    Same,
}

const KINDS: [Kind; 7] =
    [Kind::Edit, Kind::EditShared, Kind::Create, Kind::CreateDeep, Kind::Delete, Kind::DeleteLink, Kind::Same];

/// What somebody else does to a file.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Write,
    Revert,
    Apply,
    Delete,
    Folder,
    Link,
    Chmod,
}

const DEEDS: [Deed; 7] = [Deed::Write, Deed::Revert, Deed::Apply, Deed::Delete, Deed::Folder, Deed::Link, Deed::Chmod];

/// Every entry below the workspace: what it is, and its permission bits.
type Disk = BTreeMap<String, (String, u32)>;

struct World {
    place: Place,
    kinds: Vec<Kind>,
    call: Call,
    plan: Plan,
    operation: Operation,
}

fn name(at: usize, kind: Kind) -> String {
    if kind == Kind::CreateDeep { format!("new{}/deep/{at}.txt", at % 2) } else { format!("{at}.txt") }
}

fn before(at: usize) -> String {
    format!("{at}: old\nsame\n{}", "old end\n".repeat(at))
}

fn after(at: usize) -> String {
    format!("{at}: new\nmore\nsame\nnew end\n")
}

impl World {
    fn new(kinds: &[Kind]) -> Self {
        let place = Place::new();
        fs::write(place.o.join("elsewhere"), "elsewhere").unwrap();
        let files = kinds.iter().enumerate().map(|(at, kind)| {
            let name = name(at, *kind);
            let path = place.w.join(&name);
            match kind {
                Kind::Create | Kind::CreateDeep => {}
                Kind::DeleteLink => symlink(place.o.join("elsewhere"), &path).unwrap(),
                Kind::Edit | Kind::EditShared | Kind::Delete | Kind::Same => {
                    fs::write(&path, before(at)).unwrap();
                    let mode = if at % 2 == 0 { 0o755 } else { 0o640 };
                    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
                }
            }
            if *kind == Kind::EditShared {
                fs::hard_link(&path, place.w.join(format!("{at}.other"))).unwrap();
            }
            let before_now = match kind {
                Kind::Create | Kind::CreateDeep => None,
                Kind::DeleteLink => {
                    let bytes = place.o.join("elsewhere").as_os_str().as_bytes().to_vec();
                    Some(Before { version: FileVersion::of(&bytes).to_string(), bytes, mode: None })
                }
                Kind::Edit | Kind::EditShared | Kind::Delete | Kind::Same => Some(Before {
                    bytes: before(at).into_bytes(),
                    version: FileVersion::of(before(at).as_bytes()).to_string(),
                    mode: Some(fs::metadata(&path).unwrap().permissions().mode() & 0o7777),
                }),
            };
            let after_then = match kind {
                Kind::Delete | Kind::DeleteLink => After::Nothing,
                Kind::Same => After::Whole(before(at).into_bytes()),
                Kind::Edit | Kind::EditShared | Kind::Create | Kind::CreateDeep => After::Whole(after(at).into_bytes()),
            };
            let change = FileChange { link: *kind == Kind::DeleteLink, ..FileChange::default() };
            let facts = crate::tool::edit::Facts { change, ..Default::default() };
            FilePlan::new(resolve_entry(&place.env, &name).unwrap(), before_now, after_then, facts)
        });
        let files: Vec<FilePlan> = files.collect();
        let recorded = files.iter().map(|file| OperationFile {
            path: file.change.path.clone(),
            before: file.change.before.clone(),
            after: file.change.after.clone(),
            mode: file.change.mode,
            link: file.change.link,
        });
        let call = Call { id: CallId(7), tool: "apply_patch".to_owned(), args: serde_json::json!({}) };
        let operation = Operation {
            call: call.id,
            turn: TurnNo(1),
            tool: call.tool.clone(),
            class: "write".to_owned(),
            target: String::new(),
            command: None,
            state: OpState::Running,
            at: Timestamp(0),
            revision: Revision(0),
            files: recorded.collect(),
            process: None,
            background: false,
            finding: None,
            repeats: 0,
        };
        let plan = Plan { files, notes: Vec::new(), title: String::new() };
        Self { place, kinds: kinds.to_vec(), call, plan, operation }
    }

    /// The change, cut after so many of its writes.
    fn cut(&self, writes: usize) {
        let stop = Stop::of(&CancellationToken::new());
        let begun = begin(&self.call, &self.plan, &self.place.env, &stop).unwrap().unwrap();
        for file in &self.plan.files[..writes] {
            begun.write(file).unwrap();
        }
    }

    fn recover(&self) -> Recovered {
        recover(&self.operation, &self.place.env.session_dir, &self.place.env.pre_images)
    }

    fn path(&self, at: usize) -> PathBuf {
        self.place.w.join(name(at, self.kinds[at]))
    }

    fn scratch(&self) -> Scratch {
        Scratch::new(&self.place.env.session_dir, self.call.id)
    }

    fn disk(&self) -> Disk {
        let mut disk = Disk::new();
        let mut folders = vec![self.place.w.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = fs::symlink_metadata(&path).unwrap();
                let what = if metadata.is_symlink() {
                    format!("-> {}", escape(fs::read_link(&path).unwrap().as_os_str().as_bytes()))
                } else if metadata.is_dir() {
                    folders.push(path.clone());
                    "folder".to_owned()
                } else {
                    fs::read_to_string(&path).unwrap()
                };
                let mode = if metadata.is_symlink() { 0 } else { metadata.permissions().mode() & 0o7777 };
                disk.insert(path.strip_prefix(&self.place.w).unwrap().display().to_string(), (what, mode));
            }
        }
        disk
    }

    /// What the files say of it now.
    fn verdict(&self) -> Verdict {
        let seen: Vec<_> = self.operation.files.iter().map(observe).collect();
        judge(&self.operation, &seen).0
    }

    fn assert_settled(&self) {
        let left = self.place.env.session_dir.join("journal");
        assert!(!left.exists(), "{:?}", fs::read_dir(&left).unwrap().collect::<Vec<_>>());
        assert!(!self.disk().keys().any(|name| name.contains(".plimsoll-")), "{:?}", self.disk());
        let again = self.disk();
        assert_eq!(self.recover(), Recovered::Nothing);
        assert_eq!(self.disk(), again);
    }
}

/// What the disk holds when all of it is done.
fn all_done(kinds: &[Kind]) -> Disk {
    let world = World::new(kinds);
    world.cut(kinds.len());
    // The link's path differs from world to world, and it is gone.
    world.disk()
}

/// Orders of all kinds: each turned round, forth and back.
fn orders() -> Vec<Vec<Kind>> {
    let turned = (0..KINDS.len()).map(|by| {
        let mut kinds = KINDS.to_vec();
        kinds.rotate_left(by);
        kinds
    });
    turned.flat_map(|kinds| [kinds.clone(), kinds.into_iter().rev().collect()]).collect()
}

#[test]
fn cut_after_any_write_all_files_are_as_before_or_as_intended() {
    for kinds in orders() {
        for writes in 0..=kinds.len() {
            let world = World::new(&kinds);
            let before = world.disk();
            world.cut(writes);
            let recovered = world.recover();
            let effects = kinds[..writes].iter().filter(|kind| **kind != Kind::Same).count();
            let (expected, verdict) = match effects {
                6 => (all_done(&kinds), Verdict::Applied),
                _ => (before, Verdict::NotApplied),
            };
            assert_eq!(world.disk(), expected, "{kinds:?} {writes} {recovered:?}");
            assert_eq!(world.verdict(), verdict, "{kinds:?} {writes}");
            assert_eq!(matches!(recovered, Recovered::Back(_)), (1..6).contains(&effects), "{kinds:?} {writes}");
            world.assert_settled();
        }
    }
}

#[test]
fn cut_inside_a_write_nothing_of_it_is_left() {
    let kinds = [Kind::DeleteLink, Kind::Create, Kind::Edit, Kind::CreateDeep, Kind::Delete, Kind::EditShared];
    for (writes, kind) in kinds.iter().enumerate() {
        let whole = after(writes);
        for part in [0, 5, whole.len()] {
            let world = World::new(&kinds);
            let before = world.disk();
            world.cut(writes);
            let (path, temp) = (world.path(writes), world.scratch().forth(&world.path(writes)));
            let temp = path.with_file_name(temp);
            match kind {
                // The new content, as far as it has come.
                Kind::Create | Kind::Edit => fs::write(&temp, &whole[..part]).unwrap(),
                Kind::CreateDeep => {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(&temp, &whole[..part]).unwrap();
                }
                // It has lost its name, and is not gone.
                Kind::Delete | Kind::DeleteLink => fs::rename(&path, &temp).unwrap(),
                Kind::EditShared => {
                    let mut content = before_bytes(writes);
                    let end = content.len().max(part);
                    content.resize(end, b' ');
                    content[..part].copy_from_slice(&whole.as_bytes()[..part]);
                    fs::write(&path, content).unwrap();
                }
                Kind::Same => unreachable!(),
            }
            let recovered = world.recover();
            assert_eq!(world.disk(), before, "{kind:?} {part} {recovered:?}");
            world.assert_settled();
        }
    }
}

fn before_bytes(at: usize) -> Vec<u8> {
    before(at).into_bytes()
}

#[test]
fn a_content_that_somebody_put_there_at_the_moment_of_the_exchange_gets_its_name_back() {
    let world = World::new(&[Kind::Edit, Kind::Edit, Kind::Delete]);
    world.cut(1);
    let path = world.path(1);
    let temp = path.with_file_name(world.scratch().forth(&path));
    // The exchange was done; what it brought was not looked at yet.
    fs::write(&path, after(1)).unwrap();
    fs::write(&temp, "theirs\n").unwrap();
    let recovered = world.recover();
    assert!(matches!(recovered, Recovered::Left(_)), "{recovered:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs\n");

    let world = World::new(&[Kind::Delete]);
    let path = world.path(0);
    fs::write(path.with_file_name(world.scratch().forth(&path)), "theirs\n").unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(world.recover(), Recovered::Nothing);
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), world.verdict()), ("theirs\n", Verdict::Changed));
}

#[test]
fn it_is_finished_when_there_is_no_way_back_and_left_when_there_is_none_at_all() {
    let kinds = [Kind::Edit, Kind::CreateDeep, Kind::Delete, Kind::Edit];
    for (writes, lost) in [(1, 0), (3, 2)] {
        let world = World::new(&kinds);
        world.cut(writes);
        let version = world.operation.files[lost].before.clone().unwrap();
        fs::write(world.place.env.pre_images.join(&version), "damaged").unwrap();
        let recovered = world.recover();
        assert!(matches!(recovered, Recovered::Forth(_)), "{recovered:?}");
        assert_eq!((world.disk(), world.verdict()), (all_done(&kinds), Verdict::Applied));
        world.assert_settled();

        let world = World::new(&kinds);
        world.cut(writes);
        let journal = world.place.env.session_dir.join("journal/c7");
        fs::remove_file(world.place.env.pre_images.join(&version)).unwrap();
        fs::remove_file(journal.join(world.operation.files[3].after.as_ref().unwrap())).unwrap();
        let before = world.disk();
        let recovered = world.recover();
        assert!(matches!(recovered, Recovered::Left(_)), "{recovered:?}");
        assert_eq!((world.disk(), world.verdict()), (before, Verdict::PartlyApplied));
        world.assert_settled();
    }
}

#[test]
fn a_change_that_has_ended_is_never_taken_back() {
    let world = World::new(&[Kind::Edit, Kind::Edit]);
    let stop = Stop::of(&CancellationToken::new());
    assert!(crate::tool::edit::perform::perform(&world.call, &world.plan, &world.place.env, &stop).unwrap());
    // The daemon dies before the end is recorded, and somebody takes back one of the files.
    fs::write(world.path(1), before(1)).unwrap();
    let disk = world.disk();
    assert_eq!((world.recover(), world.verdict()), (Recovered::Nothing, Verdict::PartlyApplied));
    assert_eq!(world.disk(), disk);
    world.assert_settled();
}

#[test]
fn what_is_still_being_written_is_waited_for() {
    let world = World::new(&[Kind::Edit, Kind::Edit, Kind::Edit]);
    let stop = Stop::of(&CancellationToken::new());
    let begun = begin(&world.call, &world.plan, &world.place.env, &stop).unwrap().unwrap();
    begun.write(&world.plan.files[0]).unwrap();
    std::thread::scope(|scope| {
        let recovery = scope.spawn(|| world.recover());
        begun.write(&world.plan.files[1]).unwrap();
        begun.write(&world.plan.files[2]).unwrap();
        begun.end();
        assert_eq!(recovery.join().unwrap(), Recovered::Nothing);
    });
    assert_eq!(world.verdict(), Verdict::Applied);
    world.assert_settled();
}

/// How far a state of files written in order says that a file was reached.
#[test]
fn where_a_foreign_file_may_have_been_written_everything_stays() {
    use Stand::{After as A, Before as B, Foreign as F, Partly as P};
    let ways: [(&[Stand], Way); 14] = [
        (&[A, A], Way::Done),
        (&[B, B], Way::NotBegun),
        (&[F, F], Way::NotBegun),
        (&[F, B], Way::NotBegun),
        (&[A, B], Way::Back),
        (&[B, A], Way::Back),
        (&[P], Way::Back),
        (&[A, P, B], Way::Back),
        (&[A, B, F], Way::Back),
        (&[A, B, F, F], Way::Back),
        (&[A, F], Way::Leave),
        (&[A, F, B], Way::Leave),
        (&[F, A, B], Way::Leave),
        (&[A, B, F, A], Way::Leave),
    ];
    for (stands, expected) in ways {
        assert_eq!(way(stands), expected, "{stands:?}");
    }
}

impl World {
    /// Somebody does this to a file.
    fn disturb(&self, at: usize, deed: Deed) {
        let path = self.path(at);
        let clear = || {
            let _ = fs::remove_file(&path);
            let _ = fs::remove_dir(&path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        };
        match deed {
            Deed::Write => {
                clear();
                fs::write(&path, format!("theirs {at}\n")).unwrap();
            }
            Deed::Revert | Deed::Apply => {
                let was = matches!(deed, Deed::Revert);
                clear();
                match (self.kinds[at], was) {
                    (Kind::Create | Kind::CreateDeep, true) | (Kind::Delete | Kind::DeleteLink, false) => {}
                    (Kind::DeleteLink, true) => symlink(self.place.o.join("elsewhere"), &path).unwrap(),
                    (Kind::Same, _) | (_, true) => fs::write(&path, before(at)).unwrap(),
                    (_, false) => fs::write(&path, after(at)).unwrap(),
                }
            }
            Deed::Delete => {
                let _ = fs::remove_file(&path);
            }
            Deed::Folder => {
                clear();
                fs::create_dir(&path).unwrap();
            }
            Deed::Link => {
                clear();
                symlink("nowhere", &path).unwrap();
            }
            Deed::Chmod => {
                if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
                    fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_others_wrote_is_never_touched_and_the_rest_is_whole(
        kinds in prop::collection::vec(prop::sample::select(KINDS.to_vec()), 1..7),
        writes in 0_usize..8,
        deeds in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(DEEDS.to_vec())), 0..4),
        again in 0_usize..4,
    ) {
        let world = World::new(&kinds);
        world.cut(writes.min(kinds.len()));
        for (at, deed) in &deeds {
            world.disturb(at.index(kinds.len()), *deed);
        }
        let file = |at: usize| &world.operation.files[at];
        let stands = |at: usize| observe(file(at)).version;
        let changes: Vec<usize> = (0..kinds.len()).filter(|at| file(*at).before != file(*at).after).collect();
        let is_before = |at: usize| stands(at) == Ok(file(at).before.clone());
        let is_after = |at: usize| stands(at) == Ok(file(at).after.clone());
        let foreign: Vec<usize> = changes.iter().copied().filter(|at| !is_before(*at) && !is_after(*at)).collect();
        let disturbed = world.disk();
        // A recovery that is cut as well: some of the last files are back already.
        if again > 0 && foreign.is_empty() && changes.len() > 1 {
            let journal = Journal::open(&world.place.env.session_dir, world.call.id).unwrap().unwrap();
            let files: Vec<Cut<'_>> = changes.iter().map(|at| Cut::new(file(*at))).collect();
            let images = PreImages::new(&world.place.env.pre_images);
            let recovery = Recovery { files, images, scratch: world.scratch() };
            let written = recovery.files.iter().rev().filter(|cut| recovery.stand(cut, &journal) == Stand::After);
            if !changes.iter().all(|at| is_after(*at)) {
                for cut in written.take(again) {
                    recovery.back(cut, &journal).unwrap();
                }
            }
        }
        let recovered = world.recover();
        let now = world.disk();
        for at in &foreign {
            let name = name(*at, kinds[*at]);
            prop_assert_eq!(now.get(&name), disturbed.get(&name), "{} {:?}", name, recovered);
        }
        match &recovered {
            _ if foreign.is_empty() => prop_assert!(
                changes.iter().all(|at| is_before(*at)) || changes.iter().all(|at| is_after(*at)),
                "{:?} {:?}", recovered, now
            ),
            Recovered::Back(_) => {
                prop_assert!(changes.iter().all(|at| foreign.contains(at) || is_before(*at)), "{:?}", now);
            }
            Recovered::Left(_) => prop_assert_eq!(&now, &disturbed),
            Recovered::Nothing => {
                let untouched = |(name, what): (&String, &(String, u32))| {
                    what.0 == "folder" || now.get(name) == Some(what)
                };
                prop_assert!(disturbed.iter().all(untouched), "{:?} {:?}", now, disturbed);
            }
            Recovered::Forth(_) => prop_assert!(false, "nothing was lost"),
        }
        world.assert_settled();
    }
}
