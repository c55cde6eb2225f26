//! Analysis of the plan as a graph: cycles, expansion, defaults that reach one another.

use super::plan::{Node, NodeId, Plan, Types, depth_first};
use super::problem::SchemaProblem;
use serde_json::Value;

/// The maximum number of subschemas that apply to one location of the value.
const MAX_EXPANDED: usize = 10_000;
/// The maximum nesting of subschemas at one location of the value. Each costs stack at every level of the value.
pub(crate) const MAX_NESTED: usize = 64;
/// The maximum number of values that one default may grow to.
const MAX_FILLED: usize = 10_000;

/// Rejects references that return to themselves without descending into the value, and references that expand too
/// far. Returns the deepest nesting of subschemas at one location.
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
        reject(id, "refers to itself without descending into the value");
    });
    // How many subschemas apply at the location of each, and how deep they nest.
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
        // Reported once, where the limit is first exceeded.
        if size > MAX_EXPANDED && below.iter().all(|(size, _)| *size <= MAX_EXPANDED) {
            reject(
                id,
                "expands to more than 10,000 subschemas for one location of the value",
            );
        }
        if height > MAX_NESTED && below.iter().all(|(_, height)| *height <= MAX_NESTED) {
            reject(
                id,
                "nests more than 64 subschemas at one location of the value",
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

/// Computes what needs the complete graph: the defaults of properties, `fills` and `entangled`.
pub(crate) fn complete(plan: &mut Plan, fill_defaults: bool, problems: &mut Vec<SchemaProblem>) {
    if fill_defaults {
        give_properties_their_defaults(plan);
    }
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
    let filled = plan.nodes.iter().filter(|_| fill_defaults);
    for default in filled.filter_map(|node| node.default.as_ref()) {
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

/// Returns the default at the location of `id`: its own, otherwise that of the schema it refers to. Terminates
/// because cycles are rejected.
fn default_of(nodes: &[Node], id: NodeId) -> Option<&Value> {
    let node = nodes.get(id)?;
    node.default.as_ref().or_else(|| {
        node.same_place
            .iter()
            .find_map(|same| default_of(nodes, *same))
    })
}

/// Returns `true` if the location of `id` certainly rejects `null`; `false` where only a validator can tell.
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

/// Returns `true` if several subschemas describe the location of this one, so that a default filled by one is seen by
/// another.
fn is_shared(node: &Node) -> bool {
    let own = !node.properties.is_empty() || node.additional.is_some();
    !node.unions.is_empty()
        || !node.patterns.is_empty()
        || node.same_place.len() + usize::from(own) > 1
}

/// Marks every node from which a node that satisfies `marked` can be reached, including through cycles. `set` returns
/// whether the mark was already set.
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

/// Rejects a default into which defaults would be filled without end or beyond the limit.
fn reject_endless_defaults(plan: &Plan, problems: &mut Vec<SchemaProblem>) {
    for property in plan.nodes.iter().flat_map(|node| &node.properties) {
        if let Some(default) = &property.default
            && let Some(node) = plan.nodes.get(property.node)
            && !fits(plan, property.node, default, &mut { MAX_FILLED }, 0)
        {
            problems.push(SchemaProblem::new(
                super::pointer::join(&node.pointer, "default"),
                "filling defaults into this default would never end: remove one of them",
            ));
        }
    }
}

/// Returns `true` if `value` with its defaults filled stays within the limits. All branches of unions are considered.
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
