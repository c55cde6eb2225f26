//! Objects: declared, matched and additional properties, and dependencies between properties.

use serde_json::{Value, json};

use super::super::texts::NAME_PATTERNS;
use super::scalars::typed;
use super::{Draft, NAMES, Place, Schema, Writer};

impl Writer<'_> {
    pub(super) fn object(&mut self, place: Place) -> Schema {
        let mut schema = typed("object");
        let names = self.some_names(5);
        let properties: Schema = names
            .iter()
            .map(|name| ((*name).to_string(), self.schema(place.down())))
            .collect();
        let required: Vec<_> = names
            .iter()
            .filter(|name| properties[**name].get("$ref").is_none() && self.rng.chance(30))
            .copied()
            .collect();
        schema.insert("properties".into(), Value::Object(properties));
        if !required.is_empty() {
            schema.insert("required".into(), json!(required));
        }
        if self.rng.chance(12) {
            let entry = self.rng.pick(NAME_PATTERNS);
            let inner = self.schema(place.down());
            schema.insert("patternProperties".into(), json!({ entry.pattern: inner }));
        }
        self.further_properties(&mut schema, place);
        self.counts(&mut schema, names.len() as i64);
        self.dependencies(&mut schema, place, &names);
        if self.rng.chance(12) && !schema.contains_key("anyOf") {
            let keyword = if self.rng.chance(75) {
                "anyOf"
            } else {
                "oneOf"
            };
            let facets = if self.rng.chance(40) {
                self.waking()
            } else {
                [self.facet(place.same()), self.facet(place.same())]
            };
            schema.insert(keyword.into(), json!(facets));
        }
        schema
    }

    fn some_names(&mut self, most: i64) -> Vec<&'static str> {
        let mut names = Vec::new();
        for _ in 0..self.rng.between(1, most) {
            let name = *self.rng.pick(NAMES);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn further_properties(&mut self, schema: &mut Schema, place: Place) {
        let unevaluated = self.draft == Draft::V2020 && self.rng.chance(12);
        let keyword = if unevaluated {
            "unevaluatedProperties"
        } else {
            "additionalProperties"
        };
        match self.rng.below(10) {
            0..4 => schema.insert(keyword.into(), false.into()),
            4 => {
                let inner = self.schema(place.down());
                schema.insert(keyword.into(), inner)
            }
            _ => None,
        };
        if unevaluated && self.rng.chance(60) {
            let facet = self.facet(place.same());
            schema.insert((*self.rng.pick(&["allOf", "anyOf"])).into(), json!([facet]));
        }
        if self.rng.chance(5) {
            let names = match self.rng.below(3) {
                0 => json!({ "maxLength": 4 }),
                1 => json!({ "pattern": "^[a-z]" }),
                _ => json!({ "enum": NAMES }),
            };
            schema.insert("propertyNames".into(), names);
        }
    }

    fn counts(&mut self, schema: &mut Schema, declared: i64) {
        if self.rng.chance(5) {
            schema.insert(
                "minProperties".into(),
                self.rng.between(1, declared.min(2)).into(),
            );
        }
        if self.rng.chance(5) {
            schema.insert(
                "maxProperties".into(),
                self.rng.between(declared.max(2), 6).into(),
            );
        }
    }

    fn dependencies(&mut self, schema: &mut Schema, place: Place, names: &[&'static str]) {
        let name = *self.rng.pick(names);
        let other = *self.rng.pick(NAMES);
        let (required, schemas) = match self.draft {
            Draft::V2020 => ("dependentRequired", "dependentSchemas"),
            Draft::V7 => ("dependencies", "dependencies"),
        };
        if self.rng.chance(6) {
            schema.insert(required.into(), json!({ name: [other] }));
        } else if self.rng.chance(6) {
            let facet = self.facet(place.same());
            schema.insert(schemas.into(), json!({ name: facet }));
        }
    }

    /// Generates a subschema that constrains objects without requiring one.
    pub(super) fn facet(&mut self, place: Place) -> Value {
        let name = *self.rng.pick(NAMES);
        let other = *self.rng.pick(NAMES);
        match self.rng.below(4) {
            0 => json!({ "required": [name] }),
            1 => json!({ "required": [name], "properties": { other: self.small(place) } }),
            _ => json!({ "properties": { name: self.small(place) } }),
        }
    }

    /// Generates two branches: the default of the second triggers the first.
    fn waking(&mut self) -> [Value; 2] {
        let name = *self.rng.pick(NAMES);
        let other = *self.rng.pick(NAMES);
        let [filled, woken] = [0, 0].map(|_| json!({ "default": self.literal() }));
        [
            json!({ "required": [name], "properties": { other: woken } }),
            json!({ "properties": { name: filled } }),
        ]
    }

    fn small(&mut self, place: Place) -> Value {
        self.left -= 1;
        self.schema(place.down())
    }
}
