//! The pass that runs before the validators: narrow repairs and defaults, guided by the document, each one recorded.
//!
//! Two interpretations are debatable. A `null` in a map counts as absent. `7.0` becomes `7` where an integer is
//! expected, because the Rust type would reject it.

use indexmap::IndexSet;
use serde_json::{Map, Value};

use super::branch_filter;
use super::decode::{self, DecodeError};
use super::limits::Limits;
use super::numeric::{as_integer, read_number};
use super::plan::{Node, NodeId, Plan, Scope, Types, subschemas_of};
use super::pointer::Pointer;
use super::raw::survey;
use super::repair::{Repair, RepairKind};
use super::validators::Validators;

/// What the pass is allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Repair values. Never applied where a subschema accepts the value as received.
    pub(crate) change: bool,
    /// Fill in defaults.
    pub(crate) fill: bool,
}

impl Allowed {
    pub(crate) const CHANGE_AND_FILL: Allowed = Allowed::new(true, true);
    pub(crate) const CHANGE: Allowed = Allowed::new(true, false);
    pub(crate) const FILL: Allowed = Allowed::new(false, true);
    /// Changes nothing, except that whole numbers are still written as integers: that changes the notation, not the
    /// number.
    pub(crate) const NOTHING: Allowed = Allowed::new(false, false);

    const fn new(change: bool, fill: bool) -> Self {
        Allowed { change, fill }
    }
}

/// The repairs of a pass, and why it stopped early, if it did.
pub(crate) struct Coerced {
    pub(crate) repairs: Vec<Repair>,
    pub(crate) stop: Option<Stop>,
}

/// Why the pass stopped early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Decoding JSON inside a string exceeded the maximum depth.
    TooDeep { pointer: String },
    /// JSON inside a string has a repeated key.
    RepeatedKeys { pointers: Vec<String>, more: usize },
    /// The defaults made the value larger than the limit.
    TooLarge,
    /// The defaults exceeded the maximum depth: they never end.
    EndlessDefaults,
    /// Checking this value would take too long, because of nested unions or defaults that trigger one another.
    TooMuchWork,
}

/// The maximum number of rounds. A value that still changes after that is validated as it is. Each round that changes
/// something fills at least one default, so few values need more than three.
const MAX_ROUNDS: usize = 1_000;
/// The maximum number of subschemas that one check visits: several for each value that fits into 1 MiB. Nested unions
/// multiply.
const MAX_VISITS: usize = 2_000_000;
/// Bytes of JSON pointers that repairs may record, per byte of the size limit.
const PLACES_PER_BYTE: usize = 16;
/// The cost of trying a branch, in visits: a copy, and its validation.
const BRANCH_VISITS: usize = 50;

/// Runs the pass over `value`.
pub(crate) fn coerce(
    plan: &Plan,
    validators: &Validators,
    limits: Limits,
    value: &mut Value,
    whole_floats: bool,
    allowed: Allowed,
) -> Coerced {
    let mut repairs = Vec::new();
    let mut visits_left = MAX_VISITS;
    // A default that one subschema fills may trigger another one that was already visited. Then run another round.
    let rounds = if plan.entangled { MAX_ROUNDS } else { 1 };
    for _ in 0..rounds {
        let mut pass = Pass {
            plan,
            validators,
            limits,
            place: Pointer::default(),
            depth: 0,
            repairs: Vec::new(),
            visits_left,
            bytes_left: limits.bytes(),
            whole_floats: whole_floats || plan.whole_float_defaults,
            places_left: limits.bytes().saturating_mul(PLACES_PER_BYTE),
        };
        let stop = pass.visit(0, value, allowed, None).err();
        visits_left = pass.visits_left;
        let settled = pass.repairs.is_empty() || comes_to_nothing(&pass.repairs, value);
        if !settled || stop.is_some() {
            repairs.append(&mut pass.repairs);
        }
        if settled || stop.is_some() {
            return Coerced { repairs, stop };
        }
    }
    Coerced {
        repairs,
        stop: plan.entangled.then_some(Stop::TooMuchWork),
    }
}

/// Returns `true` if the repairs of this round cancel out. A default of `null` may be filled by one subschema and
/// counted as absent by another.
fn comes_to_nothing(repairs: &[Repair], value: &Value) -> bool {
    let drops_null = |repair: &Repair| repair.kind == RepairKind::NullAsAbsent;
    if !repairs.iter().any(drops_null) {
        return false;
    }
    let mut before = value.clone();
    for repair in repairs.iter().rev() {
        repair.clone().undo(&mut before);
    }
    before == *value
}

struct Pass<'p> {
    plan: &'p Plan,
    validators: &'p Validators,
    limits: Limits,
    place: Pointer,
    /// Objects and arrays that enclose the current value.
    depth: usize,
    repairs: Vec<Repair>,
    visits_left: usize,
    /// Bytes of defaults that may still be filled.
    bytes_left: usize,
    /// Some whole number is written with a fraction or exponent.
    whole_floats: bool,
    /// Bytes of JSON pointers that may still be recorded. A pointer can be as long as the arguments.
    places_left: usize,
}

impl<'p> Pass<'p> {
    fn node(&self, id: NodeId) -> Option<&'p Node> {
        self.plan.nodes.get(id)
    }

    /// Visits one location of the value under one subschema. `outer` holds the subschemas under which the location is
    /// already being visited.
    fn visit(
        &mut self,
        id: NodeId,
        value: &mut Value,
        allowed: Allowed,
        outer: Option<&Scope<'_>>,
    ) -> Result<(), Stop> {
        let work = self.node(id).is_some_and(|node| {
            allowed.change || allowed.fill && node.fills || self.whole_floats && node.integers
        });
        if !work {
            return Ok(());
        }
        let scope = Scope { id, outer };
        self.shape(id, value, allowed)?;
        if allowed.change {
            self.drop_nulls(&scope, value)?;
        }
        self.descend(id, value, allowed, &scope)
    }

    /// Converts the value to the type that is required by this subschema and all others for the same location.
    fn shape(&mut self, id: NodeId, value: &mut Value, allowed: Allowed) -> Result<(), Stop> {
        let Some(node) = self.node(id) else {
            return Ok(());
        };
        if let Some(types) = node.allowed {
            match value {
                Value::String(text) if allowed.change && !types.allows(Types::STRING) => {
                    if let Some((after, kind)) = self.read_text(text, types)? {
                        self.replace(value, kind, after)?;
                    }
                }
                Value::Number(number) if types.only_integers() => {
                    if let Some(integer) = as_integer(number) {
                        self.replace(value, RepairKind::Integer, integer.into())?;
                    }
                }
                _ => {}
            }
        }
        for same in &node.same_place {
            self.shape(*same, value, allowed)?;
        }
        Ok(())
    }

    /// Reads a string where no string is allowed, as the first type that fits.
    fn read_text(&mut self, text: &str, types: Types) -> Result<Option<(Value, RepairKind)>, Stop> {
        let trimmed = text.trim();
        if types.allows(Types::NUMBER)
            && let Some(number) = read_number(trimmed)
            && types.allows(Types::of(&Value::Number(number.clone())))
        {
            return Ok(Some((Value::Number(number), RepairKind::Number)));
        }
        if types.allows(Types::BOOLEAN) {
            for (word, meant) in [("true", true), ("false", false)] {
                if trimmed.eq_ignore_ascii_case(word) {
                    return Ok(Some((Value::Bool(meant), RepairKind::Boolean)));
                }
            }
        }
        let opens = |c: char| trimmed.starts_with(c);
        if (types.allows(Types::OBJECT) && opens('{')) || (types.allows(Types::ARRAY) && opens('['))
        {
            return self.read_json(trimmed);
        }
        Ok(None)
    }

    fn read_json(&mut self, text: &str) -> Result<Option<(Value, RepairKind)>, Stop> {
        let levels = self.limits.depth().saturating_sub(self.depth);
        match decode::decode(text, levels) {
            Ok(decoded) if decoded.repeats_keys => {
                let base = self.place.as_str();
                let (inner, more) = decode::repeated_keys(text, levels);
                let pointers = inner.iter().map(|inner| format!("{base}{inner}")).collect();
                Err(Stop::RepeatedKeys { pointers, more })
            }
            Ok(decoded) => {
                self.whole_floats |= decoded.whole_floats;
                Ok(Some((decoded.value, RepairKind::Json)))
            }
            Err(DecodeError::TooDeep) => Err(Stop::TooDeep {
                pointer: self.place.as_str().to_owned(),
            }),
            Err(DecodeError::NotJson(_) | DecodeError::Reserved) => Ok(None),
        }
    }

    /// Descends into the value, under this subschema and all others for the same location.
    fn descend(
        &mut self,
        id: NodeId,
        value: &mut Value,
        allowed: Allowed,
        scope: &Scope<'_>,
    ) -> Result<(), Stop> {
        self.visits_left = self.visits_left.checked_sub(1).ok_or(Stop::TooMuchWork)?;
        let Some(node) = self.node(id) else {
            return Ok(());
        };
        for same in &node.same_place {
            self.descend(*same, value, allowed, scope)?;
        }
        match value {
            Value::Object(map) => self.object(node, map, allowed)?,
            Value::Array(items) => self.array(node, items, allowed)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        for branches in &node.unions {
            self.union(branches, value, allowed, scope)?;
        }
        Ok(())
    }

    fn object(
        &mut self,
        node: &'p Node,
        map: &mut Map<String, Value>,
        allowed: Allowed,
    ) -> Result<(), Stop> {
        let named =
            !node.properties.is_empty() || !node.patterns.is_empty() || node.additional.is_some();
        self.depth += 1;
        if named {
            for (name, value) in map.iter_mut() {
                let mut subschemas = subschemas_of(node, name);
                self.below(
                    |place| place.push_key(name),
                    |pass| subschemas.try_for_each(|id| pass.visit(id, value, allowed, None)),
                )?;
            }
        }
        if allowed.fill && node.fills {
            self.fill(node, map)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Runs `work` on a part of the current value.
    fn below(
        &mut self,
        step: impl FnOnce(&mut Pointer),
        work: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mark = self.place.mark();
        step(&mut self.place);
        work(self)?;
        self.place.back_to(mark);
        Ok(())
    }

    /// Removes a `null` for a property that is neither required nor nullable. All subschemas for this location are
    /// consulted, because one may declare the property and another require it.
    fn drop_nulls(&mut self, scope: &Scope<'_>, value: &mut Value) -> Result<(), Stop> {
        let Value::Object(map) = value else {
            return Ok(());
        };
        if !map.values().any(Value::is_null) {
            return Ok(());
        }
        let plan = self.plan;
        let all = scope.nodes(plan);
        let named_by = all.get(scope.outer_count(plan)..).unwrap_or_default();
        let goes = |name: &str| {
            let not_null = |node: &Node| !node.nullable && !node.never;
            let mut named = named_by.iter().flat_map(|node| subschemas_of(node, name));
            !all.iter().any(|node| node.requires(name))
                && named.any(|id| plan.nodes.get(id).is_some_and(not_null))
        };
        let nulls = map
            .iter()
            .filter(|(name, value)| value.is_null() && goes(name));
        let dropped: IndexSet<String> = nulls.map(|(name, _)| name.clone()).collect();
        for name in &dropped {
            self.below(
                |place| place.push_key(name),
                |pass| pass.note(RepairKind::NullAsAbsent, Some(Value::Null), None),
            )?;
        }
        map.retain(|name, value| !value.is_null() || !dropped.contains(name));
        Ok(())
    }

    fn fill(&mut self, node: &'p Node, map: &mut Map<String, Value>) -> Result<(), Stop> {
        for property in &node.properties {
            let Some(default) = &property.default else {
                continue;
            };
            if map.contains_key(&property.name) {
                continue;
            }
            let surveyed = survey(default);
            if self.depth + surveyed.depth > self.limits.depth() {
                return Err(Stop::EndlessDefaults);
            }
            self.bytes_left = self
                .bytes_left
                .checked_sub(surveyed.bytes + property.name.len())
                .ok_or(Stop::TooLarge)?;
            let mut value = default.clone();
            self.below(
                |place| place.push_key(&property.name),
                |pass| {
                    pass.note(RepairKind::Default, None, Some(default.clone()))?;
                    pass.visit(property.node, &mut value, Allowed::FILL, None)
                },
            )?;
            map.insert(property.name.clone(), value);
        }
        Ok(())
    }

    fn array(&mut self, node: &'p Node, items: &mut [Value], allowed: Allowed) -> Result<(), Stop> {
        if node.prefix.is_empty() && node.items.is_none() {
            return Ok(());
        }
        self.depth += 1;
        for (index, item) in items.iter_mut().enumerate() {
            let Some(id) = node.item(index) else {
                break;
            };
            self.below(
                |place| place.push_index(index),
                |pass| pass.visit(id, item, allowed, None),
            )?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Picks the first branch that accepts the value as received, otherwise the first that accepts a repaired copy.
    fn union(
        &mut self,
        branches: &'p [NodeId],
        value: &mut Value,
        allowed: Allowed,
        scope: &Scope<'_>,
    ) -> Result<(), Stop> {
        if let Some(branch) = branches
            .iter()
            .find(|branch| self.validators.part_accepts(**branch, value))
        {
            let unchanged = Allowed::new(false, allowed.fill);
            return self.visit(*branch, value, unchanged, Some(scope));
        }
        if !allowed.change {
            return Ok(());
        }
        for branch in branches {
            if branch_filter::cannot_fit(self.plan, *branch, value) {
                continue;
            }
            let left = self.visits_left.checked_sub(BRANCH_VISITS);
            self.visits_left = left.ok_or(Stop::TooMuchWork)?;
            let mut copy = value.clone();
            let (repairs, bytes_left) = (self.repairs.len(), self.bytes_left);
            let (mark, depth) = (self.place.mark(), self.depth);
            match self.visit(*branch, &mut copy, allowed, Some(scope)) {
                Ok(()) if self.validators.part_accepts(*branch, &copy) => {
                    *value = copy;
                    return Ok(());
                }
                Err(Stop::TooMuchWork) => return Err(Stop::TooMuchWork),
                // Another branch may still succeed.
                Ok(()) | Err(_) => {
                    self.repairs.truncate(repairs);
                    self.bytes_left = bytes_left;
                    self.place.back_to(mark);
                    self.depth = depth;
                }
            }
        }
        Ok(())
    }

    fn replace(&mut self, slot: &mut Value, kind: RepairKind, after: Value) -> Result<(), Stop> {
        let before = std::mem::replace(slot, after.clone());
        self.note(kind, Some(before), Some(after))
    }

    /// Records a repair at this location.
    fn note(
        &mut self,
        kind: RepairKind,
        before: Option<Value>,
        after: Option<Value>,
    ) -> Result<(), Stop> {
        let pointer = self.place.as_str().to_owned();
        let left = self.places_left.checked_sub(pointer.len());
        self.repairs.push(Repair {
            pointer,
            kind,
            before,
            after,
        });
        self.places_left = left.ok_or(Stop::TooMuchWork)?;
        Ok(())
    }
}
