//! A daemon starts, is found, dies and starts again on the same folders.

use plimsoll_tests::client::Framing;
use plimsoll_tests::daemon::TestDaemon;
use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use serde_json::{Value, json};
use std::path::Path;

#[tokio::test]
async fn a_daemon_answers_in_both_framings_and_survives_its_own_death() {
    let mut daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    for framing in [Framing::Lines, Framing::Headers] {
        let client = daemon.client_with(framing).await;
        let status = client.ok("daemon/status", json!({})).await;
        assert_eq!(status["pid"], daemon.pid(), "{framing:?}");
    }
    let before = daemon.pid();
    let watched = TestDaemon::watch(before);
    daemon.kill9().await;
    watched.gone().await;
    daemon.restart().await;
    let status = daemon.client().await.ok("daemon/status", json!({})).await;
    assert_eq!(status["pid"], daemon.pid());
    assert_ne!(daemon.pid(), before);
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn a_second_daemon_finds_the_first_and_ends() {
    let daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    let mut second = daemon.machine().command(Path::new("/"), &["daemon", "--detached"]);
    let output = in_time("the second daemon's end", second.output()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found, json!({"ready": {"socket": daemon.socket().to_str(), "pid": daemon.pid()}}));
}
