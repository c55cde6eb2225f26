//! The parts that a validated and hashed call cannot do without, each alone, and plain serde for scale.

use std::{error::Error, hint::black_box};

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Value, json};
use turnwright_bench_measure::Subject;
use turnwright_core::call::digest_of;

use crate::arguments::Arguments;

pub(crate) const PLAIN_SERDE: &str = "`serde_json::from_str` into the struct, nothing else";
pub(crate) const PARSE: &str = "part: parse into `serde_json::Value`";
pub(crate) const VALIDATE: &str = "part: validate (`jsonschema`, verdict only)";
pub(crate) const HASH: &str = "part: canonical JSON and SHA-256";
pub(crate) const DESERIALISE: &str = "part: deserialise the struct from `&Value`";

/// The rows whose medians add up to the sum of the parts.
pub(crate) const ALL: [&str; 4] = [PARSE, VALIDATE, HASH, DESERIALISE];

pub(crate) fn subjects<'a, A: Arguments>(
    section: &'static str,
    document: &Value,
) -> Result<Vec<Subject<'a>>, Box<dyn Error>> {
    let value: Value = serde_json::from_str(A::VALID)?;
    let validator = validator(document)?;
    if !validator.is_valid(&value) {
        return Err(format!("{}: the valid sample is not valid", A::TOOL).into());
    }
    if A::deserialize(&value)?.answer() != A::ANSWER {
        return Err(format!("{}: the sample lost its answer", A::TOOL).into());
    }
    let hashed = json!({ "args": value, "tool": A::TOOL });
    let (checked, read) = (value.clone(), value);
    Ok(vec![
        Subject::once(section, PLAIN_SERDE, || {
            serde_json::from_str::<A>(black_box(A::VALID))
        }),
        Subject::once(section, PARSE, || {
            serde_json::from_str::<Value>(black_box(A::VALID))
        }),
        Subject::once(section, VALIDATE, move || {
            validator.is_valid(black_box(&checked))
        }),
        Subject::once(section, HASH, move || digest_of(black_box(&hashed))),
        Subject::once(section, DESERIALISE, move || {
            A::deserialize(black_box(&read))
        }),
    ])
}

/// Returns a validator with the options that core uses.
pub(crate) fn validator(document: &Value) -> Result<Validator, Box<dyn Error>> {
    let validator = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .should_ignore_unknown_formats(true)
        .with_pattern_options(PatternOptions::regex())
        .offline()
        .build(document)?;
    Ok(validator)
}
