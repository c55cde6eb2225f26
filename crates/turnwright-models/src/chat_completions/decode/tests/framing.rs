use serde_json::json;
use turnwright_core::ErrorCode;

use super::{decode, delta, deltas_of, error_of, finish, stream};
use crate::decode::Delta;

#[test]
fn all_line_endings_comments_and_byte_order_mark_are_accepted() {
    let text = stream(&[delta(json!({ "content": "a" })), finish("stop")]);
    let commented = text.replace("data:", ": PROCESSING\n\nevent: message\nid: 1\ndata:");
    for text in [text, commented] {
        for ending in ["\n", "\r\n", "\r"] {
            let text = format!("\u{FEFF}{}", text.replace('\n', ending));
            for content_type in [None, Some("text/event-stream"), Some("application/json")] {
                let reply = decode(content_type, text.as_bytes()).unwrap();
                assert_eq!(reply.text, "a", "{text:?}");
                assert!(reply.is_complete() && reply.done);
            }
        }
    }
}

#[test]
fn stream_may_end_without_done_or_blank_line() {
    let text = format!(
        "data: {}\n\ndata: {}",
        delta(json!({ "content": "a" })),
        finish("stop")
    );
    let reply = decode(None, text.as_bytes()).unwrap();
    assert_eq!(reply.text, "a");
    assert!(reply.is_complete());
    assert!(!reply.done);
}

#[test]
fn data_after_done_is_ignored() {
    let text = stream(&[delta(json!({ "content": "a" }))]);
    for more in [
        "data: [DONE]\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n",
        "data: no\n\n",
        "data: \u{0}",
    ] {
        let text = format!("{text}{more}");
        let deltas = deltas_of(&text);
        assert_eq!(deltas, [Delta::Text("a".to_owned()), Delta::Done]);
    }
}

#[test]
fn blank_events_are_ignored() {
    let text = "data:\n\ndata: {}\n\ndata: {\"type\":\"ping\"}\n\ndata: {\"choices\":null}\n\ndata: {\"choices\":[{}]}\n\ndata: {\"choices\":[{\"delta\":null}]}\n\n";
    assert_eq!(deltas_of(text), []);
}

#[test]
fn multi_line_data_is_joined() {
    let text = "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"a\"}}]}\n\n";
    assert_eq!(deltas_of(text), [Delta::Text("a".to_owned())]);
}

#[test]
fn body_is_detected_by_its_opening_brace() {
    let text = "{\"choices\":[{\"message\":{\"content\":\"a\"}}]}";
    for content_type in [
        None,
        Some("text/event-stream"),
        Some("text/plain; charset=utf-8"),
    ] {
        for text in [
            text.to_owned(),
            format!(" \r\n\t{text}\n"),
            format!("\u{FEFF}{text}"),
        ] {
            let reply = decode(content_type, text.as_bytes()).unwrap();
            assert_eq!(reply.text, "a");
            assert!(reply.done);
        }
    }
}

#[test]
fn html_page_is_rejected() {
    let page = format!("<!DOCTYPE html>\n<html>\u{7}{}", "x".repeat(1_000));
    for content_type in ["text/html", "text/event-stream", "application/json"] {
        let error = error_of(Some(content_type), &page);
        assert_eq!(error.code(), ErrorCode::WIRE_ERROR);
        assert_eq!(
            error.message(),
            format!(
                "the response is {content_type}, and a web page, not an answer of a model: this looks like a proxy's login or error page, or the base URL is wrong. It starts with: <!DOCTYPE html> <html>\\u{{7}}{}…",
                "x".repeat(80 - 30)
            )
        );
    }
    let error = error_of(None, "Not here");
    assert!(error.message().contains("has no content type"), "{error}");
    assert!(error.message().ends_with("Not here"), "{error}");
}

#[test]
fn empty_response_is_rejected() {
    for text in ["", " \n\n", "\u{FEFF}"] {
        for content_type in [None, Some("text/event-stream"), Some("application/json")] {
            let error = error_of(content_type, text);
            assert_eq!(error.code(), ErrorCode::WIRE_ERROR);
            assert_eq!(error.message(), "the response is empty");
        }
    }
}

#[test]
fn truncated_stream_keeps_earlier_deltas() {
    let text = format!(
        "data: {}\n\ndata: {{\"choi",
        delta(json!({ "content": "a" }))
    );
    let mut decoder = super::decoder(None);
    let mut deltas = Vec::new();
    decoder.push(text.as_bytes(), &mut deltas).unwrap();
    let error = decoder.finish(&mut deltas).unwrap_err();
    assert_eq!(error.code(), ErrorCode::WIRE_ERROR);
    assert_eq!(deltas, [Delta::Text("a".to_owned())]);
}

#[test]
fn result_does_not_depend_on_chunk_boundaries() {
    let text = format!(
        "\u{FEFF}: c\r\n\r\n{}",
        stream(&[delta(json!({ "content": "ä€" })), finish("stop")])
    );
    let complete = deltas_of(&text);
    for first in 0..text.len() {
        let mut decoder = super::decoder(Some("application/octet-stream"));
        let mut deltas = Vec::new();
        let (one, two) = text.as_bytes().split_at(first);
        decoder.push(one, &mut deltas).unwrap();
        decoder.push(&[], &mut deltas).unwrap();
        decoder.push(two, &mut deltas).unwrap();
        decoder.finish(&mut deltas).unwrap();
        assert_eq!(deltas, complete);
    }
}
