//! Schemas: the document that a model is shown, and that is enforced.
//!
//! Three ways in, one type out: [`Schema::object`] builds one, [`Schema::of`] makes one from a Rust type,
//! [`Schema::from_document`] takes a JSON document. What cannot be enforced is refused when the schema is made.
//!
//! ```
//! use turnwright_schema::{Schema, integer, string};
//! use serde_json::json;
//!
//! let schema = Schema::object()
//!     .field("city", string().description("Where").min_length(1).required())
//!     .field("days", integer().min(1).max(14).default(3))
//!     .build()?;
//!
//! // What the model is shown:
//! assert_eq!(schema.document()["properties"]["days"]["maximum"], 14);
//! // What is enforced, with narrow repairs, all faults at once:
//! let checked = schema.check(r#"{"city": "Paris", "days": "7"}"#)?;
//! assert_eq!(checked.value(), &json!({ "city": "Paris", "days": 7 }));
//! let error = schema.check(r#"{"city": "", "days": 15}"#).unwrap_err();
//! assert_eq!(error.faults().iter().map(|fault| fault.pointer.as_str()).collect::<Vec<_>>(), ["/city", "/days"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod admit;
mod branch_filter;
mod builder;
mod check;
mod coerce;
mod combinations;
mod dead_keywords;
mod decode;
mod explain;
mod explain_fallback;
mod external;
mod fault;
mod graph;
mod keywords;
mod limits;
mod needs_no_repair;
mod number;
mod options;
mod place;
mod plan;
mod pointer;
mod problem;
mod raw;
mod reference;
mod repair;
mod sample;
mod stack;
mod typed;
mod verdict;
mod walk;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use referencing::Draft;
use schemars::JsonSchema;
use serde_json::Value;

pub use admit::{Inadmissible, admit};
pub use builder::{
    Field, IntoSchema, all_of, any, any_of, array, boolean, constant, integer, map, null, number,
    object, one_of, string, tuple,
};
pub use check::CheckedArgs;
pub use external::Rejection;
pub use fault::{Fault, InvalidArguments, is_unseen};
pub use limits::Limits;
pub use options::SchemaOptions;
pub use problem::{SchemaError, SchemaProblem};
pub use raw::RawArgs;
pub use repair::{Repair, RepairKind};

// Shared with the other crates of Turnwright. Not part of the public API.
#[doc(hidden)]
pub use admit::{admit_key, admit_within, inspect};
#[doc(hidden)]
pub use check::Opened;
#[doc(hidden)]
pub use decode::decode;
#[doc(hidden)]
pub use external::ExternalCheck;
#[doc(hidden)]
pub use fault::{escape, quote};
#[doc(hidden)]
pub use keywords::near;
#[doc(hidden)]
pub use limits::MAX_DEPTH;
#[doc(hidden)]
pub use number::as_integer;
#[doc(hidden)]
pub use raw::{Raw, dismantle, survey};

use plan::Plan;
use verdict::Verdict;

/// One JSON Schema document and everything that enforces it. Immutable, cheap to clone.
#[derive(Clone)]
pub struct Schema {
    contract: Arc<Contract>,
    limits: Limits,
    external: Vec<ExternalCheck>,
}

struct Contract {
    document: Value,
    plan: Plan,
    verdict: Verdict,
}

impl Schema {
    /// Starts a closed object; add fields with [`Field::field`].
    pub fn object() -> Field {
        object()
    }

    /// The schema of a Rust type: its doc comments, bounds and defaults, as `schemars` and `serde` see them.
    ///
    /// ```
    /// use turnwright_schema::Schema;
    /// use serde_json::json;
    ///
    /// #[derive(schemars::JsonSchema)]
    /// struct Args {
    ///     /// How many.
    ///     n: u8,
    /// }
    /// let schema = Schema::of::<Args>()?;
    /// assert!(schema.accepts(&json!({ "n": 255 })));
    /// assert!(!schema.accepts(&json!({ "n": 256 })));
    /// assert!(!schema.accepts(&json!({ "n": 1, "unexpected": true })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `E_INVALID_SCHEMA` if the type is no object, or if something in it cannot be described or enforced.
    pub fn of<T: JsonSchema>() -> Result<Self, SchemaError> {
        Schema::build(typed::document_of::<T>()?, &SchemaOptions::strict())
    }

    /// Takes a document as it stands.
    ///
    /// # Errors
    /// `E_INVALID_SCHEMA` with every problem that was found, each at its JSON pointer.
    pub fn from_document(document: Value) -> Result<Self, SchemaError> {
        SchemaOptions::default().document(document)
    }

    /// Takes a document that is JSON text.
    ///
    /// # Errors
    /// `E_INVALID_SCHEMA` if it is not JSON, repeats a key, or [`Schema::from_document`] refuses it.
    pub fn from_json(text: &str) -> Result<Self, SchemaError> {
        check::decode_document(text).and_then(Schema::from_document)
    }

    /// Options for taking other people's documents.
    pub fn options() -> SchemaOptions {
        SchemaOptions::default()
    }

    fn build(document: Value, options: &SchemaOptions) -> Result<Self, SchemaError> {
        let surveyed = survey(&document);
        if surveyed.depth > MAX_DEPTH {
            dismantle(document);
            let message = format!(
                "has {} levels; 128 are the most that is taken: flatten it with `$defs`",
                surveyed.depth
            );
            return Err(SchemaError::new(vec![SchemaProblem::new("", message)]));
        }
        if surveyed.reserved {
            let message = Inadmissible::ReservedKey.to_string();
            return Err(SchemaError::new(vec![SchemaProblem::new("", message)]));
        }
        let levels = surveyed
            .depth
            .saturating_mul(reference::nesting_of(&document));
        stack::with_room(levels, || Schema::assemble(document, options))
            .unwrap_or_else(|| {
                Err(vec![SchemaProblem::new(
                    "",
                    "is too much nested to be checked",
                )])
            })
            .map_err(SchemaError::new)
    }

    fn assemble(document: Value, options: &SchemaOptions) -> Result<Self, Vec<SchemaProblem>> {
        let draft = draft_of(&document).map_err(|problem| vec![problem])?;
        let mut walked = walk::walk(&document, draft, options, verdict::options(draft))?;
        let verdict = Verdict::build(&document, draft, &walked.plan, walked.needs_map)
            .map_err(|problem| vec![problem])?;
        for id in 0..walked.plan.nodes.len() {
            let nullable = graph::refuses_null(&walked.plan.nodes, id).is_none()
                && verdict.part_accepts(id, &Value::Null);
            if let Some(node) = walked.plan.nodes.get_mut(id) {
                node.nullable = nullable;
            }
        }
        refuse_bad_defaults(&walked, &verdict)?;
        let contract = Contract {
            document,
            plan: walked.plan,
            verdict,
        };
        Ok(Schema {
            contract: Arc::new(contract),
            limits: options.limits_now(),
            external: Vec::new(),
        })
    }

    /// The document: what the model is shown, and what is enforced.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.contract.document
    }

    /// The limits on arguments.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether the document accepts `value` as it is: nothing coerced, nothing filled, no external checks.
    #[must_use]
    pub fn accepts(&self, value: &Value) -> bool {
        let depth = survey(value).depth;
        let Contract { plan, verdict, .. } = &*self.contract;
        let levels = depth.saturating_mul(plan.height);
        depth <= MAX_DEPTH && stack::with_room(levels, || verdict.accepts(value)) == Some(true)
    }

    /// The same contract under other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema")
            .field("document", &self.contract.document)
            .finish_non_exhaustive()
    }
}

/// The draft that the document names, after making sure that its root is an object's.
fn draft_of(document: &Value) -> Result<Draft, SchemaProblem> {
    let Value::Object(map) = document else {
        return Err(SchemaProblem::new(
            "",
            "a tool's schema is a JSON object whose `type` is \"object\"",
        ));
    };
    let draft = match map.get("$schema") {
        None => Draft::Draft202012,
        Some(Value::String(uri)) => match uri.trim_end_matches('#') {
            "https://json-schema.org/draft/2020-12/schema"
            | "http://json-schema.org/draft/2020-12/schema" => Draft::Draft202012,
            "http://json-schema.org/draft-07/schema"
            | "https://json-schema.org/draft-07/schema" => Draft::Draft7,
            _ => {
                let message = format!(
                    "{} is not taken: drafts 2020-12 and 7 are",
                    quote(&Value::from(uri.as_str()))
                );
                return Err(SchemaProblem::new("/$schema", message));
            }
        },
        Some(_) => return Err(SchemaProblem::new("/$schema", "must be text")),
    };
    match map.get("type") {
        Some(Value::String(name)) if name == "object" => Ok(draft),
        Some(_) => Err(SchemaProblem::new(
            "/type",
            "the root's `type` must be \"object\": put what this is into a property",
        )),
        None if map.contains_key("enum")
            || map.contains_key("oneOf")
            || map.contains_key("anyOf") =>
        {
            Err(SchemaProblem::new(
                "",
                "the root must say `\"type\": \"object\"`; an enum cannot be the arguments themselves: put it into a field of a struct",
            ))
        }
        None => Err(SchemaProblem::new(
            "",
            "the root must say `\"type\": \"object\"`",
        )),
    }
}

fn refuse_bad_defaults(walked: &walk::Walked, verdict: &Verdict) -> Result<(), Vec<SchemaProblem>> {
    let problems: Vec<SchemaProblem> = walked
        .defaults
        .iter()
        .filter_map(|id| {
            let node = walked.plan.nodes.get(*id)?;
            let default = node.default.as_ref()?;
            (!verdict.part_accepts(*id, default)).then(|| {
                let message = format!(
                    "the default {} is refused by its own schema",
                    quote(default)
                );
                SchemaProblem::new(pointer::join(&node.pointer, "default"), message)
            })
        })
        .collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}
