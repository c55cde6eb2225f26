use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use super::super::JsonPath;
use super::super::content::Content;
use super::{
    FarReader, SpooledJsonArtifact, costs_too_much, far, generate, of_kind, path, paths, wait,
};
use crate::artifact::{ArtifactKind, ArtifactLimits};
use crate::error::Error;

type Found = Vec<(String, Value)>;

/// Every node that the scan finds.
fn scan(artifact: &SpooledJsonArtifact, path: &JsonPath) -> Result<Found, Error> {
    let (path, limits) = (path.clone(), artifact.0.limits());
    wait(artifact.0.read_with(move |read| {
        let mut content = Content::open(&read, ArtifactKind::JSON_LINES, limits)?;
        let mut found = Vec::new();
        content.select(&path, &mut |place, node| {
            found.push((place.path(), node.clone()));
        })?;
        Ok(found)
    }))
}

fn of_array(path: &JsonPath, records: &[Value]) -> Found {
    let all = Value::Array(records.to_vec());
    let nodes = path.query(&all).unwrap();
    nodes
        .into_iter()
        .map(|node| (node.path, node.value.clone()))
        .collect()
}

/// A line of a file: a record, or something between records.
#[derive(Clone, Debug)]
enum Entry {
    Record(Value),
    Noise(&'static str),
}

fn entry() -> impl Strategy<Value = Entry> {
    let noise = [
        "",
        "  \t",
        "{\"a\":",
        "oops",
        "{\"a\":1e999}",
        "\"\\ud800\"",
        "1 2",
        "[1,]",
        "\u{feff}7",
    ];
    prop_oneof![
        5 => generate::value().prop_map(Entry::Record),
        1 => proptest::sample::select(noise.to_vec()).prop_map(Entry::Noise),
    ]
}

proptest! {

    #[test]
    fn json_lines_answer_like_the_array_of_their_records(
        entries in vec(entry(), 0..9),
        text in generate::path(true),
        ends in prop_oneof![Just("\n"), Just("\r\n")],
        last in any::<bool>(),
        mark in any::<bool>(),
    ) {
        let mut records = Vec::new();
        let mut lines = Vec::new();
        for entry in entries {
            match entry {
                Entry::Noise(text) => lines.push(text.to_owned()),
                Entry::Record(record) => {
                    lines.push(record.to_string());
                    records.push(record);
                }
            }
        }
        // A byte order mark is skipped once, at the start.
        let mark = mark || lines.first().is_some_and(|line| line.starts_with('\u{feff}'));
        let mut file = String::from(if mark { "\u{feff}" } else { "" });
        file += &lines.join(ends);
        file += if last { ends } else { "" };
        let path = JsonPath::parse(&text).unwrap();
        let artifact = of_kind(file, ArtifactKind::JSON_LINES);
        let found = scan(&artifact, &path);
        // All records together may cost more than each one by itself.
        let all = path.query(&Value::Array(records.clone())).map(drop);
        prop_assume!(!costs_too_much(&found) && !costs_too_much(&all));
        match found {
            Ok(found) => prop_assert_eq!(found, of_array(&path, &records), "{}", text),
            Err(error) => {
                prop_assert!(records.is_empty(), "{}", error);
            }
        }
    }
}

#[test]
fn lines_longer_than_a_block_are_read() {
    let record = |n: usize, size: usize| serde_json::json!({ "n": n, "t": "é".repeat(size) });
    let sizes = [3, 200_000, 5, 131_072, 131_071, 400_000, 1, 0, 524_000, 2];
    let records: Vec<Value> = (0..).zip(sizes).map(|(n, size)| record(n, size)).collect();
    let mut lines: Vec<String> = records.iter().map(Value::to_string).collect();
    // Too long for a record.
    lines.insert(4, record(99, 600_000).to_string());
    let artifact = of_kind(lines.join("\n"), ArtifactKind::JSON_LINES);
    for text in ["$[*].n", "$[-3:].n", "$[7:2].n", "$[?@.n > 3].n", "$..n"] {
        assert_eq!(
            scan(&artifact, &path(text)).unwrap(),
            of_array(&path(text), &records),
            "{text}"
        );
    }
    let answer = wait(artifact.json_length(&path("$"), 0)).unwrap();
    assert_eq!(
        answer,
        "$: 10 elements (array)\n[skipped lines: 1 longer than 1 MiB (first: line 4)]"
    );
}

fn many(count: usize) -> String {
    (0..count)
        .map(|n| format!("{{\"n\":{n},\"text\":\"{}\"}}\n", "x".repeat(200)))
        .collect()
}

#[test]
fn lines_are_read_in_sequential_blocks() {
    let reader = Arc::new(FarReader::new(many(20_000)));
    let artifact = far(&reader, ArtifactKind::JSON_LINES);
    let nodes = wait(artifact.json_filter(&path("$"), "@.n > 19990", 0)).unwrap();
    assert!(nodes.ends_with("\n[9 nodes]"), "{nodes}");
    let asked = reader.asked.lock();
    let mut at = 0;
    for range in asked.iter() {
        assert_eq!(range.start, at);
        assert!(range.end - range.start <= 256 * 1024);
        at = range.end;
    }
    assert_eq!(at, artifact.0.byte_length());
}

#[test]
fn only_the_needed_part_is_read() {
    let reader = Arc::new(FarReader::new(many(20_000)));
    let artifact = far(&reader, ArtifactKind::JSON);
    let one = wait(artifact.json_get(&path("$[3].n"), 0)).unwrap();
    assert_eq!(one, "$[3]['n']: 3\n[1 node]");
    let types = wait(artifact.json_type(&path("$"))).unwrap();
    assert!(types.starts_with("array\n"), "{types}");
    let three = wait(artifact.json_slice(&path("$"), Some(2), Some(5), None)).unwrap();
    assert!(three.ends_with("[3 nodes]"), "{three}");
    let last = reader.asked.lock().iter().map(|range| range.end).max();
    assert_eq!(last, Some(256 * 1024));
}

#[test]
fn a_large_file_is_queried_without_loading_it() {
    // Nothing of this may be loaded completely.
    let reader = Arc::new(FarReader::new(many(30_000)));
    let artifact = far(&reader, ArtifactKind::JSON);
    let limits = ArtifactLimits::default().parse(1024);
    let artifact = SpooledJsonArtifact::new(artifact.0.with_limits(limits));
    let nodes = wait(artifact.json_slice(&path("$"), Some(-3), None, None)).unwrap();
    assert_eq!(paths(&nodes), ["$[29997]", "$[29998]", "$[29999]"]);
    let first = wait(artifact.json_get(&path("$[-30000].n"), 0)).unwrap();
    assert_eq!(paths(&first), ["$[0]['n']"]);
    let none = wait(artifact.json_get(&path("$[-30001].n"), 0)).unwrap();
    assert!(none.contains("matches nothing"), "{none}");
}

#[test]
fn a_path_that_needs_all_records_is_limited_by_size() {
    let artifact = of_kind(many(100), ArtifactKind::JSON);
    let nodes = wait(artifact.json_get(&path("$[?@.n == value($[-1:].n)].n"), 0)).unwrap();
    assert_eq!(paths(&nodes)[0], "$[99]['n']");
    let limits = ArtifactLimits::default().parse(1024);
    let artifact = SpooledJsonArtifact::new(artifact.0.with_limits(limits));
    let error = wait(artifact.json_get(&path("$[?@.n == value($[-1:].n)].n"), 0)).unwrap_err();
    assert_eq!(error.code(), crate::error::ErrorCode::ARTIFACT_TOO_LARGE);
    assert!(
        error.model_text().contains("write it into the filter"),
        "{error}"
    );
    let error = wait(artifact.json_get(&path("$[::-1]"), 0)).unwrap_err();
    assert!(error.model_text().contains("`$[-10:]`"), "{error}");
}
