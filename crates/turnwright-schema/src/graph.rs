//! What follows from the plan as a whole: circles, unfolding, defaults that reach one another.

use super::plan::{Node, NodeId, Plan, Types};
use super::problem::SchemaProblem;
use serde_json::Value;

/// Subschemas that may apply to one place of the value.
const MOST_UNFOLDED: usize = 10_000;
/// Subschemas nested at one place of the value: each costs stack at every level of the value.
pub(crate) const MOST_NESTED: usize = 64;
/// Values that one default may grow to.
const MOST_FILLED: usize = 10_000;

/// Refuses references that come back without going down into the value, and those that unfold without measure.
/// Gives how many subschemas nest at one place, at the most.
pub(crate) fn refuse_circles(
    nodes: &[Node],
    edges: &[Vec<NodeId>],
    problems: &mut Vec<SchemaProblem>,
) -> usize {
    let mut unfolding = Unfolding {
        nodes,
        edges,
        known: vec![State::New; nodes.len()],
        problems,
    };
    for id in 0..nodes.len() {
        unfolding.measure(id);
    }
    unfolding
        .known
        .iter()
        .map(|state| state.height())
        .max()
        .unwrap_or(1)
}

#[derive(Clone, Copy)]
enum State {
    New,
    Open,
    Done { size: usize, height: usize },
}

struct Unfolding<'a> {
    nodes: &'a [Node],
    edges: &'a [Vec<NodeId>],
    known: Vec<State>,
    problems: &'a mut Vec<SchemaProblem>,
}

impl Unfolding<'_> {
    /// How many subschemas stand at the place of `start`, and how deep they nest. With a stack of its own: the chain
    /// of references may be as long as the document.
    fn measure(&mut self, start: NodeId) {
        let mut stack = vec![(start, 0_usize)];
        while let Some((id, next)) = stack.pop() {
            if next == 0 {
                match self.known.get(id) {
                    Some(State::New) => self.set(id, State::Open),
                    _ => continue,
                }
            }
            let children = self.edges.get(id).map(Vec::as_slice).unwrap_or_default();
            match children.get(next) {
                Some(child) => {
                    stack.push((id, next + 1));
                    match self.known.get(*child) {
                        Some(State::Open) => self
                            .refuse(id, "comes back to itself without going down into the value"),
                        Some(State::New) => stack.push((*child, 0)),
                        Some(State::Done { .. }) | None => {}
                    }
                }
                None => self.close(id),
            }
        }
    }

    fn close(&mut self, id: NodeId) {
        let children = self.edges.get(id).map(Vec::as_slice).unwrap_or_default();
        let (mut size, mut height) = (1_usize, 0);
        for child in children {
            if let Some(State::Done {
                size: below,
                height: under,
            }) = self.known.get(*child)
            {
                size = size.saturating_add(*below);
                height = height.max(*under);
            }
        }
        let height = height + 1;
        self.set(id, State::Done { size, height });
        // Said once, where the limit is first passed.
        let passed = |limit, value: usize, of: fn(State) -> usize| {
            value > limit
                && children.iter().all(|child| {
                    self.known
                        .get(*child)
                        .is_none_or(|state| of(*state) <= limit)
                })
        };
        let unfolds = passed(MOST_UNFOLDED, size, State::size);
        let nests = passed(MOST_NESTED, height, State::height);
        if unfolds {
            self.refuse(
                id,
                "unfolds to more than 10,000 subschemas for one place of the value",
            );
        }
        if nests {
            self.refuse(
                id,
                "nests more than 64 subschemas at one place of the value",
            );
        }
    }

    fn set(&mut self, id: NodeId, state: State) {
        if let Some(slot) = self.known.get_mut(id) {
            *slot = state;
        }
    }

    fn refuse(&mut self, id: NodeId, message: &str) {
        let pointer = self
            .nodes
            .get(id)
            .map(|node| node.pointer.clone())
            .unwrap_or_default();
        self.problems.push(SchemaProblem::new(pointer, message));
    }
}

impl State {
    fn size(self) -> usize {
        if let State::Done { size, .. } = self {
            size
        } else {
            0
        }
    }

    fn height(self) -> usize {
        if let State::Done { height, .. } = self {
            height
        } else {
            0
        }
    }
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
    refuse_endless_defaults(plan, problems);
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

/// The default that holds at the place of `id`: its own, else that of what it refers to. No circle: they are refused.
fn default_of(nodes: &[Node], id: NodeId) -> Option<&Value> {
    let node = nodes.get(id)?;
    node.default.as_ref().or_else(|| {
        node.same_place
            .iter()
            .find_map(|same| default_of(nodes, *same))
    })
}

/// Whether the place of `id` surely refuses `null`; `None` where only a validator can tell.
pub(crate) fn refuses_null(nodes: &[Node], id: NodeId) -> Option<bool> {
    let node = nodes.get(id)?;
    if node.never || node.allowed.is_some_and(|types| !types.allows(Types::NULL)) {
        return Some(true);
    }
    if node
        .same_place
        .iter()
        .any(|same| refuses_null(nodes, *same) == Some(true))
    {
        return Some(true);
    }
    None
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

/// Refuses a default into which defaults would be filled for ever, or without measure.
fn refuse_endless_defaults(plan: &Plan, problems: &mut Vec<SchemaProblem>) {
    for node in &plan.nodes {
        for property in &node.properties {
            if let Some(default) = &property.default
                && plan.nodes.get(property.node).is_some_and(|node| node.fills)
            {
                let mut left = MOST_FILLED;
                if !fits(plan, property.node, default, &mut left, 0) {
                    let pointer = plan
                        .nodes
                        .get(property.node)
                        .map(|node| node.pointer.clone())
                        .unwrap_or_default();
                    problems.push(SchemaProblem::new(
                        super::pointer::join(&pointer, "default"),
                        "defaults would be filled into this default for ever: leave one of them out",
                    ));
                }
            }
        }
    }
}

/// Whether `value`, with its defaults filled, stays below the limits. Unions are taken with all their branches.
fn fits(plan: &Plan, id: NodeId, value: &Value, left: &mut usize, depth: usize) -> bool {
    let Some(node) = plan.nodes.get(id) else {
        return true;
    };
    let Some(less) = left.checked_sub(1) else {
        return false;
    };
    *left = less;
    if depth > super::limits::MAX_DEPTH {
        return false;
    }
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
