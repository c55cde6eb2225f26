//! `turnwright turns answer`.

use std::sync::Arc;

use serde_json::{Value, json};
use turnwright::Principal;
use turnwright::gate::GateAnswer;
use turnwright::record::{GateRecord, GateState};
use turnwright::store::StoreExt as _;

use super::find::find;
use crate::args;
use crate::exit::{Exit, misuse};
use crate::storage::Storage;
use crate::terminal::{Screen, one_line};
use crate::turn_state::State;

pub(super) async fn run(options: &args::TurnsAnswer, mut screen: Screen) -> anyhow::Result<Exit> {
    let answer = given(options)?;
    let storage = Storage::open_existing(&options.storage, "no turn to answer").await?;
    let summary = find(&storage, &options.turn).await?;
    let gates = storage.store.gates(&summary.conversation_id).await?;
    let open = gates
        .into_iter()
        .filter(|gate| *gate.turn_id == *summary.id() && gate.state == GateState::Open);
    let open: Vec<_> = open.collect();
    let gate = the_one(&open, options.gate.as_deref())?;
    let decision = answer.decision.as_str();
    let recorded = storage.of_runner().await?;
    let conversation = summary.conversation_id.as_str();
    recorded
        .answer_gate(conversation, gate.id(), answer)
        .await?;
    screen.value(&json!({
        "turnId": summary.id(), "gateId": gate.id(), "decision": decision,
    }))?;
    let next = match summary.state {
        State::Running | State::Waiting => "the program that runs the turn continues",
        _ => "resume the turn to continue",
    };
    screen.line(format!("Recorded at {}: {next}", one_line(gate.id(), 120)))?;
    storage.store.close().await?;
    Ok(Exit::Done)
}

/// The answer that the options say.
fn given(options: &args::TurnsAnswer) -> anyhow::Result<GateAnswer> {
    let json = |name: &str, text: &str| {
        serde_json::from_str::<Value>(text)
            .map_err(|error| misuse(format!("`--{name}` is not JSON: {error}")))
    };
    let mut answer = match options {
        args::TurnsAnswer {
            edit: Some(args), ..
        } => GateAnswer::edit(json("edit", args)?),
        args::TurnsAnswer {
            deny: Some(reason), ..
        } => GateAnswer::deny(reason),
        args::TurnsAnswer {
            value: Some(value), ..
        } => GateAnswer::value(json("value", value)?),
        args::TurnsAnswer {
            reject: Some(reason),
            ..
        } => GateAnswer::reject(reason),
        _ => GateAnswer::approve(),
    };
    answer.by = options.by.as_deref().map(Principal::from);
    answer.note.clone_from(&options.note);
    Ok(answer)
}

/// The only open gate, or the only one whose id has this prefix.
fn the_one(open: &[Arc<GateRecord>], prefix: Option<&str>) -> anyhow::Result<Arc<GateRecord>> {
    let mut fitting = open
        .iter()
        .filter(|gate| prefix.is_none_or(|prefix| gate.id().starts_with(prefix)));
    let first = fitting.next();
    if let (Some(only), None) = (first, fitting.next()) {
        return Ok(Arc::clone(only));
    }
    if open.is_empty() {
        return Err(misuse("the turn waits at no gate"));
    }
    let ids: Vec<String> = open.iter().map(|gate| one_line(gate.id(), 120)).collect();
    let ids = ids.join(", ");
    Err(match (first, prefix) {
        (None, Some(prefix)) => {
            let prefix = one_line(prefix, 120);
            misuse(format!(
                "the turn waits at no gate that begins with `{prefix}`; open gates: {ids}"
            ))
        }
        _ => misuse(format!(
            "the turn waits at several gates: name one with `--gate`: {ids}"
        )),
    })
}
