//! Turns, gates, the ledger, leases and metadata of conversations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::record::{
    CallState, ConversationInfo, GateAnswer, GateKind, GateRecord, Lease, LedgerEntry, TurnRecord,
    TurnState, time_text,
};
use crate::usage::Usage;

/// A turn and its state.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TurnRecord")]
pub(super) struct PublicTurn<'a> {
    #[schemars(extend("const" = "turn"))]
    kind: &'static str,
    id: &'a str,
    state: TurnState,
    /// The id of the message that is its answer, once it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'a str>,
    /// How often it was started or resumed.
    runs: u32,
    iterations: u32,
    usage: Usage,
    /// The number of tool calls that ran.
    tool_calls: u64,
    /// How long it ran, in milliseconds.
    elapsed_ms: f64,
    /// Why it has no answer, if it ended without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<PublicFailure<'a>>,
    started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
}

/// Why a turn has no answer.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TurnFailure")]
pub(super) struct PublicFailure<'a> {
    /// The error code.
    code: &'a str,
    message: &'a str,
}

impl<'a> From<&'a TurnRecord> for PublicTurn<'a> {
    fn from(turn: &'a TurnRecord) -> Self {
        PublicTurn {
            kind: "turn",
            id: turn.id(),
            state: turn.state,
            answer: turn.answer.as_deref(),
            runs: turn.runs,
            iterations: turn.iterations,
            usage: turn.usage,
            tool_calls: turn.tool_calls,
            elapsed_ms: turn.elapsed.as_secs_f64() * 1000.0,
            error: turn.error.as_ref().map(|error| PublicFailure {
                code: &error.code,
                message: error.public_message(),
            }),
            started_at: time_text(turn.started_at),
            ended_at: turn.ended_at.map(time_text),
        }
    }
}

/// A gate and its answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GateRecord")]
pub(super) struct PublicGate<'a> {
    #[schemars(extend("const" = "gate"))]
    kind: &'static str,
    id: &'a str,
    turn_id: &'a str,
    /// The kind of gate.
    #[schemars(with = "String")]
    name: &'a GateKind,
    /// The id of the call that waits, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call: Option<&'a str>,
    question: &'a Value,
    /// The JSON Schema that an answer must match, if the gate has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'a Value>,
    #[schemars(extend("enum" = ["open", "resolved", "rejected", "unanswered"]))]
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'a GateAnswer>,
    opened_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<String>,
}

impl<'a> From<&'a GateRecord> for PublicGate<'a> {
    fn from(gate: &'a GateRecord) -> Self {
        PublicGate {
            kind: "gate",
            id: gate.id(),
            turn_id: &gate.turn_id,
            name: &gate.kind,
            tool_call: gate.tool_call.as_deref(),
            question: &gate.question,
            schema: gate.schema.as_deref(),
            state: gate.state.name(),
            answer: gate.answer(),
            opened_at: time_text(gate.opened_at),
            closed_at: gate.closed_at.map(time_text),
        }
    }
}

/// A call that may write, and whether it took effect.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LedgerRecord")]
pub(super) struct PublicLedgerEntry<'a> {
    #[schemars(extend("const" = "ledger"))]
    kind: &'static str,
    turn_id: &'a str,
    /// The id of the call.
    tool_call: &'a str,
    tool: &'a str,
    /// The arguments that it ran with.
    args: &'a Value,
    state: CallState,
    started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
}

impl<'a> From<&'a LedgerEntry> for PublicLedgerEntry<'a> {
    fn from(entry: &'a LedgerEntry) -> Self {
        PublicLedgerEntry {
            kind: "ledger",
            turn_id: &entry.turn_id,
            tool_call: &entry.tool_call,
            tool: &entry.tool,
            args: &entry.args,
            state: entry.state,
            started_at: time_text(entry.started_at),
            ended_at: entry.ended_at.map(time_text),
        }
    }
}

/// The right to run turns of a conversation.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LeaseRecord")]
pub(super) struct PublicLease<'a> {
    #[schemars(extend("const" = "lease"))]
    kind: &'static str,
    /// The turn that is running or was interrupted, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<&'a str>,
    /// When it expires unless it is renewed.
    until: String,
}

impl<'a> From<&'a Lease> for PublicLease<'a> {
    fn from(lease: &'a Lease) -> Self {
        PublicLease {
            kind: "lease",
            turn_id: lease.turn_id.as_deref(),
            until: time_text(lease.until),
        }
    }
}

/// Title, owner and labels of a conversation.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ConversationInfoRecord")]
pub(super) struct PublicInfo<'a> {
    #[schemars(extend("const" = "conversation_info"))]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a str>,
    labels: &'a BTreeMap<String, String>,
}

impl<'a> From<&'a ConversationInfo> for PublicInfo<'a> {
    fn from(info: &'a ConversationInfo) -> Self {
        PublicInfo {
            kind: "conversation_info",
            title: info.title.as_deref(),
            owner: info.owner.as_deref(),
            labels: &info.labels,
        }
    }
}
