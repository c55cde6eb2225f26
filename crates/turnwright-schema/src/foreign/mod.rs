//! Documents of other authors: enforces what can be enforced, and publishes only that.
//!
//! `oneOf` becomes `anyOf`. A random test compares the result with validators of the original.
//!
//! The document is read as a graph ([`survey`]), what is not enforced is followed to where leaving it out could make
//! the document stricter ([`spread`]), and the rest is written ([`emit`]). The result is then built like any other
//! document, so whatever these steps miss is rejected instead of ignored.

mod dialect;
mod emit;
mod spread;
mod survey;
mod verdict;
mod wording;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::options::SchemaOptions;
use crate::problem::{SchemaError, SchemaProblem};
use crate::reference::prepare_references;
use crate::text::quote;
use dialect::Dialect;
pub(crate) use emit::Adapted;
use verdict::Judge;

/// The maximum size of a foreign document as JSON text.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Returns the document that is published for `document`, and what of it is not enforced.
pub(crate) fn adapt(document: &Value, options: &SchemaOptions) -> Result<Adapted, SchemaError> {
    check_root(document, options.any_root)?;
    let dialect = Dialect::of(document.get("$schema"))?;
    let judge = Judge::new(dialect, options);
    let registry = prepare_references(document, dialect.published())?;
    let scope = registry
        .as_ref()
        .map(|(registry, base)| registry.resolver(base.clone()));
    let mut survey = survey::survey(document, scope, &judge).map_err(SchemaError::new)?;
    spread::spread(&mut survey.nodes);
    Ok(emit::emit(&survey, &judge)?)
}

/// Rejects a root that does not describe an object, unless `any_root`. Without a `type` it does.
fn check_root(document: &Value, any_root: bool) -> Result<(), SchemaProblem> {
    let Value::Object(map) = document else {
        let message = format!(
            "the root must be an object schema (got {})",
            quote(document)
        );
        return Err(SchemaProblem::new("", message));
    };
    let is_object = |name: &Value| name == "object";
    match map.get("type") {
        Some(Value::Array(names)) if names.iter().any(is_object) => Ok(()),
        Some(types) if !any_root && !is_object(types) => {
            let got = quote(types);
            let message = format!("the root's `type` must be \"object\" (got {got})");
            Err(SchemaProblem::new("/type", message))
        }
        _ => Ok(()),
    }
}
