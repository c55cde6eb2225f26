//! Generates objects and arrays from everything that applies to their location.

use serde_json::{Map, Value};

use super::super::documents::{Draft, NAMES};
use super::super::rng::Rng;
use super::super::texts;
use super::{DEEP, Facet, Maker, bound, list};

impl<'d> Maker<'d> {
    fn inside(&self) -> Self {
        Self {
            depth: self.depth + 1,
            ..*self
        }
    }

    pub(super) fn object(&self, facets: &mut Vec<Facet<'d>>, rng: &mut Rng) -> Value {
        let mut names = self.names(facets, rng);
        self.follow_dependencies(facets, &mut names, rng);
        if let Some(most) = bound(facets, "maxProperties", f64::min) {
            names.truncate(most as usize);
        }
        let mut object = Map::new();
        for name in names {
            let schemas = property_schemas(facets, &name);
            if !schemas.iter().any(|schema| **schema == Value::Bool(false)) {
                object.insert(name, self.inside().value(&schemas, rng));
            }
        }
        Value::Object(object)
    }

    /// Picks required names first, then some declared ones, then some that are merely allowed.
    fn names(&self, facets: &[Facet<'d>], rng: &mut Rng) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut add = |name: &str| {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_string());
            }
        };
        for name in facets.iter().flat_map(|facet| list(facet, "required")) {
            add(name.as_str().unwrap_or_default());
        }
        let least = bound(facets, "minProperties", f64::max).is_some();
        let keep = if self.depth >= DEEP { 0 } else { 55 };
        for name in facets
            .iter()
            .filter_map(|facet| facet.get("properties")?.as_object())
            .flat_map(Map::keys)
        {
            if least || rng.chance(keep) {
                add(name);
            }
        }
        if self.depth >= DEEP {
            return names;
        }
        for pattern in facets
            .iter()
            .filter_map(|facet| facet.get("patternProperties")?.as_object())
            .flat_map(Map::keys)
        {
            if let Some(known) = texts::name_pattern(pattern) {
                add(rng.pick::<&str>(known.names));
            }
        }
        let closed = |facet: &Facet<'_>| {
            [
                "additionalProperties",
                "unevaluatedProperties",
                "propertyNames",
            ]
            .iter()
            .any(|keyword| {
                facet.get(*keyword).is_some_and(|schema| {
                    *keyword == "propertyNames" || *schema == Value::Bool(false)
                })
            })
        };
        if !facets.iter().any(closed) && rng.chance(35) {
            add(rng.pick::<&str>(NAMES));
        }
        names
    }

    fn follow_dependencies(
        &self,
        facets: &mut Vec<Facet<'d>>,
        names: &mut Vec<String>,
        rng: &mut Rng,
    ) {
        let mut more = Vec::new();
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            for (name, asked) in facets
                .iter()
                .filter_map(|facet| facet.get(keyword)?.as_object())
                .flatten()
            {
                if !names.contains(name) {
                    continue;
                }
                match asked {
                    Value::Array(others) => names.extend(
                        others
                            .iter()
                            .filter_map(|other| other.as_str().map(str::to_string)),
                    ),
                    schema => self.gather(schema, rng, &mut more, 0),
                }
            }
        }
        let required = more.iter().flat_map(|facet| list(facet, "required"));
        names.extend(required.filter_map(|name| name.as_str().map(str::to_string)));
        facets.extend(more);
        let mut seen = Vec::new();
        names.retain(|name| {
            !seen.contains(name) && {
                seen.push(name.clone());
                true
            }
        });
    }

    pub(super) fn array(&self, facets: &[Facet<'d>], rng: &mut Rng) -> Value {
        let wanted = facets
            .iter()
            .find_map(|facet| Some((facet.get("contains")?, *facet)));
        let wanted_count = wanted.map_or(0, |(_, facet)| {
            facet
                .get("minContains")
                .and_then(Value::as_u64)
                .unwrap_or(1) as i64
        });
        let least = (bound(facets, "minItems", f64::max).unwrap_or(0.0) as i64).max(wanted_count);
        let tuple = facets
            .iter()
            .map(|facet| self.tuple(facet).len())
            .max()
            .unwrap_or(0) as i64;
        let room = if self.depth >= DEEP { 0 } else { tuple.max(2) };
        let mut most =
            bound(facets, "maxItems", f64::min).map_or(least.max(room), |most| most as i64);
        if facets
            .iter()
            .any(|facet| self.rest(facet) == Some(&Value::Bool(false)))
        {
            most = most.min(tuple);
        }
        let count = rng.between(least.min(most), most.min(least.max(room)));
        let items = (0..count).map(|index| {
            let mut schemas: Vec<&Value> = Vec::new();
            for facet in facets {
                let of_tuple = self.tuple(facet).get(index as usize);
                schemas.extend(of_tuple.or_else(|| self.rest(facet)));
            }
            if let Some((wanted, _)) = wanted
                && index < wanted_count
            {
                schemas.push(wanted);
            }
            self.inside().value(&schemas, rng)
        });
        Value::Array(items.collect())
    }

    fn tuple(&self, facet: Facet<'d>) -> &'d [Value] {
        list(
            facet,
            if self.draft == Draft::V7 {
                "items"
            } else {
                "prefixItems"
            },
        )
    }

    /// Returns the schema of the items after the tuple.
    fn rest(&self, facet: Facet<'d>) -> Option<&'d Value> {
        match facet.get("items") {
            Some(Value::Array(_)) => facet.get("additionalItems"),
            Some(schema) => Some(schema),
            None => facet.get("unevaluatedItems"),
        }
    }
}

fn property_schemas<'d>(facets: &[Facet<'d>], name: &str) -> Vec<&'d Value> {
    let mut schemas = Vec::new();
    for facet in facets {
        let known = schemas.len();
        schemas.extend(
            facet
                .get("properties")
                .and_then(|properties| properties.get(name)),
        );
        if let Some(patterns) = facet.get("patternProperties").and_then(Value::as_object) {
            let fits = |pattern: &str| {
                texts::name_pattern(pattern).is_some_and(|known| (known.fits)(name))
            };
            schemas.extend(
                patterns
                    .iter()
                    .filter(|(pattern, _)| fits(pattern))
                    .map(|(_, schema)| schema),
            );
        }
        if schemas.len() == known {
            schemas.extend(
                facet
                    .get("additionalProperties")
                    .or_else(|| facet.get("unevaluatedProperties")),
            );
        }
    }
    schemas
}
