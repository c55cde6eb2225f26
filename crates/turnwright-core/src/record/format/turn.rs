//! Turns.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::field::{Encoded, Json, Text, Time, VERSION};
use super::{Invalid, Stored};
use crate::error::{Error, ErrorCode};
use crate::principal::Principal;
use crate::record::{ByteResolver, Record, RecordKind, TurnFailure, TurnRecord, TurnState};
use crate::settings::{Budget, ModelSettings, TurnSettings};
use crate::trust::TrustTier;
use crate::usage::Usage;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredTurn<'a> {
    v: u64,
    kind: RecordKind,
    id: Text<'a>,
    state: TurnState,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<Principal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stash: Option<Vec<StoredStash<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Json<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<StoredBudget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outer_tiers: Option<Vec<TrustTier>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outer_private: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proposed: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected: Option<Vec<Text<'a>>>,
    nonce: Text<'a>,
    runs: u32,
    iterations: u32,
    usage: Usage,
    #[serde(default, skip_serializing_if = "is_zero")]
    tool_calls: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<StoredFailure<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspended_at_gates: Option<bool>,
    began_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Time>,
}

#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct StoredStash<'a> {
    path: Text<'a>,
    value: Json<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredBudget {
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ms: Option<u64>,
}

impl From<Budget> for StoredBudget {
    fn from(budget: Budget) -> Self {
        StoredBudget {
            tokens: budget.tokens,
            tool_calls: budget.tool_calls,
            time_ms: budget.time.map(millis),
        }
    }
}

impl From<StoredBudget> for Budget {
    fn from(stored: StoredBudget) -> Self {
        let mut budget = Budget::new();
        (budget.tokens, budget.tool_calls) = (stored.tokens, stored.tool_calls);
        budget.time = stored.time_ms.map(Duration::from_millis);
        budget
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct StoredFailure<'a> {
    code: Text<'a>,
    message: Text<'a>,
}

impl<'a> TryFrom<&'a TurnRecord> for StoredTurn<'a> {
    type Error = Error;

    fn try_from(turn: &'a TurnRecord) -> Result<Self, Error> {
        let stash = turn.stash.iter().map(|(path, value)| {
            Ok(StoredStash {
                path: path.as_str().into(),
                value: Json::new(RecordKind::Turn, "stash", value)?,
            })
        });
        let stash: Vec<_> = stash.collect::<Result<_, Error>>()?;
        let TurnSettings {
            instructions,
            model,
            budget,
        } = &turn.settings;
        Ok(StoredTurn {
            v: VERSION,
            kind: RecordKind::Turn,
            id: turn.id().into(),
            state: turn.state,
            principal: turn.principal.clone(),
            stash: (!stash.is_empty()).then_some(stash),
            instructions: instructions.as_ref().map(Text::from),
            settings: (!model.is_empty()).then(|| settings(model)).transpose()?,
            budget: (!budget.is_unlimited()).then(|| (*budget).into()),
            outer_tiers: turn.outer_tiers.clone(),
            outer_private: turn.outer_private.then_some(true),
            answer: turn.answer.as_ref().map(Text::from),
            proposed: turn.proposed.as_ref().map(Text::from),
            rejected: (!turn.rejected.is_empty())
                .then(|| turn.rejected.iter().map(Text::from).collect()),
            nonce: (&turn.nonce).into(),
            runs: turn.runs,
            iterations: turn.iterations,
            usage: turn.usage,
            tool_calls: turn.tool_calls,
            elapsed_ms: millis(turn.elapsed),
            error: turn.error.as_ref().map(|error| StoredFailure {
                code: (&error.code).into(),
                message: (&error.message).into(),
            }),
            step: turn.step,
            suspended_at_gates: turn.suspended_at_gates.then_some(true),
            began_at: Encoded(turn.started_at),
            ended_at: turn.ended_at.map(Encoded),
        })
    }
}

fn settings(model: &ModelSettings) -> Result<Json<'static>, Error> {
    let value = serde_json::to_value(model).map_err(|error| {
        let message = format!("the model settings of a turn cannot be stored: {error}");
        Error::new(ErrorCode::INVALID_MODEL_CONFIG, message)
    })?;
    Json::new(RecordKind::Turn, "settings", &value)?;
    Ok(Encoded(Cow::Owned(value)))
}

fn read_settings(stored: Json<'_>) -> Result<ModelSettings, Invalid> {
    let read = serde_json::from_value(stored.into_value());
    read.map_err(|_| Invalid::new("settings", "are not valid model settings"))
}

impl Stored for StoredTurn<'_> {
    fn header(&self) -> (u64, RecordKind) {
        (self.v, self.kind)
    }

    fn read(self, _: &ByteResolver) -> Result<Record, Invalid> {
        let continues = matches!(self.state, TurnState::Running | TurnState::Suspended);
        if self.ended_at.is_some() == continues {
            return Err(Invalid::new("endedAt", "does not match the state"));
        }
        let stash = self.stash.unwrap_or_default().into_iter();
        let began_at = self.began_at.0;
        let turn = TurnRecord {
            id: (*self.id.not_empty("id")?).into(),
            nonce: (*self.nonce).into(),
            state: self.state,
            principal: self.principal,
            stash: stash
                .map(|one| (one.path.into_owned(), one.value.into_value()))
                .collect(),
            settings: TurnSettings {
                instructions: self.instructions.map(|text| (*text).into()),
                model: self
                    .settings
                    .map(read_settings)
                    .transpose()?
                    .unwrap_or_default(),
                budget: self.budget.map(Budget::from).unwrap_or_default(),
            },
            outer_tiers: self.outer_tiers,
            outer_private: self.outer_private.unwrap_or_default(),
            answer: self.answer.map(|answer| (*answer).into()),
            proposed: self.proposed.map(|proposed| (*proposed).into()),
            rejected: self
                .rejected
                .unwrap_or_default()
                .into_iter()
                .map(|id| (*id).into())
                .collect(),
            runs: self.runs,
            iterations: self.iterations,
            usage: self.usage,
            tool_calls: self.tool_calls,
            elapsed: Duration::from_millis(self.elapsed_ms),
            error: self.error.map(|error| TurnFailure {
                code: error.code.into_owned(),
                message: error.message.into_owned(),
            }),
            step: self.step,
            suspended_at_gates: self.suspended_at_gates.unwrap_or_default(),
            started_at: began_at,
            // The clock may have been set back in between.
            ended_at: self.ended_at.map(|at| at.0.max(began_at)),
        };
        Ok(Arc::new(turn).into())
    }
}
