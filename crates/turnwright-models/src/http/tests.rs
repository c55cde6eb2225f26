use std::io::ErrorKind;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use turnwright_core::ErrorCode;

use super::{Client, Request, Transport as _, parse_url};

/// Starts a server that answers one connection with these bytes, and returns what it read.
async fn answering(answer: &'static [u8]) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut read = Vec::new();
        let mut piece = [0; 4096];
        while !read.ends_with(b"{}") {
            let count = socket.read(&mut piece).await.unwrap();
            if count == 0 {
                break;
            }
            read.extend_from_slice(&piece[..count]);
        }
        match socket.write_all(answer).await {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
            _ => String::from_utf8(read).unwrap(),
        }
    });
    (url, served)
}

fn client() -> Client {
    Client::builder().no_proxy().build().unwrap()
}

fn request(url: &str) -> Request {
    Request::new(parse_url("base URL", url).unwrap(), "{}")
}

#[tokio::test]
async fn request_is_sent_unchanged_and_response_is_streamed() {
    let answer = b"HTTP/1.1 201 Created\r\nX-One: a\r\ncontent-length: 5\r\n\r\nhello";
    let (url, served) = answering(answer).await;
    let request = request(&url).header("X-Key", "k-1");
    let mut response = client().send(request).await.unwrap();
    assert_eq!(
        (response.status, response.header("x-one")),
        (201, Some("a"))
    );
    let mut body = Vec::new();
    while let Some(piece) = response.body.next().await {
        body.extend_from_slice(&piece.unwrap());
    }
    assert_eq!(body, b"hello");
    let sent = served.await.unwrap();
    assert!(
        sent.starts_with("POST /v1 HTTP/1.1\r\n") && sent.contains("x-key: k-1\r\n"),
        "{sent}"
    );
}

#[tokio::test]
async fn redirect_is_returned_and_not_followed() {
    let answer = b"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n";
    let (url, _served) = answering(answer).await;
    let response = client().send(request(&url)).await.unwrap();
    assert_eq!(
        (response.status, response.header("location")),
        (307, Some("http://127.0.0.1:9/"))
    );
}

#[tokio::test]
async fn truncated_response_body_is_an_error() {
    let (url, _served) = answering(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello").await;
    let mut response = client().send(request(&url)).await.unwrap();
    let error = loop {
        match response.body.next().await {
            Some(Ok(_)) => {}
            Some(Err(error)) => break error,
            None => panic!("it was taken for whole"),
        }
    };
    assert_eq!(error.code(), ErrorCode::MODEL_UNREACHABLE);
}

#[tokio::test]
async fn connection_error_has_advice_and_no_key() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let request = request(&format!("http://{address}/v1?key=hidden-key"));
    assert!(!format!("{request:?}").contains("hidden-key"));
    let error = client().send(request).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::MODEL_UNREACHABLE);
    assert!(error.message().contains("base URL"), "{error}");
    assert!(!format!("{error:?} {}", error.with_causes()).contains("hidden-key"));
}

#[tokio::test]
async fn invalid_header_is_named_without_its_value() {
    for (name, value) in [("x-key", "line\nbreak-secret"), ("bad name", "v-secret")] {
        let request = request("http://127.0.0.1:9/v1").header(name, value);
        let error = client().send(request).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_MODEL_CONFIG);
        let text = format!("{error} {error:?}");
        assert!(text.contains(name) && !text.contains("secret"), "{text}");
    }
}

#[tokio::test]
async fn requests_use_the_configured_proxy() {
    let (proxy, served) = answering(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let client = Client::builder()
        .proxy(proxy)
        .connect_timeout(Duration::from_secs(5))
        .build()
        .unwrap();
    // The name is not resolved here: the proxy does that.
    let response = client
        .send(request("http://model.invalid/v1"))
        .await
        .unwrap();
    assert_eq!(response.status, 200);
    let sent = served.await.unwrap();
    assert!(
        sent.starts_with("POST http://model.invalid/v1 HTTP/1.1\r\n"),
        "{sent}"
    );
    let shown = format!(
        "{:?}",
        Client::builder().proxy("http://me:hunter22@127.0.0.1:9")
    );
    assert!(!shown.contains("hunter22"), "{shown}");
    assert!(Client::builder().proxy("nowhere").build().is_err());
}
