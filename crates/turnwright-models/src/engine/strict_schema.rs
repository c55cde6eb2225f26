//! Checks schemas for strict modes, in which a provider compiles the schema of a tool into a grammar. Each provider
//! accepts only a part of JSON Schema.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// What a strict mode accepts.
#[derive(Debug)]
pub(crate) struct StrictRules {
    /// Keywords that are rejected, and what to do instead.
    pub(crate) rejected: &'static [(&'static str, &'static str)],
    /// The formats of strings that are accepted. `None` for all.
    pub(crate) formats: Option<&'static [&'static str]>,
    /// The largest `minItems`. `None` for any.
    pub(crate) max_min_items: Option<u64>,
    /// The maximum number of properties that are not required.
    pub(crate) max_optional: usize,
    /// The maximum number of schemas with alternatives. `None` for any number.
    pub(crate) max_unions: Option<usize>,
    /// Whether a definition may refer to itself.
    pub(crate) allows_recursion: bool,
}

/// Keywords whose value is a schema.
const SCHEMA: [&str; 3] = ["items", "additionalProperties", "not"];
/// Keywords whose value is a list of schemas.
const SCHEMAS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords whose value is an object of schemas.
const NAMED_SCHEMAS: [&str; 3] = ["properties", "$defs", "definitions"];

/// Checks a schema. The error names the JSON pointer of the keyword, and what to do.
///
/// # Errors
/// Returns why the schema does not fit.
pub(crate) fn check(document: &Value, rules: &StrictRules) -> Result<(), String> {
    let mut check = Check {
        document,
        rules,
        optional: 0,
        unions: 0,
        finished: HashSet::new(),
    };
    check.schema(document, "")?;
    check.limits()?;
    check.references("", &mut Vec::new())
}

struct Check<'a> {
    document: &'a Value,
    rules: &'a StrictRules,
    optional: usize,
    unions: usize,
    /// Schemas whose references were followed.
    finished: HashSet<String>,
}

impl Check<'_> {
    /// Checks a schema and those inside it.
    fn schema(&mut self, schema: &Value, at: &str) -> Result<(), String> {
        let Value::Object(fields) = schema else {
            return Err(misfit(
                at,
                "a schema must be an object, not a boolean: give it a `type`",
            ));
        };
        for (keyword, advice) in self.rules.rejected {
            if fields.contains_key(*keyword) {
                let at = child(at, keyword);
                return Err(misfit(
                    &at,
                    &format!("`{keyword}` is not supported: {advice}"),
                ));
            }
        }
        self.object(fields, at)?;
        self.values(fields, at)?;
        let is_union = fields.contains_key("anyOf")
            || fields
                .get("type")
                .and_then(Value::as_array)
                .is_some_and(|types| types.len() > 1);
        self.unions += usize::from(is_union);
        for (inner, at) in inner(fields, at, true) {
            // `additionalProperties: false` is required.
            if *inner != Value::Bool(false) {
                self.schema(inner, &at)?;
            }
        }
        Ok(())
    }

    /// Checks that an object is closed, and counts its optional properties.
    fn object(&mut self, fields: &Map<String, Value>, at: &str) -> Result<(), String> {
        let is_object = fields.contains_key("properties") || has_type(fields, "object");
        if !is_object {
            return Ok(());
        }
        if fields.get("additionalProperties") != Some(&Value::Bool(false)) {
            let at = child(at, "additionalProperties");
            let why = "objects must be closed: set `additionalProperties` to `false` (`#[serde(deny_unknown_fields)]`)";
            return Err(misfit(&at, why));
        }
        let required = fields.get("required").and_then(Value::as_array);
        let is_required = |name: &String| {
            required.is_some_and(|names| names.iter().any(|item| item.as_str() == Some(name)))
        };
        let properties = fields.get("properties").and_then(Value::as_object);
        for name in properties.into_iter().flat_map(Map::keys) {
            if is_required(name) {
                continue;
            }
            self.optional += 1;
            if self.rules.max_optional == 0 {
                let at = child(&child(at, "properties"), name);
                let why = "every property must be required: add it to `required` and allow `null` instead";
                return Err(misfit(&at, why));
            }
        }
        Ok(())
    }

    /// Checks keywords of which only some values are accepted.
    fn values(&self, fields: &Map<String, Value>, at: &str) -> Result<(), String> {
        let format = fields.get("format").and_then(Value::as_str);
        if let (Some(format), Some(accepted)) = (format, self.rules.formats)
            && !accepted.contains(&format)
        {
            let why = format!(
                "the format `{format}` is not supported: remove it, or use one of {}",
                accepted.join(", ")
            );
            return Err(misfit(&child(at, "format"), &why));
        }
        let items = fields.get("minItems").and_then(Value::as_u64);
        if let (Some(items), Some(max)) = (items, self.rules.max_min_items)
            && items > max
        {
            let why = format!(
                "`minItems` must be at most {max} (got {items}): check the length in the tool"
            );
            return Err(misfit(&child(at, "minItems"), &why));
        }
        Ok(())
    }

    fn limits(&self) -> Result<(), String> {
        let unions = self.rules.max_unions.unwrap_or(usize::MAX);
        for (count, max, what, advice) in [
            (
                self.optional,
                self.rules.max_optional,
                "optional properties",
                "require some of them, or split the tool",
            ),
            (
                self.unions,
                unions,
                "schemas with alternatives",
                "use fewer alternatives, or split the tool",
            ),
        ] {
            if count > max {
                let why = format!(
                    "the schema has {count} {what}, but at most {max} are allowed: {advice}"
                );
                return Err(misfit("", &why));
            }
        }
        Ok(())
    }

    /// Follows the references of a schema.
    fn references(&mut self, target: &str, path: &mut Vec<String>) -> Result<(), String> {
        if self.finished.contains(target) {
            return Ok(());
        }
        let Some(schema) = self.document.pointer(target) else {
            return Err(misfit(
                target,
                "a `$ref` refers to this schema, which does not exist",
            ));
        };
        path.push(target.to_owned());
        let mut waiting = vec![(schema, target.to_owned())];
        while let Some((schema, at)) = waiting.pop() {
            let Value::Object(fields) = schema else {
                continue;
            };
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                let at = child(&at, "$ref");
                let Some(target) = reference.strip_prefix('#') else {
                    return Err(misfit(
                        &at,
                        "only references within the schema are supported: copy the definition into `$defs`",
                    ));
                };
                if path.iter().any(|step| step == target) {
                    if !self.rules.allows_recursion {
                        return Err(misfit(
                            &at,
                            "recursive schemas are not supported: limit the depth with nested definitions",
                        ));
                    }
                } else {
                    self.references(target, path)?;
                }
            }
            waiting.extend(inner(fields, &at, false));
        }
        path.pop();
        self.finished.insert(target.to_owned());
        Ok(())
    }
}

/// Returns the schemas inside a schema, with their pointers.
fn inner<'s>(
    fields: &'s Map<String, Value>,
    at: &str,
    with_definitions: bool,
) -> Vec<(&'s Value, String)> {
    let mut found = Vec::new();
    for keyword in SCHEMA {
        found.extend(
            fields
                .get(keyword)
                .map(|schema| (schema, child(at, keyword))),
        );
    }
    for keyword in SCHEMAS {
        let schemas = fields.get(keyword).and_then(Value::as_array);
        let at = child(at, keyword);
        let numbered = schemas.into_iter().flatten().enumerate();
        found.extend(numbered.map(|(index, schema)| (schema, format!("{at}/{index}"))));
    }
    for keyword in NAMED_SCHEMAS {
        if keyword != "properties" && !with_definitions {
            continue;
        }
        let schemas = fields.get(keyword).and_then(Value::as_object);
        let at = child(at, keyword);
        found.extend(
            schemas
                .into_iter()
                .flatten()
                .map(|(name, schema)| (schema, child(&at, name))),
        );
    }
    found
}

fn has_type(fields: &Map<String, Value>, name: &str) -> bool {
    match fields.get("type") {
        Some(Value::String(kind)) => kind == name,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind.as_str() == Some(name)),
        _ => false,
    }
}

/// Appends a step to a JSON pointer.
fn child(at: &str, step: &str) -> String {
    format!("{at}/{}", step.replace('~', "~0").replace('/', "~1"))
}

fn misfit(at: &str, why: &str) -> String {
    match at {
        "" => format!("its schema does not fit strict mode: {why}"),
        at => format!("its schema does not fit strict mode at `{at}`: {why}"),
    }
}

#[cfg(test)]
mod tests;
