//! Waits for the end of processes that are not children of the test, without polling: a process descriptor becomes
//! readable when its process ends.

use crate::PATIENCE;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;

/// A process that may end while it is watched.
pub struct Watched {
    pid: i32,
    descriptor: Option<OwnedFd>,
}

impl Watched {
    /// Watches the process with this number; one that is gone already is gone.
    pub fn new(pid: u32) -> Self {
        let pid = i32::try_from(pid).expect("a process number");
        let descriptor = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::NONBLOCK).ok());
        Self { pid, descriptor }
    }

    /// Waits until it has ended; fails the test when it does not.
    pub async fn gone(self) {
        let Some(descriptor) = self.descriptor else { return };
        let limit = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
        let waiting = tokio::task::spawn_blocking(move || {
            let mut watched = [PollFd::new(&descriptor, PollFlags::IN)];
            poll(&mut watched, Some(&limit))
        });
        let ended = waiting.await.expect("the wait does not panic").expect("the descriptor can be waited for");
        assert_eq!(ended, 1, "process {} has not ended in time", self.pid);
    }
}

#[tokio::test]
async fn a_process_is_gone_when_it_ends() {
    let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let watched = Watched::new(child.id());
    assert!(watched.descriptor.is_some());
    drop(child.stdin.take());
    watched.gone().await;
    let pid = child.id();
    child.wait().unwrap();
    Watched::new(pid).gone().await;
}
