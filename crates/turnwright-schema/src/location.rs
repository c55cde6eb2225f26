//! The subschemas that apply to one location of a value.

use serde_json::Value;

use super::plan::{Node, NodeId, Plan};

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
