//! External answers: an approver, and a caller at the gates.

use std::time::Duration;

use serde_json::{Value, json};
use turnwright_core::gate::OpenGate;
use turnwright_core::gate::{GateDecision, Gates};
use turnwright_core::tool::approval::{ApprovalRequest, GateAnswer};

use super::tools;
use super::world::World;

/// The decision about a call, if there is one.
fn verdict(world: &World, args: &Value) -> Option<GateAnswer> {
    let n = args["n"].as_i64().unwrap_or(0);
    Some(match args["how"].as_str().unwrap_or("") {
        "Granted" | "ThenAsk" => GateAnswer::approve(),
        "Edited" => GateAnswer::edit(json!({ "n": (n + 1) % 101, "how": "Edited" })),
        "EditedBadly" => GateAnswer::edit(json!({ "n": 1000, "how": "EditedBadly" })),
        // On the real clock, do not wait for an answer that never comes.
        "Silence" if world.strict => return None,
        _ => GateAnswer::deny("on purpose"),
    })
}

/// Records a grant before it takes effect.
fn note_grant(world: &World, call: &str, args: &Value, approval: &GateAnswer) {
    match &approval.decision {
        GateDecision::Approve => world.grant(call, args),
        GateDecision::Edit { args: edited, .. } if args["how"] == "Edited" => {
            world.grant(call, edited);
        }
        // Arguments that the tool would reject are not accepted as an answer.
        _ => {}
    }
}

pub(super) async fn approve(world: &World, request: ApprovalRequest) -> GateAnswer {
    tokio::task::yield_now().await;
    if request.args["n"].as_i64().unwrap_or(0) % 2 == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    if request.args["how"] == "Panic" {
        std::panic::resume_unwind(Box::new("on purpose"));
    }
    match verdict(world, &request.args) {
        Some(approval) => {
            note_grant(world, &request.id, &request.args, &approval);
            approval
        }
        None => std::future::pending().await,
    }
}

/// Answers at the gates of a turn until it has ended.
pub(super) async fn stand_at_gates(world: &World, gates: &Gates, turn: usize) {
    let mut gates = gates.clone();
    let mut met = Vec::new();
    while let Some(gate) = gates.next().await {
        world.check(!met.contains(&gate.id), || {
            format!("{} is given twice", gate.id)
        });
        met.push(gate.id.clone());
        match gate.kind.as_str() {
            "approval" if world.script.approver => {}
            "approval" => answer_approval(world, &gates, &gate),
            _ => answer_question(world, &gates, &gate, turn),
        }
    }
}

fn answer_approval(world: &World, gates: &Gates, gate: &OpenGate) {
    let (args, call) = (&gate.question["args"], gate.tool_call.as_deref());
    let call = call.unwrap_or("");
    let Some(approval) = verdict(world, args) else {
        return;
    };
    note_grant(world, call, args, &approval);
    let (answered, granted) = match approval.decision {
        GateDecision::Approve => (gates.approve(&gate.id), Some(args.clone())),
        GateDecision::Edit { args: edited, .. } => (
            gates.answer(&gate.id, GateAnswer::edit(edited.clone())),
            Some(edited),
        ),
        _ => {
            let deny = serde_json::from_value::<GateAnswer>(json!({ "decision": "deny" }));
            (gates.answer(&gate.id, deny.unwrap()), None)
        }
    };
    match (answered, granted) {
        (Ok(true), _) => {
            world.check(args["how"] != "EditedBadly", || {
                format!("{call} takes a bad edit")
            });
            let again = gates.approve(&gate.id);
            let again = again.is_ok_and(|counted| counted);
            world.check(!again, || format!("{call} was answered twice"));
        }
        // It was too late.
        (Ok(false), Some(args)) => world.take_grant(call, &args),
        (Ok(false), None) => {}
        (Err(_), _) if args["how"] == "EditedBadly" => {
            let refused = gates.deny(&gate.id, "on purpose");
            world.check(refused.is_ok_and(|gate| gate) || !world.strict, || {
                format!("{call} was closed by a bad answer")
            });
        }
        (Err(error), _) => world.wrong(format!("{call} cannot be answered: {error}")),
    }
}

fn answer_question(world: &World, gates: &Gates, gate: &OpenGate, turn: usize) {
    let id = &gate.id;
    world.check(gate.question["turn"] == turn, || {
        format!("turn {turn} has another's gate {id}")
    });
    let resolve = || {
        gates
            .answer(id, json!({ "n": tools::GATE_ANSWER }))
            .unwrap_or(false)
    };
    match gate.question["how"].as_str().unwrap_or("") {
        "Left" => {}
        "Rejected" => drop(gates.answer(id, GateAnswer::reject("on purpose"))),
        how => {
            if how == "BadFirst" {
                let bad = gates.answer(id, json!({ "n": 1000 }));
                world.check(bad.is_err() || !world.strict, || {
                    format!("{id} takes a bad answer")
                });
            }
            let first = resolve();
            world.check(first || !world.strict, || format!("{id} takes no answer"));
            world.check(how != "Twice" || !resolve(), || {
                format!("{id} takes two answers")
            });
        }
    }
}
