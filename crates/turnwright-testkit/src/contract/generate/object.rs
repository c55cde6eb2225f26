//! Objects: what is required, some of what is allowed, and names of their own where the document is open.

use serde_json::{Map, Value};

use super::{Demands, Generator};
use crate::contract::document::Object;
use crate::contract::judge::Judge;
use crate::contract::judge::object::property_schemas;
use crate::contract::judge::scalar::size;
use crate::contract::verdict::Verdict;

impl<'d> Generator<'_, 'd> {
    pub(super) fn object(&mut self, demands: &Demands<'d>, depth: usize) -> Option<Value> {
        let schemas = &demands.schemas;
        let least = schemas
            .iter()
            .filter_map(|schema| size(schema.get("minProperties")?))
            .max()
            .unwrap_or(0);
        let most = schemas
            .iter()
            .filter_map(|schema| size(schema.get("maxProperties")?))
            .min();
        if least > 300 {
            return None;
        }
        let mut needed: Vec<String> = Vec::new();
        for schema in schemas {
            add(&mut needed, names(schema.get("required")));
        }
        add(&mut needed, demands.wanted.iter().copied());
        depend(schemas, &mut needed);
        let mut chosen = needed.clone();
        for name in self.optional(schemas, &needed, &demands.unwanted, depth) {
            let mut with = chosen.clone();
            add(&mut with, [name.as_str()].into_iter());
            depend(schemas, &mut with);
            let avoided = with
                .iter()
                .any(|name| demands.unwanted.contains(&name.as_str()));
            if !avoided && most.is_none_or(|most| with.len() <= most) {
                chosen = with;
            }
        }
        let extra = self.extra_count(schemas, least.saturating_sub(chosen.len()), depth);
        for _ in 0..extra {
            if most.is_some_and(|most| chosen.len() >= most) {
                break;
            }
            if let Some(name) = self.free_name(schemas, &chosen) {
                chosen.push(name);
            }
        }
        let mut object = Map::new();
        for name in chosen {
            let rules = self.rules_for(schemas, &name);
            match self.value(&rules, depth + 1) {
                Some(value) => {
                    object.insert(name, value);
                }
                None if needed.contains(&name) => return None,
                None => {}
            }
        }
        Some(Value::Object(object))
    }

    /// The optional properties to take: all, none, or some, so that each occurs with and without its neighbours.
    fn optional(
        &mut self,
        schemas: &[&'d Object],
        needed: &[String],
        unwanted: &[&str],
        depth: usize,
    ) -> Vec<String> {
        let mut known: Vec<String> = Vec::new();
        for schema in schemas {
            if let Some(Value::Object(properties)) = schema.get("properties") {
                add(&mut known, properties.keys().map(String::as_str));
            }
            for keyword in ["dependentRequired", "dependencies"] {
                if let Some(Value::Object(rules)) = schema.get(keyword) {
                    add(&mut known, rules.keys().map(String::as_str));
                }
            }
        }
        known.retain(|name| !needed.contains(name) && !unwanted.contains(&name.as_str()));
        self.rng.shuffle(&mut known);
        let one_in = match (self.is_deep(depth), self.rng.below(4)) {
            (true, _) | (_, 0) => return Vec::new(),
            (_, 1) => 1,
            _ => 2,
        };
        known.retain(|name| {
            let rules = self.rules_for(schemas, name);
            if self.guide.is_barren(&rules) {
                return self.rng.one_in(16);
            }
            let new = rules.iter().any(|rule| self.guide.is_unreached(rule));
            self.rng.one_in(one_in) || new && !self.rng.one_in(4)
        });
        known
    }

    fn extra_count(&mut self, schemas: &[&'d Object], missing: usize, depth: usize) -> usize {
        let is_map = schemas.iter().any(|schema| {
            [
                "patternProperties",
                "additionalProperties",
                "unevaluatedProperties",
                "propertyNames",
            ]
            .iter()
            .any(|keyword| schema.get(*keyword).is_some_and(Value::is_object))
        });
        if self.is_deep(depth) {
            return missing;
        }
        let new = schemas.iter().any(|schema| {
            let map = schema.get("patternProperties").and_then(Value::as_object);
            let rest = schema.get("additionalProperties").into_iter();
            map.into_iter()
                .flat_map(Map::values)
                .chain(rest)
                .any(|rule| self.guide.is_unreached(rule))
        });
        missing
            + usize::from(new)
            + if is_map {
                self.rng.below(4)
            } else {
                usize::from(self.rng.one_in(6))
            }
    }

    /// A name that no property has yet and that these schemas let in.
    pub(crate) fn free_name(&mut self, schemas: &[&'d Object], taken: &[String]) -> Option<String> {
        let closed = schemas
            .iter()
            .any(|schema| schema.get("unevaluatedProperties") == Some(&Value::Bool(false)));
        for _ in 0..12 {
            let name = self.name(schemas)?;
            let text = Value::String(name.clone());
            let judge = Judge::strict(self.doc);
            let named = schemas
                .iter()
                .filter_map(|schema| schema.get("propertyNames"))
                .all(|rule| judge.valid(rule, &text) != Verdict::Invalid);
            let rules = self.rules_for(schemas, &name);
            let refused =
                rules.iter().any(|rule| *rule == &Value::Bool(false)) || closed && rules.is_empty();
            if named && !refused && !taken.contains(&name) {
                return Some(name);
            }
        }
        None
    }

    fn name(&mut self, schemas: &[&'d Object]) -> Option<String> {
        let patterns: Vec<&'d String> = schemas
            .iter()
            .filter_map(|schema| schema.get("patternProperties")?.as_object())
            .flat_map(Map::keys)
            .collect();
        if !self.rng.one_in(3)
            && let Some(text) = self.rng.pick(&patterns).copied()
            && let Ok(pattern) = self.doc.pattern(text)
        {
            let reach = self.rng.below(4);
            return pattern.sample(self.rng, reach);
        }
        let rules: Vec<&'d Value> = schemas
            .iter()
            .filter_map(|schema| schema.get("propertyNames"))
            .collect();
        if !rules.is_empty()
            && let Some(Value::String(name)) = self.named_by(&rules)
        {
            return Some(name);
        }
        const NAMES: [&str; 6] = ["extra", "other", "k", "clé", "with space", "a/b~c"];
        let name = self.rng.pick(&NAMES)?;
        Some(format!("{name}{}", self.rng.below(100)))
    }

    /// A name is a string, also where the schema of the names does not say so.
    fn named_by(&mut self, rules: &[&'d Value]) -> Option<Value> {
        let mut demands = Demands::default();
        for rule in rules {
            self.demand(rule, &mut demands, self.deep, 0)?;
        }
        match self.listed(&demands.schemas) {
            Some(listed) => listed,
            None => self.string(&demands.schemas).map(Value::String),
        }
    }

    pub(crate) fn rules_for(&self, schemas: &[&'d Object], name: &str) -> Vec<&'d Value> {
        schemas
            .iter()
            .flat_map(|schema| {
                let own = property_schemas(self.doc, schema, name);
                let rest = schema
                    .get("unevaluatedProperties")
                    .filter(|rule| own.is_empty() && rule.is_object());
                own.into_iter().map(|(_, _, child)| child).chain(rest)
            })
            .collect()
    }
}

fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

fn add<'n>(to: &mut Vec<String>, names: impl Iterator<Item = &'n str>) {
    for name in names {
        if !to.iter().any(|known| known == name) {
            to.push(name.to_owned());
        }
    }
}

/// Adds what the chosen properties need beside them.
fn depend(schemas: &[&Object], chosen: &mut Vec<String>) {
    let mut before = usize::MAX;
    while before != chosen.len() {
        before = chosen.len();
        for schema in schemas {
            for keyword in ["dependentRequired", "dependencies"] {
                let Some(Value::Object(rules)) = schema.get(keyword) else {
                    continue;
                };
                for (name, rule) in rules {
                    if chosen.contains(name) {
                        add(chosen, names(Some(rule)));
                    }
                }
            }
        }
    }
}
