//! Whether a subschema could ever accept a value, by what no repair can change.
//!
//! Most unions have a tag, or alternatives of different types. Knowing which branches are out of the question keeps a
//! union in a union in a union from multiplying.

use serde_json::Value;

use super::plan::{NodeId, Plan, Types};

/// Whether this subschema surely refuses `value`, whatever is repaired in it. `false` says nothing.
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
        // A default for it may stand in another part; then nothing is sure.
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

/// Text can become something else; what is no text stays of its type.
fn is_out_of_type(allowed: Option<Types>, value: &Value) -> bool {
    !value.is_string() && allowed.is_some_and(|types| !types.allows(Types::of(value)))
}

/// Text where other text is asked for: no repair turns one into the other.
fn is_other_text(plan: &Plan, id: NodeId, value: &Value) -> bool {
    value.is_string()
        && plan.nodes.get(id).is_some_and(|node| {
            node.texts
                .as_ref()
                .is_some_and(|texts| !texts.iter().any(|text| text == value))
        })
}
