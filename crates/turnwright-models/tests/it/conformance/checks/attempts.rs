//! Retries, timeouts and limits.

use std::time::Duration;

use turnwright_core::{ErrorCode, EventKind};

use crate::conformance::exchange::{Exchange, answered, events, failed, pieces};
use crate::conformance::{Outcome, ensure, same};
use turnwright_testkit::server::Answer;
use turnwright_testkit::server::fault::{Fault, FaultPosition};
use turnwright_testkit::server::model;

pub(super) async fn busy(exchange: &Exchange<'_>) -> Outcome {
    let at = FaultPosition::BeforeFirstByte;
    let busy = Fault::TooManyRequests {
        retry_after: Some(0),
    };
    exchange.answer(busy.answer(exchange.protocol, at));
    exchange.answer(Fault::Overloaded.answer(exchange.protocol, at));
    exchange.replies([model::text("Hello.", 2)]);
    let runner = exchange.runner()?.build()?;
    answered(&runner.run("Hi").await, "Hello.")?;
    exchange.requests_are(3)
}

pub(super) async fn restarted(exchange: &Exchange<'_>) -> Outcome {
    for fault in [Fault::Reset, Fault::ErrorFrame] {
        exchange.answer(fault.answer(exchange.protocol, FaultPosition::InText));
        exchange.replies([model::text("Hello again.", 2)]);
        let runner = exchange.runner()?.build()?;
        let (events, outcome) = events(runner.start("Hi")).await;
        answered(&outcome, "Hello again.")?;
        let discarded = |kind: &EventKind| matches!(kind, EventKind::Discarded { .. });
        ensure(events.iter().any(|event| discarded(&event.kind)), || {
            format!("{fault}: the pieces of the broken response were not discarded")
        })?;
        let shown = pieces(&events).concat();
        same("the pieces that remain", shown.as_str(), "Hello again.")?;
    }
    Ok(())
}

pub(super) async fn limited(exchange: &Exchange<'_>) -> Outcome {
    let fault = Fault::Overloaded;
    for _ in 0..10 {
        exchange.answer(fault.answer(exchange.protocol, FaultPosition::BeforeFirstByte));
    }
    let runner = exchange.runner_with(|setup| setup.attempts = 2)?.build()?;
    failed(&runner.run("Hi").await, ErrorCode::MODEL_SERVER_ERROR)?;
    exchange.requests_are(2)
}

pub(super) async fn rejected(exchange: &Exchange<'_>) -> Outcome {
    let message = "The model `scripted` does not take this request.";
    let answer = exchange.error(422, "invalid_request_error", message);
    one_request(exchange, &answer).await
}

pub(super) async fn redirect(exchange: &Exchange<'_>) -> Outcome {
    let elsewhere = format!("{}/x", exchange.server().url());
    let answer = Answer::status(307).header("location", elsewhere);
    one_request(exchange, &answer).await
}

/// Checks that a turn fails after one request if this is the answer.
async fn one_request(exchange: &Exchange<'_>, answer: &Answer) -> Outcome {
    for _ in 0..10 {
        exchange.answer(answer.clone());
    }
    let runner = exchange.runner()?.build()?;
    let outcome = runner.run("Hi").await;
    ensure(!outcome.is_answered(), || {
        "the turn was answered".to_owned()
    })?;
    exchange.requests_are(1)
}

pub(super) async fn silence(exchange: &Exchange<'_>) -> Outcome {
    exchange.answer(Fault::Silence.answer(exchange.protocol, FaultPosition::InText));
    let runner = exchange.runner_with(|setup| {
        setup.attempts = 1;
        setup.idle_timeout = Duration::from_millis(200);
    })?;
    let runner = runner.build()?;
    failed(&runner.run("Hi").await, ErrorCode::MODEL_TIMEOUT)
}

pub(super) async fn endless(exchange: &Exchange<'_>) -> Outcome {
    exchange.answer(Fault::HugeFrame.answer(exchange.protocol, FaultPosition::InText));
    let runner = exchange.runner_with(|setup| setup.max_event_bytes = 64 << 10)?;
    let runner = runner.build()?;
    failed(&runner.run("Hi").await, ErrorCode::WIRE_ERROR)?;
    exchange.connections_close().await?;
    exchange.requests_are(1)
}
