//! Adds to a random document what other authors write and what cannot be enforced.

use serde_json::{Map, Value, json};

use super::super::documents::{Draft, NAMES};
use super::super::rng::Rng;
use super::super::walk::{escape, subschemas};

/// Patterns that do not run in linear time. The validator of the original supports them.
const PATTERNS: &[&str] = &["^(?!a)", "^(?=.*[a-z])", "(?<!b)c", "^(a|b).*\\1$"];

/// Returns the document with a few keywords that cannot be enforced.
pub(super) fn inject(document: &Value, rng: &mut Rng) -> Value {
    let mut document = document.clone();
    for _ in 0..rng.between(1, 4) {
        let mut places = Vec::new();
        subschemas(&document, &mut |pointer, _| places.push(pointer.to_owned()));
        let place = rng.pick(&places).clone();
        let draft = Draft::of(&document);
        let target = rng.pick(&places).clone();
        let Some(Value::Object(map)) = document.pointer_mut(&place) else {
            continue;
        };
        if draft == Draft::V7 && map.contains_key("$ref") {
            map.insert("maxLength".into(), json!(rng.below(4)));
            continue;
        }
        match rng.below(8) {
            0..=4 => assertion(map, draft, rng),
            5 => around(map, draft, !place.is_empty(), rng),
            6 => closed(map, draft, rng),
            _ => reference(map, &place, &target, rng),
        }
    }
    document
}

/// Adds one keyword that is not enforced.
fn assertion(map: &mut Map<String, Value>, draft: Draft, rng: &mut Rng) {
    let name = *rng.pick(NAMES);
    let (keyword, value) = match (rng.below(11), draft) {
        (0..=2, _) => ("pattern", json!(rng.pick(PATTERNS))),
        (3, _) => ("format", json!(rng.pick(&["json", "password", "uuid4"]))),
        (4, _) => ("minLenght", json!(3)),
        (5, _) => ("nullable", json!(true)),
        (6, _) => ("discriminator", json!({ "propertyName": name })),
        (7, _) => ("example", json!("a")),
        (8, Draft::V2020) => ("dependencies", json!({ name: { "required": ["a"] } })),
        (8, Draft::V7) => ("dependentRequired", json!({ name: ["a"] })),
        (9, Draft::V2020) => ("additionalItems", json!(false)),
        (9, Draft::V7) => ("unevaluatedProperties", json!(false)),
        _ => {
            let named = map.entry("patternProperties").or_insert(json!({}));
            let pattern = *rng.pick(PATTERNS);
            named[pattern] = json!({ "type": rng.pick(&["string", "integer"]) });
            return;
        }
    };
    map.entry(keyword).or_insert(value);
}

/// Uses a subschema where accepting more can mean rejecting more.
fn around(map: &mut Map<String, Value>, draft: Draft, replace: bool, rng: &mut Rng) {
    let inner = Value::Object(Map::from_iter([(
        "pattern".to_owned(),
        json!(rng.pick(PATTERNS)),
    )]));
    let name = *rng.pick(NAMES);
    let by_name = match draft {
        Draft::V2020 => "dependentSchemas",
        Draft::V7 => "dependencies",
    };
    let (keyword, value) = match rng.below(6) {
        0 => ("not", inner),
        1 => (
            "not",
            json!({ "properties": { name: inner }, "required": [name] }),
        ),
        2 => {
            if draft == Draft::V2020 {
                map.entry("maxContains").or_insert(json!(1));
            }
            ("contains", inner)
        }
        3 => (by_name, json!({ name: { "not": inner } })),
        4 => (
            "oneOf",
            json!([inner, { "maxLength": 3 }, { "type": "array" }]),
        ),
        _ => {
            map.entry("then").or_insert(json!({ "maxLength": 2 }));
            ("if", inner)
        }
    };
    if replace && rng.chance(30) {
        map.retain(|own, _| own == "maxContains" || own == "then");
    }
    map.entry(keyword).or_insert(value);
}

/// Rejects what the neighbours do not evaluate. One of them cannot be enforced.
fn closed(map: &mut Map<String, Value>, draft: Draft, rng: &mut Rng) {
    let name = *rng.pick(NAMES);
    let named = json!({ "properties": { name: { "pattern": rng.pick(PATTERNS) } } });
    let (keyword, value) = match rng.below(5) {
        0 => ("patternProperties", json!({ *rng.pick(PATTERNS): {} })),
        1 => ("if", named),
        2 => ("dependentSchemas", json!({ "a": named })),
        3 => (
            "oneOf",
            json!([named, { "properties": { "a": true }, "required": ["c"] }]),
        ),
        _ => ("allOf", json!([{ "if": named }])),
    };
    let rest = match draft {
        Draft::V2020 => "unevaluatedProperties",
        Draft::V7 => "additionalProperties",
    };
    if keyword != "dependentSchemas" || draft == Draft::V2020 {
        map.insert(keyword.into(), value);
    }
    map.shift_remove("additionalProperties");
    map.insert(rest.into(), json!(false));
}

/// Refers to another subschema, which may be inside something that is not enforced.
fn reference(map: &mut Map<String, Value>, place: &str, target: &str, rng: &mut Rng) {
    let text = format!("#{}", target.replace('%', "%25").replace('^', "%5E"));
    if target.is_empty() || text.contains(['"', '\\', ' ', '<', '(']) {
        return;
    }
    let name = *rng.pick(NAMES);
    // Through a property, so that it descends into the value.
    let named = map.entry("properties").or_insert(json!({}));
    let inside = format!("{place}/properties/{}", escape(name));
    if named.get(name).is_none() && !target.starts_with(&inside) {
        named[name] = json!({ "$ref": text });
    }
}
