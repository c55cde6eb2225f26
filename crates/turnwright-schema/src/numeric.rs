//! Numeric formats as bounds.

use serde_json::{Map, Value};

/// 2^127 and 2^128 as floats. Both are exact.
const TWO_127: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
const TWO_128: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;

/// Returns the bounds that a numeric format means; `None` if the format is not numeric.
pub(crate) fn bounds(format: &str) -> Option<Vec<(&'static str, Value)>> {
    let within = |least: Value, most: Value| Some(vec![("minimum", least), ("maximum", most)]);
    match format {
        "int8" => within(i8::MIN.into(), i8::MAX.into()),
        "int16" => within(i16::MIN.into(), i16::MAX.into()),
        "int32" => within(i32::MIN.into(), i32::MAX.into()),
        "int64" | "int" => within(i64::MIN.into(), i64::MAX.into()),
        "uint8" => within(u8::MIN.into(), u8::MAX.into()),
        "uint16" => within(u16::MIN.into(), u16::MAX.into()),
        "uint32" => within(u32::MIN.into(), u32::MAX.into()),
        "uint64" | "uint" => within(u64::MIN.into(), u64::MAX.into()),
        "float" => within(f64::from(f32::MIN).into(), f64::from(f32::MAX).into()),
        "int128" => Some(vec![
            ("minimum", (-TWO_127).into()),
            ("exclusiveMaximum", TWO_127.into()),
        ]),
        "uint128" => Some(vec![
            ("minimum", 0.into()),
            ("exclusiveMaximum", TWO_128.into()),
        ]),
        // Numbers outside the range of a double are rejected in all arguments.
        "double" => Some(Vec::new()),
        _ => None,
    }
}

/// Sets a bound, unless the schema has one that is as tight.
pub(crate) fn tighten(map: &mut Map<String, Value>, keyword: &str, bound: Value) {
    let as_tight = |own: &Value| match keyword {
        "minimum" => is_at_least(own, &bound),
        _ => is_at_least(&bound, own),
    };
    let exclusive = match keyword {
        "minimum" => "exclusiveMinimum",
        _ => "exclusiveMaximum",
    };
    let is_set = |name: &str| map.get(name).is_some_and(as_tight);
    if !is_set(keyword) && !is_set(exclusive) {
        map.insert(keyword.to_owned(), bound);
    }
}

fn is_at_least(one: &Value, other: &Value) -> bool {
    let whole = |value: &Value| {
        let unsigned = value.as_u64().map(i128::from);
        unsigned.or_else(|| value.as_i64().map(i128::from))
    };
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one >= other,
        _ => one.as_f64() >= other.as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{bounds, tighten};

    fn tightened(schema: Value, format: &str) -> Value {
        let Value::Object(mut map) = schema else {
            panic!("an object")
        };
        for (keyword, bound) in bounds(format).unwrap() {
            tighten(&mut map, keyword, bound);
        }
        Value::Object(map)
    }

    #[test]
    fn tighter_bounds_of_the_schema_are_kept() {
        assert_eq!(
            tightened(json!({ "minimum": -1, "maximum": 99 }), "uint8"),
            json!({ "minimum": 0, "maximum": 99 })
        );
        assert_eq!(
            tightened(json!({ "minimum": 5, "maximum": 1e9 }), "uint8"),
            json!({ "minimum": 5, "maximum": 255 })
        );
        assert_eq!(
            tightened(json!({}), "uint64"),
            json!({ "minimum": 0, "maximum": u64::MAX })
        );
        assert_eq!(
            tightened(json!({ "exclusiveMaximum": 7 }), "int128")["exclusiveMaximum"],
            7
        );
        assert_eq!(
            tightened(
                json!({ "exclusiveMinimum": 0, "maximum": i64::MAX as u64 + 1 }),
                "int64"
            ),
            json!({ "exclusiveMinimum": 0, "maximum": i64::MAX })
        );
    }

    #[test]
    fn every_double_is_a_double() {
        assert_eq!(tightened(json!({}), "double"), json!({}));
        assert_eq!(bounds("date"), None);
    }
}
