use std::sync::Arc;

use super::super::SpooledJsonArtifact;
use super::{FarReader, far, json, of_kind, path, refused, wait};
use crate::artifact::{ArtifactKind, ArtifactLimits};
use crate::error::ErrorCode;

fn refusal(artifact: &SpooledJsonArtifact, code: ErrorCode) -> String {
    let by_get = refused(wait(artifact.json_get(&path("$[*]"), 0)), code);
    let by_length = refused(wait(artifact.json_length(&path("$"), 0)), code);
    assert_eq!(by_get, by_length);
    by_get
}

#[test]
fn empty_content_is_rejected() {
    for text in ["", " \n\t\n", "\u{feff}"] {
        for kind in [ArtifactKind::JSON, ArtifactKind::JSON_LINES] {
            let refusal = refusal(&of_kind(text, kind), ErrorCode::ARTIFACT_MALFORMED);
            assert!(refusal.contains("is empty"), "{kind}: {refusal}");
        }
    }
}

#[test]
fn invalid_content_reports_the_error() {
    let refusal = refusal(
        &json("{\n \"a\": 1,\n \"b\" 2\n}"),
        ErrorCode::ARTIFACT_MALFORMED,
    );
    assert_eq!(
        refusal,
        "The artifact is not valid JSON: expected `:` at line 2, column 6 (line numbers start at 0). Read it as text with artifact_grep or artifact_cat."
    );
    let binary = refusal_of_bytes(b"\xff\xfe{\"a\":1}");
    assert!(binary.contains("expected value at line 0"), "{binary}");
}

fn refusal_of_bytes(bytes: &'static [u8]) -> String {
    refusal(&json(bytes), ErrorCode::ARTIFACT_MALFORMED)
}

#[test]
fn documents_that_are_nested_too_deeply_are_rejected() {
    let closed = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for deep in [closed, "{\"a\":".repeat(100_000)] {
        let refusal = refusal(&json(deep), ErrorCode::ARTIFACT_MALFORMED);
        assert!(
            refusal.contains("nested more than 128 levels deep"),
            "{refusal}"
        );
    }
    let deepest = format!("{}1{}", "[".repeat(127), "]".repeat(127));
    let nodes = wait(json(deepest).json_get(&path("$..*"), 0)).unwrap();
    assert!(nodes.contains("of 127, counted from 0"), "{nodes}");
    let lines = format!("[1]\n{}1{}\n", "[".repeat(1000), "]".repeat(1000));
    let answer = super::get(&json(lines), "$[*]");
    assert_eq!(
        answer,
        "$[0]: [1]\n[1 node]\n[skipped lines: 1 not valid JSON (first: line 1, nested more than 128 levels deep)]"
    );
}

#[test]
fn a_document_over_the_limit_is_read_as_text() {
    let artifact = json(format!("[{}1]", "1,".repeat(1000)));
    let artifact = artifact
        .0
        .with_limits(ArtifactLimits::default().parse(2000));
    let refusal = refusal(
        &SpooledJsonArtifact::new(artifact),
        ErrorCode::ARTIFACT_TOO_LARGE,
    );
    assert_eq!(
        refusal,
        "The artifact is too large for JSON queries: 2003 bytes, limit 2000 bytes. Read it as text with artifact_grep or artifact_cat."
    );
}

#[test]
fn invalid_records_are_skipped_and_reported() {
    let lines = json("{\"a\":1}\n{\"a\":\n\n{\"a\":2}\noops\n");
    let nodes = wait(lines.json_get(&path("$[*].a"), 0)).unwrap();
    assert_eq!(
        nodes,
        "$[0]['a']: 1\n$[1]['a']: 2\n[2 nodes]\n\
         [skipped lines: 2 not valid JSON (first: line 1, EOF while parsing a value)]"
    );
}

#[test]
fn content_without_any_json_line_is_malformed() {
    let lines = of_kind("oops\n{\"a\"\n", ArtifactKind::JSON_LINES);
    let refusal = refusal(&lines, ErrorCode::ARTIFACT_MALFORMED);
    assert!(
        refusal.starts_with("The artifact contains no JSON records. First error: expected"),
        "{refusal}"
    );
    let long = of_kind(
        format!("\"{}\"", "x".repeat(1 << 20)),
        ArtifactKind::JSON_LINES,
    );
    let refusal = refused(
        wait(long.json_length(&path("$"), 0)),
        ErrorCode::ARTIFACT_MALFORMED,
    );
    assert!(refusal.contains("exceeds the record limit"), "{refusal}");
}

#[test]
fn a_read_error_midway_is_reported() {
    let text = "{\"a\":1}\n".repeat(100_000);
    for kind in [ArtifactKind::JSON, ArtifactKind::JSON_LINES] {
        for good in [0, 300_000] {
            let reader = Arc::new(FarReader::new(text.clone()).failing_at(good));
            let refusal = refused(
                wait(far(&reader, kind).json_get(&path("$[*]"), 0)),
                ErrorCode::ARTIFACT_UNREADABLE,
            );
            assert!(refusal.contains("could not be read at byte"), "{refusal}");
        }
    }
}

#[test]
fn a_scan_ends_when_its_future_is_dropped() {
    let reader = Arc::new(FarReader::new("{\"a\":1}\n".repeat(1_000_000)));
    let artifact = far(&reader, ArtifactKind::JSON_LINES);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let everything = path("$[*]");
        let scan = artifact.json_get(&everything, 0);
        // Started and then dropped.
        let _ = tokio::time::timeout(std::time::Duration::ZERO, scan).await;
    });
    // Waits for the thread.
    drop(runtime);
    let asked = reader.asked.lock().len();
    assert!(asked < 30, "{asked} of 31 blocks were read");
}

#[test]
fn a_step_of_0_is_rejected() {
    let refusal = refused(
        wait(json("[1]").json_slice(&path("$"), None, None, Some(0))),
        ErrorCode::ARTIFACT_QUERY,
    );
    assert!(refusal.contains("Use 1 to go forward"), "{refusal}");
}
