//! Turns, who runs them, and where they wait.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::fields::{Fields, json_text, put};
use super::time;
use crate::error::Error;
use crate::event::Usage;
use crate::record::{GateRecord, GateState, Lease, RecordKind, TurnFailure, TurnRecord, TurnState};

pub(super) fn write(turn: &TurnRecord, map: &mut Map<String, Value>) -> Result<(), Error> {
    put(map, "state", turn.state().as_str());
    if !turn.stash.is_empty() {
        let mut stash = Vec::with_capacity(turn.stash.len());
        for (path, value) in &turn.stash {
            let mut one = Map::new();
            put(&mut one, "path", path.as_str());
            let value = json_text(RecordKind::Turn, "stash", value)?;
            put(&mut one, "value", value);
            stash.push(Value::Object(one));
        }
        put(map, "stash", stash);
    }
    if let Some(tiers) = &turn.outer_tiers {
        let tiers: Vec<&str> = tiers.iter().map(|tier| tier.as_str()).collect();
        put(map, "outerTiers", tiers);
    }
    if let Some(answer) = turn.answer() {
        put(map, "answer", answer);
    }
    if let Some(nonce) = &turn.nonce {
        put(map, "nonce", &**nonce);
    }
    put(map, "runs", turn.runs());
    put(map, "iterations", turn.iterations());
    put(map, "usage", write_usage(turn.usage()));
    if let Some(error) = turn.error() {
        let mut one = Map::new();
        put(&mut one, "code", error.code.as_str());
        put(&mut one, "message", error.message.as_str());
        put(map, "error", one);
    }
    put(map, "beganAt", time::format(turn.began_at()));
    if let Some(at) = turn.ended_at() {
        put(map, "endedAt", time::format(at));
    }
    Ok(())
}

fn write_usage(usage: Usage) -> Map<String, Value> {
    let mut map = Map::new();
    put(&mut map, "requests", usage.requests);
    put(&mut map, "inputTokens", usage.input_tokens);
    put(&mut map, "cachedInputTokens", usage.cached_input_tokens);
    put(&mut map, "outputTokens", usage.output_tokens);
    put(&mut map, "reasoningTokens", usage.reasoning_tokens);
    map
}

pub(super) fn read(fields: &Fields<'_>) -> Result<Arc<TurnRecord>, Error> {
    let state = TurnState::named(fields.text("state")?)
        .ok_or_else(|| fields.wrong("state", "is no state of a turn"))?;
    let ended_at = fields.time_if_any("endedAt")?;
    if ended_at.is_some() == (state == TurnState::Running) {
        return Err(fields.wrong("endedAt", "does not fit the state"));
    }
    let stash = match fields.get("stash") {
        Some(_) => fields.objects("stash")?,
        None => Vec::new(),
    };
    let stash = stash
        .iter()
        .map(|one| Ok((one.text("path")?.to_owned(), one.json("value")?)));
    let error = match fields.object_if_any("error")? {
        Some(error) => Some(TurnFailure {
            code: error.text("code")?.to_owned(),
            message: error.text("message")?.to_owned(),
        }),
        None => None,
    };
    let began_at = fields.time("beganAt")?;
    Ok(Arc::new(TurnRecord {
        id: named(fields, "id")?.into(),
        nonce: fields.text_if_any("nonce")?.map(Arc::from),
        state,
        stash: stash.collect::<Result<_, Error>>()?,
        outer_tiers: fields.words_if_any("outerTiers")?,
        answer: fields.text_if_any("answer")?.map(Arc::from),
        runs: small(fields, "runs")?,
        iterations: small(fields, "iterations")?,
        usage: read_usage(&fields.object("usage")?)?,
        error,
        began_at,
        // Written by a clock that was set back meanwhile.
        ended_at: ended_at.map(|at| at.max(began_at)),
    }))
}

fn read_usage(fields: &Fields<'_>) -> Result<Usage, Error> {
    Ok(Usage {
        requests: fields.number("requests")?,
        input_tokens: fields.number("inputTokens")?,
        cached_input_tokens: fields.number("cachedInputTokens")?,
        output_tokens: fields.number("outputTokens")?,
        reasoning_tokens: fields.number("reasoningTokens")?,
    })
}

fn small(fields: &Fields<'_>, name: &str) -> Result<u32, Error> {
    u32::try_from(fields.number(name)?).map_err(|_| fields.wrong(name, "is too large"))
}

fn named<'v>(fields: &Fields<'v>, name: &str) -> Result<&'v str, Error> {
    match fields.text(name)? {
        "" => Err(fields.wrong(name, "is empty")),
        text => Ok(text),
    }
}

pub(super) fn write_lease(lease: &Lease, map: &mut Map<String, Value>) {
    if let Some(turn) = lease.turn_id() {
        put(map, "turnId", turn);
    }
    put(map, "owner", lease.owner());
    put(map, "fence", lease.fence());
    put(map, "until", time::format(lease.until()));
    let term = u64::try_from(lease.term().as_millis()).unwrap_or(u64::MAX);
    put(map, "termMs", term);
    put(map, "renewals", lease.renewals());
}

pub(super) fn read_lease(fields: &Fields<'_>) -> Result<Arc<Lease>, Error> {
    Ok(Arc::new(Lease {
        id: named(fields, "id")?.into(),
        turn_id: fields.text_if_any("turnId")?.map(Arc::from),
        owner: named(fields, "owner")?.into(),
        fence: fields.number("fence")?,
        until: fields.time("until")?,
        term: Duration::from_millis(fields.number("termMs")?),
        renewals: fields.number_if_any("renewals")?.unwrap_or(0),
    }))
}

pub(super) fn write_gate(gate: &GateRecord, map: &mut Map<String, Value>) -> Result<(), Error> {
    put(map, "turnId", gate.turn_id());
    put(map, "gateId", gate.gate_id());
    put(map, "name", gate.name());
    if let Some(call) = gate.tool_call() {
        put(map, "toolCall", call);
    }
    let question = json_text(RecordKind::Gate, "question", gate.question())?;
    put(map, "question", question);
    put(map, "state", gate.state().name());
    match gate.state() {
        GateState::Resolved(answer) => {
            let answer = json_text(RecordKind::Gate, "answer", answer)?;
            put(map, "answer", answer);
        }
        GateState::Rejected(reason) => put(map, "reason", reason.as_str()),
        GateState::Open | GateState::Unanswered => {}
    }
    put(map, "openedAt", time::format(gate.opened_at()));
    if let Some(at) = gate.closed_at() {
        put(map, "closedAt", time::format(at));
    }
    Ok(())
}

pub(super) fn read_gate(fields: &Fields<'_>) -> Result<Arc<GateRecord>, Error> {
    let state = match fields.text("state")? {
        "open" => GateState::Open,
        "resolved" => GateState::Resolved(fields.json("answer")?),
        "rejected" => GateState::Rejected(fields.text("reason")?.to_owned()),
        "unanswered" => GateState::Unanswered,
        _ => {
            let why = "is none of `open`, `resolved`, `rejected`, `unanswered`";
            return Err(fields.wrong("state", why));
        }
    };
    let closed_at = fields.time_if_any("closedAt")?;
    if closed_at.is_some() == (state == GateState::Open) {
        return Err(fields.wrong("closedAt", "does not fit the state"));
    }
    let opened_at = fields.time("openedAt")?;
    Ok(Arc::new(GateRecord {
        id: named(fields, "id")?.to_owned(),
        turn_id: named(fields, "turnId")?.into(),
        gate_id: named(fields, "gateId")?.into(),
        name: named(fields, "name")?.into(),
        tool_call: fields.text_if_any("toolCall")?.map(Arc::from),
        question: Arc::new(fields.json("question")?),
        state,
        opened_at,
        closed_at: closed_at.map(|at| at.max(opened_at)),
    }))
}
