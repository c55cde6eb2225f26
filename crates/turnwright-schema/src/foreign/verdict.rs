//! The verdict on one keyword of a foreign document, without regard to what is around its schema.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::dialect::only_describes;
use crate::keywords::{self, Keyword, Shape};
use crate::numeric;
use crate::options::SchemaOptions;
use crate::pattern;
use crate::plan::Types;
use crate::problem::UnenforcedKind;
use crate::text::{escape, quote};
use crate::validators;

/// What becomes of a keyword that is not published as it is.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    /// Not enforced, and listed.
    Drop {
        kind: UnenforcedKind,
        reason: String,
        /// Without it, the schema may accept more.
        asserts: bool,
    },
    /// Left out because something else expresses it, or because it expresses nothing.
    Omit,
    /// Published with this value.
    Replace(Value),
    /// Published under this name.
    Rename(&'static str),
    /// A format that is published as bounds. Listed too if it also restricts strings.
    Bounds {
        bounds: Vec<(&'static str, Value)>,
        reason: Option<String>,
    },
    /// `oneOf` that is published as `anyOf`.
    Weaken(String),
}

impl Verdict {
    fn dropped(kind: UnenforcedKind, reason: impl Into<String>, asserts: bool) -> Option<Verdict> {
        let reason = reason.into();
        Some(Verdict::Drop {
            kind,
            reason,
            asserts,
        })
    }

    fn asserting(kind: UnenforcedKind, reason: impl Into<String>) -> Option<Verdict> {
        Verdict::dropped(kind, reason, true)
    }

    fn describing(kind: UnenforcedKind, reason: impl Into<String>) -> Option<Verdict> {
        Verdict::dropped(kind, reason, false)
    }

    /// Returns `true` if the keyword is no longer in the schema, although it may have asserted something.
    pub(super) fn asserts(&self) -> bool {
        match self {
            Verdict::Drop { asserts, .. } => *asserts,
            Verdict::Bounds { reason, .. } => reason.is_some(),
            Verdict::Weaken(_) => true,
            Verdict::Omit | Verdict::Replace(_) | Verdict::Rename(_) => false,
        }
    }

    pub(super) fn drops(&self) -> bool {
        matches!(self, Verdict::Drop { .. } | Verdict::Omit)
    }
}

/// The memory that all patterns of a document may use together.
const ALL_PATTERNS: usize = 64 << 20;
/// The sizes with which a pattern is tried. Each counts as the smallest that suffices.
const PATTERN_SIZES: [usize; 3] = [64 << 10, 1 << 20, 10 << 20];

/// The context of a verdict.
pub(super) struct Judge<'o> {
    pub(super) dialect: Dialect,
    pub(super) options: &'o SchemaOptions,
    /// The memory that is left for patterns.
    memory: Cell<usize>,
}

impl<'o> Judge<'o> {
    pub(super) fn new(dialect: Dialect, options: &'o SchemaOptions) -> Self {
        let memory = Cell::new(ALL_PATTERNS);
        Judge {
            dialect,
            options,
            memory,
        }
    }
}

impl Judge<'_> {
    /// Returns the keyword with this name in the document's draft.
    pub(super) fn keyword(&self, name: &str) -> Option<&'static Keyword> {
        if self.dialect.lacks(name) {
            return None;
        }
        match (self.dialect, name) {
            (Dialect::Draft201909, "items" | "additionalItems") => {
                keywords::keyword(referencing::Draft::Draft7, name)
            }
            _ => keywords::keyword(self.dialect.published(), name),
        }
    }

    /// Returns the verdict on a keyword; `None` if it is published as it is.
    pub(super) fn verdict(
        &self,
        map: &Map<String, Value>,
        name: &str,
        value: &Value,
        is_root: bool,
    ) -> Option<Verdict> {
        if self.options.annotations.contains(name) {
            return None;
        }
        let Some(keyword) = self.keyword(name) else {
            return self.unknown(map, name, value);
        };
        let has_ref = map.get("$ref").is_some_and(Value::is_string);
        let only_ref = has_ref && self.dialect.ignores_siblings_of_ref();
        if only_ref && !keyword.annotation && name != "$ref" {
            let reason = format!("{} ignores keywords next to `$ref`", self.dialect.name());
            return if is_root && name == "type" && !self.options.any_root {
                Some(Verdict::Omit)
            } else {
                Verdict::asserting(UnenforcedKind::NextToRef, reason)
            };
        }
        if let Some(needed) = keyword.needs
            && !map.contains_key(needed)
        {
            let reason = format!("has no effect without `{needed}`");
            return Verdict::describing(UnenforcedKind::NoEffect, reason);
        }
        match name {
            "$schema" if is_root => {
                let address = self.dialect.new_address(value)?;
                Some(Verdict::Replace(address.into()))
            }
            "$schema" if Dialect::of(Some(value)) == Ok(self.dialect) => Some(Verdict::Omit),
            "$schema" => Verdict::asserting(
                UnenforcedKind::OtherDraft,
                "must not change within a document",
            ),
            "format" => self.format(map, value),
            "pattern" => self.pattern(value),
            "contentEncoding" => self.encoding(value, keyword),
            "exclusiveMinimum" | "exclusiveMaximum" | "minimum" | "maximum" => {
                self.bound(map, name, value)
            }
            "required" if value.is_null() => malformed_null(),
            "required" => without_duplicates(value).or_else(|| self.data(name, value, keyword)),
            "additionalItems" if !map.get("items").is_some_and(Value::is_array) => {
                let reason = "has no effect unless `items` is a list";
                Verdict::describing(UnenforcedKind::NoEffect, reason)
            }
            "items" if self.dialect == Dialect::Draft201909 && is_list(value) => {
                Some(Verdict::Rename("prefixItems"))
            }
            "additionalItems" if self.dialect == Dialect::Draft201909 && is_schema(value) => {
                Some(Verdict::Rename("items"))
            }
            _ if keyword.shape == Shape::Data => self.data(name, value, keyword),
            _ => applicator(name, value, keyword),
        }
    }

    fn unknown(&self, map: &Map<String, Value>, name: &str, value: &Value) -> Option<Verdict> {
        let shown = escape(name, 80);
        if name == "nullable" && value.is_boolean() {
            let kind = UnenforcedKind::Nullable;
            return match (value.as_bool(), map.get("type")) {
                (Some(false), _) => Some(Verdict::Omit),
                (_, Some(_)) => {
                    Verdict::asserting(kind, "is a keyword of OpenAPI: `null` was added to `type`")
                }
                (_, None) => Verdict::describing(
                    kind,
                    "is a keyword of OpenAPI, and has no effect without `type`",
                ),
            };
        }
        if name == "discriminator" {
            let reason = "is a keyword of OpenAPI that JSON Schema ignores";
            return Verdict::describing(UnenforcedKind::Discriminator, reason);
        }
        if only_describes(name) {
            let reason = format!("`{shown}` is not JSON Schema. It only describes");
            return Verdict::describing(UnenforcedKind::Annotation, reason);
        }
        if keywords::is_known(name) {
            let reason = format!("`{shown}` is not a keyword of {}", self.dialect.name());
            return Verdict::asserting(UnenforcedKind::OtherDraft, reason);
        }
        let reason = keywords::unknown(self.dialect.published(), name);
        let what = reason.split(": remove it").next().unwrap_or_default();
        Verdict::asserting(UnenforcedKind::UnknownKeyword, what)
    }

    fn format(&self, map: &Map<String, Value>, value: &Value) -> Option<Verdict> {
        let Some(name) = value.as_str() else {
            return Verdict::describing(UnenforcedKind::Malformed, "must be a string");
        };
        let reason = || format!("the format {} is not enforced", quote(value));
        if self.options.annotation_formats.contains(name) || keywords::is_enforced_format(name) {
            return None;
        }
        let types = Types::allowed_by(map);
        let allows = |wanted| types.is_some_and(|types| types.allows(wanted));
        if let Some(bounds) = numeric::bounds(name)
            && (types.is_none() || allows(Types::NUMBER))
        {
            let reason = allows(Types::STRING)
                .then(|| format!("the format {} is enforced for numbers only", quote(value)));
            return Some(Verdict::Bounds { bounds, reason });
        }
        match name {
            // How to show or transfer a value, not which values there are.
            "password" | "binary" => Verdict::describing(UnenforcedKind::Format, reason()),
            _ => Verdict::asserting(UnenforcedKind::Format, reason()),
        }
    }

    /// Draft 7 leaves open whether an encoding is enforced. Validators agree on `base64` only.
    fn encoding(&self, value: &Value, keyword: &Keyword) -> Option<Verdict> {
        match value {
            Value::String(name) if name != "base64" && self.dialect == Dialect::Draft7 => {
                let reason = format!("the encoding {} is not enforced", quote(value));
                Verdict::asserting(UnenforcedKind::Format, reason)
            }
            _ => self.data("contentEncoding", value, keyword),
        }
    }

    fn pattern(&self, value: &Value) -> Option<Verdict> {
        match value {
            Value::String(text) => {
                Verdict::asserting(UnenforcedKind::Pattern, self.pattern_fault(text)?)
            }
            _ => Verdict::asserting(UnenforcedKind::Malformed, "must be a string"),
        }
    }

    /// Returns what is wrong with a pattern; `None` if it can be enforced. A short pattern can take megabytes, and as long to
    /// compile, and a document can have thousands of them, so what is spent on all of them is limited.
    pub(super) fn pattern_fault(&self, text: &str) -> Option<String> {
        let (draft, left) = (self.dialect.published(), self.memory.get());
        let affordable = PATTERN_SIZES.into_iter().filter(|size| *size <= left);
        let mut spent = PATTERN_SIZES[0].min(left);
        for size in affordable {
            spent = size;
            if validators::fits(draft, text, size) {
                self.memory.set(left - size);
                return None;
            }
        }
        let fault = pattern::fault_of(text);
        if fault != pattern::TOO_LARGE {
            return Some(fault);
        }
        self.memory.set(left - spent);
        Some(if PATTERN_SIZES.last() == Some(&spent) {
            fault
        } else {
            "the patterns of this document take too much memory".to_owned()
        })
    }

    /// Translates the exclusive bounds of draft 4 and OpenAPI, which are booleans.
    fn bound(&self, map: &Map<String, Value>, name: &str, value: &Value) -> Option<Verdict> {
        let (inclusive, exclusive) = match name {
            "minimum" | "exclusiveMinimum" => ("minimum", "exclusiveMinimum"),
            _ => ("maximum", "exclusiveMaximum"),
        };
        let is_exclusive = map.get(exclusive) == Some(&Value::Bool(true));
        let limit = map.get(inclusive).filter(|limit| limit.is_number());
        match (value, limit) {
            (Value::Bool(true), Some(limit)) if name == exclusive => {
                Some(Verdict::Replace(limit.clone()))
            }
            (Value::Bool(true), None) if name == exclusive => {
                let reason = format!("has no effect without `{inclusive}`");
                Verdict::describing(UnenforcedKind::NoEffect, reason)
            }
            (Value::Bool(false), _) if name == exclusive => Some(Verdict::Omit),
            (Value::Number(_), _) if name == inclusive && is_exclusive => Some(Verdict::Omit),
            (Value::Number(_), _) if name == exclusive && self.dialect == Dialect::Draft4 => {
                let reason = "must be a boolean in draft 4";
                Verdict::asserting(UnenforcedKind::Malformed, reason)
            }
            (Value::Number(_), _) => None,
            _ => Verdict::asserting(UnenforcedKind::Malformed, "must be a number"),
        }
    }

    fn data(&self, name: &str, value: &Value, keyword: &Keyword) -> Option<Verdict> {
        let alone = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
        if self.is_valid(&alone) {
            return None;
        }
        let reason = match value {
            Value::Null => "must not be `null`".to_owned(),
            _ => format!("{} is not a valid value of this keyword", quote(value)),
        };
        Verdict::dropped(UnenforcedKind::Malformed, reason, !keyword.annotation)
    }

    fn is_valid(&self, schema: &Value) -> bool {
        match self.dialect.published() {
            referencing::Draft::Draft7 => jsonschema::draft7::meta::is_valid(schema),
            _ => jsonschema::draft202012::meta::is_valid(schema),
        }
    }
}

/// Returns the verdict on a keyword that contains subschemas. What is inside them is not examined.
fn applicator(name: &str, value: &Value, keyword: &Keyword) -> Option<Verdict> {
    let must = match keyword.shape {
        Shape::Schema if !is_schema(value) => "must be a schema",
        Shape::Schemas if !is_list(value) => "must be a list of schemas that is not empty",
        Shape::SchemaOrSchemas if !is_list(value) && !is_schema(value) => {
            "must be a schema or a list of schemas"
        }
        Shape::Named | Shape::NamedOrLists if value.is_null() => return malformed_null(),
        Shape::Named | Shape::NamedOrLists if !value.is_object() => "must be an object of schemas",
        Shape::NamedOrLists
            if !value
                .as_object()
                .is_some_and(|named| named.values().all(is_names_or_schema)) =>
        {
            "must have lists of property names or schemas"
        }
        _ => return None,
    };
    let asserts = !keyword.annotation && name != "definitions";
    Verdict::dropped(UnenforcedKind::Malformed, must, asserts)
}

/// A missing list or map, as some languages write it.
fn malformed_null() -> Option<Verdict> {
    Verdict::describing(UnenforcedKind::Malformed, "must not be `null`")
}

fn without_duplicates(value: &Value) -> Option<Verdict> {
    let names = value.as_array()?;
    let mut unique: Vec<&Value> = Vec::with_capacity(names.len());
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if seen.insert(name.as_str()?) {
            unique.push(name);
        }
    }
    let is_shorter = unique.len() < names.len();
    is_shorter.then(|| Verdict::Replace(unique.into_iter().cloned().collect()))
}

pub(super) fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn is_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty())
}

fn is_names_or_schema(value: &Value) -> bool {
    match value {
        Value::Array(names) => names.iter().all(Value::is_string),
        other => is_schema(other),
    }
}
