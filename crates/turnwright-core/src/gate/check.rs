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
        return Err(not_taken(&format_args!("it {why}")));
    }
    let by = answer.by.map(Principal::checked).transpose();
    answer.by = by.map_err(|error| not_taken(&error.message()))?;
    Ok(answer)
}

/// Checks an admitted answer against the kind, question and schema of a gate, and then with `accepts`.
pub(crate) fn check(
    (kind, question): (&GateKind, &Value),
    schema: Option<&Schema>,
    answer: GateAnswer,
    accepts: impl FnOnce(&GateAnswer) -> Result<(), Error>,
) -> Result<GateAnswer, Error> {
    let GateAnswer { decision, by, note } = answer;
    let decides = matches!(
        decision,
        GateDecision::Approve | GateDecision::Edit { .. } | GateDecision::Deny { .. }
    );
    if decides && *kind != GateKind::Approval {
        let why = format!("`{kind}` is not an approval: answer with `GateAnswer::value`");
        return Err(not_taken(&why));
    }
    let resolution = match decision.into_resolution() {
        Ok(resolution) => resolution,
        Err(reason) => {
            let decision = GateDecision::Reject { reason };
            return Ok(GateAnswer { decision, by, note });
        }
    };
    let resolution = match schema {
        Some(schema) => schema.check(resolution).map_err(mismatch)?.into_value(),
        None => resolution,
    };
    if *kind == GateKind::Approval {
        fits_decision(&resolution)?;
    }
    let decision = GateDecision::of_resolution(kind, resolution);
    let answer = GateAnswer { decision, by, note };
    if *kind == GateKind::Approval {
        by_another(question, &answer)?;
    }
    accepts(&answer).map_err(refused)?;
    Ok(answer)
}

/// Checks that an approval was not given by the principal who asked, if its question demands that.
fn by_another(question: &Value, answer: &GateAnswer) -> Result<(), Error> {
    let approves = matches!(
        answer.decision,
        GateDecision::Approve | GateDecision::Edit { .. }
    );
    let Some(asked) = question
        .get("notBy")
        .and_then(Value::as_str)
        .filter(|_| approves)
    else {
        return Ok(());
    };
    let shown = escape(asked, 80);
    match &answer.by {
        Some(by) if by.as_str() != asked => Ok(()),
        Some(_) => {
            let why =
                format!("`{shown}` asked for this call, so another principal must approve it");
            Err(not_taken(&why))
        }
        None => {
            let why = format!(
                "it must name who approves (`by`), and that must not be `{shown}`, who asked for this call"
            );
            Err(not_taken(&why))
        }
    }
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
