use super::*;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

/// A bridge between an editor's pipes and a daemon's socket, with all of it in hand.
struct Bridge {
    input: PipeWriter,
    output: PipeReader,
    daemon: UnixStream,
    end: JoinHandle<End>,
}

fn bridge(rest: &[u8]) -> Bridge {
    let (read, input) = io::pipe().unwrap();
    let (output, write) = io::pipe().unwrap();
    let (stream, daemon) = UnixStream::pair().unwrap();
    let link = Link { stream, rest: rest.to_vec() };
    let end = std::thread::spawn(move || copy(link, read, File::from(OwnedFd::from(write))));
    Bridge { input, output, daemon, end }
}

fn read_all(mut from: impl Read) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    text
}

fn read_exactly(mut from: impl Read, count: usize) -> String {
    let mut bytes = vec![0; count];
    from.read_exact(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn bytes_go_both_ways_and_last_answers_come_after_the_input_has_ended() {
    let Bridge { mut input, mut output, mut daemon, end } = bridge(b"early ");
    input.write_all(b"question").unwrap();
    assert_eq!(read_exactly(&mut daemon, 8), "question");
    daemon.write_all(b"answer").unwrap();
    assert_eq!(read_exactly(&mut output, 12), "early answer");
    drop(input);
    assert_eq!(read_all(&daemon), "");
    daemon.write_all(b"last").unwrap();
    drop(daemon);
    assert!(matches!(end.join().unwrap(), End::Editor));
    assert_eq!(read_all(output), "last");
}

#[test]
fn a_bridge_ends_soon_after_its_input_although_the_daemon_stays() {
    let Bridge { input, output: _open, daemon: _silent, end } = bridge(b"");
    let since = std::time::Instant::now();
    drop(input);
    assert!(matches!(end.join().unwrap(), End::Editor));
    // The promise to editors is a second; a loaded machine may need more to notice.
    assert!(since.elapsed() < Duration::from_secs(5));
}

#[test]
fn all_that_a_leaving_daemon_said_is_delivered() {
    let Bridge { input, output, mut daemon, end } = bridge(b"");
    let text = "x".repeat(300_000);
    let reader = std::thread::spawn(move || read_all(output));
    daemon.write_all(text.as_bytes()).unwrap();
    drop(daemon);
    assert!(matches!(end.join().unwrap(), End::Daemon));
    assert_eq!(reader.join().unwrap().len(), text.len());
    drop(input);
}

#[test]
fn a_daemon_that_closes_because_it_was_asked_to_is_a_good_end() {
    let Bridge { mut input, output, mut daemon, end } = bridge(b"");
    let asks = r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#;
    input.write_all(asks.as_bytes()).unwrap();
    assert_eq!(read_exactly(&mut daemon, asks.len()), asks);
    daemon.write_all(b"done").unwrap();
    drop(daemon);
    assert!(matches!(end.join().unwrap(), End::Editor));
    assert_eq!(read_all(output), "done");
    drop(input);
}

#[test]
fn an_editor_that_reads_no_more_ends_the_bridge_without_another_byte() {
    let Bridge { input: _open, output, daemon: _silent, end } = bridge(b"");
    drop(output);
    assert!(matches!(end.join().unwrap(), End::Editor));
}
