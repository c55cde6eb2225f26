//! Keywords of objects.

use serde_json::Value;

use super::{Judge, Seen, scalar};
use crate::contract::document::{Document, Object};
use crate::contract::place::Place;
use crate::contract::verdict::Verdict;

pub(super) const KEYWORDS: &[&str] = &[
    "minProperties",
    "maxProperties",
    "required",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
];

impl<'d> Judge<'_, 'd> {
    #[expect(
        clippy::too_many_arguments,
        reason = "what every keyword needs, and the rule taken out of the schema"
    )]
    pub(super) fn object_keyword(
        &self,
        schema: &'d Object,
        keyword: &str,
        rule: &'d Value,
        object: &Object,
        at: &Place<'_>,
        seen: &mut Seen,
        depth: usize,
    ) -> Verdict {
        let fill = self.fillable(object, at);
        let count = object.len();
        match keyword {
            "minProperties" => match scalar::size(rule) {
                Some(least) if count >= least => Verdict::Valid,
                Some(least) if count + fill.len() < least => Verdict::Invalid,
                _ => Verdict::Unknown,
            },
            "maxProperties" => match scalar::size(rule) {
                Some(most) if count > most => Verdict::Invalid,
                Some(most) if count + fill.len() <= most => Verdict::Valid,
                _ => Verdict::Unknown,
            },
            "required" => present(rule, object, &fill),
            _ => {
                let verdict = match keyword {
                    "propertyNames" => self.names(rule, object, at, depth),
                    "dependentRequired" | "dependentSchemas" | "dependencies" => {
                        self.dependents(rule, object, &fill, at, seen, depth)
                    }
                    "unevaluatedProperties" => self.unevaluated(rule, object, at, seen, depth),
                    _ => self.properties(schema, keyword, object, at, seen, depth),
                };
                // A property that a default adds may break what holds now.
                if fill.is_empty() {
                    verdict
                } else {
                    verdict.at_most_unknown()
                }
            }
        }
    }

    fn properties(
        &self,
        schema: &'d Object,
        keyword: &str,
        object: &Object,
        at: &Place<'_>,
        seen: &mut Seen,
        depth: usize,
    ) -> Verdict {
        let mut verdict = Verdict::Valid;
        for (name, value) in object {
            for (by, sure, child) in property_schemas(self.doc, schema, name) {
                if by != keyword {
                    continue;
                }
                let judged = self.property(child, name, value, at, depth);
                verdict = verdict.and(match (sure, judged) {
                    (true, judged) => judged,
                    (false, Verdict::Valid) => Verdict::Valid,
                    (false, _) => Verdict::Unknown,
                });
                let entry = seen.entry(name.clone()).or_insert(false);
                *entry |= sure;
            }
        }
        verdict
    }

    fn property(
        &self,
        schema: &'d Value,
        name: &str,
        value: &Value,
        at: &Place<'_>,
        depth: usize,
    ) -> Verdict {
        let verdict = self.judge(schema, value, &at.key(name), &mut Seen::new(), depth + 1);
        if self.repairs && value.is_null() && verdict != Verdict::Valid {
            // The null may count as absent, which changes the object.
            self.unsettled.borrow_mut().insert(at.pointer());
        }
        verdict
    }

    fn unevaluated(
        &self,
        rule: &'d Value,
        object: &Object,
        at: &Place<'_>,
        seen: &mut Seen,
        depth: usize,
    ) -> Verdict {
        let mut verdict = Verdict::Valid;
        for (name, value) in object {
            let evaluated = seen.get(name).copied();
            if evaluated == Some(true) {
                continue;
            }
            let judged = self.property(rule, name, value, at, depth);
            verdict = verdict.and(if evaluated.is_some() {
                judged.at_least_unknown()
            } else {
                judged
            });
        }
        seen.extend(object.keys().map(|name| (name.clone(), true)));
        verdict
    }

    fn names(&self, rule: &'d Value, object: &Object, at: &Place<'_>, depth: usize) -> Verdict {
        object.keys().fold(Verdict::Valid, |verdict, name| {
            let text = Value::String(name.clone());
            // A name is never coerced: judged as it stands, in a place that no value has.
            let strict = Judge::strict(self.doc);
            verdict.and(strict.judge(rule, &text, at, &mut Seen::new(), depth + 1))
        })
    }

    fn dependents(
        &self,
        rule: &'d Value,
        object: &Object,
        fill: &[&str],
        at: &Place<'_>,
        seen: &mut Seen,
        depth: usize,
    ) -> Verdict {
        let Value::Object(rules) = rule else {
            return Verdict::Unknown;
        };
        let mut verdict = Verdict::Valid;
        for (name, needs) in rules {
            if !object.contains_key(name) {
                continue;
            }
            verdict = verdict.and(if needs.is_array() {
                present(needs, object, fill)
            } else {
                let whole = Value::Object(object.clone());
                self.judge(needs, &whole, at, seen, depth + 1)
            });
        }
        verdict
    }
}

fn present(names: &Value, object: &Object, fill: &[&str]) -> Verdict {
    let Value::Array(names) = names else {
        return Verdict::Unknown;
    };
    names
        .iter()
        .filter_map(Value::as_str)
        .fold(Verdict::Valid, |verdict, name| {
            verdict.and(match (object.contains_key(name), fill.contains(&name)) {
                (true, _) => Verdict::Valid,
                (false, true) => Verdict::Unknown,
                (false, false) => Verdict::Invalid,
            })
        })
}

/// The subschemas that a schema has for a property of that name, with the keyword that says so, and whether it is
/// certain that they apply (a pattern may be unreadable).
pub(crate) fn property_schemas<'d>(
    doc: &Document<'_>,
    schema: &'d Object,
    name: &str,
) -> Vec<(&'static str, bool, &'d Value)> {
    let mut found = Vec::new();
    if let Some(child) = schema.get("properties").and_then(|all| all.get(name)) {
        found.push(("properties", true, child));
    }
    let mut certain = true;
    if let Some(Value::Object(patterns)) = schema.get("patternProperties") {
        for (pattern, child) in patterns {
            match doc
                .pattern(pattern)
                .ok()
                .and_then(|pattern| pattern.matches(name))
            {
                Some(true) => found.push(("patternProperties", true, child)),
                Some(false) => {}
                None => {
                    certain = false;
                    found.push(("patternProperties", false, child));
                }
            }
        }
    }
    if !found.iter().any(|(_, sure, _)| *sure)
        && let Some(child) = schema.get("additionalProperties")
    {
        found.push(("additionalProperties", certain, child));
    }
    found
}
