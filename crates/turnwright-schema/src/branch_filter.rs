//! Quick rejection of union branches that cannot accept a value whatever is repaired.
//!
//! Most unions have a tag, or alternatives of different types. Skipping the branches that cannot match keeps nested
//! unions from multiplying.

use serde_json::Value;

use super::plan::{NodeId, Plan, Types};

/// Returns `true` if this subschema rejects `value` whatever is repaired in it. `false` means that it may or may not.
pub(crate) fn cannot_fit(plan: &Plan, id: NodeId, value: &Value) -> bool {
    let Some(node) = plan.nodes.get(id) else {
        return false;
    };
    if node.never || is_out_of_type(node.allowed, value) || is_other_text(plan, id, value) {
        return true;
    }
    if let Value::Object(map) = value {
        let missing = |name: &String| {
            !map.contains_key(name)
                && node
                    .property(name)
                    .is_none_or(|property| property.default.is_none())
        };
        // Another subschema for the same location may have a default for the property; then nothing is certain.
        let alone = node.same_place.is_empty() && node.unions.is_empty();
        if alone && node.required.iter().any(missing) {
            return true;
        }
        let wrong_tag = node.properties.iter().any(|property| {
            map.get(&property.name)
                .is_some_and(|value| is_other_text(plan, property.node, value))
        });
        if wrong_tag {
            return true;
        }
    }
    node.same_place
        .iter()
        .any(|same| cannot_fit(plan, *same, value))
}

/// Only strings are repaired to another type; every other value keeps its type.
fn is_out_of_type(allowed: Option<Types>, value: &Value) -> bool {
    !value.is_string() && allowed.is_some_and(|types| !types.allows(Types::of(value)))
}

/// Returns `true` if a different string is required. No repair turns one string into another.
fn is_other_text(plan: &Plan, id: NodeId, value: &Value) -> bool {
    value.is_string()
        && plan.nodes.get(id).is_some_and(|node| {
            node.texts
                .as_ref()
                .is_some_and(|texts| !texts.iter().any(|text| text == value))
        })
}
