use super::*;
use crate::cli::lock::{Holder, InstanceLock};
use crate::cli::tests::{folders, welcome};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

fn hello() -> Hello {
    Hello {
        plimsoll: HelloMark::Hello,
        facade: Facade::Native,
        build: "b".to_owned(),
        protocol: ProtocolRange::OURS,
        cwd: Some("/w".to_owned()),
        env: [("A".to_owned(), "B".to_owned())].into(),
        binary: None,
        resume: None,
    }
}

/// A daemon that answers the first lines of so many connections with these bytes, and tells what it was told.
fn daemon(listener: UnixListener, answers: Vec<Vec<u8>>) -> std::thread::JoinHandle<Vec<String>> {
    std::thread::spawn(move || {
        let mut told = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut line = Vec::new();
            let mut byte = [0];
            while stream.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
                line.push(byte[0]);
            }
            told.push(String::from_utf8(line).unwrap());
            // Who has heard enough of something long closes the connection.
            let _ = stream.write_all(&answer);
        }
        told
    })
}

fn reach_daemon(answers: &[&[u8]]) -> (Result<Link, ReachError>, Vec<String>) {
    let (_root, folders) = folders();
    let socket = folders.ensure_socket_folder().unwrap();
    let daemon = daemon(UnixListener::bind(socket).unwrap(), answers.iter().map(|answer| answer.to_vec()).collect());
    let reached = reach(&folders, &hello(), Spawn::Never);
    (reached, daemon.join().unwrap())
}

#[test]
fn the_hello_is_one_line_and_what_follows_the_answer_is_kept() {
    let mut answer = serde_json::to_vec(&welcome()).unwrap();
    answer.extend(b"\nand more");
    let (reached, told) = reach_daemon(&[&answer]);
    let link = reached.unwrap();
    assert_eq!(link.rest, b"and more");
    let expected = concat!(
        r#"{"plimsoll":"hello","facade":"native","build":"b","protocol":{"min":"1.0","max":"1.0"},"#,
        r#""cwd":"/w","env":{"A":"B"}}"#
    );
    assert_eq!(told, [expected]);
}

#[test]
fn a_daemon_that_is_leaving_is_sought_again() {
    let mut answer = serde_json::to_vec(&welcome()).unwrap();
    answer.push(b'\n');
    let mut leaving = welcome();
    let refusal = |kind| Refusal { kind, message: "bye".to_owned(), hint: None };
    leaving.error = Some(refusal(ErrorKind::ShuttingDown));
    let mut bye = serde_json::to_vec(&leaving).unwrap();
    bye.push(b'\n');
    let (reached, told) = reach_daemon(&[b"", &bye, &answer]);
    assert_eq!((reached.unwrap().rest, told.len()), (Vec::new(), 3));
}

#[test]
fn a_refusal_is_final_and_keeps_its_words() {
    let mut refused = welcome();
    let refusal = Refusal {
        kind: ErrorKind::IncompatibleVersion,
        message: "this daemon speaks 2.0, you speak 1.0".to_owned(),
        hint: Some("update".to_owned()),
    };
    refused.error = Some(refusal.clone());
    let mut answer = serde_json::to_vec(&refused).unwrap();
    answer.push(b'\n');
    let (reached, _) = reach_daemon(&[&answer]);
    assert!(matches!(reached.unwrap_err(), ReachError::Refused(said) if said == refusal));
}

#[test]
fn something_else_at_the_socket_is_an_error_and_not_a_loop() {
    let (reached, _) = reach_daemon(&[b"HTTP/1.1 400 Bad Request\r\n"]);
    assert!(matches!(reached.unwrap_err(), ReachError::NotADaemon));
    let (reached, _) = reach_daemon(&[&vec![b'x'; WELCOME_MAX + 4096]]);
    assert!(matches!(reached.unwrap_err(), ReachError::NotADaemon | ReachError::Closed));
    let (reached, told) = reach_daemon(&[&b""[..]; ATTEMPTS]);
    assert!(matches!(reached.unwrap_err(), ReachError::Closed));
    assert_eq!(told.len(), ATTEMPTS);
}

#[test]
fn none_is_started_when_none_shall_be() {
    let (_root, folders) = folders();
    assert!(matches!(reach(&folders, &hello(), Spawn::Never), Err(ReachError::NotRunning)));
    assert!(!folders.data.join("start.lock").exists());
}

#[test]
fn a_daemon_at_another_runtime_folder_is_found_through_its_lock() {
    let (_root, mut folders) = folders();
    let socket = folders.ensure_socket_folder().unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();
    let mut lock = InstanceLock::take(&folders).unwrap().unwrap();
    lock.announce(&Holder { pid: 1, socket, version: "1".to_owned(), stopped: false }).unwrap();
    folders.runtime = folders.data.join("elsewhere");
    assert!(connect_running(&folders).is_some());
}

#[test]
fn a_socket_in_a_folder_that_others_can_write_is_not_spoken_to() {
    let (_root, folders) = folders();
    let socket = folders.ensure_socket_folder().unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();
    assert!(connect_to(&socket).is_some());
    fs::set_permissions(&folders.runtime, Permissions::from_mode(0o777)).unwrap();
    assert!(connect_to(&socket).is_none());
}
