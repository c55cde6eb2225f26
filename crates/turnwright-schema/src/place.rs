//! The subschemas that hold for one place of a value.

use serde_json::Value;

use super::plan::{Node, NodeId, Plan};

/// The subschemas under which one place is visited: a branch of a union stands inside those around it.
pub(crate) struct Here<'h> {
    pub(crate) id: NodeId,
    pub(crate) outer: Option<&'h Here<'h>>,
}

impl Here<'_> {
    /// All subschemas that hold here, the outermost first, with what they refer to.
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

    /// How many of [`Here::nodes`] are not this one's own.
    pub(crate) fn outer_count(&self, plan: &Plan) -> usize {
        self.outer.map_or(0, |outer| outer.nodes(plan).len())
    }
}

/// The subschemas that look at the property of that name.
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
