//! A walk through a document and an accepted value side by side: which keywords spoke, and where.

use std::collections::HashSet;

use serde_json::Value;

use super::document::{Document, Object, children};
use super::judge::Judge;
use super::judge::array::item_schema;
use super::judge::object::property_schemas;
use super::verdict::Verdict;

/// A keyword of one schema of the document.
pub(crate) type Spot<'d> = (*const Object, &'d str);

/// A keyword that had its say about one place of a value.
#[derive(Debug, Clone)]
pub(crate) struct Stop<'d> {
    pub(crate) schema: &'d Object,
    pub(crate) keyword: &'d str,
    /// The place, as a pointer into the value.
    pub(crate) at: String,
    /// The keywords on the way here (`properties`, `items`, `anyOf` …).
    pub(crate) through: Vec<Spot<'d>>,
    /// The unions and conditions on the way: a fault below may be told at their place.
    pub(crate) unions: Vec<Union<'d>>,
}

/// A keyword that may rescue what is broken below it, and the place that it speaks of.
#[derive(Debug, Clone)]
pub(crate) struct Union<'d> {
    pub(crate) schema: &'d Object,
    pub(crate) keyword: &'d str,
    pub(crate) at: String,
}

impl<'d> Stop<'d> {
    pub(crate) fn spot(&self) -> Spot<'d> {
        (std::ptr::from_ref(self.schema), self.keyword)
    }
}

/// Walks through the branches that hold; gives every stop, in the order of the document.
pub(crate) fn tour<'d>(doc: &Document<'d>, value: &Value) -> Vec<Stop<'d>> {
    let mut tour = Tour {
        doc,
        judge: Judge::strict(doc),
        every_branch: false,
        stops: Vec::new(),
    };
    tour.visit(doc.root, value, "", &Way::default());
    tour.stops
}

/// Whether a keyword still has a say at its place after the value was changed: taking out a property may end the
/// condition under which it spoke.
pub(crate) fn still_speaks(doc: &Document<'_>, value: &Value, stop: &Stop<'_>) -> bool {
    let mut tour = Tour {
        doc,
        judge: Judge::strict(doc),
        every_branch: true,
        stops: Vec::new(),
    };
    tour.visit(doc.root, value, "", &Way::default());
    let same = |other: &Stop<'_>| {
        std::ptr::eq(other.schema, stop.schema)
            && other.keyword == stop.keyword
            && other.at == stop.at
    };
    // A keyword may be broken by a value of a type that it does not speak of otherwise: `enum`, `const`, `not` and
    // the like always speak, and the others are changed within their type.
    tour.stops.iter().any(same)
}

#[derive(Debug, Clone, Default)]
struct Way<'d> {
    through: Vec<Spot<'d>>,
    unions: Vec<Union<'d>>,
}

impl<'d> Way<'d> {
    fn by(&self, schema: &'d Object, keyword: &'d str) -> Self {
        let mut way = self.clone();
        way.through.push((std::ptr::from_ref(schema), keyword));
        way
    }

    fn union(mut self, schema: &'d Object, keyword: &'d str, at: &str) -> Self {
        let at = at.to_owned();
        self.unions.push(Union {
            schema,
            keyword,
            at,
        });
        self
    }
}

struct Tour<'a, 'd> {
    doc: &'a Document<'d>,
    judge: Judge<'a, 'd>,
    /// Whether union branches that do not hold are walked as well.
    every_branch: bool,
    stops: Vec<Stop<'d>>,
}

impl<'d> Tour<'_, 'd> {
    fn visit(&mut self, schema: &'d Value, value: &Value, at: &str, way: &Way<'d>) {
        let Value::Object(schema) = schema else {
            return;
        };
        if way.through.len() > 150 {
            return;
        }
        for keyword in schema.keys().map(String::as_str) {
            if self.doc.draft7 && schema.contains_key("$ref") && keyword != "$ref" {
                continue;
            }
            let before = self.stops.len();
            let spoke = self.enter(schema, keyword, value, at, way);
            if spoke {
                let stop = Stop {
                    schema,
                    keyword,
                    at: at.to_owned(),
                    through: way.through.clone(),
                    unions: way.unions.clone(),
                };
                self.stops.insert(before, stop);
            }
        }
    }

    /// Goes into what a keyword applies; says whether the keyword had anything to say about this value.
    fn enter(
        &mut self,
        schema: &'d Object,
        keyword: &'d str,
        value: &Value,
        at: &str,
        way: &Way<'d>,
    ) -> bool {
        let Some(rule) = schema.get(keyword) else {
            return false;
        };
        let next = || way.by(schema, keyword);
        match (keyword, rule, value) {
            ("$ref", _, _) => {
                if let Ok(target) = self.doc.target(schema) {
                    self.visit(target, value, at, &next());
                }
                true
            }
            ("allOf", Value::Array(all), _) => {
                for one in all {
                    self.visit(one, value, at, &next());
                }
                true
            }
            ("anyOf" | "oneOf", Value::Array(branches), _) => {
                for branch in branches {
                    if self.every_branch || self.judge.valid(branch, value) == Verdict::Valid {
                        self.visit(branch, value, at, &next().union(schema, keyword, at));
                    }
                }
                true
            }
            ("not" | "if", _, _) => true,
            ("then" | "else", _, _) => {
                let Some(condition) = schema.get("if") else {
                    return false;
                };
                let wanted = if keyword == "then" {
                    Verdict::Valid
                } else {
                    Verdict::Invalid
                };
                let spoke = self.judge.valid(condition, value) == wanted;
                if spoke {
                    let mut way = next().union(schema, keyword, at);
                    way.through.push((std::ptr::from_ref(schema), "if"));
                    self.visit(rule, value, at, &way);
                }
                spoke
            }
            (_, _, Value::Object(object)) => {
                self.enter_object(schema, keyword, object, value, at, way)
            }
            (_, _, Value::Array(items)) => self.enter_array(schema, keyword, items, at, way),
            (_, _, scalar) => speaks_of(keyword, scalar),
        }
    }

    fn enter_object(
        &mut self,
        schema: &'d Object,
        keyword: &'d str,
        object: &Object,
        value: &Value,
        at: &str,
        way: &Way<'d>,
    ) -> bool {
        match keyword {
            "properties" | "patternProperties" | "additionalProperties" => {
                let mut any = schema.get(keyword) == Some(&Value::Bool(false));
                for (name, part) in object {
                    for (by, sure, child) in property_schemas(self.doc, schema, name) {
                        if by == keyword && sure {
                            any = true;
                            self.visit(
                                child,
                                part,
                                &super::place::join(at, name),
                                &way.by(schema, keyword),
                            );
                        }
                    }
                }
                any
            }
            "unevaluatedProperties" | "propertyNames" => true,
            "dependentRequired" | "dependentSchemas" | "dependencies" => {
                let Some(Value::Object(rules)) = schema.get(keyword) else {
                    return false;
                };
                let mut any = false;
                for (_, rule) in rules.iter().filter(|(name, _)| object.contains_key(*name)) {
                    any = true;
                    self.visit(
                        rule,
                        value,
                        at,
                        &way.by(schema, keyword).union(schema, keyword, at),
                    );
                }
                any
            }
            _ => speaks_of(keyword, value),
        }
    }

    fn enter_array(
        &mut self,
        schema: &'d Object,
        keyword: &'d str,
        items: &[Value],
        at: &str,
        way: &Way<'d>,
    ) -> bool {
        match keyword {
            "items" | "prefixItems" | "additionalItems" => {
                let mut any = schema.get(keyword) == Some(&Value::Bool(false));
                for (index, item) in items.iter().enumerate() {
                    if let Some((by, child)) = item_schema(self.doc, schema, index)
                        && by == keyword
                    {
                        any = true;
                        let at = super::place::join(at, &index.to_string());
                        self.visit(child, item, &at, &way.by(schema, keyword));
                    }
                }
                any
            }
            "contains" | "minContains" | "maxContains" | "unevaluatedItems" => true,
            _ => matches!(
                keyword,
                "type" | "enum" | "const" | "minItems" | "maxItems" | "uniqueItems"
            ),
        }
    }
}

fn speaks_of(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" | "enum" | "const" => true,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            value.is_number()
        }
        "minLength" | "maxLength" | "pattern" | "format" => value.is_string(),
        "required" | "minProperties" | "maxProperties" => value.is_object(),
        _ => false,
    }
}

/// Every keyword that a value can be measured by, from the root on. What stands inside `not`, `if`, `contains` and
/// `propertyNames` is measured as a whole, with the keyword that holds it.
pub(crate) fn spots<'d>(doc: &Document<'d>) -> Vec<(&'d Object, &'d str)> {
    let mut found = Vec::new();
    collect(doc, doc.root, &mut HashSet::new(), &mut found);
    found
}

fn collect<'d>(
    doc: &Document<'d>,
    schema: &'d Value,
    seen: &mut HashSet<*const Object>,
    found: &mut Vec<(&'d Object, &'d str)>,
) {
    let Value::Object(object) = schema else {
        return;
    };
    if !seen.insert(std::ptr::from_ref(object)) {
        return;
    }
    for keyword in object
        .keys()
        .map(String::as_str)
        .filter(|keyword| MEASURED.contains(keyword))
    {
        if !doc.draft7 || !object.contains_key("$ref") || keyword == "$ref" {
            found.push((object, keyword));
        }
    }
    if object.contains_key("$ref") {
        if let Ok(target) = doc.target(object) {
            collect(doc, target, seen, found);
        }
        if doc.draft7 {
            return;
        }
    }
    for (keyword, _, child) in children(object) {
        if !matches!(
            keyword,
            "not"
                | "if"
                | "contains"
                | "propertyNames"
                | "unevaluatedProperties"
                | "unevaluatedItems"
        ) {
            collect(doc, child, seen, found);
        }
    }
}

const MEASURED: &[&str] = &[
    "$ref",
    "$dynamicRef",
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "minContains",
    "maxContains",
    "unevaluatedItems",
    "properties",
    "required",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
];
