//! The API key.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use turnwright_core::event::Event;

use crate::conformance::exchange::{Exchange, Weather, answered, events as read};
use crate::conformance::{Outcome, ensure};
use turnwright_testkit::server::Answer;
use turnwright_testkit::server::model::{self, Reply};

/// Checks that a text does not contain the key.
fn free_of(exchange: &Exchange<'_>, what: &str, text: &str) -> Outcome {
    let key = exchange.setup().api_key;
    let half = key.get(..key.len() / 2).unwrap_or_default();
    ensure(!text.contains(half), || {
        // Without the key itself.
        format!("{what} contains the key: {}", text.replace(half, "KEY…"))
    })
}

pub(super) async fn sent(exchange: &Exchange<'_>) -> Outcome {
    exchange.replies([model::text("Hello.", 1)]);
    let runner = exchange.runner()?.build()?;
    answered(&runner.run("Hi").await, "Hello.")?;
    // The strict server checks the form of the header where the protocol has one.
    let (request, key) = (exchange.request(0)?, exchange.setup().api_key);
    let found = request
        .headers
        .iter()
        .any(|(_, value)| value.contains(&key));
    ensure(found, || "no header of the request has the key".to_owned())?;
    ensure(!request.path.contains(&key), || {
        "the key is in the URL".to_owned()
    })
}

/// Returns an error that repeats the key, as some servers do.
fn wrong_key(exchange: &Exchange<'_>) -> Answer {
    let message = format!("Incorrect API key provided: {}.", exchange.setup().api_key);
    exchange.error(401, "authentication_error", &message)
}

pub(super) async fn errors(exchange: &Exchange<'_>) -> Outcome {
    exchange.answer(wrong_key(exchange));
    let runner = exchange.runner()?.build()?;
    let outcome = runner.run("Hi").await;
    let error = outcome.error();
    let shown = error.as_ref().map(|error| {
        let causes = error.with_causes();
        format!("{causes} {error} {error:?} {error:#?}")
    });
    ensure(error.is_some(), || "the turn was answered".to_owned())?;
    free_of(exchange, "the error", &shown.unwrap_or_default())?;
    free_of(exchange, "the outcome", &format!("{outcome:?}"))
}

pub(super) async fn debug(exchange: &Exchange<'_>) -> Outcome {
    let built = exchange.build(&exchange.setup())?;
    free_of(exchange, "the output of Debug", &built.shown)
}

pub(super) async fn events(exchange: &Exchange<'_>) -> Outcome {
    exchange.replies([Reply::default().with_call(Weather::call("Bern"))]);
    exchange.answer(wrong_key(exchange));
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&seen);
    let runner = exchange.runner()?.tool(Weather::new()?.tool);
    let runner = runner.observer(move |event: &Event| {
        noted.lock().push(format!("{event:?} {}", json!(event)));
    });
    let (events, outcome) = read(runner.build()?.start("Hi")).await;
    ensure(!outcome.is_answered(), || {
        "the turn was answered".to_owned()
    })?;
    for event in &events {
        free_of(exchange, "an event", &format!("{event:?} {}", json!(event)))?;
    }
    let seen = seen.lock();
    ensure(!seen.is_empty(), || "no event was observed".to_owned())?;
    free_of(exchange, "an observed event", &seen.join("\n"))
}
