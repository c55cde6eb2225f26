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
fn nothing_is_no_json() {
    for text in ["", " \n\t\n", "\u{feff}"] {
        for kind in [
            ArtifactKind::JSON,
            ArtifactKind::JSON_LINES,
            ArtifactKind::JSON5,
        ] {
            let refusal = refusal(&of_kind(text, kind), ErrorCode::ARTIFACT_MALFORMED);
            assert!(refusal.contains("is empty"), "{kind}: {refusal}");
        }
    }
}

#[test]
fn what_is_neither_json_nor_json5_is_told_both_places() {
    let refusal = refusal(
        &json("{\n \"a\": 1,\n \"b\" 2\n}"),
        ErrorCode::ARTIFACT_MALFORMED,
    );
    assert_eq!(
        refusal,
        "The artifact is no JSON: expected `:` in line 2, column 6; nor JSON5: expected `:` in line 2 (lines count from \
         0). Read it as text: artifact_grep, artifact_cat."
    );
    let binary = refusal_of_bytes(b"\xff\xfe{\"a\":1}");
    assert!(binary.contains("no UTF-8 from byte 0 on"), "{binary}");
}

fn refusal_of_bytes(bytes: &'static [u8]) -> String {
    refusal(&json(bytes), ErrorCode::ARTIFACT_MALFORMED)
}

#[test]
fn documents_that_nest_too_deeply_are_told() {
    for kind in [ArtifactKind::JSON, ArtifactKind::JSON5] {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let refusal = refusal(&of_kind(deep, kind), ErrorCode::ARTIFACT_MALFORMED);
        assert!(
            refusal.contains("nested deeper than 128 levels"),
            "{refusal}"
        );
        let open = "{\"a\":".repeat(100_000);
        let refusal =
            super::bad_content::refusal(&of_kind(open, kind), ErrorCode::ARTIFACT_MALFORMED);
        assert!(
            refusal.contains("nested deeper than 128 levels"),
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
        "$[0]: [1]\n[1 node]\n[lines left out: 1 that are no JSON (the first: line 1, nested deeper than 128 levels)]"
    );
}

#[test]
fn a_document_over_the_limit_is_read_as_text() {
    let artifact = json(format!("[{}1]", "1,".repeat(1000)));
    let artifact = (*artifact)
        .clone()
        .with_limits(ArtifactLimits::default().parse(2000));
    let refusal = refusal(
        &SpooledJsonArtifact::new(artifact),
        ErrorCode::ARTIFACT_TOO_LARGE,
    );
    assert_eq!(
        refusal,
        "The artifact has 2003 bytes, and JSON is parsed up to 2000 bytes. Read it as text: artifact_grep, artifact_cat."
    );
    let lines = of_kind("[1]\n".repeat(1000), ArtifactKind::JSON5);
    let lines = (*lines)
        .clone()
        .with_limits(ArtifactLimits::default().parse(2000));
    let refusal = refused(
        wait(SpooledJsonArtifact::new(lines).json_get(&path("$"), 0)),
        ErrorCode::ARTIFACT_TOO_LARGE,
    );
    assert!(refusal.contains("kind jsonl"), "{refusal}");
}

#[test]
fn broken_records_are_left_out_and_told() {
    let lines = json("{\"a\":1}\n{\"a\":\n\n{\"a\":2}\noops\n");
    let nodes = wait(lines.json_get(&path("$[*].a"), 0)).unwrap();
    assert_eq!(
        nodes,
        "$[0]['a']: 1\n$[1]['a']: 2\n[2 nodes]\n\
         [lines left out: 2 that are no JSON (the first: line 1, EOF while parsing a value)]"
    );
}

#[test]
fn lines_of_which_none_is_json_are_malformed() {
    let lines = of_kind("oops\n{\"a\"\n", ArtifactKind::JSON_LINES);
    let refusal = refusal(&lines, ErrorCode::ARTIFACT_MALFORMED);
    assert!(
        refusal.starts_with("No line of the artifact is JSON; line 0 (counted from 0): expected"),
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
    assert!(refusal.contains("too long for a record"), "{refusal}");
}

#[test]
fn a_reader_that_fails_half_way_is_told() {
    let text = "{\"a\":1}\n".repeat(100_000);
    for kind in [
        ArtifactKind::JSON,
        ArtifactKind::JSON_LINES,
        ArtifactKind::JSON5,
    ] {
        for good in [0, 300_000] {
            let reader = Arc::new(FarReader::new(text.clone()).failing_at(good));
            let refusal = refused(
                wait(far(&reader, kind).json_get(&path("$[*]"), 0)),
                ErrorCode::ARTIFACT_UNREADABLE,
            );
            assert!(refusal.contains("could not be read at byte"), "{refusal}");
        }
        let reader = Arc::new(FarReader::new(text.clone()).failing_at(300_000));
        let backward = wait(far(&reader, kind).json_get(&path("$[::-1]"), 0));
        refused(backward, ErrorCode::ARTIFACT_UNREADABLE);
    }
}

#[test]
fn a_scan_ends_when_nobody_waits_any_more() {
    let reader = Arc::new(FarReader::new("{\"a\":1}\n".repeat(1_000_000)));
    let artifact = far(&reader, ArtifactKind::JSON_LINES);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let everything = path("$[*]");
        let scan = artifact.json_get(&everything, 0);
        // Begun, and then given up.
        let _ = tokio::time::timeout(std::time::Duration::ZERO, scan).await;
    });
    // Waits for the thread.
    drop(runtime);
    let asked = reader.asked.lock().len();
    assert!(asked < 30, "{asked} of 31 blocks were read");
}

#[test]
fn a_step_of_nothing_is_refused() {
    let refusal = refused(
        wait(json("[1]").json_slice(&path("$"), None, None, Some(0))),
        ErrorCode::ARTIFACT_QUERY,
    );
    assert!(refusal.contains("use 1 to go forward"), "{refusal}");
}
