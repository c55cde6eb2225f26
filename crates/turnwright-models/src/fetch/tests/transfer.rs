use std::io;
use std::time::Duration;

use async_trait::async_trait;
use tokio::net::TcpListener;
use turnwright_core::Media;
use turnwright_core::media::MediaKind;
use turnwright_core::media::MediaReader as _;

use super::rig::{Answer, Rig, ok};
use super::{drain, read};
use crate::fetch::{Fetcher, HttpReader, Resolver};

const URL: &str = "http://media.example/a.png";

fn text(text: &str) -> Answer {
    Answer::Text(text.into())
}

fn flood(head: &str) -> Answer {
    Answer::Flood(head.into(), vec![b'x'; 16 * 1024])
}

fn reader(rig: &Rig) -> HttpReader {
    rig.fetcher().reader(URL).unwrap()
}

async fn failure(rig: &Rig) -> io::Error {
    read(&reader(rig)).await.unwrap_err()
}

#[tokio::test]
async fn nothing_is_looked_up_or_dialled_before_it_is_opened_and_each_opening_is_a_request() {
    let rig = Rig::answering([ok("first"), ok("second")]).await;
    let media = Media::retrieved_public(MediaKind::Image, "image/png", "a.png", reader(&rig));
    let media = media.build().unwrap();
    assert_eq!(media.byte_length(), None);
    serde_json::to_string(&media).unwrap();
    rig.saw_nothing();
    assert_eq!(rig.asked(), [""; 0]);

    assert_eq!(media.bytes().await.unwrap(), "first");
    assert_eq!(media.bytes().await.unwrap(), "second");
    assert_eq!(rig.asked(), ["media.example"; 2]);
    let requests = rig.requests();
    assert_eq!(requests.len(), 2);
    for request in requests {
        let request = request.to_ascii_lowercase();
        assert!(request.starts_with("get /a.png http/1.1\r\n"), "{request}");
        assert!(request.contains("\r\nhost: media.example\r\n"), "{request}");
        assert!(
            request.contains("\r\naccept-encoding: identity\r\n"),
            "{request}"
        );
        assert!(request.contains("\r\nuser-agent: turnwright/"), "{request}");
    }
}

#[tokio::test]
async fn a_large_body_comes_piece_by_piece_and_whole() {
    let body: String = (0..200_000)
        .map(|n| char::from(b'a' + (n % 26) as u8))
        .collect();
    let rig = Rig::answering([ok(&body)]).await;
    let mut stream = reader(&rig).open().await.unwrap();
    let first = stream.next().await.unwrap().unwrap();
    assert!(first.len() < body.len());
    let rest = drain(stream).await.unwrap();
    assert_eq!([&first[..], &rest[..]].concat(), body.as_bytes());
}

#[tokio::test]
async fn bodies_end_as_http_says() {
    for (answer, body) in [
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
            "abcde",
        ),
        ("HTTP/1.0 200 OK\r\n\r\nuntil the end", "until the end"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", ""),
        ("HTTP/1.1 204 No Content\r\n\r\n", ""),
        (
            "HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\ncontent-length: 1\r\n\r\na",
            "a",
        ),
    ] {
        let rig = Rig::answering([text(answer)]).await;
        assert_eq!(
            read(&reader(&rig)).await.unwrap(),
            body.as_bytes(),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_body_that_is_cut_off_never_just_ends() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nshort\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nshort",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let rig = Rig::answering([text(answer)]).await;
        let error = failure(&rig).await;
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{answer}");
        assert!(
            error
                .to_string()
                .starts_with("the answer of media.example broke off"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn no_answer_at_all_is_a_failure_that_says_so() {
    for answer in ["", "HTTP/1.1 200", "hello\r\n\r\n", "SSH-2.0-OpenSSH\r\n"] {
        let rig = Rig::answering([text(answer)]).await;
        let error = failure(&rig).await;
        assert!(
            error
                .to_string()
                .starts_with("media.example cannot be reached"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_not_spoken_to_without() {
    let rig = Rig::answering([ok("secret")]).await;
    let reader = rig.fetcher().reader("https://media.example/").unwrap();
    let reader = reader.timeout(Duration::from_millis(200));
    read(&reader).await.unwrap_err();
    assert_eq!(rig.requests(), [""; 0]);
}

#[tokio::test]
async fn only_a_whole_success_is_taken() {
    for (status, kind) in [
        ("404 Not Found", io::ErrorKind::NotFound),
        ("410 Gone", io::ErrorKind::NotFound),
        ("403 Forbidden", io::ErrorKind::PermissionDenied),
        ("500 Oh No", io::ErrorKind::Other),
        ("304 Not Modified", io::ErrorKind::Other),
        ("300 Choose", io::ErrorKind::Other),
        ("206 Part", io::ErrorKind::Other),
    ] {
        let rig = Rig::answering([text(&format!(
            "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n"
        ))])
        .await;
        let error = reader(&rig).open().await.unwrap_err();
        assert_eq!(error.kind(), kind, "{status}");
        assert_eq!(
            error.to_string(),
            format!("media.example answers {}", &status[..3])
        );
    }
}

#[tokio::test]
async fn what_is_promised_too_large_is_not_read() {
    let rig = Rig::answering([flood("HTTP/1.1 200 OK\r\ncontent-length: 20971521\r\n\r\n")]).await;
    let error = reader(&rig).open().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    assert!(error.to_string().contains("20971520 bytes"), "{error}");
    rig.closed().await;
}

#[tokio::test]
async fn what_grows_too_large_is_cut_and_said_so() {
    for head in [
        "HTTP/1.0 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n",
    ] {
        let rig = Rig::answering([flood(head)]).await;
        let mut stream = reader(&rig).max_bytes(100_000).open().await.unwrap();
        let mut got = 0;
        let error = loop {
            match stream.next().await.unwrap() {
                Ok(piece) => got += piece.len(),
                Err(error) => break error,
            }
        };
        assert!(got <= 100_000);
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(stream.next().await.is_none());
        rig.closed().await;
    }
}

#[tokio::test]
async fn the_bound_itself_is_not_too_large() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcde",
        "HTTP/1.0 200 OK\r\n\r\nabcde",
    ] {
        let rig = Rig::answering([text(answer)]).await;
        assert_eq!(read(&reader(&rig).max_bytes(5)).await.unwrap(), b"abcde");
        let error = read(&reader(&rig).max_bytes(4)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}

#[tokio::test]
async fn an_encoded_body_is_not_taken() {
    for encoding in ["gzip", "br", "identity, gzip", "GZIP"] {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\ncontent-length: 1\r\n\r\na"
        );
        let rig = Rig::answering([text(&head)]).await;
        let error = reader(&rig).open().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{encoding}");
    }
}

#[tokio::test]
async fn only_the_types_that_are_expected_are_taken() {
    for (sent, expected, taken) in [
        ("content-type: image/png\r\n", "image/png", true),
        ("content-type: Image/PNG; charset=x\r\n", "image/*", true),
        ("content-type: image/png\r\n", "IMAGE/PNG", true),
        ("content-type: text/html\r\n", "*/*", true),
        ("content-type: text/html\r\n", "image/*", false),
        ("content-type: imagery/png\r\n", "image/*", false),
        ("content-type: image/png\r\n", "image/jpeg", false),
        ("content-type: \r\n", "image/*", false),
        ("", "image/*", false),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\n{sent}content-length: 1\r\n\r\na");
        let rig = Rig::answering([text(&head)]).await;
        let result = read(&reader(&rig).expect_types(["audio/ogg", expected])).await;
        assert_eq!(result.is_ok(), taken, "{sent} {expected}");
        if let Err(error) = result {
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
        let asked = format!(
            "\r\naccept: audio/ogg, {}\r\n",
            expected.to_ascii_lowercase()
        );
        assert!(rig.requests()[0].contains(&asked));
    }
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up_and_disconnected() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort";
    let rig = Rig::answering([Answer::Hold(head.into())]).await;
    let fetcher = rig
        .builder()
        .idle_timeout(Duration::from_secs(1))
        .build()
        .unwrap();
    let mut stream = fetcher.reader(URL).unwrap().open().await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), "short");
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().contains("`idle_timeout`"), "{error}");
    assert!(stream.next().await.is_none());
    rig.closed().await;
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let rig = Rig::answering([Answer::Hold(String::new())]).await;
    let error = read(&reader(&rig).timeout(Duration::from_millis(100)))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().contains("`timeout`"), "{error}");
}

#[tokio::test]
async fn a_server_that_never_ends_is_given_up_also_if_it_is_never_silent() {
    let rig = Rig::answering([flood("HTTP/1.0 200 OK\r\n\r\n")]).await;
    let endless = reader(&rig)
        .max_bytes(u64::MAX)
        .timeout(Duration::from_secs(1));
    let error = read(&endless).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn who_does_not_read_holds_no_connection_for_ever() {
    let rig = Rig::answering([flood("HTTP/1.0 200 OK\r\n\r\n")]).await;
    let unread = reader(&rig)
        .max_bytes(u64::MAX)
        .timeout(Duration::from_secs(1));
    let stream = unread.open().await.unwrap();
    rig.closed().await;
    assert_eq!(
        drain(stream).await.unwrap_err().kind(),
        io::ErrorKind::TimedOut
    );
}

#[derive(Debug)]
struct Silent;

#[async_trait]
impl Resolver for Silent {
    async fn resolve(&self, _host: &str) -> io::Result<Vec<std::net::IpAddr>> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_look_up_that_never_ends_is_given_up() {
    let rig = Rig::answering([ok("secret")]).await;
    let builder = rig.builder().resolver(Silent);
    let fetcher = builder
        .connect_timeout(Duration::from_millis(50))
        .build()
        .unwrap();
    let error = read(&fetcher.reader(URL).unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().contains("`connect_timeout`"), "{error}");
    rig.saw_nothing();
}

#[tokio::test]
async fn limits_beyond_all_time_are_none() {
    let rig = Rig::answering([ok("hello")]).await;
    let builder = rig
        .builder()
        .timeout(Duration::MAX)
        .idle_timeout(Duration::MAX);
    let fetcher = builder.connect_timeout(Duration::MAX).build().unwrap();
    assert_eq!(read(&fetcher.reader(URL).unwrap()).await.unwrap(), b"hello");
}

#[tokio::test]
async fn dropping_the_stream_ends_the_transfer() {
    let rig = Rig::answering([flood("HTTP/1.0 200 OK\r\n\r\n")]).await;
    let mut stream = reader(&rig).max_bytes(u64::MAX).open().await.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    rig.closed().await;
}

#[tokio::test]
async fn no_connection_outlives_its_request() {
    let complete = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
    let rig = Rig::answering([Answer::Hold(complete.into())]).await;
    let fetcher = rig.fetcher();
    let body = read(&fetcher.reader(URL).unwrap()).await.unwrap();
    assert_eq!(body, b"hello");
    rig.closed().await;
}

#[tokio::test]
async fn dropping_the_opening_ends_the_request() {
    let rig = Rig::answering([Answer::Hold(String::new())]).await;
    let reader = reader(&rig);
    let opening = tokio::spawn(async move { reader.open().await.map(drop) });
    while rig.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    opening.abort();
    rig.closed().await;
}

/// The environment is read when a client is built, and no test may change its own: this one runs in a process of its own.
#[tokio::test]
#[ignore = "run by the test below, with a proxy in its environment"]
async fn fetches_beside_the_proxy_of_its_environment() {
    assert!(std::env::var_os("HTTP_PROXY").is_some());
    let rig = Rig::answering([ok("hello")]).await;
    assert_eq!(read(&reader(&rig)).await.unwrap(), b"hello");
    assert_eq!(rig.asked(), ["media.example"]);
}

#[tokio::test]
async fn no_proxy_is_used_whatever_the_environment_says() {
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let name = "fetch::tests::transfer::fetches_beside_the_proxy_of_its_environment";
    child.args(["--ignored", "--exact", name]);
    for variable in [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "all_proxy",
    ] {
        child.env(variable, &address);
    }
    let done = tokio::task::spawn_blocking(move || child.output())
        .await
        .unwrap()
        .unwrap();
    let message = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && message.contains("1 passed"),
        "{message}"
    );
    let dialled = tokio::time::timeout(Duration::ZERO, proxy.accept()).await;
    assert!(dialled.is_err());
}

#[test]
fn fetchers_are_shared_between_tasks() {
    fn shared<T: Clone + Send + Sync + std::fmt::Debug + 'static>() {}
    shared::<Fetcher>();
    shared::<HttpReader>();
}
