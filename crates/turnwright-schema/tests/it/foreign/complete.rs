//! Every keyword of an original is published or listed as not enforced. Compares the two documents without the code
//! that made one of the other.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use turnwright_schema::Schema;

use crate::differential::walk::{LIST, NAMED, ONE, escape};

/// Returns every keyword that disappeared or changed without being listed.
pub(super) fn silently_ignored(schema: &Schema) -> Vec<String> {
    let listed = schema.unenforced().iter();
    let mut comparison = Comparison {
        listed: listed.map(|entry| entry.pointer.as_str()).collect(),
        found: Vec::new(),
    };
    comparison.compare(schema.original(), schema.document(), "");
    comparison.found
}

struct Comparison<'s> {
    listed: BTreeSet<&'s str>,
    found: Vec<String>,
}

impl Comparison<'_> {
    fn compare(&mut self, original: &Value, published: &Value, at: &str) {
        if self.listed.contains(at) {
            return;
        }
        let (Value::Object(original), Value::Object(published)) = (original, published) else {
            if original != published {
                self.found
                    .push(format!("{at}: {original} became {published}"));
            }
            return;
        };
        for (keyword, rule) in original {
            let at = format!("{at}/{}", escape(keyword));
            if self.listed.contains(at.as_str()) {
                continue;
            }
            match (rule, published.get(keyword)) {
                (Value::Object(rules), Some(Value::Object(written)))
                    if NAMED.contains(&keyword.as_str()) =>
                {
                    for (name, rule) in rules {
                        let at = format!("{at}/{}", escape(name));
                        self.compare(rule, written.get(name).unwrap_or(&Value::Null), &at);
                    }
                }
                (Value::Array(rules), Some(Value::Array(written)))
                    if LIST.contains(&keyword.as_str()) && rules.len() == written.len() =>
                {
                    for (index, (rule, written)) in rules.iter().zip(written).enumerate() {
                        self.compare(rule, written, &format!("{at}/{index}"));
                    }
                }
                (rule, Some(written)) if ONE.contains(&keyword.as_str()) => {
                    self.compare(rule, written, &at);
                }
                (rule, written) if means_the_same(keyword, rule, written, original, published) => {}
                (rule, written) => self.found.push(format!(
                    "{at}: {rule} became {}",
                    written.unwrap_or(&Value::Null)
                )),
            }
        }
    }
}

fn means_the_same(
    keyword: &str,
    rule: &Value,
    written: Option<&Value>,
    original: &Map<String, Value>,
    published: &Map<String, Value>,
) -> bool {
    if Some(rule) == written {
        return true;
    }
    match keyword {
        "$schema" => written.is_some(),
        // Next to a `$ref` of draft 7, the root's `type` would be ignored.
        "$ref" => published.get("allOf") == Some(&json!([{ "$ref": rule }])),
        "description" => written.is_some_and(|text| {
            let (own, text) = (rule.as_str().unwrap(), text.as_str().unwrap());
            text.starts_with(own)
        }),
        // As bounds. Every number is a `double`.
        "format" if rule == "double" => true,
        "format" => published.contains_key("minimum") && published.contains_key("maximum"),
        "minimum" | "maximum" if original.contains_key("format") => written.is_some(),
        "minimum" => published.get("exclusiveMinimum") == Some(rule),
        "exclusiveMinimum" => written == original.get("minimum"),
        "type" => original.contains_key("nullable") && written == Some(&json!([rule, "null"])),
        "required" => {
            let names = |value: &Value| -> BTreeSet<String> {
                let names = value.as_array().into_iter().flatten();
                names
                    .map(|name| name.as_str().unwrap().to_owned())
                    .collect()
            };
            written.is_some_and(|written| names(written) == names(rule))
        }
        _ => false,
    }
}
