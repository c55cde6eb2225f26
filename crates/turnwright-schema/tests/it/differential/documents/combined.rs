//! Subschemas that combine others for the same location of the value.

use serde_json::{Value, json};

use super::{Place, Schema, Writer};

impl Writer<'_> {
    pub(super) fn union(&mut self, place: Place) -> Schema {
        let keyword = if self.rng.chance(60) {
            "anyOf"
        } else {
            "oneOf"
        };
        // Branches that are all objects share names: more than one may match, or match once defaults are filled.
        let objects = self.rng.chance(35);
        let branch = |writer: &mut Self| {
            if objects {
                Value::Object(writer.object(place.same()))
            } else {
                writer.schema(place.same())
            }
        };
        let mut branches: Vec<Value> = (0..self.rng.between(1, 3)).map(|_| branch(self)).collect();
        if self.rng.chance(20) {
            branches.push(json!({ "type": "null" }));
        }
        let mut schema = Schema::from_iter([(keyword.into(), Value::Array(branches))]);
        if self.rng.chance(10) {
            schema.insert("not".into(), json!({ "const": self.literal() }));
        }
        schema
    }

    /// Generates parts that can hold together: an object and facets of it, or a scalar and a further bound.
    pub(super) fn all_of(&mut self, place: Place) -> Schema {
        let parts = match self.rng.below(4) {
            0 | 1 => {
                let first = if self.rng.chance(70) {
                    Value::Object(self.object(place.same()))
                } else {
                    self.reference(place.same())
                        .map_or(Value::Bool(true), Value::Object)
                };
                vec![first, self.facet(place.same())]
            }
            2 => vec![
                Value::Object(self.scalar()),
                json!({ "not": { "const": self.literal() } }),
            ],
            _ => vec![Value::Object(self.text()), json!({ "maxLength": 40 })],
        };
        Schema::from_iter([("allOf".into(), Value::Array(parts))])
    }

    pub(super) fn negation(&mut self, place: Place) -> Schema {
        let mut schema = if self.rng.chance(60) {
            self.scalar()
        } else {
            Schema::new()
        };
        let refused = if self.rng.chance(50) {
            json!({ "const": self.literal() })
        } else {
            self.schema(place.same())
        };
        schema.insert("not".into(), refused);
        schema
    }

    pub(super) fn conditional(&mut self, place: Place) -> Schema {
        let mut schema = if self.rng.chance(50) {
            self.object(place)
        } else {
            Schema::new()
        };
        let condition = if schema.is_empty() {
            self.schema(place.same())
        } else {
            self.facet(place.same())
        };
        schema.insert("if".into(), condition);
        let consequence = |writer: &mut Self, object: bool| {
            if object {
                writer.facet(place.same())
            } else {
                writer.schema(place.same())
            }
        };
        let object = schema.contains_key("type");
        let both = self.rng.chance(50);
        let first = self.rng.chance(60);
        if both || first {
            let inner = consequence(self, object);
            schema.insert("then".into(), inner);
        }
        if both || !first {
            let inner = consequence(self, object);
            schema.insert("else".into(), inner);
        }
        schema
    }
}
