//! References and identifiers, resolved as the validator resolves them, and never outside the document.

use std::collections::HashMap;
use std::rc::Rc;

use referencing::{Draft, Registry, Resolver, Retrieve, Uri};
use serde_json::Value;

use super::graph;
use super::plan::NodeId;
use super::pointer::join;
use super::problem::SchemaProblem;
use super::text::escape;

/// Returns an upper bound for the nesting of subschemas at one location: the number of references in the document.
pub(crate) fn nesting_of(document: &Value) -> usize {
    (1 + references_in(document)).min(graph::MAX_NESTED)
}

fn references_in(value: &Value) -> usize {
    match value {
        Value::Object(map) => {
            usize::from(map.contains_key("$ref")) + map.values().map(references_in).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(references_in).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Returns a registry that contains only the document, if it has references at all.
pub(crate) fn prepare_references(
    document: &Value,
    draft: Draft,
) -> Result<Option<(Registry<'_>, Uri<String>)>, SchemaProblem> {
    if references_in(document) == 0 {
        return Ok(None);
    }
    let wrong = |error: &dyn std::fmt::Display| {
        let message = format!("identifiers or references cannot be resolved: {error}");
        SchemaProblem::new("", message)
    };
    let resource = draft.create_resource_ref(document);
    let base = resource
        .id()
        .unwrap_or("json-schema:///")
        .trim_end_matches('#');
    let base = referencing::uri::from_str(base).map_err(|error| wrong(&error))?;
    let registry = Registry::new()
        .draft(draft)
        .retriever(Nothing)
        .add(base.as_str(), resource)
        .and_then(|builder| builder.prepare())
        .map_err(|error| wrong(&error))?;
    Ok(Some((registry, base)))
}

/// A retriever that returns an empty document for every external address. The walk then rejects the reference at its
/// own location instead of failing as a whole. Nothing is ever fetched.
struct Nothing;

impl Retrieve for Nothing {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Value::Bool(true))
    }
}

/// Returns the problem of a reference without a target in the document.
fn unresolved(pointer: String, text: &str) -> SchemaProblem {
    let text = escape(text, 80);
    let message = format!(
        "`{text}` does not resolve within this document: put the schema under `$defs` and refer to it as `#/$defs/…`"
    );
    SchemaProblem::new(pointer, message)
}

/// Returns a pointer as a URI fragment: everything but unreserved ASCII characters is percent-encoded.
pub(crate) fn as_fragment(pointer: &str) -> String {
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

/// Returns the memory address, which identifies a value within the document.
pub(crate) fn address(value: &Value) -> usize {
    std::ptr::from_ref(value) as usize
}

/// A `$ref`, which is followed after its document was read.
pub(crate) struct Reference<'d> {
    /// The subschema that contains it.
    pub(crate) from: NodeId,
    pointer: String,
    text: &'d str,
    target: Option<(&'d Value, Rc<Resolver<'d>>)>,
}

/// The target of a reference.
pub(crate) struct Target<'d> {
    pub(crate) value: &'d Value,
    /// The pointer of a target that was not read yet.
    pub(crate) pointer: String,
    pub(crate) scope: Rc<Resolver<'d>>,
}

impl<'d> Reference<'d> {
    /// Looks up the `$ref` of the subschema at `pointer`.
    pub(crate) fn new(
        from: NodeId,
        pointer: &str,
        text: &'d str,
        scope: Option<&Rc<Resolver<'d>>>,
    ) -> Self {
        let target = scope.and_then(|scope| {
            let (contents, resolver, _) = scope.lookup(text).ok()?.into_inner();
            Some((contents, Rc::new(resolver)))
        });
        Reference {
            from,
            pointer: join(pointer, "$ref"),
            text,
            target,
        }
    }

    /// Returns the target. `seen` has the subschemas that were read.
    ///
    /// # Errors
    ///
    /// If the target is not in the document, or is not accepted.
    pub(crate) fn resolve(
        self,
        seen: &HashMap<usize, NodeId>,
        places: &mut Places<'d>,
        is_accepted: impl Fn(&Value) -> bool,
    ) -> Result<Target<'d>, SchemaProblem> {
        let target = self.target.and_then(|(value, scope)| {
            let pointer = match seen.get(&address(value)) {
                Some(_) => String::new(),
                None => places.of(value)?,
            };
            is_accepted(value).then_some(Target {
                value,
                pointer,
                scope,
            })
        });
        target.ok_or_else(|| unresolved(self.pointer, self.text))
    }
}

/// The pointers of all values of a document, computed on first use.
pub(crate) struct Places<'d> {
    document: &'d Value,
    by_address: HashMap<usize, String>,
}

impl<'d> Places<'d> {
    pub(crate) fn new(document: &'d Value) -> Self {
        Places {
            document,
            by_address: HashMap::new(),
        }
    }

    fn of(&mut self, value: &Value) -> Option<String> {
        if self.by_address.is_empty() {
            note_places(self.document, String::new(), &mut self.by_address);
        }
        self.by_address.get(&address(value)).cloned()
    }
}

/// Records the pointer of every value.
fn note_places(value: &Value, pointer: String, places: &mut HashMap<usize, String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                note_places(value, join(&pointer, key), places);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                note_places(value, join(&pointer, &index.to_string()), places);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    places.insert(address(value), pointer);
}
