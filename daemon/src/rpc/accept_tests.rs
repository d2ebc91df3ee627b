//! Tests of the hello, and of the typed client over a real socket.

use super::*;
use crate::rpc::client::{self, CallError, ClientT, ConnectError, SubscriptionClientT};
use crate::rpc::life::tests::sample;
use jsonrpsee_core::server::RpcModule;
use plimsoll_protocol::hello::HelloMark;
use plimsoll_protocol::version::Version;
use std::collections::BTreeMap;

fn hello(major: u32) -> Hello {
    let version = Version { major, minor: 0 };
    Hello {
        plimsoll: HelloMark::Hello,
        facade: Facade::Native,
        build: "b0".into(),
        protocol: ProtocolRange { min: version, max: version },
        cwd: Some("/w".into()),
        env: BTreeMap::from([("PATH".into(), "/bin".into())]),
        binary: None,
        resume: None,
    }
}

/// What `meet` makes of these bytes, said in one piece and byte by byte.
async fn check(said: &[u8], expected: Option<(Option<Hello>, &[u8])>, answer: &str) {
    for piece in [said.len().max(1), 1] {
        let (mut near, mut far) = tokio::io::duplex(64 * 1024);
        let pieces: Vec<Vec<u8>> = said.chunks(piece).map(<[u8]>::to_vec).collect();
        let peer = tokio::spawn(async move {
            for piece in pieces {
                // The other side may have heard enough.
                if near.write_all(&piece).await.is_err() {
                    break;
                }
            }
            near.shutdown().await.unwrap();
            let mut heard = String::new();
            near.read_to_string(&mut heard).await.unwrap();
            heard
        });
        let met = meet(&mut far, &sample()).await.unwrap();
        let met = match met {
            None => None,
            Some((hello, mut rest)) => {
                while far.read_buf(&mut rest).await.unwrap() > 0 {}
                Some((hello, rest))
            }
        };
        drop(far);
        assert_eq!(met, expected.clone().map(|(hello, rest)| (hello, BytesMut::from(rest))));
        assert_eq!(peer.await.unwrap(), answer);
    }
}

#[tokio::test]
async fn a_hello_is_welcomed_and_nothing_after_it_is_lost() {
    let said = format!("{}\nContent-Length: 2\r\n\r\n{{}}", serde_json::to_string(&hello(1)).unwrap());
    check(
        said.as_bytes(),
        Some((Some(hello(1)), b"Content-Length: 2\r\n\r\n{}")),
        "{\"plimsoll\":\"welcome\",\"build\":\"b1\",\"protocol\":{\"min\":\"1.0\",\"max\":\"1.0\"},\"pid\":7,\"startedAt\":5}\n",
    )
    .await;
}

#[tokio::test]
async fn a_connection_without_a_hello_is_native_from_its_first_byte() {
    for said in ["{\"jsonrpc\":\"2.0\"}\n", "Content-Length: 2\r\n\r\n{}", "{\"plims", "{\"plimsolm\":1}", "[]\n"] {
        check(said.as_bytes(), Some((None, said.as_bytes())), "").await;
    }
    check(b"", None, "").await;
}

#[tokio::test]
async fn another_major_and_a_bad_hello_are_refused_with_a_reason() {
    let welcome = |error: &str| {
        format!(
            "{{\"plimsoll\":\"welcome\",\"build\":\"b1\",\"protocol\":{{\"min\":\"1.0\",\"max\":\"1.0\"}},\"pid\":7,\
             \"startedAt\":5,\"error\":{error}}}\n"
        )
    };
    check(
        format!("{}\n", serde_json::to_string(&hello(2)).unwrap()).as_bytes(),
        None,
        &welcome(
            "{\"kind\":\"incompatibleVersion\",\"message\":\"build b0 speaks protocol 2.0, and the running daemon (build b1) \
             speaks 1.0\",\"hint\":\"run `plimsoll restart`, or use the daemon's own version\"}",
        ),
    )
    .await;
    check(
        b"{\"plimsoll\":\"hello\"",
        None,
        &welcome("{\"kind\":\"invalidRequest\",\"message\":\"the hello has no end\"}"),
    )
    .await;
}

#[tokio::test]
async fn the_typed_client_calls_subscribes_and_learns_of_refusals() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let listener = tokio::net::UnixListener::bind(&socket).unwrap();
    let server = tokio::spawn(async move {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let Some((Some(_), rest)) = meet(&mut stream, &sample()).await.unwrap() else { continue };
            let mut module = RpcModule::new(());
            module
                .register_method("twice", |params, (), _| params.parse::<BTreeMap<String, u32>>().map(|p| p["n"] * 2))
                .unwrap();
            module
                .register_subscription("up", "went", "down", |_, pending, _, _| async move {
                    let Ok(sink) = pending.accept().await else { return };
                    for number in 0..3000_u32 {
                        sink.send(serde_json::value::to_raw_value(&number).unwrap()).await.unwrap();
                    }
                })
                .unwrap();
            let peer = Arc::new(crate::rpc::conn::Peer::new(Client::default()));
            let stream = Prefixed::new(rest.freeze(), stream);
            crate::rpc::conn::run(
                stream,
                module.into(),
                peer,
                tokio_util::sync::CancellationToken::new(),
                crate::rpc::conn::Patience::default(),
            )
            .await;
        }
    });
    let refused = client::connect(&socket, hello(9)).await;
    assert!(matches!(refused, Err(ConnectError::Refused { kind: ErrorKind::IncompatibleVersion, .. })), "{refused:?}");
    let rpc = client::connect(&socket, hello(1)).await.unwrap();
    let mut params = jsonrpsee_core::params::ObjectParams::new();
    params.insert("n", 21).unwrap();
    assert_eq!(rpc.request::<u32, _>("twice", params).await.unwrap(), 42);
    let missing = rpc.request::<u32, _>("noSuch", jsonrpsee_core::params::ObjectParams::new()).await;
    let Err(CallError::Call(error)) = missing else { panic!("{missing:?}") };
    assert_eq!(error.code(), -32601);
    let params = jsonrpsee_core::params::ObjectParams::new();
    let mut events = rpc.subscribe::<u32, _>("up", params, "down").await.unwrap();
    // Nothing is read until the next answer shows that all of it is there, or on its way.
    let mut heard = Vec::new();
    while heard.len() < 3000 {
        heard.push(events.next().await.unwrap().unwrap());
    }
    assert_eq!(heard, (0..3000).collect::<Vec<u32>>());
    drop((events, rpc));
    server.await.unwrap();
    let nobody = client::connect(&folder.path().join("none"), hello(1)).await;
    assert!(matches!(nobody, Err(ConnectError::NoDaemon { .. })), "{nobody:?}");
}
