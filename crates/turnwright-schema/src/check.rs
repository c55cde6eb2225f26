//! Checks arguments: decodes, coerces, fills defaults, validates, then runs the external checks.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::coerce::{self, Allowed, Coerced, Stop};
use super::decode::{self, DecodeError, Opened};
use super::fault::{Fault, InvalidArguments};
use super::limits::MAX_DEPTH;
use super::raw::{Raw, RawArgs};
use super::repair::{Repair, RepairKind};
use super::schema::{Contract, Schema};
use super::{explain, limits};

/// Arguments that are valid under their schema.
#[derive(Clone)]
pub struct CheckedArgs {
    raw: RawArgs,
    value: Value,
    repairs: Vec<Repair>,
    checks_not_run: Vec<Arc<str>>,
}

impl CheckedArgs {
    /// Returns the arguments after coercion, with defaults filled in.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Consumes `self` and returns the arguments.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Returns the changes that checking made, in order.
    #[must_use]
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// Returns the arguments as they were received.
    #[must_use]
    pub fn raw(&self) -> &RawArgs {
        &self.raw
    }

    /// Returns the names of the external checks that were not run because they need the context of a call. Only
    /// `Tool::validate` leaves them out.
    #[must_use]
    pub fn checks_not_run(&self) -> &[Arc<str>] {
        &self.checks_not_run
    }

    #[doc(hidden)]
    pub fn with_checks_not_run(mut self, names: Vec<Arc<str>>) -> Self {
        self.checks_not_run = names;
        self
    }

    /// Returns empty arguments (`{}`).
    #[doc(hidden)]
    pub fn none() -> Self {
        CheckedArgs {
            raw: RawArgs::from(Value::Object(Map::new())),
            value: Value::Object(Map::new()),
            repairs: Vec::new(),
            checks_not_run: Vec::new(),
        }
    }

    /// Records that no arguments were received and `{}` was used instead.
    #[doc(hidden)]
    pub fn repaired_from_nothing(mut self) -> Self {
        let repair = Repair {
            pointer: String::new(),
            kind: RepairKind::NoArguments,
            before: Some(self.raw.to_value()),
            after: Some(Value::Object(Map::new())),
        };
        self.repairs.insert(0, repair);
        self
    }
}

// Arguments may contain secrets.
debug_fields!(CheckedArgs { raw });

impl Schema {
    /// Checks arguments: decodes text, coerces, fills defaults and validates. Does not run external checks; see
    /// [`Schema::check_all`].
    ///
    /// # Errors
    /// `E_INVALID_TOOL_ARGS` with all faults.
    pub fn check(&self, raw: impl Into<RawArgs>) -> Result<CheckedArgs, InvalidArguments> {
        let raw = raw.into();
        self.open(&raw).and_then(|opened| self.judge(raw, opened))
    }

    /// Checks arguments, then runs the external checks if the document accepts them.
    ///
    /// # Errors
    /// `E_INVALID_TOOL_ARGS` with all faults.
    pub async fn check_all(
        &self,
        raw: impl Into<RawArgs>,
    ) -> Result<CheckedArgs, InvalidArguments> {
        let checked = self.check(raw)?;
        self.ask_external(checked.value()).await?;
        Ok(checked)
    }

    /// Decodes arguments within the limits.
    #[doc(hidden)]
    pub fn open(&self, raw: &RawArgs) -> Result<Opened, InvalidArguments> {
        let limits = self.limits();
        match raw.raw() {
            Raw::Text(text) if text.len() > limits.bytes() => {
                Err(larger(text.len(), limits.bytes()))
            }
            Raw::Text(text) => decode::decode(text, limits.depth()).map_err(|error| match error {
                DecodeError::TooDeep => too_deep("", limits.depth()),
                DecodeError::Reserved => reserved(),
                DecodeError::NotJson(error) => not_json(text, &error),
            }),
            Raw::Value(surveyed) => match surveyed.survey {
                survey if survey.depth > limits.depth() => Err(too_deep("", limits.depth())),
                survey if survey.bytes > limits.bytes() => {
                    Err(larger(survey.bytes, limits.bytes()))
                }
                survey if survey.reserved => Err(reserved()),
                survey => Ok(Opened {
                    value: surveyed.value.clone(),
                    whole_floats: survey.whole_floats,
                    repeats_keys: false,
                    depth: if survey.holds_json {
                        limits.depth()
                    } else {
                        survey.depth
                    },
                }),
            },
        }
    }

    /// Repairs and validates. The validator of the document decides last.
    #[doc(hidden)]
    pub fn judge(&self, raw: RawArgs, opened: Opened) -> Result<CheckedArgs, InvalidArguments> {
        let plan = &self.contract.plan;
        let depth = opened.depth.saturating_add(plan.default_levels);
        let levels = depth.min(MAX_DEPTH).saturating_mul(plan.height);
        let judged = limits::with_room(levels, || self.judge_here(&raw, opened));
        let (value, repairs) = judged.unwrap_or_else(|| Err(self.stopped(Stop::TooMuchWork)))?;
        Ok(CheckedArgs {
            raw,
            value,
            repairs,
            checks_not_run: Vec::new(),
        })
    }

    fn judge_here(
        &self,
        raw: &RawArgs,
        opened: Opened,
    ) -> Result<(Value, Vec<Repair>), InvalidArguments> {
        let Opened {
            mut value,
            whole_floats,
            ..
        } = opened;
        if let (true, Some(text)) = (opened.repeats_keys, raw.text()) {
            let repeated = decode::repeated_keys(text, self.limits().depth());
            return Err(self.explain_repeats(value, repeated));
        }
        let repairs = if !self.contract.validators().accepts(&value) {
            self.repair_invalid(&mut value, whole_floats)?
        } else {
            self.repair_valid(&mut value, whole_floats)?
        };
        Ok((value, repairs))
    }

    /// Fills the defaults of a value that is already valid. If the defaults would make it invalid or would never end,
    /// they are left out: a value that the document accepts is never rejected because of a default.
    fn repair_valid(
        &self,
        value: &mut Value,
        whole_floats: bool,
    ) -> Result<Vec<Repair>, InvalidArguments> {
        let Coerced { repairs, stop } = self.coerce(value, whole_floats, Allowed::FILL);
        match stop {
            None if !has_defaults(&repairs) || self.contract.validators().accepts(value) => {
                return Ok(repairs);
            }
            Some(stop @ (Stop::TooLarge | Stop::TooMuchWork)) => return Err(self.stopped(stop)),
            _ => undo(repairs, value),
        }
        Ok(self.coerce(value, whole_floats, Allowed::NOTHING).repairs)
    }

    /// Coerces and fills defaults. If the result is invalid, coerces without defaults, because a default may be the
    /// cause.
    fn repair_invalid(
        &self,
        value: &mut Value,
        whole_floats: bool,
    ) -> Result<Vec<Repair>, InvalidArguments> {
        let Coerced { repairs, stop } = self.coerce(value, whole_floats, Allowed::CHANGE_AND_FILL);
        if stop.is_none() && self.contract.validators().accepts(value) {
            return Ok(repairs);
        }
        let retry = has_defaults(&repairs) && !matches!(stop, Some(Stop::TooLarge));
        let faults = match stop {
            None => self.explain(value, &repairs),
            Some(stop) => self.stopped(stop),
        };
        if !retry {
            return Err(faults);
        }
        undo(repairs, value);
        let Coerced { mut repairs, stop } = self.coerce(value, whole_floats, Allowed::CHANGE);
        if stop.is_some() || !self.contract.validators().accepts(value) {
            return Err(faults);
        }
        // Valid now, so treat it like any other valid value.
        repairs.append(&mut self.repair_valid(value, true)?);
        Ok(repairs)
    }

    fn coerce(&self, value: &mut Value, whole_floats: bool, allowed: Allowed) -> Coerced {
        coerce::coerce(
            &self.contract.plan,
            self.contract.validators(),
            self.limits(),
            value,
            whole_floats,
            allowed,
        )
    }

    fn stopped(&self, stop: Stop) -> InvalidArguments {
        let limits = self.limits();
        match stop {
            Stop::TooDeep { pointer } => too_deep(&pointer, limits.depth()),
            Stop::RepeatedKeys { pointers, more } => repeats(pointers, more),
            Stop::TooLarge => {
                let limit = limits.bytes();
                let message = format!(
                    "would exceed {limit} bytes with the defaults filled in: send less data"
                );
                too_large(limit, message)
            }
            Stop::EndlessDefaults | Stop::TooMuchWork => {
                Fault::new("", "work", "takes too long to check: send less data").into()
            }
        }
    }

    /// Returns all faults of a value that the document rejects.
    fn explain(&self, value: &Value, repairs: &[Repair]) -> InvalidArguments {
        let Contract { document, plan, .. } = &*self.contract;
        let judge = self.contract.validators().document();
        judge.map_or_else(InvalidArguments::default, |judge| {
            explain::explain(document, plan, judge, value, repairs)
        })
    }

    /// Reports repeated keys, and the other faults of the value in which the last of each key wins.
    fn explain_repeats(
        &self,
        mut value: Value,
        (named, more): (Vec<String>, usize),
    ) -> InvalidArguments {
        let mut faults = repeats(named, more);
        // Only the verdict on the repaired value matters here. A pass that stopped early reports less, never more.
        let coerced = self.coerce(&mut value, true, Allowed::CHANGE_AND_FILL);
        if !self.contract.validators().accepts(&value) {
            let explained = self.explain(&value, &coerced.repairs);
            explained
                .faults()
                .iter()
                .for_each(|fault| faults.push(fault.clone()));
        }
        faults
    }
}

fn has_defaults(repairs: &[Repair]) -> bool {
    repairs
        .iter()
        .any(|repair| repair.kind == RepairKind::Default)
}

fn undo(repairs: Vec<Repair>, value: &mut Value) {
    for repair in repairs.into_iter().rev() {
        repair.undo(value);
    }
}

fn repeats(named: Vec<String>, more: usize) -> InvalidArguments {
    let mut faults = InvalidArguments::default();
    for pointer in named {
        let message = "appears more than once: send each key once";
        faults.push(Fault::at(pointer, "unique_keys", "a unique key", None).with_message(message));
    }
    faults.count_more(more);
    faults
}

/// Returns a single fault with its own message.
fn fault(pointer: &str, rule: &str, expected: &str, message: String) -> InvalidArguments {
    let fault = Fault::at(pointer, rule, expected, None);
    fault.with_message(message).into()
}

fn reserved() -> InvalidArguments {
    let message = "must not contain a key that starts with `$serde_json::private::`".to_owned();
    fault("", "propertyNames", "other property names", message)
}

fn too_deep(pointer: &str, limit: usize) -> InvalidArguments {
    let expected = format!("at most {limit} levels deep");
    let message = format!("must be {expected}: send a flatter structure");
    fault(pointer, "max_depth", &expected, message)
}

fn too_large(limit: usize, message: String) -> InvalidArguments {
    fault("", "max_bytes", &format!("at most {limit} bytes"), message)
}

fn larger(bytes: usize, limit: usize) -> InvalidArguments {
    let message = format!("must be at most {limit} bytes (got {bytes}): send less data");
    too_large(limit, message)
}

fn not_json(text: &str, error: &serde_json::Error) -> InvalidArguments {
    let advice = if text.trim().is_empty() {
        "no arguments were sent; send {} if there are none".to_owned()
    } else if error.is_eof() {
        let (line, column) = (error.line(), error.column());
        format!("the JSON ends too early, at line {line} column {column}; send the complete object")
    } else {
        error.to_string()
    };
    Fault::at("", "json", "a JSON object", Some(&Value::from(text)))
        .with_message(format!("must be one JSON object: {advice}"))
        .into()
}
