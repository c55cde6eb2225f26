//! Responses that end too early.

use turnwright_core::{ErrorCode, TurnOutcome};

use crate::conformance::exchange::{Exchange, Weather, answered, failed};
use crate::conformance::{Broken, Outcome, same};
use turnwright_testkit::server::fault::{Fault, FaultPosition, TOOL};
use turnwright_testkit::server::model::{self, Reply};

/// How often a model may be asked to repeat what was cut off.
const REPEATED: usize = 5;

pub(super) async fn calls(exchange: &Exchange<'_>) -> Outcome {
    for stream in [true, false] {
        let reply = Reply::default()
            .with_call(Weather::call("Bern"))
            .finish("length");
        exchange.replies(std::iter::repeat_n(reply, REPEATED));
        let weather = Weather::new()?;
        let runner = exchange
            .runner_with(|setup| setup.stream = stream)?
            .tool(weather.tool.clone());
        let outcome = runner.build()?.run("How is it?").await;
        weather.ran_with(&[])?;
        failed(&outcome, ErrorCode::MODEL_RESPONSE_INCOMPLETE)?;
    }
    Ok(())
}

/// Runs a turn whose first response has this fault in the arguments of a call. Returns how often the call ran.
async fn with_fault(exchange: &Exchange<'_>, fault: Fault) -> Result<(TurnOutcome, usize), Broken> {
    exchange.answer(fault.answer(exchange.protocol, FaultPosition::InArguments));
    exchange.replies(std::iter::repeat_n(model::text("Well.", 2), REPEATED));
    let weather = Weather::named(TOOL)?;
    let runner = exchange.runner()?.tool(weather.tool.clone()).build()?;
    let outcome = runner.run("How is it?").await;
    Ok((outcome, weather.count()))
}

pub(super) async fn broken_connection(exchange: &Exchange<'_>) -> Outcome {
    let (outcome, ran) = with_fault(exchange, Fault::Truncated).await?;
    same("calls that ran", ran, 0)?;
    answered(&outcome, "Well.")
}

pub(super) async fn no_end(exchange: &Exchange<'_>) -> Outcome {
    let (outcome, ran) = with_fault(exchange, Fault::NoFinishReason).await?;
    same("calls that ran", ran, 0)?;
    answered(&outcome, "Well.")
}

pub(super) async fn answer(exchange: &Exchange<'_>) -> Outcome {
    let reply = model::text("It is", 2).finish("length");
    exchange.replies([reply]);
    let runner = exchange.runner()?.build()?;
    let outcome = runner.run("What is it?").await;
    failed(&outcome, ErrorCode::MODEL_RESPONSE_INCOMPLETE)
}
