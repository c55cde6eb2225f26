//! What HTTP requests are refused.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN};
use reqwest::{Client, Response, StatusCode};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use turnwright_mcp::McpService;
use turnwright_mcp::serve::ServeLimits;

use super::person::{listen, tool};

fn service() -> McpService {
    McpService::of([tool("pings", |_| async { Ok("pong".to_owned()) })]).unwrap()
}

pub(super) fn initialize() -> String {
    let client = json!({ "name": "raw", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string()
}

pub(super) async fn post(
    url: &str,
    body: String,
    more: &[(reqwest::header::HeaderName, &str)],
) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let both = HeaderValue::from_static("application/json, text/event-stream");
    headers.insert(ACCEPT, both);
    for (name, value) in more {
        headers.insert(name, HeaderValue::from_str(value).unwrap());
    }
    let client = Client::builder().no_proxy().build().unwrap();
    let request = client.post(url).headers(headers).body(body);
    request.send().await.unwrap()
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let (url, _server) = listen(service()).await;
    let own = url.strip_suffix("/mcp").unwrap();
    for (header, status) in [
        (None, StatusCode::OK),
        (Some((HOST, "localhost:1234")), StatusCode::OK),
        (Some((HOST, "evil.example")), StatusCode::FORBIDDEN),
        (Some((ORIGIN, own)), StatusCode::OK),
        // A page of another server on this machine.
        (
            Some((ORIGIN, "http://localhost:3000")),
            StatusCode::FORBIDDEN,
        ),
        (Some((ORIGIN, "http://127.0.0.1")), StatusCode::FORBIDDEN),
        (Some((ORIGIN, "http://evil.example")), StatusCode::FORBIDDEN),
        (Some((ORIGIN, "null")), StatusCode::FORBIDDEN),
        (
            Some((ORIGIN, "https://localhost.evil.example")),
            StatusCode::FORBIDDEN,
        ),
    ] {
        let headers: Vec<_> = header.clone().into_iter().collect();
        let response = post(&url, initialize(), &headers).await;
        assert_eq!(response.status(), status, "{header:?}");
        let cors = response
            .headers()
            .keys()
            .any(|name| name.as_str().starts_with("access-control"));
        assert!(!cors, "{header:?}");
    }
}

#[tokio::test]
async fn a_name_that_is_made_to_resolve_to_this_machine_is_refused() {
    let (url, _server) = listen(service()).await;
    let headers = [(HOST, "evil.example"), (ORIGIN, "http://evil.example")];
    let response = post(&url, initialize(), &headers).await;
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn origins_can_be_allowed() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = format!("http://{}", listener.local_addr().unwrap());
    let http = service().http().allowed_origins(["http://localhost:3000"]);
    let _server = tokio::spawn(http.serve_on(listener));
    for (origin, status) in [
        ("http://localhost:3000", StatusCode::OK),
        (&own, StatusCode::FORBIDDEN),
    ] {
        let url = format!("{own}/mcp");
        let response = post(&url, initialize(), &[(ORIGIN, origin)]).await;
        assert_eq!(response.status(), status, "{origin}");
    }
}

#[tokio::test]
async fn no_allowed_host_allows_none() {
    let none: [&str; 0] = [];
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let _server = tokio::spawn(service().http().allowed_hosts(none).serve_on(listener));
    let response = post(&url, initialize(), &[]).await;
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn large_and_malformed_bodies_are_refused() {
    let limits = ServeLimits {
        request_bytes: 10_000,
        ..ServeLimits::default()
    };
    let (url, _server) = listen(service().limits(limits)).await;
    let large = format!("{}{}", initialize(), " ".repeat(20_000));
    let response = post(&url, large, &[]).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    for body in ["{", "", "[]", "42", r#"{"jsonrpc":"2.0"}"#, "\u{1b}"] {
        let response = post(&url, body.to_owned(), &[]).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{body}");
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        let answer: serde_json::Value = response.json().await.unwrap();
        assert_eq!(
            (&answer["jsonrpc"], &answer["id"]),
            (&json!("2.0"), &json!(null))
        );
        assert_eq!(answer["error"]["code"], -32700, "{body}: {answer}");
    }
    for content_type in ["text/plain", "application/x-www-form-urlencoded"] {
        let response = post(&url, initialize(), &[(CONTENT_TYPE, content_type)]).await;
        assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    assert_eq!(post(&url, initialize(), &[]).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn sessions_are_limited() {
    let limits = ServeLimits {
        sessions: 2,
        ..ServeLimits::default()
    };
    let (url, _server) = listen(service().limits(limits)).await;
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let response = post(&url, initialize(), &[]).await;
        let session = response.headers()["mcp-session-id"].to_str().unwrap();
        sessions.push(session.to_owned());
    }
    let refused = post(&url, initialize(), &[]).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    // A client that ends its session makes room.
    let client = Client::builder().no_proxy().build().unwrap();
    let ended = client.delete(&url).header("mcp-session-id", &sessions[0]);
    assert!(ended.send().await.unwrap().status().is_success());
    assert_eq!(post(&url, initialize(), &[]).await.status(), StatusCode::OK);
}

/// A connection that sends this text and nothing more.
async fn half(url: &str, text: &str) -> TcpStream {
    let address = url.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// A request without the rest of its body.
fn half_body(length: usize) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{{"
    )
}

fn limited(limits: ServeLimits) -> McpService {
    service().limits(limits)
}

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn unfinished_requests_hold_a_bounded_number_of_bytes() {
    let (url, _server) = listen(limited(ServeLimits {
        request_bytes: 1 << 20,
        requests_bytes: 1 << 20,
        read: HOUR,
        ..ServeLimits::default()
    }))
    .await;
    let until = async |status: StatusCode| {
        while post(&url, initialize(), &[]).await.status() != status {}
    };
    // Announced bytes do not count, only those that have arrived.
    let announced = half(&url, &half_body(1 << 20)).await;
    until(StatusCode::OK).await;
    let almost_all = format!("{}{}", half_body(1 << 20), " ".repeat((1 << 20) - 10));
    let unfinished = half(&url, &almost_all).await;
    until(StatusCode::SERVICE_UNAVAILABLE).await;
    drop(announced);
    drop(unfinished);
    until(StatusCode::OK).await;
}

#[tokio::test]
async fn a_request_counts_until_it_was_handled() {
    let (started, mut running) = tokio::sync::mpsc::channel(1);
    let waits = tool("waits", move |_| {
        let started = started.clone();
        async move {
            started.send(()).await.unwrap();
            std::future::pending::<()>().await;
            Ok(String::new())
        }
    });
    let (url, _server) = listen(McpService::of([waits]).unwrap().limits(ServeLimits {
        request_bytes: 4_000,
        requests_bytes: 4_000,
        ..ServeLimits::default()
    }))
    .await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "padding": "x".repeat(3_500),
    });
    let params = json!({ "name": "waits", "arguments": {}, "_meta": meta });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "waits"),
    ];
    let headers =
        headers.map(|(name, value)| (reqwest::header::HeaderName::from_static(name), value));
    let to = url.clone();
    let call =
        tokio::spawn(async move { post(&to, call.to_string(), &headers).await.text().await });
    running.recv().await.unwrap();
    let padded = format!("{}{}", initialize(), " ".repeat(3_500));
    let response = post(&url, padded, &[]).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    call.abort();
}

#[tokio::test]
async fn an_open_session_holds_no_bytes() {
    let (url, _server) = listen(limited(ServeLimits {
        request_bytes: 4_000,
        requests_bytes: 4_000,
        ..ServeLimits::default()
    }))
    .await;
    let padded = format!("{}{}", initialize(), " ".repeat(3_500));
    let first = post(&url, padded.clone(), &[]).await;
    assert!(first.headers().contains_key("mcp-session-id"));
    first.text().await.unwrap();
    while post(&url, padded.clone(), &[]).await.status() != StatusCode::OK {}
}
