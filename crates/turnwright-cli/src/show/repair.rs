//! Repairs in words.

use serde_json::Value;
use turnwright::schema::{Repair, RepairKind};

use crate::terminal::{fit, json, one_line};

/// The most columns of a value.
const VALUE: usize = 60;

/// Whether it is a default that was filled in.
pub(crate) fn is_default(repair: &Repair) -> bool {
    repair.kind == RepairKind::Default
}

/// A repair in a few words: `/days: "3" → 3`.
pub(crate) fn in_words(repair: &Repair) -> String {
    let shown = |value: &Option<Value>| match value {
        Some(value) => fit(&json(value), VALUE),
        None => "nothing".to_owned(),
    };
    let (before, after) = (shown(&repair.before), shown(&repair.after));
    let place = match repair.pointer.as_str() {
        "" => "the arguments".to_owned(),
        pointer => one_line(pointer, 80),
    };
    match repair.kind {
        RepairKind::Default => format!("{place}: {after}"),
        _ => format!("{place}: {before} → {after}"),
    }
}

/// The arguments without the defaults that were filled in.
pub(crate) fn as_written(args: &Value, repairs: &[Repair]) -> Value {
    let mut args = args.clone();
    if let Value::Object(args) = &mut args {
        for repair in repairs.iter().filter(|repair| is_default(repair)) {
            // Only at the top level: nested defaults are short.
            args.shift_remove(repair.pointer.trim_start_matches('/'));
        }
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use turnwright::schema::Schema;

    #[test]
    fn every_repair_has_words() {
        let schema = Schema::from_document(json!({
            "type": "object",
            "properties": {
                "n": { "type": "integer" },
                "m": { "type": "integer" },
                "yes": { "type": "boolean" },
                "tags": { "type": "array", "items": { "type": "string" } },
                "unit": { "type": "string", "default": "cm" },
                "note": { "type": "string" },
            },
        }));
        let args = r#"{"n": "7", "m": 7.0, "yes": "true", "tags": "[\"a\"]", "note": null}"#;
        let checked = schema.unwrap().check(args).unwrap();
        let mut texts: Vec<String> = checked.repairs().iter().map(in_words).collect();
        texts.sort();
        assert_eq!(
            texts,
            [
                "/m: 7.0 → 7",
                "/n: \"7\" → 7",
                "/note: null → nothing",
                "/tags: \"[\\\"a\\\"]\" → [\"a\"]",
                "/unit: \"cm\"",
                "/yes: \"true\" → true",
            ]
        );
        let written = json!({ "n": 7, "m": 7, "yes": true, "tags": ["a"] });
        assert_eq!(as_written(checked.value(), checked.repairs()), written);
    }
}
