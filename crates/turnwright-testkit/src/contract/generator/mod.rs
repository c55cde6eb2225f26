//! Generates values that the document should accept.
//!
//! All schemas for one location are collected first, then one value is generated that follows all of them. The
//! validator checks every part, so keywords that the generator ignores (`not`, `oneOf`, `else`) lead to another
//! attempt.

mod array;
pub(crate) mod number;
mod object;
mod string;

use std::collections::HashSet;

use serde_json::Value;

use super::document::{Address, Document, Object, constrained_type};
use super::validator::Validator;
use fastrand::Rng;

/// The depth below which values are kept as small as the document allows.
const DEEP: usize = 6;
/// The depth below which an attempt ends.
const DEEPEST: usize = 18;
/// The maximum number of locations that one attempt fills.
pub(crate) const FUEL: usize = 400;
const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// Generates one value.
pub(crate) struct Generator<'a, 'd> {
    pub(crate) doc: &'a Document<'d>,
    pub(crate) validator: &'a Validator<'a, 'd>,
    pub(crate) rng: &'a mut Rng,
    /// Schemas that no value has reached so far, and those that lead to them. They are preferred.
    pub(crate) unreached: &'a HashSet<Address>,
    pub(crate) fuel: usize,
    /// The applied schemas, with their locations in the value.
    pub(crate) applied: Vec<(&'d Object, String)>,
    /// Whether the value follows a rule on which validators may disagree.
    pub(crate) uncertain: bool,
}

/// The demands of the schemas for one location, after references were followed and branches chosen.
#[derive(Debug, Default)]
struct Demands<'d> {
    schemas: Vec<&'d Object>,
    /// Schemas of which only the reference counts.
    references: Vec<&'d Object>,
    /// Properties that a chosen branch needs, and those that it must not have.
    wanted: Vec<&'d str>,
    unwanted: Vec<&'d str>,
}

impl<'d> Generator<'_, 'd> {
    /// Returns a value for the document, or `None` if this attempt failed.
    pub(crate) fn root(&mut self) -> Option<Value> {
        self.value(&[self.doc.root], "", 0)
    }

    /// Returns a small value that all these schemas accept.
    pub(crate) fn part(&mut self, schemas: &[&'d Value]) -> Option<Value> {
        self.fuel = FUEL;
        self.value(schemas, "", DEEP - 2)
    }

    /// Returns `true` if the rest must be kept small.
    fn is_deep(&self, depth: usize) -> bool {
        depth > DEEP || self.fuel < FUEL / 4
    }

    fn is_unreached(&self, schema: &Value) -> bool {
        let object = schema.as_object().map(std::ptr::from_ref);
        object.is_some_and(|address| self.unreached.contains(&address))
    }

    fn value(&mut self, schemas: &[&'d Value], at: &str, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        let (applied, uncertain) = (self.applied.len(), self.uncertain);
        for _ in 0..6 {
            self.fuel = self.fuel.checked_sub(1)?;
            let mut demands = Demands::default();
            let chosen = schemas
                .iter()
                .try_for_each(|schema| self.demand(schema, &mut demands, depth, 0));
            let made = chosen.and_then(|()| self.attempt(&demands, at, depth));
            let accepts = |value: &Value| {
                let mut schemas = schemas.iter();
                schemas.all(|schema| self.validator.accepts(schema, value))
            };
            if let Some(value) = made.filter(accepts) {
                let all = demands.schemas.into_iter().chain(demands.references);
                let all = all.map(|schema| (schema, at.to_owned()));
                self.applied.extend(all);
                return Some(value);
            }
            self.applied.truncate(applied);
            self.uncertain = uncertain;
        }
        None
    }

    /// Collects the demands of a schema. Returns `None` if it accepts nothing.
    fn demand(
        &mut self,
        schema: &'d Value,
        demands: &mut Demands<'d>,
        depth: usize,
        hops: usize,
    ) -> Option<()> {
        let object = match schema {
            Value::Bool(true) => return Some(()),
            Value::Object(object) if hops < 64 => object,
            _ => return None,
        };
        let mut next: Vec<&'d Value> = self.doc.target(object).into_iter().collect();
        if self.doc.draft7 && object.contains_key("$ref") {
            demands.references.push(object);
            self.uncertain |= next.is_empty();
        } else {
            self.demand_own(object, demands, &mut next, depth)?;
        }
        next.into_iter()
            .try_for_each(|schema| self.demand(schema, demands, depth, hops + 1))
    }

    fn demand_own(
        &mut self,
        object: &'d Object,
        demands: &mut Demands<'d>,
        next: &mut Vec<&'d Value>,
        depth: usize,
    ) -> Option<()> {
        demands.schemas.push(object);
        // A rule that cannot be evaluated may decide whether these apply, or how often.
        let by_verdict = ["if", "not", "oneOf", "contains", "propertyNames"];
        self.uncertain |= object.keys().any(|keyword| {
            self.doc.unreadable(object, keyword).is_some()
                || self.doc.has_unreadable && by_verdict.contains(&keyword.as_str())
        });
        let list = |keyword| object.get(keyword).and_then(Value::as_array);
        next.extend(list("allOf").into_iter().flatten());
        for branches in ["anyOf", "oneOf"].into_iter().filter_map(list) {
            next.push(self.branch(branches, depth)?);
        }
        if let Some(condition) = object.get("if") {
            if self.rng.usize(..2) == 0 {
                next.push(condition);
                next.extend(object.get("then"));
            } else {
                next.extend(object.get("else"));
            }
        }
        let dependent = ["dependentSchemas", "dependencies"];
        let rules = dependent
            .into_iter()
            .filter_map(|keyword| object.get(keyword)?.as_object());
        for (name, rule) in rules.flatten().filter(|(_, rule)| !rule.is_array()) {
            if self.rng.usize(..2) == 0 {
                demands.wanted.push(name);
                next.push(rule);
            } else {
                demands.unwanted.push(name);
            }
        }
        Some(())
    }

    /// Chooses a branch of a union: at great depth one without references, otherwise one that was not reached so far.
    fn branch(&mut self, branches: &'d [Value], depth: usize) -> Option<&'d Value> {
        let deep = self.is_deep(depth + 1);
        let preferred = branches.iter().filter(|branch| {
            if deep {
                !refers(branch)
            } else {
                self.is_unreached(branch)
            }
        });
        let preferred: Vec<&Value> = preferred.collect();
        let skip = !deep && self.rng.usize(..3) == 0;
        let picked = self.rng.choice(&preferred).copied().filter(|_| !skip);
        picked.or_else(|| self.rng.choice(branches))
    }

    fn attempt(&mut self, demands: &Demands<'d>, at: &str, depth: usize) -> Option<Value> {
        let schemas = &demands.schemas;
        if let Some(listed) = self.listed(schemas) {
            return listed;
        }
        if self.rng.usize(..12) == 0 {
            let defaults = schemas.iter().filter_map(|schema| schema.get("default"));
            let examples = schemas
                .iter()
                .filter_map(|schema| schema.get("examples")?.as_array());
            let suggested: Vec<&Value> = defaults.chain(examples.flatten()).collect();
            if let Some(value) = self.rng.choice(&suggested) {
                return Some((*value).clone());
            }
        }
        match self.kind(schemas, depth)? {
            "null" => Some(Value::Null),
            "boolean" => Some(Value::Bool(self.rng.usize(..2) == 0)),
            kind @ ("integer" | "number") => self.number(schemas, kind == "integer"),
            "string" => self.string(schemas).map(Value::String),
            "array" => self.array(schemas, at, depth),
            _ => self.object(demands, at, depth),
        }
    }

    /// Returns one of the values listed by `enum` or `const`, if there is such a list.
    fn listed(&mut self, schemas: &[&'d Object]) -> Option<Option<Value>> {
        let list = schemas.iter().find_map(|schema| {
            let single = schema.get("const").map(std::slice::from_ref);
            single.or_else(|| schema.get("enum")?.as_array().map(Vec::as_slice))
        })?;
        let fitting = list.iter().filter(|value| self.fits(schemas, value));
        let fitting: Vec<&Value> = fitting.collect();
        Some(self.rng.choice(&fitting).map(|value| (*value).clone()))
    }

    fn fits(&self, schemas: &[&'d Object], value: &Value) -> bool {
        let mut schemas = schemas.iter();
        schemas.all(|schema| self.validator.part_accepts(schema, value))
    }

    /// Returns the type of the value to generate.
    fn kind(&mut self, schemas: &[&'d Object], depth: usize) -> Option<&'static str> {
        let is_allowed = |kind: &str| {
            let is_named = |name: &Value| name == kind || kind == "integer" && name == "number";
            schemas.iter().all(|schema| match schema.get("type") {
                Some(Value::Array(names)) => names.iter().any(is_named),
                Some(name) => is_named(name),
                None => true,
            })
        };
        let mut allowed: Vec<&'static str> =
            TYPES.into_iter().filter(|kind| is_allowed(kind)).collect();
        // Without a type, the other keywords show what the author meant.
        let is_meant = |kind: &str| {
            let mut keywords = schemas.iter().flat_map(|schema| schema.keys());
            keywords.any(|keyword| {
                constrained_type(keyword)
                    .is_some_and(|of| of == kind || of == "number" && kind == "integer")
            })
        };
        let untyped = schemas.iter().all(|schema| !schema.contains_key("type"));
        if untyped && allowed.iter().any(|kind| is_meant(kind)) && self.rng.usize(..8) != 0 {
            allowed.retain(|kind| is_meant(kind));
        }
        let is_flat = |kind: &&str| !matches!(*kind, "array" | "object");
        if self.is_deep(depth) && allowed.iter().any(is_flat) {
            allowed.retain(is_flat);
        }
        self.rng.choice(&allowed).copied()
    }
}

/// Returns `true` if the value contains a reference.
fn refers(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.contains_key("$ref") || object.values().any(refers),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

/// Returns the bounds that these schemas set with two keywords: the largest lower bound and the smallest upper bound.
fn bounds(schemas: &[&Object], lower: &str, upper: &str) -> (usize, Option<usize>) {
    let sizes = |keyword| {
        let rules = schemas.iter().map(move |schema| schema.get(keyword));
        rules.filter_map(super::document::size)
    };
    (sizes(lower).max().unwrap_or(0), sizes(upper).min())
}
