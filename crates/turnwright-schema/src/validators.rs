//! The validators, made by the crate that knows JSON Schema from the very document that is published.

use std::sync::LazyLock;

use jsonschema::{PatternOptions, ValidationOptions, Validator, ValidatorMap};
use referencing::{Draft, Registry};
use serde_json::Value;

use super::plan::{NodeId, Plan};
use super::problem::SchemaProblem;
use super::walk::BAD_PATTERN;

/// The verdict on a whole document, and on its parts where a part is asked for.
pub(crate) enum Validators {
    /// No part is ever asked for by itself.
    Complete(Box<Validator>),
    Parts {
        map: Box<ValidatorMap>,
        parts: Vec<Part>,
    },
}

/// Where the validator of a part is.
pub(crate) enum Part {
    InMap(String),
    /// Inside an `$id` of its own the map does not find its way; such a part is built by itself.
    Apart(Box<Validator>),
}

/// Formats asserted, patterns in linear time, nothing fetched.
fn judge(draft: Draft) -> ValidationOptions<'static> {
    jsonschema::options()
        .with_draft(draft)
        .should_validate_formats(true)
        .should_ignore_unknown_formats(true)
        .with_pattern_options(PatternOptions::regex())
        .offline()
}

static DRAFT_7: LazyLock<ValidationOptions<'static>> = LazyLock::new(|| judge(Draft::Draft7));
static DRAFT_2020_12: LazyLock<ValidationOptions<'static>> =
    LazyLock::new(|| judge(Draft::Draft202012));

pub(crate) fn options(draft: Draft) -> &'static ValidationOptions<'static> {
    if draft == Draft::Draft7 {
        &DRAFT_7
    } else {
        &DRAFT_2020_12
    }
}

impl Validators {
    pub(crate) fn build(
        document: &Value,
        draft: Draft,
        plan: &Plan,
        parts: bool,
    ) -> Result<Validators, SchemaProblem> {
        let single = || {
            options(draft)
                .build(document)
                .map_err(|error| problem(&error))
        };
        if !parts {
            return Ok(Validators::Complete(Box::new(single()?)));
        }
        let map = options(draft)
            .build_map(document)
            .map_err(|error| problem(&error))?;
        if !map.contains_key("#") {
            // A map leaves out what it could not build; building it by itself says why.
            single()?;
        }
        let mut parts = Vec::with_capacity(plan.nodes.len());
        for node in &plan.nodes {
            let key = format!("#{}", node.pointer);
            parts.push(if map.contains_key(&key) {
                Part::InMap(key)
            } else {
                Part::Apart(Box::new(build_apart(document, draft, &node.pointer)?))
            });
        }
        Ok(Validators::Parts {
            map: Box::new(map),
            parts,
        })
    }

    /// Whether parts can be asked by themselves.
    pub(crate) fn has_parts(&self) -> bool {
        matches!(self, Validators::Parts { .. })
    }

    /// The validator of the whole document.
    pub(crate) fn document(&self) -> Option<&Validator> {
        match self {
            Validators::Complete(validator) => Some(validator),
            Validators::Parts { map, .. } => map.get("#"),
        }
    }

    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.document()
            .is_some_and(|validator| validator.is_valid(value))
    }

    pub(crate) fn part_accepts(&self, node: NodeId, value: &Value) -> bool {
        self.part(node)
            .is_some_and(|validator| validator.is_valid(value))
    }

    /// The validator of one part, where parts were asked for.
    pub(crate) fn part(&self, node: NodeId) -> Option<&Validator> {
        match self {
            Validators::Complete(_) => None,
            Validators::Parts { map, parts } => match parts.get(node)? {
                Part::InMap(key) => map.get(key),
                Part::Apart(validator) => Some(validator),
            },
        }
    }
}

/// The validator of one part, by a reference to it from outside.
fn build_apart(document: &Value, draft: Draft, pointer: &str) -> Result<Validator, SchemaProblem> {
    const ADDRESS: &str = "urn:turnwright:document";
    let failed = |error: &dyn std::fmt::Display| {
        let message = format!("this part of it cannot be checked by itself: {error}");
        SchemaProblem::new(pointer, message)
    };
    let registry = Registry::new()
        .draft(draft)
        .add(ADDRESS, draft.create_resource_ref(document))
        .and_then(|builder| builder.prepare())
        .map_err(|error| failed(&error))?;
    let reference = format!("{ADDRESS}#{}", as_fragment(pointer));
    options(draft)
        .clone()
        .with_registry(&registry)
        .build(&serde_json::json!({ "$ref": reference }))
        .map_err(|error| failed(&error))
}

/// A pointer as it stands in an address: everything but the plainest characters as `%` and two digits.
fn as_fragment(pointer: &str) -> String {
    use std::fmt::Write as _;
    let mut fragment = String::with_capacity(pointer.len());
    for byte in pointer.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'~' | b'-' | b'.' | b'_' | b'$') {
            fragment.push(char::from(byte));
        } else {
            // Writing into a String cannot fail.
            let _ = write!(fragment, "%{byte:02X}");
        }
    }
    fragment
}

/// A refusal by the crate, at the place in the document that it names.
fn problem(error: &jsonschema::ValidationError<'_>) -> SchemaProblem {
    use jsonschema::error::ValidationErrorKind;
    // While it checks a document against its meta-schema, the document is the instance.
    let pointer = error.instance_path().as_str().to_owned();
    let message = match error.kind() {
        ValidationErrorKind::Format { format } if format == "regex" => BAD_PATTERN.to_owned(),
        ValidationErrorKind::Referencing(error) => {
            format!("a reference cannot be resolved: {error}")
        }
        _ => error.to_string(),
    };
    SchemaProblem::new(pointer, message)
}
