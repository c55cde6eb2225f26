//! How two JSON values differ, line by line.

use std::fmt;

use serde_json::Value;
use turnwright_core::checksum_of_value;

use crate::pointer::join;

/// How many characters of a value are shown.
const SHOWN: usize = 80;
/// How many characters of a string are shown before the place where it differs.
const BEFORE: usize = 20;

/// One place where two values differ.
#[derive(Debug, PartialEq)]
pub(super) struct Difference<'v> {
    pub(super) pointer: String,
    pub(super) what: What<'v>,
}

#[derive(Debug, PartialEq)]
pub(super) enum What<'v> {
    Added(&'v Value),
    Removed(&'v Value),
    Changed { recorded: &'v Value, now: &'v Value },
}

/// All differences, in the order of the recorded value. Recursive: values are what the parser read, which refuses what is
/// deeper than 128.
pub(super) fn diff<'v>(recorded: &'v Value, now: &'v Value) -> Vec<Difference<'v>> {
    let mut found = Vec::new();
    compare("", recorded, now, &mut found);
    found
}

fn compare<'v>(
    pointer: &str,
    recorded: &'v Value,
    now: &'v Value,
    found: &mut Vec<Difference<'v>>,
) {
    match (recorded, now) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, recorded) in before {
                let at = join(pointer, name);
                match after.get(name) {
                    Some(now) => compare(&at, recorded, now, found),
                    None => found.push(Difference {
                        pointer: at,
                        what: What::Removed(recorded),
                    }),
                }
            }
            let added = after.iter().filter(|(name, _)| !before.contains_key(*name));
            found.extend(added.map(|(name, now)| Difference {
                pointer: join(pointer, name),
                what: What::Added(now),
            }));
        }
        (Value::Array(before), Value::Array(after)) => {
            for at in 0..before.len().max(after.len()) {
                let pointer = format!("{pointer}/{at}");
                let what = match (before.get(at), after.get(at)) {
                    (Some(recorded), Some(now)) => {
                        compare(&pointer, recorded, now, found);
                        continue;
                    }
                    (Some(recorded), None) => What::Removed(recorded),
                    (None, Some(now)) => What::Added(now),
                    (None, None) => break,
                };
                found.push(Difference { pointer, what });
            }
        }
        // Numbers are the same by what they are, not by how they are spelled, as in the keys of requests.
        (Value::Number(_), Value::Number(_))
            if checksum_of_value("", recorded) == checksum_of_value("", now) => {}
        _ if recorded == now => {}
        _ => found.push(Difference {
            pointer: pointer.to_owned(),
            what: What::Changed { recorded, now },
        }),
    }
}

impl Difference<'_> {
    /// How much differs: the number of values within.
    pub(super) fn weight(&self) -> usize {
        match self.what {
            What::Added(value) | What::Removed(value) => size(value),
            What::Changed { recorded, now } => size(recorded).max(size(now)),
        }
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
        match self.what {
            What::Added(value) => write!(f, "+ {pointer}: {}", shown(value, 0)),
            What::Removed(value) => write!(f, "- {pointer}: {}", shown(value, 0)),
            What::Changed { recorded, now } => {
                let from = match (recorded, now) {
                    (Value::String(a), Value::String(b)) => common(a, b).saturating_sub(BEFORE),
                    _ => 0,
                };
                let (recorded, now) = (shown(recorded, from), shown(now, from));
                write!(f, "{pointer}: recorded {recorded}, now {now}")
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
    let from = if text.chars().nth(SHOWN).is_some() {
        from
    } else {
        0
    };
    Value::String(cut(text, from)).to_string()
}

fn cut(text: &str, from: usize) -> String {
    let mut rest = text.chars().skip(from);
    let mut cut: String = if from > 0 {
        "…".into()
    } else {
        String::new()
    };
    cut.extend(rest.by_ref().take(SHOWN));
    if rest.next().is_some() {
        cut.push('…');
    }
    cut
}
