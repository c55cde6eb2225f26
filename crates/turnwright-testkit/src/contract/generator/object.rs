//! Objects: required properties, some optional ones, and other names if the schema is open.

use serde_json::{Map, Value};

use super::{Demands, Generator, bounds};
use crate::contract::document::{Object, property_schemas};
use crate::pointer;

const NAMES: [&str; 6] = ["extra", "other", "k", "clé", "with space", "a/b~c"];

impl<'d> Generator<'_, 'd> {
    pub(super) fn object(
        &mut self,
        demands: &Demands<'d>,
        at: &str,
        depth: usize,
    ) -> Option<Value> {
        let schemas = &demands.schemas;
        let (least, most) = bounds(schemas, "minProperties", "maxProperties");
        let most = most.unwrap_or(usize::MAX);
        if least > 300 {
            return None;
        }
        let required = schemas
            .iter()
            .flat_map(|schema| names(schema.get("required")));
        let required = required.chain(demands.wanted.iter().copied());
        let mut chosen: Vec<String> = Vec::new();
        add(schemas, &mut chosen, required);
        let needed = chosen.clone();
        for name in self.optional(schemas, depth) {
            let mut with = chosen.clone();
            add(schemas, &mut with, [name]);
            let is_unwanted = |name: &String| demands.unwanted.contains(&name.as_str());
            if with.len() <= most && !with.iter().any(is_unwanted) {
                chosen = with;
            }
        }
        for _ in 0..self.extra_count(schemas, least.saturating_sub(chosen.len()), depth) {
            if chosen.len() < most {
                chosen.extend(self.free_name(schemas, &chosen));
            }
        }
        let mut object = Map::new();
        for name in chosen {
            let rules = self.property_schemas(schemas, &name);
            match self.value(&rules, &pointer::join(at, &name), depth + 1) {
                Some(value) => {
                    object.insert(name, value);
                }
                None if needed.contains(&name) => return None,
                None => {}
            }
        }
        Some(Value::Object(object))
    }

    /// Returns the optional properties to include: all, none, or some. Those that were not reached so far are
    /// preferred.
    fn optional(&mut self, schemas: &[&'d Object], depth: usize) -> Vec<&'d str> {
        let keywords = ["properties", "dependentRequired", "dependencies"];
        let rules = schemas
            .iter()
            .flat_map(|schema| keywords.map(|keyword| schema.get(keyword)));
        let names = rules
            .flatten()
            .filter_map(Value::as_object)
            .flat_map(Map::keys);
        let mut known: Vec<&'d str> = names.map(String::as_str).collect();
        self.rng.shuffle(&mut known);
        let share = match self.rng.usize(..4) {
            0 => return Vec::new(),
            _ if self.is_deep(depth) => usize::MAX,
            1 => 1,
            _ => 2,
        };
        known.retain(|name| {
            let rules = self.property_schemas(schemas, name);
            let new = rules.iter().any(|rule| self.is_unreached(rule));
            self.rng.usize(..share) == 0
                || new && depth < super::DEEPEST / 2 && self.rng.usize(..3) != 0
        });
        known
    }

    fn extra_count(&mut self, schemas: &[&'d Object], missing: usize, depth: usize) -> usize {
        if self.is_deep(depth) {
            return missing;
        }
        let rules: Vec<&Value> = schemas
            .iter()
            .flat_map(|schema| {
                let patterns = schema.get("patternProperties").and_then(Value::as_object);
                let others = [
                    "additionalProperties",
                    "unevaluatedProperties",
                    "propertyNames",
                ];
                let others = others
                    .map(|keyword| schema.get(keyword))
                    .into_iter()
                    .flatten();
                patterns.into_iter().flat_map(Map::values).chain(others)
            })
            .collect();
        let new = rules.iter().any(|rule| self.is_unreached(rule));
        let more = if rules.iter().any(|rule| rule.is_object()) {
            self.rng.usize(..4)
        } else {
            usize::from(self.rng.usize(..6) == 0)
        };
        missing + usize::from(new) + more
    }

    /// Returns an unused name that these schemas allow.
    pub(crate) fn free_name(&mut self, schemas: &[&'d Object], taken: &[String]) -> Option<String> {
        let rules = schemas
            .iter()
            .map(|schema| schema.get("unevaluatedProperties"));
        let closed = rules.flatten().any(|rule| *rule == Value::Bool(false));
        (0..12).find_map(|_| {
            let name = self.name(schemas)?;
            let text = Value::from(name.as_str());
            let rules = self.property_schemas(schemas, &name);
            let mut name_rules = schemas
                .iter()
                .filter_map(|schema| schema.get("propertyNames"));
            let free = name_rules.all(|rule| self.validator.accepts(rule, &text))
                && !rules.contains(&&Value::Bool(false))
                && (!closed || !rules.is_empty())
                && !taken.contains(&name);
            free.then_some(name)
        })
    }

    fn name(&mut self, schemas: &[&'d Object]) -> Option<String> {
        let patterns = schemas
            .iter()
            .filter_map(|schema| schema.get("patternProperties")?.as_object());
        let patterns: Vec<&'d String> = patterns.flat_map(Map::keys).collect();
        if self.rng.usize(..3) != 0
            && let Some(text) = self.rng.choice(&patterns)
            && let Ok(pattern) = self.doc.pattern(text)
        {
            let reach = self.rng.usize(..4);
            return pattern.sample(self.rng, reach);
        }
        // A name is a string, even if the schema of the names has no type.
        let mut demands = Demands::default();
        for rule in schemas
            .iter()
            .filter_map(|schema| schema.get("propertyNames"))
        {
            self.demand(rule, &mut demands, super::DEEP, 0)?;
        }
        match self.listed(&demands.schemas) {
            Some(listed) => listed?.as_str().map(str::to_owned),
            None if demands.schemas.is_empty() => {
                let name = self.rng.choice(&NAMES)?;
                Some(format!("{name}{}", self.rng.usize(..100)))
            }
            None => self.string(&demands.schemas),
        }
    }

    pub(crate) fn property_schemas(&self, schemas: &[&'d Object], name: &str) -> Vec<&'d Value> {
        let schemas = schemas.iter();
        schemas
            .flat_map(|schema| property_schemas(self.doc, schema, name))
            .collect()
    }
}

fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = list.and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// Adds names, and the names that these depend on.
fn add<'n>(
    schemas: &[&'n Object],
    to: &mut Vec<String>,
    names_: impl IntoIterator<Item = &'n str>,
) {
    let mut open: Vec<&'n str> = names_.into_iter().collect();
    open.reverse();
    while let Some(name) = open.pop() {
        if !to.iter().any(|known| known == name) {
            to.push(name.to_owned());
            for schema in schemas {
                for keyword in ["dependentRequired", "dependencies"] {
                    let rules = schema.get(keyword);
                    open.extend(names(rules.and_then(|rules| rules.get(name))));
                }
            }
        }
    }
}
