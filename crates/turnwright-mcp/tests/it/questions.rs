//! Pages that a server wants the user to open.

use serde_json::{Value, json};
use turnwright_core::EventKind;
use turnwright_core::gate::GateAnswer;

use crate::client::caller;
use crate::server::{folder, server};

/// A server asks the user to open a page. Returns the question, and what the server got.
async fn asked(url: &str) -> (Option<Value>, Value) {
    let server = server("asks-for-a-page", &folder("page"));
    let runner = caller([server], "test__echo", json!({ "text": url }));
    let mut turn = runner.start("Go.");
    let mut question = None;
    while let Some(event) = turn.next().await {
        if let EventKind::GateOpened(gate) = event.kind {
            question = Some((*gate.question).clone());
            let agreed = GateAnswer::value(Value::Null);
            assert!(turn.gates().answer(&gate.id, agreed).unwrap());
        }
    }
    let text = turn.outcome().await.text;
    let got = serde_json::from_str(&text).unwrap_or(Value::String(text));
    (question, got)
}

#[tokio::test]
async fn a_page_is_shown_with_its_host() {
    let url = "https://login.example.com/x?next=https://bank.example";
    let (question, got) = asked(url).await;
    let expected =
        json!({ "server": "test", "message": "Log in.", "url": url, "host": "login.example.com" });
    assert_eq!(question, Some(expected));
    assert_eq!(got["action"], "accept");
}

#[tokio::test]
async fn pages_with_credentials_or_of_other_schemes_are_declined() {
    for url in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://bank.example@evil.example/",
        "https://:secret@evil.example/",
        "no address",
    ] {
        let (question, got) = asked(url).await;
        assert_eq!(
            (question, &got["action"]),
            (None, &json!("decline")),
            "{url}"
        );
    }
}
