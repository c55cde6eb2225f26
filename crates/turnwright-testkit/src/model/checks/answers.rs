//! Typed answers.

use serde_json::{Value, json};

use crate::model::agent::city_format;
use crate::model::exchange::{Exchange, Weather};
use crate::server::model;
use crate::suite::{Outcome, ensure, same};

pub(super) async fn validated(exchange: &Exchange<'_>) -> Outcome {
    exchange.replies([
        model::text(r#"{"name": "Bern", "districts": 420}"#, 2),
        model::text(r#"{"name": "Bern", "districts": 6}"#, 2),
    ]);
    let runner = exchange.runner()?.tool(Weather::new()?.tool).build()?;
    let typed = runner.run_formatted::<Value>("Describe Bern.", city_format()?);
    let answer = typed.await.into_answer()?;
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
    let typed = runner.run_formatted::<Value>("Describe Bern.", city_format()?);
    typed.await.into_answer()?;
    // In a field of the request, or in the prompt.
    let body = exchange.body(0)?.to_string();
    ensure(body.contains("districts"), || {
        format!("the request does not mention the field `districts`: {body}")
    })
}
