//! Checks schemas for strict modes, in which a provider compiles the schema of a tool into a grammar. Each provider
//! accepts only a part of JSON Schema.

mod rules;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::{Map, Value};

pub(crate) use rules::{Budget, Demand, RequestLimits, SchemaLimits, StrictRules};

/// Keywords that contain a schema, a list of schemas, or an object of schemas.
const SCHEMAS: [&str; 10] = [
    "items",
    "additionalProperties",
    "not",
    "anyOf",
    "oneOf",
    "allOf",
    "prefixItems",
    "properties",
    "$defs",
    "definitions",
];
/// Keywords whose value is an object of schemas.
const NAMED_SCHEMAS: [&str; 3] = ["properties", "$defs", "definitions"];

/// Checks a schema, and returns what it takes of the limits of a request. The error names the JSON pointer of the
/// keyword, and what to do.
///
/// # Errors
/// Returns why the schema does not fit.
pub(crate) fn check(document: &Value, rules: &StrictRules) -> Result<Demand, String> {
    if document.get("type").and_then(Value::as_str) != Some("object") {
        let why = "the root must have the type `object`: put the value into a property";
        return Err(misfit("/type", why));
    }
    if document.get("anyOf").is_some() {
        let why = "the root cannot have alternatives: put them into a property";
        return Err(misfit("/anyOf", why));
    }
    let mut check = Check {
        rules,
        demand: Demand::default(),
        properties: 0,
        enum_values: 0,
        characters: 0,
    };
    check.schema(document, "", 0)?;
    if !rules.allows_recursion {
        follow(document, "", &mut Vec::new(), &mut HashSet::new())?;
    }
    Ok(check.demand)
}

struct Check<'a> {
    rules: &'a StrictRules,
    demand: Demand,
    properties: usize,
    enum_values: usize,
    characters: usize,
}

impl Check<'_> {
    /// Checks a schema and those inside it. `depth` is the number of objects around it.
    fn schema(&mut self, schema: &Value, at: &str, depth: usize) -> Result<(), String> {
        let Value::Object(fields) = schema else {
            let why = "a schema must be an object, not a boolean: give it a `type`";
            return Err(misfit(at, why));
        };
        self.keywords(fields, at)?;
        self.values(fields, at)?;
        let is_object = fields.contains_key("properties") || has_type(fields, "object");
        if is_object {
            self.object(fields, at, depth)?;
        }
        let types = fields.get("type").and_then(Value::as_array);
        let is_union = fields.contains_key("anyOf") || types.is_some_and(|types| types.len() > 1);
        self.demand.unions += usize::from(is_union);
        for inner in inner(fields, at) {
            let depth = match inner.keyword {
                "$defs" | "definitions" => 0,
                _ => depth + usize::from(is_object),
            };
            let all_of = inner.keyword == "allOf" && !self.rules.references_in_all_of;
            if all_of && inner.schema.get("$ref").is_some() {
                let why = "`allOf` cannot have a `$ref`: copy the definition";
                return Err(misfit(&child(&inner.at, "$ref"), why));
            }
            // `additionalProperties: false` is required.
            if *inner.schema != Value::Bool(false) {
                self.schema(inner.schema, &inner.at, depth)?;
            }
        }
        Ok(())
    }

    /// Checks that all keywords are supported.
    fn keywords(&self, fields: &Map<String, Value>, at: &str) -> Result<(), String> {
        for keyword in fields.keys() {
            let mut rejected = self.rules.rejected.iter();
            let advice = rejected.find(|(name, _)| name == keyword);
            let supported = self.rules.supported;
            let is_unknown = supported.is_some_and(|names| !names.contains(&keyword.as_str()));
            let advice = match advice {
                Some((_, advice)) => *advice,
                None if is_unknown => "remove it, or turn strict mode off",
                None => continue,
            };
            let why = format!("`{keyword}` is not supported: {advice}");
            return Err(misfit(&child(at, keyword), &why));
        }
        Ok(())
    }

    /// Checks that an object is closed, and counts its properties.
    fn object(
        &mut self,
        fields: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        let limits = &self.rules.schema;
        ensure(depth < limits.depth, at, || {
            let levels = limits.depth;
            format!("objects can be nested {levels} levels deep: make the schema flatter")
        })?;
        let is_closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
        ensure(
            is_closed,
            &child(at, "additionalProperties"),
            || "objects must be closed: set `additionalProperties` to `false` (`#[serde(deny_unknown_fields)]`)",
        )?;
        let required = fields.get("required").and_then(Value::as_array);
        let is_required = |name: &String| {
            required.is_some_and(|names| names.iter().any(|item| item.as_str() == Some(name)))
        };
        let properties = fields.get("properties").and_then(Value::as_object);
        for name in properties.into_iter().flat_map(Map::keys) {
            let at = child(&child(at, "properties"), name);
            self.properties += 1;
            ensure(self.properties <= limits.properties, &at, || {
                let most = limits.properties;
                format!("a schema can have {most} properties: split the tool")
            })?;
            let is_optional = !is_required(name);
            self.demand.optional += usize::from(is_optional);
            ensure(
                !(is_optional && self.rules.all_required),
                &at,
                || "every property must be required: add it to `required` and allow `null` instead",
            )?;
        }
        Ok(())
    }

    /// Checks keywords of which only some values are accepted.
    fn values(&mut self, fields: &Map<String, Value>, at: &str) -> Result<(), String> {
        let text = |keyword: &str| fields.get(keyword).and_then(Value::as_str);
        let format = text("format").filter(|format| !self.rules.formats.contains(format));
        ensure(format.is_none(), &child(at, "format"), || {
            let (format, all) = (format.unwrap_or_default(), self.rules.formats.join(", "));
            format!("the format `{format}` is not supported: remove it, or use one of {all}")
        })?;
        let has_boundary = text("pattern").is_some_and(has_word_boundary);
        let fits = self.rules.word_boundaries || !has_boundary;
        ensure(
            fits,
            &child(at, "pattern"),
            || "patterns cannot have word boundaries: check it in the tool",
        )?;
        let items = fields.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let max = self.rules.max_min_items.unwrap_or(u64::MAX);
        ensure(items <= max, &child(at, "minItems"), || {
            format!("`minItems` must be at most {max} (got {items}): check the length in the tool")
        })?;
        let values = fields.get("enum").and_then(Value::as_array);
        if let Some(values) = values {
            self.enum_of(values, &child(at, "enum"))?;
        }
        if let Some(value) = fields.get("const") {
            self.count(length(value), &child(at, "const"))?;
        }
        for keyword in NAMED_SCHEMAS {
            let schemas = fields.get(keyword).and_then(Value::as_object);
            for name in schemas.into_iter().flat_map(Map::keys) {
                self.count(name.chars().count(), &child(&child(at, keyword), name))?;
            }
        }
        Ok(())
    }

    /// Checks the values of an enum.
    fn enum_of(&mut self, values: &[Value], at: &str) -> Result<(), String> {
        let is_scalar = |value: &Value| !value.is_object() && !value.is_array();
        let fits = !self.rules.scalar_enums || values.iter().all(is_scalar);
        ensure(
            fits,
            at,
            || "values must be strings, numbers, booleans or `null`: use `anyOf`",
        )?;
        let limits = &self.rules.schema;
        self.enum_values += values.len();
        ensure(self.enum_values <= limits.enum_values, at, || {
            let most = limits.enum_values;
            format!("a schema can have {most} enum values: use a string, and check it in the tool")
        })?;
        let characters = values.iter().map(length).sum();
        let (large, max) = limits.large_enum;
        ensure(values.len() <= large || characters <= max, at, || {
            format!(
                "an enum with more than {large} values can have {max} characters (got {characters}): use shorter values"
            )
        })?;
        self.count(characters, at)
    }

    /// Counts the characters of names and values.
    fn count(&mut self, characters: usize, at: &str) -> Result<(), String> {
        self.characters += characters;
        let max = self.rules.schema.characters;
        ensure(self.characters <= max, at, || {
            format!(
                "all names and values can have {max} characters: use shorter ones, or split the tool"
            )
        })
    }
}

/// Returns an error that says why the schema does not fit.
fn ensure<W: AsRef<str>>(fits: bool, at: &str, why: impl FnOnce() -> W) -> Result<(), String> {
    if fits {
        Ok(())
    } else {
        Err(misfit(at, why().as_ref()))
    }
}

/// Returns the number of characters of a value.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        value => value.to_string().chars().count(),
    }
}

fn has_word_boundary(pattern: &str) -> bool {
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c == '\\' && matches!(chars.next(), Some('b' | 'B')) {
            return true;
        }
    }
    false
}

/// A schema inside of another one.
struct Inner<'s> {
    keyword: &'static str,
    schema: &'s Value,
    /// Its JSON pointer.
    at: String,
}

/// Returns the schemas inside a schema.
fn inner<'s>(fields: &'s Map<String, Value>, at: &str) -> Vec<Inner<'s>> {
    let mut found = Vec::new();
    for keyword in SCHEMAS {
        let Some(value) = fields.get(keyword) else {
            continue;
        };
        let at = child(at, keyword);
        let inner = |schema, at| Inner {
            keyword,
            schema,
            at,
        };
        match value {
            Value::Array(items) => {
                let items = items.iter().enumerate();
                found.extend(items.map(|(index, item)| inner(item, format!("{at}/{index}"))));
            }
            Value::Object(named) if NAMED_SCHEMAS.contains(&keyword) => {
                found.extend(
                    named
                        .iter()
                        .map(|(name, item)| inner(item, child(&at, name))),
                );
            }
            schema => found.push(inner(schema, at)),
        }
    }
    found
}

/// Follows the references of the schema at `target`, and checks that none leads back to one of `path`.
fn follow<'s>(
    document: &'s Value,
    target: &'s str,
    path: &mut Vec<&'s str>,
    finished: &mut HashSet<&'s str>,
) -> Result<(), String> {
    path.push(target);
    let mut waiting = vec![(document.pointer(target), target.to_owned())];
    while let Some((schema, at)) = waiting.pop() {
        let Some(Value::Object(fields)) = schema else {
            continue;
        };
        let reference = fields.get("$ref").and_then(Value::as_str);
        if let Some(next) = reference.and_then(|reference| reference.strip_prefix('#')) {
            if path.contains(&next) {
                let why =
                    "recursive schemas are not supported: limit the depth with nested definitions";
                return Err(misfit(&child(&at, "$ref"), why));
            }
            if !finished.contains(next) {
                follow(document, next, path, finished)?;
            }
        }
        let inner = inner(fields, &at).into_iter();
        let used = inner.filter(|inner| !["$defs", "definitions"].contains(&inner.keyword));
        waiting.extend(used.map(|inner| (Some(inner.schema), inner.at)));
    }
    path.pop();
    finished.insert(target);
    Ok(())
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
