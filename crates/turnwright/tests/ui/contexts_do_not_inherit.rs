//! Contexts contain each other and return the outer one with `dispatch()` and `turn()`. None converts to another: a helper that
//! gets a turn instead of a call would wait and be cancelled by the turn's rules.

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
