//! Tests of framing and of raw results.

use proptest::prelude::*;

use serde_json::json;

use super::line_reader::{Line, LineReader};
use super::raw_results::RawResults;

async fn lines(input: &[u8], limit: usize) -> Vec<Line> {
    let mut reader = LineReader::new(input, limit);
    let mut lines = Vec::new();
    while let Some(line) = reader.next().await.unwrap() {
        lines.push(line);
    }
    lines
}

fn complete(text: &str) -> Line {
    Line::Complete(text.into())
}

#[tokio::test]
async fn lines_end_at_a_newline_with_or_without_a_carriage_return() {
    let read = lines(b"one\r\ntwo\n\nthree", 10).await;
    assert_eq!(read, [complete("one"), complete("two"), complete("")]);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped_and_its_ends_are_kept() {
    let long = format!(
        "{}{}{}",
        "a".repeat(256),
        "b".repeat(5_000),
        "c".repeat(256)
    );
    let read = lines(format!("{long}\nnext\n").as_bytes(), 1_000).await;
    let skipped = Line::TooLong {
        head: "a".repeat(256).into(),
        tail: "c".repeat(256).into(),
    };
    assert_eq!(read, [skipped, complete("next")]);
}

#[tokio::test]
async fn a_line_that_does_not_end_is_an_error() {
    let endless = tokio::io::repeat(b'x');
    let error = LineReader::new(endless, 1_000).next().await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
}

proptest! {
    #[test]
    fn lines_are_the_same_however_the_bytes_arrive(
        texts in prop::collection::vec("[a-z]{0,40}", 0..6),
        chunk in 1_usize..9,
    ) {
        let input: String = texts.iter().flat_map(|text| [text, "\n"]).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let read = runtime.block_on(async {
            let (mut write, read) = tokio::io::duplex(chunk);
            let bytes = input.into_bytes();
            let feed = async move {
                tokio::io::AsyncWriteExt::write_all(&mut write, &bytes).await.unwrap();
            };
            let mut reader = LineReader::new(read, 20);
            let collect = async {
                let mut lines = Vec::new();
                while let Some(line) = reader.next().await.unwrap() {
                    lines.push(line);
                }
                lines
            };
            tokio::join!(feed, collect).1
        });
        prop_assert_eq!(read.len(), texts.len());
        for (line, text) in read.into_iter().zip(&texts) {
            match line {
                Line::Complete(line) => prop_assert_eq!(line, text.as_bytes()),
                Line::TooLong { .. } => prop_assert!(text.len() > 20),
            }
        }
    }
}

#[test]
fn a_late_answer_about_the_lifecycle_is_dropped() {
    let results = RawResults::default();
    let request = |id: i64, method: &str| {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" },
        });
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        serde_json::from_value(message).unwrap()
    };
    let error = |id: i64| {
        let error = json!({ "code": -32601, "message": "unknown" });
        json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
    };
    results.expect(&request(0, "server/discover"));
    assert!(results.read(error(0).as_bytes()).is_ok());
    // The client stops waiting and falls back to sessions.
    results.expect(&request(1, "initialize"));
    assert!(results.read(error(0).as_bytes()).is_err());
    assert!(results.read(error(1).as_bytes()).is_ok());
}
