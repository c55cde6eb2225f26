//! The plan: a document's subschemas as a graph, with what the coercing pass needs to know.

use jsonschema::Validator;
use serde_json::{Map, Value};

/// A subschema, as an index into [`Plan::nodes`].
pub(crate) type NodeId = usize;

/// The document as a graph for the coercing pass. References are edges, so there may be cycles.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Node>,
    /// Some default may be filled.
    pub(crate) fills: bool,
    /// A default filled by one subschema may affect another one that was already visited.
    pub(crate) entangled: bool,
    /// The deepest nesting of subschemas at one location.
    pub(crate) height: usize,
    /// The number of levels that all defaults together could add to a value.
    pub(crate) default_levels: usize,
    /// Some default is a whole number written with a fraction or exponent.
    pub(crate) whole_float_defaults: bool,
}

/// One subschema, as far as coercion is concerned.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Its location in the document.
    pub(crate) pointer: String,
    /// The allowed types: from `type`, otherwise from the values of `enum` or `const`. `None` allows all.
    pub(crate) allowed: Option<Types>,
    /// `$ref` and the branches of `allOf`: they apply to the same location.
    pub(crate) same_place: Vec<NodeId>,
    /// `anyOf` and `oneOf`.
    pub(crate) unions: Vec<Vec<NodeId>>,
    /// `properties`, sorted by name.
    pub(crate) properties: Vec<Property>,
    /// `patternProperties`, each with the validator of its names.
    pub(crate) patterns: Vec<(Validator, NodeId)>,
    /// `additionalProperties`, if it is a schema.
    pub(crate) additional: Option<NodeId>,
    /// `prefixItems`, or `items` as a list in draft 7.
    pub(crate) prefix: Vec<NodeId>,
    /// `items` for the elements after the prefix.
    pub(crate) items: Option<NodeId>,
    /// The names in `required`, sorted.
    pub(crate) required: Vec<String>,
    /// The `default` written in this subschema.
    pub(crate) default: Option<Value>,
    /// The values of `const` or `enum`, if all of them are strings.
    pub(crate) texts: Option<Vec<Value>>,
    /// Other subschemas that apply to the same location and whose changes are discarded.
    pub(crate) only_looks: Vec<NodeId>,
    /// Accepts no value at all.
    pub(crate) never: bool,
    /// Whether `null` is valid here. Known after the validators are built.
    pub(crate) nullable: bool,
    /// A default may be filled here or below.
    pub(crate) fills: bool,
    /// Only integers are allowed here or somewhere below.
    pub(crate) integers: bool,
}

/// An entry of `properties`.
#[derive(Debug)]
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) node: NodeId,
    /// The value for an absent property: its own `default`, or that of the schema it refers to.
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

    /// Returns the subschema that applies to the item at this index.
    pub(crate) fn item(&self, index: usize) -> Option<NodeId> {
        self.prefix.get(index).copied().or(self.items)
    }

    /// Returns the subschemas that apply to a part of the value and whose changes count.
    pub(crate) fn below(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.properties
            .iter()
            .map(|property| property.node)
            .chain(self.patterns.iter().map(|(_, node)| *node))
            .chain(self.additional)
            .chain(self.prefix.iter().copied())
            .chain(self.items)
    }

    /// Returns the subschemas that may change the value at the same location.
    pub(crate) fn here(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.same_place
            .iter()
            .copied()
            .chain(self.unions.iter().flatten().copied())
    }
}

/// Walks a graph depth first, with an explicit stack because a chain of references can be as long as the document.
/// Returns the nodes in post-order: each after the nodes that `next` returns for it. Calls `circle` with each node
/// that leads back to one of its ancestors.
pub(crate) fn depth_first(
    count: usize,
    next: impl Fn(NodeId) -> Vec<NodeId>,
    mut circle: impl FnMut(NodeId),
) -> Vec<NodeId> {
    let mut order = Vec::with_capacity(count);
    // Whether an entered node has been left.
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

    /// Returns the types that are allowed by `type`, otherwise by the values of `enum` or `const`; `None` if none of
    /// these is present.
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

    /// Returns `true` if some type of `other` is in this set.
    pub(crate) fn allows(self, other: Types) -> bool {
        self.0 & other.0 != 0
    }
}

/// A chain of subschemas under which one location is visited. A branch of a union is nested inside the schemas that
/// contain the union.
pub(crate) struct Scope<'s> {
    pub(crate) id: NodeId,
    pub(crate) outer: Option<&'s Scope<'s>>,
}

impl Scope<'_> {
    /// Returns all subschemas that apply here, outermost first, including referenced ones.
    pub(crate) fn nodes<'p>(&self, plan: &'p Plan) -> Vec<&'p Node> {
        let mut nodes = self
            .outer
            .map(|outer| outer.nodes(plan))
            .unwrap_or_default();
        let mut left = vec![self.id];
        while let Some(node) = left.pop().and_then(|id| plan.nodes.get(id)) {
            nodes.push(node);
            left.extend(&node.same_place);
        }
        nodes
    }

    /// Returns how many of [`Scope::nodes`] come from enclosing schemas.
    pub(crate) fn outer_count(&self, plan: &Plan) -> usize {
        self.outer.map_or(0, |outer| outer.nodes(plan).len())
    }
}

/// Returns the subschemas that apply to the property with this name.
pub(crate) fn subschemas_of<'n>(
    node: &'n Node,
    name: &str,
) -> impl Iterator<Item = NodeId> + use<'n> {
    let own = node.property(name).map(|property| property.node);
    let by_pattern: Vec<NodeId> = if node.patterns.is_empty() {
        Vec::new()
    } else {
        let name = Value::from(name);
        node.patterns
            .iter()
            .filter(|(names, _)| names.is_valid(&name))
            .map(|(_, id)| *id)
            .collect()
    };
    let rest = if own.is_none() && by_pattern.is_empty() {
        node.additional
    } else {
        None
    };
    own.into_iter().chain(by_pattern).chain(rest)
}
