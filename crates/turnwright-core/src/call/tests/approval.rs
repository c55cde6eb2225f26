//! Approval of calls.

use super::*;
use crate::checksum::checksum;
use crate::tool::approval::ApprovalRequest;
use crate::tool::approval::Approver;
use crate::tool::approval::GateAnswer;
use crate::tool::approval::PendingCall;
use crate::tool::approval::Review;

/// Answers from a list and stores the requests.
#[derive(Default)]
struct Clerk {
    answers: Mutex<Vec<GateAnswer>>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

#[async_trait]
impl Approver for Arc<Clerk> {
    async fn ask(&self, request: ApprovalRequest) -> GateAnswer {
        self.asked.lock().push(request);
        self.answers
            .lock()
            .pop()
            .unwrap_or(GateAnswer::deny("no answer left"))
    }
}

fn guarded() -> Tool {
    number("t")
        .approval(tool::approval::always("it costs money"))
        .handler(|args: Value, _| async move { args["n"].to_string() })
        .build()
        .unwrap()
}

fn with_clerk(answers: Vec<GateAnswer>) -> (Arc<Clerk>, DispatchContext) {
    let clerk = Arc::new(Clerk {
        answers: Mutex::new(answers),
        ..Clerk::default()
    });
    let ctx = DispatchContext::builder()
        .approver(Arc::clone(&clerk))
        .build();
    (clerk, ctx)
}

#[tokio::test]
async fn no_answer_means_no() {
    let watched = watch(DispatchContext::standalone());
    let error = guarded().call(&watched.ctx, "{}").await.unwrap_err();
    assert_eq!(
        (error.code(), error.kind()),
        (ErrorCode::TOOL_DENIED, ErrorKind::Denied)
    );
    assert_eq!(watched.names(), ["toolCallRefused"]);
    assert_eq!(watched.events.lock()[0]["code"], "E_TOOL_DENIED");
}

#[tokio::test]
async fn a_call_cancelled_during_approval_was_not_denied() {
    let ctx = DispatchContext::builder()
        .approver(|_: ApprovalRequest| std::future::pending())
        .build();
    let of_call = ctx.clone();
    let call = tokio::spawn(async move { guarded().call(&of_call, "{}").await });
    tokio::task::yield_now().await;
    ctx.cancellation().cancel();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.code(), ErrorCode::TOOL_CANCELLED);
    assert_eq!(
        error.model_text(),
        "The call was cancelled. The tool was not run."
    );
}

#[tokio::test]
async fn an_answer_is_valid_for_one_request_only() {
    let (clerk, ctx) = with_clerk(vec![GateAnswer::approve()]);
    let tool = guarded();
    assert_eq!(
        tool.call(&ctx, r#"{"n": "4"}"#).await.unwrap().as_text(),
        Some("4")
    );
    let request = clerk.asked.lock()[0].clone();
    assert_eq!(
        (request.tool.name(), request.reason.as_str()),
        ("t", "it costs money")
    );
    assert_eq!(request.args, json!({ "n": 4 }), "the checked arguments");
    assert_eq!(request.tool.fingerprint(), tool.fingerprint());
    assert!(
        tool.call(&ctx, r#"{"n": "4"}"#).await.is_err(),
        "the same call needs another approval"
    );
    assert_eq!(clerk.asked.lock().len(), 2);
}

#[tokio::test]
async fn edited_arguments_are_checked_in_full_and_recorded() {
    let (clerk, ctx) = with_clerk(vec![GateAnswer::edit(json!({ "n": "7" }))]);
    let record = guarded().call_and_record(&ctx, r#"{"n": 4}"#).await;
    assert_eq!(record.text().await.as_deref(), Some("7"));
    assert_eq!(record.edited_args(), Some(&json!({ "n": 7 })));
    assert_eq!(
        record.checksum(),
        checksum("t", r#"{"n": 4}"#),
        "the checksum stays the same"
    );
    assert_eq!(
        clerk.asked.lock().len(),
        1,
        "the approver who wrote them is not asked again"
    );

    let (_, ctx) = with_clerk(vec![GateAnswer::edit(json!({ "n": -7 }))]);
    let error = guarded().call(&ctx, r#"{"n": 4}"#).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::TOOL_DENIED);
    assert!(
        error
            .model_text()
            .ends_with("the changed arguments are invalid"),
        "the model cannot fix this: {}",
        error.model_text()
    );

    let (_, ctx) = with_clerk(vec![GateAnswer::deny("too expensive")]);
    let error = guarded().call(&ctx, "{}").await.unwrap_err();
    assert!(
        error.model_text().contains("too expensive"),
        "{}",
        error.model_text()
    );
}

#[tokio::test]
async fn rewritten_arguments_are_checked_again_three_times_at_most() {
    let rewrite = |limit: i64| {
        move |call: &PendingCall<'_>| {
            let n = call.args()["n"].as_i64().unwrap_or(0);
            if n < limit {
                Review::Rewrite(json!({ "n": n + 1 }))
            } else {
                Review::Allow
            }
        }
    };
    let echo = |policy| {
        number("t")
            .approval(policy)
            .handler(|args: Value, _| async move { args["n"].to_string() })
            .build()
            .unwrap()
    };
    let ctx = DispatchContext::standalone();
    assert_eq!(
        echo(rewrite(3))
            .call(&ctx, r#"{"n": 0}"#)
            .await
            .unwrap()
            .as_text(),
        Some("3")
    );
    let error = echo(rewrite(4))
        .call(&ctx, r#"{"n": 0}"#)
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::TOOL_DENIED);
    let bad = |_: &PendingCall<'_>| Review::Rewrite(json!({ "n": "minus one" }));
    let tool = number("t")
        .approval(bad)
        .handler(|_: Value, _| async { "" })
        .build()
        .unwrap();
    assert_eq!(
        tool.call(&ctx, "{}").await.unwrap_err().code(),
        ErrorCode::INVALID_TOOL_ARGS
    );
}

#[tokio::test]
async fn the_dispatch_policy_precedes_the_tool_policy_and_a_panic_denies() {
    let ctx = DispatchContext::builder()
        .policy(|_: &PendingCall<'_>| Review::deny("closed today"))
        .build();
    let tool = number("t")
        .handler(|_: Value, _| async { "" })
        .build()
        .unwrap();
    let error = tool.call(&ctx, "{}").await.unwrap_err();
    assert!(
        error.to_string().contains("closed today") && !error.model_text().contains("closed today")
    );
    let panics = |_: &PendingCall<'_>| -> Review { panic!("on purpose") };
    let tool = number("t")
        .approval(panics)
        .handler(|_: Value, _| async { "" })
        .build()
        .unwrap();
    let error = tool
        .call(&DispatchContext::standalone(), "{}")
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::TOOL_DENIED);
}

#[tokio::test]
async fn arguments_rewritten_after_an_answer_need_another_approval() {
    let refused = GateAnswer::deny("not this one");
    // The answers are taken from the end.
    let (clerk, ctx) = with_clerk(vec![refused, GateAnswer::edit(json!({ "n": 7 }))]);
    let policy = |call: &PendingCall<'_>| match call.args()["n"].as_i64() {
        Some(7) => Review::Rewrite(json!({ "n": 8 })),
        _ => Review::ask("it costs money"),
    };
    let tool = number("t")
        .approval(policy)
        .handler(|_: Value, _| async { "ran" })
        .build()
        .unwrap();
    let error = tool.call(&ctx, r#"{"n": 4}"#).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::TOOL_DENIED);
    let asked: Vec<Value> = clerk
        .asked
        .lock()
        .iter()
        .map(|request| request.args["n"].clone())
        .collect();
    assert_eq!(
        asked,
        [json!(4), json!(8)],
        "an answer is valid for these arguments only"
    );
}
