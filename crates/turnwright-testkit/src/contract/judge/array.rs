//! Keywords of arrays.

use serde_json::Value;

use super::{Judge, Seen, scalar};
use crate::contract::document::{Document, Object};
use crate::contract::number;
use crate::contract::place::Place;
use crate::contract::verdict::Verdict;

pub(super) const KEYWORDS: &[&str] = &[
    "minItems",
    "maxItems",
    "uniqueItems",
    "prefixItems",
    "items",
    "additionalItems",
    "contains",
    "minContains",
    "maxContains",
    "unevaluatedItems",
];

impl<'d> Judge<'_, 'd> {
    #[expect(
        clippy::too_many_arguments,
        reason = "what every keyword needs, and the rule taken out of the schema"
    )]
    pub(super) fn array_keyword(
        &self,
        schema: &'d Object,
        keyword: &str,
        rule: &'d Value,
        items: &[Value],
        at: &Place<'_>,
        seen: &mut Seen,
        depth: usize,
    ) -> Verdict {
        match keyword {
            "minItems" => bounded(rule, |n| items.len() >= n),
            "maxItems" => bounded(rule, |n| items.len() <= n),
            "uniqueItems" if self.is_unsettled_inside(at) => Verdict::Unknown,
            "uniqueItems" => Verdict::from(rule != &Value::Bool(true) || all_differ(items)),
            "contains" | "minContains" | "maxContains" => {
                self.contains(schema, keyword, items, at, seen, depth)
            }
            "unevaluatedItems" => {
                let mut verdict = Verdict::Valid;
                for (index, item) in items.iter().enumerate() {
                    let evaluated = seen.get(&index.to_string()).copied();
                    if evaluated == Some(true) {
                        continue;
                    }
                    let judged =
                        self.judge(rule, item, &at.index(index), &mut Seen::new(), depth + 1);
                    verdict = verdict.and(if evaluated.is_some() {
                        judged.at_least_unknown()
                    } else {
                        judged
                    });
                }
                seen.extend((0..items.len()).map(|index| (index.to_string(), true)));
                verdict
            }
            _ => {
                let mut verdict = Verdict::Valid;
                for (index, item) in items.iter().enumerate() {
                    if let Some((by, child)) = item_schema(self.doc, schema, index)
                        && by == keyword
                    {
                        let judged =
                            self.judge(child, item, &at.index(index), &mut Seen::new(), depth + 1);
                        verdict = verdict.and(judged);
                        seen.insert(index.to_string(), true);
                    }
                }
                verdict
            }
        }
    }

    fn contains(
        &self,
        schema: &'d Object,
        keyword: &str,
        items: &[Value],
        at: &Place<'_>,
        seen: &mut Seen,
        depth: usize,
    ) -> Verdict {
        let Some(wanted) = schema.get("contains") else {
            return Verdict::Valid;
        };
        let (mut sure, mut perhaps) = (0, 0);
        for (index, item) in items.iter().enumerate() {
            match self.judge(wanted, item, &at.index(index), &mut Seen::new(), depth + 1) {
                Verdict::Valid => {
                    sure += 1;
                    if !self.doc.draft7 {
                        seen.insert(index.to_string(), true);
                    }
                }
                Verdict::Unknown => {
                    perhaps += 1;
                    seen.entry(index.to_string()).or_insert(false);
                }
                Verdict::Invalid => {}
            }
        }
        let least = match (keyword, schema.get("minContains")) {
            ("contains", None) => Some(1),
            ("contains" | "minContains", Some(rule)) => scalar::size(rule),
            _ => {
                let most = schema.get("maxContains").and_then(scalar::size);
                return match most {
                    Some(most) if sure > most => Verdict::Invalid,
                    Some(most) if sure + perhaps <= most => Verdict::Valid,
                    _ => Verdict::Unknown,
                };
            }
        };
        match least {
            Some(least) if sure >= least => Verdict::Valid,
            Some(least) if sure + perhaps < least => Verdict::Invalid,
            _ => Verdict::Unknown,
        }
    }
}

/// The subschema that a schema's `items`, `prefixItems` or `additionalItems` has for an item, and which of the three.
pub(crate) fn item_schema<'d>(
    doc: &Document<'_>,
    schema: &'d Object,
    index: usize,
) -> Option<(&'static str, &'d Value)> {
    if doc.draft7 {
        return match schema.get("items")? {
            Value::Array(list) => match list.get(index) {
                Some(child) => Some(("items", child)),
                None => Some(("additionalItems", schema.get("additionalItems")?)),
            },
            child => Some(("items", child)),
        };
    }
    if let Some(Value::Array(prefix)) = schema.get("prefixItems")
        && let Some(child) = prefix.get(index)
    {
        return Some(("prefixItems", child));
    }
    Some(("items", schema.get("items")?))
}

pub(crate) fn all_differ(items: &[Value]) -> bool {
    items
        .iter()
        .enumerate()
        .all(|(i, a)| items.iter().skip(i + 1).all(|b| !number::equal(a, b)))
}

pub(super) fn bounded(rule: &Value, keeps: impl FnOnce(usize) -> bool) -> Verdict {
    scalar::size(rule).map_or(Verdict::Unknown, |n| Verdict::from(keeps(n)))
}
