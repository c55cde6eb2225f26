//! Values broken in one place, by one keyword.

mod array;
mod object;
mod scalar;

use serde_json::{Value, json};

use super::generate::Generator;
use super::judge::Judge;
use super::place;
use super::tour::{Stop, still_speaks};
use super::verdict::Verdict;

/// A whole value that one change made wrong.
#[derive(Debug, Clone)]
pub(crate) struct Broken {
    pub(crate) value: Value,
    /// Where a fault must stand: one of these pointers.
    pub(crate) expected: Vec<String>,
}

/// What may stand at a place instead, and where the fault is then told.
#[derive(Debug)]
pub(super) struct Change {
    part: Value,
    faults: Vec<String>,
}

impl Change {
    /// The fault stands at the place itself.
    fn here(part: Value, at: &str) -> Self {
        Self {
            part,
            faults: vec![at.to_owned()],
        }
    }

    /// The fault stands at a property or item of the place, or at the place.
    fn at_child(part: Value, at: &str, child: &str) -> Self {
        Self {
            part,
            faults: vec![place::join(at, child), at.to_owned()],
        }
    }
}

/// Why a stop gave no broken value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unbroken {
    /// The keyword only applies others; they are broken in their own right.
    Applies,
    /// No value was found that the keyword refuses.
    NothingRefused,
    /// What was found is accepted, or may be, because of a union's other branch, a default or a coercion.
    Rescued,
}

/// Breaks an accepted value by the keyword of a stop.
pub(crate) fn broken<'d>(
    generator: &mut Generator<'_, 'd>,
    whole: &Value,
    stop: &Stop<'d>,
) -> Result<Broken, Unbroken> {
    let Some(part) = whole.pointer(&stop.at) else {
        return Err(Unbroken::NothingRefused);
    };
    let Some(mut changes) = changes(generator, stop, part) else {
        return Err(Unbroken::Applies);
    };
    generator.rng.shuffle(&mut changes);
    let judge = Judge::strict(generator.doc);
    let mut failure = Unbroken::NothingRefused;
    for change in changes {
        if judge.keyword_alone(stop.schema, stop.keyword, &change.part) != Verdict::Invalid {
            continue;
        }
        let Some(value) = place::replaced(whole, &stop.at, change.part) else {
            continue;
        };
        if !still_speaks(generator.doc, &value, stop) {
            continue;
        }
        let refuses = |schema, keyword, at: &str| {
            Judge::refuses_beyond_repair(generator.doc, schema, keyword, &value, at)
        };
        // Each union on the way must refuse as well: that the value is refused for another reason is not enough.
        let stays_broken = refuses(stop.schema, stop.keyword, &stop.at)
            && stop
                .unions
                .iter()
                .filter(|union| matches!(union.keyword, "anyOf" | "oneOf"))
                .all(|union| refuses(union.schema, union.keyword, &union.at))
            && Judge::beyond_repair(generator.doc, &value);
        if !stays_broken {
            failure = Unbroken::Rescued;
            continue;
        }
        let mut expected = change.faults;
        expected.extend(stop.unions.iter().map(|union| union.at.clone()));
        return Ok(Broken { value, expected });
    }
    Err(failure)
}

fn changes<'d>(
    generator: &mut Generator<'_, 'd>,
    stop: &Stop<'d>,
    part: &Value,
) -> Option<Vec<Change>> {
    let at = stop.at.as_str();
    let rule = stop.schema.get(stop.keyword)?;
    let here = |parts: Vec<Value>| {
        parts
            .into_iter()
            .map(|part| Change::here(part, at))
            .collect()
    };
    if matches!(
        stop.keyword,
        "$ref" | "allOf" | "if" | "then" | "else" | "dependentSchemas"
    ) {
        return None;
    }
    Some(match (stop.keyword, part) {
        ("type", _) => here(one_of_each()),
        ("enum" | "const", _) => here(scalar::unlisted(rule, part)),
        ("not", _) => here((0..6).filter_map(|_| generator.part(&[rule])).collect()),
        ("anyOf", _) => here(one_of_each()),
        ("oneOf", _) => {
            let mut parts = one_of_each();
            parts.extend(in_two_branches(generator, rule));
            here(parts)
        }
        (_, Value::Number(number)) => here(scalar::numbers(stop.keyword, rule, number)),
        (_, Value::String(text)) => here(scalar::strings(generator, stop.keyword, rule, text)),
        (_, Value::Array(items)) => array::changes(generator, stop, rule, items)?,
        (_, Value::Object(object)) => object::changes(generator, stop, rule, object)?,
        _ => return None,
    })
}

/// A value of every type. The text is one that no coercion reads as anything else.
pub(super) fn one_of_each() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(12_345),
        json!(1.5),
        json!("¿nothing of the kind?"),
        json!([]),
        json!(["¿"]),
        json!({}),
        json!({ "¿": "?" }),
    ]
}

/// Values that two branches of a `oneOf` take, which is one too many.
fn in_two_branches<'d>(generator: &mut Generator<'_, 'd>, rule: &'d Value) -> Vec<Value> {
    let Value::Array(branches) = rule else {
        return Vec::new();
    };
    let mut order: Vec<&'d Value> = branches.iter().collect();
    (0..6)
        .filter_map(|_| {
            generator.rng.shuffle(&mut order);
            generator.part(order.get(..2)?)
        })
        .collect()
}
