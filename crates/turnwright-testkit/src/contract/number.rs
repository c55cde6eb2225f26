//! Numbers compared by value, whatever their spelling.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::verdict::Verdict;

/// Floats from here on stand for more than one integer.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The number as an integer, if it has no fraction and fits.
pub(crate) fn integer(number: &Number) -> Option<i128> {
    if let Some(n) = number.as_i64() {
        return Some(i128::from(n));
    }
    if let Some(n) = number.as_u64() {
        return Some(i128::from(n));
    }
    let float = number.as_f64()?;
    // The float was checked to have no fraction and to lie within the range: the cast is exact.
    (float.fract() == 0.0 && float.abs() < 1e38).then_some(float as i128)
}

pub(crate) fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// An integer as a JSON number, if 64 bits can hold it.
pub(crate) fn from_integer(integer: i128) -> Option<Value> {
    i64::try_from(integer)
        .map(Value::from)
        .or_else(|_| u64::try_from(integer).map(Value::from))
        .ok()
}

pub(crate) fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => float(a).partial_cmp(&float(b)),
    }
}

/// Whether `number` is a whole multiple of `step`. Decimal and binary arithmetic have different opinions on fractions;
/// where they do, nothing is said.
pub(crate) fn is_multiple(number: &Number, step: &Number) -> Verdict {
    if let (Some(n), Some(s)) = (integer(number), integer(step)) {
        return if s == 0 {
            Verdict::Unknown
        } else {
            Verdict::from(n % s == 0)
        };
    }
    let quotient = float(number) / float(step);
    if !quotient.is_finite() || quotient.abs() >= EXACT {
        return Verdict::Unknown;
    }
    let binary = quotient.fract() == 0.0;
    match (decimal(number), decimal(step)) {
        (Some(n), Some(s)) => match decimal_multiple(n, s) {
            Some(exact) if exact == binary => Verdict::from(exact),
            _ => Verdict::Unknown,
        },
        _ => Verdict::Unknown,
    }
}

/// Mantissa and number of decimals, from the shortest spelling that means this float.
fn decimal(number: &Number) -> Option<(i128, u32)> {
    let text = format!("{}", float(number));
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mantissa = format!("{whole}{fraction}").parse().ok()?;
    Some((mantissa, u32::try_from(fraction.len()).ok()?))
}

fn decimal_multiple((n, n_scale): (i128, u32), (s, s_scale): (i128, u32)) -> Option<bool> {
    let scale = n_scale.max(s_scale);
    let n = n.checked_mul(10_i128.checked_pow(scale - n_scale)?)?;
    let s = s.checked_mul(10_i128.checked_pow(scale - s_scale)?)?;
    n.checked_rem(s).map(|rest| rest == 0)
}

/// Equality as JSON Schema means it: `1` and `1.0` are one number, the order of keys does not count.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}
