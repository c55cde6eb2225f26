//! Bounds on a parameter: which JSON Schema keyword each key stands for, and what can be said about it before the types
//! are known. Whatever passes here by an alias or a type of the author's own is looked at again by `build()`.

use std::fmt::Display;

use syn::{Expr, ExprUnary, Lit, Type, UnOp, parse_quote};

use crate::entries::Entry;
use crate::refusals::Refusals;
use crate::shape::Shape;
use crate::text::literal;

/// A bound that the author wrote.
pub(crate) struct Bound {
    rule: &'static Rule,
    pub(crate) value: Expr,
    key: syn::Ident,
}

/// What a key means.
struct Rule {
    key: &'static str,
    keyword: &'static str,
    /// The only values that the keyword says anything about.
    applies_to: Shape,
    value: ValueKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Number,
    Count,
    Text,
    Flag,
}

const fn rule(
    key: &'static str,
    keyword: &'static str,
    applies_to: Shape,
    value: ValueKind,
) -> Rule {
    Rule {
        key,
        keyword,
        applies_to,
        value,
    }
}

static RULES: [Rule; 12] = [
    rule("min", "minimum", Shape::Number, ValueKind::Number),
    rule("max", "maximum", Shape::Number, ValueKind::Number),
    rule(
        "exclusive_min",
        "exclusiveMinimum",
        Shape::Number,
        ValueKind::Number,
    ),
    rule(
        "exclusive_max",
        "exclusiveMaximum",
        Shape::Number,
        ValueKind::Number,
    ),
    rule(
        "multiple_of",
        "multipleOf",
        Shape::Number,
        ValueKind::Number,
    ),
    rule("min_length", "minLength", Shape::Text, ValueKind::Count),
    rule("max_length", "maxLength", Shape::Text, ValueKind::Count),
    rule("pattern", "pattern", Shape::Text, ValueKind::Text),
    rule("format", "format", Shape::Text, ValueKind::Text),
    rule("min_items", "minItems", Shape::List, ValueKind::Count),
    rule("max_items", "maxItems", Shape::List, ValueKind::Count),
    rule("unique_items", "uniqueItems", Shape::List, ValueKind::Flag),
];

/// Keys that say the same about another shape.
const COUNTERPARTS: [[&str; 3]; 2] = [
    ["min", "min_length", "min_items"],
    ["max", "max_length", "max_items"],
];

/// Pairs of which the first may not be above the second.
const RANGES: [(&str, &str); 3] = [
    ("min", "max"),
    ("min_length", "max_length"),
    ("min_items", "max_items"),
];

impl Bound {
    /// Reads a key that is a bound. `unique_items = false` is none.
    pub(crate) fn read(entry: &Entry) -> syn::Result<Option<Self>> {
        let Some(rule) = RULES.iter().find(|rule| entry.key == rule.key) else {
            return Ok(None);
        };
        let value = match rule.value {
            ValueKind::Flag if !entry.flag()? => return Ok(None),
            ValueKind::Flag => parse_quote!(true),
            ValueKind::Text => {
                entry.text()?;
                entry.required("\"…\"")?.clone()
            }
            ValueKind::Number | ValueKind::Count => rule.numeric(entry)?.clone(),
        };
        Ok(Some(Self {
            rule,
            value,
            key: entry.key.clone(),
        }))
    }

    pub(crate) fn keyword(&self) -> &'static str {
        self.rule.keyword
    }

    /// Refuses a bound that cannot apply to the type of its parameter, as far as the type's syntax tells.
    pub(crate) fn check(&self, parameter: impl Display, ty: &Type, refusals: &mut Refusals) {
        let shape = Shape::of(ty);
        let rule = self.rule;
        if shape == Shape::Unknown || shape == rule.applies_to {
            return;
        }
        let advice = rule
            .counterpart(shape)
            .map_or_else(|| "remove it".to_owned(), |key| format!("use `{key}`"));
        refusals.refuse(
            &self.key,
            format_args!(
                "`{}` bounds {}, and `{parameter}` is {}: {advice}",
                rule.key,
                rule.applies_to.plural(),
                shape.singular(),
            ),
        );
    }
}

/// Refuses ranges that are empty, where both ends are literals.
pub(crate) fn check_ranges(bounds: &[Bound], refusals: &mut Refusals) {
    for (low_key, high_key) in RANGES {
        let find = |key: &str| bounds.iter().find(|bound| bound.rule.key == key);
        let (Some(low), Some(high)) = (find(low_key), find(high_key)) else {
            continue;
        };
        if let (Some(least), Some(most)) = (number(&low.value), number(&high.value))
            && least > most
        {
            refusals.refuse(
                &low.value,
                format_args!(
                    "`{low_key}` is above `{high_key}`, so no value fits: change one of them"
                ),
            );
        }
    }
}

impl Rule {
    fn numeric<'entry>(&self, entry: &'entry Entry) -> syn::Result<&'entry Expr> {
        let value = entry.required("1")?;
        let key = self.key;
        let wrong = |wanted| {
            let sentence = format!("`{key}` takes {wanted}: `{key} = 1`");
            Err(syn::Error::new_spanned(value, sentence))
        };
        match (self.value, literal(value)) {
            (_, Some(Lit::Int(_))) | (ValueKind::Number, Some(Lit::Float(_))) => Ok(value),
            (ValueKind::Number, Some(_)) => wrong("a number"),
            (_, Some(_)) => wrong("a whole number that is not negative"),
            (ValueKind::Count, None) if number(value).is_some() => {
                wrong("a whole number that is not negative")
            }
            // A constant of the author's: its value is looked at by `build()`.
            _ => Ok(value),
        }
    }

    fn counterpart(&self, shape: Shape) -> Option<&'static str> {
        let family = COUNTERPARTS
            .iter()
            .find(|family| family.contains(&self.key))?;
        let [number, text, list] = *family;
        match shape {
            Shape::Number => Some(number),
            Shape::Text => Some(text),
            Shape::List => Some(list),
            Shape::Boolean | Shape::Map | Shape::Unknown => None,
        }
    }
}

/// The number that a literal says, negative ones included. Good enough to compare two bounds by.
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
