//! Validates answers at gates.

use std::fmt;

use serde_json::Value;

use super::TurnGate;
use crate::error::{Error, ErrorCode};
use crate::principal::Principal;
use crate::record::{GateAnswer, GateDecision, GateKind};
use crate::schema::{Fault, InvalidArguments, MAX_DEPTH, Schema, escape, survey};

impl TurnGate {
    /// Checks an answer: its decision must fit the kind of the gate, and its value the schema.
    ///
    /// # Errors
    /// Returns `E_INVALID_TURN_GATE_RESOLUTION` if the answer is not accepted.
    pub(crate) fn check(&self, answer: GateAnswer) -> Result<GateAnswer, Error> {
        let accepts = self.accepts.as_deref();
        let accepts = |answer: &GateAnswer| accepts.map_or(Ok(()), |accepts| accepts(answer));
        check(
            (&self.kind, &self.question),
            self.schema.as_ref(),
            answer,
            accepts,
        )
    }
}

/// Checks the depth of an answer before anything else.
///
/// # Errors
/// Returns `E_INVALID_TURN_GATE_RESOLUTION` if the answer is not accepted.
pub(crate) fn admitted(mut answer: GateAnswer) -> Result<GateAnswer, Error> {
    if let GateDecision::Edit { args: value } | GateDecision::Value { value } = &answer.decision
        && let Some(why) = survey(value).problem(MAX_DEPTH)
    {
        return Err(not_accepted(&format_args!("it {why}")));
    }
    let by = answer.by.map(Principal::checked).transpose();
    answer.by = by.map_err(|error| not_accepted(&error.message()))?;
    Ok(answer)
}

/// Checks an admitted answer against the kind, question and schema of a gate, and then with `accepts`.
pub(crate) fn check(
    (kind, question): (&GateKind, &Value),
    schema: Option<&Schema>,
    mut answer: GateAnswer,
    accepts: impl FnOnce(&GateAnswer) -> Result<(), Error>,
) -> Result<GateAnswer, Error> {
    let is_approval = *kind == GateKind::Approval;
    match &mut answer.decision {
        GateDecision::Reject { .. } => return Ok(answer),
        GateDecision::Value { .. } if is_approval => {
            let why = "an approval requires a decision: approve, edit or deny";
            return Err(not_accepted(&why));
        }
        GateDecision::Value { value } => {
            if let Some(schema) = schema {
                *value = schema.check(value.take()).map_err(mismatch)?.into_value();
            }
        }
        GateDecision::Approve | GateDecision::Edit { .. } if is_approval => {
            by_another(question, answer.by.as_ref())?;
        }
        GateDecision::Deny { .. } if is_approval => {}
        GateDecision::Approve | GateDecision::Edit { .. } | GateDecision::Deny { .. } => {
            let why = format!("`{kind}` is not an approval: answer with `GateAnswer::value`");
            return Err(not_accepted(&why));
        }
    }
    accepts(&answer).map_err(refused)?;
    Ok(answer)
}

/// Checks that an approval was not given by a principal who asked, if its question demands that.
fn by_another(question: &Value, by: Option<&Principal>) -> Result<(), Error> {
    let Some(asked) = question.get("notBy").and_then(Value::as_array) else {
        return Ok(());
    };
    let shown = |name: &str| format!("`{}`", escape(name, 80));
    let why = match by {
        Some(by) if !asked.iter().any(|one| one == by.as_str()) => return Ok(()),
        Some(by) => {
            let by = shown(by.as_str());
            format!("{by} asked for this call, so another principal must approve it")
        }
        None => {
            let asked = asked.iter().filter_map(Value::as_str).map(shown);
            let asked = asked.collect::<Vec<_>>().join(" or ");
            format!(
                "it must name who approves (`by`), and that must not be {asked}, who asked for this call"
            )
        }
    };
    Err(not_accepted(&why))
}

/// Converts the faults of an answer that does not match the schema of the gate.
fn mismatch(faults: InvalidArguments) -> Error {
    not_accepted(&listed(&faults, "the answer")).with_faults(faults)
}

/// Converts the error of edited arguments, or of a check of the gate's author.
fn refused(error: Error) -> Error {
    match error.invalid_arguments() {
        Some(faults) => {
            let why = format!(
                "the edited arguments are invalid: {}",
                listed(faults, "they")
            );
            not_accepted(&why).with_faults(faults.clone())
        }
        None => not_accepted(&error.message()).with_source(error),
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

fn not_accepted(why: &dyn fmt::Display) -> Error {
    let message = format!("the gate does not accept this answer: {why}");
    Error::new(ErrorCode::INVALID_TURN_GATE_RESOLUTION, message)
}
