//! Random documents: nested, with unions, references, bounds, patterns, formats and defaults.

use serde_json::{Map, Value, json};

/// A stream of numbers; the same seed gives the same documents.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// Returns a complete document for a tool.
pub(crate) fn document(dice: &mut Dice) -> Value {
    let draft7 = dice.one_in(4);
    let mut document = object(dice, 3, draft7);
    let root = document.as_object_mut().unwrap();
    if draft7 {
        root.insert(
            "$schema".into(),
            json!("http://json-schema.org/draft-07/schema#"),
        );
    }
    let tree = json!({
        "type": "object",
        "properties": {
            "value": schema(dice, 1, draft7),
            "children": { "type": "array", "items": { "$ref": "#/$defs/tree" }, "maxItems": 3 },
        },
        "required": ["value"],
        "additionalProperties": false,
    });
    root.insert(
        "$defs".into(),
        json!({ "tree": tree, "leaf": scalar(dice, draft7) }),
    );
    if draft7 {
        // Draft 7 has another name for them.
        let text = document.to_string().replace("$defs", "definitions");
        return serde_json::from_str(&text).unwrap();
    }
    document
}

fn schema(dice: &mut Dice, depth: u64, draft7: bool) -> Value {
    if depth == 0 {
        return scalar(dice, draft7);
    }
    match dice.below(12) {
        0..=3 => scalar(dice, draft7),
        4 | 5 => object(dice, depth - 1, draft7),
        6 => array(dice, depth - 1, draft7),
        7 => {
            let branches: Vec<Value> = (0..2 + dice.below(2))
                .map(|_| schema(dice, depth - 1, draft7))
                .collect();
            let union = dice.pick(&["anyOf", "oneOf"]);
            json!({ union: branches })
        }
        8 => json!({ "$ref": dice.pick(&["#/$defs/tree", "#/$defs/leaf"]) }),
        9 => {
            let mut first = object(dice, depth - 1, draft7);
            first
                .as_object_mut()
                .unwrap()
                .shift_remove("additionalProperties");
            let mut second = object(dice, depth - 1, draft7);
            second
                .as_object_mut()
                .unwrap()
                .shift_remove("additionalProperties");
            json!({ "allOf": [first, second] })
        }
        10 => conditional(dice, draft7),
        _ => {
            let mut forbidding = scalar(dice, draft7);
            if let Some(object) = forbidding.as_object_mut() {
                object.insert(
                    "not".into(),
                    dice.pick(&[
                        json!({ "const": 3 }),
                        json!({ "enum": ["a", "red"] }),
                        json!({ "type": "null" }),
                    ]),
                );
            }
            forbidding
        }
    }
}

fn conditional(dice: &mut Dice, draft7: bool) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": { "kind": { "enum": ["a", "b"] }, "size": { "type": "integer" }, "more": scalar(dice, draft7) },
        "required": ["kind"],
        "if": { "properties": { "kind": { "const": "a" } } },
        "then": { "required": ["size"], "properties": { "size": { "minimum": 3 } } },
        "else": { "maxProperties": 2 },
    });
    if dice.one_in(2) {
        schema["properties"]["kind"]["default"] = json!("a");
    }
    schema
}

fn scalar(dice: &mut Dice, draft7: bool) -> Value {
    let mut schema = match dice.below(9) {
        0 => bounded(dice, "integer"),
        1 => bounded(dice, "number"),
        2 => json!({ "type": "boolean" }),
        3 => {
            let min = dice.below(4);
            json!({ "type": "string", "minLength": min, "maxLength": min + dice.below(9) })
        }
        4 => {
            json!({ "type": "string", "pattern": dice.pick(&["^[a-z]{2,5}$", "\\d", "^(ab|cd)+$", "^\\w+-\\d{2}$", "x"]) })
        }
        5 => {
            let formats = [
                "date",
                "date-time",
                "email",
                "ipv4",
                "ipv6",
                "uri",
                "hostname",
                "time",
                "json-pointer",
                "uuid",
                "duration",
            ];
            let known = if draft7 { &formats[..9] } else { &formats[..] };
            json!({ "type": "string", "format": dice.pick(known) })
        }
        6 => {
            json!({ "enum": dice.pick(&[json!(["red", "green"]), json!([1, 2, "three"]), json!([null, true, 5])]) })
        }
        7 => {
            json!({ "type": dice.pick(&[json!(["string", "null"]), json!(["integer", "string"]), json!(["number", "boolean", "null"])]) })
        }
        _ => json!({ "const": dice.pick(&[json!("fixed"), json!(7), json!({ "a": 1 })]) }),
    };
    if dice.one_in(5)
        && let Some(object) = schema.as_object_mut()
    {
        let default = match object.get("type").and_then(Value::as_str) {
            Some("boolean") => json!(true),
            Some("integer" | "number") => object.get("minimum").cloned().unwrap_or(json!(0)),
            _ => match (object.get("enum"), object.get("const")) {
                (Some(Value::Array(values)), _) => values[0].clone(),
                (_, Some(value)) => value.clone(),
                _ => return schema,
            },
        };
        object.insert("default".into(), default);
    }
    schema
}

fn bounded(dice: &mut Dice, kind: &str) -> Value {
    let low = dice.below(40) as i64 - 20;
    let mut schema = json!({ "type": kind });
    if dice.one_in(2) {
        schema[dice.pick(&["minimum", "exclusiveMinimum"])] = json!(low);
    }
    if dice.one_in(2) {
        schema[dice.pick(&["maximum", "exclusiveMaximum"])] =
            json!(low + 10 + dice.below(50) as i64);
    }
    if dice.one_in(3) {
        schema["multipleOf"] = if kind == "number" {
            dice.pick(&[json!(0.5), json!(0.01), json!(3)])
        } else {
            json!(2)
        };
    }
    schema
}

fn object(dice: &mut Dice, depth: u64, draft7: bool) -> Value {
    let names = ["id", "name", "size", "tags", "when"];
    let mut properties = Map::new();
    for name in &names[..(1 + dice.below(4)) as usize] {
        properties.insert((*name).into(), schema(dice, depth, draft7));
    }
    let required: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| properties.contains_key(*name) && dice.one_in(2))
        .collect();
    let mut schema = json!({ "type": "object", "properties": properties, "required": required });
    match dice.below(6) {
        0..=2 => schema["additionalProperties"] = json!(false),
        3 => schema["additionalProperties"] = scalar(dice, draft7),
        4 => schema["patternProperties"] = json!({ "^x_": scalar(dice, draft7) }),
        _ => {}
    }
    if dice.one_in(5) {
        schema["minProperties"] = json!(1 + dice.below(2));
    }
    if dice.one_in(5) {
        schema["maxProperties"] = json!(4 + dice.below(3));
    }
    if dice.one_in(6) {
        schema["propertyNames"] = json!({ "maxLength": 12 });
    }
    if dice.one_in(6) {
        let keyword = if draft7 {
            "dependencies"
        } else {
            "dependentRequired"
        };
        schema[keyword] = json!({ "id": ["name"] });
    }
    if dice.one_in(10) && !draft7 && schema.get("additionalProperties").is_none() {
        schema["unevaluatedProperties"] = json!(false);
    }
    schema
}

fn array(dice: &mut Dice, depth: u64, draft7: bool) -> Value {
    let min = dice.below(3);
    let mut array =
        json!({ "type": "array", "items": schema(dice, depth, draft7), "minItems": min });
    if dice.one_in(2) {
        array["maxItems"] = json!(min + dice.below(4));
    }
    if dice.one_in(3) {
        array["uniqueItems"] = json!(true);
    }
    if dice.one_in(5) {
        array["contains"] = schema(dice, 0, draft7);
    }
    if dice.one_in(4) {
        let keyword = if draft7 { "items" } else { "prefixItems" };
        array[keyword] = json!([scalar(dice, draft7), scalar(dice, draft7)]);
        if draft7 && dice.one_in(2) {
            array["additionalItems"] = json!(false);
        }
    }
    array
}
