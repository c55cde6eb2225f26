use turnwright::ToolContext;
use turnwright::gate::{Gates, TurnGate};

// A gate that is not built.
async fn unfinished(ctx: ToolContext) {
    let _ = ctx.wait_for(TurnGate::new("shipping")).await;
}

// An answer is made by name: `GateAnswer::approve()`, `GateAnswer::value(…)`.
fn bare_answer(gates: &Gates) {
    let _ = gates.answer("gate-1", true);
}

fn main() {}
