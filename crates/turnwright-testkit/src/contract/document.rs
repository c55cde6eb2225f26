//! The published document, prepared: references, patterns, defaults, and where each subschema stands.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::format::{self, Format};
use super::pattern::Pattern;
use super::place;

/// An object schema.
pub(crate) type Object = Map<String, Value>;

/// A document and what is known about it before any value is made.
#[derive(Debug)]
pub(crate) struct Document<'d> {
    pub(crate) root: &'d Value,
    pub(crate) draft7: bool,
    /// Whether `unevaluated…` occurs: only then is it worth to remember what was evaluated.
    pub(crate) unevaluated: bool,
    /// How many levels of a value the document describes before it repeats itself.
    pub(crate) levels: usize,
    patterns: HashMap<&'d str, Result<Pattern, String>>,
    anchors: HashMap<String, &'d Value>,
    pointers: HashMap<*const Object, String>,
    leading: HashMap<*const Object, Vec<*const Object>>,
    /// Schemas below a nested `$id`: their references count from there, which is not followed here.
    elsewhere: HashSet<*const Object>,
    defaults: HashSet<(Holder, String)>,
}

/// How an object is reached, so far as its defaults are concerned: coarse, and never too small.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    Root,
    Property(String),
    AnyProperty,
    Item,
}

impl<'d> Document<'d> {
    pub(crate) fn new(root: &'d Value) -> Self {
        let draft7 = root
            .get("$schema")
            .and_then(Value::as_str)
            .is_some_and(|uri| uri.contains("draft-07"));
        let mut document = Self {
            root,
            draft7,
            unevaluated: false,
            levels: 0,
            patterns: HashMap::new(),
            anchors: HashMap::new(),
            pointers: HashMap::new(),
            leading: HashMap::new(),
            elsewhere: HashSet::new(),
            defaults: HashSet::new(),
        };
        document.scan(root, &mut String::new(), false);
        document.find_anchors(root);
        document.find_ways(root);
        document.levels = document.levels_below(root, &mut Vec::new());
        document.find_defaults(root, &Holder::Root, &mut HashSet::new());
        document
    }

    /// Where a schema object stands in the document.
    pub(crate) fn pointer(&self, schema: &Object) -> &str {
        self.pointers
            .get(&std::ptr::from_ref(schema))
            .map_or("", String::as_str)
    }

    pub(crate) fn pattern(&self, text: &str) -> Result<&Pattern, &str> {
        match self.patterns.get(text) {
            Some(Ok(pattern)) => Ok(pattern),
            Some(Err(reason)) => Err(reason),
            None => Err("the pattern was not read"),
        }
    }

    pub(crate) fn format(&self, name: &str) -> Option<&'static Format> {
        // Draft 7 does not know these two names.
        if self.draft7 && matches!(name, "duration" | "uuid") {
            return None;
        }
        format::named(name)
    }

    /// What a schema's `$ref` means, if it can be followed.
    pub(crate) fn target(&self, schema: &'d Object) -> Result<&'d Value, &'static str> {
        let reference = schema
            .get("$ref")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if self.elsewhere.contains(&std::ptr::from_ref(schema)) {
            return Err("it stands below an `$id` of its own");
        }
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let own = self
            .root
            .get("$id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !base.is_empty() && base != own.trim_end_matches('#') {
            return Err("it refers to an address");
        }
        if fragment.is_empty() {
            return Ok(self.root);
        }
        let fragment = percent_decoded(fragment).ok_or("its fragment is not text")?;
        if fragment.starts_with('/') {
            return self.root.pointer(&fragment).ok_or("it points to nothing");
        }
        self.anchors
            .get(&fragment)
            .copied()
            .ok_or("its anchor was not found")
    }

    /// The names that an object reached through `holder` may be given by a default.
    pub(crate) fn has_default(&self, holder: &Holder, name: &str) -> bool {
        self.defaults.contains(&(holder.clone(), name.to_owned()))
            || matches!(holder, Holder::Property(_))
                && self
                    .defaults
                    .contains(&(Holder::AnyProperty, name.to_owned()))
    }

    pub(crate) fn has_defaults(&self) -> bool {
        !self.defaults.is_empty()
    }

    pub(crate) fn defaulted_names(&self) -> impl Iterator<Item = (&Holder, &str)> {
        self.defaults
            .iter()
            .map(|(holder, name)| (holder, name.as_str()))
    }

    /// Looks at every object of the document, data included: what is found too much does no harm.
    fn scan(&mut self, value: &'d Value, pointer: &mut String, mut nested: bool) {
        let length = pointer.len();
        match value {
            Value::Object(object) => {
                self.pointers
                    .insert(std::ptr::from_ref(object), pointer.clone());
                let id = object.get("$id").and_then(Value::as_str);
                nested |= id.is_some_and(|id| !id.starts_with('#')) && !pointer.is_empty();
                if nested {
                    self.elsewhere.insert(std::ptr::from_ref(object));
                }
                self.unevaluated |= object.contains_key("unevaluatedProperties")
                    || object.contains_key("unevaluatedItems");
                if let Some(text) = object.get("pattern").and_then(Value::as_str) {
                    self.patterns
                        .entry(text)
                        .or_insert_with(|| Pattern::parse(text));
                }
                if let Some(Value::Object(patterns)) = object.get("patternProperties") {
                    for text in patterns.keys() {
                        self.patterns
                            .entry(text)
                            .or_insert_with(|| Pattern::parse(text));
                    }
                }
                for (key, child) in object {
                    place::push(pointer, key);
                    self.scan(child, pointer, nested);
                    pointer.truncate(length);
                }
            }
            Value::Array(items) => {
                for (index, child) in items.iter().enumerate() {
                    place::push(pointer, &index.to_string());
                    self.scan(child, pointer, nested);
                    pointer.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Anchors count where a schema stands, not in the data of an `enum`.
    fn find_anchors(&mut self, schema: &'d Value) {
        let Value::Object(object) = schema else {
            return;
        };
        if !self.elsewhere.contains(&std::ptr::from_ref(object)) {
            let name = if self.draft7 {
                object
                    .get("$id")
                    .and_then(Value::as_str)
                    .and_then(|id| id.strip_prefix('#'))
            } else {
                object.get("$anchor").and_then(Value::as_str)
            };
            if let Some(name) = name {
                self.anchors.insert(name.to_owned(), schema);
            }
        }
        for (_, _, child) in children(object) {
            self.find_anchors(child);
        }
        for definitions in ["$defs", "definitions"] {
            let named = object.get(definitions).and_then(Value::as_object);
            for child in named.into_iter().flat_map(Object::values) {
                self.find_anchors(child);
            }
        }
    }

    fn find_defaults(
        &mut self,
        schema: &'d Value,
        holder: &Holder,
        seen: &mut HashSet<(*const Object, Holder)>,
    ) {
        let Value::Object(object) = schema else {
            return;
        };
        if !seen.insert((std::ptr::from_ref(object), holder.clone())) {
            return;
        }
        for (keyword, name, child) in children(object) {
            let step = match keyword {
                "properties" => {
                    let name = name.unwrap_or_default().to_owned();
                    if self.gives_default(child, 0) {
                        self.defaults.insert((holder.clone(), name.clone()));
                    }
                    Holder::Property(name)
                }
                "patternProperties" | "additionalProperties" | "unevaluatedProperties" => {
                    Holder::AnyProperty
                }
                "items" | "prefixItems" | "additionalItems" | "contains" | "unevaluatedItems" => {
                    Holder::Item
                }
                _ => holder.clone(),
            };
            self.find_defaults(child, &step, seen);
        }
        if object.contains_key("$ref")
            && let Ok(target) = self.target(object)
        {
            self.find_defaults(target, holder, seen);
        }
    }

    /// The schemas that apply this one.
    pub(crate) fn leading_to(&self, schema: *const Object) -> impl Iterator<Item = *const Object> {
        self.leading.get(&schema).into_iter().flatten().copied()
    }

    fn find_ways(&mut self, schema: &'d Value) {
        let mut open = vec![schema];
        let mut seen = HashSet::new();
        while let Some(schema) = open.pop() {
            let Value::Object(object) = schema else {
                continue;
            };
            if !seen.insert(std::ptr::from_ref(object)) {
                continue;
            }
            let target = object
                .contains_key("$ref")
                .then(|| self.target(object).ok())
                .flatten();
            for child in children(object)
                .into_iter()
                .map(|(_, _, child)| child)
                .chain(target)
            {
                if let Value::Object(applied) = child {
                    self.leading
                        .entry(std::ptr::from_ref(applied))
                        .or_default()
                        .push(std::ptr::from_ref(object));
                }
                open.push(child);
            }
        }
    }

    fn levels_below(&self, schema: &'d Value, within: &mut Vec<*const Object>) -> usize {
        let Value::Object(object) = schema else {
            return 0;
        };
        let address = std::ptr::from_ref(object);
        // Long chains of references would be walked again and again; beyond this many levels nothing changes anyway.
        if within.contains(&address) || within.len() > 12 {
            return 0;
        }
        within.push(address);
        let mut levels = 0;
        for (keyword, _, child) in children(object) {
            let here = self.levels_below(child, within);
            let down = matches!(
                keyword,
                "properties"
                    | "patternProperties"
                    | "additionalProperties"
                    | "unevaluatedProperties"
                    | "items"
                    | "prefixItems"
                    | "additionalItems"
                    | "unevaluatedItems"
                    | "contains"
            );
            levels = levels.max(here + usize::from(down));
        }
        if object.contains_key("$ref")
            && let Ok(target) = self.target(object)
        {
            levels = levels.max(self.levels_below(target, within));
        }
        within.pop();
        levels
    }

    fn gives_default(&self, schema: &'d Value, depth: usize) -> bool {
        let Value::Object(object) = schema else {
            return false;
        };
        if depth > 20 {
            return true;
        }
        object.contains_key("default")
            || object.contains_key("$ref")
                && self
                    .target(object)
                    .map_or(true, |target| self.gives_default(target, depth + 1))
            || ["allOf", "anyOf", "oneOf"].iter().any(|key| {
                object
                    .get(*key)
                    .and_then(Value::as_array)
                    .is_some_and(|all| all.iter().any(|one| self.gives_default(one, depth + 1)))
            })
    }
}

/// The subschemas that a schema applies, each with its keyword and, below a map of schemas, its name.
pub(crate) fn children(schema: &Object) -> Vec<(&str, Option<&str>, &Value)> {
    let mut children = Vec::new();
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "dependentSchemas" | "dependencies",
                Value::Object(named),
            ) => {
                for (name, child) in named {
                    if !child.is_array() {
                        children.push((keyword.as_str(), Some(name.as_str()), child));
                    }
                }
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(list)) => {
                children.extend(list.iter().map(|child| (keyword.as_str(), None, child)));
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
            ) => children.push((keyword.as_str(), None, child)),
            _ => {}
        }
    }
    children
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
