//! The servers on loopback, byte by byte.

mod fault;
mod model;
mod wire;

use std::io;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use turnwright_testkit::server::{Answer, Server, Step};

use wire::{End, ask, ask_silent, read, request};

const ALL: usize = usize::MAX;

#[tokio::test]
async fn requests_are_recorded_unchanged() {
    let server = Server::start(|request| Answer::json(200, json!({ "number": request.number })))
        .await
        .unwrap();
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    // One connection, two requests: the second body is chunked.
    let first = request(r#"{"a":1}"#, "Authorization: Bearer k\r\n");
    stream.write_all(first.as_bytes()).await.unwrap();
    read_answer(&mut stream, r#"{"number":0}"#).await;
    let second = "PUT /x?y=1 HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n\
                  3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    stream.write_all(second.as_bytes()).await.unwrap();
    read_answer(&mut stream, r#"{"number":1}"#).await;

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(
        (requests[0].method.as_str(), requests[0].path.as_str()),
        ("POST", "/v1/chat/completions")
    );
    assert_eq!(requests[0].json(), Some(json!({ "a": 1 })));
    assert_eq!(requests[0].header("authorization"), Some("Bearer k"));
    assert!(!format!("{requests:?}").contains("Bearer"));
    assert_eq!(
        (requests[1].path.as_str(), requests[1].route()),
        ("/x?y=1", "/x")
    );
    assert_eq!(&requests[1].body[..], b"abcde");
    assert_eq!(server.connections(), 1);
}

async fn read_answer(stream: &mut TcpStream, ending: &str) {
    let (mut seen, mut byte) = (Vec::new(), [0]);
    while !seen.ends_with(ending.as_bytes()) {
        assert_eq!(stream.read(&mut byte).await.unwrap(), 1);
        seen.push(byte[0]);
    }
}

#[tokio::test]
async fn number_of_recorded_requests_is_limited() {
    for (most, stored) in [(0, vec![]), (2, vec![3, 4]), (9, vec![0, 1, 2, 3, 4])] {
        let server = Server::builder()
            .keep_requests(most)
            .start(|request| Answer::json(200, json!({ "number": request.number })))
            .await
            .unwrap();
        for number in 0..5 {
            let answer = ask(server.address(), "{}", ALL).await.json();
            assert_eq!(answer["number"], number);
        }
        let numbers: Vec<usize> = server.requests().iter().map(|item| item.number).collect();
        assert_eq!(numbers, stored);
    }
}

#[tokio::test]
async fn server_uses_the_configured_port_or_fails() {
    let first = Server::start(|_| Answer::status(200)).await.unwrap();
    let address = first.address();
    let builder = Server::builder().port(address.port());
    let taken = builder.clone().start(|_| Answer::status(200)).await;
    assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AddrInUse);
    first.shutdown().await;
    let second = builder.start(|_| Answer::status(200)).await.unwrap();
    assert_eq!(second.address(), address);
}

#[tokio::test]
async fn expect_continue_is_answered() {
    let server = Server::script([Answer::status(200)]).await.unwrap();
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let head = "POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    read_answer(&mut stream, "HTTP/1.1 100 Continue\r\n\r\n").await;
    stream.write_all(b"{}").await.unwrap();
    read_answer(&mut stream, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(&server.requests()[0].body[..], b"{}");
}

#[tokio::test]
async fn script_answers_in_order_and_then_reports_its_end() {
    let server = Server::script([
        Answer::status(429).header("Retry-After", "1"),
        Answer::sse(["one", "two"]),
    ])
    .await
    .unwrap();
    let first = ask(server.address(), "{}", ALL).await;
    assert_eq!(
        first.head(),
        "HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0"
    );
    let second = ask(server.address(), "{}", ALL).await.chunked();
    assert_eq!(
        second.chunks,
        [&b"data: one\n\n"[..], &b"data: two\n\n"[..]]
    );
    assert!(second.complete);
    let third = ask(server.address(), "{}", ALL).await;
    assert!(third.head().starts_with("HTTP/1.1 400 "));
    assert_eq!(third.json()["error"]["type"], "script_ended");
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn body_steps_are_sent_as_configured() {
    let server = Server::script([
        Answer::status(200).body("abcde").drip(2, Duration::ZERO),
        Answer::sse(["one"]).step(Step::Reset),
        Answer::sse(["one"]).step(Step::Close),
        Answer::sse(["one"]).step(Step::Hang),
        Answer::status(200).step(Step::Repeat("ab".into(), Some(3))),
        Answer::status(200).step(Step::Repeat("ab".into(), None)),
        Answer::status(200)
            .header("content-length", "10")
            .body("abc")
            .step(Step::Close),
        Answer::status(200)
            .body("")
            .step(Step::Repeat("".into(), None))
            .body("x")
            .chunked(),
    ])
    .await
    .unwrap();
    let next = async |most| ask(server.address(), "{}", most).await;

    let dripped = next(ALL).await;
    assert!(dripped.head().contains("content-length: 5"));
    assert_eq!(dripped.rest(), b"abcde");
    for end in [End::Reset, End::Closed, End::Silent] {
        let seen = match end {
            End::Silent => ask_silent(server.address(), "{}", true).await,
            _ => next(ALL).await,
        };
        assert_eq!(seen.chunked().text(), "data: one\n\n");
        assert!(!seen.chunked().complete);
        assert_eq!(seen.end, end);
    }
    let repeated = next(ALL).await;
    assert!(repeated.head().contains("content-length: 6"));
    assert_eq!(
        (repeated.rest(), repeated.end),
        (&b"ababab"[..], End::Closed)
    );
    let endless = next(1 << 20).await;
    assert_eq!(endless.end, End::Enough);
    assert!(endless.chunked().chunks.iter().all(|chunk| chunk == b"ab"));
    let short = next(ALL).await;
    assert!(short.head().contains("content-length: 10"));
    assert_eq!((short.rest(), short.end), (&b"abc"[..], End::Closed));
    // An empty chunk is not sent, because it would end the body.
    let empty = next(ALL).await.chunked();
    assert_eq!((empty.text(), empty.complete), ("x".to_owned(), true));
}

#[tokio::test]
async fn bytes_before_a_reset_arrive() {
    let piece = vec![b'y'; 10_000];
    let server = Server::start(move |_| {
        Answer::status(200)
            .step(Step::Repeat(piece.clone().into(), Some(5)))
            .step(Step::Reset)
    })
    .await
    .unwrap();
    let seen = ask(server.address(), "{}", ALL).await;
    assert_eq!(seen.end, End::Reset);
    assert_eq!(seen.chunked().bytes().len(), 50_000);
}

#[tokio::test]
async fn answer_can_be_omitted() {
    let server = Server::script([Answer::reset(), Answer::close(), Answer::hang()])
        .await
        .unwrap();
    for end in [End::Reset, End::Closed, End::Silent] {
        let seen = match end {
            End::Silent => ask_silent(server.address(), "{}", false).await,
            _ => ask(server.address(), "{}", ALL).await,
        };
        assert_eq!((seen.bytes.len(), seen.end), (0, end));
    }
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn invalid_answers_are_reported() {
    let server = Server::script([
        Answer::status(200).header("a b", "c"),
        Answer::status(7),
        Answer::status(101),
    ])
    .await
    .unwrap();
    for wrong in [
        "invalid header: `a b`",
        "invalid status: 7",
        "invalid status: 101",
    ] {
        let seen = ask(server.address(), "{}", ALL).await;
        assert!(seen.head().starts_with("HTTP/1.1 500 "));
        assert!(String::from_utf8_lossy(seen.rest()).contains(wrong));
    }
}

#[tokio::test]
async fn oversized_body_is_rejected_before_reading() {
    let server = Server::script([Answer::status(200)]).await.unwrap();
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let head = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let seen = read(&mut stream, ALL).await;
    assert!(seen.head().starts_with("HTTP/1.1 413 "), "{}", seen.head());
    assert_eq!(seen.json()["error"]["type"], "body_too_large");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn shutdown_closes_connections_and_frees_the_port() {
    for drops in [false, true] {
        let server = Server::start(|_| Answer::sse(["one"]).step(Step::Hang))
            .await
            .unwrap();
        let address = server.address();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(request("{}", "").as_bytes())
            .await
            .unwrap();
        read_answer(&mut stream, "data: one\n\n\r\n").await;
        if drops {
            drop(server);
        } else {
            server.shutdown().await;
        }
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert!(rest.is_empty());
        if !drops {
            let refused = TcpStream::connect(address).await.unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        }
    }
}
