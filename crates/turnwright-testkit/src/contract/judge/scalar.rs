//! Keywords of numbers and strings, and those that look at the value as a whole.

use std::cmp::Ordering;

use serde_json::Value;

use super::Judge;
use crate::contract::number;
use crate::contract::place::Place;
use crate::contract::verdict::Verdict;

impl Judge<'_, '_> {
    pub(super) fn scalar_keyword(
        &self,
        keyword: &str,
        rule: &Value,
        value: &Value,
        at: &Place<'_>,
    ) -> Verdict {
        match (keyword, value) {
            ("type", _) => Verdict::from(has_type(rule, value)),
            ("const", _) => self.listed(std::slice::from_ref(rule), value, at),
            ("enum", _) => match rule {
                Value::Array(values) => self.listed(values, value, at),
                _ => Verdict::Unknown,
            },
            ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum", Value::Number(n)) => {
                let Value::Number(bound) = rule else {
                    return Verdict::Unknown;
                };
                let Some(order) = number::compare(n, bound) else {
                    return Verdict::Unknown;
                };
                Verdict::from(match keyword {
                    "minimum" => order != Ordering::Less,
                    "maximum" => order != Ordering::Greater,
                    "exclusiveMinimum" => order == Ordering::Greater,
                    _ => order == Ordering::Less,
                })
            }
            ("multipleOf", Value::Number(n)) => match rule {
                Value::Number(step) => number::is_multiple(n, step),
                _ => Verdict::Unknown,
            },
            ("minLength", Value::String(text)) => size(rule).map_or(Verdict::Unknown, |n| {
                Verdict::from(text.chars().count() >= n)
            }),
            ("maxLength", Value::String(text)) => size(rule).map_or(Verdict::Unknown, |n| {
                Verdict::from(text.chars().count() <= n)
            }),
            ("pattern", Value::String(text)) => rule
                .as_str()
                .and_then(|pattern| self.doc.pattern(pattern).ok())
                .and_then(|pattern| pattern.matches(text))
                .map_or(Verdict::Unknown, Verdict::from),
            ("format", Value::String(text)) => rule
                .as_str()
                .and_then(|name| self.doc.format(name))
                .map_or(Verdict::Unknown, |format| format.judge(text)),
            // Asserted by some readers of draft 7, and by none of later drafts.
            ("contentEncoding" | "contentMediaType", Value::String(_)) if self.doc.draft7 => {
                Verdict::Unknown
            }
            // Everything else is an annotation, or speaks of another type: a schema with a keyword that is neither is
            // not built in the first place.
            _ => Verdict::Valid,
        }
    }

    fn listed(&self, values: &[Value], value: &Value, at: &Place<'_>) -> Verdict {
        let verdict = Verdict::from(values.iter().any(|listed| number::equal(listed, value)));
        // A default inside an object makes it another value.
        if self.repairs && self.doc.has_defaults() && (value.is_object() || value.is_array()) {
            return verdict.at_least_unknown();
        }
        if self.is_unsettled_inside(at) {
            return Verdict::Unknown;
        }
        verdict
    }
}

pub(crate) fn has_type(rule: &Value, value: &Value) -> bool {
    match rule {
        Value::String(name) => is_a(name, value),
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .any(|name| is_a(name, value)),
        _ => true,
    }
}

fn is_a(name: &str, value: &Value) -> bool {
    match (name, value) {
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("number", Value::Number(_))
        | ("string", Value::String(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => true,
        ("integer", Value::Number(n)) => {
            number::integer(n).is_some() || number::float(n).fract() == 0.0
        }
        _ => false,
    }
}

/// A size that a keyword names; `2.0` is 2.
pub(crate) fn size(rule: &Value) -> Option<usize> {
    let Value::Number(n) = rule else { return None };
    usize::try_from(number::integer(n)?).ok()
}
