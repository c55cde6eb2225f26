//! `approval`, `check`, `reconcile` and the labels for information flow as keys of the attribute.

use serde_json::{Value, json};
use turnwright::approval::always;
use turnwright::approval::{ApprovalRequest, GateAnswer, PendingCall, Review};
use turnwright::reconcile::{Finding, UnknownCall};
use turnwright::schema::Rejection;
use turnwright::{BoxError, DispatchContext, ErrorCode, tool};

async fn known_account(args: Value) -> Result<(), Rejection> {
    match args.get("account").and_then(Value::as_str) {
        Some("a-1") => Ok(()),
        _ => Err(Rejection::at("/account", "is not a known account")),
    }
}

mod checks {
    use super::{Rejection, Value};

    pub(super) async fn small(args: Value) -> Result<(), Rejection> {
        match args.get("cents").and_then(Value::as_u64) {
            Some(0..=1000) => Ok(()),
            _ => Err(Rejection::at("/cents", "is more than is allowed")),
        }
    }
}

async fn find_payment(call: UnknownCall) -> Result<Finding, BoxError> {
    Ok(Finding::done(call.idempotency_key()))
}

fn above_ten(call: &PendingCall<'_>) -> Review {
    match call.args().get("cents").and_then(Value::as_u64) {
        Some(0..=10) => Review::Allow,
        _ => Review::ask("it is more than ten cents"),
    }
}

struct Open(Vec<&'static str>);

async fn open_account(args: Value, ctx: DispatchContext) -> Result<(), Rejection> {
    let open = ctx.state::<Open>()?;
    match args.get("account").and_then(Value::as_str) {
        Some(account) if open.0.contains(&account) => Ok(()),
        _ => Err(Rejection::at("/account", "is not open")),
    }
}

/// Closes an account.
#[tool(check = open_account, check = known_account)]
async fn close(account: &str) -> String {
    format!("closed {account}")
}

/// Pays.
#[tool(
    approval = above_ten,
    check = known_account,
    check = checks::small,
    reconcile = find_payment
)]
async fn pay(account: &str, cents: u64) -> String {
    format!("paid {cents} to {account}")
}

/// Sends a mail.
#[tool(approval = always("it sends mail"))]
async fn send() -> &'static str {
    "sent"
}

fn denying_context() -> DispatchContext {
    DispatchContext::builder()
        .approver(|request: ApprovalRequest| async move {
            assert_eq!(request.reason, "it is more than ten cents");
            GateAnswer::approve()
        })
        .build()
}

#[tokio::test]
async fn checks_run_in_order_with_their_name_as_the_rule() {
    let (tool, ctx) = (pay().unwrap(), denying_context());
    let args = json!({"account": "a-2", "cents": 2000});
    let error = tool.call(&ctx, args).await.unwrap_err();
    let faults: Vec<_> = error
        .faults()
        .iter()
        .map(|fault| (fault.pointer.as_str(), &*fault.rule))
        .collect();
    assert_eq!(faults, [("/account", "known_account"), ("/cents", "small")]);
}

#[tokio::test]
async fn a_check_may_take_the_context() {
    let (tool, args) = (close().unwrap(), json!({"account": "a-1"}));
    let ctx = |open| DispatchContext::builder().state(Open(open)).build();
    let output = tool.call(&ctx(vec!["a-1"]), args.clone()).await.unwrap();
    assert_eq!(output.as_text(), Some("closed a-1"));
    let error = tool.call(&ctx(vec!["a-2"]), args.clone()).await;
    assert_eq!(&*error.unwrap_err().faults()[0].rule, "open_account");
    // The state is missing: for the model, the check could not be completed.
    let error = tool.call(&DispatchContext::standalone(), args).await;
    assert!(error.unwrap_err().model_text().contains("try again later"));
}

#[tokio::test]
async fn approval_policy_is_a_function_or_an_expression() {
    let ctx = denying_context();
    for cents in [1, 100] {
        let args = json!({"account": "a-1", "cents": cents});
        let output = pay().unwrap().call(&ctx, args).await.unwrap();
        assert_eq!(output.as_text(), Some(&*format!("paid {cents} to a-1")));
    }
    let ctx = DispatchContext::standalone();
    let denied = send().unwrap().call(&ctx, "{}").await.unwrap_err();
    assert_eq!(denied.code(), ErrorCode::TOOL_DENIED);
}

/// Shares a file.
#[tool(reads_private, sends_out = true, source = "files")]
async fn share() -> &'static str {
    "shared"
}

/// Reads the clock.
#[tool(reads_private = false)]
async fn clock() -> &'static str {
    "noon"
}

#[test]
fn labels_reach_the_tool() {
    let share = share().unwrap();
    assert!(share.reads_private() && share.sends_out());
    assert_eq!(share.source(), Some("files"));
    let clock = clock().unwrap();
    assert!(!clock.reads_private() && !clock.sends_out());
    assert_eq!(clock.source(), None);
}
