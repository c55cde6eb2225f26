//! Token counts.

use turnwright_core::Usage;

use crate::conformance::exchange::{Exchange, Weather, answered};
use crate::conformance::{Broken, Outcome, same};
use turnwright_testkit::server::model::{self, Protocol, Reply};

/// Runs a turn with these replies. Returns its usage.
async fn usage(exchange: &Exchange<'_>, stream: bool) -> Result<Usage, Broken> {
    let runner = exchange
        .runner_with(|setup| setup.stream = stream)?
        .tool(Weather::new()?.tool);
    let outcome = runner.build()?.run("Hi").await;
    answered(&outcome, "Hello.")?;
    Ok(outcome.usage)
}

pub(super) async fn counted(exchange: &Exchange<'_>) -> Outcome {
    for stream in [true, false] {
        exchange.replies([model::text("Hello.", 2).usage(1_000, 50)]);
        let usage = usage(exchange, stream).await?;
        let tokens = (usage.input_tokens, usage.output_tokens, usage.requests);
        same("input, output and requests", tokens, (1_000, 50, 1))?;
    }
    Ok(())
}

pub(super) async fn cached(exchange: &Exchange<'_>) -> Outcome {
    // Ollama does not report them.
    if exchange.protocol == Protocol::Ollama {
        return Ok(());
    }
    for stream in [true, false] {
        let reply = model::text("Hello.", 2).usage(1_000, 50);
        exchange.replies([reply.cached(900).reasoning_tokens(20)]);
        let usage = usage(exchange, stream).await?;
        let tokens = (usage.input_tokens, usage.cached_input_tokens);
        same("input and cached input", tokens, (1_000, 900))?;
        same("output", usage.output_tokens, 50)?;
    }
    Ok(())
}

pub(super) async fn added(exchange: &Exchange<'_>) -> Outcome {
    let call = Reply::default().with_call(Weather::call("Bern"));
    exchange.replies([call.usage(100, 10), model::text("Hello.", 2).usage(200, 20)]);
    let usage = usage(exchange, true).await?;
    let tokens = (usage.input_tokens, usage.output_tokens, usage.requests);
    same("input, output and requests", tokens, (300, 30, 2))
}
