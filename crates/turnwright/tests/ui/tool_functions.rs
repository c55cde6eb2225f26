use turnwright::serde_json::Value;
use turnwright::tool;

fn never() -> bool {
    false
}

/// A policy that is a text.
#[tool(approval = "always")]
async fn text_policy() {}

/// A policy that is no policy.
#[tool(approval = never())]
async fn no_policy() {}

/// A policy without a value.
#[tool(approval)]
async fn which_policy() {}

/// A check without a name.
#[tool(check = |args: Value| async move { Ok(()) })]
async fn unnamed_check() {}

fn is_small(args: Value) -> bool {
    args.is_null()
}

/// A check that is not async.
#[tool(check = is_small)]
async fn other_check() {}

/// Something that finds nothing out.
#[tool(reconcile = never())]
async fn no_reconcile() {}

/// A number instead of a function.
#[tool(reconcile = 7)]
async fn number_reconcile() {}

fn main() {}
