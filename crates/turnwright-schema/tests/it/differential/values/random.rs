//! Random values that depend on the document only through the shared property names.

use serde_json::{Map, Value, json};

use super::super::documents::NAMES;
use super::super::rng::Rng;

pub(in super::super) fn object(rng: &mut Rng, depth: usize) -> Value {
    let count = rng.weighted(&[15, 30, 30, 15, 10]);
    let object: Map<String, Value> = (0..count)
        .map(|_| ((*rng.pick(NAMES)).to_string(), value(rng, depth + 1)))
        .collect();
    Value::Object(object)
}

pub(in super::super) fn value(rng: &mut Rng, depth: usize) -> Value {
    match rng.weighted(&[
        30,
        22,
        8,
        12,
        8,
        if depth < 4 { 12 } else { 0 },
        if depth < 4 { 8 } else { 0 },
    ]) {
        0 => json!(rng.pick(TEXTS)),
        1 => json!(rng.between(-10, 30)),
        2 => json!(rng.between(-40, 90) as f64 / 4.0),
        3 => json!(rng.chance(50)),
        4 => Value::Null,
        5 => object(rng, depth),
        _ => Value::Array((0..rng.below(4)).map(|_| value(rng, depth + 1)).collect()),
    }
}

/// Ordinary words, and strings that could be parsed as another type.
const TEXTS: &[&str] = &[
    "",
    "a",
    "abc",
    "red",
    "on",
    "hello world",
    "5",
    " 7 ",
    "-2.5",
    "1e1",
    ".5",
    "5.",
    "0x10",
    "1_000",
    "NaN",
    "true",
    " FALSE ",
    "null",
    "{}",
    "[]",
    "{\"a\":1}",
    "[1,\"b\"]",
    " {\"b\": \"5\"} ",
    "{\"a\":",
    "ABC-12",
    "2024-02-29",
];
