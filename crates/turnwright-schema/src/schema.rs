//! The schema: one document and everything that enforces it.
//!
//! The published document is the enforced document: repairs and defaults are a pass in front of validation.

use std::future::Future;
use std::sync::{Arc, OnceLock};

use referencing::Draft;
use schemars::JsonSchema;
use serde_json::Value;

use super::decode::{self, DecodeError};
use super::external::{ExternalCheck, Rejection};
use super::fault::InvalidArguments;
use super::limits::{Limits, MAX_DEPTH};
use super::options::SchemaOptions;
use super::plan::{self, Plan};
use super::problem::{SchemaError, SchemaProblem, Unenforced, UnenforcedKind};
use super::raw::survey;
use super::text::quote;
use super::validators::{self, Validators};
use super::{foreign, graph, keywords, limits, pointer, reference, typed, walk};

/// A JSON Schema document with everything needed to enforce it. Immutable and cheap to clone.
///
/// ```
/// use turnwright_schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::from_document(json!({
///     "type": "object",
///     "properties": { "days": { "type": "integer", "maximum": 14 } },
/// }))?;
/// assert_eq!(schema.check(r#"{"days": "3"}"#)?.value(), &json!({ "days": 3 }));
/// assert!(schema.check(r#"{"days": 99}"#).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Schema {
    pub(crate) contract: Arc<Contract>,
    pub(crate) limits: Limits,
    external: Vec<ExternalCheck>,
}

pub(crate) struct Contract {
    pub(crate) document: Value,
    pub(crate) plan: Plan,
    /// Empty until the first check, if they are compiled on use.
    validators: OnceLock<Validators>,
    draft: Draft,
    /// Whether the validators have parts.
    needs_parts: bool,
    /// The document as it was received, if another one is published.
    original: Option<Value>,
    unenforced: Vec<Unenforced>,
}

impl Schema {
    /// Creates a schema from a Rust type: its doc comments, bounds and defaults, as `schemars` and `serde` see them.
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
    /// `E_INVALID_SCHEMA` if the type is not an object, or if something in it cannot be described or enforced.
    pub fn of<T: JsonSchema>() -> Result<Self, SchemaError> {
        Schema::build(typed::document_of::<T>()?, &SchemaOptions::strict())
    }

    /// Creates a schema from a JSON document.
    ///
    /// # Errors
    /// `E_INVALID_SCHEMA` with all problems, each with its JSON pointer.
    pub fn from_document(document: Value) -> Result<Self, SchemaError> {
        SchemaOptions::default().document(document)
    }

    /// Creates a schema from a JSON document in text form.
    ///
    /// # Errors
    /// `E_INVALID_SCHEMA` if the text is not JSON, repeats a key, or is rejected by [`Schema::from_document`].
    pub fn from_json(text: &str) -> Result<Self, SchemaError> {
        decode_document(text).and_then(Schema::from_document)
    }

    /// Returns options for parsing documents from other sources.
    pub fn options() -> SchemaOptions {
        SchemaOptions::default()
    }

    pub(crate) fn build(document: Value, options: &SchemaOptions) -> Result<Self, SchemaError> {
        let document = admitted(document, options)?;
        if !options.foreign {
            let (contract, rejected) = Contract::build(document, options)?;
            let problems: Vec<_> = rejected.iter().map(RejectedDefault::problem).collect();
            return if problems.is_empty() {
                Ok(contract.into_schema(options))
            } else {
                Err(SchemaError::new(problems))
            };
        }
        let levels = survey(&document).depth;
        let adapted = limits::with_room(levels.saturating_mul(2), || {
            foreign::adapt(&document, options)
        });
        let adapted = adapted.unwrap_or_else(|| Err(too_nested()))?;
        Schema::adapted(document, adapted, options)
    }

    /// Creates a schema that publishes another document than the original one.
    fn adapted(
        original: Value,
        adapted: foreign::Adapted,
        options: &SchemaOptions,
    ) -> Result<Self, SchemaError> {
        let foreign::Adapted {
            document,
            mut unenforced,
            moved,
        } = adapted;
        let document = admitted(document, options)?;
        let (mut contract, rejected) = Contract::build(document, options)?;
        if !rejected.is_empty() {
            let mut document = contract.document;
            for default in rejected {
                let place = pointer::join(&default.pointer, "default");
                pointer::set(&mut document, &place, None);
                let original = moved.get(&default.pointer).unwrap_or(&default.pointer);
                unenforced.push(Unenforced {
                    pointer: pointer::join(original, "default"),
                    keyword: "default".to_owned(),
                    kind: UnenforcedKind::Default,
                    reason: default.message(),
                });
            }
            (contract, _) = Contract::build(document, options)?;
        }
        contract.original = Some(original).filter(|original| *original != contract.document);
        contract.unenforced = unenforced;
        contract.compile_on_use();
        Ok(contract.into_schema(options))
    }

    /// Returns the document that the model sees and that is enforced.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.contract.document
    }

    /// Returns the document as it was received. It differs from [`Schema::document`] only if the schema was created
    /// with [`SchemaOptions::foreign`].
    #[must_use]
    pub fn original(&self) -> &Value {
        let original = self.contract.original.as_ref();
        original.unwrap_or(&self.contract.document)
    }

    /// Returns what the original document asks for and is not enforced. Empty unless the schema was created with
    /// [`SchemaOptions::foreign`].
    #[must_use]
    pub fn unenforced(&self) -> &[Unenforced] {
        &self.contract.unenforced
    }

    /// Returns the limits on arguments.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Returns `true` if the document accepts `value` unchanged: without coercion, defaults or external checks.
    #[must_use]
    pub fn accepts(&self, value: &Value) -> bool {
        let depth = survey(value).depth;
        let levels = depth.saturating_mul(self.contract.plan.height);
        let accepts = || self.contract.validators().accepts(value);
        depth <= MAX_DEPTH && limits::with_room(levels, accepts) == Some(true)
    }

    /// Returns this schema with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds an external check, such as a database look-up. The check receives the checked arguments and runs only if
    /// the document accepts them. `name` becomes the [`Fault::rule`](crate::Fault::rule) of its faults.
    #[must_use]
    pub fn external<F, Fut>(self, name: impl Into<String>, check: F) -> Self
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Rejection>> + Send + 'static,
    {
        self.checked_by(ExternalCheck::new(name.into().into(), check))
    }

    /// Adds an external check.
    #[doc(hidden)]
    pub fn checked_by(mut self, check: ExternalCheck) -> Self {
        // Most schemas have at most one check, so no extra capacity is reserved.
        self.external.reserve_exact(1);
        self.external.push(check);
        self
    }

    #[doc(hidden)]
    pub fn has_external(&self) -> bool {
        !self.external.is_empty()
    }

    /// Runs all external checks.
    #[doc(hidden)]
    pub async fn ask_external(&self, args: &Value) -> Result<(), InvalidArguments> {
        let mut faults = InvalidArguments::default();
        for check in &self.external {
            check.run(args, &mut faults).await;
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }
}

debug_fields!(Schema { contract.document });

/// Returns the draft that the document declares, after verifying that its root is an object schema, unless `any_root`.
fn draft_of(document: &Value, any_root: bool) -> Result<Draft, SchemaProblem> {
    let wrong = |pointer: &str, message: &str| Err(SchemaProblem::new(pointer, message));
    let Value::Object(map) = document else {
        let message = "the schema must be a JSON object with `\"type\": \"object\"`";
        return wrong("", message);
    };
    let draft = match map.get("$schema") {
        None => Draft::Draft202012,
        Some(Value::String(uri)) => match uri.trim_end_matches('#') {
            "https://json-schema.org/draft/2020-12/schema"
            | "http://json-schema.org/draft/2020-12/schema" => Draft::Draft202012,
            "http://json-schema.org/draft-07/schema"
            | "https://json-schema.org/draft-07/schema" => Draft::Draft7,
            _ => {
                let uri = quote(&Value::from(uri.as_str()));
                let message = format!("{uri} is not supported: use draft 2020-12 or draft 7");
                return wrong("/$schema", &message);
            }
        },
        Some(_) => return wrong("/$schema", "must be a string"),
    };
    match map.get("type") {
        _ if any_root => Ok(draft),
        Some(Value::String(name)) if name == "object" => Ok(draft),
        Some(other) => {
            let message = "the root's `type` must be \"object\": put this schema into a property";
            let misspelled = keywords::wrong_type(other);
            wrong("/type", misspelled.as_deref().unwrap_or(message))
        }
        None if ["enum", "oneOf", "anyOf"]
            .iter()
            .any(|name| map.contains_key(*name)) =>
        {
            wrong(
                "",
                "the root must have `\"type\": \"object\"`. An enum cannot be the root: put it into a field of a struct",
            )
        }
        None => wrong("", "the root must have `\"type\": \"object\"`"),
    }
}

/// A default that its own schema rejects.
struct RejectedDefault {
    /// The location of the schema.
    pointer: String,
    default: Value,
}

impl RejectedDefault {
    fn message(&self) -> String {
        let default = quote(&self.default);
        format!("the default {default} is not valid under its own schema")
    }

    fn problem(&self) -> SchemaProblem {
        SchemaProblem::new(pointer::join(&self.pointer, "default"), self.message())
    }
}

fn rejected_defaults(walked: &walk::Walked, validators: &Validators) -> Vec<RejectedDefault> {
    let rejected = |id: &plan::NodeId| {
        let node = walked.plan.nodes.get(*id)?;
        let default = node.default.as_ref()?;
        (!validators.part_accepts(*id, default)).then(|| RejectedDefault {
            pointer: node.pointer.clone(),
            default: default.clone(),
        })
    };
    walked.defaults.iter().filter_map(rejected).collect()
}

impl Contract {
    /// Compiles a document. Defaults that their own schema rejects are returned, not rejected.
    fn build(
        document: Value,
        options: &SchemaOptions,
    ) -> Result<(Contract, Vec<RejectedDefault>), SchemaError> {
        let levels = levels_of(&document);
        let built = limits::with_room(levels, || Contract::assemble(document, options));
        built.unwrap_or_else(|| Err(too_nested()))
    }

    fn assemble(
        document: Value,
        options: &SchemaOptions,
    ) -> Result<(Contract, Vec<RejectedDefault>), SchemaError> {
        let draft = draft_of(&document, options.any_root)?;
        let walked = walk::walk(&document, draft, options, validators::options(draft));
        let mut walked = walked.map_err(SchemaError::new)?;
        let validators = Validators::build(&document, draft, &walked.plan, walked.needs_map)?;
        for id in 0..walked.plan.nodes.len() {
            let nullable = !graph::rejects_null(&walked.plan.nodes, id)
                && validators.part_accepts(id, &Value::Null);
            if let Some(node) = walked.plan.nodes.get_mut(id) {
                node.nullable = nullable;
            }
        }
        let rejected = rejected_defaults(&walked, &validators);
        let contract = Contract {
            document,
            plan: walked.plan,
            validators: validators.into(),
            draft,
            needs_parts: walked.needs_map,
            original: None,
            unenforced: Vec::new(),
        };
        Ok((contract, rejected))
    }

    /// Drops the validators until the first check. They take far more memory than the document, and of the many tools that
    /// other authors offer, a program calls a few.
    fn compile_on_use(&mut self) {
        if limits::fits_anywhere(levels_of(&self.document)) {
            self.validators = OnceLock::new();
        }
    }

    #[cfg(test)]
    pub(crate) fn is_compiled(&self) -> bool {
        self.validators.get().is_some()
    }

    pub(crate) fn validators(&self) -> &Validators {
        self.validators.get_or_init(|| {
            let compiled =
                Validators::build(&self.document, self.draft, &self.plan, self.needs_parts);
            // The same document has compiled before.
            compiled.unwrap_or(Validators::AcceptNothing)
        })
    }

    fn into_schema(self, options: &SchemaOptions) -> Schema {
        Schema {
            contract: Arc::new(self),
            limits: options.limits,
            external: Vec::new(),
        }
    }
}

/// Returns how many levels of recursion the compilation of a document takes.
fn levels_of(document: &Value) -> usize {
    let nesting = reference::nesting_of(document);
    survey(document).depth.saturating_mul(nesting)
}

fn too_nested() -> SchemaError {
    SchemaProblem::new("", "is nested too deeply to be checked").into()
}

/// Returns the document if its depth, its keys and its size are allowed.
fn admitted(document: Value, options: &SchemaOptions) -> Result<Value, SchemaError> {
    let surveyed = survey(&document);
    let problem = |message: String| Err(SchemaProblem::new("", message).into());
    if surveyed.depth > MAX_DEPTH {
        let levels = surveyed.depth;
        return problem(format!(
            "has {levels} levels (maximum: 128): flatten it with `$defs`"
        ));
    }
    if surveyed.reserved {
        return problem("has a key that starts with `$serde_json::private::`".to_owned());
    }
    if options.foreign && surveyed.bytes > foreign::MAX_BYTES {
        let (bytes, most) = (surveyed.bytes, foreign::MAX_BYTES);
        return problem(format!("has {bytes} bytes (maximum: {most})"));
    }
    Ok(document)
}

impl SchemaOptions {
    /// Creates a schema from a JSON document with these options.
    ///
    /// # Errors
    /// `E_INVALID_SCHEMA` with all problems, each with its JSON pointer.
    pub fn document(self, document: Value) -> Result<Schema, SchemaError> {
        Schema::build(document, &self)
    }
}

/// Parses a schema document from text.
fn decode_document(text: &str) -> Result<Value, SchemaError> {
    let message = match decode::decode(text, MAX_DEPTH) {
        Ok(decoded) if decoded.repeats_keys => {
            let (pointers, _) = decode::repeated_keys(text, MAX_DEPTH);
            let repeated = |pointer| SchemaProblem::new(pointer, "appears more than once");
            return Err(SchemaError::new(
                pointers.into_iter().map(repeated).collect(),
            ));
        }
        Ok(decoded) => return Ok(decoded.value),
        Err(DecodeError::TooDeep) => "has more than 128 levels: flatten it with `$defs`".to_owned(),
        Err(DecodeError::Reserved) => {
            "has a key that starts with `$serde_json::private::`".to_owned()
        }
        Err(DecodeError::NotJson(error)) => format!("is not JSON: {error}"),
    };
    Err(SchemaProblem::new("", message).into())
}
