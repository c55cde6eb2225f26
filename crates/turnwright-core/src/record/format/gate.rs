//! Gates.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::field::{Encoded, Json, Text, Time, VERSION};
use super::{Invalid, Stored};
use crate::error::Error;
use crate::principal::Principal;
use crate::record::{
    ByteResolver, GateAnswer, GateDecision, GateKind, GateRecord, GateState, Record, RecordKind,
};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredGate<'a> {
    v: u64,
    kind: RecordKind,
    id: Text<'a>,
    turn_id: Text<'a>,
    name: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call: Option<Text<'a>>,
    question: Json<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Json<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u32>,
    state: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Json<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<Text<'a>>,
    opened_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<Time>,
}

impl<'a> TryFrom<&'a GateRecord> for StoredGate<'a> {
    type Error = Error;

    fn try_from(gate: &'a GateRecord) -> Result<Self, Error> {
        let answered = gate.answer();
        let decision = answered.map(|answer| answer.decision.clone());
        let (answer, reason) = match decision.map(GateDecision::into_resolution) {
            Some(Ok(answer)) => (Some(Json::owned(RecordKind::Gate, "answer", answer)?), None),
            Some(Err(reason)) => (None, Some(reason.into())),
            None => (None, None),
        };
        let schema = gate.schema.as_deref();
        let schema = schema.map(|schema| Json::new(RecordKind::Gate, "schema", schema));
        let timeout_ms = |limit: Duration| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        Ok(StoredGate {
            v: VERSION,
            kind: RecordKind::Gate,
            id: gate.id().into(),
            turn_id: (&gate.turn_id).into(),
            name: gate.kind.as_str().into(),
            tool_call: gate.tool_call.as_ref().map(Text::from),
            question: Json::new(RecordKind::Gate, "question", &gate.question)?,
            schema: schema.transpose()?,
            timeout_ms: gate.timeout.map(timeout_ms),
            step: gate.step,
            state: gate.state.name().into(),
            answer,
            reason,
            by: answered.and_then(|answer| Some(answer.by.as_ref()?.as_str().into())),
            note: answered.and_then(|answer| Some(answer.note.as_ref()?.into())),
            opened_at: Encoded(gate.opened_at),
            closed_at: gate.closed_at.map(Encoded),
        })
    }
}

impl Stored for StoredGate<'_> {
    fn header(&self) -> (u64, RecordKind) {
        (self.v, self.kind)
    }

    fn read(self, _: &ByteResolver) -> Result<Record, Invalid> {
        let kind = GateKind::from(&*self.name.not_empty("name")?);
        let by = self.by.map(|by| by.not_empty("by")).transpose()?;
        let answered = |decision| {
            GateState::Answered(GateAnswer {
                decision,
                by: by.map(|by| Principal::new(&*by)),
                note: self.note.map(Text::into_owned),
            })
        };
        let state = match (&*self.state, self.answer, self.reason) {
            ("open", ..) => GateState::Open,
            ("unanswered", ..) => GateState::Unanswered,
            ("resolved", Some(answer), _) => {
                answered(GateDecision::of_resolution(&kind, answer.into_value()))
            }
            ("resolved", None, _) => return Err(Invalid::missing("answer")),
            ("rejected", _, Some(reason)) => {
                let reason = reason.into_owned();
                answered(GateDecision::Reject { reason })
            }
            ("rejected", _, None) => return Err(Invalid::missing("reason")),
            _ => {
                let expected = "expected one of `open`, `resolved`, `rejected`, `unanswered`";
                return Err(Invalid::new("state", expected));
            }
        };
        if self.closed_at.is_some() == (state == GateState::Open) {
            return Err(Invalid::new("closedAt", "does not match the state"));
        }
        let opened_at = self.opened_at.0;
        let gate = GateRecord {
            id: (*self.id.not_empty("id")?).into(),
            turn_id: (*self.turn_id.not_empty("turnId")?).into(),
            kind,
            tool_call: self.tool_call.map(|call| (*call).into()),
            question: Arc::new(self.question.into_value()),
            schema: self.schema.map(|schema| Arc::new(schema.into_value())),
            timeout: self.timeout_ms.map(Duration::from_millis),
            step: self.step,
            state,
            opened_at,
            closed_at: self.closed_at.map(|at| at.0.max(opened_at)),
        };
        Ok(Arc::new(gate).into())
    }
}
