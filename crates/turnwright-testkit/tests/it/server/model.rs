//! The scripted model.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use turnwright_testkit::server::Server;
use turnwright_testkit::server::model::{self, Call, Script};

use super::ALL;
use super::wire::{ask, read};

fn script() -> Script {
    Script::new([
        model::reasoning("I should look.")
            .with_call(Call::new("look", json!({ "at": "log" })))
            .with_call(Call::new("look", "{\"at\": \"disk").id("mine"))
            .finish("length"),
        model::text("Grüße, Welt", 3).usage(7, 2),
    ])
}

#[tokio::test]
async fn reply_is_streamed_only_on_request() {
    let server = script().serve().await.unwrap();
    let first = ask(server.address(), r#"{"model":"m"}"#, ALL).await.json();
    assert_eq!(
        first,
        json!({
            "id": "chatcmpl-0", "object": "chat.completion", "created": 1_700_000_000, "model": "m",
            "choices": [{
                "index": 0,
                "message": {
                    "role": "assistant", "content": null, "reasoning_content": "I should look.",
                    "tool_calls": [
                        { "id": "call_0_0", "type": "function", "function": { "name": "look", "arguments": "{\"at\":\"log\"}" } },
                        { "id": "mine", "type": "function", "function": { "name": "look", "arguments": "{\"at\": \"disk" } },
                    ],
                },
                "finish_reason": "length",
            }],
        })
    );
    let second = ask(server.address(), "{}", ALL).await.json();
    assert_eq!(second["choices"][0]["message"]["content"], "Grüße, Welt");
    assert_eq!(second["choices"][0]["finish_reason"], "stop");
    assert_eq!(
        second["usage"],
        json!({ "prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9 })
    );
    let third = ask(server.address(), "{}", ALL).await.json();
    assert_eq!(third["error"]["type"], "script_ended");
}

#[tokio::test]
async fn stream_contains_the_same_reply() {
    let server = script().serve().await.unwrap();
    let asked = r#"{"stream":true,"stream_options":{"include_usage":true}}"#;
    let mut replies = Vec::new();
    for _ in 0..2 {
        let body = ask(server.address(), asked, ALL).await.chunked();
        assert!(body.complete);
        let mut events = events(&body.text());
        assert_eq!(events.pop().unwrap(), "[DONE]");
        let chunks = events
            .iter()
            .map(|item| serde_json::from_str(item).unwrap());
        replies.push(chunks.collect::<Vec<Value>>());
    }
    let message = |reply: &[Value], pointer: &str| -> Vec<String> {
        let pieces = reply.iter().filter_map(|chunk| chunk.pointer(pointer));
        pieces
            .map(|item| item.as_str().unwrap().to_owned())
            .collect()
    };
    let first = &replies[0];
    let thought = message(first, "/choices/0/delta/reasoning_content");
    assert_eq!(
        (thought.len(), thought.concat()),
        (4, "I should look.".into())
    );
    let call = "/choices/0/delta/tool_calls/0";
    assert_eq!(message(first, &format!("{call}/id")), ["call_0_0", "mine"]);
    assert_eq!(
        message(first, &format!("{call}/function/arguments")).concat(),
        r#"{"at":"log"}{"at": "disk"#
    );
    assert_eq!(
        first.last().unwrap()["choices"][0]["finish_reason"],
        "length"
    );
    let second = &replies[1];
    let text = message(second, "/choices/0/delta/content");
    // The first is the empty delta with the role.
    assert_eq!((text.len(), text.concat()), (4, "Grüße, Welt".into()));
    assert_eq!(second.last().unwrap()["choices"], json!([]));
    assert_eq!(second.last().unwrap()["usage"]["total_tokens"], 9);
}

#[tokio::test]
async fn usage_is_streamed_only_on_request() {
    let server = Script::new([model::text("Hi", 1).usage(1, 1)])
        .serve()
        .await
        .unwrap();
    let body = ask(server.address(), r#"{"stream":true}"#, ALL)
        .await
        .chunked();
    assert!(!body.text().contains("usage"));
}

#[tokio::test]
async fn invalid_requests_take_no_reply() {
    let server = Script::new([model::text("Hi", 1)]).serve().await.unwrap();
    let refused = ask(server.address(), "not json", ALL).await;
    assert!(refused.head().starts_with("HTTP/1.1 400 "));
    let reply = ask(server.address(), "{}", ALL).await.json();
    assert_eq!(reply["choices"][0]["message"]["content"], "Hi");
}

fn events(text: &str) -> Vec<String> {
    let frames = text.strip_suffix("\n\n").unwrap().split("\n\n");
    let data = frames.map(|frame| frame.strip_prefix("data: ").unwrap().to_owned());
    data.collect()
}

#[tokio::test]
async fn model_list_is_served() {
    let server = Script::new([model::text("Hi", 1)]).serve().await.unwrap();
    for path in ["/v1/models", "/models?limit=1"] {
        let list = get(server.address(), path).await;
        assert_eq!(list["object"], "list");
        assert_eq!(list["data"][0]["id"], "scripted");
    }
    let refused = get(server.address(), "/v1/other").await;
    assert_eq!(refused["error"]["type"], "invalid_request_error");
    // None of them took the reply.
    let reply = ask(server.address(), "{}", ALL).await.json();
    assert_eq!(reply["choices"][0]["message"]["content"], "Hi");
}

#[tokio::test]
async fn model_lists_have_the_form_of_their_protocol() {
    let server = Script::default().serve().await.unwrap();
    let lists = [
        (
            "/v1/models",
            "authorization: Bearer k",
            "/data/0/object",
            "model",
        ),
        (
            "/v1/models",
            "anthropic-version: 2023-06-01",
            "/data/0/type",
            "model",
        ),
        (
            "/v1/models",
            "x-goog-api-key: k",
            "/models/0/name",
            "models/scripted",
        ),
        (
            "/v1beta/models?pageSize=9",
            "x: y",
            "/models/0/name",
            "models/scripted",
        ),
        ("/api/tags", "x: y", "/models/0/model", "scripted"),
    ];
    for (path, header, pointer, expected) in lists {
        let list = get_with(server.address(), path, header).await;
        assert_eq!(
            list.pointer(pointer),
            Some(&json!(expected)),
            "{path}: {list}"
        );
    }
}

#[tokio::test]
async fn stream_of_gemini_without_server_sent_events_is_an_array() {
    let reply = || model::text("One two three", 3);
    let script = Script::new([reply(), reply()]).player().lenient();
    let server = script.serve().await.unwrap();
    let mut bodies = Vec::new();
    for query in ["", "?alt=sse"] {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let path = format!("/v1beta/models/m:streamGenerateContent{query}");
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        bodies.push(read(&mut stream, ALL).await.chunked().text());
    }
    let array: Vec<Value> = serde_json::from_str(&bodies[0]).unwrap();
    assert_eq!(array.len(), 4);
    let events = bodies[1]
        .split("\r\n\r\n")
        .filter(|frame| !frame.is_empty());
    let events =
        events.map(|frame| serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap());
    let events: Vec<Value> = events.collect();
    let texts = |chunks: &[Value]| -> String {
        let texts = chunks
            .iter()
            .map(|chunk| &chunk["candidates"][0]["content"]["parts"][0]["text"]);
        texts.map(|text| text.as_str().unwrap()).collect()
    };
    assert_eq!(
        (texts(&array).as_str(), texts(&events).as_str()),
        ("One two three", "One two three")
    );
}

#[tokio::test]
async fn player_reports_answers_and_can_repeat() {
    let replies = || Script::new([model::text("one", 1), model::text("two", 1)]);
    for repeats in [false, true] {
        let player = if repeats {
            replies().player().repeat()
        } else {
            replies().player()
        };
        let player = Arc::new(player);
        let (playing, seen) = (Arc::clone(&player), Arc::new(Mutex::new(Vec::new())));
        let noted = Arc::clone(&seen);
        let server = Server::start(move |request| {
            let played = playing.answer(request);
            noted.lock().push(format!("{:?}", played.kind));
            played.answer
        })
        .await
        .unwrap();
        get(server.address(), "/v1/models").await;
        assert_eq!(player.remaining(), 2);
        let mut message = Vec::new();
        for asked in [r#"{"stream":true}"#, "{}", "{}"] {
            message.push(ask(server.address(), asked, ALL).await);
        }
        ask(server.address(), "not json", ALL).await;
        assert_eq!(player.remaining(), 0);
        let third = message[2].json();
        let expected = if repeats {
            assert_eq!(third["choices"][0]["message"]["content"], "one");
            "Reply { number: 0, streamed: false }"
        } else {
            assert_eq!(third["error"]["type"], "script_ended");
            "Ended"
        };
        assert_eq!(
            *seen.lock(),
            [
                "Models",
                "Reply { number: 0, streamed: true }",
                "Reply { number: 1, streamed: false }",
                expected,
                "Invalid",
            ]
        );
    }
}

#[tokio::test]
async fn empty_repeating_script_has_ended() {
    let player = Script::default().player().repeat();
    let server = Server::start(move |request| player.answer(request).answer)
        .await
        .unwrap();
    let ended = ask(server.address(), "{}", ALL).await.json();
    assert_eq!(ended["error"]["type"], "script_ended");
}

async fn get(address: SocketAddr, path: &str) -> Value {
    get_with(address, path, "x: y").await
}

async fn get_with(address: SocketAddr, path: &str, header: &str) -> Value {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\n{header}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    read(&mut stream, ALL).await.json()
}
