//! Validates answers at gates.

use std::fmt;

use serde_json::Value;

use super::TurnGate;
use crate::error::{Error, ErrorCode};
use crate::record::{GateAnswer, GateKind};
use crate::schema::{Fault, InvalidArguments, Schema, admit};

impl TurnGate {
    /// Checks an answer: its decision must fit the kind of the gate, and its value the schema.
    ///
    /// # Errors
    /// Returns `E_INVALID_TURN_GATE_RESOLUTION` if the answer is not accepted.
    pub(crate) fn check(&self, answer: GateAnswer) -> Result<GateAnswer, Error> {
        let accepts = self.accepts.as_deref();
        let accepts = |answer: &GateAnswer| accepts.map_or(Ok(()), |accepts| accepts(answer));
        check(&self.kind, self.schema.as_ref(), answer, accepts)
    }
}

/// Checks the depth of an answer before anything else.
///
/// # Errors
/// Returns `E_INVALID_TURN_GATE_RESOLUTION` if the answer is not accepted.
pub(crate) fn admitted(mut answer: GateAnswer) -> Result<GateAnswer, Error> {
    if let GateAnswer::Edit { args: value, .. } | GateAnswer::Value { value } = &mut answer {
        *value = admit(value.take()).map_err(|why| not_taken(&format_args!("it {why}")))?;
    }
    Ok(answer)
}

/// Checks an admitted answer against the kind and schema of a gate, and then with `accepts`.
pub(crate) fn check(
    kind: &GateKind,
    schema: Option<&Schema>,
    answer: GateAnswer,
    accepts: impl FnOnce(&GateAnswer) -> Result<(), Error>,
) -> Result<GateAnswer, Error> {
    let decides = matches!(
        answer,
        GateAnswer::Approve { .. } | GateAnswer::Edit { .. } | GateAnswer::Deny { .. }
    );
    if decides && *kind != GateKind::Approval {
        let why = format!("`{kind}` is not an approval: answer with `GateAnswer::value`");
        return Err(not_taken(&why));
    }
    let resolution = match answer.into_resolution() {
        Ok(resolution) => resolution,
        Err(reason) => return Ok(GateAnswer::Reject { reason }),
    };
    let resolution = match schema {
        Some(schema) => schema.check(resolution).map_err(mismatch)?.into_value(),
        None => resolution,
    };
    if *kind == GateKind::Approval {
        fits_decision(&resolution)?;
    }
    let answer = GateAnswer::of_resolution(kind, resolution);
    accepts(&answer).map_err(refused)?;
    Ok(answer)
}

/// Checks what the schema of an approval cannot express: which decision has arguments.
fn fits_decision(resolution: &Value) -> Result<(), Error> {
    let decision = resolution.get("decision").and_then(Value::as_str);
    let has_args = resolution.get("args").is_some();
    match (decision, has_args) {
        (Some("edit"), false) => Err(not_taken(
            &"an edit requires `args`, the arguments to run with",
        )),
        (Some("approve"), true) => {
            let why =
                "an approval must not have `args`: to change the arguments, answer with an edit";
            Err(not_taken(&why))
        }
        (Some("approve" | "edit" | "deny"), _) => Ok(()),
        _ => Err(not_taken(&"the decision must be approve, edit or deny")),
    }
}

/// Converts the faults of an answer that does not match the schema of the gate.
fn mismatch(faults: InvalidArguments) -> Error {
    not_taken(&listed(&faults, "the answer")).with_faults(faults)
}

/// Converts the error of edited arguments, or of a check of the gate's author.
fn refused(error: Error) -> Error {
    match error.invalid_arguments() {
        Some(faults) => {
            let why = format!(
                "the edited arguments are invalid: {}",
                listed(faults, "they")
            );
            not_taken(&why).with_faults(faults.clone())
        }
        None => not_taken(&error.message()).with_source(error),
    }
}

/// Lists faults. The value as a whole is called `subject`.
fn listed(faults: &InvalidArguments, subject: &str) -> String {
    let one = |fault: &Fault| match &*fault.pointer {
        "" => format!("{subject} {}", fault.message),
        _ => fault.to_string(),
    };
    let mut all: Vec<String> = faults.faults().iter().map(one).collect();
    if faults.more_faults() > 0 {
        all.push(format!("and {} more", faults.more_faults()));
    }
    all.join("; ")
}

fn not_taken(why: &dyn fmt::Display) -> Error {
    let message = format!("the gate does not accept this answer: {why}");
    Error::new(ErrorCode::INVALID_TURN_GATE_RESOLUTION, message)
}
