//! A database that was damaged while no daemon ran: it is kept, what can be read is there, and it is said.

use plimsoll_core::model::request::Api;
use plimsoll_tests::machine::Machine;
use plimsoll_tests::model_server::{ModelServer, Script, Step};
use plimsoll_tests::workspace::Workspace;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Harm {
    /// Bytes 8192 to 12287 are zero.
    Zeros,
    /// The write-ahead log of a killed daemon ends too early.
    Log,
    /// The file is empty.
    Empty,
}

impl Harm {
    /// Does it; gives the file that it was done to.
    fn to(self, database: &Path) -> PathBuf {
        let open = |path: &Path| OpenOptions::new().write(true).open(path).expect("a file");
        match self {
            Self::Zeros => {
                let mut file = open(database);
                file.seek(SeekFrom::Start(8192)).expect("a place");
                file.write_all(&[0; 4096]).expect("room");
                database.to_owned()
            }
            Self::Log => {
                let log = PathBuf::from(format!("{}-wal", database.display()));
                let length = std::fs::metadata(&log).expect("a log").len();
                open(&log).set_len(length / 2 + 1_000).expect("a shorter file");
                log
            }
            Self::Empty => {
                open(database).set_len(0).expect("an empty file");
                database.to_owned()
            }
        }
    }
}

/// Files beside the database that an earlier one was kept as.
fn kept(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut kept: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().contains("damaged")).collect();
    kept.sort();
    kept
}

// Case H04.
#[tokio::test]
async fn a_damaged_database_is_kept_and_what_can_be_read_is_there() {
    for harm in [Harm::Zeros, Harm::Log, Harm::Empty] {
        let workspace = Workspace::new();
        let server = ModelServer::start(Script::new([Step::say("One."), Step::say("Two.")])).await;
        let mut daemon = Machine::new(plimsoll_tests::binary!()).model(&server, Api::OpenaiChat, "ask").daemon().await;
        let client = daemon.client().await;
        let session = client.session(&workspace).await;
        client.turn(&session, "first").await;
        let project = client.ok("session/get", json!({"session": session})).await["project"].clone();
        // What the index has is in its file.
        client.ok("session/list", json!({})).await;
        if harm == Harm::Log {
            daemon.kill9().await;
        } else {
            daemon.stop().await;
        }
        let folder = daemon.machine().data().join("projects").join(project.as_str().expect("a key"));
        let harmed = harm.to(&folder.join("plimsoll.db"));
        let before = content(&harmed);

        daemon.restart().await;
        let client = daemon.client().await;
        let list = client.ok("session/list", json!({})).await;
        assert_eq!(list["sessions"][0]["id"], session, "{harm:?}");
        let status = client.ok("daemon/status", json!({})).await;
        let damaged = status["damaged"].as_array().unwrap_or_else(|| panic!("{harm:?}: {status}"));
        assert_eq!(damaged.len(), 1, "{harm:?}: {status}");
        assert!(damaged[0]["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{status}");
        let copies = kept(&folder);
        assert!(copies.iter().any(|copy| content(copy) == before), "{harm:?}: {copies:?}");
        assert!(copies.contains(&PathBuf::from(damaged[0]["kept"].as_str().expect("a path"))), "{harm:?}: {copies:?}");
        client.attach(&session, 0).await;
        let prompt = json!({"session": session, "text": "second"});
        let turn = client.ok("turn/start", prompt).await["turn"].as_u64().expect("a number");
        assert_eq!(client.completed(&session, turn).await["stopReason"], "endTurn", "{harm:?}");

        daemon.stop().await;
        daemon.restart().await;
        let client = daemon.client().await;
        client.ok("session/list", json!({})).await;
        client.ok("session/get", json!({"session": session})).await;
        assert_eq!(client.ok("daemon/status", json!({})).await.get("damaged"), None::<&Value>, "{harm:?}");
        assert_eq!(kept(&folder), copies, "{harm:?}: the second start keeps nothing again");
    }
}

fn content(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
