//! The validators, made by the crate that knows JSON Schema from the very document that is published.

use std::sync::LazyLock;

use jsonschema::{PatternOptions, ValidationOptions, Validator, ValidatorMap};
use referencing::Draft;
use serde_json::Value;

use super::plan::{NodeId, Plan};
use super::problem::SchemaProblem;
use super::walk::BAD_PATTERN;

/// The verdict on a whole document, and on its parts where a part is asked for.
pub(crate) enum Verdict {
    /// No part is ever asked for by itself.
    Whole(Box<Validator>),
    Parts { map: Box<ValidatorMap>, keys: Vec<String> },
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
static DRAFT_2020_12: LazyLock<ValidationOptions<'static>> = LazyLock::new(|| judge(Draft::Draft202012));

pub(crate) fn options(draft: Draft) -> &'static ValidationOptions<'static> {
    if draft == Draft::Draft7 { &DRAFT_7 } else { &DRAFT_2020_12 }
}

impl Verdict {
    pub(crate) fn build(document: &Value, draft: Draft, plan: &Plan, parts: bool) -> Result<Verdict, SchemaProblem> {
        if parts {
            let map = options(draft).build_map(document).map_err(|error| problem(&error))?;
            let keys: Vec<String> = plan.nodes.iter().map(|node| format!("#{}", node.pointer)).collect();
            // A map leaves out what it could not build; then building the whole says why.
            if keys.iter().all(|key| map.contains_key(key)) {
                return Ok(Verdict::Parts { map: Box::new(map), keys });
            }
        }
        let whole = options(draft).build(document).map_err(|error| problem(&error))?;
        if parts {
            return Err(SchemaProblem::new("", "some part of it cannot be checked by itself: avoid references to places that are no schemas"));
        }
        Ok(Verdict::Whole(Box::new(whole)))
    }

    /// The validator of the whole document.
    pub(crate) fn whole(&self) -> Option<&Validator> {
        match self {
            Verdict::Whole(validator) => Some(validator),
            Verdict::Parts { map, .. } => map.get("#"),
        }
    }

    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.whole().is_some_and(|validator| validator.is_valid(value))
    }

    pub(crate) fn part_accepts(&self, node: NodeId, value: &Value) -> bool {
        self.part(node).is_some_and(|validator| validator.is_valid(value))
    }

    fn part(&self, node: NodeId) -> Option<&Validator> {
        match self {
            Verdict::Whole(_) => None,
            Verdict::Parts { map, keys } => map.get(keys.get(node)?),
        }
    }
}

/// A refusal by the crate, at the place in the document that it names.
fn problem(error: &jsonschema::ValidationError<'_>) -> SchemaProblem {
    use jsonschema::error::ValidationErrorKind;
    // While it checks a document against its meta-schema, the document is the instance.
    let pointer = error.instance_path().as_str().to_owned();
    let message = match error.kind() {
        ValidationErrorKind::Format { format } if format == "regex" => BAD_PATTERN.to_owned(),
        ValidationErrorKind::Referencing(error) => format!("a reference cannot be resolved: {error}"),
        _ => error.to_string(),
    };
    SchemaProblem::new(pointer, message)
}
