//! The fast path: detects valid values that do not need the coercing pass. Most do not.

use serde_json::Value;

use super::number::as_integer;
use super::plan::{NodeId, Plan, Types};

/// Returns `true` if there is certainly no default to fill and no whole number to write as an integer. Examines only
/// the parts where something could change.
pub(crate) fn is_settled(plan: &Plan, id: NodeId, value: &Value, whole_floats: bool) -> bool {
    let Some(node) = plan.nodes.get(id) else {
        return true;
    };
    let of_interest = |id: &NodeId| {
        plan.nodes
            .get(*id)
            .is_some_and(|node| node.fills || whole_floats && node.integers)
    };
    if !of_interest(&id) {
        return true;
    }
    // Which branch is meant is decided by the pass.
    if node.unions.iter().flatten().any(of_interest) {
        return false;
    }
    let settled = |id: NodeId, value: &Value| is_settled(plan, id, value, whole_floats);
    if !node.same_place.iter().all(|same| settled(*same, value)) {
        return false;
    }
    match value {
        Value::Object(map) => {
            let by_name = node.properties.iter().all(|property| {
                if property.default.is_none() && !of_interest(&property.node) {
                    return true;
                }
                match map.get(&property.name) {
                    Some(value) => settled(property.node, value),
                    None => property.default.is_none(),
                }
            });
            let others = node
                .patterns
                .iter()
                .map(|(_, id)| id)
                .chain(&node.additional);
            by_name && !others.into_iter().any(of_interest)
        }
        Value::Array(items) => items.iter().enumerate().all(|(index, item)| {
            node.prefix
                .get(index)
                .copied()
                .or(node.items)
                .is_none_or(|id| settled(id, item))
        }),
        Value::Number(number) => {
            !node.allowed.is_some_and(Types::only_integers) || as_integer(number).is_none()
        }
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}
