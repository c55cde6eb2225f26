//! What a model reads when an artifact query fails: text that it can act on, produced by the complete call path.

use std::sync::Arc;

use serde_json::{Value, json};
use turnwright_core::DispatchContext;
use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
use turnwright_core::artifact_tools::ArtifactToolPolicy;
use turnwright_core::record::{ToolCall, ToolResults};
use turnwright_core::render::{Part, Renderer};
use turnwright_core::spool::{ByteReader, MemoryReader};
use turnwright_core::trust::ConversationSecret;
use turnwright_testkit::reader::TestReader;

/// A dispatch with one artifact, `call-1`, and the tools that read it.
fn asked_of(reader: impl ByteReader + 'static, kind: ArtifactKind) -> DispatchContext {
    let ctx = DispatchContext::standalone();
    let artifact = SpooledArtifact::new(Arc::new(reader), kind);
    let call = ToolCall::builder("made_by_hand", "{}")
        .id("call-1")
        .results(ToolResults::Artifacts(vec![artifact]));
    ctx.records().add(call.build().unwrap());
    for tool in ArtifactToolPolicy::Stable
        .build_tools(ctx.turn())
        .unwrap()
        .all()
    {
        ctx.tools().register(tool).unwrap();
    }
    ctx
}

/// The text that the model reads, which must be a refusal or a failure.
async fn message(ctx: &DispatchContext, tool: &str, args: Value) -> String {
    let record = ctx.call(tool, args).await;
    assert!(record.is_error(), "{tool}: {:?}", record.text().await);
    let renderer = Renderer::new(ConversationSecret::from_bytes([1; 32]));
    let parts = renderer.tool_call(&record).await;
    let [Part::Text(text)] = parts.as_slice() else {
        panic!("{parts:?}")
    };
    assert!(text.len() < 2048, "short enough for a prompt: {text}");
    text.clone()
}

#[track_caller]
fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in: {text}");
    }
}

fn json_of(text: impl Into<bytes::Bytes>) -> DispatchContext {
    asked_of(MemoryReader::new(text), ArtifactKind::JSON)
}

#[tokio::test]
async fn invalid_json_is_reported_with_its_position_and_the_text_tools() {
    let ctx = json_of("{\"a\": 1,\n \"b\": oops!\n}");
    for tool in [
        "artifact_json_get",
        "artifact_json_keys",
        "artifact_json_type",
    ] {
        let text = message(&ctx, tool, json!({ "callId": "call-1", "path": "$.a" })).await;
        says(&text, &["line", "artifact_cat"]);
    }
}

#[tokio::test]
async fn a_document_of_100_000_levels_is_rejected_and_can_be_read_as_text() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let text = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let ctx = json_of(text);
        let answer = message(
            &ctx,
            "artifact_json_get",
            json!({ "callId": "call-1", "path": "$..x" }),
        )
        .await;
        says(&answer, &["levels", "artifact_"]);
        let head = ctx
            .call("artifact_head", json!({ "callId": "call-1" }))
            .await;
        assert!(!head.is_error());
        assert!(head.text().await.unwrap().starts_with(open));
    }
}

#[tokio::test]
async fn an_invalid_path_or_pattern_is_reported_with_a_hint() {
    let ctx = json_of("{\"a\": [1, 2]}");
    for path in ["a.b", ".a", "$.a[", "$[?@.x", "$..", "", "$.a[1", "$['a'"] {
        let text = message(
            &ctx,
            "artifact_json_get",
            json!({ "callId": "call-1", "path": path }),
        )
        .await;
        says(&text, &["$"]);
    }
    let nested = format!("$[?{}@.a{}]", "(".repeat(3_000), ")".repeat(3_000));
    message(
        &ctx,
        "artifact_json_get",
        json!({ "callId": "call-1", "path": nested }),
    )
    .await;
    for pattern in [
        "(",
        "[a",
        "a{2,1}",
        "(?<n",
        "*",
        "\\",
        "(?=x)",
        "x{1000}{1000}{1000}",
    ] {
        let text = message(
            &ctx,
            "artifact_grep",
            json!({ "callId": "call-1", "pattern": pattern }),
        )
        .await;
        says(&text, &["pattern"]);
    }
    let text = message(
        &ctx,
        "artifact_grep",
        json!({ "callId": "call-1", "pattern": "a", "flags": "gx" }),
    )
    .await;
    says(&text, &["/flags"]);
}

#[tokio::test]
async fn an_unknown_call_id_is_reported_with_the_readable_ones() {
    let ctx = json_of("{}");
    let tools = ctx.tools().all();
    assert!(tools.len() >= 14, "those of text and of JSON");
    for tool in tools {
        let mut args = json!({ "callId": "of-yesterday" });
        for required in tool.schema().document()["required"].as_array().unwrap() {
            match required.as_str().unwrap() {
                "callId" => {}
                "fields" => args["fields"] = json!(["a"]),
                "path" => args["path"] = json!("$"),
                other => args[other] = json!("@"),
            }
        }
        let text = message(&ctx, tool.name(), args).await;
        says(&text, &["/callId", "\"call-1\""]);
    }
}

#[tokio::test]
async fn a_read_error_midway_is_reported_with_its_position_and_without_partial_content() {
    let lines: String = (0..200_000).map(|n| format!("{{\"n\": {n}}}\n")).collect();
    let half = lines.len() as u64 / 2;
    let reader = TestReader::new(lines).fail_from(half);
    let ctx = asked_of(reader.clone(), ArtifactKind::JSON_LINES);
    for (tool, args) in [
        (
            "artifact_grep",
            json!({ "callId": "call-1", "pattern": "199999" }),
        ),
        ("artifact_tail", json!({ "callId": "call-1" })),
        (
            "artifact_cat",
            json!({ "callId": "call-1", "start": 199_000 }),
        ),
        ("artifact_line_count", json!({ "callId": "call-1" })),
        (
            "artifact_json_get",
            json!({ "callId": "call-1", "path": "$[199000].n" }),
        ),
        (
            "artifact_json_filter",
            json!({ "callId": "call-1", "where": "@.n > 5" }),
        ),
    ] {
        let text = message(&ctx, tool, args).await;
        says(&text, &["could not be read at byte", "Try again"]);
        assert!(
            !text.contains("told to fail"),
            "the reader's words are for operators: {text}"
        );
    }
    let head = ctx
        .call("artifact_head", json!({ "callId": "call-1", "n": 1 }))
        .await;
    assert_eq!(
        head.text().await.unwrap().lines().next(),
        Some("{\"n\": 0}"),
        "what can be read still is"
    );
    assert!(reader.bytes_read() <= half * 8);
}

#[tokio::test]
async fn short_reads_are_repeated_to_the_end() {
    let text: String = (0..500).map(|n| format!("line {n}\n")).collect();
    let reader = TestReader::new(text.clone()).at_most(7);
    let artifact = SpooledArtifact::new(Arc::new(reader), ArtifactKind::TEXT);
    assert_eq!(artifact.as_bytes().await.unwrap(), text.as_bytes());
    assert!(artifact.opening().await.unwrap().len() > 500);
}

#[tokio::test]
async fn the_text_of_a_failure_is_limited() {
    let ctx = json_of("{}");
    let asked = json!({ "callId": "call-1", "encoding": "x".repeat(100_000) });
    let record = ctx.call("artifact_estimate_tokens", asked).await;
    assert!(record.is_error() && record.text().await.unwrap().len() < 500);
    let loud = turnwright_core::Tool::dynamic("loud", json!({ "type": "object" }))
        .description("Fails at length.")
        .handler(|_: Value, _: turnwright_core::ToolContext| async {
            let message = "é".repeat(500_000);
            Err::<String, _>(turnwright_core::ToolError::internal("x").for_model(message))
        })
        .build()
        .unwrap();
    let text = loud.call_and_record(&ctx, "{}").await.text().await.unwrap();
    assert!(
        text.len() < 9_000 && text.ends_with("(991808 more bytes omitted)"),
        "{}",
        text.len()
    );
}
