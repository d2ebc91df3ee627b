use super::*;
use crate::rpc::life::tests::sample;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const NEVER: Leave = Leave { executable: None, every: Duration::from_millis(5), soon: Duration::from_millis(5) };

/// Nothing runs.
fn nothing() -> Work<impl Fn() -> usize, impl Fn() -> bool> {
    Work { running: || 0, come_to_rest: || true }
}

fn listener() -> (tempfile::TempDir, UnixListener, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    (folder, UnixListener::bind(&path).unwrap(), path)
}

/// Says back what it hears; a `!` makes it panic.
async fn echo(mut stream: UnixStream) {
    let mut byte = [0];
    while matches!(stream.read(&mut byte).await, Ok(1)) {
        assert_ne!(byte, *b"!");
        stream.write_all(&byte).await.unwrap();
    }
}

#[tokio::test]
async fn connections_are_served_side_by_side_and_a_panic_ends_one_of_them() {
    let (_folder, listener, path) = listener();
    let shutdown = Shutdown::new();
    let stop = shutdown.clone();
    let server = tokio::spawn(async move { serve(listener, &stop, NEVER, || None, &sample(), nothing(), echo).await });
    let mut one = UnixStream::connect(&path).await.unwrap();
    let mut two = UnixStream::connect(&path).await.unwrap();
    one.write_all(b"!").await.unwrap();
    let mut byte = [0];
    assert_eq!(one.read(&mut byte).await.unwrap_or(0), 0);
    two.write_all(b"x").await.unwrap();
    assert_eq!((two.read(&mut byte).await.unwrap(), byte), (1, *b"x"));
    shutdown.request();
    let (reason, open) = server.await.unwrap();
    assert_eq!((reason, open.len()), (Reason::Requested, 1));
    assert!(UnixStream::connect(&path).await.is_err());
}

#[tokio::test]
async fn an_idle_daemon_leaves_but_not_while_a_client_or_a_turn_is_there() {
    let (_folder, listener, path) = listener();
    let turns = Arc::new(AtomicUsize::new(1));
    let looks = Arc::new(AtomicUsize::new(0));
    let (running, looked, again) = (turns.clone(), looks.clone(), turns.clone());
    let turns_run = move || again.load(Ordering::SeqCst) > 0;
    let shutdown = Shutdown::new();
    let server = tokio::spawn(async move {
        let count = move || {
            looked.fetch_add(1, Ordering::SeqCst);
            running.load(Ordering::SeqCst)
        };
        let work = Work { running: count, come_to_rest: || !turns_run() };
        serve(listener, &shutdown, NEVER, || Some(Duration::ZERO), &sample(), work, echo).await
    });
    let mut client = UnixStream::connect(&path).await.unwrap();
    client.write_all(b"x").await.unwrap();
    client.read_exact(&mut [0]).await.unwrap();
    drop(client);
    // Turns are asked for only when no client is there: two more looks come after the client has gone.
    let before = looks.load(Ordering::SeqCst);
    while looks.load(Ordering::SeqCst) < before + 2 {
        tokio::task::yield_now().await;
    }
    assert!(!server.is_finished());
    turns.store(0, Ordering::SeqCst);
    let (reason, open) = server.await.unwrap();
    assert_eq!((reason, open.len()), (Reason::Idle, 0));
}

#[tokio::test]
async fn a_daemon_whose_executable_was_replaced_leaves() {
    let (folder, listener, _) = listener();
    let path = folder.path().join("program");
    std::fs::write(&path, "old").unwrap();
    let executable = Executable::at(&path);
    std::fs::write(&path, "newer").unwrap();
    let leave = Leave { executable, ..NEVER };
    let life = sample();
    let (reason, _) = serve(listener, &Shutdown::new(), leave, || None, &life, nothing(), echo).await;
    assert_eq!((reason, life.is_restart_pending()), (Reason::Replaced, true));
}

#[tokio::test]
async fn a_daemon_that_makes_room_serves_until_nothing_runs_and_leaves_with_clients_connected() {
    let (_folder, listener, path) = listener();
    let turns = Arc::new(AtomicUsize::new(1));
    let (life, running, rests) = (sample(), turns.clone(), turns.clone());
    let announcing = life.clone();
    let server = tokio::spawn(async move {
        let work = Work {
            running: move || running.load(Ordering::SeqCst),
            come_to_rest: move || rests.load(Ordering::SeqCst) == 0,
        };
        serve(listener, &Shutdown::new(), NEVER, || None, &life, work, echo).await
    });
    let mut client = UnixStream::connect(&path).await.unwrap();
    announcing.announce_restart(RestartPending { build: None });
    for _ in 0..3 {
        client.write_all(b"x").await.unwrap();
        client.read_exact(&mut [0]).await.unwrap();
        UnixStream::connect(&path).await.unwrap();
    }
    assert!(!server.is_finished());
    turns.store(0, Ordering::SeqCst);
    let (reason, open) = server.await.unwrap();
    assert_eq!(reason, Reason::Replaced);
    assert!(!open.is_empty());
}
