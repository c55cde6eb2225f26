//! How two JSON values differ, line by line.

use std::fmt;

use serde_json::Value;
use turnwright_core::call::checksum;

use crate::pointer::join;

/// How many characters of a value are shown.
const SHOWN: usize = 80;
/// How many characters of a string are shown before the place where it differs.
const BEFORE: usize = 20;

/// One place where two values differ. `None` where there is nothing.
#[derive(Debug, PartialEq)]
pub(super) struct Difference<'v> {
    pub(super) pointer: String,
    pub(super) recorded: Option<&'v Value>,
    pub(super) now: Option<&'v Value>,
}

/// All differences, in the order of the recorded value. Recursive: values are what the parser read, which rejects what is
/// deeper than 128.
pub(super) fn diff<'v>(recorded: &'v Value, now: &'v Value) -> Vec<Difference<'v>> {
    let mut found = Vec::new();
    compare(String::new(), Some(recorded), Some(now), &mut found);
    found
}

fn compare<'v>(
    pointer: String,
    recorded: Option<&'v Value>,
    now: Option<&'v Value>,
    found: &mut Vec<Difference<'v>>,
) {
    match (recorded, now) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let added = after.keys().filter(|name| !before.contains_key(*name));
            for name in before.keys().chain(added) {
                compare(
                    join(&pointer, name),
                    before.get(name),
                    after.get(name),
                    found,
                );
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for at in 0..before.len().max(after.len()) {
                compare(join(&pointer, at), before.get(at), after.get(at), found);
            }
        }
        // Numbers are the same by what they are, not by how they are spelled, as in the keys of requests.
        (Some(a @ Value::Number(_)), Some(b @ Value::Number(_)))
            if checksum("", a.clone()) == checksum("", b.clone()) => {}
        _ if recorded == now => {}
        _ => found.push(Difference {
            pointer,
            recorded,
            now,
        }),
    }
}

impl Difference<'_> {
    /// How much differs: the number of values within.
    pub(super) fn weight(&self) -> usize {
        self.recorded.map_or(0, size).max(self.now.map_or(0, size))
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = match self.pointer.as_str() {
            "" => "the body",
            pointer => pointer,
        };
        match (self.recorded, self.now) {
            (Some(recorded), Some(now)) => {
                let from = match (recorded, now) {
                    (Value::String(a), Value::String(b)) => common(a, b).saturating_sub(BEFORE),
                    _ => 0,
                };
                let (recorded, now) = (shown(recorded, from), shown(now, from));
                write!(f, "{pointer}: recorded {recorded}, now {now}")
            }
            (recorded, now) => {
                let sign = if now.is_some() { '+' } else { '-' };
                let value = now.or(recorded).unwrap_or(&Value::Null);
                write!(f, "{sign} {pointer}: {}", shown(value, 0))
            }
        }
    }
}

/// How many characters two texts begin with together.
fn common(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// A value, cut: of a string what stands from that character on.
fn shown(value: &Value, from: usize) -> String {
    let Value::String(text) = value else {
        return cut(&value.to_string(), 0);
    };
    let long = text.chars().nth(SHOWN).is_some();
    Value::String(cut(text, if long { from } else { 0 })).to_string()
}

fn cut(text: &str, from: usize) -> String {
    let mut rest = text.chars().skip(from);
    let cut: String = rest.by_ref().take(SHOWN).collect();
    let mark = |cut_off: bool| if cut_off { "…" } else { "" };
    format!("{}{cut}{}", mark(from > 0), mark(rest.next().is_some()))
}
