//! Arrays: long enough, each item by all schemas that speak of it.

use serde_json::Value;

use super::Generator;
use crate::contract::document::Object;
use crate::contract::judge::array::item_schema;
use crate::contract::judge::scalar::size;
use crate::contract::number;

/// More items say nothing that fewer do not.
const MOST: usize = 300;

impl<'d> Generator<'_, 'd> {
    pub(super) fn array(&mut self, schemas: &[&'d Object], depth: usize) -> Option<Value> {
        let least = schemas
            .iter()
            .filter_map(|schema| size(schema.get("minItems")?))
            .max()
            .unwrap_or(0);
        let most = schemas
            .iter()
            .filter_map(|schema| size(schema.get("maxItems")?))
            .min();
        let contained: Vec<(&'d Value, usize)> = schemas
            .iter()
            .filter_map(|schema| {
                let count = schema.get("minContains").map_or(Some(1), size)?;
                Some((schema.get("contains")?, count))
            })
            .collect();
        let needed = contained.iter().map(|(_, count)| count).sum::<usize>();
        let prefix = schemas
            .iter()
            .filter_map(|schema| {
                schema
                    .get("prefixItems")
                    .or(schema.get("items"))?
                    .as_array()
            })
            .map(Vec::len)
            .max()
            .unwrap_or(0);
        // Behind the prefix all items have one schema.
        let closed = (0..=prefix).find(|&index| {
            self.item_schemas(schemas, index)
                .iter()
                .any(|schema| *schema == &Value::Bool(false))
        });
        let most = [most, closed].into_iter().flatten().min();
        if least > MOST || most.is_some_and(|most| most < least) {
            return None;
        }
        let length = self.item_count(least.max(needed), most, prefix, depth);
        let unique = schemas
            .iter()
            .any(|schema| schema.get("uniqueItems") == Some(&Value::Bool(true)));
        // Behind the items that have a place of their own, where there is room.
        let mut position = if length >= prefix + needed {
            prefix
        } else {
            length.saturating_sub(needed)
        };
        let mut demands: Vec<(usize, &'d Value)> = Vec::new();
        for (schema, count) in contained {
            for _ in 0..count {
                demands.push((position, schema));
                position += 1;
            }
        }
        let mut items: Vec<Value> = Vec::with_capacity(length);
        for index in 0..length {
            let mut rules = self.item_schemas(schemas, index);
            rules.extend(
                demands
                    .iter()
                    .filter(|(at, _)| *at == index)
                    .map(|(_, schema)| *schema),
            );
            let tries = if unique { 12 } else { 1 };
            let item = (0..tries).find_map(|_| {
                let item = self.value(&rules, depth + 1)?;
                (!unique || !items.iter().any(|other| number::equal(other, &item))).then_some(item)
            });
            match item {
                Some(item) => items.push(item),
                None if index >= least.max(needed) => break,
                None => return None,
            }
        }
        Some(Value::Array(items))
    }

    fn item_schemas(&self, schemas: &[&'d Object], index: usize) -> Vec<&'d Value> {
        schemas
            .iter()
            .filter_map(|schema| {
                item_schema(self.doc, schema, index)
                    .map(|(_, child)| child)
                    .or_else(|| {
                        schema
                            .get("unevaluatedItems")
                            .filter(|rule| rule.is_object())
                    })
            })
            .collect()
    }

    fn item_count(
        &mut self,
        least: usize,
        most: Option<usize>,
        prefix: usize,
        depth: usize,
    ) -> usize {
        let within = |n: usize| n.max(least).min(most.unwrap_or(usize::MAX));
        if self.is_deep(depth) {
            return least;
        }
        let small = most.filter(|&most| most <= 12);
        match (self.rng.below(6), small) {
            (0, _) => least,
            (1, Some(most)) => most,
            (2, _) if prefix > 0 => within(prefix + 1),
            _ => within(self.rng.between(least, (least + 3).max(prefix))),
        }
    }
}
