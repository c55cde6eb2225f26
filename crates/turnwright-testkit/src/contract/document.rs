//! The published document: its schemas, references, and which schemas apply which.

use std::collections::{HashMap, HashSet, VecDeque};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Number, Value};

use super::format;
use super::pattern::Pattern;
use crate::pointer;

/// An object schema.
pub(crate) type Object = Map<String, Value>;

/// Identifies a schema of the document.
pub(crate) type Address = *const Object;

#[derive(Debug)]
pub(crate) struct Document<'d> {
    pub(crate) root: &'d Value,
    pub(crate) draft7: bool,
    /// Whether some pattern or format gives no verdict.
    pub(crate) has_unreadable: bool,
    /// Whether some schema has separate rules for the first items of an array.
    pub(crate) has_prefixes: bool,
    /// The schemas that values reach, starting from the root. Schemas inside `not`, `if`, `contains` and
    /// `propertyNames` are excluded: they are covered together with their keyword.
    pub(crate) reachable: Vec<&'d Object>,
    /// The default values of properties, by property name.
    pub(crate) defaults: HashMap<&'d str, Vec<&'d Value>>,
    pub(crate) pointers: HashMap<Address, String>,
    patterns: HashMap<&'d str, Result<Pattern, String>>,
    anchors: HashMap<String, &'d Value>,
    /// Schemas below a nested `$id`. Their references have another base, which is not followed.
    rebased: HashSet<Address>,
    users: HashMap<Address, Vec<Address>>,
}

impl<'d> Document<'d> {
    pub(crate) fn new(root: &'d Value) -> Self {
        let uri = root.get("$schema").and_then(Value::as_str);
        let mut document = Self {
            root,
            draft7: uri.is_some_and(|uri| uri.contains("draft-07")),
            has_unreadable: false,
            has_prefixes: false,
            reachable: Vec::new(),
            defaults: HashMap::new(),
            pointers: HashMap::new(),
            patterns: HashMap::new(),
            anchors: HashMap::new(),
            rebased: HashSet::new(),
            users: HashMap::new(),
        };
        document.scan(root, String::new(), false);
        document.reach();
        document
    }

    /// Returns the location of a schema in the document.
    pub(crate) fn pointer(&self, schema: &Object) -> &str {
        let pointer = self.pointers.get(&std::ptr::from_ref(schema));
        pointer.map_or("", String::as_str)
    }

    pub(crate) fn pattern(&self, text: &str) -> Result<&Pattern, &str> {
        match self.patterns.get(text) {
            Some(Ok(pattern)) => Ok(pattern),
            Some(Err(reason)) => Err(reason),
            None => Err("the pattern was not parsed"),
        }
    }

    /// Returns the schema that a `$ref` refers to.
    pub(crate) fn target(&self, schema: &Object) -> Result<&'d Value, &'static str> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let reference = text(schema.get("$ref")).ok_or("it is not a string")?;
        if self.rebased.contains(&std::ptr::from_ref(schema)) {
            return Err("it is below a nested `$id`");
        }
        let (base, fragment) = reference.split_once('#').unwrap_or((&reference, ""));
        let own = text(self.root.get("$id")).unwrap_or_default();
        if !base.is_empty() && base != own.trim_end_matches('#') {
            return Err("it refers to another document");
        }
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        match self.anchors.get(fragment.as_ref()) {
            Some(target) => Ok(target),
            None => self.root.pointer(&fragment).ok_or("it does not resolve"),
        }
    }

    /// Returns the schemas that apply this one.
    pub(crate) fn users(&self, schema: Address) -> impl Iterator<Item = Address> {
        self.users.get(&schema).into_iter().flatten().copied()
    }

    /// Returns why a keyword of a schema gives no verdict: its pattern, format or reference is not supported.
    pub(crate) fn unreadable(&self, schema: &Object, keyword: &str) -> Option<String> {
        match (keyword, schema.get(keyword)?) {
            ("pattern", Value::String(text)) => self.pattern(text).err().map(str::to_owned),
            ("patternProperties", Value::Object(patterns)) => patterns.keys().find_map(|text| {
                let reason = self.pattern(text).err()?;
                Some(format!("`{text}`: {reason}"))
            }),
            ("format", Value::String(name)) if format::named(name).is_none() => {
                Some(format!("no values are known for the format `{name}`"))
            }
            ("$ref", _) => {
                let reason = self.target(schema).err()?;
                Some(format!("the reference is not followed: {reason}"))
            }
            ("$dynamicRef", _) => Some("dynamic references are not followed".to_owned()),
            _ => None,
        }
    }

    /// Returns `true` if validators may disagree on a schema: on its formats, fractions and non-ASCII text.
    pub(crate) fn is_ambiguous(&self, schema: Option<&'d Value>) -> bool {
        let mut open: Vec<&'d Value> = schema.into_iter().collect();
        let mut seen = HashSet::new();
        while let Some(schema) = open.pop() {
            if let Value::Array(list) = schema {
                open.extend(list);
            }
            let Value::Object(object) = schema else {
                continue;
            };
            if !seen.insert(std::ptr::from_ref(object)) {
                continue;
            }
            let ambiguous = object.iter().any(|(keyword, rule)| match keyword.as_str() {
                "format" | "$dynamicRef" | "contentEncoding" | "contentMediaType" => true,
                "multipleOf" => !rule.is_u64(),
                "pattern" => {
                    let pattern = rule.as_str().and_then(|text| self.pattern(text).ok());
                    pattern.is_none_or(|pattern| pattern.has_classes)
                }
                _ => self.unreadable(object, keyword).is_some(),
            });
            if ambiguous {
                return true;
            }
            open.extend(children(object).map(|(_, child)| child));
            open.extend(self.target(object).ok());
        }
        false
    }

    /// Visits every subschema, including those of unknown keywords, but no data.
    fn scan(&mut self, value: &'d Value, at: String, mut rebased: bool) {
        if let Value::Array(items) = value {
            for (index, item) in items.iter().enumerate() {
                self.scan(item, pointer::join(&at, index), rebased);
            }
        }
        let Value::Object(object) = value else {
            return;
        };
        let id = object.get("$id").and_then(Value::as_str);
        rebased |= !at.is_empty() && id.is_some_and(|id| !id.starts_with('#'));
        let anchor = if self.draft7 {
            id.and_then(|id| id.strip_prefix('#'))
        } else {
            object.get("$anchor").and_then(Value::as_str)
        };
        if rebased {
            self.rebased.insert(std::ptr::from_ref(object));
        } else if let Some(anchor) = anchor {
            self.anchors.insert(anchor.to_owned(), value);
        }
        let prefix = if self.draft7 { "items" } else { "prefixItems" };
        self.has_prefixes |= object.get(prefix).is_some_and(Value::is_array);
        for (keyword, rule) in object {
            let below = pointer::join(&at, keyword);
            match (keyword.as_str(), rule) {
                ("enum" | "const" | "default" | "examples", _) => {}
                ("pattern", Value::String(text)) => self.read_pattern(text),
                (
                    "properties" | "patternProperties" | "dependentSchemas" | "dependencies"
                    | "$defs" | "definitions",
                    Value::Object(named),
                ) => {
                    for (name, child) in named {
                        if keyword == "patternProperties" {
                            self.read_pattern(name);
                        }
                        self.scan(child, pointer::join(&below, name), rebased);
                    }
                }
                _ => self.scan(rule, below, rebased),
            }
        }
        let keywords = ["pattern", "format", "patternProperties"];
        let unreadable = |keyword: &&str| self.unreadable(object, keyword).is_some();
        self.has_unreadable |= keywords.iter().any(unreadable);
        self.pointers.insert(std::ptr::from_ref(object), at);
    }

    fn read_pattern(&mut self, text: &'d str) {
        let pattern = self.patterns.entry(text);
        pattern.or_insert_with(|| Pattern::parse(text));
    }

    fn reach(&mut self) {
        let mut open = VecDeque::from([self.root]);
        let mut seen = HashSet::new();
        while let Some(schema) = open.pop_front() {
            let Value::Object(object) = schema else {
                continue;
            };
            if !seen.insert(std::ptr::from_ref(object)) {
                continue;
            }
            self.reachable.push(object);
            let target = self.target(object).ok();
            let own = children(object).filter(|(keyword, _)| {
                !(self.draft7 && object.contains_key("$ref")) && is_covered_inside(keyword)
            });
            for child in own.map(|(_, child)| child).chain(target) {
                if let Value::Object(applied) = child {
                    let users = self.users.entry(std::ptr::from_ref(applied)).or_default();
                    users.push(std::ptr::from_ref(object));
                }
                open.push_back(child);
            }
            let properties = object.get("properties").and_then(Value::as_object);
            for (name, child) in properties.into_iter().flatten() {
                let found = self.defaults_of(child);
                self.defaults.entry(name).or_default().extend(found);
            }
        }
    }

    /// Returns the defaults that a property may get from its schema, including references and combinations.
    fn defaults_of(&self, schema: &'d Value) -> Vec<&'d Value> {
        let mut open = vec![schema];
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        while let Some(Value::Object(object)) = open.pop() {
            if seen.insert(std::ptr::from_ref(object)) {
                found.extend(object.get("default"));
                open.extend(self.target(object).ok());
                let same_place = ["allOf", "anyOf", "oneOf"];
                let applied = children(object).filter(|(keyword, _)| same_place.contains(keyword));
                let applied = applied.map(|(_, child)| child);
                open.extend(applied.filter(|child| child.is_object()));
            }
        }
        found
    }
}

/// Returns the subschemas of a schema, each with its keyword.
pub(crate) fn children(schema: &Object) -> impl Iterator<Item = (&str, &Value)> {
    schema.iter().flat_map(|(keyword, rule)| {
        let applied: Vec<&Value> = match (keyword.as_str(), rule) {
            (
                "properties" | "patternProperties" | "dependentSchemas" | "dependencies",
                Value::Object(named),
            ) => named.values().filter(|child| !child.is_array()).collect(),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(list)) => {
                list.iter().collect()
            }
            (
                "additionalProperties"
                | "propertyNames"
                | "items"
                | "additionalItems"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else"
                | "unevaluatedProperties"
                | "unevaluatedItems",
                child,
            ) => vec![child],
            _ => Vec::new(),
        };
        applied.into_iter().map(|child| (keyword.as_str(), child))
    })
}

/// Returns `true` if the schemas below a keyword are covered individually.
pub(crate) fn is_covered_inside(keyword: &str) -> bool {
    !matches!(
        keyword,
        "not" | "if" | "contains" | "propertyNames" | "unevaluatedProperties" | "unevaluatedItems"
    )
}

/// Returns the type of the values that a keyword constrains: `any` for all. `None` for annotations.
pub(crate) fn constrained_type(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "$ref" | "$dynamicRef" | "type" | "enum" | "const" | "allOf" | "anyOf" | "oneOf"
        | "not" | "if" | "then" | "else" => "any",
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => "number",
        "minLength" | "maxLength" | "pattern" | "format" => "string",
        "minItems" | "maxItems" | "uniqueItems" | "items" | "prefixItems" | "additionalItems"
        | "contains" | "minContains" | "maxContains" | "unevaluatedItems" => "array",
        "properties"
        | "required"
        | "patternProperties"
        | "additionalProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "dependencies"
        | "unevaluatedProperties" => "object",
        _ => return None,
    })
}

/// Returns the subschemas for the property with this name.
pub(crate) fn property_schemas<'d>(
    doc: &Document<'_>,
    schema: &'d Object,
    name: &str,
) -> Vec<&'d Value> {
    let mut found: Vec<&'d Value> = Vec::new();
    found.extend(schema.get("properties").and_then(|all| all.get(name)));
    let patterns = schema.get("patternProperties").and_then(Value::as_object);
    for (text, child) in patterns.into_iter().flatten() {
        if doc.pattern(text).is_ok_and(|pattern| pattern.matches(name)) {
            found.push(child);
        }
    }
    if found.is_empty() {
        let rest = schema.get("additionalProperties");
        let unevaluated = schema.get("unevaluatedProperties");
        found.extend(rest.or(unevaluated.filter(|rule| rule.is_object())));
    }
    found
}

/// Returns the subschema for the item at an index.
pub(crate) fn item_schema<'d>(
    doc: &Document<'_>,
    schema: &'d Object,
    index: usize,
) -> Option<&'d Value> {
    let (prefix, rest) = if doc.draft7 {
        ("items", "additionalItems")
    } else {
        ("prefixItems", "items")
    };
    let unevaluated = schema.get("unevaluatedItems");
    match schema.get(prefix) {
        Some(Value::Array(list)) => list.get(index).or(schema.get(rest)),
        Some(child) => Some(child),
        None if doc.draft7 => None,
        None => schema.get(rest),
    }
    .or(unevaluated.filter(|rule| rule.is_object()))
}

/// Returns the size in a keyword; `2.0` is 2.
pub(crate) fn size(rule: Option<&Value>) -> Option<usize> {
    let n = rule?.as_u64().or_else(|| {
        let float = rule?.as_f64().filter(|float| float.fract() == 0.0)?;
        // It has no fraction, and negative numbers become 0.
        Some(float as u64)
    })?;
    usize::try_from(n).ok()
}

pub(crate) fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

pub(crate) fn floor(number: &Number) -> i128 {
    let signed = number.as_i64().map(i128::from);
    let integer = signed.or(number.as_u64().map(i128::from));
    integer.unwrap_or_else(|| float(number).floor() as i128)
}
