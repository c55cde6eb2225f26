//! What the coercing pass must know of a document: its subschemas as a graph.

use jsonschema::Validator;
use serde_json::{Map, Value};

/// A subschema, by its place in [`Plan::nodes`].
pub(crate) type NodeId = usize;

/// The document as a graph that the coercing pass follows. References are edges, so trees may turn back.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Node>,
    /// Somewhere a default may be filled.
    pub(crate) fills: bool,
    /// A default filled by one subschema may be looked at by another that was passed before.
    pub(crate) entangled: bool,
    /// How many subschemas nest at one place, at the most.
    pub(crate) height: usize,
    /// How many levels all defaults together could add to a value.
    pub(crate) default_levels: usize,
    /// Some default is a whole number written with a fraction or exponent.
    pub(crate) whole_float_defaults: bool,
}

/// One subschema, as far as coercion goes.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Where it stands in the document.
    pub(crate) pointer: String,
    /// The types that are allowed, by `type`, else by the values of `enum` or `const`; `None` allows all.
    pub(crate) allowed: Option<Types>,
    /// `$ref` and the branches of `allOf`: they hold for the same place.
    pub(crate) same_place: Vec<NodeId>,
    /// `anyOf` and `oneOf`.
    pub(crate) unions: Vec<Vec<NodeId>>,
    /// `properties`, sorted by name.
    pub(crate) properties: Vec<Property>,
    /// `patternProperties`, each with the judge of its names.
    pub(crate) patterns: Vec<(Validator, NodeId)>,
    /// `additionalProperties`, where it is a schema.
    pub(crate) additional: Option<NodeId>,
    /// `prefixItems`, or `items` as a list in draft 7.
    pub(crate) prefix: Vec<NodeId>,
    /// `items` for what comes after the prefix.
    pub(crate) items: Option<NodeId>,
    /// Names of `required`, sorted.
    pub(crate) required: Vec<String>,
    /// `default` as it stands here.
    pub(crate) default: Option<Value>,
    /// The values of `const` or `enum`, where all of them are text.
    pub(crate) texts: Option<Vec<Value>>,
    /// Other subschemas that look at the same place, and whose changes do not count.
    pub(crate) only_looks: Vec<NodeId>,
    /// Takes no value at all.
    pub(crate) never: bool,
    /// Whether `null` is valid here: known after the validators are built.
    pub(crate) nullable: bool,
    /// Here or below a default may be filled.
    pub(crate) fills: bool,
    /// Here or below only an integer is allowed.
    pub(crate) integers: bool,
}

/// One of `properties`.
#[derive(Debug)]
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) node: NodeId,
    /// What an absent one gets: its own `default`, or that of what it refers to.
    pub(crate) default: Option<Value>,
}

impl Node {
    pub(crate) fn property(&self, name: &str) -> Option<&Property> {
        let index = self
            .properties
            .binary_search_by(|property| property.name.as_str().cmp(name))
            .ok()?;
        self.properties.get(index)
    }

    pub(crate) fn requires(&self, name: &str) -> bool {
        self.required
            .binary_search_by(|required| required.as_str().cmp(name))
            .is_ok()
    }

    /// The subschemas that may look at a part of the value and whose changes count.
    pub(crate) fn below(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.properties
            .iter()
            .map(|property| property.node)
            .chain(self.patterns.iter().map(|(_, node)| *node))
            .chain(self.additional)
            .chain(self.prefix.iter().copied())
            .chain(self.items)
    }

    /// The subschemas that may change the value at the same place.
    pub(crate) fn here(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.same_place
            .iter()
            .copied()
            .chain(self.unions.iter().flatten().copied())
    }
}

/// Walks a graph depth first, with a stack of its own: a chain of references may be as long as the document. Returns the
/// nodes, each after those that `next` leads to. Calls `circle` with a node that leads back to one it was reached from.
pub(crate) fn depth_first(
    count: usize,
    next: impl Fn(NodeId) -> Vec<NodeId>,
    mut circle: impl FnMut(NodeId),
) -> Vec<NodeId> {
    let mut order = Vec::with_capacity(count);
    // Whether a node that was entered was left.
    let mut left: Vec<Option<bool>> = vec![None; count];
    for start in 0..count {
        let mut stack = vec![(None, vec![start].into_iter())];
        while let Some((id, ahead)) = stack.last_mut() {
            let Some(child) = ahead.next() else {
                if let Some(state) = id.and_then(|id| left.get_mut(id)) {
                    *state = Some(true);
                    order.extend(*id);
                }
                stack.pop();
                continue;
            };
            match (left.get_mut(child), *id) {
                (Some(state @ None), _) => {
                    *state = Some(false);
                    stack.push((Some(child), next(child).into_iter()));
                }
                (Some(Some(false)), Some(id)) => circle(id),
                _ => {}
            }
        }
    }
    order
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const NULL: Types = Types(1);
    pub(crate) const BOOLEAN: Types = Types(1 << 1);
    pub(crate) const OBJECT: Types = Types(1 << 2);
    pub(crate) const ARRAY: Types = Types(1 << 3);
    pub(crate) const INTEGER: Types = Types(1 << 4);
    pub(crate) const FRACTION: Types = Types(1 << 5);
    pub(crate) const NUMBER: Types = Types(1 << 4 | 1 << 5);
    pub(crate) const STRING: Types = Types(1 << 6);

    pub(crate) fn named(name: &str) -> Option<Types> {
        Some(match name {
            "null" => Types::NULL,
            "boolean" => Types::BOOLEAN,
            "object" => Types::OBJECT,
            "array" => Types::ARRAY,
            "integer" => Types::INTEGER,
            "number" => Types::NUMBER,
            "string" => Types::STRING,
            _ => return None,
        })
    }

    /// The types that are allowed by `type`, else by the values of `enum` or `const`; `None` where nothing is said.
    pub(crate) fn allowed_by(map: &Map<String, Value>) -> Option<Types> {
        let union =
            |all: &mut dyn Iterator<Item = Types>| Some(all.fold(Types::default(), Types::or));
        match map.get("type") {
            Some(Value::String(name)) => Types::named(name),
            Some(Value::Array(names)) => {
                union(&mut names.iter().filter_map(|name| Types::named(name.as_str()?)))
            }
            _ => match (map.get("enum"), map.get("const")) {
                (Some(Value::Array(values)), _) => union(&mut values.iter().map(Types::of)),
                (_, Some(value)) => Some(Types::of(value)),
                _ => None,
            },
        }
    }

    pub(crate) fn of(value: &Value) -> Types {
        match value {
            Value::Null => Types::NULL,
            Value::Bool(_) => Types::BOOLEAN,
            Value::Object(_) => Types::OBJECT,
            Value::Array(_) => Types::ARRAY,
            Value::Number(number) if number.is_i64() || number.is_u64() => Types::INTEGER,
            Value::Number(number) if number.as_f64().is_some_and(|n| n.fract() == 0.0) => {
                Types::INTEGER
            }
            Value::Number(_) => Types::FRACTION,
            Value::String(_) => Types::STRING,
        }
    }

    pub(crate) fn or(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    pub(crate) fn only_integers(self) -> bool {
        self.allows(Types::INTEGER) && !self.allows(Types::FRACTION)
    }

    pub(crate) fn and(self, other: Types) -> Types {
        Types(self.0 & other.0)
    }

    /// Whether some type of `other` is in this set.
    pub(crate) fn allows(self, other: Types) -> bool {
        self.0 & other.0 != 0
    }
}
