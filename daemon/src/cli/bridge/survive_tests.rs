use super::*;
use crate::cli::tests::{folders, welcome};
use plimsoll_protocol::hello::{Facade, Resume};
use serde_json::{Value, json};
use std::io::{PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;

/// A bridge on a machine whose later daemons are the test's.
struct Bridge {
    input: PipeWriter,
    output: BufReader<PipeReader>,
    /// The daemon of its beginning.
    daemon: UnixStream,
    /// Where it comes when that has ended.
    next: UnixListener,
    end: JoinHandle<End>,
    _root: tempfile::TempDir,
}

fn bridge() -> Bridge {
    let (root, folders) = folders();
    let next = UnixListener::bind(folders.ensure_socket_folder().unwrap()).unwrap();
    let (read, input) = io::pipe().unwrap();
    let (output, write) = io::pipe().unwrap();
    let (stream, daemon) = UnixStream::pair().unwrap();
    let mut hello = reach::own_hello(Facade::Acp, Spawn::WhenNone);
    hello.resume = Some(Resume::default());
    let ways = Ways { folders, hello };
    let end = std::thread::spawn(move || {
        copy(Link { stream, rest: Vec::new() }, ways, read, File::from(OwnedFd::from(write)))
    });
    Bridge { input, output: BufReader::new(output), daemon, next, end, _root: root }
}

fn say(mut to: impl Write, message: &Value) {
    to.write_all(format!("{message}\n").as_bytes()).unwrap();
}

fn hear(from: &mut impl BufRead) -> Value {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
}

/// The bridge's next connection: its hello, which is answered.
fn greeted(next: &UnixListener) -> (BufReader<UnixStream>, Value) {
    let mut stream = BufReader::new(next.accept().unwrap().0);
    let hello = hear(&mut stream);
    say(stream.get_ref(), &serde_json::to_value(welcome()).unwrap());
    (stream, hello)
}

fn new_session() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/w", "mcpServers": []}})
}

#[test]
fn what_a_dead_daemon_did_not_answer_the_next_one_does_and_half_a_line_is_not_said() {
    let Bridge { input, mut output, mut daemon, next, end, _root } = bridge();
    say(&input, &new_session());
    let asked = hear(&mut BufReader::new(&daemon));
    daemon.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"res").unwrap();
    drop(daemon);
    let (mut second, hello) = greeted(&next);
    assert_eq!(hello["resume"], json!({"lastRequest": 0, "sessions": []}));
    assert_eq!(hear(&mut second), asked);
    let made = json!({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s1"}});
    say(second.get_ref(), &made);
    assert_eq!(hear(&mut output), made);
    drop(second);
    // What the editor says meanwhile waits for the next one.
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "session/list", "params": {}});
    say(&input, &list);
    let (mut third, hello) = greeted(&next);
    assert_eq!(hello["resume"]["sessions"][0]["session"], "s1");
    assert_eq!(hear(&mut third), list);
    drop(input);
    assert!(matches!(end.join().unwrap(), End::Editor));
}

#[test]
fn daemons_that_end_again_and_again_end_the_bridge_with_an_answer() {
    let Bridge { input, mut output, daemon, next, end, _root } = bridge();
    say(&input, &new_session());
    let asked = hear(&mut BufReader::new(&daemon));
    drop(daemon);
    for _ in 0..CRASHES_MAX {
        let (mut again, _) = greeted(&next);
        assert_eq!(hear(&mut again), asked);
    }
    let told = hear(&mut output);
    assert_eq!(told["id"], 1);
    assert!(told["error"]["message"].as_str().unwrap().contains("ended 6 times within a minute"), "{told}");
    assert!(matches!(end.join().unwrap(), End::Crashes { times: 6, .. }));
}

#[test]
fn a_bridge_ends_with_its_editor_also_where_no_daemon_is() {
    let Bridge { input, output, daemon, next, end, _root } = bridge();
    drop(daemon);
    // It has connected, and nobody answers it.
    let unanswered = next.accept().unwrap();
    drop(input);
    assert!(matches!(end.join().unwrap(), End::Editor));
    drop((unanswered, output));
}

#[test]
fn a_line_without_an_end_ends_the_bridge() {
    assert!(matches!(read_line(&mut BufReader::new(io::repeat(b'x').take(1 << 27))), Line::TooLong));
    let mut input = &b"one\ntwo"[..];
    assert!(matches!(read_line(&mut input), Line::Whole(line) if line == b"one\n"));
    assert!(matches!(read_line(&mut input), Line::Whole(line) if line == b"two"));
    assert!(matches!(read_line(&mut input), Line::End));
}
