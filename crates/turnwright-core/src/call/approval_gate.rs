//! Requests approval for a call.
//!
//! Approval is a gate. Its id is derived from the call, the tool's fingerprint and the digest of the checked arguments,
//! so it is the same after a resume and fits no other call. Only the first answer counts. A gate without a possible
//! answerer fails at once.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use serde_json::{Value, json};

use crate::checksum;
use crate::error::{Error, ErrorCode};
use crate::gate::{GateAnswer, GateDecision, GateKind, TurnGate, Waiter, gate_id};
use crate::principal::Principal;
use crate::record::TaintSource;
use crate::text::panic_text;
use crate::tool::approval::{ApprovalRequest, Approver, PendingCall};
use crate::tool::context::{DispatchContext, Setup};
use crate::turn::Asked;

/// Opens a gate for exactly this call, tool and arguments. The first answer counts: of the approver at the level whose policy
/// requires approval, or of an external caller at the gate. No answer means no.
pub(super) async fn ask(
    call: &PendingCall<'_>,
    level: usize,
    why: (&str, &[TaintSource]),
    by_another: bool,
) -> Decided {
    let asked = try_ask(call, level, why, by_another).await;
    asked.unwrap_or_else(|error| denied(error.model_text()))
}

/// The edited arguments, if any, of an approved call, or why it was denied.
pub(super) type Decided = Result<Option<Value>, String>;

async fn try_ask(
    call: &PendingCall<'_>,
    level: usize,
    why: (&str, &[TaintSource]),
    by_another: bool,
) -> Result<Decided, Error> {
    let turn = call.ctx.turn();
    let not_by = if by_another {
        turn.principals_from(level)
    } else {
        Some(Vec::new())
    };
    let Some(not_by) = not_by else {
        turn.warn(format!(
            "`{}` needs the approval of another principal than that of the turn, which has none: set `TurnInput::principal`",
            call.tool.name()
        ));
        return Ok(denied(
            "another person than the one who asked must approve it, and it is not known who asked",
        ));
    };
    let (gate, mut request) = question(call, level, why, not_by)?;
    let before = turn.answered_before(&request.gate, &gate, Some(call.id()));
    if let Some(answer) = before {
        return Ok(read(Ok(answer)));
    }
    let approver = turn.approver_of(level);
    if approver.is_none() && !turn.can_be_answered() {
        return Ok(denied("no one can answer"));
    }
    let (id, tool_call) = (Arc::clone(&request.gate), Some(call.id().into()));
    let waiter = Waiter::Approval {
        has_approver: approver.is_some(),
    };
    let asked = turn.ask(id, gate, tool_call, None, waiter)?;
    if let Some(left) = asked.time_left {
        request.expires_in = left;
    }
    Ok(match approver {
        Some(approver) => Box::pin(ask_both(call.ctx, asked, approver, request)).await,
        None => {
            // Free the request: no approver reads it, and waiting can take long.
            drop(request);
            read(asked.answer().await)
        }
    })
}

async fn ask_both(
    ctx: &DispatchContext,
    asked: Asked,
    approver: &Arc<dyn Approver>,
    request: ApprovalRequest,
) -> Decided {
    let gate = Arc::clone(&request.gate);
    let approver = AssertUnwindSafe(async { approver.ask(request).await }).catch_unwind();
    match select(pin!(asked.answer()), pin!(approver)).await {
        Either::Left((answer, _)) => read(answer),
        Either::Right((approval, answer)) => {
            let approval = approval.unwrap_or_else(|panic| {
                ctx.turn()
                    .warn(format!("the approver panicked: {}", panic_text(panic)));
                GateAnswer::deny("the approver failed")
            });
            // The approver answers through the gate too, so that only the first answer counts.
            if let Err(error) = ctx.turn().gates().table().answer(&gate, approval) {
                let why = error.message();
                ctx.turn()
                    .warn(format!("the approver's answer was not accepted: {why}"));
                // The model must not read who may approve.
                return denied(if error.faults().is_empty() {
                    "the approver's answer was not accepted"
                } else {
                    "the approver changed the arguments, and the changed arguments are invalid"
                });
            }
            read(answer.await)
        }
    }
}

fn denied(reason: &str) -> Decided {
    Err(reason.to_owned())
}

fn question(
    call: &PendingCall<'_>,
    level: usize,
    (reason, sources): (&str, &[TaintSource]),
    not_by: Vec<Principal>,
) -> Result<(TurnGate, ApprovalRequest), Error> {
    let turn = call.ctx.turn();
    let setup = turn.setups().nth(level).unwrap_or(turn.setup());
    let (conversation, digest) = (
        turn.conversation_id().as_str(),
        checksum::digest_of(call.args),
    );
    let request = ApprovalRequest {
        // The same id for the same call, tool and arguments, and a different one otherwise.
        gate: gate_id(
            (conversation, turn.turn_id()),
            &GateKind::Approval,
            &json!([call.id(), call.tool.fingerprint(), digest]),
        ),
        id: call.id().to_owned(),
        turn_id: Arc::clone(turn.shared_id()),
        conversation: conversation.into(),
        outer_tools: turn.outer_tools().to_vec(),
        tool: call.tool.clone(),
        args_digest: digest,
        args: call.args.clone(),
        reason: reason.to_owned(),
        sources: sources.to_vec(),
        not_by,
        expires_in: setup
            .approval_timeout
            .unwrap_or(Setup::DEFAULT_APPROVAL_TIMEOUT),
    };
    let mut asked = json!({
        "tool": request.tool.name(), "args": request.args, "reason": request.reason,
    });
    if let Some(asked) = asked.as_object_mut() {
        if !request.outer_tools.is_empty() {
            asked.insert("outerTools".to_owned(), json!(request.outer_tools));
        }
        if !request.sources.is_empty() {
            // Without the ids of records: a user interface shows the question.
            let mut sources = json!(request.sources);
            for source in sources.as_array_mut().into_iter().flatten() {
                source.as_object_mut().map(|source| source.remove("id"));
            }
            asked.insert("sources".to_owned(), sources);
        }
        if !request.not_by.is_empty() {
            asked.insert("notBy".to_owned(), json!(request.not_by));
        }
    }
    let mut gate = TurnGate::new(GateKind::Approval).question(asked);
    if let Some(limit) = setup.approval_timeout {
        gate = gate.timeout(limit);
    }
    let mut gate = gate.build()?;
    gate.process_timeout = Some(request.expires_in);
    let tool = call.tool.clone();
    // Rejects edited arguments that the tool would not accept, so that the approver can try again.
    gate.accepts = Some(Arc::new(move |answer: &GateAnswer| {
        match &answer.decision {
            GateDecision::Edit { args } => tool.probe(args).map(drop),
            _ => Ok(()),
        }
    }));
    Ok((gate, request))
}

fn read(answer: Result<GateAnswer, Error>) -> Decided {
    match answer.map(|answer| answer.decision) {
        Ok(GateDecision::Approve) => Ok(None),
        Ok(GateDecision::Edit { args }) => Ok(Some(args)),
        Ok(GateDecision::Deny { reason }) => {
            Err(reason.unwrap_or_else(|| "the approver gave no reason".to_owned()))
        }
        Ok(GateDecision::Reject { reason }) => Err(reason),
        // The gate does not accept values.
        Ok(GateDecision::Value { .. }) => denied("the answer was not a decision"),
        Err(error) if error.code() == ErrorCode::TURN_GATE_TIMEOUT => {
            denied("no answer was received in time")
        }
        Err(error) if error.code() == ErrorCode::LLM_EXECUTION_GATE_NOT_SUPPORTED => {
            denied("no one can answer any more")
        }
        Err(error) => denied(error.model_text()),
    }
}
