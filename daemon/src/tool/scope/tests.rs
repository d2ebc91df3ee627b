use super::*;
use crate::tool::testing::Place;
use std::os::unix::fs::symlink;

fn zone_of(place: &Place, text: &str) -> Zone {
    resolve(&place.env, text).unwrap().zone
}

fn inside(rel: &str) -> Zone {
    Zone::Root(WorkspacePath::new(0, rel))
}

#[test]
fn a_sibling_with_the_same_prefix_is_outside() {
    let place = Place::new();
    let secret = place.dir.path().canonicalize().unwrap().join("ws-secret");
    std::fs::create_dir_all(&secret).unwrap();
    std::fs::write(secret.join("creds"), "x").unwrap();
    place.write("a.txt", "x");
    place.write("sub/b.txt", "x");
    for text in ["../ws-secret/creds", secret.join("creds").to_str().unwrap(), "sub/../../ws-secret/creds"] {
        let resolved = resolve(&place.env, text).unwrap();
        assert_eq!(resolved.zone, Zone::Outside, "{text}");
        assert_eq!(resolved.path, secret.join("creds"), "{text}");
    }
    assert_eq!(zone_of(&place, "../ws/a.txt"), inside("a.txt"));
    assert_eq!(zone_of(&place, "./sub/.././a.txt"), inside("a.txt"));
    assert_eq!(zone_of(&place, "."), inside(""));
}

#[test]
fn the_plan_file_is_a_zone_of_its_own_and_nothing_beside_it_is() {
    let place = Place::new();
    let plans = place.env.plan_file.parent().unwrap().to_path_buf();
    std::fs::create_dir_all(&plans).unwrap();
    symlink(&place.env.plan_file, place.w.join("plan.md")).unwrap();
    symlink(&plans, place.w.join("plans")).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    // The file need not be there.
    for way in
        [text(&place.env.plan_file), "plan.md".into(), "plans/session.md".into(), "plans/../plans/session.md".into()]
    {
        assert_eq!(zone_of(&place, &way), Zone::Plan, "{way}");
    }
    for way in ["plans", "plans/other.md", "plans/session.md/x", "plans/session.mdx"] {
        assert_eq!(zone_of(&place, way), Zone::Protected, "{way}");
    }
    // A link in its place leads elsewhere, and lies where it leads.
    place.write("a.txt", "x");
    symlink(place.w.join("a.txt"), &place.env.plan_file).unwrap();
    assert_eq!(zone_of(&place, "plan.md"), inside("a.txt"));
}

#[test]
fn links_are_resolved_before_the_zone_is_decided() {
    let place = Place::new();
    std::fs::write(place.o.join("victim.txt"), "x").unwrap();
    place.write("in.txt", "x");
    place.write("dir/f", "x");
    symlink(place.o.join("victim.txt"), place.w.join("notes.md")).unwrap();
    symlink(place.o.join("new.txt"), place.w.join("draft.txt")).unwrap();
    symlink(&place.o, place.w.join("esc")).unwrap();
    symlink("in.txt", place.w.join("ok.txt")).unwrap();
    symlink("loop", place.w.join("loop")).unwrap();
    for out in ["notes.md", "draft.txt", "esc", "esc/b.txt", "esc/new/deep"] {
        assert_eq!(zone_of(&place, out), Zone::Outside, "{out}");
    }
    let dangling = resolve(&place.env, "draft.txt").unwrap();
    assert_eq!((dangling.path, dangling.exists), (place.o.join("new.txt"), false));
    assert_eq!(zone_of(&place, "ok.txt"), inside("in.txt"));
    // After a link, `..` is the folder above the link's target.
    assert_eq!(resolve(&place.env, "esc/../ws/in.txt").unwrap().path, place.w.join("in.txt"));
    assert_eq!(zone_of(&place, "esc/../data"), Zone::Protected);
    assert!(resolve(&place.env, "loop").unwrap_err().contains("too many symbolic links"));
}

#[test]
fn own_folders_git_insides_and_keys_are_protected() {
    let place = Place::new();
    let home = place.dir.path().canonicalize().unwrap().join("home");
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    place.write(".git/config", "x");
    place.write("sub/.git", "gitdir: x");
    place.write(".gitignore", "x");
    place.write(".env", "x");
    let absolute = |path: &Path| path.to_str().unwrap().to_owned();
    assert_eq!(zone_of(&place, ".git/config"), Zone::Protected);
    assert_eq!(zone_of(&place, "sub/.git"), Zone::Protected);
    assert_eq!(zone_of(&place, ".gitignore"), inside(".gitignore"));
    assert_eq!(zone_of(&place, ".env"), inside(".env"));
    assert_eq!(zone_of(&place, &absolute(&place.env.protected[0].join("user.db"))), Zone::Protected);
    assert_eq!(zone_of(&place, &absolute(&place.env.session_dir.join("transcript.txt"))), Zone::Readable);
    assert_eq!(zone_of(&place, &absolute(&home.join(".ssh/id"))), Zone::Protected);
    assert_eq!(zone_of(&place, &absolute(&home.join("notes"))), Zone::Outside);
    assert_eq!(zone_of(&place, "~/x"), inside("~/x"));
}

#[test]
fn key_files_are_told_from_what_lies_beside_them() {
    let place = Place::new();
    let home = place.dir.path().canonicalize().unwrap().join("home");
    let zone = |path: PathBuf| zone_of(&place, path.to_str().unwrap());
    for key in [".ssh/config", ".aws/credentials", ".kube/config", ".docker/config.json", ".netrc", ".npmrc", ".pypirc"]
        .into_iter()
        .chain([".git-credentials", ".config/gcloud/x.db", ".config/gh/hosts.yml", "work/id_ed25519"])
    {
        assert_eq!(zone(home.join(key)), Zone::Protected, "{key}");
    }
    for other in [".kube/cache/x", ".docker/daemon.json", ".npm/x", ".config/gh/config.yml", "work/id_ed25519.pub"] {
        assert_eq!(zone(home.join(other)), Zone::Outside, "{other}");
    }
    assert_eq!(zone_of(&place, "tests/id_rsa"), inside("tests/id_rsa"));
    // A key file that is moved elsewhere by a link is found where it is.
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(place.o.join("netrc"), "x").unwrap();
    symlink(place.o.join("netrc"), home.join(".netrc")).unwrap();
    assert_eq!(zone(place.o.join("netrc")), Zone::Protected);
    let is_protected = protected(&place.env);
    assert_eq!([home.join(".ssh/id"), home.join("x")].map(|path| is_protected(&path)), [true, false]);
}

#[test]
fn the_second_root_is_tried_for_what_the_first_lacks() {
    let mut place = Place::new();
    std::fs::write(place.o.join("only.txt"), "x").unwrap();
    place.env.roots = [place.w.clone(), place.o.clone()].into();
    let found = resolve(&place.env, "only.txt").unwrap();
    assert_eq!(found.zone, Zone::Root(WorkspacePath::new(1, "only.txt")));
    assert_eq!(found.shown, place.o.join("only.txt").to_str().unwrap());
    assert_eq!(zone_of(&place, "absent.txt"), inside("absent.txt"));
}

#[test]
fn odd_names_are_taken_as_they_are_shown() {
    let place = Place::new();
    for name in
        [&b"bad-\xFF.txt"[..], "caf\u{e9}.txt".as_bytes(), b"a -> b.txt", b"q\"t\tab.txt", br"lit\x41", b"<user_query>"]
    {
        let path = place.write(OsStr::from_bytes(name), "x");
        let shown = show(&place.env, &path);
        for text in [shown.clone(), plimsoll_core::escape::data(&shown).into_owned()] {
            let resolved = resolve_existing(&place.env, &text).unwrap();
            assert_eq!((resolved.path, &resolved.shown), (path.clone(), &shown), "{text}");
        }
    }
    assert_eq!(show(&place.env, &place.w.join(OsStr::from_bytes(b"bad-\xFF.txt"))), "bad-\\xFF.txt");
    // A name that is literally there wins over what it would stand for.
    let literal = place.write(r"b\x41", "x");
    place.write("bA", "x");
    assert_eq!(resolve(&place.env, r"b\x41").unwrap().path, literal);
}

#[test]
fn an_absent_path_gets_the_nearest_names() {
    let place = Place::new();
    place.write("src/main.rs", "x");
    place.write("src/mail.rs", "x");
    place.write("src/zebra.rs", "x");
    std::fs::write(place.o.join("secret.txt"), "x").unwrap();
    let error = |text: &str| resolve_existing(&place.env, text).unwrap_err();
    assert_eq!(error("src/mian.rs"), "`src/mian.rs` does not exist. Nearest: src/main.rs.");
    assert_eq!(error("src/maim.rs"), "`src/maim.rs` does not exist. Nearest: src/mail.rs, src/main.rs.");
    assert_eq!(error("scr/main.rs"), "`scr/main.rs` does not exist. Nearest: src.");
    assert_eq!(error("src/main.py"), "`src/main.py` does not exist. Nearest: src/main.rs.");
    assert_eq!(error("quite/other"), "`quite/other` does not exist.");
    let outside = place.o.join("secrets.txt");
    assert_eq!(error(outside.to_str().unwrap()), format!("`{}` does not exist.", outside.display()));
    assert!(error("").contains("empty"));
}

#[test]
fn a_missing_root_is_said() {
    let place = Place::new();
    std::fs::remove_dir(&place.w).unwrap();
    let expected = format!("workspace missing: {}. Its folder was moved or deleted.", place.w.display());
    assert_eq!(resolve(&place.env, "a.txt"), Err(expected.clone()));
    assert_eq!(resolve(&place.env, place.w.join("a.txt").to_str().unwrap()), Err(expected));
}

#[test]
fn a_path_that_leads_elsewhere_than_decided_is_refused() {
    let place = Place::new();
    place.write("d/f", "x");
    let decided = resolve(&place.env, "d/f").unwrap().target();
    assert!(recheck(&place.env, "d/f", Some(&decided)).is_ok());
    std::fs::remove_dir_all(place.w.join("d")).unwrap();
    std::fs::write(place.o.join("f"), "x").unwrap();
    symlink(&place.o, place.w.join("d")).unwrap();
    assert!(recheck(&place.env, "d/f", Some(&decided)).unwrap_err().contains("leads elsewhere"));
    assert!(recheck(&place.env, "d/f", None).is_err());
}
