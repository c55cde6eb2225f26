//! Number parsing and normalisation.

use serde_json::Number;

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
