//! Values made from the document, meant to be accepted.
//!
//! All schemas that speak about one place are collected first, then one value is made that heeds them together. What
//! they say beyond that (`not`, `oneOf`, `else`) is left to the judge, who looks at every value.

mod array;
mod guide;
mod number;
mod object;
mod string;

use serde_json::{Value, json};

pub(crate) use guide::Guide;

use super::document::{Document, Object};
use super::judge::Judge;
use super::judge::scalar::has_type;
use super::rng::Rng;
use super::verdict::Verdict;

/// Levels below which values are kept as small as the document allows, whatever it describes.
const DEEP: std::ops::RangeInclusive<usize> = 4..=9;
/// So many levels further down the attempt ends: another branch, or another case, may be luckier.
const FURTHER: usize = 10;
/// Places that one attempt may fill.
const FUEL: usize = 400;

/// Makes values for a document.
#[derive(Debug)]
pub(crate) struct Generator<'a, 'd> {
    pub(crate) doc: &'a Document<'d>,
    pub(crate) rng: &'a mut Rng,
    guide: &'a mut Guide,
    deep: usize,
    fuel: usize,
}

/// What the schemas of one place ask for, after references were followed and branches chosen.
#[derive(Debug, Default)]
pub(crate) struct Demands<'d> {
    pub(crate) schemas: Vec<&'d Object>,
    /// Properties that a chosen branch needs, and those that it must not see.
    pub(crate) wanted: Vec<&'d str>,
    pub(crate) unwanted: Vec<&'d str>,
}

impl<'a, 'd> Generator<'a, 'd> {
    pub(crate) fn new(doc: &'a Document<'d>, rng: &'a mut Rng, guide: &'a mut Guide) -> Self {
        let deep = doc.levels.clamp(*DEEP.start(), *DEEP.end());
        Self {
            doc,
            rng,
            guide,
            deep,
            fuel: FUEL,
        }
    }

    /// Whether the rest is to be kept small: far down, or late.
    fn is_deep(&self, depth: usize) -> bool {
        depth > self.deep || self.fuel < FUEL / 4
    }

    /// One value for the whole document, or none if this attempt ran into a corner.
    pub(crate) fn whole(&mut self) -> Option<Value> {
        self.fuel = FUEL;
        self.value(&[self.doc.root], 0)
    }

    /// One value that all these schemas should accept.
    pub(crate) fn part(&mut self, schemas: &[&'d Value]) -> Option<Value> {
        self.fuel = FUEL;
        self.value(schemas, self.deep - 2)
    }

    fn value(&mut self, schemas: &[&'d Value], depth: usize) -> Option<Value> {
        if depth > self.deep + FURTHER {
            return None;
        }
        let tries = match (self.guide.is_barren(schemas), self.is_deep(depth)) {
            (true, _) => 1,
            (false, true) => 4,
            (false, false) => 6,
        };
        for _ in 0..tries {
            self.fuel = self.fuel.checked_sub(1)?;
            let mut demands = Demands::default();
            let chosen = schemas
                .iter()
                .try_for_each(|schema| self.demand(schema, &mut demands, depth, 0));
            if chosen.is_none() {
                continue;
            }
            if let Some(value) = self.attempt(&demands, depth)
                && (is_sum_of_parts(&demands, &value) || self.fits(schemas, &value))
            {
                self.guide.learn(schemas, true);
                return Some(value);
            }
        }
        self.guide.learn(schemas, false);
        None
    }

    /// Whether the judge has nothing against a value: mistakes are found where they are made, not at the root.
    fn fits(&self, schemas: &[&'d Value], value: &Value) -> bool {
        let judge = Judge::strict(self.doc);
        schemas
            .iter()
            .all(|schema| judge.valid(schema, value) != Verdict::Invalid)
    }

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
        if object.contains_key("$ref")
            && let Ok(target) = self.doc.target(object)
        {
            self.demand(target, demands, depth, hops + 1)?;
        }
        if self.doc.draft7 && object.contains_key("$ref") {
            return Some(());
        }
        demands.schemas.push(object);
        if let Some(Value::Array(all)) = object.get("allOf") {
            for one in all {
                self.demand(one, demands, depth, hops + 1)?;
            }
        }
        for union in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = object.get(union) {
                let branch = self.branch(branches, depth)?;
                self.demand(branch, demands, depth, hops + 1)?;
            }
        }
        if let Some(condition) = object.get("if") {
            if self.rng.one_in(2) {
                self.demand(condition, demands, depth, hops + 1)?;
                if let Some(then) = object.get("then") {
                    self.demand(then, demands, depth, hops + 1)?;
                }
            } else if let Some(otherwise) = object.get("else") {
                self.demand(otherwise, demands, depth, hops + 1)?;
            }
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            if let Some(Value::Object(rules)) = object.get(keyword) {
                for (name, rule) in rules.iter().filter(|(_, rule)| !rule.is_array()) {
                    if self.rng.one_in(2) {
                        demands.wanted.push(name);
                        self.demand(rule, demands, depth, hops + 1)?;
                    } else {
                        demands.unwanted.push(name);
                    }
                }
            }
        }
        Some(())
    }

    /// One branch of a union; deep down one that leads no further, if there is any.
    fn branch(&mut self, branches: &'d [Value], depth: usize) -> Option<&'d Value> {
        if self.is_deep(depth + 1) {
            let ends: Vec<&Value> = branches.iter().filter(|branch| !refers(branch)).collect();
            if let Some(end) = self.rng.pick(&ends) {
                return Some(end);
            }
        }
        if !self.rng.one_in(3) {
            let new: Vec<&Value> = branches
                .iter()
                .filter(|branch| self.guide.is_unreached(branch))
                .collect();
            if let Some(branch) = self.rng.pick(&new) {
                return Some(branch);
            }
        }
        self.rng.pick(branches)
    }

    fn attempt(&mut self, demands: &Demands<'d>, depth: usize) -> Option<Value> {
        if let Some(listed) = self.listed(&demands.schemas) {
            return listed;
        }
        if self.rng.one_in(12) {
            let given: Vec<&Value> = demands
                .schemas
                .iter()
                .flat_map(|schema| {
                    let examples = schema.get("examples").and_then(Value::as_array);
                    schema
                        .get("default")
                        .into_iter()
                        .chain(examples.into_iter().flatten())
                })
                .collect();
            if let Some(value) = self.rng.pick(&given) {
                return Some((*value).clone());
            }
        }
        let kind = self.kind(&demands.schemas, depth)?;
        match kind {
            "null" => Some(Value::Null),
            "boolean" => Some(Value::Bool(self.rng.one_in(2))),
            "integer" => self.integer(&demands.schemas),
            "number" => self.number(&demands.schemas),
            "string" => self.string(&demands.schemas).map(Value::String),
            "array" => self.array(&demands.schemas, depth),
            _ => self.object(demands, depth),
        }
    }

    /// Where `enum` or `const` stands there is nothing to invent. The inner `None`: they leave nothing.
    fn listed(&mut self, schemas: &[&'d Object]) -> Option<Option<Value>> {
        let mut lists = schemas.iter().filter_map(|schema| {
            schema.get("const").map(std::slice::from_ref).or_else(|| {
                schema
                    .get("enum")
                    .and_then(Value::as_array)
                    .map(Vec::as_slice)
            })
        });
        let first = lists.next()?;
        let judge = Judge::strict(self.doc);
        let fitting: Vec<&Value> = first
            .iter()
            .filter(|value| {
                schemas.iter().all(|schema| {
                    ["type", "enum", "const", "not"].iter().all(|keyword| {
                        judge.keyword_alone(schema, keyword, value) != Verdict::Invalid
                    })
                })
            })
            .collect();
        Some(self.rng.pick(&fitting).map(|value| (*value).clone()))
    }

    /// The type of the value to make.
    fn kind(&mut self, schemas: &[&'d Object], depth: usize) -> Option<&'static str> {
        const SAMPLES: [&str; 7] = [
            "null", "boolean", "integer", "number", "string", "array", "object",
        ];
        let types: Vec<&Value> = schemas
            .iter()
            .filter_map(|schema| schema.get("type"))
            .collect();
        let allowed: Vec<&'static str> = SAMPLES
            .into_iter()
            .filter(|kind| types.iter().all(|rule| has_type(rule, &sample(kind))))
            .collect();
        if types.is_empty() {
            // Without a type the other keywords say what the author had in mind.
            let meant: Vec<&'static str> = allowed
                .iter()
                .copied()
                .filter(|kind| schemas.iter().any(|schema| speaks_of(schema, kind)))
                .collect();
            if !meant.is_empty() && !self.rng.one_in(8) {
                return self.rng.pick(&meant).copied();
            }
        }
        if self.is_deep(depth) {
            let flat: Vec<&'static str> = allowed
                .iter()
                .copied()
                .filter(|kind| !matches!(*kind, "array" | "object"))
                .collect();
            if let Some(kind) = self.rng.pick(&flat) {
                return Some(kind);
            }
        }
        self.rng.pick(&allowed).copied()
    }
}

/// Whether a container is right if its parts are, and those were looked at when they were made.
fn is_sum_of_parts(demands: &Demands<'_>, value: &Value) -> bool {
    const PLAIN: [&str; 10] = [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "title",
        "description",
        "$ref",
        "$defs",
    ];
    (value.is_object() || value.is_array())
        && demands.schemas.iter().all(|schema| {
            schema
                .keys()
                .all(|keyword| PLAIN.contains(&keyword.as_str()))
        })
}

fn sample(kind: &str) -> Value {
    match kind {
        "null" => Value::Null,
        "boolean" => json!(true),
        "integer" => json!(1),
        "number" => json!(0.5),
        "string" => json!(""),
        "array" => json!([]),
        _ => json!({}),
    }
}

fn speaks_of(schema: &Object, kind: &str) -> bool {
    let keywords: &[&str] = match kind {
        "integer" | "number" => &[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ],
        "string" => &["minLength", "maxLength", "pattern", "format"],
        "array" => &[
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "uniqueItems",
            "contains",
        ],
        "object" => &[
            "properties",
            "required",
            "patternProperties",
            "additionalProperties",
            "propertyNames",
            "minProperties",
            "maxProperties",
            "dependentRequired",
            "dependentSchemas",
            "dependencies",
        ],
        _ => &[],
    };
    keywords.iter().any(|keyword| schema.contains_key(*keyword))
}

/// Whether a reference stands anywhere in it.
fn refers(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.contains_key("$ref") || object.values().any(refers),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}
