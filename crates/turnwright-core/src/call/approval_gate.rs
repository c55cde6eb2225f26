//! Asking somebody whether a call may run.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use serde_json::{Value, json};

use crate::checksum;
use crate::error::{Error, ErrorCode};
use crate::gate::{APPROVAL, Approval, Settling, TurnGate};
use crate::panic::text_of;
use crate::schema::{Schema, SchemaError, any, object, string};
use crate::tool::Tool;
use crate::tool::approval::{ApprovalRequest, Approver, PendingCall};
use crate::tool::context::DispatchContext;
use crate::turn::{Asked, REJECTED};

/// Opens a gate for exactly this call, this tool and these arguments, and takes the first answer: of the approver of the
/// level at which the policy asks, or of somebody at the gate. No answer is no.
pub(super) async fn ask(call: &PendingCall<'_>, level: usize, reason: String) -> Approval {
    let asked = try_ask(call, level, reason).await;
    asked.unwrap_or_else(|error| denied(error.message()))
}

async fn try_ask(call: &PendingCall<'_>, level: usize, reason: String) -> Result<Approval, Error> {
    let (gate, request) = question(call, level, reason)?;
    let before = call
        .ctx
        .answered_before(&request.gate, &gate, Some(call.id));
    if let Some(answer) = before {
        return Ok(read(answer));
    }
    let approver = call.ctx.approver_of(level);
    if approver.is_none() && !call.ctx.gates().can_be_answered() {
        return Ok(denied("nobody can be asked"));
    }
    let (id, tool_call) = (request.gate.as_str().into(), Some(call.id.into()));
    let asked = call.ctx.ask(id, gate, tool_call, approver.is_some())?;
    Ok(match approver {
        Some(approver) => Box::pin(ask_both(call.ctx, asked, approver, request)).await,
        None => {
            // Nobody reads it, and people take their time.
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
) -> Approval {
    let gate = request.gate.clone();
    let approver = AssertUnwindSafe(async { approver.ask(request).await }).catch_unwind();
    match select(pin!(asked.answer()), pin!(approver)).await {
        Either::Left((answer, _)) => read(answer),
        Either::Right((approval, answer)) => {
            let approval = approval.unwrap_or_else(|panic| {
                ctx.warn(format!("the approver panicked: {}", text_of(panic)));
                denied("no answer could be had")
            });
            // By the gate like everybody else: the first answer counts, and one only.
            let settling = Settling::Resolved(approval.into_answer());
            if let Err(error) = ctx.gates().settle(&gate, settling) {
                let why = error.message();
                ctx.warn(format!("the approver's answer was not taken: {why}"));
                return denied(
                    "whoever was asked changed the arguments, and the change does not fit",
                );
            }
            read(answer.await)
        }
    }
}

fn denied(reason: &str) -> Approval {
    Approval::Denied {
        reason: reason.to_owned(),
    }
}

/// The same for the same call, tool and arguments, and for no others: 128 bits, of which nobody finds two alike.
fn gate_id(call: &PendingCall<'_>, digest: &str) -> String {
    let bound = checksum::digest_of(&json!([call.id, call.tool.fingerprint(), digest]));
    let short = bound.get(..32).unwrap_or(&bound);
    format!("{APPROVAL}-{}-{short}", call.id)
}

fn question(
    call: &PendingCall<'_>,
    level: usize,
    reason: String,
) -> Result<(TurnGate, ApprovalRequest), Error> {
    let (setup, digest) = (call.ctx.setup(), checksum::digest_of(call.args));
    let setup = call.ctx.setups().nth(level).map_or(setup, |asks| asks);
    let request = ApprovalRequest {
        gate: gate_id(call, &digest),
        id: call.id.to_owned(),
        turn_id: Arc::clone(call.ctx.shared_id()),
        conversation: call.ctx.conversation_id().as_str().into(),
        outer_tools: call.ctx.outer_tools().to_vec(),
        tool: call.tool.clone(),
        args_digest: digest,
        args: call.args.clone(),
        reason,
        expires_in: setup.approval_timeout,
    };
    let mut asked = json!({
        "tool": request.tool.name(), "args": request.args, "reason": request.reason,
        "fingerprint": request.tool.fingerprint(), "argsDigest": request.args_digest,
    });
    if let Some(asked) = asked.as_object_mut()
        && !request.outer_tools.is_empty()
    {
        asked.insert("outerTools".to_owned(), json!(request.outer_tools));
    }
    let gate = TurnGate::new(APPROVAL)
        .question(asked)
        .schema(answer_schema()?)
        .timeout(request.expires_in)
        .build()?
        .accepting(fitting_edit(call.tool));
    Ok((gate, request))
}

/// What counts as an answer.
fn answer_schema() -> Result<Schema, Error> {
    static SCHEMA: LazyLock<Result<Schema, SchemaError>> = LazyLock::new(|| {
        let decision = string().one_of_values(["approve", "edit", "deny"]);
        let args = any().description("The arguments to run with, where the decision is `edit`.");
        let reason = string().description("Why not, where the decision is `deny`.");
        object()
            .field("decision", decision.required())
            .field("args", args)
            .field("reason", reason)
            .build()
    });
    Ok(SCHEMA.clone()?)
}

/// Arguments that the tool would refuse are no answer: whoever edited them can try again.
fn fitting_edit(tool: &Tool) -> impl Fn(&Value) -> Result<(), Error> + Send + Sync + 'static {
    let tool = tool.clone();
    move |answer: &Value| {
        let decision = answer.get("decision").and_then(Value::as_str);
        let why = match (decision, answer.get("args")) {
            (Some("edit"), Some(args)) => return tool.probe(args).map(drop),
            (Some("edit"), None) => "an edit needs `args`: the arguments to run with",
            (Some("approve"), Some(_)) => {
                "an approval brings no `args`: other arguments are an `edit`"
            }
            _ => return Ok(()),
        };
        Err(Error::new(ErrorCode::InvalidGateResolution, why))
    }
}

fn read(answer: Result<Value, Error>) -> Approval {
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(error) if error.code() == ErrorCode::GateTimeout => {
            return denied("nobody answered in time");
        }
        Err(error) if error.code() == ErrorCode::GateNotSupported => {
            return denied("nobody can be asked any more");
        }
        // The reason alone: the caller adds that it was rejected.
        Err(error) => {
            let text = error.model_text();
            return denied(text.strip_prefix(REJECTED).unwrap_or(text));
        }
    };
    match answer.get("decision").and_then(Value::as_str) {
        Some("approve") => Approval::Granted,
        Some("edit") => match answer.get_mut("args").map(Value::take) {
            Some(args) => Approval::Edited(args),
            None => denied("the answer said `edit` and brought no arguments"),
        },
        _ => match answer.get("reason").and_then(Value::as_str) {
            Some(reason) => denied(reason),
            None => denied("the approver gave no reason"),
        },
    }
}
