//! Unit tests.

mod connections;
mod sessions;

use std::sync::Arc;
use std::time::SystemTime;

use proptest::prelude::*;
use rmcp::model::ResourceContents;
use serde_json::{Value, json};
use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
use turnwright_core::gate::{GateAnswer, GateDecision, OpenGate};
use turnwright_core::tool::approval::always;
use turnwright_core::{DispatchContext, Tool, ToolRegistry};

use super::gate::Question;
use super::limits::ServeLimits;
use super::results::Results;

/// Opens an approval for a call with these arguments and returns its gate.
async fn approval(args: Value) -> OpenGate {
    let pay = Tool::dynamic("pay", json!({ "type": "object" }))
        .description("Pays.")
        .approval(always("it costs money"))
        .handler(async |_: Value, _| "paid")
        .build()
        .unwrap();
    let tools = ToolRegistry::new([pay]).unwrap();
    let ctx = DispatchContext::builder().tools(tools).build();
    let mut gates = ctx.gates();
    tokio::select! {
        gate = gates.next() => gate.unwrap(),
        call = ctx.call("pay", args) => panic!("{call:?}"),
    }
}

fn message(question: &Question) -> String {
    let request = serde_json::to_value(&question.request).unwrap();
    request["params"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_approval_shows_invisible_characters() {
    let gate = approval(json!({ "to": "a\u{202e}b" })).await;
    assert!(gate.opened_at <= SystemTime::now());
    let shown = message(&Question::of(&gate).unwrap());
    assert!(
        !shown.contains('\u{202e}') && shown.contains("202e"),
        "{shown}"
    );
}

#[tokio::test]
async fn an_approval_shows_all_arguments_or_cannot_be_given() {
    let text = "x".repeat(20_000);
    let shown = message(&Question::of(&approval(json!({ "text": text })).await).unwrap());
    assert!(shown.contains(&text));
    let gate = approval(json!({ "text": text.repeat(2) })).await;
    let Err(why) = Question::of(&gate) else {
        panic!("it can be approved");
    };
    assert!(
        why.contains("too long to be shown in full (40011 characters, at most 32000)"),
        "{why}"
    );
}

#[tokio::test]
async fn only_an_explicit_yes_approves() {
    let question = Question::of(&approval(json!({})).await).unwrap();
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    assert_eq!(
        question.read(accept(json!({ "approve": true })), Some(&"ada".into())),
        Some(GateAnswer::approve().by("ada"))
    );
    for denied in [
        accept(json!({ "approve": false })),
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
    ] {
        let answer = question.read(denied, None).unwrap();
        assert!(
            matches!(answer.decision, GateDecision::Deny { .. }),
            "{answer:?}"
        );
    }
    for malformed in [
        json!(null),
        json!({}),
        json!({ "action": "accept" }),
        json!({ "action": "yes", "content": { "approve": true } }),
        accept(json!({})),
        accept(json!({ "approve": "true" })),
        accept(json!([true])),
        json!({ "approve": true }),
    ] {
        assert_eq!(question.read(malformed.clone(), None), None, "{malformed}");
    }
}

/// Reads a result to its end. The pieces are text if the result is.
async fn read_all(content: Vec<u8>, piece: u64) -> (Vec<u8>, bool) {
    let limits = ServeLimits {
        read_bytes: piece,
        ..ServeLimits::default()
    };
    let results = Results::default();
    let artifact = SpooledArtifact::in_memory(content, ArtifactKind::TEXT);
    let link = results
        .add("tool", artifact, "text/plain", &limits)
        .unwrap();
    let (mut all, mut is_text, mut next) = (Vec::new(), true, Some(link.uri));
    while let Some(uri) = next {
        let read = results.read(&uri, &limits).await.unwrap();
        let contents = serde_json::to_value(&read.contents[0]).unwrap();
        match &read.contents[0] {
            ResourceContents::TextResourceContents { text, .. } => all.extend(text.as_bytes()),
            _ => {
                use base64::Engine as _;
                is_text = false;
                let blob = contents["blob"].as_str().unwrap();
                all.extend(base64::prelude::BASE64_STANDARD.decode(blob).unwrap());
            }
        }
        let meta = &contents["_meta"];
        next = meta["turnwright/next"].as_str().map(str::to_owned);
    }
    (all, is_text)
}

proptest! {
    #[test]
    fn joined_pieces_equal_the_result(text in "[a-ü€😀\n]{0,200}", piece in 4_u64..50) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (read, is_text) = runtime.block_on(read_all(text.clone().into_bytes(), piece));
        prop_assert_eq!(read, text.into_bytes());
        prop_assert!(is_text);
    }

    #[test]
    fn joined_pieces_equal_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300), piece in 1_u64..50) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (read, _) = runtime.block_on(read_all(bytes.clone(), piece));
        prop_assert_eq!(read, bytes);
    }

    #[test]
    fn any_uri_is_read_or_refused(rest in ".{0,40}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let results = Arc::new(Results::default());
        let uri = format!("turnwright://results/{rest}");
        let read = runtime.block_on(results.read(&uri, &ServeLimits::default()));
        prop_assert!(read.is_err());
    }
}
