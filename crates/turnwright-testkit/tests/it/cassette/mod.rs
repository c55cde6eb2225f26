//! Recording and replay, with a server simulated by the test.

mod wire;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use turnwright_core::{Error, ErrorCode};
use turnwright_models::http::{Body, Request, Response, Transport};
use turnwright_testkit::cassette::{Cassette, Exchange};
use url::Url;

/// The pieces of a body.
type Pieces = Vec<Result<Bytes, Error>>;

/// Returns these answers, one after the other; fails when there are none.
#[derive(Clone, Debug, Default)]
struct Inner(Arc<Mutex<VecDeque<(u16, Pieces)>>>);

impl Inner {
    fn new(answers: impl IntoIterator<Item = (u16, Pieces)>) -> Self {
        Inner(Arc::new(Mutex::new(answers.into_iter().collect())))
    }
}

#[async_trait]
impl Transport for Inner {
    async fn send(&self, _request: Request) -> Result<Response, Error> {
        let next = self.0.lock().pop_front();
        let Some((status, pieces)) = next else {
            return Err(Error::new(ErrorCode::MODEL_UNREACHABLE, "no server"));
        };
        let headers = [
            ("content-type", "text/event-stream"),
            ("set-cookie", "session=1"),
            ("x-request-id", "of-key-12345678"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let body = Body::new(futures_util::stream::iter(pieces));
        Ok(Response::new(status, headers.into(), body))
    }
}

/// A folder that is deleted at the end.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("made/by/it/tape.json")
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.file().parent().unwrap()).unwrap();
        let names = entries.map(|item| item.unwrap().file_name().into_string().unwrap());
        names.collect()
    }
}

fn request(body: &Value) -> Request {
    let url = Url::parse("https://models.example/v1/chat/completions?tenant=42").unwrap();
    Request::new(url, body.to_string()).header("Authorization", "Bearer key-12345678")
}

fn pieces<const N: usize>(pieces: [&'static str; N]) -> Pieces {
    pieces
        .map(|item| Ok(Bytes::from_static(item.as_bytes())))
        .into()
}

async fn read(mut body: Body) -> (Vec<u8>, Option<Error>) {
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        match piece {
            Ok(piece) => bytes.extend_from_slice(&piece),
            Err(error) => return (bytes, Some(error)),
        }
    }
    (bytes, None)
}

fn on_disk(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[tokio::test]
async fn recorded_exchanges_are_replayed() {
    let folder = Folder::new();
    let inner = Inner::new([
        (200, pieces(["data: one\n\n", "data: two\n\n"])),
        (200, vec![Ok(Bytes::from_static(b"\xff\x00"))]),
        (429, pieces([])),
    ]);
    let cassette = Cassette::record(folder.file(), inner).unwrap();
    let asked = [json!({ "n": 1 }), json!({ "n": 1 }), json!({ "n": 2 })];
    let mut seen = Vec::new();
    for body in &asked {
        let response = cassette.send(request(body)).await.unwrap();
        seen.push((response.status, read(response.body).await.0));
    }
    assert_eq!(seen[0], (200, b"data: one\n\ndata: two\n\n".to_vec()));
    cassette.save().unwrap();
    assert_eq!(folder.names(), ["tape.json"]);

    let cassette = Cassette::replay(folder.file()).unwrap();
    assert_eq!(cassette.unused().len(), 3);
    // In another order for different requests; equal ones in recorded order.
    for at in [2, 0, 1] {
        let response = cassette.send(request(&asked[at])).await.unwrap();
        assert_eq!(response.header("content-type"), Some("text/event-stream"));
        let status = response.status;
        let (bytes, broken) = read(response.body).await;
        assert_eq!((status, bytes), seen[at]);
        assert!(broken.is_none());
    }
    cassette.assert_all_played();
}

#[tokio::test]
async fn statuses_bytes_and_breaks_are_replayed() {
    let entry = |number: u32, response: Value| {
        let request = json!({ "method": "POST", "path": "/v1/chat/completions", "body": { "number": number } });
        json!({ "request": request, "response": response })
    };
    let tape = json!([
        entry(
            0,
            json!({ "status": 200, "headers": { "X": 1 }, "body": "one" })
        ),
        entry(1, json!({ "status": 500, "body": { "base64": "/wA=" } })),
        entry(
            2,
            json!({ "status": 200, "body": "cut", "truncated": true })
        ),
    ]);
    let exchanges: Vec<Exchange> = serde_json::from_value(tape.clone()).unwrap();
    assert_eq!(exchanges[0].header("x"), Some("1"));
    assert!(exchanges[2].truncated);
    assert!(!format!("{exchanges:?}").contains("one"));
    let cassette = Cassette::from_json(&tape.to_string()).unwrap();
    let mut seen = Vec::new();
    for number in 0..3 {
        let response = cassette
            .send(request(&json!({ "number": number })))
            .await
            .unwrap();
        let status = response.status;
        let (bytes, broken) = read(response.body).await;
        seen.push((status, bytes, broken.is_some()));
    }
    assert_eq!(
        seen,
        [
            (200, b"one".to_vec(), false),
            (500, vec![0xff, 0], false),
            (200, b"cut".to_vec(), true),
        ]
    );
    cassette.assert_all_played();
    let beyond = cassette.send(request(&json!({}))).await.unwrap_err();
    assert!(beyond.is_fatal(), "{beyond}");
}

#[test]
fn unreadable_exchange_is_explained() {
    let bad = json!({
        "request": { "method": "POST", "path": "/" },
        "response": { "status": 200, "body": { "base64": "?" } },
    });
    let error = serde_json::from_value::<Exchange>(bad).unwrap_err();
    assert!(error.to_string().contains("not base64"), "{error}");
    let missing = serde_json::from_value::<Exchange>(json!({ "request": {} })).unwrap_err();
    assert!(missing.to_string().contains("missing field"), "{missing}");
}

#[tokio::test]
async fn file_contains_no_secrets() {
    let folder = Folder::new();
    let inner = Inner::new([(200, pieces(["data: \"key-12", "345678\\n my\\/own\"\n\n"]))]);
    let cassette = Cassette::record(folder.file(), inner)
        .unwrap()
        .scrub("my/own");
    let body = json!({ "note": "the key is key-12345678", "my/own": ["Bearer key-12345678"] });
    let response = cassette.send(request(&body)).await.unwrap();
    // The recording client sees everything.
    assert_eq!(response.header("set-cookie"), Some("session=1"));
    read(response.body).await;
    assert_eq!(
        on_disk(&folder.file()),
        json!([{
            "request": {
                "method": "POST",
                "path": "/v1/chat/completions?tenant=",
                "body": { "note": "the key is [scrubbed]", "[scrubbed]": ["Bearer [scrubbed]"] },
            },
            "response": {
                "status": 200,
                "headers": { "content-type": "text/event-stream", "x-request-id": "of-[scrubbed]" },
                "body": "data: \"[scrubbed]\\n [scrubbed]\"\n\n",
            },
        }])
    );
    // With another key it is still the same request.
    let cassette = Cassette::replay(folder.file()).unwrap().scrub("my/own");
    let text = body.to_string().replace("key-12345678", "key-of-another");
    let url = Url::parse("http://127.0.0.1/v1/chat/completions").unwrap();
    let other = Request::new(url, text).header("authorization", "Bearer key-of-another");
    assert_eq!(cassette.send(other).await.unwrap().status, 200);
    assert!(!format!("{cassette:?}").contains("my/own"));
}

#[tokio::test]
async fn pieces_are_passed_on_immediately() {
    let folder = Folder::new();
    let inner = Inner::new([(200, pieces(["one", "two"]))]);
    let cassette = Cassette::record(folder.file(), inner).unwrap();
    let mut response = cassette.send(request(&json!({}))).await.unwrap();
    assert_eq!(response.body.next().await.unwrap().unwrap(), "one");
    assert!(!folder.file().exists(), "nothing is written before the end");
    assert_eq!(response.body.next().await.unwrap().unwrap(), "two");
    assert!(response.body.next().await.is_none());
    assert_eq!(on_disk(&folder.file())[0]["response"]["body"], "onetwo");
}

#[tokio::test]
async fn truncated_response_breaks_in_replay() {
    let folder = Folder::new();
    let broken = Error::new(ErrorCode::MODEL_UNREACHABLE, "the line is dead");
    let inner = Inner::new([
        (200, pieces(["one", "two"])),
        (200, vec![Ok(Bytes::from_static(b"half")), Err(broken)]),
    ]);
    let cassette = Cassette::record(folder.file(), inner).unwrap();
    let mut dropped = cassette.send(request(&json!(1))).await.unwrap();
    dropped.body.next().await.unwrap().unwrap();
    drop(dropped);
    let failed = cassette.send(request(&json!(2))).await.unwrap();
    assert_eq!(
        read(failed.body).await.1.unwrap().to_string(),
        "E_MODEL_UNREACHABLE: the line is dead"
    );
    // There was no response, so nothing is recorded.
    cassette.send(request(&json!(3))).await.unwrap_err();

    let cassette = Cassette::replay(folder.file()).unwrap();
    for (at, begins) in [(1, "one"), (2, "half")] {
        let response = cassette.send(request(&json!(at))).await.unwrap();
        let (bytes, broken) = read(response.body).await;
        assert_eq!(bytes, begins.as_bytes());
        assert_eq!(broken.unwrap().code(), ErrorCode::MODEL_UNREACHABLE);
    }
    cassette.assert_all_played();
}

#[tokio::test]
async fn recordings_are_in_request_order() {
    let folder = Folder::new();
    let inner = Inner::new([(200, pieces(["first"])), (200, pieces(["second"]))]);
    let cassette = Cassette::record(folder.file(), inner).unwrap();
    let first = cassette.send(request(&json!(1))).await.unwrap();
    let second = cassette.send(request(&json!(2))).await.unwrap();
    read(second.body).await;
    read(first.body).await;
    let file = on_disk(&folder.file());
    assert_eq!(file[0]["response"]["body"], "first");
    assert_eq!(file[1]["response"]["body"], "second");
}

#[tokio::test]
async fn write_error_is_reported_and_loses_nothing() {
    let folder = Folder::new();
    let inner = Inner::new([(200, pieces(["one"])), (200, pieces(["two"]))]);
    let cassette = Cassette::record(folder.file(), inner).unwrap();
    // A folder has the name of the file: the temporary file can be written, but not renamed.
    fs::create_dir_all(folder.file().join("kept")).unwrap();
    let response = cassette.send(request(&json!(1))).await.unwrap();
    let (bytes, error) = read(response.body).await;
    assert_eq!(bytes, b"one");
    assert_eq!(error.unwrap().code(), ErrorCode::STORE_ERROR);
    assert_eq!(cassette.save().unwrap_err().code(), ErrorCode::STORE_ERROR);
    assert_eq!(folder.names(), ["tape.json"]);
    assert!(folder.file().join("kept").is_dir());

    fs::remove_dir_all(folder.file()).unwrap();
    let response = cassette.send(request(&json!(2))).await.unwrap();
    assert!(read(response.body).await.1.is_none());
    let file = on_disk(&folder.file());
    assert_eq!(file[0]["response"]["body"], "one");
    assert_eq!(file[1]["response"]["body"], "two");
}

#[tokio::test]
async fn old_recording_is_kept_until_a_new_one_is_complete() {
    let folder = Folder::new();
    fs::create_dir_all(folder.file().parent().unwrap()).unwrap();
    fs::write(folder.file(), "[]").unwrap();
    let cassette = Cassette::record(folder.file(), Inner::default()).unwrap();
    cassette.send(request(&json!({}))).await.unwrap_err();
    cassette.save().unwrap();
    assert_eq!(fs::read_to_string(folder.file()).unwrap(), "[]");
}

fn by_hand() -> Cassette {
    let entry = |path: &str, body: Value, response: Value| {
        json!({
            "request": { "method": "POST", "path": path, "body": body },
            "response": { "status": 200, "body": response },
        })
    };
    let say =
        |what: &str| json!({ "model": "m", "messages": [{ "role": "user", "content": what }] });
    let entries = json!([
        entry(
            "/v1/chat/completions",
            say("Hello"),
            json!({ "written": "by hand" })
        ),
        entry("/v1/chat/completions", say("Bye"), json!(null)),
        entry("/v1/embeddings", say("Good day"), json!(null)),
    ]);
    Cassette::from_json(&entries.to_string()).unwrap()
}

#[tokio::test]
async fn miss_shows_differences_from_the_closest_recording() {
    let cassette = by_hand();
    let message = json!({ "model": "m", "messages": [{ "role": "user", "content": "Hello" }] });
    let response = cassette.send(request(&message)).await.unwrap();
    assert_eq!(read(response.body).await.0, br#"{"written":"by hand"}"#);

    let other =
        json!({ "model": "m", "messages": [{ "role": "user", "content": "Good day" }], "seed": 1 });
    let miss = cassette.send(request(&other)).await.unwrap_err();
    assert_eq!(miss.code(), ErrorCode::INVALID_MODEL_CONFIG);
    assert!(miss.is_fatal(), "it is not retried");
    assert_eq!(
        miss.to_string().lines().collect::<Vec<_>>(),
        [
            "E_INVALID_MODEL_CONFIG: no recording matches POST /v1/chat/completions: the JSON text has 3, of which number 1 is the closest:",
            r#"  /messages/0/content: recorded "Bye", now "Good day""#,
            "  + /seed: 1",
            "If the request is correct, record it again: set `TURNWRIGHT_RECORD=1` if you use `Cassette::auto`, otherwise use `Cassette::record`.",
        ]
    );
    let again = cassette.send(request(&message)).await.unwrap_err();
    assert!(
        again
            .to_string()
            .contains("each equal one (number 0) was already played")
    );
    assert_eq!(
        cassette.unused(),
        [
            "number 1 of the JSON text: POST /v1/chat/completions",
            "number 2 of the JSON text: POST /v1/embeddings",
        ]
    );
}

#[tokio::test]
async fn miss_lists_twenty_differences_and_counts_the_rest() {
    let cassette = by_hand();
    let many: serde_json::Map<_, _> = (0..50)
        .map(|at| (format!("field{at}"), json!(at)))
        .collect();
    let miss = cassette
        .send(request(&Value::Object(many)))
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        miss.lines()
            .filter(|line| line.starts_with("  + ") || line.starts_with("  - "))
            .count(),
        20
    );
    assert!(miss.contains("\n  and 32 more\n"), "{miss}");
}

#[test]
fn unplayed_recordings_fail_the_assertion() {
    let unwound = std::panic::catch_unwind(|| by_hand().assert_all_played()).unwrap_err();
    let message = unwound.downcast_ref::<String>().unwrap();
    assert!(message.contains("number 2 of the JSON text: POST /v1/embeddings"));
}

#[test]
fn invalid_recordings_are_rejected() {
    for wrong in ["", "{}", "[1]", r#"[{"request":{"method":"POST"}}]"#] {
        let error = Cassette::from_json(wrong).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_MODEL_CONFIG, "{wrong}");
    }
    let not_base64 = json!([{
        "request": { "method": "POST", "path": "/", "body": null },
        "response": { "status": 200, "headers": {}, "body": { "base64": "???" } },
    }]);
    let error = Cassette::from_json(&not_base64.to_string()).unwrap_err();
    assert!(
        error
            .with_causes()
            .contains("the body of the response is not base64")
    );
    let missing = Cassette::auto("/no/such/tape.json", Inner::default()).unwrap_err();
    assert!(
        missing.to_string().contains("TURNWRIGHT_RECORD=1"),
        "{missing}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn recording_is_private_and_replaces_no_link() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let [new, wide, link] =
        ["new.json", "wide.json", "link.json"].map(|name| folder.0.path().join(name));
    fs::write(&wide, "[]").unwrap();
    fs::set_permissions(&wide, fs::Permissions::from_mode(0o644)).unwrap();
    for path in [&new, &wide] {
        let inner = Inner::new([(200, vec![Ok(Bytes::from_static(b"{}"))])]);
        let cassette = Cassette::record(path, inner).unwrap();
        let url = Url::parse("https://models.example/v1/chat/completions").unwrap();
        let mut response = cassette.send(Request::new(url, "{}")).await.unwrap();
        while response.body.next().await.is_some() {}
        cassette.save().unwrap();
        assert!(fs::read_to_string(path).unwrap().contains("request"));
        assert_eq!(mode(path), 0o600, "{}", path.display());
    }
    symlink(&wide, &link).unwrap();
    for path in [link.as_path(), folder.0.path(), Path::new("/dev/null")] {
        let error = Cassette::record(path, Inner::new([])).unwrap_err();
        assert_eq!(error.code(), ErrorCode::STORE_ERROR, "{}", path.display());
    }
}
