use super::*;
use crate::cli::tests::folders;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::sync::{Barrier, Mutex};

#[test]
fn a_daemon_keeps_nothing_of_its_starter_but_user_paths_and_folders() {
    let folders = Folders {
        config: "/c".into(),
        data: "/d".into(),
        runtime: "/r".into(),
        managed: "/etc/plimsoll/config.toml".into(),
    };
    let own = [
        ("HOME", "/home/me"),
        ("LC_ALL", "C"),
        ("OPENAI_API_KEY", "hush"),
        ("HTTPS_PROXY", "http://p"),
        ("PLIMSOLL_MODEL", "a/b"),
        ("PLIMSOLL_MODE", "full"),
        ("PLIMSOLL_DATA_DIR", "relative"),
    ];
    let found = environment(&folders, own.into_iter().map(|(name, value)| (name.into(), value.into())));
    let expected = [
        ("HOME", "/home/me"),
        ("LC_ALL", "C"),
        ("PLIMSOLL_CONFIG_DIR", "/c"),
        ("PLIMSOLL_DATA_DIR", "/d"),
        ("PLIMSOLL_RUNTIME_DIR", "/r"),
    ]
    .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    assert_eq!(found, expected);
}

#[test]
fn a_line_an_end_and_a_silence_are_told_apart() {
    let read = |text: &[u8], keep_open: bool, patience| {
        let (reader, mut writer) = io::pipe().unwrap();
        let writing = text.to_vec();
        let writer = std::thread::spawn(move || {
            let _ = writer.write_all(&writing);
            keep_open.then_some(writer)
        });
        let answer = read_line(reader, Instant::now() + patience).unwrap();
        drop(writer.join());
        answer
    };
    let long = Duration::from_secs(10);
    assert!(matches!(read(b"{}\n", true, long), Answer::Line(line) if line == b"{}\n"));
    assert!(matches!(read(b"{", false, long), Answer::End));
    assert!(matches!(read(b"", true, Duration::ZERO), Answer::Late));
    assert!(matches!(read(&vec![b'x'; READINESS_MAX], true, long), Answer::End));
}

#[test]
fn a_start_race_ends_with_one_daemon_and_every_client_connected() {
    const CLIENTS: usize = 8;
    let (_root, folders) = folders();
    let started: Mutex<Vec<UnixListener>> = Mutex::default();
    let together = Barrier::new(CLIENTS);
    let connected = std::thread::scope(|scope| {
        let client = || {
            together.wait();
            start_by(&folders, || {
                let socket = folders.ensure_socket_folder().unwrap();
                started.lock().unwrap().push(UnixListener::bind(&socket).unwrap());
                Ok(Readiness::Ready { socket, pid: 1 })
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).count()
    });
    assert_eq!((connected, started.into_inner().unwrap().len()), (CLIENTS, 1));
}

#[test]
fn a_daemon_that_cannot_run_says_why_and_the_next_client_may_try_again() {
    let (_root, folders) = folders();
    let failed = || Ok(Readiness::Failed { message: "the disk is full".to_owned() });
    let error = start_by(&folders, failed).unwrap_err();
    assert_eq!(error.to_string(), "the daemon cannot run: the disk is full");
    let nowhere = folders.socket();
    let error = start_by(&folders, || Ok(Readiness::Ready { socket: nowhere, pid: 1 })).unwrap_err();
    assert!(matches!(error, StartError::NotThere { .. }), "{error:?}");
}
