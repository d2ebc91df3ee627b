//! What was sent to the model, against what the store says was sent.

use crate::daemon::TestDaemon;
use crate::model_server::{ModelServer, Recorded};
use bytes::Bytes;
use plimsoll::store::{ListFilter, Stores};
use plimsoll_core::model::codec;
use plimsoll_core::model::request::{Api, Params};
use std::path::Path;
use std::sync::Arc;

/// Bodies that the store gives back for all requests of all sessions, in the order in which they were made.
pub async fn stored_bodies(data: &Path) -> Vec<Bytes> {
    let stores = Stores::open(data).await.expect("the store opens");
    let filter = ListFilter { limit: 500, ..ListFilter::default() };
    let mut bodies = Vec::new();
    for found in stores.list_sessions(filter).await.expect("a list").sessions {
        let project = stores.open_project(&found.project).await.expect("its project opens");
        let id = found.session.id;
        for entry in project.requests(&id).await.expect("its requests") {
            let replayed = project.request_body_segments(&id, entry.request.no).await.expect("the request's segments");
            let texts = |segments: &[plimsoll_core::transcript::epoch::Segment]| -> Vec<Arc<str>> {
                segments.iter().map(|segment| Arc::clone(&segment.text)).collect()
            };
            let params: &Params = &replayed.request.params;
            let body = codec::body(
                replayed.epoch.api,
                params,
                &texts(&replayed.epoch.tools),
                &texts(&replayed.epoch.system),
                &texts(&replayed.messages),
                &replayed.request.marks,
            );
            bodies.push((entry.request.at, Bytes::from(body)));
        }
    }
    stores.close().await;
    bodies.sort_by_key(|(at, _)| *at);
    bodies.into_iter().map(|(_, body)| body).collect()
}

/// Ends the daemon; every body that the server got must be printed again by the store, byte for byte. Repeated attempts
/// at one request count once.
pub async fn assert_replayed(daemon: &mut TestDaemon, server: &ModelServer) {
    daemon.stop().await;
    let mut sent: Vec<Bytes> = server.requests().into_iter().map(|request| request.body).collect();
    sent.dedup();
    let stored = stored_bodies(&daemon.machine().data()).await;
    let text = |bodies: Vec<Bytes>| -> Vec<String> {
        bodies.into_iter().map(|body| String::from_utf8_lossy(&body).into_owned()).collect()
    };
    assert_eq!(text(stored), text(sent));
}

/// Ends the daemon; every body that the server got must be printed again by the store, byte for byte and in order. The
/// store may hold more: what was to be sent when the daemon died.
pub async fn assert_all_stored(daemon: &mut TestDaemon, server: &ModelServer) {
    assert_stored(daemon, server.requests()).await;
}

/// The same of these requests.
pub async fn assert_stored(daemon: &mut TestDaemon, requests: Vec<Recorded>) {
    daemon.stop().await;
    let mut sent: Vec<Bytes> = requests.into_iter().map(|request| request.body).collect();
    sent.dedup();
    let mut stored = stored_bodies(&daemon.machine().data()).await.into_iter();
    for (no, body) in sent.iter().enumerate() {
        let found = stored.any(|stored| stored == *body);
        assert!(found, "the store does not print request {no}: {}", String::from_utf8_lossy(body));
    }
}

/// Each body goes on where the one before ended: everything up to the end of its last message stands in it unchanged.
pub fn assert_grows(server: &ModelServer) {
    let bodies: Vec<(Api, Bytes)> = server.requests().into_iter().map(|request| (request.api, request.body)).collect();
    for pair in bodies.windows(2) {
        let [(_, before), (_, after)] = pair else { continue };
        let (before, after) = (unmarked(before), unmarked(after));
        let kept = before.strip_suffix("]}").unwrap_or_else(|| panic!("messages come last: {before}"));
        assert!(after.starts_with(kept), "not a continuation:\n{before}\n{after}");
    }
}

/// Anthropic's marks wander with the end of the conversation and are no part of what is cached.
fn unmarked(body: &[u8]) -> String {
    String::from_utf8_lossy(body).replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}
