//! Bounds on a parameter: the JSON Schema keyword of each key, and the checks that are possible before types are
//! known. Bounds on aliases and user-defined types are checked by `build()`.

use std::fmt::Display;

use syn::{Expr, ExprUnary, Ident, Lit, Type, UnOp, parse_quote};

use crate::entries::Entry;
use crate::refusals::Refusals;
use crate::shape::Shape;
use crate::text::literal;

/// A bound written by the author.
pub(crate) struct Bound {
    key: Ident,
    pub(crate) keyword: &'static str,
    /// The values that the keyword applies to.
    applies_to: Shape,
    pub(crate) value: Expr,
}

/// The keys of bounds, each with its keyword and the values that it applies to.
const RULES: [(&str, &str, Shape); 12] = [
    ("min", "minimum", Shape::Number),
    ("max", "maximum", Shape::Number),
    ("exclusive_min", "exclusiveMinimum", Shape::Number),
    ("exclusive_max", "exclusiveMaximum", Shape::Number),
    ("multiple_of", "multipleOf", Shape::Number),
    ("min_length", "minLength", Shape::Text),
    ("max_length", "maxLength", Shape::Text),
    ("pattern", "pattern", Shape::Text),
    ("format", "format", Shape::Text),
    ("min_items", "minItems", Shape::List),
    ("max_items", "maxItems", Shape::List),
    ("unique_items", "uniqueItems", Shape::List),
];

impl Bound {
    /// Reads a key that is a bound. `unique_items = false` is not a bound.
    pub(crate) fn read(entry: &Entry) -> syn::Result<Option<Self>> {
        let rule = RULES.iter().find(|(key, ..)| entry.key == key);
        let Some((_, keyword, applies_to)) = rule.copied() else {
            return Ok(None);
        };
        let value = match keyword {
            "uniqueItems" if !entry.flag()? => return Ok(None),
            "uniqueItems" => parse_quote!(true),
            "pattern" | "format" => {
                entry.text()?;
                entry.required("\"…\"")?.clone()
            }
            _ => numeric(entry, applies_to == Shape::Number)?.clone(),
        };
        Ok(Some(Self {
            key: entry.key.clone(),
            keyword,
            applies_to,
            value,
        }))
    }

    /// Rejects a bound that does not apply to the type of its parameter, as far as the syntax of the type shows.
    pub(crate) fn check(&self, parameter: impl Display, ty: &Type, refusals: &mut Refusals) {
        let (key, shape) = (&self.key, Shape::of(ty));
        if shape == Shape::Unknown || shape == self.applies_to {
            return;
        }
        let advice = match counterpart(&key.to_string(), shape) {
            Some(counterpart) => format!("use `{counterpart}`"),
            None => "remove it".to_owned(),
        };
        let (bounded, found) = (self.applies_to.plural(), shape.singular());
        refusals.refuse(
            key,
            format_args!("`{key}` applies to {bounded}, but `{parameter}` is {found}: {advice}"),
        );
    }
}

/// Returns the key with the same meaning for another shape.
fn counterpart(key: &str, shape: Shape) -> Option<String> {
    let (end, _) = key.split_once('_').unwrap_or((key, ""));
    let end = Some(end).filter(|end| ["min", "max"].contains(end))?;
    match shape {
        Shape::Number => Some(end.to_owned()),
        Shape::Text => Some(format!("{end}_length")),
        Shape::List => Some(format!("{end}_items")),
        Shape::Boolean | Shape::Map | Shape::Unknown => None,
    }
}

/// Rejects empty ranges, if both ends are literals.
pub(crate) fn check_ranges(bounds: &[Bound], refusals: &mut Refusals) {
    for of in ["", "_length", "_items"] {
        let (low_key, high_key) = (format!("min{of}"), format!("max{of}"));
        let find = |key: &str| bounds.iter().find(|bound| bound.key == key);
        let (Some(low), Some(high)) = (find(&low_key), find(&high_key)) else {
            continue;
        };
        if let (Some(least), Some(most)) = (number(&low.value), number(&high.value))
            && least > most
        {
            refusals.refuse(
                &low.value,
                format_args!(
                    "`{low_key}` is greater than `{high_key}`, so no value is valid: change one of them"
                ),
            );
        }
    }
}

/// Returns a number, or a count: a non-negative integer.
fn numeric(entry: &Entry, is_number: bool) -> syn::Result<&Expr> {
    let value = entry.required("1")?;
    let fits = match literal(value) {
        Some(Lit::Int(_)) => true,
        Some(Lit::Float(_)) => is_number,
        Some(_) => false,
        // A constant: its value is checked by `build()`.
        None => is_number || number(value).is_none(),
    };
    if fits {
        return Ok(value);
    }
    let expected = if is_number {
        "a number"
    } else {
        "a non-negative integer"
    };
    Err(entry.wrong(value, expected, "1"))
}

/// Returns the value of a number literal, including negative ones. Precise enough to compare two bounds.
fn number(value: &Expr) -> Option<f64> {
    match value {
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(_),
            expr,
            ..
        }) => number(expr).map(|positive| -positive),
        value => match literal(value)? {
            Lit::Int(int) => int.base10_parse().ok(),
            Lit::Float(float) => float.base10_parse().ok(),
            _ => None,
        },
    }
}
