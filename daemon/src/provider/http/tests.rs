use super::*;
use crate::provider::endpoint::KeySource;
use plimsoll_core::model::event::{BlockContent, StopReason};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// What the server does after it has read a request.
enum Then {
    /// Sends this; the connection stays for the next request.
    Send(String),
    /// Sends this and closes.
    Close(String),
    /// Sends this and waits for the client to close.
    Hold(String),
}

struct Server {
    address: SocketAddr,
    /// Requests as they came, and `closed` when the client closed a held connection.
    seen: mpsc::UnboundedReceiver<String>,
}

/// One connection after the other, each with its answers.
async fn serve(connections: Vec<Vec<Then>>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, seen) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for answers in connections {
            let (mut stream, _) = listener.accept().await.unwrap();
            for answer in answers {
                let Some(request) = read_request(&mut stream).await else { break };
                let _ = tell.send(request);
                match answer {
                    Then::Send(text) => stream.write_all(text.as_bytes()).await.unwrap(),
                    Then::Close(text) => {
                        stream.write_all(text.as_bytes()).await.unwrap();
                        break;
                    }
                    Then::Hold(text) => {
                        stream.write_all(text.as_bytes()).await.unwrap();
                        while matches!(stream.read(&mut [0; 64]).await, Ok(1..)) {}
                        let _ = tell.send("closed".to_owned());
                    }
                }
            }
        }
    });
    Server { address, seen }
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length: usize =
            head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
        if body.len() == length {
            return Some(text);
        }
    }
}

const EVENT_STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunks(texts: &[&str]) -> String {
    texts.iter().fold(String::new(), |all, text| format!("{all}{:x}\r\n{text}\r\n", text.len()))
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

fn text(piece: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{piece}\"}}}}]}}\n\n")
}

const STOP: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn endpoint(api: Api, address: SocketAddr) -> Endpoint {
    Endpoint {
        name: "local".into(),
        api,
        base_url: if api == Api::AnthropicMessages {
            format!("http://{address}")
        } else {
            format!("http://{address}/v1")
        },
        key: KeySource::Env("LOCAL_KEY".into()),
        headers: vec![("x-org".into(), "o1".into())],
    }
}

/// Limits that no working answer of these tests comes near.
const PATIENT: Limits = Limits {
    connect: Duration::from_secs(20),
    first_byte: Duration::from_secs(20),
    first_byte_here: Duration::from_secs(20),
    idle: Duration::from_secs(20),
    after_reason: Duration::from_secs(20),
};

async fn call(http: &Http, endpoint: &Endpoint) -> (Vec<Vec<ModelEvent>>, Result<(), ModelError>) {
    let mut sunk = Vec::new();
    let key = Secret::new("sk-canary");
    let body = b"{\"model\":\"m\"}".to_vec();
    let result = http.call(endpoint, Some(&key), body, CancellationToken::new(), |events| sunk.push(events)).await;
    (sunk, result)
}

async fn call_once(limits: Limits, then: Then) -> (Vec<ModelEvent>, Result<(), ModelError>, SocketAddr) {
    let server = serve(vec![vec![then]]).await;
    let (sunk, result) = call(&Http::with_limits(limits), &endpoint(Api::OpenaiChat, server.address)).await;
    (sunk.concat(), result, server.address)
}

fn delta(text: &str) -> ModelEvent {
    ModelEvent::TextDelta { block: 0, text: text.to_owned() }
}

fn hello() -> Vec<ModelEvent> {
    vec![
        delta("Hel"),
        delta("lo"),
        ModelEvent::BlockDone { block: 0, content: BlockContent::Text("Hello".to_owned()) },
        ModelEvent::Finished(StopReason::EndTurn),
    ]
}

fn hello_stream() -> String {
    format!("{EVENT_STREAM}{}0\r\n\r\n", chunks(&[&text("Hel"), &text("lo"), STOP, DONE]))
}

#[tokio::test]
async fn a_streamed_answer_comes_as_events_and_the_connection_is_used_again() {
    let mut server = serve(vec![vec![Then::Send(hello_stream()), Then::Send(hello_stream())]]).await;
    let http = Http::with_limits(PATIENT);
    let endpoint = endpoint(Api::OpenaiChat, server.address);
    for _ in 0..2 {
        let (sunk, result) = call(&http, &endpoint).await;
        assert_eq!((sunk.concat(), result), (hello(), Ok(())));
        let request = server.seen.recv().await.unwrap();
        assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
        assert!(request.ends_with("\r\n\r\n{\"model\":\"m\"}"), "{request}");
        for header in ["authorization: Bearer sk-canary", "accept: text/event-stream", "x-org: o1"] {
            assert!(request.contains(&format!("\r\n{header}\r\n")), "{request}");
        }
    }
    assert!(http.tls.get().is_none() && http.plain.get().is_none(), "only the client that was needed was made");
}

#[tokio::test]
async fn the_messages_api_has_its_own_path_and_key_header() {
    let events = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
                  data: {\"type\":\"message_stop\"}\n\n";
    let mut server = serve(vec![vec![Then::Send(format!("{EVENT_STREAM}{}0\r\n\r\n", chunks(&[events])))]]).await;
    let (sunk, result) = call(&Http::with_limits(PATIENT), &endpoint(Api::AnthropicMessages, server.address)).await;
    assert_eq!((sunk, result), (vec![vec![ModelEvent::Finished(StopReason::EndTurn)]], Ok(())));
    let request = server.seen.recv().await.unwrap();
    assert!(request.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("\r\nx-api-key: sk-canary\r\n") && !request.contains("authorization"), "{request}");
    assert!(request.contains("\r\nanthropic-version: 2023-06-01\r\n"), "{request}");
}

#[tokio::test]
async fn a_burst_of_deltas_reaches_the_caller_in_few_pieces() {
    let piece = text("x");
    let mut texts = vec![piece.as_str(); 2000];
    texts.extend([STOP, DONE]);
    let server = serve(vec![vec![Then::Send(format!("{EVENT_STREAM}{}0\r\n\r\n", chunks(&texts)))]]).await;
    let (sunk, result) = call(&Http::with_limits(PATIENT), &endpoint(Api::OpenaiChat, server.address)).await;
    assert_eq!(result, Ok(()));
    let deltas = sunk.iter().flatten().filter(|event| **event == delta("x")).count();
    assert_eq!(deltas, 2000);
    assert!(sunk.len() < 500, "{} pieces", sunk.len());
}

#[tokio::test]
async fn a_cut_stream_gives_its_text_and_a_connection_error() {
    for cut in [
        format!("{EVENT_STREAM}{}", chunks(&[&text("Hel"), "data: {\"cho"])),
        format!("{EVENT_STREAM}{}0\r\n\r\n", chunks(&[&text("Hel")])),
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{}", text("Hel")),
    ] {
        let (events, result, address) = call_once(PATIENT, Then::Close(cut)).await;
        let error = result.unwrap_err();
        assert_eq!((events, error.class), (vec![delta("Hel")], ErrorClass::Connection));
        assert!(error.message.starts_with(&format!("provider `local` at http://{address}: the ")), "{error}");
    }
}

#[tokio::test]
async fn an_end_without_its_mark_counts_when_the_reason_came() {
    for end in [Then::Close, Then::Hold] {
        let limits = Limits { after_reason: Duration::from_millis(30), ..PATIENT };
        let stream = format!("{EVENT_STREAM}{}", chunks(&[&text("Hel"), &text("lo"), STOP]));
        let (events, result, _) = call_once(limits, end(stream)).await;
        assert_eq!((events, result), (hello(), Ok(())));
    }
}

#[tokio::test]
async fn a_refusal_has_its_class_status_and_wait() {
    let body =
        "{\"error\":{\"message\":\"Rate limit reached\",\"type\":\"requests\",\"code\":\"rate_limit_exceeded\"}}";
    let (events, result, address) =
        call_once(PATIENT, Then::Send(answer("429 Too Many Requests", "Retry-After: 3\r\n", body))).await;
    assert_eq!(events, []);
    assert_eq!(
        result,
        Err(ModelError {
            class: ErrorClass::RateLimited,
            message: format!("provider `local` at http://{address}: HTTP 429 (requests): Rate limit reached"),
            status: Some(429),
            retry_after_ms: Some(3000),
        })
    );
}

#[tokio::test]
async fn a_refused_key_is_named_by_its_source_and_not_shown() {
    let body = "{\"error\":{\"message\":\"Incorrect API key provided: sk-canary\",\"type\":\"invalid_request_error\"}}";
    let (_, result, address) = call_once(PATIENT, Then::Send(answer("401 Unauthorized", "", body))).await;
    let error = result.unwrap_err();
    assert_eq!(error.class, ErrorClass::Auth);
    assert_eq!(
        error.message,
        format!(
            "provider `local` at http://{address}: HTTP 401 (invalid_request_error): Incorrect API key provided: [key]; \
             the key came from the variable LOCAL_KEY"
        )
    );
}

#[tokio::test]
async fn a_document_in_place_of_a_stream_is_an_answer() {
    let body = "{\"choices\":[{\"message\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}";
    let (events, result, _) =
        call_once(PATIENT, Then::Send(answer("200 OK", "Content-Type: application/json; charset=utf-8\r\n", body)))
            .await;
    let expected = vec![
        delta("Hello"),
        ModelEvent::BlockDone { block: 0, content: BlockContent::Text("Hello".to_owned()) },
        ModelEvent::Finished(StopReason::EndTurn),
    ];
    assert_eq!((events, result), (expected, Ok(())));
}

#[tokio::test]
async fn a_web_page_is_not_an_answer() {
    let (_, result, address) =
        call_once(PATIENT, Then::Send(answer("200 OK", "content-type: text/html\r\n", "<html>"))).await;
    let expected = format!(
        "provider `local` at http://{address}: it answered with a web page; is base_url the address of the API?"
    );
    assert_eq!(result.map_err(|error| (error.class, error.message)), Err((ErrorClass::Protocol, expected)));
}

#[tokio::test]
async fn a_redirect_is_reported_and_not_followed() {
    let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = format!("http://{}/v1/chat/completions", other.local_addr().unwrap());
    let (_, result, _) =
        call_once(PATIENT, Then::Send(answer("307 Temporary Redirect", &format!("location: {to}\r\n"), ""))).await;
    let error = result.unwrap_err();
    assert_eq!((error.class, error.status), (ErrorClass::Protocol, Some(307)));
    assert!(error.message.contains(&format!("it redirects to {to}")), "{error}");
    assert!(other.accept().now_or_never().is_none(), "nobody came");
}

#[tokio::test]
async fn silence_ends_at_its_limit() {
    let limits = Limits { first_byte_here: Duration::from_millis(30), ..PATIENT };
    for begun in [String::new(), EVENT_STREAM.to_owned()] {
        let (_, result, address) = call_once(limits, Then::Hold(begun)).await;
        let error = result.unwrap_err();
        assert_eq!(error.class, ErrorClass::Connection);
        let start = format!("provider `local` at http://{address}: no answer from http://{address} for ");
        assert!(error.message.starts_with(&start), "{error}");
    }
    let limits = Limits { idle: Duration::from_millis(30), ..PATIENT };
    let begun = format!("{EVENT_STREAM}{}", chunks(&[&text("Hel")]));
    let (events, result, address) = call_once(limits, Then::Hold(begun)).await;
    assert_eq!(events, [delta("Hel")]);
    assert_eq!(
        result.unwrap_err().message,
        format!("provider `local` at http://{address}: nothing more from http://{address} for 0.03 s")
    );
}

#[tokio::test]
async fn cancelling_closes_the_connection() {
    let mut server = serve(vec![vec![Then::Hold(format!("{EVENT_STREAM}{}", chunks(&[&text("Hel")])))]]).await;
    let cancel = CancellationToken::new();
    let mut events = Vec::new();
    let inside = cancel.clone();
    let http = Http::with_limits(PATIENT);
    let result = http
        .call(&endpoint(Api::OpenaiChat, server.address), None, b"{}".to_vec(), cancel, |more| {
            events.extend(more);
            inside.cancel();
        })
        .await;
    assert_eq!(result.map_err(|error| error.class), Err(ErrorClass::Connection));
    assert_eq!(events, [delta("Hel")]);
    assert!(server.seen.recv().await.unwrap().starts_with("POST "));
    assert_eq!(server.seen.recv().await.as_deref(), Some("closed"));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (_, result) = call(&Http::with_limits(PATIENT), &endpoint(Api::OpenaiChat, address)).await;
    let expected = format!(
        "provider `local` at http://{address}: no answer from http://{address}: connection refused; is the server running?"
    );
    assert_eq!(result.map_err(|error| (error.class, error.message)), Err((ErrorClass::Connection, expected)));
}

#[tokio::test]
async fn the_built_in_model_needs_no_network() {
    let mut endpoint = endpoint(Api::Offline, "127.0.0.1:1".parse().unwrap());
    endpoint.base_url = String::new();
    let http = Http::new();
    let (sunk, result) = call(&http, &endpoint).await;
    assert_eq!((sunk, result), (vec![offline::respond(b"{\"model\":\"m\"}")], Ok(())));
    assert!(http.loopback.get().is_none());
}
