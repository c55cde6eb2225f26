//! Arrays: lists, tuples, `contains` and item counts.

use serde_json::{Value, json};

use super::scalars::typed;
use super::{Draft, Place, Schema, Writer};

impl Writer<'_> {
    pub(super) fn array(&mut self, place: Place) -> Schema {
        let mut schema = typed("array");
        if self.rng.chance(25) {
            self.tuple(&mut schema, place);
        } else if self.rng.chance(85) {
            let inner = self.schema(place.down());
            schema.insert("items".into(), inner);
        }
        let least = self.rng.between(0, 2);
        if self.rng.chance(20) {
            schema.insert("minItems".into(), least.into());
        }
        if self.rng.chance(20) {
            schema.insert("maxItems".into(), (least + self.rng.between(1, 3)).into());
        }
        if self.rng.chance(10) {
            schema.insert("uniqueItems".into(), true.into());
        }
        if self.rng.chance(10) {
            self.contains(&mut schema, place);
        }
        if self.draft == Draft::V2020 && !schema.contains_key("items") && self.rng.chance(50) {
            let inner = if self.rng.chance(50) {
                false.into()
            } else {
                self.schema(place.down())
            };
            schema.insert("unevaluatedItems".into(), inner);
        }
        schema
    }

    fn tuple(&mut self, schema: &mut Schema, place: Place) {
        let parts: Vec<Value> = (0..self.rng.between(1, 3))
            .map(|_| self.schema(place.down()))
            .collect();
        let (first, rest) = match self.draft {
            Draft::V2020 => ("prefixItems", "items"),
            Draft::V7 => ("items", "additionalItems"),
        };
        schema.insert(first.into(), Value::Array(parts));
        match self.rng.below(3) {
            0 => schema.insert(rest.into(), false.into()),
            1 => {
                let inner = self.schema(place.down());
                schema.insert(rest.into(), inner)
            }
            _ => None,
        };
    }

    fn contains(&mut self, schema: &mut Schema, place: Place) {
        let wanted = match schema.get("items") {
            Some(Value::Object(items)) if !items.contains_key("$ref") && self.rng.chance(60) => {
                Value::Object(items.clone())
            }
            _ => self.schema(place.down()),
        };
        schema.insert("contains".into(), wanted);
        if self.draft == Draft::V2020 {
            if self.rng.chance(40) {
                schema.insert("minContains".into(), self.rng.between(0, 2).into());
            }
            if self.rng.chance(40) {
                schema.insert("maxContains".into(), json!(self.rng.between(2, 3)));
            }
        }
    }
}
