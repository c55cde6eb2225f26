//! What follows from the plan as a whole: circles, unfolding, defaults that reach one another.

use super::plan::{Node, NodeId, Plan, Types, depth_first};
use super::problem::SchemaProblem;
use serde_json::Value;

/// Subschemas that may apply to one place of the value.
const MOST_UNFOLDED: usize = 10_000;
/// Subschemas nested at one place of the value: each costs stack at every level of the value.
pub(crate) const MOST_NESTED: usize = 64;
/// Values that one default may grow to.
const MOST_FILLED: usize = 10_000;

/// Rejects references that come back without going down into the value, and those that unfold without measure.
/// Returns how many subschemas nest at one place, at the most.
pub(crate) fn reject_circles(
    nodes: &[Node],
    edges: &[Vec<NodeId>],
    problems: &mut Vec<SchemaProblem>,
) -> usize {
    let mut reject = |id: NodeId, message: &str| {
        let pointer = nodes.get(id).map_or("", |node| &node.pointer);
        problems.push(SchemaProblem::new(pointer, message));
    };
    let next = |id: NodeId| edges.get(id).cloned().unwrap_or_default();
    let order = depth_first(nodes.len(), next, |id| {
        reject(id, "comes back to itself without going down into the value");
    });
    // How many subschemas stand at the place of each, and how deep they nest.
    let mut measured = vec![(0_usize, 0_usize); nodes.len()];
    for id in order {
        let children = next(id).into_iter();
        let below: Vec<_> = children
            .filter_map(|child| measured.get(child).copied())
            .collect();
        let size = below
            .iter()
            .fold(1_usize, |sum, (size, _)| sum.saturating_add(*size));
        let height = 1 + below.iter().map(|(_, height)| *height).max().unwrap_or(0);
        // Said once, where the limit is first passed.
        if size > MOST_UNFOLDED && below.iter().all(|(size, _)| *size <= MOST_UNFOLDED) {
            reject(
                id,
                "unfolds to more than 10,000 subschemas for one place of the value",
            );
        }
        if height > MOST_NESTED && below.iter().all(|(_, height)| *height <= MOST_NESTED) {
            reject(
                id,
                "nests more than 64 subschemas at one place of the value",
            );
        }
        if let Some(slot) = measured.get_mut(id) {
            *slot = (size, height);
        }
    }
    measured
        .iter()
        .map(|(_, height)| *height)
        .max()
        .unwrap_or(1)
}

/// Fills in what needs the whole graph: the defaults of properties, what fills, what is entangled.
pub(crate) fn complete(plan: &mut Plan, problems: &mut Vec<SchemaProblem>) {
    give_properties_their_defaults(plan);
    let fills = |node: &Node| {
        node.properties
            .iter()
            .any(|property| property.default.is_some())
    };
    mark(plan, fills, |node| std::mem::replace(&mut node.fills, true));
    let integers = |node: &Node| node.allowed.is_some_and(Types::only_integers);
    mark(plan, integers, |node| {
        std::mem::replace(&mut node.integers, true)
    });
    plan.fills = plan.nodes.first().is_some_and(|root| root.fills);
    plan.entangled = plan.fills && plan.nodes.iter().any(|node| node.fills && is_shared(node));
    for default in plan.nodes.iter().filter_map(|node| node.default.as_ref()) {
        let surveyed = super::raw::survey(default);
        plan.whole_float_defaults |= surveyed.whole_floats;
        plan.default_levels = plan.default_levels.saturating_add(surveyed.depth);
    }
    reject_endless_defaults(plan, problems);
}

fn give_properties_their_defaults(plan: &mut Plan) {
    let defaults: Vec<Vec<Option<Value>>> = plan
        .nodes
        .iter()
        .map(|node| {
            node.properties
                .iter()
                .map(|property| default_of(&plan.nodes, property.node).cloned())
                .collect()
        })
        .collect();
    for (node, defaults) in plan.nodes.iter_mut().zip(defaults) {
        for (property, default) in node.properties.iter_mut().zip(defaults) {
            property.default = default;
        }
    }
}

/// The default that holds at the place of `id`: its own, else that of what it refers to. No circle: they are rejected.
fn default_of(nodes: &[Node], id: NodeId) -> Option<&Value> {
    let node = nodes.get(id)?;
    node.default.as_ref().or_else(|| {
        node.same_place
            .iter()
            .find_map(|same| default_of(nodes, *same))
    })
}

/// Whether the place of `id` surely rejects `null`; `false` where only a validator can tell.
pub(crate) fn rejects_null(nodes: &[Node], id: NodeId) -> bool {
    nodes.get(id).is_some_and(|node| {
        node.never
            || node.allowed.is_some_and(|types| !types.allows(Types::NULL))
            || node
                .same_place
                .iter()
                .any(|same| rejects_null(nodes, *same))
    })
}

/// Whether several subschemas describe the place of this one, so that what one fills is seen by another.
fn is_shared(node: &Node) -> bool {
    let own = !node.properties.is_empty() || node.additional.is_some();
    !node.unions.is_empty()
        || !node.patterns.is_empty()
        || node.same_place.len() + usize::from(own) > 1
}

/// Marks every node from which one that is `marked` by itself can be reached, however the graph turns. `set` says
/// whether the mark was there already.
fn mark(plan: &mut Plan, marked: impl Fn(&Node) -> bool, set: impl Fn(&mut Node) -> bool) {
    let mut reached_from: Vec<Vec<NodeId>> = vec![Vec::new(); plan.nodes.len()];
    let mut left = Vec::new();
    for (id, node) in plan.nodes.iter().enumerate() {
        for target in node.here().chain(node.below()) {
            if let Some(sources) = reached_from.get_mut(target) {
                sources.push(id);
            }
        }
        if marked(node) {
            left.push(id);
        }
    }
    while let Some(id) = left.pop() {
        if plan.nodes.get_mut(id).is_some_and(|node| !set(node)) {
            left.extend(reached_from.get(id).into_iter().flatten());
        }
    }
}

/// Rejects a default into which defaults would be filled for ever, or without measure.
fn reject_endless_defaults(plan: &Plan, problems: &mut Vec<SchemaProblem>) {
    for property in plan.nodes.iter().flat_map(|node| &node.properties) {
        if let Some(default) = &property.default
            && let Some(node) = plan.nodes.get(property.node)
            && !fits(plan, property.node, default, &mut { MOST_FILLED }, 0)
        {
            problems.push(SchemaProblem::new(
                super::pointer::join(&node.pointer, "default"),
                "defaults would be filled into this default for ever: leave one of them out",
            ));
        }
    }
}

/// Whether `value`, with its defaults filled, stays below the limits. Unions are taken with all their branches.
fn fits(plan: &Plan, id: NodeId, value: &Value, left: &mut usize, depth: usize) -> bool {
    let Some(node) = plan.nodes.get(id) else {
        return true;
    };
    if *left == 0 || depth > super::limits::MAX_DEPTH {
        return false;
    }
    *left -= 1;
    if !node.fills {
        return true;
    }
    if !node.here().all(|same| fits(plan, same, value, left, depth)) {
        return false;
    }
    match value {
        Value::Object(map) => {
            node.properties.iter().all(|property| {
                match (map.get(&property.name), &property.default) {
                    (Some(value), _) | (None, Some(value)) => {
                        fits(plan, property.node, value, left, depth + 1)
                    }
                    (None, None) => true,
                }
            }) && map.values().all(|value| {
                node.patterns
                    .iter()
                    .map(|(_, id)| *id)
                    .chain(node.additional)
                    .all(|id| fits(plan, id, value, left, depth + 1))
            })
        }
        Value::Array(items) => items.iter().all(|value| {
            node.prefix
                .iter()
                .copied()
                .chain(node.items)
                .all(|id| fits(plan, id, value, left, depth + 1))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
