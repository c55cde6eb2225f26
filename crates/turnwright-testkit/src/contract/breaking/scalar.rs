//! Changes to numbers and strings.

use serde_json::{Number, Value, json};

use super::one_of_each;
use crate::contract::generate::Generator;
use crate::contract::judge::looks_like_another_type;
use crate::contract::judge::scalar::size;
use crate::contract::number::{float, from_integer, integer};

/// Longer strings would meet the limit on the size of arguments before the rule.
const LONGEST: usize = 50_000;

/// Values beside those that a list allows.
pub(super) fn unlisted(rule: &Value, part: &Value) -> Vec<Value> {
    let mut parts = one_of_each();
    if let Value::String(text) = part {
        parts.push(json!(format!("{text}¿")));
        parts.push(json!(format!("¿{}", text.to_uppercase())));
    }
    let listed = match rule {
        Value::Array(values) => values.as_slice(),
        single => std::slice::from_ref(single),
    };
    let highest = listed
        .iter()
        .filter_map(|value| integer(value.as_number()?))
        .max();
    parts.extend(highest.and_then(|highest| from_integer(highest.saturating_add(1))));
    parts.extend([json!(false), json!(0)]);
    parts
}

pub(super) fn numbers(keyword: &str, rule: &Value, number: &Number) -> Vec<Value> {
    let Value::Number(bound) = rule else {
        return Vec::new();
    };
    let down = matches!(keyword, "minimum" | "exclusiveMinimum");
    let sign = if down { -1 } else { 1 };
    let mut parts: Vec<Value> = Vec::new();
    match keyword {
        "multipleOf" => {
            if let Some(n) = integer(number) {
                parts.extend((1..4).filter_map(|more| from_integer(n.saturating_add(more))));
            }
            let step = float(bound);
            parts.extend(
                [0.5, 0.25]
                    .iter()
                    .map(|share| json!(float(number) + step * share)),
            );
        }
        _ => {
            if keyword.starts_with("exclusive") {
                parts.push(rule.clone());
            }
            if let Some(bound) = integer(bound) {
                parts.extend(
                    [1, 2, 1_000]
                        .iter()
                        .filter_map(|more| from_integer(bound.saturating_add(sign * more))),
                );
            }
            let bound = float(bound);
            let sign = if down { -1.0 } else { 1.0 };
            parts.push(json!(bound + sign * 0.5));
            // Integers at the end of their range have no neighbour in 64 bits: a float has.
            parts.push(json!(bound + sign * bound.abs().max(1.0)));
        }
    }
    parts
}

pub(super) fn strings<'d>(
    generator: &mut Generator<'_, 'd>,
    keyword: &str,
    rule: &'d Value,
    text: &str,
) -> Vec<Value> {
    match keyword {
        "minLength" => {
            let Some(shorter) = size(rule).and_then(|least| least.checked_sub(1)) else {
                return Vec::new();
            };
            let cut: String = text.chars().take(shorter).collect();
            // As many bytes as the rule wants characters, or more: it is the characters that count.
            [cut, "é".repeat(shorter), String::new()]
                .into_iter()
                .map(Value::String)
                .collect()
        }
        "maxLength" => {
            let Some(longer) = size(rule)
                .map(|most| most.saturating_add(1))
                .filter(|n| *n <= LONGEST)
            else {
                return Vec::new();
            };
            let missing = longer.saturating_sub(text.chars().count());
            let last = text.chars().last().unwrap_or('x');
            let repeated: String = text
                .chars()
                .chain(std::iter::repeat_n(last, missing))
                .collect();
            vec![
                json!(repeated),
                json!(format!("{text}{}", "x".repeat(missing))),
                json!("x".repeat(longer)),
            ]
        }
        "pattern" => unmatched(generator, text),
        "format" => rule
            .as_str()
            .and_then(|name| generator.doc.format(name))
            .map(|format| format.broken.iter().map(|text| json!(text)).collect())
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Texts near a match, and some far from it; those that match after all are weeded out by the judge.
fn unmatched(generator: &mut Generator<'_, '_>, text: &str) -> Vec<Value> {
    let mut texts: Vec<String> = ["", "!", "~", "a", "A", "0", "-", " ", "?? ??", "zzz", "\n"]
        .map(str::to_owned)
        .into();
    let letters: Vec<char> = text.chars().collect();
    for sign in ['!', '~', 'q', 'Q', '5', ' ', '\n'] {
        let mut changed = letters.clone();
        let index = generator.rng.below(changed.len());
        if let Some(letter) = changed.get_mut(index) {
            *letter = sign;
        }
        texts.push(changed.into_iter().collect());
        texts.push(format!("{text}{sign}"));
        texts.push(format!("{sign}{text}"));
        texts.push(std::iter::repeat_n(sign, letters.len().max(1)).collect());
    }
    texts.push(letters.iter().skip(1).collect());
    texts.push(letters.iter().rev().skip(1).rev().collect());
    // Where text is not the only type, such a text might be read as another one.
    texts.retain(|text| !looks_like_another_type(text) || letters.iter().any(char::is_ascii_digit));
    texts.into_iter().map(Value::String).collect()
}
