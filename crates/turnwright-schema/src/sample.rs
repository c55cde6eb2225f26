//! Simple arguments that a document accepts, for testing them against the type behind it.

use serde_json::{Map, Value};

use super::plan::{Node, NodeId, Plan, Types};
use super::schema::Schema;

/// The maximum number of nodes that one sample visits: documents can be large, and this is a first check, not a
/// proof.
const MAX_VISITS: usize = 500;
/// The maximum depth of a sample.
const MAX_LEVELS: usize = 32;

impl Schema {
    /// Returns up to two samples that the document accepts: one with the required properties, one with all declared
    /// properties. Returns fewer if none can be made from types and bounds alone.
    #[doc(hidden)]
    pub fn samples(&self) -> Vec<Value> {
        let mut samples: Vec<Value> = [false, true]
            .into_iter()
            .filter_map(|all| {
                Sampler {
                    plan: &self.contract.plan,
                    document: self.document(),
                    all,
                    left: MAX_VISITS,
                }
                .make(0, 0)
            })
            .filter(|sample| self.contract.validators().accepts(sample))
            .collect();
        samples.dedup();
        samples
    }
}

struct Sampler<'s> {
    plan: &'s Plan,
    document: &'s Value,
    /// Include every property, not only required ones.
    all: bool,
    left: usize,
}

impl Sampler<'_> {
    /// Returns a value for this location, or `None` if none is simple enough.
    fn make(&mut self, id: NodeId, depth: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1).filter(|_| depth <= MAX_LEVELS)?;
        let plan = self.plan;
        let node = plan.nodes.get(id)?;
        if node.never {
            return None;
        }
        let keywords = self.document.pointer(&node.pointer)?;
        if let Some(value) = keywords.get("const") {
            return Some(value.clone());
        }
        if let Some(Value::Array(values)) = keywords.get("enum") {
            return values.first().cloned();
        }
        let branch = node
            .same_place
            .first()
            .or_else(|| node.unions.first()?.first());
        if let Some(branch) =
            branch.filter(|_| node.allowed.is_none() && node.properties.is_empty())
        {
            return self.make(*branch, depth);
        }
        let types = node.allowed.unwrap_or(Types::OBJECT);
        let of = |wanted: Types| types.allows(wanted);
        if of(Types::OBJECT) {
            self.object(node, depth)
        } else if of(Types::STRING) {
            text(keywords)
        } else if of(Types::NUMBER) {
            Some(number(keywords))
        } else if of(Types::BOOLEAN) {
            Some(Value::Bool(false))
        } else if of(Types::ARRAY) {
            self.array(node, keywords, depth)
        } else {
            Some(Value::Null)
        }
    }

    fn object(&mut self, node: &Node, depth: usize) -> Option<Value> {
        let mut map = Map::new();
        for property in &node.properties {
            let required = node.requires(&property.name);
            if required || (self.all && depth < 3) {
                match self.make(property.node, depth + 1) {
                    Some(value) => {
                        map.insert(property.name.clone(), value);
                    }
                    None if required => return None,
                    None => {}
                }
            }
        }
        // A part of the object may be described elsewhere: by a reference, or by the chosen branch of a union.
        let parts = node
            .same_place
            .iter()
            .chain(node.unions.iter().filter_map(|branches| branches.first()));
        for part in parts.copied().collect::<Vec<_>>() {
            if let Some(Value::Object(more)) = self.make(part, depth) {
                map.extend(more);
            }
        }
        Some(Value::Object(map))
    }

    fn array(&mut self, node: &Node, keywords: &Value, depth: usize) -> Option<Value> {
        let least = keywords
            .get("minItems")
            .and_then(Value::as_u64)
            .unwrap_or(0);
        let least = least.max(u64::from(self.all && depth < 3));
        let count = usize::try_from(least).ok()?.max(node.prefix.len());
        if count > 64 {
            return None;
        }
        let ids = (0..count).map(|index| node.prefix.get(index).copied().or(node.items));
        ids.map(|id| id.map_or(Some(Value::Null), |id| self.make(id, depth + 1)))
            .collect()
    }
}

fn text(keywords: &Value) -> Option<Value> {
    if keywords.get("pattern").is_some() {
        return None;
    }
    let example = match keywords.get("format").and_then(Value::as_str) {
        None => {
            let length = keywords.get("minLength").and_then(Value::as_u64);
            let length = usize::try_from(length.unwrap_or(0)).ok()?;
            return (length <= 1024).then(|| "a".repeat(length).into());
        }
        Some("date") => "2000-01-01",
        Some("date-time") => "2000-01-01T00:00:00Z",
        Some("time") => "00:00:00Z",
        Some("duration") => "PT1S",
        Some("email") => "a@example.org",
        Some("hostname") => "example.org",
        Some("ipv4") => "127.0.0.1",
        Some("ipv6") => "::1",
        Some("uri" | "iri") => "https://example.org/",
        Some("uri-reference" | "iri-reference" | "uri-template") => "/a",
        Some("uuid") => "00000000-0000-0000-0000-000000000000",
        Some(_) => return None,
    };
    Some(example.into())
}

fn number(keywords: &Value) -> Value {
    let bound = |name: &str, excludes_zero: fn(f64) -> bool| {
        let bound = keywords.get(name)?;
        bound
            .as_f64()
            .is_some_and(excludes_zero)
            .then(|| bound.clone())
    };
    if let Some(step) = keywords.get("multipleOf").and_then(Value::as_i64) {
        return step.into();
    }
    if let Some(least) = keywords.get("exclusiveMinimum").and_then(Value::as_i64) {
        return least.saturating_add(1).into();
    }
    let least = bound("minimum", |least| least > 0.0);
    least
        .or_else(|| bound("maximum", |most| most < 0.0))
        .unwrap_or_else(|| 0.into())
}
