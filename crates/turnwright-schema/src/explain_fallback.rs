//! Finds the invalid locations when a full explanation would take too long.
//!
//! The validator explains a union by all of its branches, recursively, and writes down the location of every fault,
//! however long. For most arguments that is cheap. Where it is not, the locations are searched one by one instead and
//! reported with shorter texts.

use serde_json::Value;

use super::branch_filter;
use super::explain;
use super::fault::{Fault, InvalidArguments};
use super::location::subschemas_of;
use super::plan::{Node, NodeId, Plan, Types};
use super::pointer::Pointer;
use super::raw::survey;
use super::validators::Validators;

/// The maximum number of faults, weighted by the length of their locations, that the validator is asked to explain.
const MAX_EXPLAINED: usize = 300_000;

/// Returns `true` if the validator can explain the faults of `value` at an acceptable cost.
pub(crate) fn is_explainable(plan: &Plan, value: &Value) -> bool {
    let mut left = MAX_EXPLAINED;
    weigh(plan, 0, value, 0, &mut left).is_some()
}

fn weigh(plan: &Plan, id: NodeId, value: &Value, place: usize, left: &mut usize) -> Option<()> {
    *left = left.checked_sub(1 + place / 64)?;
    let node = plan.nodes.get(id)?;
    for same in node.same_place.iter().chain(&node.only_looks) {
        weigh(plan, *same, value, place, left)?;
    }
    for branch in node.unions.iter().flatten() {
        // The validator keeps a copy of the rejected value for each branch.
        *left = left.checked_sub(survey(value).bytes / 16)?;
        weigh(plan, *branch, value, place, left)?;
    }
    match value {
        Value::Object(map) => {
            // Unexpected properties are reported with their location too.
            for (name, value) in map {
                let below = place + name.len() + 1;
                *left = left.checked_sub(1 + below / 64)?;
                for id in subschemas_of(node, name) {
                    weigh(plan, id, value, below, left)?;
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(id) = node.prefix.get(index).copied().or(node.items) {
                    weigh(plan, id, item, place + 6, left)?;
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Some(())
}

/// Reports the invalid locations, as deep as they can be distinguished.
///
/// The validators must have parts.
pub(crate) fn wrong_places(
    plan: &Plan,
    validators: &Validators,
    value: &Value,
) -> InvalidArguments {
    let mut search = Search {
        plan,
        validators,
        place: Pointer::default(),
        faults: InvalidArguments::default(),
        left: MAX_EXAMINED,
    };
    search.look(0, value);
    search.faults
}

/// The maximum number of parts of the value that are examined.
const MAX_EXAMINED: usize = 10_000;

struct Search<'s> {
    plan: &'s Plan,
    validators: &'s Validators,
    place: Pointer,
    faults: InvalidArguments,
    left: usize,
}

impl Search<'_> {
    /// Searches below a location that this subschema rejects. Reports the location itself if nothing is found.
    fn look(&mut self, id: NodeId, value: &Value) {
        let before = self.faults.faults().len();
        self.look_below(id, value);
        if self.faults.faults().len() > before || self.faults.is_full() || self.explain(id, value) {
            return;
        }
        let message = "does not match the schema; the errors are too many to list: send less data or a simpler structure";
        self.faults
            .push(Fault::new(self.place.as_str(), "schema", message));
    }

    /// Explains this one location in full, if the cost is acceptable.
    fn explain(&mut self, id: NodeId, value: &Value) -> bool {
        let mut left = MAX_EXAMINED;
        let affordable =
            weigh(self.plan, id, value, self.place.as_str().len(), &mut left).is_some();
        let Some(judge) = self.validators.part(id).filter(|_| affordable) else {
            return false;
        };
        // Without the document: the errors of a part have pointers relative to the part, and a property name must not
        // be suggested from elsewhere.
        let found = explain::explain(&Value::Null, judge, value, &[]);
        for fault in found.faults() {
            let pointer = format!("{}{}", self.place.as_str(), fault.pointer);
            self.faults.push(Fault {
                pointer,
                ..fault.clone()
            });
        }
        !found.is_empty()
    }

    fn look_below(&mut self, id: NodeId, value: &Value) {
        let plan = self.plan;
        let Some(node) = plan.nodes.get(id) else {
            return;
        };
        for same in &node.same_place {
            if !self.validators.part_accepts(*same, value) {
                self.look_below(*same, value);
            }
        }
        // For a union, only the branch that is meant is reported, if it is clear which one that is.
        for branches in &node.unions {
            let mut possible = branches.iter().filter(|branch| {
                // A string could become `null`, but then it would not have been rejected.
                let null_alone = plan.nodes.get(**branch).and_then(|node| node.allowed);
                null_alone != Some(Types::NULL) && !branch_filter::cannot_fit(plan, **branch, value)
            });
            if let (Some(branch), None) = (possible.next(), possible.next()) {
                self.look_below(*branch, value);
            }
        }
        self.parts(node, value);
    }

    fn parts(&mut self, node: &Node, value: &Value) {
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    for id in subschemas_of(node, name) {
                        self.part(id, value, |place| place.push_key(name));
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    if let Some(id) = node.prefix.get(index).copied().or(node.items) {
                        self.part(id, item, |place| place.push_index(index));
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn part(&mut self, id: NodeId, value: &Value, step: impl FnOnce(&mut Pointer)) {
        let Some(left) = self.left.checked_sub(1) else {
            return;
        };
        self.left = left;
        if self.faults.is_full() || self.validators.part_accepts(id, value) {
            return;
        }
        let mark = self.place.mark();
        step(&mut self.place);
        self.look(id, value);
        self.place.back_to(mark);
    }
}
