//! Numbers: how they are parsed and normalised, and the bounds that numeric formats mean.

use serde_json::{Map, Number, Value};

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

/// Parses one finite number: sign, digits, `.5`, `5.`, exponent. Accepts nothing else that Rust or JavaScript would
/// parse.
pub(crate) fn read_number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || !unsigned.chars().all(plain)
    {
        return None;
    }
    let digits = text.strip_prefix('+').unwrap_or(text);
    let integer = digits.parse::<i64>().map(Number::from);
    if let Ok(integer) = integer.or_else(|_| digits.parse::<u64>().map(Number::from)) {
        return Some(integer);
    }
    let number = Number::from_f64(text.parse().ok()?)?;
    Some(as_integer(&number).unwrap_or(number))
}

/// Returns the integer value of a number written with a fraction or exponent, if it fits into 64 bits.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the bounds are checked first"
)]
pub fn as_integer(number: &Number) -> Option<Number> {
    /// 2^63 and 2^64, which `f64` represents exactly.
    const I64_END: f64 = 9_223_372_036_854_775_808.0;
    const U64_END: f64 = 18_446_744_073_709_551_616.0;
    if number.is_i64() || number.is_u64() {
        return None;
    }
    let value = number.as_f64()?;
    if value.fract() != 0.0 {
        None
    } else if (-I64_END..I64_END).contains(&value) {
        Some((value as i64).into())
    } else if (0.0..U64_END).contains(&value) {
        Some((value as u64).into())
    } else {
        None
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
