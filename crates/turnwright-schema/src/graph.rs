//! Analysis of the plan as a graph: cycles, expansion, defaults that reach one another, nested unions, and keywords without
//! effect.

use referencing::Draft;
use serde_json::Value;

use super::keywords;
use super::plan::{Node, NodeId, Plan, Types, depth_first};
use super::pointer::join;
use super::problem::SchemaProblem;

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
                join(&node.pointer, "default"),
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

/// The maximum number of ways to reach one location of the value. The validator tries all of them if the value is
/// invalid there.
const MAX_WAYS: u64 = 100_000;

/// Rejects documents in which nested alternatives would make checking a small value practically endless. Recursive
/// references are not counted: the validator remembers what it has tried there.
pub(crate) fn reject_combinations(
    nodes: &[Node],
    edges: &[Vec<NodeId>],
    problems: &mut Vec<SchemaProblem>,
) {
    let here = |id: NodeId| edges.get(id).into_iter().flatten().copied();
    let below = |id: NodeId| nodes.get(id).into_iter().flat_map(Node::below);
    let next = |id: NodeId| {
        let mut next: Vec<NodeId> = here(id).chain(below(id)).collect();
        next.reverse();
        next
    };
    let mut known = vec![1_u64; nodes.len()];
    for id in depth_first(nodes.len(), next, |_| {}) {
        let ways = |id: NodeId| known.get(id).copied().unwrap_or(1);
        // Subschemas for the same location add up. Parts of a value are independent, so the one with the most ways
        // counts.
        let all = here(id).fold(0_u64, |sum, next| sum.saturating_add(ways(next)));
        let all = all.saturating_add(below(id).map(ways).max().unwrap_or(0));
        if let (true, Some(node)) = (all > MAX_WAYS, nodes.get(id)) {
            let message = "nested unions give more than 100,000 ways to check one value: use fewer \
                           alternatives or fewer levels";
            problems.push(SchemaProblem::new(&node.pointer, message));
            return;
        }
        if let Some(slot) = known.get_mut(id) {
            *slot = all.max(1);
        }
    }
}

/// Rejects every keyword that applies only to types that its location cannot have.
pub(crate) fn reject_idle(
    document: &Value,
    draft: Draft,
    nodes: &[Node],
    problems: &mut Vec<SchemaProblem>,
) {
    for (id, node) in nodes.iter().enumerate() {
        let Some(map) = document.pointer(&node.pointer).and_then(Value::as_object) else {
            continue;
        };
        for name in map.keys() {
            let types = keywords::keyword(draft, name).map_or(&[][..], |keyword| keyword.types);
            let applicable = types
                .iter()
                .filter_map(|name| Types::named(name))
                .fold(Types::default(), Types::or);
            if !types.is_empty()
                && allowed_at(nodes, id).is_some_and(|allowed| !allowed.allows(applicable))
            {
                let message = format!(
                    "has no effect here: it applies only to values of type {}",
                    types.join(" or ")
                );
                problems.push(SchemaProblem::new(join(&node.pointer, name), message));
            }
        }
    }
}

/// Returns the types that the location of `id` can have, considering everything that applies to it; `None` for any
/// type. Terminates because circular references are rejected.
fn allowed_at(nodes: &[Node], id: NodeId) -> Option<Types> {
    let node = nodes.get(id)?;
    let same_place = node.same_place.iter().map(|same| allowed_at(nodes, *same));
    let unions = node.unions.iter().map(|branches| {
        branches.iter().try_fold(Types::default(), |all, branch| {
            Some(all.or(allowed_at(nodes, *branch)?))
        })
    });
    same_place
        .chain(unions)
        .fold(node.allowed, |allowed, more| match (allowed, more) {
            (Some(allowed), Some(more)) => Some(allowed.and(more)),
            (one, other) => one.or(other),
        })
}
