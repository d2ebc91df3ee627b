//! The daemon is reached through its socket in the file system and by nothing else: no page in a browser and no other
//! machine can talk to it.

use plimsoll_tests::machine::Machine;
use std::collections::BTreeSet;
use std::fs;

/// The inodes of sockets that listen on a network, by the kernel's tables.
fn listening() -> BTreeSet<String> {
    let mut inodes = BTreeSet::new();
    for (table, listens) in [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")] {
        let text = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        let sockets = text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
        inodes.extend(sockets.filter(|socket| socket[3] == listens).map(|socket| socket[9].to_owned()));
    }
    inodes
}

/// The inodes of the sockets that a process has; none where it may not be looked at.
fn sockets(pid: u32) -> Option<BTreeSet<String>> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let links = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let inode = |link: std::path::PathBuf| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned());
    Some(links.filter_map(inode).collect())
}

#[tokio::test]
async fn the_daemon_listens_on_no_network() {
    let own = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let seen = sockets(std::process::id()).expect("a process may look at itself");
    assert!(listening().intersection(&seen).next().is_some(), "a listener is seen where there is one");
    drop(own);
    let daemon = Machine::new(plimsoll_tests::binary!()).daemon().await;
    let Some(sockets) = sockets(daemon.pid()) else {
        eprintln!("skipped: the daemon hides its descriptors from other processes of its user");
        return;
    };
    assert!(!sockets.is_empty(), "it has its own socket");
    assert_eq!(listening().intersection(&sockets).collect::<Vec<_>>(), Vec::<&String>::new());
}
