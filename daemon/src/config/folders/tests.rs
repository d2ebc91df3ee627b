use super::*;
use std::os::unix::fs::symlink;

fn folders(root: &Path) -> Folders {
    Folders {
        config: root.join("config"),
        data: root.join("data"),
        runtime: root.join("run"),
        managed: root.join("managed.toml"),
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn variables_replace_the_platforms_folders_and_empty_ones_do_not() {
    let replaced = Folders::resolve(|name| match name {
        "PLIMSOLL_CONFIG_DIR" => Some("/a/config".into()),
        "PLIMSOLL_DATA_DIR" => Some("/a/data".into()),
        "PLIMSOLL_RUNTIME_DIR" => Some("/a/run".into()),
        _ => None,
    })
    .unwrap();
    let expected = Folders {
        config: "/a/config".into(),
        data: "/a/data".into(),
        runtime: "/a/run".into(),
        managed: "/etc/plimsoll/config.toml".into(),
    };
    assert_eq!(replaced, expected);
    assert_eq!(Folders::resolve(|_| Some("".into())).unwrap(), Folders::resolve(|_| None).unwrap());
}

#[test]
fn relative_replacements_become_absolute() {
    let replaced = Folders::resolve(|name| (name == "PLIMSOLL_DATA_DIR").then(|| "some/data".into())).unwrap();
    assert!(replaced.data.is_absolute() && replaced.data.ends_with("some/data"));
}

#[test]
fn new_folders_and_files_are_private_whatever_the_umask() {
    let root = tempfile::tempdir().unwrap();
    let folders = folders(root.path());
    // The umask belongs to the whole process; nothing else in these tests depends on it, and an open one is the worst.
    let before = rustix::process::umask(rustix::fs::Mode::empty());
    folders.ensure_data().unwrap();
    folders.ensure_logs().unwrap();
    let socket = folders.ensure_socket_folder().unwrap();
    private_file(&folders.lock_file()).unwrap();
    private_append(&folders.logs().join("daemon.log")).unwrap();
    rustix::process::umask(before);
    let modes = [
        mode(&folders.data),
        mode(&folders.logs()),
        mode(socket.parent().unwrap()),
        mode(&folders.lock_file()),
        mode(&folders.logs().join("daemon.log")),
    ];
    assert_eq!(modes, [0o700, 0o700, 0o700, 0o600, 0o600]);
}

#[test]
fn wider_folders_and_files_are_tightened() {
    let root = tempfile::tempdir().unwrap();
    let folders = folders(root.path());
    for folder in [&folders.data, &folders.runtime] {
        fs::create_dir(folder).unwrap();
        fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
    }
    fs::write(folders.lock_file(), "").unwrap();
    fs::set_permissions(folders.lock_file(), Permissions::from_mode(0o666)).unwrap();
    folders.ensure_data().unwrap();
    folders.ensure_socket_folder().unwrap();
    private_file(&folders.lock_file()).unwrap();
    assert_eq!([mode(&folders.data), mode(&folders.runtime), mode(&folders.lock_file())], [0o700, 0o700, 0o600]);
}

#[test]
fn a_runtime_folder_behind_a_link_is_refused_and_a_data_folder_is_not() {
    let root = tempfile::tempdir().unwrap();
    let folders = folders(root.path());
    let elsewhere = root.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &folders.runtime).unwrap();
    symlink(&elsewhere, &folders.data).unwrap();
    let refused = folders.ensure_socket_folder().unwrap_err();
    assert!(matches!(&refused, FolderError::Unusable { path, .. } if *path == folders.runtime), "{refused:?}");
    assert!(refused.to_string().contains("PLIMSOLL_RUNTIME_DIR"), "{refused}");
    folders.ensure_data().unwrap();
    assert_eq!(mode(&elsewhere), 0o700);
}

#[test]
fn a_file_in_the_folders_place_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let folders = folders(root.path());
    fs::write(&folders.data, "not a folder").unwrap();
    assert!(matches!(folders.ensure_data(), Err(FolderError::Unusable { .. })));
    assert_eq!(fs::read_to_string(&folders.data).unwrap(), "not a folder");
}

#[test]
fn the_sockets_name_tells_the_data_folder_through_links() {
    let root = tempfile::tempdir().unwrap();
    let one = folders(root.path());
    fs::create_dir(&one.data).unwrap();
    let mut other = one.clone();
    other.data = root.path().join("other");
    assert_ne!(one.socket(), other.socket());
    symlink(&one.data, &other.data).unwrap();
    assert_eq!(one.socket(), other.socket());
    assert_eq!(one.socket().parent(), Some(one.runtime.as_path()));
}

#[test]
fn a_socket_path_too_long_to_bind_moves_to_a_short_one_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let mut long = folders(root.path());
    long.runtime = root.path().join("x".repeat(120));
    let mut longer = long.clone();
    longer.runtime = root.path().join("x".repeat(121));
    assert!(long.socket().as_os_str().len() <= SOCKET_PATH_MAX);
    assert_ne!(long.socket(), longer.socket());
    assert_eq!(long.socket(), long.clone().socket());
}
