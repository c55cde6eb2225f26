//! Verdicts on values from a validator that shares no code with the check under test.

use std::collections::HashMap;
use std::error::Error;

use boon::{Compiler, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use super::document::{Address, Document, Object, float, floor};
use super::format;
use crate::pointer;

const ADDRESS: &str = "https://contract.invalid/document.json";

/// Validates values against the document and against its parts.
pub(crate) struct Validator<'a, 'd> {
    doc: &'a Document<'d>,
    schemas: Schemas,
    root: Option<SchemaIndex>,
    parts: HashMap<Address, SchemaIndex>,
}

/// The rules of the document that a value breaks.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    /// Whether every validator must reject the value. Otherwise the reason is a pattern, a format or a fraction on
    /// which validators disagree.
    pub(crate) certain: bool,
    /// The keywords that reject it, by their pointers in the document.
    pub(crate) keywords: Vec<String>,
    /// A fault must be reported at one of these locations.
    pub(crate) places: Vec<String>,
    /// Names of rejected properties, of any object.
    pub(crate) names: Vec<String>,
}

impl Violations {
    /// Returns `true` if a keyword, or one inside it, rejects the value.
    pub(crate) fn is_by(&self, keyword: &str) -> bool {
        let mut keywords = self.keywords.iter();
        keywords.any(|refusing| refusing == keyword || pointer::is_inside(refusing, keyword))
    }
}

impl<'a, 'd> Validator<'a, 'd> {
    pub(crate) fn new(doc: &'a Document<'d>) -> Self {
        let mut validator = Self {
            doc,
            schemas: Schemas::new(),
            root: None,
            parts: HashMap::new(),
        };
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(Offline));
        compiler.enable_format_assertions();
        if doc.draft7 {
            compiler.enable_content_assertions();
        }
        if compiler.add_resource(ADDRESS, readable(doc)).is_err() {
            return validator;
        }
        for (address, pointer) in &doc.pointers {
            let fragment = utf8_percent_encode(pointer, NON_ALPHANUMERIC);
            let compiled =
                compiler.compile(&format!("{ADDRESS}#{fragment}"), &mut validator.schemas);
            if let Ok(index) = compiled {
                validator.parts.insert(*address, index);
            }
        }
        let root = doc.root.as_object().map(std::ptr::from_ref);
        validator.root = root.and_then(|root| validator.parts.get(&root).copied());
        validator
    }

    /// Returns `true` if a schema of the document accepts a value, or may accept it.
    pub(crate) fn accepts(&self, schema: &Value, value: &Value) -> bool {
        match schema {
            Value::Object(object) => self.part_accepts(object, value),
            schema => schema != &Value::Bool(false),
        }
    }

    pub(crate) fn part_accepts(&self, schema: &Object, value: &Value) -> bool {
        let Some(index) = self.parts.get(&std::ptr::from_ref(schema)) else {
            return true;
        };
        let refused = |error: ValidationError<'_, '_>| self.is_certain(&error);
        !self.schemas.validate(value, *index).is_err_and(refused)
    }

    /// Validates against the document. Without a verdict the value counts as rejected, uncertainly.
    pub(crate) fn validate(&self, value: &Value) -> Result<(), Violations> {
        let Some(root) = self.root else {
            return Err(Violations::default());
        };
        self.schemas.validate(value, root).map_err(|error| {
            let mut violations = Violations {
                certain: self.is_certain(&error),
                ..Violations::default()
            };
            self.collect(&error, &mut violations);
            violations
        })
    }

    fn collect(&self, error: &ValidationError<'_, '_>, violations: &mut Violations) {
        let at = error.instance_location.to_string();
        let schema = schema_pointer(error);
        let keyword = match error.kind.keyword_path().map(|path| path.keyword) {
            Some("additionalProperty") => Some("additionalProperties"),
            keyword => keyword,
        };
        let names: Vec<String> = match &error.kind {
            ErrorKind::Required { want: names }
            | ErrorKind::Dependency { missing: names, .. }
            | ErrorKind::DependentRequired { missing: names, .. } => {
                names.iter().map(ToString::to_string).collect()
            }
            ErrorKind::AdditionalProperties { got } => {
                got.iter().map(ToString::to_string).collect()
            }
            ErrorKind::UniqueItems { got } => got.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        let children = names.iter().map(|name| pointer::join(&at, name));
        violations.places.extend(children);
        match &error.kind {
            // The faults are at the properties, or in the causes.
            ErrorKind::Required { .. }
            | ErrorKind::AdditionalProperties { .. }
            | ErrorKind::Group
            | ErrorKind::Schema { .. }
            | ErrorKind::Reference { .. }
            | ErrorKind::AllOf => {}
            // The validator does not report the object.
            ErrorKind::PropertyName { prop } => violations.names.push(prop.clone()),
            _ => {
                if schema.ends_with("/unevaluatedItems") {
                    let array = at.rsplit_once('/').map_or("", |(array, _)| array);
                    violations.places.push(array.to_owned());
                }
                violations.places.push(at.clone());
            }
        }
        if keyword.is_some() || matches!(error.kind, ErrorKind::FalseSchema) {
            let pointer = keyword.map(|keyword| pointer::join(&schema, keyword));
            violations.keywords.push(pointer.unwrap_or(schema));
        }
        if !matches!(error.kind, ErrorKind::PropertyName { .. }) {
            for cause in &error.causes {
                self.collect(cause, violations);
            }
        }
    }

    fn is_certain(&self, error: &ValidationError<'_, '_>) -> bool {
        let pointer = schema_pointer(error);
        let rule = |keyword| self.rule(&pointer, keyword);
        let pattern = |text: Option<&Value>| self.doc.pattern(text?.as_str()?).ok();
        let own = match &error.kind {
            ErrorKind::Pattern { got, .. } => pattern(rule("pattern"))
                .is_some_and(|pattern| got.is_ascii() || !pattern.has_classes),
            ErrorKind::Format { got, .. } => rule("format")
                .and_then(|name| format::named(name.as_str()?))
                .is_some_and(|format| format.invalid.iter().any(|text| got.as_ref() == text)),
            ErrorKind::MultipleOf { got, want } => {
                let (n, step) = (floor(got), floor(want));
                let quotient = float(got) / float(want);
                if got.is_f64() || want.is_f64() {
                    quotient.abs() < 1e9 && (quotient - quotient.round()).abs() > 1e-6
                } else {
                    step != 0 && n % step != 0
                }
            }
            ErrorKind::AnyOf
            | ErrorKind::OneOf(None)
            | ErrorKind::Contains
            | ErrorKind::MinContains { .. } => {
                error.causes.iter().all(|cause| self.is_certain(cause))
            }
            ErrorKind::Not => !self.doc.is_ambiguous(rule("not")),
            ErrorKind::OneOf(Some(_)) => !self.doc.is_ambiguous(rule("oneOf")),
            ErrorKind::MaxContains { .. } => !self.doc.is_ambiguous(rule("contains")),
            ErrorKind::Group
            | ErrorKind::Schema { .. }
            | ErrorKind::Reference { .. }
            | ErrorKind::AllOf
            | ErrorKind::PropertyName { .. } => {
                error.causes.iter().any(|cause| self.is_certain(cause))
            }
            ErrorKind::AdditionalProperties { .. } => self.has_plain_patterns(&pointer),
            ErrorKind::RefCycle { .. }
            | ErrorKind::ContentEncoding { .. }
            | ErrorKind::ContentMediaType { .. }
            | ErrorKind::ContentSchema => false,
            _ => true,
        };
        own && self.is_certain_to_apply(&pointer)
    }

    /// Returns `true` if every validator applies the schema at this pointer: no condition above it is ambiguous.
    fn is_certain_to_apply(&self, pointer: &str) -> bool {
        let ends = pointer.match_indices('/').map(|(index, _)| index).skip(1);
        ends.chain([pointer.len()]).all(|end| {
            let path = pointer.get(..end).unwrap_or_default();
            let (schema, keyword) = path.rsplit_once('/').unwrap_or_default();
            match keyword {
                "then" | "else" => !self.doc.is_ambiguous(self.rule(schema, "if")),
                "additionalProperties" => self.has_plain_patterns(schema),
                "unevaluatedProperties" | "unevaluatedItems" => {
                    !self.doc.is_ambiguous(self.doc.root.pointer(schema))
                }
                _ => true,
            }
        })
    }

    fn has_plain_patterns(&self, schema: &str) -> bool {
        let patterns = self
            .rule(schema, "patternProperties")
            .and_then(Value::as_object);
        patterns.into_iter().flatten().all(|(text, _)| {
            let pattern = self.doc.pattern(text);
            pattern.is_ok_and(|pattern| !pattern.has_classes)
        })
    }

    fn rule(&self, schema: &str, keyword: &str) -> Option<&'d Value> {
        self.doc.root.pointer(schema)?.get(keyword)
    }
}

/// Loads nothing: the document refers only to itself.
struct Offline;

impl UrlLoader for Offline {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("`{url}` is outside the document").into())
    }
}

fn schema_pointer(error: &ValidationError<'_, '_>) -> String {
    let (_, fragment) = error.schema_url.split_once('#').unwrap_or_default();
    let pointer = percent_decode_str(fragment).decode_utf8_lossy();
    pointer.into_owned()
}

/// Returns the document without the patterns and formats that give no verdict.
fn readable(doc: &Document<'_>) -> Value {
    let mut copy = doc.root.clone();
    for pointer in doc.pointers.values() {
        let Some(Value::Object(schema)) = doc.root.pointer(pointer) else {
            continue;
        };
        let Some(Value::Object(readable)) = copy.pointer_mut(pointer) else {
            continue;
        };
        for keyword in ["pattern", "format"] {
            if doc.unreadable(schema, keyword).is_some() {
                readable.shift_remove(keyword);
            }
        }
        if let Some(Value::Object(patterns)) = readable.get_mut("patternProperties") {
            patterns.retain(|text, _| doc.pattern(text).is_ok());
        }
    }
    copy
}
