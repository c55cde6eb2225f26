//! Arrays: within their length limits, each item following all schemas that apply to it.

use serde_json::Value;

use super::{Generator, bounds};
use crate::contract::document::{Object, item_schema, size};
use crate::pointer;

/// More items would not reveal more.
const MAX_ITEMS: usize = 300;

impl<'d> Generator<'_, 'd> {
    pub(super) fn array(
        &mut self,
        schemas: &[&'d Object],
        at: &str,
        depth: usize,
    ) -> Option<Value> {
        let (least, most) = bounds(schemas, "minItems", "maxItems");
        let prefixes = schemas.iter().filter_map(|schema| {
            let list = schema.get("prefixItems").or(schema.get("items"))?;
            list.as_array().map(Vec::len)
        });
        let prefix = prefixes.max().unwrap_or(0);
        // After the prefix all items have the same schema.
        let closed = (0..=prefix).find(|&index| {
            let rules = self.item_schemas(schemas, index);
            rules.contains(&&Value::Bool(false))
        });
        let most = most.into_iter().chain(closed).min().unwrap_or(usize::MAX);
        let contained: Vec<&'d Value> = schemas
            .iter()
            .filter_map(|schema| Some((schema.get("contains")?, schema.get("minContains"))))
            .flat_map(|(rule, count)| {
                let count = count.map_or(Some(1), |count| size(Some(count)));
                std::iter::repeat_n(rule, count.unwrap_or(0).min(MAX_ITEMS))
            })
            .collect();
        let needed = least.max(contained.len());
        if needed > MAX_ITEMS || most < least {
            return None;
        }
        let length = self.item_count(needed, most, prefix, depth);
        // The contained items come after the prefix if there is room.
        let first = prefix.min(length.saturating_sub(contained.len()));
        let rules = schemas
            .iter()
            .filter_map(|schema| schema.get("uniqueItems"));
        let unique = rules.into_iter().any(|rule| *rule == Value::Bool(true));
        let mut items: Vec<Value> = Vec::with_capacity(length);
        for index in 0..length {
            let mut rules = self.item_schemas(schemas, index);
            let behind = index.checked_sub(first);
            rules.extend(behind.and_then(|index| contained.get(index)));
            let at = pointer::join(at, index);
            let tries = if unique { 12 } else { 1 };
            let item = (0..tries).find_map(|_| {
                let applied = self.applied.len();
                let item = self.value(&rules, &at, depth + 1)?;
                if unique && items.contains(&item) {
                    self.applied.truncate(applied);
                    return None;
                }
                Some(item)
            });
            match item {
                Some(item) => items.push(item),
                None if index >= needed => break,
                None => return None,
            }
        }
        Some(Value::Array(items))
    }

    fn item_schemas(&self, schemas: &[&'d Object], index: usize) -> Vec<&'d Value> {
        let schemas = schemas.iter();
        schemas
            .filter_map(|schema| item_schema(self.doc, schema, index))
            .collect()
    }

    fn item_count(&mut self, least: usize, most: usize, prefix: usize, depth: usize) -> usize {
        if self.is_deep(depth) {
            return least;
        }
        let count = match self.rng.usize(..6) {
            0 => least,
            1 if most <= 12 => most,
            2 if prefix > 0 => prefix + 1,
            _ => self.rng.usize(least..=(least + 3).max(prefix)),
        };
        count.min(most).max(least)
    }
}
