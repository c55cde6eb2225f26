//! Typed answers.

use serde_json::{Value, json};
use turnwright_core::TurnInput;

use crate::conformance::agent::city_format;
use crate::conformance::exchange::{Exchange, Weather};
use crate::conformance::{Outcome, ensure, same};
use turnwright_testkit::server::model;

pub(super) async fn validated(exchange: &Exchange<'_>) -> Outcome {
    exchange.replies([
        model::text(r#"{"name": "Bern", "districts": 420}"#, 2),
        model::text(r#"{"name": "Bern", "districts": 6}"#, 2),
    ]);
    let runner = exchange.runner()?.tool(Weather::new()?.tool).build()?;
    let input = TurnInput::new("Describe Bern.").answer_format(city_format()?);
    let answer: Value = runner.run(input).await.answer()?;
    same(
        "the answer",
        answer,
        json!({ "name": "Bern", "districts": 6 }),
    )?;
    exchange.requests_are(2)
}

pub(super) async fn schema(exchange: &Exchange<'_>) -> Outcome {
    exchange.replies([model::text(r#"{"name": "Bern", "districts": 6}"#, 2)]);
    let runner = exchange.runner()?.tool(Weather::new()?.tool).build()?;
    let input = TurnInput::new("Describe Bern.").answer_format(city_format()?);
    runner.run(input).await.answer::<Value>()?;
    // In a field of the request, or in the prompt.
    let body = exchange.body(0)?.to_string();
    ensure(body.contains("districts"), || {
        format!("the request does not mention the field `districts`: {body}")
    })
}
