//! The properties that must hold for one document and one value.

use serde_json::Value;
use turnwright_schema::{RepairKind, Schema};

use super::narrow::is_narrow;
use super::numbers;
use super::oracle::Oracle;
use super::perturb::Rewritten;

/// One value and, if known, its valid original.
#[derive(Clone)]
pub(super) enum Case {
    Plain(Value),
    Rewritten(Rewritten),
}

impl Case {
    pub(super) fn value(&self) -> &Value {
        match self {
            Self::Plain(value) => value,
            Self::Rewritten(rewritten) => &rewritten.value,
        }
    }

    pub(super) fn must_pass(&self, document: &Value, oracle: &Oracle) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Rewritten(rewritten) => rewritten.must_pass(document, oracle),
        }
    }
}

pub(super) struct Verdict {
    pub(super) accepted: bool,
    pub(super) repairs: Vec<RepairKind>,
}

/// Why a case fails: a fixed sentence, which tells the shrinker that it still follows the same failure, and what was
/// observed.
pub(super) struct Failure {
    pub(super) rule: &'static str,
    pub(super) seen: String,
}

macro_rules! ensure {
    ($holds:expr, $rule:literal, $($seen:tt)+) => {
        if !$holds {
            return Err(Failure { rule: $rule, seen: format!($($seen)+) });
        }
    };
}

pub(super) fn judge(schema: &Schema, oracle: &Oracle, case: &Case) -> Result<Verdict, Failure> {
    let raw = case.value();
    let valid_unchanged = oracle.accepts(raw);
    ensure!(
        schema.accepts(raw) == valid_unchanged,
        "both implementations give the same verdict on the raw value",
        "the other implementation says {valid_unchanged}"
    );
    let checked = match schema.check(raw.clone()) {
        Ok(checked) => checked,
        Err(error) => {
            ensure!(!valid_unchanged, "a valid value is accepted", "{error}");
            let must_pass = case.must_pass(schema.document(), oracle);
            ensure!(
                !must_pass,
                "a value that differs from a valid one only by repairs is accepted",
                "{error}"
            );
            ensure!(
                !error.faults().is_empty(),
                "invalid arguments have faults",
                "{error}"
            );
            return Ok(Verdict {
                accepted: false,
                repairs: Vec::new(),
            });
        }
    };
    let repairs = checked.repairs();
    let value = checked.value();
    ensure!(
        oracle.accepts(value),
        "the other implementation accepts the checked value",
        "{value}, {repairs:?}"
    );

    let mut replayed = raw.clone();
    let mut replayed_by_hand = raw.clone();
    let mut without_defaults = raw.clone();
    for repair in repairs {
        repair.apply(&mut replayed);
        let fitted = put(
            &mut replayed_by_hand,
            &repair.pointer,
            repair.before.as_ref(),
            repair.after.as_ref(),
        );
        ensure!(
            fitted,
            "a repair has the pointer and the previous value",
            "{repair:?} in {repairs:?}"
        );
        ensure!(
            is_narrow(schema.document(), repair),
            "a repair does what its kind says, where it is permitted",
            "{repair:?} in {repairs:?}"
        );
        if repair.kind != RepairKind::Default {
            let _ = put(
                &mut without_defaults,
                &repair.pointer,
                repair.before.as_ref(),
                repair.after.as_ref(),
            );
        }
    }
    ensure!(
        replayed == *value,
        "the repairs applied to the raw value give the checked one",
        "{replayed} is not {value}, {repairs:?}"
    );
    ensure!(
        replayed_by_hand == *value,
        "`pointer`, `before` and `after` of the repairs are complete",
        "{replayed_by_hand} is not {value}, {repairs:?}"
    );
    if valid_unchanged {
        let harmless = repairs
            .iter()
            .all(|repair| matches!(repair.kind, RepairKind::Default | RepairKind::Integer));
        ensure!(
            harmless && numbers::same(&without_defaults, raw),
            "a valid value differs only by defaults",
            "{value}, {repairs:?}"
        );
    }

    match schema.check(value.clone()) {
        Ok(again) => {
            ensure!(
                again.repairs().is_empty() && again.value() == value,
                "checking twice changes nothing",
                "{value}, then {:?}",
                again.repairs()
            );
        }
        Err(error) => ensure!(
            false,
            "a checked value is accepted again",
            "{value}, then {error}"
        ),
    }
    Ok(Verdict {
        accepted: true,
        repairs: repairs.iter().map(|repair| repair.kind).collect(),
    })
}

/// Checks the same arguments as text: verdict, value and repairs must be the same.
pub(super) fn judge_text(schema: &Schema, value: &Value) -> Result<(), Failure> {
    let text = value.to_string();
    let Ok(parsed) = serde_json::from_str::<Value>(&text) else {
        return Ok(());
    };
    let of_text = schema
        .check(text)
        .map(|checked| (checked.value().clone(), format!("{:?}", checked.repairs())));
    let of_value = schema
        .check(parsed)
        .map(|checked| (checked.value().clone(), format!("{:?}", checked.repairs())));
    match (of_text, of_value) {
        (Ok(text), Ok(value)) => ensure!(
            text == value,
            "text and value are checked alike",
            "{text:?} and {value:?}"
        ),
        (Err(_), Err(_)) => {}
        (text, value) => ensure!(
            false,
            "text and value are checked alike",
            "{text:?} and {value:?}"
        ),
    }
    Ok(())
}

/// Sets or removes the value at the pointer. Returns `false` if the previous value is not `before`.
fn put(root: &mut Value, pointer: &str, before: Option<&Value>, after: Option<&Value>) -> bool {
    if root.pointer(pointer) != before {
        return false;
    }
    let Some((parent, token)) = pointer.rsplit_once('/') else {
        *root = after.cloned().unwrap_or(Value::Null);
        return after.is_some();
    };
    let token = token.replace("~1", "/").replace("~0", "~");
    match (root.pointer_mut(parent), after) {
        (Some(Value::Object(object)), Some(after)) => {
            object.insert(token, after.clone());
            true
        }
        (Some(Value::Object(object)), None) => object.shift_remove(&token).is_some(),
        (Some(Value::Array(items)), Some(after)) => {
            let place = token
                .parse()
                .ok()
                .and_then(|index: usize| items.get_mut(index));
            place.map(|place| *place = after.clone()).is_some()
        }
        _ => false,
    }
}
