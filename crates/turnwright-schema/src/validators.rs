//! Validators, compiled by the `jsonschema` crate from the same document that is published.

use std::sync::LazyLock;

use jsonschema::{PatternOptions, ValidationOptions, Validator, ValidatorMap};
use referencing::{Draft, Registry};
use serde_json::Value;

use super::pattern;
use super::plan::{NodeId, Plan};
use super::problem::SchemaProblem;
use super::reference::as_fragment;

/// The compiled document, and its parts if they are needed.
pub(crate) enum Validators {
    /// Only the complete document is needed.
    Complete(Box<Validator>),
    Parts {
        map: Box<ValidatorMap>,
        parts: Vec<Part>,
    },
    AcceptNothing,
}

/// How the validator of a part is stored.
pub(crate) enum Part {
    InMap(String),
    /// Parts inside a nested `$id` are missing from the map, so they are compiled separately.
    Separate(Box<Validator>),
}

/// Returns options that assert formats, use linear-time patterns and fetch nothing.
///
/// Draft 7 does not have the formats `uuid` and `duration`. Documents of draft 7 use them all the same, so they are
/// enforced as in draft 2020-12.
fn judge(draft: Draft) -> ValidationOptions<'static> {
    jsonschema::options()
        .with_draft(draft)
        .should_validate_formats(true)
        .should_ignore_unknown_formats(true)
        .with_pattern_options(PatternOptions::regex())
        .offline()
}

fn judge_of_draft_7() -> ValidationOptions<'static> {
    let mut judge = judge(Draft::Draft7);
    for name in ["uuid", "duration"] {
        let schema = serde_json::json!({ "format": name });
        if let Ok(format) = DRAFT_2020_12.build(&schema) {
            judge = judge.with_format(name, move |text: &str| format.is_valid(&Value::from(text)));
        }
    }
    judge
}

static DRAFT_7: LazyLock<ValidationOptions<'static>> = LazyLock::new(judge_of_draft_7);
static DRAFT_2020_12: LazyLock<ValidationOptions<'static>> =
    LazyLock::new(|| judge(Draft::Draft202012));

pub(crate) fn options(draft: Draft) -> &'static ValidationOptions<'static> {
    if draft == Draft::Draft7 {
        &DRAFT_7
    } else {
        &DRAFT_2020_12
    }
}

/// Returns `true` if a pattern is supported and takes at most this many bytes when compiled.
pub(crate) fn fits(draft: Draft, pattern: &str, bytes: usize) -> bool {
    let size = PatternOptions::regex().size_limit(bytes);
    let judge = options(draft).clone().with_pattern_options(size);
    judge
        .build(&serde_json::json!({ "pattern": pattern }))
        .is_ok()
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
            // The map omits what it could not compile. Compiling the part separately reports why.
            single()?;
        }
        let mut parts = Vec::with_capacity(plan.nodes.len());
        for node in &plan.nodes {
            let key = format!("#{}", node.pointer);
            parts.push(if map.contains_key(&key) {
                Part::InMap(key)
            } else {
                Part::Separate(Box::new(build_separately(document, draft, &node.pointer)?))
            });
        }
        Ok(Validators::Parts {
            map: Box::new(map),
            parts,
        })
    }

    /// Returns the validator of the complete document.
    pub(crate) fn document(&self) -> Option<&Validator> {
        match self {
            Validators::Complete(validator) => Some(validator),
            Validators::Parts { map, .. } => map.get("#"),
            Validators::AcceptNothing => None,
        }
    }

    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.document()
            .is_some_and(|validator| validator.is_valid(value))
    }

    /// Returns `true` if parts were compiled and this one accepts the value.
    pub(crate) fn part_accepts(&self, node: NodeId, value: &Value) -> bool {
        let Validators::Parts { map, parts } = self else {
            return false;
        };
        let validator = match parts.get(node) {
            Some(Part::InMap(key)) => map.get(key),
            Some(Part::Separate(validator)) => Some(&**validator),
            None => None,
        };
        validator.is_some_and(|validator| validator.is_valid(value))
    }
}

/// Compiles the validator of one part, through a reference from another document.
fn build_separately(
    document: &Value,
    draft: Draft,
    pointer: &str,
) -> Result<Validator, SchemaProblem> {
    const ADDRESS: &str = "urn:turnwright:document";
    let failed = |error: &dyn std::fmt::Display| {
        let message = format!("this subschema cannot be compiled on its own: {error}");
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

/// Converts a compile error, at the location in the document that it names.
fn problem(error: &jsonschema::ValidationError<'_>) -> SchemaProblem {
    use jsonschema::error::ValidationErrorKind;
    // During the check against the meta-schema, the document is the instance.
    let pointer = error.instance_path().as_str().to_owned();
    let message = match error.kind() {
        ValidationErrorKind::Format { format } if format == "regex" => {
            pattern::fault_of(error.instance().as_str().unwrap_or_default())
        }
        ValidationErrorKind::Referencing(error) => {
            format!("a reference cannot be resolved: {error}")
        }
        _ => error.to_string(),
    };
    SchemaProblem::new(pointer, message)
}
