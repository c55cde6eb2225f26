//! Contexts contain each other, and lead outwards by `dispatch()` and `turn()`. None stands in for another: a helper that was
//! given a turn instead of a call would wait and be cancelled by the turn's rules.

use turnwright::{DispatchContext, ToolContext, TurnContext};

fn helper_for_turns(_: &TurnContext) {}

fn helper_for_dispatches(_: &DispatchContext) {}

async fn in_a_handler(ctx: ToolContext) {
    helper_for_turns(&ctx);
    helper_for_dispatches(&ctx);
    ctx.abort("enough");
    ctx.call("look_up", "{}").await;
}

async fn in_an_executor(ctx: DispatchContext) {
    helper_for_turns(&ctx);
    ctx.abort("enough");
}

fn main() {}
