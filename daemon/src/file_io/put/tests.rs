use super::*;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

struct Folder {
    _dir: tempfile::TempDir,
    top: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        Self { _dir: dir, top }
    }

    fn file(&self, name: &str, content: &[u8], mode: u32) -> PathBuf {
        let path = self.top.join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    fn names(&self) -> BTreeSet<String> {
        fs::read_dir(&self.top).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn version(bytes: &[u8]) -> String {
    plimsoll_core::workspace::FileVersion::of(bytes).to_string()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

#[test]
fn a_file_keeps_what_it_has_besides_its_content() {
    let folder = Folder::new();
    let path = folder.file("run.sh", b"old", 0o4751);
    let noted = rustix::fs::setxattr(&path, "user.note", b"1", rustix::fs::XattrFlags::empty()).is_ok();
    put(&path, Some(&version(b"old")), &[b"n", b"", b"ew"], Some(0o600)).unwrap();
    assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"new".to_vec(), 0o4751));
    if noted {
        let mut value = [0; 8];
        let len = rustix::fs::getxattr(&path, "user.note", &mut value).unwrap();
        assert_eq!(&value[..len], b"1");
    }
    assert_eq!(folder.names(), set(["run.sh"]));
}

#[test]
fn an_access_list_is_kept_and_one_of_the_folder_is_not_handed_on() {
    // Version 2, then (tag, permissions, id): owner rw-, user 1 r--, group ---, mask r--, others ---.
    fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let mut bytes = 2_u32.to_le_bytes().to_vec();
        for (tag, bits, id) in entries {
            bytes.extend([tag.to_le_bytes(), bits.to_le_bytes()].concat());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }
    const NONE: u32 = u32::MAX;
    let one = list(&[(1, 6, NONE), (2, 4, 1), (4, 0, NONE), (16, 4, NONE), (32, 0, NONE)]);
    let folder = Folder::new();
    let (with, without) = (folder.file("with", b"old", 0o600), folder.file("without", b"old", 0o640));
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(&with, "system.posix_acl_access", &one, flags).is_err() {
        // A file system without access lists.
        return;
    }
    rustix::fs::setxattr(&folder.top, "system.posix_acl_default", &one, flags).unwrap();
    let read = |path: &Path| {
        let mut value = [0; 256];
        let len = rustix::fs::getxattr(path, "system.posix_acl_access", &mut value).ok()?;
        Some(value[..len].to_vec())
    };
    for path in [&with, &without] {
        put(path, Some(&version(b"old")), &[b"new"], None).unwrap();
    }
    assert_eq!((read(&with), mode(&with)), (Some(one), 0o640));
    assert_eq!((read(&without), mode(&without)), (None, 0o640));
}

#[test]
fn no_wider_mode_is_ever_seen() {
    let folder = Folder::new();
    let path = folder.file("secret", b"0", 0o600);
    let done = AtomicBool::new(false);
    let widest = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut widest = 0;
            while !done.load(Ordering::Relaxed) {
                for entry in fs::read_dir(&folder.top).unwrap().flatten() {
                    widest |= entry.metadata().map_or(0, |metadata| metadata.mode() & 0o7777);
                }
            }
            widest
        });
        for no in 0..200 {
            let (old, new) = (no.to_string(), (no + 1).to_string());
            put(&path, Some(&version(old.as_bytes())), &[new.as_bytes()], None).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        watch.join().unwrap()
    });
    assert_eq!(widest, 0o600);
}

#[test]
fn another_version_than_the_expected_one_stays() {
    let folder = Folder::new();
    let path = folder.file("a", b"theirs", 0o644);
    let now = Some(version(b"theirs"));
    for expected in [Some(version(b"mine")), None] {
        match put(&path, expected.as_deref(), &[b"new"], None) {
            Err(PutError::Changed { now: found }) => assert_eq!(found, now),
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(remove(&path, &version(b"mine")), Err(PutError::Changed { now: found }) if found == now));
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
    let absent = folder.top.join("absent");
    assert!(matches!(put(&absent, Some(&version(b"")), &[b"x"], None), Err(PutError::Changed { now: None })));
    assert!(matches!(remove(&absent, &version(b"")), Err(PutError::Changed { now: None })));
    assert_eq!(folder.names(), set(["a"]));
}

#[test]
fn a_new_file_gets_its_folders_and_its_mode() {
    let folder = Folder::new();
    let path = folder.top.join("x/y/z.txt");
    put(&path, None, &[b"new"], Some(0o751)).unwrap();
    assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"new".to_vec(), 0o751));
    put(&folder.top.join("x/usual"), None, &[], None).unwrap();
    fs::write(folder.top.join("compared"), b"").unwrap();
    assert_eq!(mode(&folder.top.join("x/usual")), mode(&folder.top.join("compared")));
    // A file stands where a folder is needed: nothing is left of the try.
    let blocked = put(&path.join("below/it"), None, &[b"x"], None);
    assert!(matches!(blocked, Err(PutError::Open(OpenError::NotDir))), "{blocked:?}");
    assert!(matches!(put(&folder.top.join("x"), None, &[b"x"], None), Err(PutError::Open(OpenError::IsDir))));
}

#[test]
fn folders_that_were_made_for_nothing_are_removed() {
    let folder = Folder::new();
    let long = "n".repeat(300);
    assert!(matches!(put(&folder.top.join("a/b").join(long), None, &[b"x"], None), Err(PutError::Open(_))));
    assert_eq!(folder.names(), set([]));
}

#[test]
fn no_part_of_the_path_may_be_a_link() {
    let (folder, out) = (Folder::new(), Folder::new());
    let victim = out.file("victim", b"v", 0o644);
    symlink(&out.top, folder.top.join("esc")).unwrap();
    symlink(&victim, folder.top.join("link")).unwrap();
    symlink(out.top.join("new"), folder.top.join("dangling")).unwrap();
    let link =
        |result: Result<(), PutError>| assert!(matches!(result, Err(PutError::Open(OpenError::Link))), "{result:?}");
    link(put(&folder.top.join("esc/new"), None, &[b"x"], None));
    link(put(&folder.top.join("esc/deep/new"), None, &[b"x"], None));
    link(put(&folder.top.join("esc/victim"), Some(&version(b"v")), &[b"x"], None));
    link(put(&folder.top.join("link"), Some(&version(b"v")), &[b"x"], None));
    link(remove(&folder.top.join("esc/victim"), &version(b"v")));
    let there = put(&folder.top.join("dangling"), None, &[b"x"], None);
    assert!(matches!(there, Err(PutError::Changed { now: Some(_) })), "{there:?}");
    assert_eq!((out.names(), fs::read(&victim).unwrap()), (set(["victim"]), b"v".to_vec()));
    assert_eq!(folder.names(), set(["dangling", "esc", "link"]));
}

#[test]
fn a_link_is_removed_and_made_as_itself() {
    let folder = Folder::new();
    folder.file("real", b"r", 0o644);
    let path = folder.top.join("link");
    symlink("real", &path).unwrap();
    remove(&path, &version(b"real")).unwrap();
    assert_eq!(folder.names(), set(["real"]));
    put_link(&path, b"real").unwrap();
    assert_eq!(fs::read_link(&path).unwrap(), Path::new("real"));
    assert!(matches!(put_link(&path, b"other"), Err(PutError::Changed { now }) if now == Some(version(b"real"))));
}

#[test]
fn a_file_with_several_names_keeps_them() {
    let folder = Folder::new();
    let path = folder.file("one", b"old content", 0o4755);
    let other = folder.top.join("other");
    fs::hard_link(&path, &other).unwrap();
    for new in [&b"new"[..], b"a longer new content"] {
        let before = version(&fs::read(&path).unwrap());
        put(&path, Some(&before), &[new], None).unwrap();
        assert_eq!((fs::read(&path).unwrap(), fs::read(&other).unwrap()), (new.to_vec(), new.to_vec()));
    }
    assert_eq!((mode(&path), fs::metadata(&path).unwrap().nlink()), (0o4755, 2));
    assert_eq!(folder.names(), set(["one", "other"]));
}

#[test]
fn a_read_only_file_is_left_alone() {
    let folder = Folder::new();
    let path = folder.file("a", b"old", 0o444);
    for result in [put(&path, Some(&version(b"old")), &[b"new"], None), remove(&path, &version(b"old"))] {
        assert_eq!(result.unwrap_err().to_string(), "is read-only (mode 0444)");
    }
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn folders_and_pipes_are_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.top.join("dir")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, folder.top.join("pipe"), fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    for (name, expected) in [("dir", "is a directory"), ("pipe", "is a named pipe (FIFO), not a regular file")] {
        let path = folder.top.join(name);
        let (put, removed) = (put(&path, Some("0"), &[b"x"], None), remove(&path, "0"));
        assert_eq!(
            (put.unwrap_err().to_string(), removed.unwrap_err().to_string()),
            (expected.into(), expected.into())
        );
    }
    assert_eq!(folder.names(), set(["dir", "pipe"]));
}

#[test]
fn what_a_crash_left_is_in_nobodys_way_and_goes_when_it_is_old() {
    let folder = Folder::new();
    let path = folder.file("a", b"1", 0o644);
    let place = Place::open(&path).unwrap();
    let usual = temp::usual_name(&place);
    fs::write(folder.top.join(&usual), b"left").unwrap();
    put(&path, Some(&version(b"1")), &[b"2"], None).unwrap();
    assert_eq!(folder.names(), set(["a", usual.to_str().unwrap()]));
    temp::clear(&place, &usual, SystemTime::now() + temp::STALE / 2);
    assert_eq!(folder.names(), set(["a", usual.to_str().unwrap()]));
    temp::clear(&place, &usual, SystemTime::now() + temp::STALE * 2);
    assert_eq!(folder.names(), set(["a"]));
}

/// Another program replaces the file again and again while a new content is put in its place, made from what was read.
#[test]
fn what_another_writer_puts_there_at_the_same_moment_is_not_lost() {
    let (folder, scratch) = (Folder::new(), Folder::new());
    let path = folder.file("a", b"user 0\n", 0o644);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let Ok(read) = fs::read(&path) else { continue };
                match put(&path, Some(&version(&read)), &[&read, b"agent\n"], None) {
                    // How often it comes in between is the scheduler's affair.
                    Ok(()) | Err(PutError::Changed { .. }) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
        });
        for no in 1..=1000 {
            let mine = format!("user {no}\n");
            let draft = scratch.top.join("draft");
            fs::write(&draft, &mine).unwrap();
            fs::rename(&draft, &path).unwrap();
            // It may be out of sight for a moment, but never be gone.
            let until = Instant::now() + Duration::from_secs(10);
            while !fs::read_to_string(&path).unwrap().starts_with(&mine) {
                assert!(Instant::now() < until, "what was written in turn {no} is lost");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    // Alone again, it is written.
    let read = fs::read(&path).unwrap();
    assert!(read.starts_with(b"user 1000\n"));
    put(&path, Some(&version(&read)), &[&read, b"agent\n"], None).unwrap();
    assert_eq!(fs::read(&path).unwrap(), [&read[..], b"agent\n"].concat());
    assert_eq!(folder.names(), set(["a"]));
}
